//! Checks a solution by enumeration, independently of how it was found.
//!
//! Every statement of the constraints of the paper (Hexcute, CGO 2026) is read as an equation between functions and evaluated
//! for every thread and value: coverage, injectivity of shared layouts, the elements that each instruction moves or multiplies,
//! alignment, overlap of buffers.
//!
//! Invariant: the crate does not depend on the solver. They share only the crates below both.
//!
//! Start at [`verify`].

mod boxes;
mod copy;
mod descriptor;
mod edits;
mod elementwise;
mod gemm;
mod lanes;
mod operands;
mod parts;
mod roles;
mod rounds;
mod scopes;
mod starts;
mod tensor;

use std::fmt;

use hx_index::{Expr, Symbol};
use hx_tile::{
    Base, Choice, ConvertChoice, Distribution, Op, OpId, OpKind, RearrangeChoice, Route, Solution, Tensor,
    TensorId, TileProgram, View, coordinate,
};

/// A constraint that a solution violates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The operation that it concerns; `None` if it concerns a tensor or the whole program.
    pub op: Option<OpId>,
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.op {
            Some(op) => write!(f, "operation #{}: {}", op.0, self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Returns the violations of a solved program and its solution: at most one for each tensor and operation, a second for a product
/// whose operands are wrong, and one for shared memory and the registers of roles. If the program is not its source with loads, moves
/// and copies in rounds, or if the scopes are wrong, that is the only one. A correct solution has none.
pub fn verify(source: &TileProgram, program: &TileProgram, solution: &Solution) -> Vec<Violation> {
    verify_polled(source, program, solution, &|| ())
}

/// As [`verify`], with polls for each tensor, operation and part of a large operation. A poll may unwind.
pub fn verify_polled(
    source: &TileProgram,
    program: &TileProgram,
    solution: &Solution,
    poll: &dyn Fn(),
) -> Vec<Violation> {
    let compared = rounds::as_solved(source, program, poll).and_then(|cut| edits::only_add(&cut, program));
    if let Err(message) = compared {
        return vec![Violation { op: None, message }];
    }
    let check = Check { program, solution, poll };
    // No other check is meaningful if a scope does not exist or has threads outside of the block.
    if let Err(message) = check.scopes() {
        return vec![Violation { op: None, message }];
    }
    let mut out = Vec::new();
    // An operand that is read where it is has no layout in registers.
    let unloaded = program.unloaded();
    for tensor in program.tensor_ids().filter(|tensor| !unloaded.contains(tensor)) {
        poll();
        out.extend(check.tensor(tensor).err().map(|message| Violation { op: None, message }));
    }
    let memory = check
        .overlap()
        .and_then(|()| check.scratch())
        .and_then(|()| check.barriers())
        .and_then(|()| check.resident())
        .and_then(|()| check.role_registers());
    out.extend(memory.err().map(|message| Violation { op: None, message }));
    for (op, _) in source.ops(1.0) {
        out.extend(check.operands(op).err().map(|message| Violation { op: Some(op.id), message }));
    }
    for (op, _) in program.ops(1.0) {
        poll();
        let result = check.reaches(op).and(check.op(op));
        out.extend(result.err().map(|message| Violation { op: Some(op.id), message }));
    }
    out
}

/// The result of a check: an error describes the first place where it fails.
type Checked = Result<(), String>;

struct Check<'p> {
    program: &'p TileProgram,
    solution: &'p Solution,
    poll: &'p dyn Fn(),
}

/// Returns the register and shared tensors that an operation reads or writes.
fn used(kind: &OpKind) -> Vec<TensorId> {
    let of = |view: &View| {
        let bases: Vec<Base> = view.bases().collect();
        bases.into_iter().filter_map(|base| match base {
            Base::Register(tensor) | Base::Shared(tensor) => Some(tensor),
            Base::Global(_) => None,
        })
    };
    match kind {
        OpKind::Fill { dst, .. } => vec![*dst],
        OpKind::Copy { src, dst } | OpKind::CopyAsync { src, dst, .. } | OpKind::Store { src, dst, .. } => {
            of(src).chain(of(dst)).collect()
        }
        OpKind::Gemm { c, a, b, .. } => std::iter::once(*c).chain(of(&a.view)).chain(of(&b.view)).collect(),
        OpKind::Cast { dst, src } | OpKind::Reduce { dst, src, .. } => vec![*dst, *src],
        OpKind::Map(map) => map.inputs.iter().copied().chain([map.dst]).collect(),
        OpKind::Rearrange { dst, src, through } => [*dst, *src].into_iter().chain(*through).collect(),
        OpKind::Slice { dst: tensor, src: view } | OpKind::Insert { dst: view, src: tensor } => {
            of(view).chain([*tensor]).collect()
        }
        OpKind::ReadNumber { src, .. } => vec![*src],
        OpKind::Scan { dst, src, .. } => dst.iter().chain(src).copied().collect(),
        OpKind::Atomic(a) => of(&a.memory).chain([a.value]).chain(a.old).chain(a.compare).collect(),
        OpKind::ClusterSum { x, parts, .. } => parts.iter().copied().chain([*x]).collect(),
        OpKind::Print { src, .. } => src.iter().copied().collect(),
        OpKind::Assert { cond, sides, .. } => sides.iter().copied().chain([*cond]).collect(),
        OpKind::Prefetch { view } => of(view).collect(),
        OpKind::Sync(_) => Vec::new(),
    }
}

/// The thread-value layout of a register tensor, with its sizes.
struct RegisterLayout<'p> {
    distribution: &'p Distribution,
    threads: i64,
    values: i64,
}

