//! The flags of `hx calibrate`.

use std::path::PathBuf;

use clap::Args;

use super::DeviceArgs;

#[derive(Args, Debug)]
pub(crate) struct CalibrateArgs {
    /// Write the numbers of the cost model to this file; numbers that no microbenchmark measures are those of `--file`.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write them to your data folder, as the file of this GPU: kernels for it follow them from then on, in every command that opens it.
    #[arg(long)]
    pub keep: bool,
    /// Compare the measured numbers with those of `--file` and of the catalogue, and name those that differ by more than 10 %.
    #[arg(long)]
    pub check: bool,
    /// The file of numbers that `--check`, `--out` and `--keep` begin with, instead of the built-in one of the GPU or its architecture.
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Compile the microbenchmarks for the target, into the cache, and measure nothing.
    #[arg(long, conflicts_with_all = ["out", "keep", "check", "file"])]
    pub no_run: bool,
    #[command(flatten)]
    pub device: DeviceArgs,
}
