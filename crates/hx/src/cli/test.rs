//! The flags of `hx test`.

use clap::{Args, ValueEnum};

use super::{
    CandidateArgs, ChoiceArgs, ChoosingArgs, DeviceArgs, EachArgs, OnlyTunedArgs, OrderArgs, ReportArgs,
};

#[derive(Args, Debug)]
pub(crate) struct TestArgs {
    #[command(flatten)]
    pub choice: ChoiceArgs,
    /// Run only those that failed when they were last run.
    #[arg(long)]
    pub failed: bool,
    /// human; json, one object for each test; or junit, one XML document.
    #[arg(long, value_enum, default_value_t = TestFormat::Human, value_name = "FORMAT")]
    pub format: TestFormat,
    /// Compile the kernels that the tests launch for the target, into the cache, and run nothing.
    #[arg(long, conflicts_with = "report")]
    pub no_run: bool,
    #[command(flatten)]
    pub report: ReportArgs,
    #[command(flatten)]
    pub each: EachArgs,
    /// Draw this many cases for each test with a `forall`; 32 by default.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub cases: Option<u32>,
    /// Run each test in this many orders of events, which are the steps of roles and blocks, the values that atomic loads find, the
    /// arrivals of copies, and the reads of asynchronous products; runs on the simulator.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "order")]
    pub orders: Option<u64>,
    #[command(flatten)]
    pub order: OrderArgs,
    /// Have the assembler of the CUDA compiler optimize this much, 0 to 3; needs a GPU, or `--no-run`.
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=3))]
    pub optimize: Option<u8>,
    /// Run each launch a second time, from the same arguments and without optimization, and compare what the two write, bit by bit;
    /// needs a GPU.
    #[arg(long, conflicts_with_all = ["optimize", "no_run", "orders", "order", "report"])]
    pub compare_levels: bool,
    /// Begin no test after one has failed; those that run at that time come to their end.
    #[arg(long)]
    pub fail_fast: bool,
    /// Run a failed test again, up to N times, until it passes. One that passes then is reported as flaky and counts as passed.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,
    /// Run again whenever a file changes: the tests that the change affects, and those that failed.
    #[arg(long, conflicts_with_all = ["list", "no_run"])]
    pub watch: bool,
    /// Run part I of N of the tests that are chosen, as in 2/4: every Nth of the list, from the Ith on. The parts together are all.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<Shard>,
    /// List the N tests that took longest at the end, 5 without a number.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "5")]
    pub slowest: Option<usize>,
    /// Show what passing tests print, too.
    #[arg(long)]
    pub nocapture: bool,
    /// Refuse to run without a GPU.
    #[arg(long)]
    pub require_gpu: bool,
    /// The number of tests that run at the same time.
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<usize>,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub choosing: ChoosingArgs,
    #[command(flatten)]
    pub candidate: CandidateArgs,
    #[command(flatten)]
    pub tuned: OnlyTunedArgs,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TestFormat {
    Human,
    Json,
    Junit,
}

/// A part of the tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shard {
    /// Counted from 0.
    part: usize,
    parts: usize,
}

impl Shard {
    /// Reports whether the test at this position of the list is in the part.
    pub(crate) fn has(self, position: usize) -> bool {
        position % self.parts == self.part
    }
}

fn shard(text: &str) -> Result<Shard, String> {
    let number = |text: &str| text.parse::<usize>().ok();
    let numbers = text.split_once('/').and_then(|(part, parts)| Some((number(part)?, number(parts)?)));
    match numbers {
        Some((part, parts)) if 1 <= part && part <= parts => Ok(Shard { part: part - 1, parts }),
        _ => Err("expected a part and the number of parts, such as 1/4".to_owned()),
    }
}
