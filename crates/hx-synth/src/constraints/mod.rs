//! The constraints of a program's operations on layouts, as data (paper, section IV-A, figure 19).
//!
//! A [`System`] is built once for each program and solved by a work-list ([`worklist`]). A constraint fires when one of its sides
//! is known and the other is not; it is checked when both are known. The search decides what the work-list cannot: the
//! instruction and the arrangement of a gemm, and how a copy is dealt to threads.

pub(crate) mod component;
mod order;
mod text;
pub(crate) mod worklist;

use std::collections::{BTreeMap, BTreeSet};

use hx_tile::{Base, Map, Op, OpId, OpKind, TensorId, TileProgram, View};

use crate::access::Run;
use crate::distribution::ThreadValueLayout;
use crate::distribution::layouts::Layouts;

/// A constraint on layouts. *f* is the thread-value layout of a register tensor, *m* the layout of a memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Constraint {
    /// *f* is the layout that the user wrote.
    Pinned { tensor: TensorId },
    /// `f_a = f_b`: two tensors of an elementwise operation, a conversion, a scan, a sum over a cluster or a rearrangement
    /// that moves nothing; or the moved tensor and a companion of a copy. The widths of their elements do not matter. Their
    /// shapes may differ by a `reshape`: the row-major indices of the elements are then equal.
    Equal { a: TensorId, b: TensorId },
    /// `f_to = π ∘ f_from`, where π collapses the axes: the result of a reduction, or an operand that is broadcast. Only `to`
    /// follows from `from`: many layouts of `from` have the same projection.
    Project { from: TensorId, to: TensorId, axes: Vec<usize> },
    /// `f_to = f_from ∘ view`: a part of a register tensor. If both are known and disagree, elements move between threads. The
    /// layout of `from` also follows from that of `to`, if `to` is `inserted` or is all of `from` under other dimensions.
    Part { from: TensorId, to: TensorId, view: View, inserted: bool },
    /// Three equations along M, N and K between the fragments of one instruction. An operand in shared memory has no fragment.
    Gemm { c: TensorId, a: Option<TensorId>, b: Option<TensorId> },
    /// `f ∘ q⁻¹ = m ∘ p⁻¹` for the two sides of one instruction.
    Copy { register: TensorId, memory: Base },
    /// A rearrangement: the two layouts are independent, because values move between threads.
    Free { from: TensorId, to: TensorId },
    /// An asynchronous copy from one memory to another: `m_to ∘ p⁻¹ = m_from ∘ p⁻¹`.
    Move { from: Base, to: Base },
}

impl Constraint {
    /// Returns the register tensors that the constraint ties to each other.
    pub(crate) fn registers(&self) -> Vec<TensorId> {
        match self {
            Constraint::Pinned { tensor } => vec![*tensor],
            Constraint::Equal { a, b } => vec![*a, *b],
            Constraint::Project { from, to, .. } | Constraint::Part { from, to, .. } => vec![*from, *to],
            Constraint::Gemm { c, a, b } => [Some(*c), *a, *b].into_iter().flatten().collect(),
            Constraint::Copy { register, .. } => vec![*register],
            Constraint::Free { .. } | Constraint::Move { .. } => vec![],
        }
    }
}

/// A constraint with the operation that demands it; a pin has no operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Demanded {
    pub(crate) op: Option<OpId>,
    pub(crate) constraint: Constraint,
}

/// All constraints of a program, in the order of its text.
#[derive(Debug)]
pub(crate) struct System<'p> {
    pub(crate) program: &'p TileProgram,
    pub(crate) constraints: Vec<Demanded>,
    /// The indices of the constraints that name a tensor, for each tensor.
    touching: Vec<Vec<usize>>,
    /// The orders of packed elements that differ from the order of their tile.
    orders: BTreeMap<TensorId, Run>,
    /// The operations, by number.
    ops: BTreeMap<OpId, &'p Op>,
}