impl RegisterLayout<'_> {
    /// Returns the index, in the distribution's tile, of the element that a thread holds at a position.
    fn index(&self, thread: i64, position: i64) -> i64 {
        self.distribution.layout.eval(thread + self.threads * position)
    }

    fn coordinate(&self, thread: i64, position: i64) -> Vec<i64> {
        coordinate(self.index(thread, position), &self.distribution.tile)
    }
}

impl<'p> Check<'p> {
    /// Checks that the blocks that should run together on a multiprocessor fit there. One block that does not fit is the concern
    /// of other checks.
    fn resident(&self) -> Checked {
        let blocks = self.solution.resident_blocks;
        let limits = &self.program.target.limits;
        let fit = limits.residency(self.program.block_threads(), 1, self.solution.shared_bytes).blocks.max(1);
        let least = self.program.blocks_per_sm.unwrap_or(1);
        if blocks < least {
            return Err(format!("{blocks} blocks should run together, and the source says {least}"));
        }
        if (1..=fit).contains(&blocks) {
            return Ok(());
        }
        Err(format!("{blocks} blocks should run together on a multiprocessor, which holds {fit}"))
    }

    /// Checks an operation with the choice that the solution made for it.
    fn op(&self, op: &Op) -> Checked {
        match (&op.kind, self.solution.choices.get(&op.id)) {
            (OpKind::Fill { .. } | OpKind::Sync(_), _) => Ok(()),
            // Prints and assertions read each element in the thread that holds it, whatever the layout.
            (OpKind::Print { .. } | OpKind::Assert { .. }, _) => Ok(()),
            (OpKind::ClusterSum { x, parts, axis, to }, _) => self.cluster_sum((*x, parts), *axis, *to),
            (OpKind::CopyAsync { src, dst, .. }, Some(Choice::Copy(c))) => self.copy_async(op, src, dst, c),
            (OpKind::CopyAsync { src, dst, signal: Some(_), .. }, Some(Choice::Bulk(b))) => {
                self.boxed(src, dst, (true, false, self.program.blocks_of(op)), b)
            }
            (OpKind::Store { src, dst, adds }, Some(Choice::Bulk(b))) => {
                self.boxed(dst, src, (false, *adds, 1), b)
            }
            (OpKind::Prefetch { view }, Some(Choice::Prefetch(p))) => self.fetched(view, p),
            (OpKind::Map(map), Some(Choice::Map(m))) => self.map(map, m),
            (OpKind::Reduce { dst, src, axis, .. }, Some(Choice::Reduce(r))) => {
                self.reduce([*dst, *src], *axis, r)
            }
            (OpKind::Copy { src, dst }, Some(Choice::Copy(c))) => self.copy(src, dst, c),
            (OpKind::Rearrange { dst, src, through }, Some(Choice::Rearrange(r))) => {
                self.rearrange([*dst, *src], *through, r)
            }
            (OpKind::Atomic(atomic), Some(Choice::Copy(c))) => self.atomic(op, atomic, c),
            (OpKind::Slice { dst, src }, Some(Choice::Slice(s))) => self.slice(op, *dst, src, s),
            (OpKind::Insert { dst, src }, Some(Choice::Slice(s))) => self.insert(op, dst, *src, s),
            (OpKind::ReadNumber { src, .. }, _) => self.read_number(*src),
            (OpKind::Scan { dst, src, axis, op, .. }, Some(Choice::Scan(s))) => {
                self.scan((dst, src), *axis, op.len(), s)
            }
            (OpKind::Gemm { c, a, b, .. }, Some(Choice::Gemm(g))) => {
                match (a.view.register(), b.view.register()) {
                    (Some(a), Some(b)) => {
                        self.gemm([*c, a, b], g).and_then(|()| self.streamed(op.id, [a, b], g))
                    }
                    _ => self.gemm_by_descriptor(op, *c, [a, b], g),
                }
            }
            (OpKind::Cast { dst, src }, Some(Choice::Convert(c))) => self.convert(*dst, *src, c),
            (
                OpKind::Copy { .. }
                | OpKind::Gemm { .. }
                | OpKind::Cast { .. }
                | OpKind::CopyAsync { .. }
                | OpKind::Store { .. }
                | OpKind::Prefetch { .. }
                | OpKind::Map(_)
                | OpKind::Rearrange { .. }
                | OpKind::Reduce { .. }
                | OpKind::Slice { .. }
                | OpKind::Insert { .. }
                | OpKind::Scan { .. }
                | OpKind::Atomic(_),
                _,
            ) => Err("no instruction was chosen".into()),
        }
    }

