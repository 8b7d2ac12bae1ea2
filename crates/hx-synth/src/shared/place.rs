//! Where buffers lie in a block's shared memory. Two may share a place where a written barrier separates their uses, and nothing of the
//! first is still on its way then.

use hx_tile::{Base, Op, OpKind, Stmt, TensorId, TileProgram, View};

/// Bytes to which each buffer is placed at least: a line of all banks, so that conflicts are counted from the buffer's start.
const ALIGN: u32 = 128;
/// Bytes to which a swizzled buffer is placed at most: the largest atom that hardware swizzles, by bits of the address. Other swizzles
/// permute what is counted from the buffer's start.
const SWIZZLE_ATOM: u32 = 1024;

/// A buffer to place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) tensor: TensorId,
    pub(crate) bytes: u32,
    /// Bytes of a whole block of its swizzle.
    pub(crate) block: u32,
}

/// The first byte of each item, in their order, and the bytes of all.
pub(crate) fn offsets(program: &TileProgram, items: &[Item]) -> (Vec<u32>, u32) {
    let spans: Vec<Option<Span>> = items.iter().map(|item| span(program, item.tensor)).collect();
    let mut placed: Vec<u32> = Vec::new();
    let mut total = 0;
    for (i, item) in items.iter().enumerate() {
        let align = ALIGN.max(item.block.min(SWIZZLE_ATOM));
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
        // After all others there is always room.
        let at = starts.iter().copied().find(|at| free(*at)).unwrap_or_default();
        placed.push(at);
        total = total.max(at + item.bytes);
    }
    (placed, total)
}

/// The first and last of the program's outermost statements that touch a tensor.
type Span = (usize, usize);

fn span(program: &TileProgram, tensor: TensorId) -> Option<Span> {
    let touched = |stmt: &Stmt| any(stmt, &|op: &Op| touches(op, tensor));
    let first = program.body.iter().position(touched)?;
    let last = program.body.iter().rposition(touched)?;
    let arrives = |stmt: &Stmt| {
        any(stmt, &|op: &Op| touches(op, tensor) && matches!(op.kind, OpKind::CopyAsync { .. }))
    };
    // What is on its way arrives when all groups are waited for.
    let last = match program.body.iter().rposition(arrives) {
        Some(copied) => {
            let waits = |stmt: &Stmt| matches!(stmt, Stmt::Op(op) if op.kind == OpKind::Wait { groups: 0 });
            let waited = (copied + 1..program.body.len()).find(|i| waits(&program.body[*i]));
            waited.map_or(usize::MAX, |waited| waited.max(last))
        }
        None => last,
    };
    Some((first, last))
}

/// Whether a written barrier stands between all uses of the one and all uses of the other.
fn separated(program: &TileProgram, a: Option<Span>, b: Option<Span>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    let (before, after) = if a.0 <= b.0 { (a, b) } else { (b, a) };
    let is_barrier = |stmt: &Stmt| matches!(stmt, Stmt::Op(op) if op.kind == OpKind::Sync);
    before.1 < after.0 && program.body[before.1 + 1..after.0].iter().any(is_barrier)
}

fn touches(op: &Op, tensor: TensorId) -> bool {
    let in_view = |view: &View| {
        let table = view.rows.as_ref().map(|rows| rows.base);
        view.base == Base::Shared(tensor) || table == Some(Base::Shared(tensor))
    };
    match &op.kind {
        OpKind::Copy { src, dst } | OpKind::CopyAsync { src, dst } => in_view(src) || in_view(dst),
        OpKind::Slice { src: view, .. } | OpKind::AtomicAdd { dst: view, .. } => in_view(view),
        OpKind::Rearrange { through, .. } => *through == Some(tensor),
        _ => false,
    }
}

/// Whether an operation in a statement is such a one.
fn any(stmt: &Stmt, is: &dyn Fn(&Op) -> bool) -> bool {
    match stmt {
        Stmt::Op(op) => is(op),
        Stmt::For { body, .. } | Stmt::While { body, .. } => body.iter().any(|s| any(s, is)),
        Stmt::If { then, otherwise, .. } => then.iter().chain(otherwise).any(|s| any(s, is)),
        _ => false,
    }
}