impl<'p> System<'p> {
    /// Builds the constraints of a program. The rearrangements in `still` must not move values: their two sides are equal.
    pub(crate) fn of(program: &'p TileProgram, still: &BTreeSet<OpId>) -> System<'p> {
        let pinned = program.tensor_ids().filter(|tensor| program.tensor(*tensor).kind.is_pinned());
        let pins = pinned.map(|tensor| Demanded { op: None, constraint: Constraint::Pinned { tensor } });
        let mut constraints: Vec<Demanded> = pins.collect();
        let mut ops = BTreeMap::new();
        for (op, _) in program.ops(1.0) {
            ops.insert(op.id, op);
            let demanded = demands(program, op, still).into_iter();
            constraints.extend(demanded.map(|constraint| Demanded { op: Some(op.id), constraint }));
        }
        let mut touching = vec![Vec::new(); program.tensors.len()];
        for (i, demanded) in constraints.iter().enumerate() {
            for tensor in demanded.constraint.registers() {
                let list: &mut Vec<usize> = &mut touching[tensor.0 as usize];
                if list.last() != Some(&i) {
                    list.push(i);
                }
            }
        }
        System { program, constraints, touching, orders: order::orders(program), ops }
    }

    /// Returns the operation with this number, or `None` if the program has none.
    pub(crate) fn op(&self, id: OpId) -> Option<&'p Op> {
        self.ops.get(&id).copied()
    }

    /// Derives the layout of a tensor that has none from a narrower tensor: its reduction, or an operand that is broadcast to
    /// it. Lifts only a tensor that neither a copy, a gemm nor a pin deals. Returns the tensor with the largest narrow tensor,
    /// its layout and the operation, or `None` if there is no such tensor.
    pub(crate) fn lift(&self, known: &Layouts) -> Option<(TensorId, ThreadValueLayout, OpId)> {
        let mut best: Option<(i64, (TensorId, ThreadValueLayout, OpId))> = None;
        for demanded in &self.constraints {
            let Constraint::Project { from, to, axes } = &demanded.constraint else { continue };
            let (None, Some(narrow), Some(op)) = (known.get(*from), known.get(*to), demanded.op) else {
                continue;
            };
            if self.is_moved(*from) {
                continue;
            }
            let size = self.program.tensor(*to).size();
            if best.as_ref().is_none_or(|(largest, _)| size > *largest) {
                let layout = crate::movement::parts::lifted(
                    self.program.target,
                    &narrow.layout,
                    &self.program.tensor(*from).shape,
                    axes,
                );
                best = Some((size, (*from, layout, op)));
            }
        }
        best.map(|(_, found)| found)
    }

    /// Reports whether a copy, a gemm or a pin determines the layout of the tensor, or of one that must have the same layout.
    fn is_moved(&self, tensor: TensorId) -> bool {
        let (mut seen, mut open) = (BTreeSet::from([tensor]), vec![tensor]);
        while let Some(next) = open.pop() {
            for &i in &self.touching[next.0 as usize] {
                match &self.constraints[i].constraint {
                    Constraint::Copy { .. } | Constraint::Gemm { .. } | Constraint::Pinned { .. } => {
                        return true;
                    }
                    Constraint::Equal { a, b } => {
                        open.extend([*a, *b].into_iter().filter(|t| seen.insert(*t)));
                    }
                    _ => {}
                }
            }
        }
        false
    }

    /// Returns the shapes under which threads hold the elements of a tensor, its own first: `reshape` makes further ones.
    pub(crate) fn shapes(&self, tensor: TensorId) -> Vec<Vec<i64>> {
        let mut shapes = vec![self.program.tensor(tensor).shape.clone()];
        let (mut seen, mut open) = (BTreeSet::from([tensor]), vec![tensor]);
        while let Some(next) = open.pop() {
            for &i in &self.touching[next.0 as usize] {
                let Constraint::Equal { a, b } = &self.constraints[i].constraint else { continue };
                for tensor in [*a, *b].into_iter().filter(|t| seen.insert(*t)) {
                    open.push(tensor);
                    let shape = &self.program.tensor(tensor).shape;
                    if !shapes.contains(shape) {
                        shapes.push(shape.clone());
                    }
                }
            }
        }
        shapes
    }

    /// Returns the sets of register tensors that constraints tie together, keyed by their first tensor.
    pub(crate) fn tied(&self) -> BTreeMap<TensorId, Vec<TensorId>> {
        let unloaded = self.program.unloaded();
        let is_held = |t: &TensorId| self.program.tensor(*t).is_register() && !unloaded.contains(t);
        let registers = || self.program.tensor_ids().filter(is_held);
        let mut root: BTreeMap<TensorId, TensorId> = registers().map(|t| (t, t)).collect();
        for demanded in &self.constraints {
            for pair in demanded.constraint.registers().windows(2) {
                let (a, b) = (find(&root, pair[0]), find(&root, pair[1]));
                root.insert(a.max(b), a.min(b));
            }
        }
        let mut sets: BTreeMap<TensorId, Vec<TensorId>> = BTreeMap::new();
        for tensor in registers() {
            sets.entry(find(&root, tensor)).or_default().push(tensor);
        }
        sets
    }
}

