//! The one concrete database and the sources of its files: the embedded standard library, projects on disk, and the texts that
//! an editor overlays.
//!
//! Invariant: the text of a file on disk is read through a [`System`] only. The crate knows no flags, no protocol and
//! no device.
//!
//! Start at [`Database`], then [`Database::open`].

#![allow(clippy::disallowed_methods, reason = "the one implementation of `System` over the disk")]

mod database;
mod error;
mod manifest;
mod os;
mod paths;
mod project;
mod std_files;
#[cfg(test)]
mod tests;
mod tuned;
mod tuned_files;

pub use database::Database;
pub use error::OpenError;
pub use hx_base::{System, SystemError};
pub use manifest::{MANIFEST_NAME, Manifest};
pub use os::{MAX_SOURCE_BYTES, OsSystem};
pub use project::{Opened, OpenedFolder};
pub use tuned::{Extent, TUNED_NAME, TunedEntry, TunedFile, path_from, shape_text, updated};
