//! Decides which copies between two memories move in rounds, because the registers of the threads do not hold the whole tile.
//!
//! Each round copies a chunk of the tile through the same registers. The chunks are cut along the slowest modes of the copy, so
//! that the addresses of a chunk stay as regular as those of the tile.

use std::collections::BTreeMap;

use hx_index::Expr;
use hx_tile::{Base, Passage, ScopeId, Stmt, TileProgram, View, ViewMode};

use crate::access::global;
use crate::choices::roles::role_registers;
use crate::edits::{Chunks, Cut, Edits};

/// The most elements of a tile that moves in rounds.
const LARGEST: i64 = 1 << 40;

/// Limit on the 32-bit registers of each thread for the tile of one copy.
const MOST: i64 = 64;
/// The 32-bit registers of the widest access, which has 16 bytes.
const VECTOR: i64 = 4;
/// The bits of that access.
const VECTOR_BITS: i64 = 32 * VECTOR;
/// Limit on the accesses of each thread to the tile of one copy. Each has an address and a condition of its own, which take registers, too:
/// at odd strides a tile of 128 by 64 elements of 16 bits has 64 accesses in 32 registers, and its conditions spill 3 KB.
const ACCESSES: i64 = 16;

/// Returns the copies of a program that move in rounds.
pub(crate) fn cuts(program: &TileProgram) -> Vec<Cut> {
    let mut out = Vec::new();
    if !program.passing.is_empty() {
        collect(program, &role_registers(program), &program.body, &mut out);
    }
    out
}

/// Returns the program with rounds of copies, but without loads and moves.
pub(crate) fn in_rounds(program: &TileProgram) -> TileProgram {
    Edits { cuts: cuts(program), ..Edits::default() }.loaded(program).into_owned()
}

fn collect(program: &TileProgram, roles: &BTreeMap<ScopeId, u32>, stmts: &[Stmt], out: &mut Vec<Cut>) {
    for (at, stmt) in stmts.iter().enumerate() {
        if let Some(passage) = Passage::begins(program, &stmts[at..]) {
            let chunks = chunks(program, roles, &passage);
            let (load, origin) = (passage.load.id, passage.store.origin);
            out.extend(chunks.map(|chunks| Cut { load, origin, chunks }));
        }
        stmt.bodies().for_each(|body| collect(program, roles, body, out));
    }
}

/// Returns the chunks in which a copy moves; `None` if the registers hold the tile.
fn chunks(program: &TileProgram, roles: &BTreeMap<ScopeId, u32>, passage: &Passage<'_>) -> Option<Chunks> {
    let shape = passage.from.shape();
    let threads = i64::from(program.threads_of(passage.load));
    let most = registers_of_copy(program, roles, passage.load.scope);
    let bits = |tensor| i64::from(program.tensor(tensor).dtype.bits());
    let bits = bits(passage.tile) + passage.cast.map_or(0, |_| bits(passage.stored));
    let accessed = (ACCESSES * threads).saturating_mul(elements_at_once(program, passage));
    let held = |registers: i64| (registers * 32 / bits * threads).min(accessed);
    let size = shape.iter().try_fold(1, |size: i64, extent| size.checked_mul(*extent))?;
    // No memory holds a tile of so many elements, which the check of sizes reports.
    if size <= held(most) || size > LARGEST {
        return None;
    }
    let chunk = cut(&shape, &slowest_first(program, passage), held((most / 2).max(VECTOR)));
    let count = shape.iter().zip(&chunk).map(|(extent, step)| (extent + step - 1) / step).product();
    let registers = (size * bits + 32 * threads - 1) / (32 * threads);
    Some(Chunks { shape: chunk, count, registers })
}

/// Returns the elements of an access that the alignment of the copy's views of global memory allows, in 16 bytes at most.
fn elements_at_once(program: &TileProgram, passage: &Passage<'_>) -> i64 {
    let of = |view: &View| {
        let param = global::param_of(program, view)?;
        let vector = VECTOR_BITS / i64::from(param.dtype.bits());
        Some(global::alignment(program, view, param).elements.min(vector))
    };
    [passage.from, passage.to].into_iter().filter_map(of).min().unwrap_or(i64::MAX)
}

/// Returns the 32-bit registers of each thread of a scope that the tile of a copy may take.
fn registers_of_copy(program: &TileProgram, roles: &BTreeMap<ScopeId, u32>, scope: ScopeId) -> i64 {
    let at_entry = program.limits().registers_at_entry(program.block_threads());
    let own = roles.get(&scope).copied().unwrap_or(at_entry);
    // The other half is for addresses and for the values that are live around the copy.
    (i64::from(own) / 2).clamp(2 * VECTOR, MOST)
}

/// Returns the modes of a copy, the contiguous one last. The others keep their order, which for row-major tensors is that of memory.
fn slowest_first(program: &TileProgram, passage: &Passage<'_>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..passage.from.modes.len()).collect();
    let global = if passage.from.base.param().is_some() { passage.from } else { passage.to };
    let Base::Global(id) = global.base else { return order };
    let Some(param) = program.tensor_param(id) else { return order };
    let is_unit = |mode: &ViewMode| {
        let step: Expr = &mode.factor * &param.stride[mode.dim];
        step.as_const() == Some(1) && mode.extent != 1
    };
    if let Some(at) = global.modes.iter().position(is_unit) {
        let contiguous = order.remove(at);
        order.push(contiguous);
    }
    order
}

/// Returns the extents of a chunk of at most `held` elements, or of one element if `held` is smaller. The chunk is whole
/// along the modes at the end of `order` and has extent 1 along those at its start. Along the mode in between, the chunk is
/// as long as fits. It is shorter by less than a quarter if that length divides the mode's extent, unless the mode is the
/// last, contiguous one.
fn cut(shape: &[i64], order: &[usize], held: i64) -> Vec<i64> {
    let mut chunk = shape.to_vec();
    let mut size: i64 = shape.iter().product();
    for (i, &mode) in order.iter().enumerate() {
        if size <= held {
            break;
        }
        size /= shape[mode];
        let most = (held / size).max(1);
        let is_last = i + 1 == order.len();
        let divisor = (most * 3 / 4 + 1..=most).rev().find(|n| shape[mode] % n == 0);
        // Along the contiguous mode, a chunk of whole vectors in every thread is better than a divisor.
        chunk[mode] = if is_last { most } else { divisor.unwrap_or(most) };
        size *= chunk[mode];
    }
    chunk
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn chunks_are_cut_along_the_slowest_modes() {
        assert_eq!(cut(&[256, 128], &[0, 1], 4096), [32, 128]);
        assert_eq!(cut(&[256, 128], &[1, 0], 4096), [256, 16]);
        assert_eq!(cut(&[70000], &[0], 4096), [4096]);
        assert_eq!(cut(&[100, 500], &[0, 1], 3072), [5, 500]);
        assert_eq!(cut(&[3, 7, 5000], &[0, 1, 2], 4096), [1, 1, 4096]);
        assert_eq!(cut(&[6, 7, 500], &[0, 1, 2], 4096), [1, 7, 500]);
    }
}
