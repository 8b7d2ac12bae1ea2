//! Repairs a program without layouts by small changes that a user can make in the text. Each change is solved before it is
//! offered.

mod bytes;

use std::collections::BTreeSet;

use hx_index::{Expr, Symbol};
use hx_layout::{ComposedLayout, IntTuple, Layout};
use hx_target::{Space, Target};
use hx_tile::{
    Base, Leaf, Op, OpId, OpKind, Origin, ScopeId, Stmt, SyncOp, Tensor, TensorId, TensorKind, TileProgram,
    View,
};

use super::{Claim, Tries};
use crate::access::global::param_of;
use crate::anchor::tiling::arrangements;
use crate::checks::size::fits_registers;
use crate::failure::{Failure, FailureKind};

/// Limit on the repairs that are offered.
const MOST: usize = 4;

/// Returns the thread counts from one warp to the largest block of any architecture.
fn thread_counts(target: Target) -> std::ops::RangeInclusive<i64> {
    let most = Target::all().iter().map(|target| target.limits.threads_per_block).max();
    i64::from(target.limits.lanes)..=i64::from(most.unwrap_or(target.limits.lanes))
}

/// A change of a program that makes it solvable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Repair {
    /// Rearranges the tensor to this layout before the operation reads it.
    Rearrange { op: OpId, tensor: TensorId, layout: Layout },
    /// Replaces the asynchronous copy by one through registers.
    Synchronous(OpId),
    /// Fixes the arrangement of a gemm's warps along M, N and the batch.
    Warps { op: OpId, warps: [i64; 3] },
    /// Lets the compiler choose the arrangement of a gemm's warps.
    FreeWarps(OpId),
    /// Pins the shared tensor to another layout.
    Pin { tensor: TensorId, layout: ComposedLayout },
    /// Lets the compiler choose the layout of the tensor.
    Unpin(TensorId),
    /// Puts a block-wide barrier before the outermost statement that contains the operation. Buffers used only before the barrier
    /// and buffers used only after it can then share memory.
    Barrier(OpId),
    /// Runs the block with this number of threads.
    Threads(u32),
    /// Stores elements narrower than a byte in whole bytes in these shared tensors. Values are cast on their way in and out.
    Bytes(Vec<TensorId>),
    /// Requires a dimension to be a multiple of `by`; every launch has to comply.
    Divisible { dim: Symbol, by: i64 },
}

/// Returns the repairs of the claims that make the whole program solvable. Those that keep most of what the user wrote come
/// first.
pub(super) fn repairs(
    program: &TileProgram,
    claims: &[Claim],
    failure: &Failure,
    tries: &mut Tries<'_>,
) -> Vec<Repair> {
    let mut found: Vec<Repair> = Vec::new();
    let mut candidates = candidates(program, claims);
    if failure.kind == FailureKind::Registers {
        let more = [2, 4, 8, 16, 32].map(|n| i64::from(program.block_threads()) * n);
        candidates.extend(
            more.into_iter()
                .filter(|n| thread_counts(program.target).contains(n))
                .map(|n| Repair::Threads(n as u32)),
        );
    }
    if failure.kind == FailureKind::Resource {
        candidates.extend(roomier(program));
    }
    for candidate in candidates {
        if found.len() == MOST {
            break;
        }
        // Offer one arrangement, one layout and so on, not several of a kind.
        if found.iter().any(|known| known.replaces(&candidate)) {
            continue;
        }
        // If registers were short, the repaired program must also fit the registers.
        let fits = |program: &TileProgram| failure.kind != FailureKind::Registers || fits_registers(program);
        let repaired = repaired(program, &candidate).filter(fits);
        if repaired.is_some_and(|program| tries.solves(&program)) {
            found.push(candidate);
        }
    }
    found
}

impl Repair {
    /// Reports whether this repair, already found, makes `other` superfluous.
    fn replaces(&self, other: &Repair) -> bool {
        match (self, other) {
            (Repair::Warps { op: a, .. }, Repair::Warps { op: b, .. }) => a == b,
            (Repair::Pin { tensor: a, .. }, Repair::Pin { tensor: b, .. }) => a == b,
            (Repair::Rearrange { .. }, Repair::Rearrange { .. })
            | (Repair::Threads(_), Repair::Threads(_))
            | (Repair::Barrier(_), Repair::Barrier(_))
            | (Repair::Bytes(_), Repair::Bytes(_)) => true,
            _ => false,
        }
    }
}

