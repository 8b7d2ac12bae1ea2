//! Repairs of a program without layouts: small changes that a user can make in the text, each tried before it is offered.

mod bytes;

use std::collections::BTreeSet;

use hx_index::{Expr, Symbol};
use hx_layout::{ComposedLayout, IntTuple, Layout};
use hx_target::{Space, catalogue};
use hx_tile::{Base, Op, OpId, OpKind, Origin, Stmt, Tensor, TensorId, TensorKind, TileProgram, View};

use super::{Claim, Tries, unpin};
use crate::access::global::param_of;
use crate::anchor::gemm::arrangements;
use crate::failure::{Failure, FailureKind};
use crate::size::fits_registers;

/// Repairs that are offered, at most.
const MOST: usize = 4;

/// Threads of a warp, and of a block at most.
const THREADS: std::ops::RangeInclusive<i64> = 32..=1024;

/// A change of a program that makes it solvable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Repair {
    /// The operation takes the tensor in this layout, after its values were rearranged.
    Rearrange { op: OpId, tensor: TensorId, layout: Layout },
    /// The asynchronous copy becomes one through registers.
    Synchronous(OpId),
    /// The warps of a gemm are arranged like this.
    Warps { op: OpId, warps: [i64; 3] },
    /// The warps of a gemm are left to the compiler.
    FreeWarps(OpId),
    /// The shared tensor is pinned to another layout.
    Pin { tensor: TensorId, layout: ComposedLayout },
    /// The layout of the tensor is left to the compiler.
    Unpin(TensorId),
    /// A barrier of the block stands before the outermost statement that the operation is part of: buffers that are used before it
    /// and buffers that are used behind it take turns in one place.
    Barrier(OpId),
    /// The block has so many threads.
    Threads(u32),
    /// The shared tensors hold whole bytes for elements that are narrower; values are cast on their way in and out.
    Bytes(Vec<TensorId>),
    /// A dimension is a multiple of a number, which a launch has to keep to.
    Divisible { dim: Symbol, by: i64 },
}

/// The repairs of the claims that solve the whole program, those that keep most of what the user asked for first.
pub(super) fn repairs(
    program: &TileProgram,
    claims: &[Claim],
    failure: &Failure,
    tries: &mut Tries<'_>,
) -> Vec<Repair> {
    let mut found: Vec<Repair> = Vec::new();
    let mut candidates = candidates(program, claims);
    if failure.kind == FailureKind::Registers {
        let more = [2, 4, 8, 16, 32].map(|n| i64::from(program.threads) * n);
        candidates
            .extend(more.into_iter().filter(|n| THREADS.contains(n)).map(|n| Repair::Threads(n as u32)));
    }
    if failure.kind == FailureKind::Resource {
        candidates.extend(roomier(program));
    }
    for candidate in candidates {
        if found.len() == MOST {
            break;
        }
        // One arrangement, one layout is enough.
        if found.iter().any(|known| known.replaces(&candidate)) {
            continue;
        }
        // More threads have to be enough of them.
        let fits = |program: &TileProgram| {
            failure.kind != FailureKind::Registers || fits_registers(program, tries.arch)
        };
        let repaired = repaired(program, &candidate).filter(fits);
        if repaired.is_some_and(|program| tries.solves(&program)) {
            found.push(candidate);
        }
    }
    found
}

