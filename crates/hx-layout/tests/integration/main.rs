//! Tests the laws and the reference cases of the layout algebra.

mod core;
mod drawings;
mod expressions;
mod laws;
mod original;
mod robust;
mod vectors;
