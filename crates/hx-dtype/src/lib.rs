//! Element types: their widths, names, rounding, conversion, spacing and packing.
//!
//! One number of an element type is held as its *bits*: a `u64` whose low [`DType::bits`] bits are the stored
//! pattern and whose other bits are zero. [`DType::encode`] rounds an `f64` to bits, [`DType::decode`] goes back,
//! [`load`] and [`store`] move bits in and out of packed little-endian bytes.
//! This crate knows no tensors and no layouts. Start at [`DType`].

mod convert;
mod dtype;
mod float;
mod operator;
mod pack;

pub use dtype::{DType, UnknownDType};
pub use operator::Operator;
pub use pack::{load, packed_bytes, store};
