//! Tests the laws and the reference cases of the layout algebra.

mod core;
mod drawings;
mod expressions;
mod laws;
mod original;
mod relations;
mod robust;
mod swizzled;
mod vectors;
