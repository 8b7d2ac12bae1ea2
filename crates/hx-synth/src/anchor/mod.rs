//! Anchors: where the layouts of a component start.

pub(crate) mod copy;
pub(crate) mod gemm;
