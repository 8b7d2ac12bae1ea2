//! Hand-made thread programs.

mod banks;
mod build;
mod errors;
mod formulas;
mod matmul;
mod memory;
mod values;
