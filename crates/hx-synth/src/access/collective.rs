//! Loads and stores in which lanes exchange what they address: the paper's `f ∘ p⁻¹ = g ∘ q⁻¹` with both sides of the instruction.

use hx_layout::Layout;
use hx_target::{CopyAtom, CopyRow};
use hx_tile::{TileMode, modes_layout, tile_modes};

use super::Access;
use crate::distribution::{Placed, Tv, cut, split_placed};

/// The access made of a collective instruction, if the layout of the register tensor is made of its fragment.
///
/// With *f* the layout of the tensor restricted to the lanes and values of one instruction, *q* the instruction's register side and
/// *p* its memory side, the threads address *f ∘ q⁻¹ ∘ p*.
pub(crate) fn collective(tv: &Tv, row: &'static CopyRow, atom: &CopyAtom) -> Option<Access> {
    let lanes = i64::from(row.threads);
    let (lane_modes, warp_modes) = split_thread(&tv.thread, lanes)?;
    if !row.is_load() && tv.thread.iter().any(|m| m.is_still() && m.extent > 1) {
        // Threads that hold the same would all store it, and a collective instruction cannot be left to one of them.
        return None;
    }
    // The values of one register word are neighbours in registers.
    let placed = tv.placed();
    let word = i64::from(row.word) * atom.values / (i64::from(row.bytes) * 8);
    let first = placed.first()?;
    let (pair, rest) = if first.mode.extent == word {
        (first.clone(), placed[1..].to_vec())
    } else if first.mode.extent % word == 0 {
        let (inner, outer) = cut(first, word);
        (inner, [&[outer], &placed[1..]].concat())
    } else {
        return None;
    };
    let (more, issue) = split_placed(&rest, atom.values / word)?;
    let values: Vec<Placed> = std::iter::once(pair).chain(more).collect();

    let value_modes: Vec<TileMode> = values.iter().map(|p| p.mode.clone()).collect();
    let f = Layout::concat(&[
        modes_layout(&lane_modes, &tv.tile).ok()?,
        modes_layout(&value_modes, &tv.tile).ok()?,
    ]);
    let embedded = f.ok()?.compose(&atom.register.left_inverse().ok()?).ok()?;
    let addressed = embedded.compose(&atom.memory.mode(0)).ok()?;
    let contiguous = embedded.compose(&atom.memory.mode(1)).ok()?;

    let line = tile_modes(&contiguous.coalesce(), &tv.tile)?;
    let [line] = line.as_slice() else { return None };
    let (dim, 1) = line.along()? else { return None };
    if line.extent != atom.access {
        return None;
    }
    let thread = tile_modes(&addressed, &tv.tile)?.into_iter().chain(warp_modes).collect();
    let values = values.iter().map(|p| (p.mode.extent, p.position)).collect();
    Some(Access { row, tile: tv.tile.clone(), thread, dim, width: atom.access, values, issue })
}

/// The modes of the first `lanes` threads and those of the warps.
fn split_thread(modes: &[TileMode], lanes: i64) -> Option<(Vec<TileMode>, Vec<TileMode>)> {
    let placed: Vec<Placed> = modes.iter().map(|mode| Placed { mode: mode.clone(), position: 0 }).collect();
    let (first, rest) = split_placed(&placed, lanes)?;
    let modes = |list: Vec<Placed>| list.into_iter().map(|p| p.mode).collect();
    Some((modes(first), modes(rest)))
}