fn candidates(program: &TileProgram, claims: &[Claim]) -> Vec<Repair> {
    let mut out = Vec::new();
    let mut pins = Vec::new();
    for claim in claims {
        match *claim {
            Claim::Operation(op) => {
                let Some(op) = program.op(op) else { continue };
                out.extend(rearranged(program, op, claims));
                if matches!(op.kind, OpKind::CopyAsync { signal: None, .. }) {
                    out.push(Repair::Synchronous(op.id));
                }
                out.extend(divisible(program, op));
            }
            Claim::Warps(op) => {
                let Some(gemm) = program.op(op) else { continue };
                let OpKind::Gemm { c, .. } = &gemm.kind else { continue };
                let warps = i64::from(program.threads_of(gemm) / program.target.limits.lanes);
                let candidates = arrangements(warps, program.tensor(*c).shape.get(2).copied());
                let mut candidates: Vec<_> =
                    candidates.filter(|candidate| candidate.iter().product::<i64>() == warps).collect();
                candidates.sort_by_key(|[m, n, _]| ((m - n).abs(), -m));
                out.extend(candidates.into_iter().map(|warps| Repair::Warps { op, warps }));
                out.push(Repair::FreeWarps(op));
            }
            Claim::Pin(tensor) => pins.push(tensor),
        }
    }
    for &tensor in &pins {
        out.extend(other_pins(program, tensor));
    }
    out.extend(pins.iter().map(|&tensor| Repair::Unpin(tensor)));
    out.extend(pins.iter().filter_map(|&tensor| other_threads(program, tensor)));
    out.extend(bytes::candidates(program, claims));
    out
}

/// Returns repairs that may lower the use of shared memory: layouts chosen by the compiler, and barriers between the uses of
/// buffers.
fn roomier(program: &TileProgram) -> Vec<Repair> {
    let is_pinned =
        |id: &TensorId| matches!(program.tensor(*id).kind, TensorKind::Shared { pinned: Some(_) });
    let is_shared = |id: &TensorId| matches!(program.tensor(*id).kind, TensorKind::Shared { .. });
    let mut used: BTreeSet<TensorId> = BTreeSet::new();
    let mut begins = Vec::new();
    for stmt in &program.body {
        let known = used.len();
        used.extend(stmt.ops().flat_map(|op| op.kind.tensors()).filter(is_shared));
        begins.extend(stmt.ops().next().filter(|_| used.len() > known).map(|op| op.id));
    }
    let pins = program.tensor_ids().filter(is_pinned).map(Repair::Unpin);
    pins.chain(begins.into_iter().skip(1).map(Repair::Barrier)).collect()
}

/// Returns, as repairs, the dimensions that determine where the operation's elements begin in global memory. Each must be a
/// multiple of the elements that the narrowest usable instruction moves.
fn divisible(program: &TileProgram, op: &Op) -> Vec<Repair> {
    let target = program.target;
    let (OpKind::Copy { src, dst } | OpKind::CopyAsync { src, dst, .. }) = &op.kind else {
        return Vec::new();
    };
    // Bits that the narrowest instruction moves.
    let asynchronous =
        || target.rows().copies.iter().filter(|row| (row.from, row.to) == (Space::Global, Space::Shared));
    let is_asynchronous = matches!(op.kind, OpKind::CopyAsync { .. });
    let least_bits =
        if is_asynchronous { 8 * asynchronous().map(|row| row.bytes).min().unwrap_or(1) } else { 8 };
    let mut out = Vec::new();
    for view in [src, dst] {
        let Some(param) = param_of(program, view) else { continue };
        let by = i64::from(least_bits / param.dtype.bits());
        // Every start is a multiple of one element, and of a part of one.
        if by <= 1 {
            continue;
        }
        // A stride that is known only at launch has no name in the text, so the user cannot write a condition on it.
        let named: BTreeSet<Symbol> = param.shape.iter().flat_map(Expr::symbols).collect();
        let asked = param.stride.iter().chain(&param.shape).flat_map(Expr::symbols);
        for dim in asked.filter(|dim| named.contains(dim)) {
            let repair = Repair::Divisible { by, dim };
            let known = |dim: &Symbol| program.facts.divides(by, &Expr::symbol(dim.clone()));
            if matches!(&repair, Repair::Divisible { dim, .. } if !known(dim)) && !out.contains(&repair) {
                out.push(repair);
            }
        }
    }
    out
}

