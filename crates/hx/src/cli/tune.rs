//! The flags of `hx tune`, and those of the commands that take its results.

use std::path::PathBuf;

use clap::Args;

use super::{DeviceArgs, bytes, positive};

#[derive(Args, Debug)]
pub(crate) struct TuneArgs {
    /// The file.
    pub file: String,
    /// The kernel, which must have a `tune` clause. The members of its family are candidates, too.
    pub kernel: String,
    /// A shape to tune for, as in m=4096,n=4096,k=4096,T=bf16: every dimension of the kernel, numbers that it takes, and compile-time
    /// arguments that differ from their defaults. May be given several times.
    #[arg(long = "shapes", visible_alias = "shape", value_name = "SHAPE", required = true)]
    pub shapes: Vec<String>,
    /// The number of candidates that are measured for each shape, those with the best estimates.
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Measure every legal candidate, and each to the end.
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,
    /// Measure the members of the kernel's family alone, and no values of its `tune` clause.
    #[arg(long, conflicts_with = "all")]
    pub members: bool,
    /// The work that times are compared with: `defaults`, `cublas::gemm`, another kernel of the file, or `none`.
    #[arg(long, value_name = "NAME", default_value = hx_driver::tune::DEFAULTS)]
    pub baseline: String,
    /// List the candidates with their estimates and the reasons for those that are refused; measure nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Measure again what an earlier run has measured.
    #[arg(long)]
    pub fresh: bool,
    /// The file that the chosen arguments are written to, instead of the `hx.tuned.toml` of the project or folder; `-` writes none.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write all candidates with their times to this file as JSON; `-` is stdout, which then has nothing else.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a report with plots to this file: an HTML page that needs no other file.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// The number of copies of every tensor, which repeated runs take in turn.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub rotate: u16,
    /// The machine's peak of computation for the report, in TFLOP/s.
    #[arg(long, value_name = "TFLOPS", value_parser = positive)]
    pub roof_tflops: Option<f64>,
    /// The machine's peak of memory traffic for the report, in GB/s.
    #[arg(long, value_name = "GBS", value_parser = positive)]
    pub roof_gbs: Option<f64>,
    /// Limits the memory of host values, as in 512MiB or 16GiB; 4 GiB by default.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory: Option<u64>,
    #[command(flatten)]
    pub device: DeviceArgs,
}

/// Whether a command that uses results of `hx tune` by default does so.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct TunedArgs {
    /// Take compile-time arguments for shapes from this file of `hx tune`, on the simulator too; without FILE from the `hx.tuned.toml`
    /// of the project or folder, as a GPU does by default.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub tuned: Option<String>,
    /// Take no compile-time arguments from `hx.tuned.toml`.
    #[arg(long, conflicts_with = "tuned")]
    pub no_tuned: bool,
}

/// Whether a command that does not use results of `hx tune` by default does so.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct OnlyTunedArgs {
    /// Take compile-time arguments for shapes from this file of `hx tune`; without FILE from the `hx.tuned.toml` of the project or
    /// folder.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub tuned: Option<String>,
}
