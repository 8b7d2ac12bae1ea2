//! Loads and stores in which lanes exchange the data that they address: the paper's `f ∘ p⁻¹ = g ∘ q⁻¹` with both sides of the
//! instruction.

use std::cell::OnceCell;

use hx_layout::Layout;
use hx_target::{CopyAtom, CopyRow, Target};
use hx_tile::{TileMode, modes_layout, tile_modes};

use super::{Access, Run};
use crate::distribution::{Placed, ThreadValueLayout, split_placed};

/// Returns the access of a collective instruction, or `None` if the layout of the register tensor is not made of the
/// instruction's fragments.
///
/// With *f* the layout of the tensor restricted to the lanes and values of one instruction, *q* the instruction's register side
/// and *p* its memory side, the threads address *f ∘ q⁻¹ ∘ p*.
///
/// The matrices that one instruction moves may lie along any of the value modes; the first modes are tried first.
pub(crate) fn collective(
    target: Target,
    layout: &ThreadValueLayout,
    row: &'static CopyRow,
    atom: &CopyAtom,
) -> Option<Access> {
    let lanes = i64::from(row.threads);
    let (lane_modes, warp_modes) = split_thread(&layout.thread, lanes)?;
    if !row.is_load() && layout.thread.iter().any(|m| m.is_still() && m.extent > 1) {
        // Threads with equal elements would all store them, and a collective instruction cannot be restricted to one of them.
        return None;
    }
    // The values of one register word are neighbours in registers.
    let placed = layout.placed();
    let word = i64::from(row.word) * atom.values / (i64::from(row.bytes) * 8);
    let (in_word, rest) = split_placed(&placed, word)?;
    let inverse = atom.register.left_inverse().ok()?;
    orders(&rest).into_iter().find_map(|order| {
        let (more, issue) = split_placed(&order, atom.values / word)?;
        let values: Vec<Placed> = in_word.iter().cloned().chain(more).collect();
        made(target, layout, row, (atom, &inverse), [&lane_modes, &warp_modes], &values, issue)
    })
}

/// Returns the modes in their order, then once for each mode but the last the same list with this mode moved to the end. A
/// warp with three tiles along N needs this: matrices come in pairs.
fn orders(modes: &[Placed]) -> Vec<Vec<Placed>> {
    let last = |i: usize| {
        let others = modes.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, m)| m.clone());
        others.chain([modes[i].clone()]).collect()
    };
    std::iter::once(modes.to_vec()).chain((0..modes.len().saturating_sub(1)).map(last)).collect()
}

/// Returns the access whose instructions move these values, one instruction for each index over `issue`. `None` if the
/// instruction's addresses do not cover runs of `atom.access` neighbours along one dimension.
fn made(
    target: Target,
    layout: &ThreadValueLayout,
    row: &'static CopyRow,
    (atom, inverse): (&CopyAtom, &Layout),
    [lane_modes, warp_modes]: [&[TileMode]; 2],
    values: &[Placed],
    issue: Vec<Placed>,
) -> Option<Access> {
    let value_modes: Vec<TileMode> = values.iter().map(|p| p.mode.clone()).collect();
    let f = Layout::concat(&[
        modes_layout(lane_modes, &layout.tile).ok()?,
        modes_layout(&value_modes, &layout.tile).ok()?,
    ]);
    let embedded = f.ok()?.compose(inverse).ok()?;
    let contiguous = embedded.compose(&atom.memory.mode(1)).ok()?;
    let line = tile_modes(&contiguous.coalesce(), &layout.tile)?;
    let [line] = line.as_slice() else { return None };
    let (dim, 1) = line.along()? else { return None };
    if line.extent != atom.access {
        return None;
    }
    let addressed = embedded.compose(&atom.memory.mode(0)).ok()?;
    let thread =
        tile_modes(&addressed, &layout.tile)?.into_iter().chain(warp_modes.iter().cloned()).collect();
    let values = values.iter().map(|p| (p.mode.extent, p.position)).collect();
    let run = Run::plain(dim, atom.access);
    Some(Access {
        row,
        limits: target.limits(),
        tile: layout.tile.clone(),
        thread,
        run,
        values,
        issue,
        phases: OnceCell::new(),
        busy: OnceCell::new(),
    })
}

/// Splits thread modes into the modes of the first `lanes` threads and those of the warps. `None` if `lanes` does not divide
/// the modes.
fn split_thread(modes: &[TileMode], lanes: i64) -> Option<(Vec<TileMode>, Vec<TileMode>)> {
    let placed: Vec<Placed> = modes.iter().map(|mode| Placed { mode: mode.clone(), position: 0 }).collect();
    let (first, rest) = split_placed(&placed, lanes)?;
    let modes = |list: Vec<Placed>| list.into_iter().map(|p| p.mode).collect();
    Some((modes(first), modes(rest)))
}
