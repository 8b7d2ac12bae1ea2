//! Anchors a copy between two shared tensors whose neighbours lie along different dimensions at an instruction that exchanges them.

use hx_index::gcd;
use hx_target::{CopyRow, Space};
use hx_tile::{Op, OpKind, TensorId, TileMode, TileProgram, View, tile_modes};

use crate::distribution::ThreadValueLayout;

/// Returns layouts of a tensor that is loaded from one shared tensor and stored to another, each with the row that loads or stores
/// it across both dimensions: tiles of the row's fragments, dealt to warps.
///
/// Neighbouring dimensions may count as one: a tensor of `[D, BN / 2, 2]` whose rows are read in another order is `[D, BN]`.
/// The list is empty if the target has no such row for the elements, or if its tiles do not fill the tensor once.
pub(crate) fn layouts(program: &TileProgram, tensor: TensorId) -> Vec<(ThreadValueLayout, &'static CopyRow)> {
    let info = program.tensor(tensor);
    let bits = info.dtype.bits();
    let rows = |from, to| {
        let across = move |row: &&'static CopyRow| row.permutes > 0 && row.element_bits == Some(bits);
        program.target.rows().copies_between(from, to).filter(across)
    };
    let ops = program.ops(1.0);
    let is_loaded = |op: &Op| matches!(&op.kind, OpKind::Copy { src, dst } if is(dst, tensor) && src.base.shared().is_some());
    if !ops.iter().any(|(op, _)| is_loaded(op)) || !is_stored(&ops, program, tensor) {
        return Vec::new();
    }
    let lanes = i64::from(program.target.limits.lanes);
    let threads = i64::from(program.threads_holding(tensor));
    if threads % lanes != 0 {
        return Vec::new();
    }
    let mut out: Vec<(ThreadValueLayout, &'static CopyRow)> = Vec::new();
    for row in rows(Space::Shared, Space::Register).chain(rows(Space::Register, Space::Shared)) {
        for shape in joined(&info.shape) {
            for layout in of_matrix(row, bits, shape, threads / lanes) {
                let Some(layout) = layout.reshaped(&shape, &info.shape) else { continue };
                if out.iter().all(|(other, _)| *other != layout) {
                    out.push((layout, row));
                }
            }
        }
    }
    out
}

/// Returns the shapes of a tensor whose first dimensions count as one, and the others as another one.
fn joined(shape: &[i64]) -> impl Iterator<Item = [i64; 2]> {
    (1..shape.len()).map(|at| [shape[..at].iter().product(), shape[at..].iter().product()])
}

/// Returns the layouts of a matrix that are made of a row's tiles: along either dimension, with warps along either first.
fn of_matrix(row: &CopyRow, bits: u32, shape: [i64; 2], warps: i64) -> Vec<ThreadValueLayout> {
    let ways = [false, true].into_iter().flat_map(|turned| [true, false].map(|along| (turned, along)));
    let of = |(turned, warps_along): (bool, bool)| {
        let turn = |[first, second]: [i64; 2]| if turned { [second, first] } else { [first, second] };
        let (thread, value) = dealt(row, bits, turn(shape), warps, warps_along)?;
        let [thread, value] = [thread, value].map(|modes| if turned { exchanged(modes) } else { modes });
        Some(ThreadValueLayout::covering(&shape, thread, value))
    };
    ways.filter_map(of).collect()
}

/// Reports whether a tensor is stored to a shared tensor, as it is or after `reshape`.
fn is_stored(ops: &[(&Op, f64)], program: &TileProgram, tensor: TensorId) -> bool {
    let dtype = |tensor| program.tensor(tensor).dtype;
    // Loops may move a tensor back to one of the names that it had.
    let (mut names, mut next) = (vec![tensor], 0);
    while let Some(&name) = names.get(next) {
        for (op, _) in ops {
            if let OpKind::Cast { dst, src } = op.kind
                && src == name
                && dtype(dst) == dtype(name)
                && !names.contains(&dst)
            {
                names.push(dst);
            }
        }
        next += 1;
    }
    ops.iter().any(|(op, _)| {
        matches!(&op.kind, OpKind::Copy { src, dst }
            if dst.base.shared().is_some() && src.register().is_some_and(|src| names.contains(&src)))
    })
}

fn is(view: &View, tensor: TensorId) -> bool {
    view.register() == Some(tensor)
}

/// Exchanges the two dimensions of modes.
fn exchanged(mut modes: Vec<TileMode>) -> Vec<TileMode> {
    modes.iter_mut().for_each(|mode| mode.strides.reverse());
    modes
}

/// Deals the tiles of a row to warps, along the first dimension of `shape` first if `warps_along`. Returns the modes of threads and
/// values; `None` if the tiles do not fill the shape, or are no multiple of the warps.
fn dealt(
    row: &CopyRow,
    bits: u32,
    shape: [i64; 2],
    warps: i64,
    warps_along: bool,
) -> Option<(Vec<TileMode>, Vec<TileMode>)> {
    let register = row.register.as_ref()?;
    let wide = i64::from(row.access * 8 / bits);
    let tile = [register.size() / wide, wide];
    if shape[0] % tile[0] != 0 || shape[1] % tile[1] != 0 {
        return None;
    }
    let tiles = [shape[0] / tile[0], shape[1] / tile[1]];
    let (first, second) = if warps_along { (0, 1) } else { (1, 0) };
    let mut dealt = [1, 1];
    dealt[first] = gcd(warps, tiles[first]);
    dealt[second] = gcd(warps / dealt[first], tiles[second]);
    if dealt[0] * dealt[1] != warps {
        return None;
    }
    let along = |dim: usize, extent: i64, stride: i64| {
        let mut strides = vec![0; 2];
        strides[dim] = stride;
        TileMode::new(extent, strides)
    };
    let mut thread = tile_modes(&register.mode(0), &tile)?;
    let mut value = tile_modes(&register.mode(1), &tile)?;
    for dim in [first, second] {
        thread.push(along(dim, dealt[dim], tile[dim]));
        value.push(along(dim, tiles[dim] / dealt[dim], tile[dim] * dealt[dim]));
    }
    Some((thread, value))
}
