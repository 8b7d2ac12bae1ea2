//! The REPL: cells, commands, line editing, and the evaluation that cannot take the session down.
//!
//! Everything that is computed comes from the crates below: this one decides what an entry means, runs it where it can be
//! given up, and shows what came of it. It knows no flags. Start at [`Session`]; [`run_prompt`] drives it from a
//! terminal, [`run_script`] from a stream.

mod commands;
mod complete;
mod device;
mod draw;
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
