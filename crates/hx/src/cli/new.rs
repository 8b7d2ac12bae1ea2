//! The flags of `hx new`, `hx cache` and `hx completions`.

use clap::{Args, Subcommand};
use clap_complete::Shell;

#[derive(Args, Debug)]
pub(crate) struct NewArgs {
    /// The folder to make.
    pub path: String,
}

#[derive(Args, Debug)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    pub verb: Option<CacheVerb>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum CacheVerb {
    /// Remove every compiled kernel.
    Clear,
}

#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// bash, zsh, fish, elvish or powershell.
    pub shell: Shell,
}