fn find(root: &BTreeMap<TensorId, TensorId>, mut tensor: TensorId) -> TensorId {
    while let Some(&up) = root.get(&tensor) {
        if up == tensor {
            break;
        }
        tensor = up;
    }
    tensor
}

/// Returns the constraints of one operation. An operation with constraints of its own, such as a scan, has an arm here.
fn demands(program: &TileProgram, op: &Op, still: &BTreeSet<OpId>) -> Vec<Constraint> {
    match &op.kind {
        OpKind::Copy { src, dst } => match copy(src, dst) {
            Some((register, memory)) => moved(op, register, memory),
            None => vec![],
        },
        OpKind::CopyAsync { src, dst, .. } => vec![Constraint::Move { from: src.base, to: dst.base }],
        OpKind::Gemm { c, a, b, .. } => {
            vec![Constraint::Gemm { c: *c, a: a.view.register(), b: b.view.register() }]
        }
        OpKind::Rearrange { dst, src, .. } if still.contains(&op.id) => {
            vec![Constraint::Equal { a: *dst, b: *src }]
        }
        OpKind::Rearrange { dst, src, .. } => vec![Constraint::Free { from: *src, to: *dst }],
        OpKind::Map(map) => elementwise(program, map),
        OpKind::Reduce { dst, src, axis, .. } => {
            vec![Constraint::Project { from: *src, to: *dst, axes: vec![*axis] }]
        }
        OpKind::Slice { dst, src } => src
            .register()
            .map(|from| Constraint::Part { from, to: *dst, view: src.clone(), inserted: false })
            .into_iter()
            .collect(),
        OpKind::Insert { dst, src } => dst
            .register()
            .map(|from| Constraint::Part { from, to: *src, view: dst.clone(), inserted: true })
            .into_iter()
            .collect(),
        OpKind::Scan { dst, src, .. } => match dst.split_first() {
            Some((first, rest)) => {
                src.iter().chain(rest).map(|other| Constraint::Equal { a: *first, b: *other }).collect()
            }
            None => vec![],
        },
        OpKind::Atomic(atomic) => moved(op, atomic.value, atomic.memory.base),
        // The destination of `ReadNumber` is pinned. Prints and assertions read each element from whichever thread holds it.
        other => {
            let registers = if other.description().is_alike { other.registers() } else { Vec::new() };
            let equal = |(a, others): (&TensorId, &[TensorId])| -> Vec<Constraint> {
                others.iter().map(|b| Constraint::Equal { a: *a, b: *b }).collect()
            };
            registers.split_first().map(equal).unwrap_or_default()
        }
    }
}

/// Returns the register tensor and the memory of a copy; `None` for a copy between two memories or two register tensors.
fn copy(src: &View, dst: &View) -> Option<(TensorId, Base)> {
    match (src.register(), dst.register()) {
        (None, Some(register)) => Some((register, src.base)),
        (Some(register), None) => Some((register, dst.base)),
        _ => None,
    }
}

/// Returns the constraints of an operation that moves elements between registers and a memory. Indices and other companions are
/// distributed as the elements.
fn moved(op: &Op, register: TensorId, memory: Base) -> Vec<Constraint> {
    let companions = op.kind.description().companions.into_iter().filter(|companion| *companion != register);
    let equal = companions.map(|b| Constraint::Equal { a: register, b });
    // A thread sets results only where it holds the values, so the layout of the results may give it no further elements.
    let old = if let OpKind::Atomic(atomic) = &op.kind { atomic.old } else { None };
    let old = old.map(|a| Constraint::Equal { a, b: register });
    std::iter::once(Constraint::Copy { register, memory }).chain(equal).chain(old).collect()
}

/// Returns the constraints of an expression. Operands of the result's shape come first: a broadcast operand follows from the
/// result.
fn elementwise(program: &TileProgram, map: &Map) -> Vec<Constraint> {
    let axes = |input: TensorId| broadcast(program, map, input);
    let whole = map.inputs.iter().filter(|input| axes(**input).is_empty());
    let equal = whole.map(|input| Constraint::Equal { a: map.dst, b: *input });
    let partial = map.inputs.iter().filter(|input| !axes(**input).is_empty());
    let project = partial.map(|input| Constraint::Project { from: map.dst, to: *input, axes: axes(*input) });
    equal.chain(project).collect()
}

/// Returns the axes along which an input of an expression is broadcast.
pub(crate) fn broadcast(program: &TileProgram, map: &Map, input: TensorId) -> Vec<usize> {
    let (from, to) = (&program.tensor(input).shape, &program.tensor(map.dst).shape);
    (0..to.len()).filter(|d| from[*d] == 1 && to[*d] != 1).collect()
}
