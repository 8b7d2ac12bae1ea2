//! Loads and stores in which each thread moves its own elements.

use std::cell::OnceCell;

use hx_target::{CopyRow, Target};

use super::{Access, Run};
use crate::distribution::{Placed, ThreadValueLayout};

/// Returns how many elements of a run each thread holds: the widest vector that its values allow, of those that `part` cuts off the run. For
/// a run in ascending order the result may exceed the run's width.
pub(crate) fn held(layout: &ThreadValueLayout, run: &Run, part: impl Fn(&Run, i64) -> Option<Run>) -> i64 {
    if !run.is_plain() {
        let holds =
            |width: &i64| part(run, *width).is_some_and(|part| part.take(&mut layout.placed()).is_some());
        return (1..=run.width()).rev().filter(|width| run.width() % width == 0).find(holds).unwrap_or(1);
    }
    let mut width = 1;
    while let Some(next) = layout.value.iter().find(|m| m.along() == Some((run.dim(), width))) {
        width *= next.extent;
    }
    width
}

/// Returns the access that moves a run with one instruction, or `None` if the layout does not hold aligned runs.
pub(crate) fn vector(
    target: Target,
    layout: &ThreadValueLayout,
    row: &'static CopyRow,
    run: Run,
) -> Option<Access> {
    let mut rest = layout.placed();
    let taken = run.take(&mut rest)?;
    rest.sort_by_key(|placed| placed.position);
    let mut values: Vec<(i64, i64)> = taken.iter().map(|p| (p.mode.extent, p.position)).collect();
    if values.is_empty() {
        values.push((1, 0));
    }
    let others: Vec<&hx_tile::TileMode> = layout.thread.iter().chain(rest.iter().map(|p| &p.mode)).collect();
    if !run.may_begin(&others) {
        return None;
    }
    Some(Access {
        row,
        limits: target.limits(),
        tile: layout.tile.clone(),
        thread: layout.thread.clone(),
        run,
        values,
        issue: rest,
        phases: OnceCell::new(),
        busy: OnceCell::new(),
    })
}

/// Reports whether elements narrower than a register word fill whole words: neighbours in memory are neighbours in a word.
pub(crate) fn fills_words(values: &[(i64, i64)], issue: &[Placed], element_bits: u32, bytes: u32) -> bool {
    let per_word = (i64::from(bytes) * 8 / i64::from(element_bits)).min(i64::from(32 / element_bits.min(32)));
    if per_word <= 1 {
        return true;
    }
    // Extent of the first values that have contiguous positions.
    let (mut dense, mut rest) = (1, values);
    while let [(extent, position), more @ ..] = rest
        && *position == dense
    {
        (dense, rest) = (dense * extent, more);
    }
    let mut apart = rest.iter().map(|v| v.1).chain(issue.iter().map(|p| p.position));
    dense % per_word == 0 && apart.all(|p| p % per_word == 0)
}