impl Repair {
    /// Whether a repair that was found makes another one needless.
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
                if matches!(op.kind, OpKind::CopyAsync { .. }) {
                    out.push(Repair::Synchronous(op.id));
                }
                out.extend(divisible(program, op));
            }
            Claim::Warps(op) => {
                let warps = i64::from(program.threads) / 32;
                let Some(OpKind::Gemm { c, .. }) = program.op(op).map(|op| &op.kind) else { continue };
                let ways = arrangements(warps, program.tensor(*c).shape.get(2).copied());
                let mut ways: Vec<_> = ways.filter(|way| way.iter().product::<i64>() == warps).collect();
                ways.sort_by_key(|[m, n, _]| ((m - n).abs(), -m));
                out.extend(ways.into_iter().map(|warps| Repair::Warps { op, warps }));
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

/// What may take less shared memory: layouts without gaps, and barriers between the uses of buffers.
fn roomier(program: &TileProgram) -> Vec<Repair> {
    let is_pinned =
        |id: &TensorId| matches!(program.tensor(*id).kind, TensorKind::Shared { pinned: Some(_) });
    let is_shared = |id: &TensorId| matches!(program.tensor(*id).kind, TensorKind::Shared { .. });
    let mut used: BTreeSet<TensorId> = BTreeSet::new();
    let mut begins = Vec::new();
    for stmt in &program.body {
        let tensors = stmt.ops().flat_map(|op| op.kind.tensors()).filter(is_shared);
        let fresh = tensors.fold(false, |fresh, tensor| used.insert(tensor) || fresh);
        begins.extend(stmt.ops().next().filter(|_| fresh).map(|op| op.id));
    }
    let pins = program.tensor_ids().filter(is_pinned).map(Repair::Unpin);
    pins.chain(begins.into_iter().skip(1).map(Repair::Barrier)).collect()
}

/// Dimensions that decide where the elements of an operation begin in global memory, as multiples of what is moved at least.
fn divisible(program: &TileProgram, op: &Op) -> Vec<Repair> {
    let (OpKind::Copy { src, dst } | OpKind::CopyAsync { src, dst }) = &op.kind else { return Vec::new() };
    // What the narrowest instruction moves at once.
    let asynchronous =
        || catalogue().copies.iter().filter(|row| (row.from, row.to) == (Space::Global, Space::Shared));
    let least_bits = match op.kind {
        OpKind::CopyAsync { .. } => 8 * asynchronous().map(|row| row.bytes).min().unwrap_or(1),
        _ => 8,
    };
    let mut out = Vec::new();
    for view in [src, dst] {
        let Some(param) = param_of(program, view) else { continue };
        let by = i64::from(least_bits / param.dtype.bits());
        // Strides that a launch gives have no name in the text.
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

/// The sources of an operation, moved to a layout that another of its tensors is pinned to.
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
    for tensor in sources(op) {
        for (other, layout) in &pinned {
            let alike = program.tensor(*other).shape == program.tensor(tensor).shape;
            if alike && *other != tensor {
                out.push(Repair::Rearrange { op: op.id, tensor, layout: layout.clone() });
            }
        }
    }
    out
}

/// The register tensors that an operation only reads.
fn sources(op: &Op) -> Vec<TensorId> {
    match &op.kind {
        OpKind::Gemm { a, b, .. } => vec![*a, *b],
        OpKind::Cast { src, .. } => vec![*src],
        OpKind::Map(map) => map.inputs.iter().copied().filter(|input| *input != map.dst).collect(),
        OpKind::Reduce { src, .. } => vec![*src],
        _ => Vec::new(),
    }
}

/// The layout of a shared tensor without negative strides, and plain ones of rank 2: rows, columns, and both with some room between.
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
    // Room between rows was left for a reason.
    if pinned.layout.cosize() > pinned.layout.size() {
        strides.rotate_left(2);
    }
    let layouts =
        strides.into_iter().filter_map(|(down, right)| Layout::flat(&[(rows, down), (columns, right)]).ok());
    layouts.map(ComposedLayout::plain).collect()
}

/// The same layout with positive strides.
fn upward(pinned: &ComposedLayout) -> Option<ComposedLayout> {
    let strides = pinned.layout.stride().map_leaves(|_, stride| IntTuple::Int(stride.saturating_abs()));
    let layout = Layout::new(pinned.layout.shape().clone(), strides).ok()?;
    Some(ComposedLayout::swizzled(pinned.swizzle, layout))
}

/// As many threads as a pinned thread-value layout has.
fn other_threads(program: &TileProgram, tensor: TensorId) -> Option<Repair> {
    let TensorKind::Register { pinned: Some(layout) } = &program.tensor(tensor).kind else { return None };
    let threads = layout.mode(0).size();
    let fits = THREADS.contains(&threads) && threads % 32 == 0 && threads != i64::from(program.threads);
    fits.then_some(Repair::Threads(threads as u32))
}

/// The program after a repair.
pub(super) fn repaired(program: &TileProgram, repair: &Repair) -> Option<TileProgram> {
    let mut program = program.clone();
    match repair {
        Repair::Unpin(tensor) => unpin(&mut program.tensors.get_mut(tensor.0 as usize)?.kind),
        Repair::Pin { tensor, layout } => {
            program.tensors.get_mut(tensor.0 as usize)?.kind =
                TensorKind::Shared { pinned: Some(layout.clone()) };
        }
        Repair::Threads(threads) => program.threads = *threads,
        Repair::Barrier(id) => {
            let barrier = Adder::new(&mut program).op(OpKind::Sync);
            let at = program.body.iter().position(|stmt| stmt.ops().any(|op| op.id == *id))?;
            program.body.insert(at, barrier);
        }
        Repair::Bytes(tensors) => {
            for tensor in tensors {
                bytes::hold(&mut program, *tensor)?;
            }
        }
        Repair::Divisible { dim, by } => program.facts.divisible(dim.clone(), *by),
        Repair::FreeWarps(id) => change(&mut program.body, *id, &mut |op| {
            if let OpKind::Gemm { warps, .. } = &mut op.kind {
                *warps = None;
            }
            Vec::new()
        }),
        Repair::Warps { op, warps } => change(&mut program.body, *op, &mut |op| {
            if let OpKind::Gemm { warps: given, .. } = &mut op.kind {
                *given = Some(*warps);
            }
            Vec::new()
        }),
        Repair::Synchronous(id) => {
            let OpKind::CopyAsync { src, dst } = program.op(*id)?.kind.clone() else { return None };
            let Base::Shared(shared) = dst.base else { return None };
            let like = program.tensor(shared).clone();
            let mut new = Adder::new(&mut program);
            let through = new.tensor(&like, src.shape(), TensorKind::Register { pinned: None });
            let whole = View::whole(Base::Register(through), &src.shape());
            let load = new.op(OpKind::Copy { src, dst: whole.clone() });
            change(&mut program.body, *id, &mut |op| {
                op.kind = OpKind::Copy { src: whole.clone(), dst: dst.clone() };
                vec![load.clone()]
            });
        }
        Repair::Rearrange { op, tensor, layout } => {
            let like = program.tensor(*tensor).clone();
            let mut new = Adder::new(&mut program);
            let shared = new.tensor(&like, like.shape.clone(), TensorKind::Shared { pinned: None });
            let moved =
                new.tensor(&like, like.shape.clone(), TensorKind::Register { pinned: Some(layout.clone()) });
            let [from, through, to] = [Base::Register(*tensor), Base::Shared(shared), Base::Register(moved)]
                .map(|base| View::whole(base, &like.shape));
            let before = [
                OpKind::Copy { src: from, dst: through.clone() },
                OpKind::Sync,
                OpKind::Copy { src: through, dst: to },
            ];
            let before: Vec<Stmt> = before.into_iter().map(|kind| new.op(kind)).collect();
            change(&mut program.body, *op, &mut |op| {
                replace(op, *tensor, moved);
                before.clone()
            });
        }
    }
    Some(program)
}

/// Makes tensors and operations with numbers of their own.
struct Adder<'p> {
    tensors: &'p mut Vec<Tensor>,
    next: u32,
}

