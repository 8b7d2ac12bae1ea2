//! Kernels that bring tiles through shared memory: rings of stages, roles, groups of copies, and stages that threads write.
//!
//! `plan.rs` has such a kernel as data. Start at `draw.rs`, then read `write.rs`.

mod draw;
mod host;
mod out;
mod plan;
mod work;
mod write;

use super::sheet::Sheet;

/// Writes a program with products by descriptor.
pub(super) fn products(sheet: &mut Sheet) {
    let plan = draw::product(sheet);
    write::write(sheet, &plan);
}

/// Writes a program that reads the steps of a tensor.
pub(super) fn streams(sheet: &mut Sheet) {
    let plan = draw::stream(sheet);
    write::write(sheet, &plan);
}
