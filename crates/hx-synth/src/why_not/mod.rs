//! Explains why a solution does not use an alternative: another instruction, width, layout or arrangement.

pub(crate) mod product;
pub(crate) mod width;