/// Returns repairs that rearrange a source of the operation to a layout to which another tensor of the claims is pinned.
fn rearranged(program: &TileProgram, op: &Op, claims: &[Claim]) -> Vec<Repair> {
    let pinned = claims.iter().filter_map(|claim| match claim {
        Claim::Pin(tensor) => match &program.tensor(*tensor).kind {
            TensorKind::Register { pinned } => Some((*tensor, pinned.clone()?)),
            TensorKind::Shared { .. } => None,
        },
        _ => None,
    });
    let pinned: Vec<(TensorId, Layout)> = pinned.collect();
    let mut out = Vec::new();
    for (_, tensor) in op.kind.inputs() {
        for (other, layout) in &pinned {
            let alike = program.tensor(*other).shape == program.tensor(tensor).shape;
            if alike && *other != tensor {
                out.push(Repair::Rearrange { op: op.id, tensor, layout: layout.clone() });
            }
        }
    }
    out
}

/// Returns other layouts to pin a shared tensor to: its own without negative strides and, for rank 2, row-major and column-major,
/// each with and without padding.
fn other_pins(program: &TileProgram, tensor: TensorId) -> Vec<Repair> {
    let info = program.tensor(tensor);
    let TensorKind::Shared { pinned: Some(pinned) } = &info.kind else { return Vec::new() };
    let mut layouts: Vec<ComposedLayout> = upward(pinned).into_iter().collect();
    if let [rows, columns] = info.shape[..] {
        layouts.extend(plain_pins(info.dtype.bits(), rows, columns, pinned));
    }
    layouts.retain(|layout| layout != pinned);
    layouts.into_iter().map(|layout| Repair::Pin { tensor, layout }).collect()
}

fn plain_pins(bits: u32, rows: i64, columns: i64, pinned: &ComposedLayout) -> Vec<ComposedLayout> {
    let room = i64::from(128 / bits.max(1));
    let mut strides = [(columns, 1), (1, rows), (columns + room, 1), (1, rows + room)];
    // If the pinned layout is padded, try padded layouts first.
    if pinned.layout.cosize() > pinned.layout.size() {
        strides.rotate_left(2);
    }
    let layouts =
        strides.into_iter().filter_map(|(down, right)| Layout::flat(&[(rows, down), (columns, right)]).ok());
    layouts.map(ComposedLayout::plain).collect()
}

/// Returns the layout with the absolute values of its strides; `None` if it is too large.
fn upward(pinned: &ComposedLayout) -> Option<ComposedLayout> {
    let strides = pinned.layout.stride().map_leaves(|_, stride| IntTuple::Int(stride.saturating_abs()));
    let layout = Layout::new(pinned.layout.shape().clone(), strides).ok()?;
    Some(ComposedLayout::swizzled(pinned.swizzle, layout))
}

/// Returns a repair that runs the block with as many threads as a pinned thread-value layout has; `None` if the block has as
/// many, or cannot.
fn other_threads(program: &TileProgram, tensor: TensorId) -> Option<Repair> {
    let target = program.target;
    let TensorKind::Register { pinned: Some(layout) } = &program.tensor(tensor).kind else { return None };
    let threads = layout.mode(0).size();
    let fits = thread_counts(target).contains(&threads)
        && threads % i64::from(target.limits.lanes) == 0
        && threads != i64::from(program.block_threads());
    fits.then_some(Repair::Threads(threads as u32))
}

