//! The flags of every verb.

mod bench;
mod build;
mod calibrate;
mod fmt;
mod layout;
mod new;
mod notebook;
mod repl;
mod setup;
mod step;
mod test;
mod tune;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use hx_base::Severity;
use hx_base::limits::{bytes, seconds};
use hx_inspect::{Choosing, DeviceChoice};
use hx_target::Target;

pub(crate) use bench::BenchArgs;
pub(crate) use build::BuildArgs;
pub(crate) use calibrate::CalibrateArgs;
pub(crate) use fmt::FmtArgs;
pub(crate) use layout::{JudgeArgs, LayoutArgs, LayoutVerb, ShowArgs, WhyArgs};
pub(crate) use new::{CacheArgs, CacheVerb, CompletionsArgs, NewArgs};
pub(crate) use notebook::{KernelArgs, NotebookArgs, NotebookVerb, PlaceArgs};
pub(crate) use repl::ReplArgs;
pub(crate) use setup::SetupArgs;
pub(crate) use step::StepArgs;
pub(crate) use test::{TestArgs, TestFormat};
pub(crate) use tune::{OnlyTunedArgs, TuneArgs, TunedArgs};

/// The toolchain of the hx kernel language: tile-level GPU kernels with inferred layouts.
#[derive(Parser, Debug)]
#[command(
    name = "hx",
    version = concat!(env!("CARGO_PKG_VERSION"), " (the hx kernel language toolchain)"),
    after_help = "Exit codes: 0 good, 1 the checked thing is bad, 2 usage, 3 the environment lacks what was required, \
                  4 no test matched, 101 compiler bug, 130 Ctrl-C.",
    disable_help_subcommand = true
)]
pub(crate) struct Cli {
    /// When to use colour; NO_COLOR and CLICOLOR_FORCE are honoured.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
    /// How diagnostics are written; JSON is one object a line, on stdout.
    #[arg(long, global = true, value_enum, default_value_t = MessageFormat::Human, value_name = "FORMAT")]
    pub message_format: MessageFormat,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MessageFormat {
    Human,
    Short,
    Json,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Make a folder with a project: a kernel, a test and a program.
    New(NewArgs),
    /// Make a project of the current folder.
    Init,
    /// Find errors, and solve every kernel's default instance.
    Check(CheckArgs),
    /// Run the `main { … }` of a file.
    Run(RunArgs),
    /// Compile a kernel to a file, with a description of its launch for other programs.
    Build(BuildArgs),
    /// Run tests.
    Test(TestArgs),
    /// Step through one block of a launch, forwards and backwards, on the simulator.
    Step(StepArgs),
    /// Time kernels on the GPU, against baselines in the same run.
    Bench(BenchArgs),
    /// Measure the GPU with microbenchmarks, and write the numbers of the cost model.
    Calibrate(CalibrateArgs),
    /// Find the compile-time arguments that make a kernel fastest for shapes, by measuring on the GPU.
    Tune(TuneArgs),
    /// Format files in the one style.
    Fmt(FmtArgs),
    /// Compute with layouts, draw them, and show the reasons for those of a kernel.
    Layout(LayoutArgs),
    /// Read statements and items, and evaluate each at once; input from a pipe runs as a script.
    Repl(ReplArgs),
    /// Write notebooks in hx: install the kernel for Jupyter.
    Notebook(NotebookArgs),
    /// Explain an error code.
    Explain(ExplainArgs),
    /// Show where compiled kernels are kept and how much there is; `clear` removes them.
    Cache(CacheArgs),
    /// Remove what is kept between runs: compiled kernels, which tests failed, the times that `hx tune` measured, and the members that
    /// launches chose.
    Clean,
    /// Print the script that teaches a shell the verbs and flags of hx.
    Completions(CompletionsArgs),
    /// Fetch the CUDA compiler into your data folder; `--trust PATH` lets a project bring its own.
    Setup(SetupArgs),
    /// List what the machine has, and what each missing part disables.
    Doctor(DoctorArgs),
    /// Serve an editor: the language server protocol on stdin and stdout.
    Lsp(LspArgs),
    /// Serve an editor's debugger: the debug adapter protocol on stdin and stdout.
    DebugAdapter,
    /// Compile and run kernels for another hx process.
    #[command(hide = true)]
    Worker,
}

/// The target of compilation.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct TargetArgs {
    /// The architecture, such as sm_80, sm_90a or sm_120a; a wrong name lists them all.
    #[arg(long, value_name = "ARCH", value_parser = str::parse::<Target>)]
    pub target: Option<Target>,
    /// The CUDA compiler library, or a folder that holds it.
    #[arg(long, value_name = "PATH")]
    pub nvrtc: Option<PathBuf>,
    /// The costs of instructions and memories that layouts and estimates follow: a file of `hx calibrate`, or one of h200, h100, a100,
    /// rtx4090, rtx5090 and b200; a GPU that is opened has its own.
    #[arg(long, value_name = "FILE")]
    pub costs: Option<String>,
}

/// Which of the solutions of every kernel is built.
#[derive(Args, Debug, Clone, Copy, Default)]
pub(crate) struct CandidateArgs {
    /// Build this candidate of every kernel instead of the cheapest, which is 0: `hx layout why --candidates` lists them.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub candidate: u32,
}

