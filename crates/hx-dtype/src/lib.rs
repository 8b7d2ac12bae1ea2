//! Element types: their widths, names, rounding, conversion, spacing and packing.
//!
//! A number of an element type is held as its *bits*: a `u64` whose low [`DType::bits`] bits are the stored pattern and
//! whose other bits are zero. [`DType::encode`] rounds an `f64` to bits, and [`DType::decode`] is the way back. [`load`]
//! and [`store`] move bits in and out of packed little-endian bytes.
//!
//! Invariant: the crate knows no tensor, no layout and no instruction.
//!
//! Start at [`DType`].

mod atomic;
mod convert;
mod dtype;
mod float;
mod operator;
mod pack;

pub use atomic::AtomicOp;
pub use dtype::{Class, DType, UnknownDType};
pub use float::FloatFormat;
pub use operator::{Operator, erfinv, fused_to_odd};
pub use pack::{load, packed_bytes, store};
