//! Anchors: the layouts from which the other layouts of a component are derived.

pub(crate) mod across;
pub(crate) mod copy;
pub(crate) mod descriptor;
pub(crate) mod gemm;
mod paired;
pub(crate) mod tiling;
pub(crate) mod tilings;
