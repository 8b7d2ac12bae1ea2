//! Products whose rows or columns are dealt in pairs: lanes hold neighbouring rows of A or columns of B in neighbouring registers,
//! as instructions do that load tiles of bytes across both dimensions.

use hx_target::Space;
use hx_tile::{Op, OpKind, TensorId, TileMode, TileProgram, View};

use super::gemm::Gemm;
use crate::access::{Transfer, global};
use crate::search::pool::Pool;
use crate::shared::pin_of;

/// Rows of A, or columns of B, that one lane of a row of lanes holds before the next lane of the row holds some.
const PAIR: i64 = 2;
/// Lanes among which an instruction deals its rows or columns.
const LANES: i64 = 8;
/// The rows or columns of one group of pairs.
pub(super) const PAIRED: i64 = PAIR * LANES;

/// Returns whether rows of A and columns of B may be dealt in pairs: a target's instruction loads elements of this width across both
/// dimensions, and the operand comes from shared memory that is contiguous along them.
pub(super) fn offered(program: &TileProgram, gemm: &Gemm<'_>, pool: &Pool) -> [bool; 2] {
    let extents = [gemm.shape.m, gemm.shape.n];
    [0, 1].map(|i| {
        extents[i] % PAIRED == 0
            && gemm.views[i].register().is_some_and(|tensor| is_across(program, tensor, pool))
    })
}

/// Returns the ways to deal rows and columns that [`offered`] allows, as the instruction does first.
pub(super) fn ways([m, n]: [bool; 2]) -> Vec<[bool; 2]> {
    let all = [[false, false], [true, false], [false, true], [true, true]];
    all.into_iter().filter(|[on_m, on_n]| (m || !on_m) && (n || !on_n)).collect()
}

/// Deals what modes with these strides along `dim` deal by eights in pairs: of 16 neighbours, `g + 8 r` becomes `2 g + r`. Returns
/// `None` if a mode lies across the eights.
pub(super) fn dealt(modes: Vec<TileMode>, dim: usize) -> Option<Vec<TileMode>> {
    let paired = |mut mode: TileMode| {
        let (stride, reach) = (mode.strides[dim], mode.strides[dim] * mode.extent);
        mode.strides[dim] = match stride {
            0 => 0,
            s if s < LANES && reach <= LANES => s * PAIR,
            LANES if reach <= PAIRED => 1,
            s if s % PAIRED == 0 => s,
            _ => return None,
        };
        Some(mode)
    };
    modes.into_iter().filter(|mode| mode.extent > 1).map(paired).collect()
}

/// Reports whether an operand is loaded from a shared tensor that is filled along the operand's first dimension: its rows or columns. K is
/// the second one.
fn is_across(program: &TileProgram, operand: TensorId, pool: &Pool) -> bool {
    let bits = program.tensor(operand).dtype.bits();
    let mut loads = program.target.rows().copies_between(Space::Shared, Space::Register);
    if !loads.any(|row| row.permutes > 0 && row.element_bits == Some(bits)) {
        return false;
    }
    let ops = program.ops(1.0);
    let loaded = ops.iter().find_map(|(op, _)| load_of(op, operand));
    let Some((view, tensor)) = loaded.and_then(|(_, view)| Some((view, view.base.shared()?))) else {
        return false;
    };
    let Some(own) = view.modes.first().map(|mode| mode.dim) else { return false };
    if let Some(pin) = pin_of(program, tensor) {
        return pin.layout.mode(own).leaves().iter().any(|(extent, stride)| *extent > 1 && *stride == 1);
    }
    ops.iter().any(|(op, _)| filled_along(program, op, tensor, pool) == Some(own))
}

/// Returns a load of a register tensor, and the view that it reads; `None` if the operation is none.
fn load_of(op: &Op, register: TensorId) -> Option<(&Op, &View)> {
    Transfer::of(op).filter(|load| load.is_load && load.register == register).map(|load| (op, load.memory))
}

/// Returns the dimension of a shared tensor along which an operation fills it from neighbours in global memory; `None` if it does
/// not fill the tensor, or from elsewhere.
fn filled_along(program: &TileProgram, op: &Op, tensor: TensorId, pool: &Pool) -> Option<usize> {
    let (OpKind::Copy { src, dst } | OpKind::CopyAsync { src, dst, .. }) = &op.kind else { return None };
    if dst.base.shared() != Some(tensor) {
        return None;
    }
    let run = |op: &Op, view: &View| -> Option<usize> {
        let param = global::param_of(program, view)?;
        Some(pool.alignment(op.id, || global::alignment(program, view, param)).run.as_ref()?.dim())
    };
    let along = match src.register() {
        Some(register) => {
            let ops = program.ops(1.0);
            let load = ops.into_iter().find_map(|(op, _)| load_of(op, register));
            load.and_then(|(op, view)| run(op, view))
        }
        None => run(op, src),
    };
    dst.modes.get(along?).map(|mode| mode.dim)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lanes that held row `g` and row `g + 8` hold rows `2 g` and `2 g + 1`; whole groups of 16 rows stay.
    #[test]
    fn neighbours_are_dealt_in_pairs() {
        let modes = [(8, 1), (2, 8), (3, 16)].map(|(extent, stride)| TileMode::new(extent, vec![stride, 0]));
        let of = |modes: Vec<TileMode>| -> Option<Vec<(i64, i64)>> {
            Some(dealt(modes, 0)?.iter().map(|mode| (mode.extent, mode.strides[0])).collect())
        };
        assert_eq!(of(modes.to_vec()), Some(vec![(8, 2), (2, 1), (3, 16)]));
        let columns = [(4, 2), (2, 1)].map(|(extent, stride)| TileMode::new(extent, vec![stride, 0]));
        assert_eq!(of(columns.to_vec()), Some(vec![(4, 4), (2, 2)]));
        // 16 rows that one mode walks, and every third row, have no pairs that a stride describes.
        assert_eq!(of(vec![TileMode::new(16, vec![1, 0])]), None);
        assert_eq!(of(vec![TileMode::new(4, vec![24, 0])]), None);
    }

    #[test]
    fn only_what_is_offered_is_dealt() {
        assert_eq!(ways([false, false]), [[false, false]]);
        assert_eq!(ways([false, true]), [[false, false], [false, true]]);
        assert_eq!(ways([true, true]).len(), 4);
    }
}
