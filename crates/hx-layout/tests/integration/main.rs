//! The laws and the reference cases of the layout algebra.

mod core;
mod laws;
mod vectors;
