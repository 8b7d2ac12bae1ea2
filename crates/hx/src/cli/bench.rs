//! The flags of `hx bench`.

use std::path::PathBuf;

use clap::Args;

use super::{CandidateArgs, ChoiceArgs, ChoosingArgs, DeviceArgs, EachArgs, TunedArgs, positive};

#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub choice: ChoiceArgs,
    /// Compile the kernels of the benches for the target, into the cache, and time nothing.
    #[arg(long)]
    pub no_run: bool,
    /// Write the results to this file as JSON, every sample included; `-` is stdout, which then has nothing else.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Compare with the results in this file, which an earlier `--json` wrote.
    #[arg(long, value_name = "FILE")]
    pub compare: Option<PathBuf>,
    /// The maximum number of reported runs of each kernel.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: Option<u32>,
    /// The minimum number of runs before the reported ones.
    #[arg(long, value_name = "N")]
    pub warmup: Option<u32>,
    /// Time the other candidates of the measured kernels, too, and say how far the chosen ones are from the fastest. If a block
    /// launches several kernels, all take the candidate of the same number.
    #[arg(long, conflicts_with = "candidate")]
    pub candidates: bool,
    /// Say how far the cost model's estimate of each measured kernel lies from its cycles, and the mean of these errors; with
    /// `--no-run` print the estimates alone, as lines `bench,kernel,cycles` of CSV, and compile nothing.
    #[arg(long)]
    pub estimates: bool,
    /// Leave the L2 cache as the run before left it, instead of emptying it before each run.
    #[arg(long)]
    pub warm_l2: bool,
    /// The number of copies of every tensor, which repeated runs take in turn.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub rotate: u16,
    /// The machine's peak of computation, in TFLOP/s.
    #[arg(long, value_name = "TFLOPS", value_parser = positive)]
    pub roof_tflops: Option<f64>,
    /// The machine's peak of memory traffic, in GB/s.
    #[arg(long, value_name = "GBS", value_parser = positive)]
    pub roof_gbs: Option<f64>,
    #[command(flatten)]
    pub each: EachArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub choosing: ChoosingArgs,
    #[command(flatten)]
    pub candidate: CandidateArgs,
    #[command(flatten)]
    pub tuned: TunedArgs,
}
