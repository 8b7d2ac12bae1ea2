//! The language server from outside: a scripted client speaks to `hx lsp` as an editor does.
//!
//! The client fails on answers that nobody asked for, on errors that nobody expects, and when the server says nothing for a
//! long time.

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
