//! The flags of `hx repl`.

use std::path::PathBuf;

use clap::Args;

use super::{ChoosingArgs, DeviceArgs, bytes, seconds};

#[derive(Args, Debug, Default)]
pub(crate) struct ReplArgs {
    /// The seed of random functions whose call names none.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Seconds after which one entry is stopped.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout: Option<f64>,
    /// Limits the memory of host values, as in 512MiB or 16GiB; 4 GiB by default.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory: Option<u64>,
    /// In a script, go on after an entry that fails; the exit code still reports it.
    #[arg(long)]
    pub keep_going: bool,
    /// The program that is started as the worker process, for tests of its failures.
    #[arg(long, value_name = "PROGRAM", hide = true)]
    pub worker: Option<PathBuf>,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub choosing: ChoosingArgs,
}
