//! The flags of `hx setup`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct SetupArgs {
    /// Trust a project, or all projects in a folder: libraries and programs in it may be loaded and run.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["distrust", "list"])]
    pub trust: Option<PathBuf>,
    /// Take a folder off the list of those that are trusted.
    #[arg(long, value_name = "PATH", conflicts_with = "list")]
    pub distrust: Option<PathBuf>,
    /// List the folders that are trusted.
    #[arg(long)]
    pub list: bool,
}