/// Returns the program after a repair, or `None` if the repair does not apply to it.
pub(super) fn repaired(program: &TileProgram, repair: &Repair) -> Option<TileProgram> {
    let mut program = program.clone();
    match repair {
        Repair::Unpin(tensor) => program.tensors.get_mut(tensor.0 as usize)?.kind.unpin(),
        Repair::Pin { tensor, layout } => {
            program.tensors.get_mut(tensor.0 as usize)?.kind =
                TensorKind::Shared { pinned: Some(layout.clone()) };
        }
        Repair::Threads(threads) => program = program.with_block_threads(*threads)?,
        Repair::Barrier(id) => {
            // Only a barrier of all threads separates buffers.
            let barrier = Adder::new(&mut program, ScopeId::BLOCK).op(OpKind::Sync(SyncOp::Scope));
            let at = program.body.iter().position(|stmt| stmt.ops().any(|op| op.id == *id))?;
            program.body.insert(at, barrier);
        }
        Repair::Bytes(tensors) => {
            for tensor in tensors {
                bytes::hold(&mut program, *tensor)?;
            }
        }
        Repair::Divisible { dim, by } => program.facts.divisible(dim.clone(), *by),
        Repair::FreeWarps(id) => arrange_warps(&mut program, *id, None),
        Repair::Warps { op, warps } => arrange_warps(&mut program, *op, Some(*warps)),
        Repair::Synchronous(id) => synchronous(&mut program, *id)?,
        Repair::Rearrange { op, tensor, layout } => rearrange(&mut program, *op, *tensor, layout),
    }
    Some(program)
}

/// Returns the program in which the warps of a scope share a gemm along M, N and the batch in this way.
pub fn with_warps(program: &TileProgram, gemm: OpId, warps: [i64; 3]) -> TileProgram {
    let mut program = program.clone();
    arrange_warps(&mut program, gemm, Some(warps));
    program
}

/// Pins how the warps of a scope share a gemm, or leaves it to the solver.
fn arrange_warps(program: &mut TileProgram, gemm: OpId, arrangement: Option<[i64; 3]>) {
    change(&mut program.body, gemm, &mut |op| {
        if let OpKind::Gemm { warps, .. } = &mut op.kind {
            *warps = arrangement;
        }
        Vec::new()
    });
}

/// Replaces an asynchronous copy by a load to registers and a store. Returns `None` if the operation is no asynchronous copy,
/// or if it signals a pipeline, whose stage would then never be full.
fn synchronous(program: &mut TileProgram, id: OpId) -> Option<()> {
    let Op { kind: OpKind::CopyAsync { src, dst, signal: None, .. }, scope, .. } = program.op(id)?.clone()
    else {
        return None;
    };
    let Base::Shared(shared) = dst.base else { return None };
    let like = program.tensor(shared).clone();
    let mut new = Adder::new(program, scope);
    let through = new.tensor(&like, src.shape(), TensorKind::Register { pinned: None });
    let whole = View::whole(Base::Register(through), &src.shape());
    let load = new.op(OpKind::Copy { src, dst: whole.clone() });
    change(&mut program.body, id, &mut |op| {
        op.kind = OpKind::Copy { src: whole.clone(), dst: dst.clone() };
        vec![load.clone()]
    });
    Some(())
}

/// Returns the program in which the register tensors of loads get their elements by way of shared tensors, each ordered by barriers on
/// both sides: the copy from global memory is then free of the layouts of what uses the elements. Leaves other operations as they are.
pub fn staged_loads(program: &TileProgram, loads: &[OpId]) -> TileProgram {
    let mut program = program.clone();
    for id in loads {
        stage_load(&mut program, *id);
    }
    program
}

