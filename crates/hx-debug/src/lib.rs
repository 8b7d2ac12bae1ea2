//! Stepping through a recorded block: a terminal, and a debug adapter for editors.
//!
//! Both show one [`hx_driver::Stepper`]. The commands of the terminal are also those of an editor's debug console.
//!
//! Invariant: the crate parses no flags and opens no file: its caller finds the launch and hands over the stepper.
//!
//! Start at [`run_terminal`], or at [`serve`].

mod command;
mod console;
mod dap;
mod show;
mod terminal;

pub use console::Console;
pub use dap::{LaunchArguments, OpenError, serve};
pub use terminal::{Lines, run_terminal};