/// The device of launches.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct DeviceArgs {
    /// auto, sim, cuda, cuda:N or cuda:all; auto takes the GPU if there is one, `cuda:all` spreads `hx test` and `hx tune` over all.
    #[arg(long, value_name = "DEVICE", value_parser = str::parse::<DeviceChoice>)]
    pub device: Option<DeviceChoice>,
    #[command(flatten)]
    pub target: TargetArgs,
}

/// The way in which a launch of a kernel with a family chooses a member.
#[derive(Args, Debug, Clone, Copy, Default)]
pub(crate) struct ChoosingArgs {
    /// How a launch chooses between the members of a family: `model`, by the cost model of the device, or `first-call`, which measures
    /// the members that the model finds fastest at the first launch of a shape, on a GPU, and remembers the times; HX_TUNE is the
    /// default.
    #[arg(long, value_name = "WHEN", value_parser = str::parse::<Choosing>)]
    pub tune: Option<Choosing>,
}

/// The order of events of a launch that has several.
#[derive(Args, Debug, Clone, Copy, Default)]
pub(crate) struct OrderArgs {
    /// Run in this order of events instead of 0, as `hx test --orders` reports it; runs on the simulator.
    #[arg(long, value_name = "N")]
    pub order: Option<u64>,
}

/// The counters of the simulator.
#[derive(Args, Debug, Clone, Copy, Default)]
pub(crate) struct ReportArgs {
    /// Show beside the lines of each kernel what its operations did: instructions, bytes, sectors, bank conflicts, redundant work,
    /// share of the estimate; runs on the simulator.
    #[arg(long)]
    pub report: bool,
}

/// The flags that choose tests or benches.
#[derive(Args, Debug)]
pub(crate) struct ChoiceArgs {
    /// Files and folders (the current folder if none is given), and parts of names that choose tests or benches.
    #[arg(value_name = "PATHS|FILTER")]
    pub what: Vec<String>,
    /// The filter is a whole name.
    #[arg(long)]
    pub exact: bool,
    /// Leave out tests or benches whose name contains this.
    #[arg(long, value_name = "FILTER")]
    pub skip: Vec<String>,
    /// Show the names of the tests or benches and run nothing.
    #[arg(long)]
    pub list: bool,
}

/// The seed and the limits of each test or bench.
#[derive(Args, Debug)]
pub(crate) struct EachArgs {
    /// The seed of random functions whose call names none.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Seconds after which one test or bench is stopped.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout: Option<f64>,
    /// Limits the memory of host values, as in 512MiB or 16GiB; 4 GiB by default.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory: Option<u64>,
}

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Files and folders; the current folder if none is given.
    pub paths: Vec<String>,
    /// Show a stage of the kernels: tile, constraints, layouts, thread, cuda, ptx or sass.
    #[arg(long, value_name = "STAGE", value_parser = clap::builder::PossibleValuesParser::new(hx_inspect::EmitKind::NAMES))]
    pub emit: Option<String>,
    /// Check or show this kernel only.
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// Replace a compile-time argument of what is checked or shown, as in BM=128, T=bf16 or F=relu.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    #[command(flatten)]
    pub deny: DenyArgs,
    /// Check every solution by enumeration, independent of how it was found.
    #[arg(long)]
    pub verify: bool,
    /// Show how long each stage of each kernel takes, on one core.
    #[arg(long, conflicts_with_all = ["emit", "verify"])]
    pub timings: bool,
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub candidate: CandidateArgs,
    #[command(flatten)]
    pub tuned: OnlyTunedArgs,
}

/// The findings that fail a command, besides errors.
#[derive(Args, Debug)]
pub(crate) struct DenyArgs {
    /// Exit with 1 if there is a finding of this severity.
    #[arg(long, value_name = "SEVERITY", value_enum)]
    pub deny: Vec<Denied>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Denied {
    Warning,
    Performance,
}

impl DenyArgs {
    /// Reports whether a finding fails the command.
    pub(crate) fn denies(&self, severity: Severity) -> bool {
        match severity {
            Severity::Error => true,
            Severity::Warning => self.deny.contains(&Denied::Warning),
            Severity::Performance => self.deny.contains(&Denied::Performance),
            Severity::Note => false,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The file.
    pub file: String,
    /// The seed of random functions whose call names none.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Seconds after which the run is stopped.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout: Option<f64>,
    /// Limits the memory of host values, as in 512MiB or 16GiB; 4 GiB by default.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory: Option<u64>,
    #[command(flatten)]
    pub report: ReportArgs,
    #[command(flatten)]
    pub order: OrderArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub choosing: ChoosingArgs,
    /// The program's `args`.
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
    #[command(flatten)]
    pub candidate: CandidateArgs,
    #[command(flatten)]
    pub tuned: TunedArgs,
}

/// Parses the peak of a machine: a positive, finite number.
///
/// # Errors
/// What was expected, as text.
fn positive(text: &str) -> Result<f64, String> {
    let parsed = text.parse::<f64>().ok().filter(|x| x.is_finite() && *x > 0.0);
    parsed.ok_or_else(|| "expected a positive number".to_owned())
}

#[derive(Args, Debug)]
pub(crate) struct LspArgs {
    /// Accepted because every client passes it; there is no other transport.
    #[arg(long)]
    pub stdio: bool,
    /// The process of the editor, which some clients pass; not used.
    #[arg(long = "clientProcessId", value_name = "PID", hide = true)]
    pub client_process: Option<u32>,
}

#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// A code, with or without HX, or its name, as in HX0301; all codes are listed if it is left out.
    pub code: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub target: TargetArgs,
}
