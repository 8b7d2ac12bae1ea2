//! The flags of `hx test`.

use clap::{Args, ValueEnum};

use super::{CandidateArgs, DeviceArgs, bytes, seconds};

#[derive(Args, Debug)]
pub(crate) struct TestArgs {
    /// Files and folders (the current folder if none is given), and parts of names that choose tests.
    #[arg(value_name = "PATHS|FILTER")]
    pub what: Vec<String>,
    /// The filter is a whole name.
    #[arg(long)]
    pub exact: bool,
    /// Leave out tests whose name contains this.
    #[arg(long, value_name = "FILTER")]
    pub skip: Vec<String>,
    /// Show the names of the tests and run nothing.
    #[arg(long)]
    pub list: bool,
    /// Run only those that failed when they were last run.
    #[arg(long)]
    pub failed: bool,
    /// human; json, one object for each test; or junit, one XML document.
    #[arg(long, value_enum, default_value_t = TestFormat::Human, value_name = "FORMAT")]
    pub format: TestFormat,
    /// Compile the kernels that the tests launch for the target, into the cache, and run nothing.
    #[arg(long)]
    pub no_run: bool,
    /// The seed of random functions whose call names none.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Seconds after which one test is stopped.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout: Option<f64>,
    /// Limits the memory of host values, as in 512MiB or 16GiB; 4 GiB by default.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory: Option<u64>,
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
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TestFormat {
    Human,
    Json,
    Junit,
}
