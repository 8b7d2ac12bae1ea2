//! The REPL: cells, commands, line editing, and evaluations that cannot crash the session.
//!
//! The crates below compute all results. This crate interprets entries, runs them where they can be abandoned, and shows the
//! results.
//!
//! Invariant: the crate parses no flags, and only `prompt.rs` touches a terminal: a session shows its results on a screen that
//! its caller owns.
//!
//! Start at [`Session`]; [`run_prompt`] drives it from a terminal, [`run_script`] from a stream.

mod commands;
mod complete;
mod device;
mod draw;
mod entry;
mod highlight;
mod machines;
mod prompt;
mod redefine;
mod screen;
mod script;
mod session;
mod show;
#[cfg(test)]
mod tests;
mod work;

pub use machines::Machines;
pub use prompt::run_prompt;
pub use screen::{Screen, Style};
pub use script::run_script;
pub use session::{Config, Outcome, Session};