    /// Checks that a sum over the cluster is of at least two blocks, that the block which gets it is one of them, that each
    /// thread holds the same elements of the result and of every part, and that elements have 32 or 64 bits. All blocks have
    /// the same layouts, so the threads with the same number hold the same elements. A thread sends the values of a part in the
    /// order in which the result holds them.
    fn cluster_sum(&self, (x, parts): (TensorId, &[TensorId]), axis: u8, to: Option<u8>) -> Checked {
        let blocks = self.program.cluster.get(usize::from(axis)).copied().unwrap_or(1);
        let Tensor { name, dtype, .. } = self.program.tensor(x);
        if blocks < 2 || to.is_some_and(|to| u32::from(to) >= blocks) {
            return Err(format!("`{name}` is summed over {blocks} blocks, for block {to:?}"));
        }
        if !parts.is_empty() && parts.len() != blocks as usize {
            return Err(format!("`{name}` is the sum of {} parts for {blocks} blocks", parts.len()));
        }
        let layout = self.register_layout(x)?;
        for part in parts {
            let of = self.register_layout(*part)?;
            let same = |t: i64| (0..layout.values).all(|v| layout.coordinate(t, v) == of.coordinate(t, v));
            if of.values != layout.values || !(0..layout.threads).all(same) {
                let part = &self.program.tensor(*part).name;
                return Err(format!("`{part}` is not held as `{name}` is, to which it is added"));
            }
        }
        match dtype.bits() {
            32 | 64 => Ok(()),
            bits => Err(format!("`{name}` is summed over blocks, with elements of {bits} bits")),
        }
    }

