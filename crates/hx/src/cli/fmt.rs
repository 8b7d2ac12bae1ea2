//! The flags of `hx fmt`.

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct FmtArgs {
    /// Files and folders (the current folder if none is given); `-` formats stdin to stdout.
    pub paths: Vec<String>,
    /// Change nothing: list the files that would change, and exit with 1 if there is one.
    #[arg(long)]
    pub check: bool,
    /// Format stdin to stdout; messages use this name.
    #[arg(long, value_name = "PATH", conflicts_with = "paths")]
    pub stdin_filepath: Option<String>,
}
