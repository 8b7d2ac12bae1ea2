//! The queries from a kernel to CUDA text, and the diagnostics of layouts, synchronization and resources.
//!
//! This crate knows no terminal, no protocol and no device. Start at [`Db`].

mod db;

pub use db::Db;
