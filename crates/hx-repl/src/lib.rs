//! The REPL: cells, commands, line editing, and evaluations that cannot crash the session.
//!
//! The crates below compute all results. This crate interprets entries, runs them where they can be abandoned, and shows the
//! results.
//!
//! Invariant: the crate parses no flags, and only `prompt.rs` touches a terminal: a session shows its results on a screen that
//! its caller owns.
//!
//! Start at [`Session`]; [`run_prompt`] drives it from a terminal, [`run_script`] from a stream. A [`Display`] takes its outputs as data.

#![allow(clippy::disallowed_methods, reason = "the history of the prompt, and the files of its commands")]

mod commands;
mod complete;
mod device;
mod draw;
mod entries;
mod entry;
mod highlight;
mod inspect;
mod keys;
mod lines;
mod machines;
mod plain;
mod prompt;
mod redefine;
mod screen;
mod script;
mod session;
mod show;
mod style;
#[cfg(test)]
mod tests;
mod work;

pub use complete::{Completions, Word};
pub use entries::{Entry, completeness_of, entries, indentation};
pub use hx_ide::DrawingStyle;
pub use hx_layout::draw::{Ground, SvgStyle};
pub use hx_report::Format;
pub use hx_syntax::Completeness;
pub use machines::Machines;
pub use plain::plain_text;
pub use prompt::{LinePrompt, run_prompt};
pub use screen::{Display, Finding, Screen, Shown};
pub use script::run_script;
pub use session::{Config, Outcome, Session};
pub use style::{Picture, Style};
