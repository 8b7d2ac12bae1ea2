//! The language server from outside: a scripted client talks to `hx lsp` as an editor does.
//!
//! The client fails on unrequested answers, on unexpected errors, and if the server is silent for a long time.

mod actions;
pub(crate) mod client;
mod code;
mod features;
mod hints;
mod robust;
mod sync;
mod typing;
mod wire;

use client::{Client, Options};
