//! The flags of `hx notebook`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ChoosingArgs, DeviceArgs};

#[derive(Args, Debug)]
pub(crate) struct NotebookArgs {
    #[command(subcommand)]
    pub verb: NotebookVerb,
}

#[derive(Subcommand, Debug)]
pub(crate) enum NotebookVerb {
    /// Tell Jupyter where this hx is, so that notebooks can be written in hx.
    Install(PlaceArgs),
    /// Remove what `install` wrote.
    Uninstall(PlaceArgs),
    /// Serve a notebook: Jupyter runs this with the file that names its ports.
    Kernel(KernelArgs),
}

#[derive(Args, Debug)]
pub(crate) struct PlaceArgs {
    /// For every Jupyter of this user; the default.
    #[arg(long, conflicts_with_all = ["prefix", "sys_prefix"])]
    pub user: bool,
    /// For the Jupyter that is installed in this folder, as in /usr/local.
    #[arg(long, value_name = "DIR", conflicts_with = "sys_prefix")]
    pub prefix: Option<PathBuf>,
    /// For the Jupyter of the active virtual environment.
    #[arg(long)]
    pub sys_prefix: bool,
    /// The name of the kernel in Jupyter.
    #[arg(long, value_name = "NAME", default_value = "hx")]
    pub name: String,
}

#[derive(Args, Debug)]
pub(crate) struct KernelArgs {
    /// The connection file.
    #[arg(value_name = "FILE")]
    pub connection: PathBuf,
    /// Arguments that clients append, such as the files of `jupyter run`; not used.
    #[arg(hide = true)]
    pub rest: Vec<String>,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub choosing: ChoosingArgs,
}
