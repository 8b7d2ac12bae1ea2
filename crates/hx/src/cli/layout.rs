//! The flags of `hx layout`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{TargetArgs, TunedArgs};

#[derive(Args, Debug)]
pub(crate) struct LayoutArgs {
    #[command(subcommand)]
    pub verb: LayoutVerb,
}

#[derive(Subcommand, Debug)]
pub(crate) enum LayoutVerb {
    /// Print the value of an expression, as in `compose((4,8):(8,1), 8:2)`.
    Eval(EvalArgs),
    /// Draw a layout: the index, the thread and value, or the bank at each coordinate.
    Show(ShowArgs),
    /// Decide whether two layouts are the same function, as in `A ∘ B == C`.
    Prove(ProveArgs),
    /// Answer reference cases and judge the answers.
    Check(JudgeArgs),
    /// Show where the layouts of a kernel's default instance come from.
    Why(WhyArgs),
}

#[derive(Args, Debug)]
pub(crate) struct EvalArgs {
    /// Layouts, calls of the algebra, `∘`, `==`; `a = …;` names a value for what follows.
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub expression: String,
}

#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// An expression whose value is a layout.
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub expression: String,
    /// Write the drawing to this file as SVG instead of printing it; `-` is stdout.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Show the thread and value of each element of a tile of M rows and N columns.
    #[arg(long, value_name = "M,N", value_parser = tile, conflicts_with = "banks")]
    pub tile: Option<(i64, i64)>,
    /// Show the bank of shared memory, for elements of BITS bits (16 if left out).
    #[arg(long, value_name = "BITS", num_args = 0..=1, require_equals = true, default_missing_value = "16")]
    pub banks: Option<i64>,
}

#[derive(Args, Debug)]
pub(crate) struct ProveArgs {
    /// Two expressions with `==` between them; names stand for any positive integers.
    #[arg(value_name = "A == B", allow_hyphen_values = true)]
    pub equation: String,
    /// Print both sides as isl relations as well, for an outside checker.
    #[arg(long)]
    pub isl: bool,
}

#[derive(Args, Debug)]
pub(crate) struct JudgeArgs {
    /// Cases, one JSON object a line.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Write every answer: as JSON lines, or to a `.tsv` file the relations, one `id<tab>relation` a line.
    #[arg(long, value_name = "OUT")]
    pub answers: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct WhyArgs {
    /// The file.
    pub file: String,
    /// The kernel.
    pub kernel: String,
    /// A register or shared tensor of the kernel; all if it is left out.
    pub tensor: Option<String>,
    /// The value of a dimension or a named stride at the launch; by default a multiple of 16.
    #[arg(long, value_name = "NAME=N", value_parser = dim)]
    pub dim: Vec<(String, i64)>,
    /// Another value of a compile-time parameter.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// List all solutions with their estimated cycles, each with the layout of TENSOR; `--candidate N` of other commands builds one
    /// of them.
    #[arg(long)]
    pub candidates: bool,
    /// List the members of the kernel's family for a launch with the dimensions of `--dim`: their times by the cost model, or why they do
    /// not fit the launch.
    #[arg(long, conflicts_with_all = ["tensor", "candidates", "not", "depth"])]
    pub members: bool,
    /// Say why the solution is not another one, for the operations that touch TENSOR, which may be a parameter here: an instruction
    /// by name, an access width (`16B`), a layout, `swizzle` or `64B swizzle`, `box`, `warps [4, 2]`, `5 stages`, `split`,
    /// `NAME=VALUE`, the number of a candidate. Any other word lists what can be asked about this kernel.
    #[arg(long, value_name = "ALTERNATIVE", conflicts_with = "candidates", allow_hyphen_values = true)]
    pub not: Option<String>,
    /// Follow reasons down to N operations below each tensor; by default to the end for TENSOR, and not at all for the whole kernel.
    #[arg(long, value_name = "N", conflicts_with_all = ["candidates", "not"])]
    pub depth: Option<usize>,
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub tuned: TunedArgs,
}

fn dim(text: &str) -> Result<(String, i64), String> {
    let value = |text: &str| text.trim().parse::<i64>().ok().filter(|value| *value >= 0);
    let parts =
        text.split_once('=').and_then(|(name, number)| Some((name.trim().to_owned(), value(number)?)));
    parts.ok_or_else(|| "expected a name and a number, as in n=4098".to_owned())
}

fn tile(text: &str) -> Result<(i64, i64), String> {
    let inner = text.trim().trim_start_matches('(').trim_end_matches(')');
    let extent = |text: &str| text.trim().parse::<i64>().ok().filter(|extent| *extent > 0);
    let sides = inner.split_once([',', 'x']).and_then(|(m, n)| Some((extent(m)?, extent(n)?)));
    sides.ok_or_else(|| "expected two positive integers, as in 16,8".to_owned())
}
