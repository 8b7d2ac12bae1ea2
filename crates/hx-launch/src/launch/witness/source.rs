//! Finds the values that led to a stored element: its values in the tensors from which the stored one was computed element by
//! element.

use std::collections::BTreeSet;

use hx_sim::{RegisterValue, Witness, Wrote};
use hx_thread::ThreadProgram;
use hx_tile::{Access, Distribution, Op, OpKind, Solution, TensorId, TileProgram};

/// A value of a register tensor.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    pub tensor: TensorId,
    pub held: RegisterValue,
}

/// Returns the values that an element passed through before an operation stored it, in the order of the tensors. `element` is the
/// position of the parameter and the coordinate of the element in it.
///
/// A value is followed back through conversions, elementwise operations and copies, as long as the tensors have the shape of the
/// stored one, or an extent of 1 instead. It ends at loads, products and reductions.
pub(crate) fn sources(
    (program, solution, threads): (&TileProgram, &Solution, &ThreadProgram),
    witness: &Witness,
    wrote: Wrote,
    element: (usize, &[i64]),
) -> Vec<Source> {
    let place = &witness.places[wrote.site as usize];
    let Some(op) = place.op.and_then(|op| program.op(op)) else { return Vec::new() };
    let Some(stored) = stored_tensor(op) else { return Vec::new() };
    let coordinate = match wrote.value.zip(solution.registers.get(&stored)) {
        Some((value, held)) => of_value(program, stored, held, (wrote.thread, value)),
        None => in_tile(program, witness, wrote, (element.0, stored, element.1)),
    };
    let Some(coordinate) = coordinate else { return Vec::new() };
    let found = slice(program, stored).into_iter().filter_map(|tensor| {
        let array = threads.registers.iter().position(|array| array.tensor == Some(tensor))?;
        let held = solution.registers.get(&tensor)?;
        let (thread, value) = holder(program, tensor, held, &coordinate, wrote.thread)?;
        Some(Source { tensor, held: RegisterValue { thread, array, value } })
    });
    found.collect()
}

/// Returns the tensor in registers or in shared memory whose elements an operation stores to global memory.
pub fn stored_tensor(op: &Op) -> Option<TensorId> {
    op.kind.description().accesses.iter().filter(|access| access.mode.reads()).find_map(local)
}

/// Returns the tensor of an access to registers or to shared memory.
fn local(access: &Access<'_>) -> Option<TensorId> {
    access.base().tensor()
}

/// Returns the coordinate in the tile of value number `value` of a thread, given by its number in the block. `None` if the
/// thread is before the tensor's scope.
fn of_value(
    program: &TileProgram,
    tensor: TensorId,
    held: &Distribution,
    (thread, value): (u32, u32),
) -> Option<Vec<i64>> {
    let threads = held.layout.mode(0).size();
    let scope = program.scope(program.tensor(tensor).scope);
    let thread = i64::from(thread.checked_sub(scope.first)? % scope.threads);
    let mut index = held.layout.eval(thread + threads * i64::from(value));
    let coordinate = held.tile.iter().map(|extent| {
        let digit = index % extent;
        index /= extent;
        digit
    });
    Some(coordinate.collect())
}

/// Returns the coordinate in its tile of an element that a bulk copy stored, if the operation stored one tile in the block.
fn in_tile(
    program: &TileProgram,
    witness: &Witness,
    wrote: Wrote,
    (param, stored, element): (usize, TensorId, &[i64]),
) -> Option<Vec<i64>> {
    let here = |reached: &&hx_sim::Reached| {
        reached.write && (reached.block, reached.site, reached.param) == (wrote.block, wrote.site, param)
    };
    let contains = |[from, to]: &[Vec<i64>; 2]| {
        element.iter().zip(from.iter().zip(to)).all(|(at, (from, to))| from <= at && at < to)
    };
    let mut reached = witness.reached.iter().filter(here).map(|reached| &reached.region);
    let [from, to] = reached.rfind(|region| contains(region))?;
    let shape = &program.tensor(stored).shape;
    let one_tile = shape.len() == element.len()
        && from.iter().zip(to).zip(shape).all(|((from, to), extent)| to - from <= *extent);
    one_tile.then(|| element.iter().zip(from).map(|(at, from)| at - from).collect())
}

/// Returns the register tensors from which a tensor is computed element by element, and itself if it is in registers.
fn slice(program: &TileProgram, stored: TensorId) -> BTreeSet<TensorId> {
    let shape = &program.tensor(stored).shape;
    let fits = |tensor: TensorId| {
        let other = &program.tensor(tensor).shape;
        other.len() == shape.len() && other.iter().zip(shape).all(|(a, b)| a == b || *a == 1)
    };
    let ops = program.ops(1.0);
    let (mut found, mut open) = (BTreeSet::from([stored]), vec![stored]);
    while let Some(tensor) = open.pop() {
        for (op, _) in &ops {
            let keeps_places = matches!(
                op.kind,
                OpKind::Copy { .. } | OpKind::Cast { .. } | OpKind::Map(_) | OpKind::Rearrange { .. }
            );
            let effects = op.kind.description();
            let writes = |access: &Access<'_>| access.mode.writes() && local(access) == Some(tensor);
            if keeps_places && effects.accesses.iter().any(writes) {
                let reads = effects.accesses.iter().filter(|access| access.mode.reads());
                let new = reads.filter_map(local).filter(|tensor| fits(*tensor) && found.insert(*tensor));
                open.extend(new);
            }
        }
    }
    found.retain(|tensor| program.tensor(*tensor).is_register());
    found
}

/// Returns a thread that holds the element at a coordinate, and the position of the value. The thread is in the group of thread
/// `near`. `None` if no thread holds the element. Along extents of 1 the coordinate counts as 0.
fn holder(
    program: &TileProgram,
    tensor: TensorId,
    held: &Distribution,
    coordinate: &[i64],
    near: u32,
) -> Option<(u32, u32)> {
    let shape = &program.tensor(tensor).shape;
    let mut stride = 1;
    let mut index = 0;
    for ((at, extent), tile) in coordinate.iter().zip(shape).zip(&held.tile) {
        index += if *extent == 1 { 0 } else { *at } * stride;
        stride *= tile;
    }
    let threads = held.layout.mode(0).size();
    let found = (0..held.layout.size()).find(|at| held.layout.eval(*at) == index)?;
    let scope = program.scope(program.tensor(tensor).scope);
    let group = near.checked_sub(scope.first).map_or(0, |thread| thread / scope.threads);
    let group = group.min(scope.groups.saturating_sub(1));
    Some((scope.first + group * scope.threads + (found % threads) as u32, (found / threads) as u32))
}
