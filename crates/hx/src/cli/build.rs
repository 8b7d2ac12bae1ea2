//! The flags of `hx build`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::{CandidateArgs, TargetArgs, TunedArgs};

#[derive(Args, Debug)]
pub(crate) struct BuildArgs {
    /// The file.
    pub file: String,
    /// The kernel; it may be left out if the file has one. With `--emit c`, all kernels are built if it is left out.
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// Replace a compile-time argument, as in BM=128, T=bf16 or F=relu.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Promises that every launch keeps, as in k%16,m%8,lda=1,a@16: divisors of dimensions and strides, strides that are 1,
    /// alignments of pointers. `all` assumes 16 of everything, `none` nothing but aligned pointers.
    #[arg(long, value_name = "FACTS", default_value = "all")]
    pub facts: String,
    /// cubin, ptx, cuda, or c: a header and a source with the machine code and functions that check and launch.
    #[arg(long, value_name = "KIND", default_value = "cubin", value_parser = PossibleValuesParser::new(hx_driver::BuildKind::NAMES))]
    pub emit: String,
    /// The file of the code; a file beside it that ends in `.json` describes the launch. With `--emit c`, the header and the source.
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub candidate: CandidateArgs,
    /// Build the instance for a shape, as in m=4096,n=4096,k=4096: it takes the arguments that `hx tune` found for it, or the member of the
    /// kernel's family. Without a result, the cost model chooses the member.
    #[arg(long, value_name = "SHAPE")]
    pub shape: Option<String>,
    /// With `--emit c`, build the members of the kernel's family that are the fastest for a range of shapes, as in m=1..=4096,n=4096,k=4096,
    /// and a function that chooses between them.
    #[arg(long, value_name = "SHAPES", conflicts_with_all = ["shape", "candidate"])]
    pub shapes: Option<String>,
    /// The device whose results are taken for `--shape`, as `hx.tuned.toml` names it.
    #[arg(long, value_name = "DEVICE", requires = "shape")]
    pub tuned_for: Option<String>,
    #[command(flatten)]
    pub tuned: TunedArgs,
}
