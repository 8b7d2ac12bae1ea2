//! The flags of `hx test`.

use clap::{Args, ValueEnum};

use super::{CandidateArgs, ChoiceArgs, DeviceArgs, EachArgs, OnlyTunedArgs, OrderArgs};

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
    #[arg(long)]
    pub no_run: bool,
    #[command(flatten)]
    pub each: EachArgs,
    /// Run each test in this many orders of events, which are the steps of roles, the arrivals of copies, and the reads of
    /// asynchronous products; runs on the simulator.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "order")]
    pub orders: Option<u64>,
    #[command(flatten)]
    pub order: OrderArgs,
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
