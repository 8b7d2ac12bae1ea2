//! Tests on hand-made thread programs.

mod alignment;
mod banks;
mod boxes;
mod build;
mod bulk;
mod control;
mod copies;
mod counters;
mod elementwise;
mod errors;
mod expressions;
mod formulas;
mod late;
mod log;
mod matmul;
mod memory;
mod playback;
mod races;
mod roles;
mod softmax;
mod values;
mod witness;
