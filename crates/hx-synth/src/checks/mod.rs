//! Checks of a program before the search: demands that no layout meets, and tensors too large for any device.

pub(crate) mod convertible;
pub(crate) mod crossing;
pub(crate) mod pipes;
pub(crate) mod size;