/// Stages one load; `None` if the operation is none.
fn stage_load(program: &mut TileProgram, id: OpId) -> Option<()> {
    let Op { kind: OpKind::Copy { dst, .. }, scope, .. } = program.op(id)?.clone() else { return None };
    let Base::Register(held) = dst.base else { return None };
    let like = program.tensor(held).clone();
    let mut new = Adder::new(program, scope);
    let first = new.tensor(&like, like.shape.clone(), TensorKind::Register { pinned: None });
    let shared = new.tensor(&like, like.shape.clone(), TensorKind::Shared { pinned: None });
    let [first, shared] =
        [Base::Register(first), Base::Shared(shared)].map(|base| View::whole(base, &like.shape));
    let behind = [
        OpKind::Copy { src: first.clone(), dst: shared.clone() },
        OpKind::Sync(SyncOp::Scope),
        OpKind::Copy { src: shared, dst },
        OpKind::Sync(SyncOp::Scope),
    ];
    let behind: Vec<Stmt> = behind.into_iter().map(|kind| new.op(kind)).collect();
    insert_behind(&mut program.body, id, &mut |op| {
        if let OpKind::Copy { dst, .. } = &mut op.kind {
            *dst = first.clone();
        }
        behind.clone()
    });
    Some(())
}

/// Moves a tensor through shared memory into another layout before an operation.
fn rearrange(program: &mut TileProgram, op: OpId, tensor: TensorId, layout: &Layout) {
    let like = program.tensor(tensor).clone();
    let mut new = Adder::new(program, like.scope);
    let shared = new.tensor(&like, like.shape.clone(), TensorKind::Shared { pinned: None });
    let moved = new.tensor(&like, like.shape.clone(), TensorKind::Register { pinned: Some(layout.clone()) });
    let [from, through, to] = [Base::Register(tensor), Base::Shared(shared), Base::Register(moved)]
        .map(|base| View::whole(base, &like.shape));
    let before = [
        OpKind::Copy { src: from, dst: through.clone() },
        OpKind::Sync(SyncOp::Scope),
        OpKind::Copy { src: through, dst: to },
    ];
    let before: Vec<Stmt> = before.into_iter().map(|kind| new.op(kind)).collect();
    change(&mut program.body, op, &mut |op| {
        for (operand, _) in op.kind.inputs().into_iter().filter(|(_, input)| *input == tensor) {
            op.kind.replace(operand, moved);
        }
        before.clone()
    });
}

/// Adds tensors and operations of one scope, with fresh ids, to a program.
struct Adder<'p> {
    tensors: &'p mut Vec<Tensor>,
    next: u32,
    scope: ScopeId,
}

impl Adder<'_> {
    fn new(program: &mut TileProgram, scope: ScopeId) -> Adder<'_> {
        let next = program.ops(1.0).iter().map(|(op, _)| op.id.0 + 1).max().unwrap_or(0);
        Adder { tensors: &mut program.tensors, next, scope }
    }

    fn tensor(&mut self, like: &Tensor, shape: Vec<i64>, kind: TensorKind) -> TensorId {
        self.tensors.push(Tensor { shape, kind, scope: self.scope, binder: None, ..like.clone() });
        TensorId(self.tensors.len() as u32 - 1)
    }

    fn op(&mut self, kind: OpKind) -> Stmt {
        let id = OpId(self.next);
        self.next += 1;
        Stmt::Leaf(Leaf::Op(Op { id, kind, scope: self.scope, origin: Origin::default() }))
    }
}

/// Changes the operation `id` with `with`, and inserts the statements that `with` returns before it.
fn change(body: &mut Vec<Stmt>, id: OpId, with: &mut dyn FnMut(&mut Op) -> Vec<Stmt>) {
    insert(body, id, 0, with);
}

/// Changes the operation `id` with `with`, and inserts the statements that `with` returns behind it.
fn insert_behind(body: &mut Vec<Stmt>, id: OpId, with: &mut dyn FnMut(&mut Op) -> Vec<Stmt>) {
    insert(body, id, 1, with);
}

/// Inserts statements `distance` statements behind the place of an operation.
fn insert(body: &mut Vec<Stmt>, id: OpId, distance: usize, with: &mut dyn FnMut(&mut Op) -> Vec<Stmt>) {
    let mut at = 0;
    while at < body.len() {
        match &mut body[at] {
            Stmt::Leaf(Leaf::Op(op)) => {
                let added = if op.id == id { with(op) } else { Vec::new() };
                let count = added.len();
                body.splice(at + distance..at + distance, added);
                at += count;
            }
            control => control.bodies_mut().for_each(|body| insert(body, id, distance, with)),
        }
        at += 1;
    }
}