impl Adder<'_> {
    fn new(program: &mut TileProgram) -> Adder<'_> {
        let next = program.ops(1.0).iter().map(|(op, _)| op.id.0 + 1).max().unwrap_or(0);
        Adder { tensors: &mut program.tensors, next }
    }

    fn tensor(&mut self, like: &Tensor, shape: Vec<i64>, kind: TensorKind) -> TensorId {
        self.tensors.push(Tensor { shape, kind, ..like.clone() });
        TensorId(self.tensors.len() as u32 - 1)
    }

    fn op(&mut self, kind: OpKind) -> Stmt {
        let id = OpId(self.next);
        self.next += 1;
        Stmt::Op(Op { id, kind, origin: Origin::default() })
    }
}

/// Changes an operation and puts statements before it.
fn change(body: &mut Vec<Stmt>, id: OpId, with: &mut dyn FnMut(&mut Op) -> Vec<Stmt>) {
    let mut at = 0;
    while at < body.len() {
        match &mut body[at] {
            Stmt::Op(op) if op.id == id => {
                let before = with(op);
                let added = before.len();
                body.splice(at..at, before);
                at += added;
            }
            Stmt::For { body, .. } | Stmt::While { body, .. } => change(body, id, with),
            Stmt::If { then, otherwise, .. } => {
                change(then, id, with);
                change(otherwise, id, with);
            }
            _ => {}
        }
        at += 1;
    }
}

/// The operation reads another tensor.
fn replace(op: &mut Op, from: TensorId, to: TensorId) {
    let swap = |tensor: &mut TensorId| {
        if *tensor == from {
            *tensor = to;
        }
    };
    match &mut op.kind {
        OpKind::Gemm { a, b, .. } => [a, b].into_iter().for_each(swap),
        OpKind::Cast { src, .. } | OpKind::Reduce { src, .. } => swap(src),
        OpKind::Map(map) => map.inputs.iter_mut().for_each(swap),
        _ => {}
    }
}