    fn register_layout(&self, tensor: TensorId) -> Result<RegisterLayout<'p>, String> {
        let info = self.program.tensor(tensor);
        let (name, scope) = (&info.name, self.scope(info.scope));
        let distribution =
            self.solution.registers.get(&tensor).ok_or_else(|| format!("`{name}` has no layout"))?;
        let layout = &distribution.layout;
        if layout.rank() != 2 {
            return Err(format!("the layout of `{name}` has {} modes, not thread and value", layout.rank()));
        }
        let (threads, values) = (layout.mode(0).size(), layout.mode(1).size());
        if threads != i64::from(scope.threads) {
            return Err(format!(
                "the layout of `{name}` is for {threads} threads, the {} has {}",
                scope.kind.name(),
                scope.threads
            ));
        }
        Ok(RegisterLayout { distribution, threads, values })
    }

    /// Returns the row-major index of an element; `None` outside of the tensor.
    fn number(&self, tensor: TensorId, at: &[i64]) -> Option<i64> {
        let shape = &self.program.tensor(tensor).shape;
        self.inside(tensor, at)
            .then(|| at.iter().zip(shape).fold(0, |number, (c, extent)| number * extent + c))
    }

    fn inside(&self, tensor: TensorId, at: &[i64]) -> bool {
        at.iter().zip(&self.program.tensor(tensor).shape).all(|(c, extent)| c < extent)
    }

    /// Checks that every thread gets its values: from its own registers, from other lanes, or through a shared tensor, where
    /// it must read what was written.
    fn rearrange(
        &self,
        [dst, src]: [TensorId; 2],
        through: Option<TensorId>,
        choice: &RearrangeChoice,
    ) -> Checked {
        match (&choice.route, through) {
            (Route::Within(positions), None) => {
                let (d, s) = (self.register_layout(dst)?, self.register_layout(src)?);
                if positions.size() != d.values {
                    return Err(format!("{} positions for {} values", positions.size(), d.values));
                }
                self.finds(&d, &s, &|t, v| (t, positions.eval(v)))
            }
            (Route::Renamed(positions), None) => {
                let (d, s) = (self.register_layout(dst)?, self.register_layout(src)?);
                if positions.len() as i64 != d.values {
                    return Err(format!("{} positions for {} values", positions.len(), d.values));
                }
                let source = |t: i64, v: i64| (t, positions[v as usize]);
                self.finds(&d, &s, &source)
            }
            (Route::Lanes(lanes), None) => self.lanes(dst, src, lanes),
            (Route::Matrices { row, src: positions }, None) => self.matrices(dst, src, *row, positions),
            (Route::Shared { store, load }, Some(shared)) => {
                let view = |base, tensor: TensorId| View::whole(base, &self.program.tensor(tensor).shape);
                let memory = view(Base::Shared(shared), shared);
                self.copy(&view(Base::Register(src), src), &memory, store)?;
                self.copy(&memory, &view(Base::Register(dst), dst), load)
            }
            _ => Err("the way and the shared tensor do not go together".into()),
        }
    }

    /// Checks that every position of the destination is converted once, from the position of its element in the source. The
    /// source may hold other elements, too.
    fn convert(&self, dst: TensorId, src: TensorId, choice: &ConvertChoice) -> Checked {
        let (d, s) = (self.register_layout(dst)?, self.register_layout(src)?);
        let converted = [choice.src.size(), choice.dst.size()];
        if converted != [d.values; 2] {
            return Err(format!("{converted:?} positions for {} values", d.values));
        }
        let mut written = vec![false; d.values as usize];
        for i in 0..d.values {
            let (from, to) = (choice.src.eval(i), choice.dst.eval(i));
            let slot = written.get_mut(to as usize).ok_or("a position past the last value is written")?;
            if std::mem::replace(slot, true) {
                return Err(format!("position {to} is written twice"));
            }
            if !(0..s.values).contains(&from) {
                return Err(format!("position {from} is read, of {} values", s.values));
            }
            for t in 0..d.threads {
                let (at, of) = (d.coordinate(t, to), s.coordinate(t, from));
                let same = match self.program.tensor(dst).shape == self.program.tensor(src).shape {
                    true => at == of,
                    // The elements of another shape have the same row-major indices.
                    false => self.number(dst, &at) == self.number(src, &of),
                };
                if !same {
                    return Err(format!(
                        "thread {t} converts {:?} into {:?}",
                        s.coordinate(t, from),
                        d.coordinate(t, to)
                    ));
                }
            }
        }
        Ok(())
    }
}

/// The coordinates that a view refers to, with every dimension and counter taken as 0.
struct Walk {
    start: Vec<i64>,
    /// For each mode of the view, the dimension that it walks and the distance of one step.
    steps: Vec<(usize, i64)>,
}

impl Walk {
    fn of(view: &View) -> Walk {
        let steps = view.modes.iter().map(|mode| (mode.dim, at_zero(&mode.factor)));
        Walk { start: view.offsets.iter().map(at_zero).collect(), steps: steps.collect() }
    }

    /// Returns the coordinate in the tensor of a coordinate of the view.
    fn coordinate(&self, at: &[i64]) -> Vec<i64> {
        let mut out = self.start.clone();
        for ((dim, step), c) in self.steps.iter().zip(at) {
            out[*dim] += step * c;
        }
        out
    }
}

/// Returns the value of an expression with every dimension and counter taken as 0.
fn at_zero(expr: &Expr) -> i64 {
    expr.eval(&|_: &Symbol| Some(0)).unwrap_or(0)
}
