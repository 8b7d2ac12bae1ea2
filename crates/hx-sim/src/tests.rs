//! Tests on hand-made thread programs.

mod alignment;
mod banks;
mod build;
mod control;
mod copies;
mod elementwise;
mod errors;
mod expressions;
mod formulas;
mod log;
mod matmul;
mod memory;
mod races;
mod softmax;
mod values;
