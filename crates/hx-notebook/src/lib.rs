//! Notebooks: the Jupyter messaging protocol over a session of the prompt.
//!
//! A thread owns the sockets (`sockets.rs`) and answers what must not wait: heartbeats, interrupts, shutdown. The caller's thread
//! owns the session and answers requests in order (`kernel.rs`). The outputs of an entry become messages in `outputs.rs`.
//! `wire.rs` turns messages into signed frames. `kernelspec.rs` writes the files by which Jupyter finds the kernel; it needs no
//! Python.
//!
//! Invariant: the crate evaluates nothing itself: an entry, a completion and an inspection are answers of `hx-repl`.
//!
//! Start at [`serve`]. The protocol is described at <https://jupyter-client.readthedocs.io/en/stable/messaging.html>; names of
//! messages and fields are those of that page.

#![allow(clippy::disallowed_methods, reason = "the files by which Jupyter finds the kernel")]

mod connection;
mod history;
mod info;
mod kernel;
mod kernelspec;
mod message;
mod outputs;
mod parent;
mod requests;
mod sockets;
#[cfg(test)]
mod tests;
mod text;
mod wire;

pub use connection::{Connection, ConnectionError};
pub use kernel::{Config, serve};
pub use kernelspec::{Place, SpecError, install, uninstall};
