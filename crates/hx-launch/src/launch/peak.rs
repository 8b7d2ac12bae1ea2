//! The peak rate of the instruction that a kernel's products use.
//!
//! The rate comes from the issue cycles of the instruction in the target's catalogue, which hold for one quarter of a multiprocessor or
//! for all four, by the number of warps that execute the instruction; from the multiprocessors of the device; and from the clock that its
//! driver states. Products that no instruction of the catalogue computes have no peak here.

use hx_compile::{Db, solved};
use hx_host::device::Peak;
use hx_tile::Choice;

use super::instance::Checked;
use crate::machine::Gpu;

/// Returns the peak of the slowest instruction of a kernel's products; `None` if it has no products, or the driver states no clock.
pub(super) fn of<'db>(db: &'db dyn Db, checked: Checked<'db>, gpu: &Gpu) -> Option<Peak> {
    let solved = solved(db, checked.get()).as_ref().ok()?;
    let target = gpu.cuda.target;
    let products = solved.solution.choices.values().filter_map(|choice| match choice {
        Choice::Gemm(product) => Some(product.row.get()),
        Choice::Copy(_)
        | Choice::Rearrange(_)
        | Choice::Convert(_)
        | Choice::Map(_)
        | Choice::Reduce(_)
        | Choice::Slice(_)
        | Choice::Scan(_)
        | Choice::Bulk(_)
        | Choice::Prefetch(_) => None,
    });
    let each = products.map(|row| (row.operations_in_a_cycle(&target.limits), &row.name));
    let (per_cycle, instruction) = each.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let clock = f64::from(gpu.info.clock_khz) * 1e-6;
    (clock > 0.0).then(|| Peak {
        instruction: instruction.clone(),
        per_cycle,
        multiprocessors: gpu.info.multiprocessors,
        clock,
    })
}
