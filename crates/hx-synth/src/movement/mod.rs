//! Movement of values between threads: reductions, scans, parts and rearrangements of register tensors.

pub(crate) mod parts;
pub(crate) mod reduce;
pub(crate) mod route;
