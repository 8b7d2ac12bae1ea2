//! Places buffers in a block's shared memory. Two buffers may overlap if a barrier of the block separates their uses and no
//! access to the first is still pending at the barrier.

use hx_target::Limits;
use hx_tile::{Completion, Leaf, Op, Order, ScopeId, Stmt, TensorId, TileProgram};

/// Returns the least alignment of a buffer, in bytes: a line of all banks, so that conflicts can be counted from the buffer's
/// start.
pub(crate) fn align(limits: &Limits) -> u32 {
    limits.wavefront_bytes()
}

/// A buffer to place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) tensor: TensorId,
    pub(crate) bytes: u32,
    /// Bytes of a whole block of its swizzle.
    pub(crate) block: u32,
}

/// Returns the first byte of each item, in their order, and the bytes of all buffers together.
pub(crate) fn offsets(program: &TileProgram, items: &[Item]) -> (Vec<u32>, u32) {
    let limits = &program.target.limits;
    let spans: Vec<Option<Span>> = items.iter().map(|item| span(program, item.tensor)).collect();
    let mut placed: Vec<u32> = Vec::new();
    let mut total = 0;
    for (i, item) in items.iter().enumerate() {
        // The hardware swizzles by bits of the address. Swizzles of larger blocks permute offsets from the buffer's start, so
        // they need no alignment.
        let align = align(limits).max(item.block.min(limits.swizzle_block_bytes));
        let mut starts: Vec<u32> = placed.iter().zip(items).map(|(at, other)| at + other.bytes).collect();
        starts.push(0);
        starts.iter_mut().for_each(|at| *at = at.next_multiple_of(align));
        starts.sort_unstable();
        let free = |at: u32| {
            placed.iter().zip(items).zip(&spans).all(|((other_at, other), span)| {
                let apart = at + item.bytes <= *other_at || other_at + other.bytes <= at;
                apart || separated(program, spans[i], *span)
            })
        };
        // The place after all other buffers is always free.
        let at = starts.iter().copied().find(|at| free(*at)).unwrap_or_default();
        placed.push(at);
        total = total.max(at + item.bytes);
    }
    (placed, total)
}

/// The indices of the first and the last of the program's outermost statements that touch a tensor.
type Span = (usize, usize);

fn span(program: &TileProgram, tensor: TensorId) -> Option<Span> {
    let touches = |op: &Op| op.kind.description().shared(tensor).next().is_some();
    let touched = |stmt: &Stmt| stmt.ops().any(touches);
    let first = program.body.iter().position(touched)?;
    let last = program.body.iter().rposition(touched)?;
    let pending = |completion| {
        let is_pending =
            move |op: &&Op| op.kind.description().shared(tensor).any(|a| a.completion == completion);
        let ops = program.body.iter().enumerate().flat_map(|(at, stmt)| stmt.ops().map(move |op| (at, op)));
        ops.filter(move |(_, op)| is_pending(op))
    };
    // No statement of the body tells when a barrier in memory has completed or the last store has read, so the buffer stays
    // in use to the end, unless its pipeline is known to be drained.
    let signalled = pending(Completion::Barrier).filter(|(_, op)| !program.is_drained(op));
    if signalled.chain(pending(Completion::StoreRead)).next().is_some() {
        return Some((first, usize::MAX));
    }
    let arrived = [(Completion::Group, Order::Wait(0)), (Completion::Product, Order::WaitProducts(0))];
    let arrived = arrived.into_iter().flat_map(|(completion, wait)| {
        pending(completion).map(move |(at, op)| arrival(program, at, op.scope, wait))
    });
    Some((first, arrived.fold(last, usize::max)))
}

/// Returns the index of the statement at which a copy or product that the threads of `scope` started in the statement `begun`
/// is complete: these threads wait for all of its kind there. Returns the largest index if they never do.
fn arrival(program: &TileProgram, begun: usize, scope: ScopeId, wait: Order) -> usize {
    let waits = |op: &Op| {
        op.kind.description().order == wait && program.scope(op.scope).contains(program.scope(scope))
    };
    let after = (begun + 1..program.body.len())
        .find(|i| matches!(&program.body[*i], Stmt::Leaf(Leaf::Op(op)) if waits(op)));
    after.unwrap_or(usize::MAX)
}

/// Reports whether a barrier of the block separates all uses of one buffer from all uses of the other.
fn separated(program: &TileProgram, a: Option<Span>, b: Option<Span>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    let (before, after) = if a.0 <= b.0 { (a, b) } else { (b, a) };
    let is_barrier = |stmt: &Stmt| {
        let Stmt::Leaf(Leaf::Op(op)) = stmt else { return false };
        op.scope == ScopeId::BLOCK && op.kind.description().order == Order::Scope
    };
    before.1 < after.0 && program.body[before.1 + 1..after.0].iter().any(is_barrier)
}
