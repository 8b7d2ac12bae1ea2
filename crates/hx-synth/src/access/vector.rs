//! Loads and stores in which each thread moves its own elements.

use hx_target::CopyRow;

use super::Access;
use crate::distribution::{Placed, Tv, cut};

/// How many neighbours along `dim` each thread holds: the widest vector its values allow.
pub(crate) fn widest(tv: &Tv, dim: usize) -> i64 {
    let mut width = 1;
    while let Some(next) = tv.value.iter().find(|m| m.along() == Some((dim, width))) {
        width *= next.extent;
    }
    width
}

/// The access that moves `width` neighbours along `dim` with one instruction, if the layout holds them.
pub(crate) fn vector(tv: &Tv, row: &'static CopyRow, dim: usize, width: i64) -> Option<Access> {
    let mut rest = tv.placed();
    let mut values = Vec::new();
    let mut have = 1;
    while have < width {
        let at = rest.iter().position(|p| p.mode.along() == Some((dim, have)))?;
        let placed = rest.remove(at);
        let need = width / have;
        let take = if need % placed.mode.extent == 0 {
            placed
        } else if placed.mode.extent % need == 0 {
            let (inner, outer) = cut(&placed, need);
            rest.insert(at, outer);
            inner
        } else {
            return None;
        };
        have *= take.mode.extent;
        values.push((take.mode.extent, take.position));
    }
    if values.is_empty() {
        values.push((1, 0));
    }
    let aligned = |mode: &hx_tile::TileMode| mode.strides[dim] % width == 0;
    if !tv.thread.iter().chain(rest.iter().map(|p| &p.mode)).all(aligned) {
        return None;
    }
    Some(Access { row, tile: tv.tile.clone(), thread: tv.thread.clone(), dim, width, values, issue: rest })
}

/// Whether elements narrower than a register word come in whole words: neighbours in memory are neighbours in a word.
pub(crate) fn fills_words(values: &[(i64, i64)], issue: &[Placed], element_bits: u32, bytes: u32) -> bool {
    let per_word = (i64::from(bytes) * 8 / i64::from(element_bits)).min(i64::from(32 / element_bits.min(32)));
    if per_word <= 1 {
        return true;
    }
    let dense = values.first().is_some_and(|(extent, position)| *position == 1 && extent % per_word == 0);
    let rest = values.iter().skip(1).map(|v| v.1).chain(issue.iter().map(|p| p.position));
    dense && rest.into_iter().all(|p| p % per_word == 0)
}
