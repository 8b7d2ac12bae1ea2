//! Chooses how a reduction runs, from the layout of its source.

use hx_target::Target;
use hx_tile::{Across, Op, Reason, ReduceChoice, TensorId, TileProgram};

use crate::distribution::layouts::Layouts;
use crate::distribution::{at_warps, layout_of_table};
use crate::failure::{Failure, FailureKind};

/// Threads along the axis: masks of the lanes that exchange, and digits of the thread number, as `(unit, extent)`, that meet in
/// shared memory.
pub(crate) struct Steps {
    pub(crate) lanes: Vec<u32>,
    pub(crate) digits: Vec<(i64, i64)>,
}

/// Splits the threads along an axis, of `threads` that reduce together, into lanes of a warp, which exchange values, and the
/// rest, which meet in shared memory.
pub(crate) fn steps(
    threads: u32,
    layout: &crate::distribution::ThreadValueLayout,
    axis: usize,
    target: Target,
) -> Steps {
    let whole_warps = threads.is_multiple_of(target.limits.lanes) && target.rows().exchange_of(32).is_some();
    let mut out = Steps { lanes: vec![], digits: vec![] };
    let mut unit = 1;
    for mode in at_warps(&layout.thread, target.limits.lanes) {
        let along = mode.strides[axis] != 0 && mode.extent > 1;
        let powers = [unit, mode.extent].iter().all(|n| n.count_ones() == 1);
        if along && whole_warps && powers && unit * mode.extent <= i64::from(target.limits.lanes) {
            let masks = (0..mode.extent.trailing_zeros()).map(|bit| (unit as u32) << bit);
            out.lanes.extend(masks);
        } else if along {
            out.digits.push((unit, mode.extent));
        }
        unit *= mode.extent;
    }
    out
}

/// Returns the choice for a reduction. Scratch memory starts at byte `offset`.
///
/// # Errors
/// `Conflict` if the values of the source lie in no regular order for the result.
pub(crate) fn choice(
    program: &TileProgram,
    op: &Op,
    [dst, src]: [TensorId; 2],
    axis: usize,
    known: &Layouts,
    offset: u32,
) -> Result<ReduceChoice, Failure> {
    let target = program.target;
    let (d, s) = (&known[dst].layout, &known[src].layout);
    let irregular = || {
        let message = "the results of the reduction lie in no regular order";
        Failure::new(FailureKind::Conflict, message).at(op.id)
    };
    let table = d.positions_of(&s.project_values(&[axis], target.limits.lanes)).ok_or_else(irregular)?;
    let extents: Vec<i64> = s.value.iter().map(|m| m.extent).collect();
    let Steps { lanes, digits } = steps(program.threads_of(op), s, axis, target);
    let parts: i64 = digits.iter().map(|d| d.1).product();
    let rows: i64 = d.tile.iter().product();
    let one = parts * rows * i64::from(program.tensor(dst).dtype.bits()).max(8) / 8;
    let bytes = one * i64::from(program.groups_of(op));
    let is_across = !digits.is_empty();
    let across = is_across.then_some(Across { digits, offset, bytes: bytes as u32 });
    let text = match (&across, lanes.is_empty()) {
        (None, true) => "the axis lies within threads".to_string(),
        (None, false) => "the axis lies within warps".to_string(),
        (Some(_), _) => format!("the axis is dealt to {parts} warps or groups of threads"),
    };
    let local = layout_of_table(&extents, &table).ok_or_else(irregular)?;
    Ok(ReduceChoice { local, lanes, across, reason: Reason { text, from: vec![] } })
}
