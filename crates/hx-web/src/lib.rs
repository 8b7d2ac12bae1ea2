//! The compiler, the simulator and the editor services for one text in a page: a request in JSON, an answer in JSON.
//!
//! A page runs this crate as WebAssembly in a worker. [`Playground`] owns the database and the text; [`Request`] lists what a page
//! may ask. Offsets in requests and answers count UTF-16 units, as JavaScript does.
//!
//! Invariant: the crate needs no file, no thread and no process, and computes nothing by itself: `hx-ide` answers for editors, and
//! `hx-driver` runs tests as `hx test --device sim` does.
//!
//! Start at [`Playground::answer`].

mod answers;
mod no_disk;
mod playground;
mod request;
mod runs;
#[cfg(test)]
mod tests;
mod units;
#[cfg(target_arch = "wasm32")]
mod wasm;

pub use playground::Playground;
pub use request::{Request, Theme};
