//! Finds register tensors that an operation reads on a path on which nothing has written them.
//!
//! A tensor is a debt until operations have written all of its parts. An operand in a branch of a select is read only by
//! elements that select the branch, so it is not counted as a read. The simulator covers the rest.
//!
//! Start at [`faults`].

use std::collections::BTreeSet;

use hx_dtype::Operator;
use hx_index::Cond;
use hx_target::Mode;
use hx_tile::{Control, Leaf, Op, OpId, OpKind, Region, Scalar, Stmt, TensorId, TileProgram, View};

use crate::paths::{Debt, Debts, Follow, Here, follow};

/// A read of a register tensor that nothing has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub tensor: TensorId,
    pub op: OpId,
    /// Some elements of the tensor are written.
    pub partly: bool,
    /// The condition of a branch or loop on which the path depends, and whether it holds there; `None` if the path depends on
    /// none.
    pub under: Option<(Cond, bool)>,
}

/// Returns the reads of register tensors that nothing has written on some path, the first of each tensor. `poll` is called now
/// and then, and may unwind.
pub fn faults(program: &TileProgram, poll: &dyn Fn()) -> Vec<Fault> {
    let mut suspects = Suspects { program, written: BTreeSet::new(), found: BTreeSet::new() };
    suspects.body(&program.body);
    if suspects.found.is_empty() {
        return Vec::new();
    }
    let debt = |tensor: TensorId| {
        let whole = program.tensor(tensor).shape.iter().map(|extent| (0, *extent)).collect();
        Debt::new(Unwritten { tensor, parts: vec![whole], touched: false, partly: false }, 0)
    };
    let debts = suspects.found.iter().copied().map(debt).collect();
    let mut reads = Reads { faults: Vec::new() };
    follow(program, debts, &mut reads, poll);
    reads.faults
}

/// Finds the tensors that may be read before they are written, by a look at each statement.
struct Suspects<'p> {
    program: &'p TileProgram,
    /// The tensors that every path to here has written as a whole.
    written: BTreeSet<TensorId>,
    found: BTreeSet<TensorId>,
}

impl Suspects<'_> {
    fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Leaf(Leaf::Op(op)) => self.op(op),
                Stmt::Control(Control::If { then, otherwise, .. }) => {
                    let before = self.written.clone();
                    self.body(then);
                    let after = std::mem::replace(&mut self.written, before);
                    self.body(otherwise);
                    self.written.retain(|tensor| after.contains(tensor));
                }
                Stmt::Control(Control::For { body, .. } | Control::While { body, .. }) => {
                    let before = self.written.clone();
                    self.body(body);
                    self.written = before;
                }
                Stmt::Control(Control::Roles(roles)) => {
                    for role in roles {
                        let before = self.written.clone();
                        self.body(&role.body);
                        self.written = before;
                    }
                }
                Stmt::Leaf(_) => {}
            }
        }
    }

    fn op(&mut self, op: &Op) {
        let is_source = |tensor: TensorId| self.program.tensor(tensor).is_register();
        for touch in touches(&op.kind) {
            let (Touch::Read(tensor, _) | Touch::Part(tensor, _)) = touch else { continue };
            if is_source(tensor) && !self.written.contains(&tensor) {
                self.found.insert(tensor);
            }
        }
        self.written.extend(touches(&op.kind).into_iter().filter_map(|touch| match touch {
            Touch::Write(tensor) => Some(tensor),
            Touch::Read(..) | Touch::Part(..) => None,
        }));
    }
}

/// An access of an operation to a register tensor. Reads come before writes.
enum Touch<'a> {
    /// Reads what the view shows, or everything.
    Read(TensorId, Option<&'a View>),
    /// Writes what the view shows, and leaves the rest.
    Part(TensorId, &'a View),
    Write(TensorId),
}

fn touches(kind: &OpKind) -> Vec<Touch<'_>> {
    if let OpKind::Insert { dst, src } = kind {
        let part = dst.register().map(|tensor| Touch::Part(tensor, dst));
        return std::iter::once(Touch::Read(*src, None)).chain(part).collect();
    }
    let effects = kind.description();
    let mut reads = Vec::new();
    let mut writes = Vec::new();
    for access in &effects.accesses {
        let Some(tensor) = access.register() else { continue };
        let view = match access.region {
            Region::View(view) => Some(view),
            Region::Whole(_) | Region::Table(_) => None,
        };
        if access.mode != Mode::Write && is_certain(kind, tensor) {
            reads.push(Touch::Read(tensor, view));
        }
        if access.mode != Mode::Read {
            writes.push(Touch::Write(tensor));
        }
    }
    reads.extend(writes);
    reads
}

/// Reports whether an operation certainly reads each element of a tensor that it names.
fn is_certain(kind: &OpKind, tensor: TensorId) -> bool {
    let OpKind::Map(map) = kind else { return true };
    let mut inputs = (0u32..).zip(&map.inputs).filter(|(_, input)| **input == tensor);
    inputs.any(|(index, _)| needs(&map.value, index))
}

/// Reports whether an expression needs an input in every element: outside of the branches of choices.
fn needs(value: &Scalar, input: u32) -> bool {
    match value {
        Scalar::Input { index, .. } => *index == input,
        Scalar::Apply { operator: Operator::Select, args, .. } => {
            args.first().is_some_and(|condition| needs(condition, input))
                || args.len() == 3 && args[1..].iter().all(|branch| needs(branch, input))
        }
        Scalar::Apply { args, .. } => args.iter().any(|arg| needs(arg, input)),
        // The hardware reads every operand, even one that the meaning does not need.
        Scalar::Inlined(inlined) => inlined.args.iter().any(|arg| needs(arg, input)),
        Scalar::Cast { arg, .. } | Scalar::Bitcast { arg, .. } => needs(arg, input),
        Scalar::Index { .. }
        | Scalar::Integer { .. }
        | Scalar::Var { .. }
        | Scalar::Param { .. }
        | Scalar::Const { .. } => false,
    }
}

/// In each dimension the first coordinate, and one past the last.
type Range = Vec<(i64, i64)>;

/// A tensor with elements that nothing has written.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Unwritten {
    tensor: TensorId,
    /// These elements, in disjoint parts.
    parts: Vec<Range>,
    /// Whether an operation has named the tensor. Before that, every path leads here.
    touched: bool,
    /// Whether some elements of the tensor are written.
    partly: bool,
}

struct Reads {
    faults: Vec<Fault>,
}

impl Follow for Reads {
    type Key = Unwritten;
    const WATCHES: bool = false;

    fn op(&mut self, op: &Op, debts: &mut Debts<Unwritten>, here: &Here<'_>) {
        for touch in touches(&op.kind) {
            let (Touch::Read(tensor, _) | Touch::Part(tensor, _) | Touch::Write(tensor)) = touch;
            if !debts.iter().any(|debt| debt.key.tensor == tensor) {
                continue;
            }
            touched(tensor, debts, here);
            match touch {
                Touch::Read(_, view) => {
                    debts.iter().for_each(|debt| self.read(op, (tensor, view), debt, here));
                }
                Touch::Part(_, view) => {
                    let part = range(view, here);
                    for debt in debts.iter_mut().filter(|debt| debt.key.tensor == tensor) {
                        debt.key.partly = true;
                        debt.key.parts = match &part {
                            Some(part) => debt.key.parts.iter().flat_map(|own| without(own, part)).collect(),
                            None => Vec::new(),
                        };
                    }
                    debts.retain(|debt| !debt.key.parts.is_empty());
                }
                Touch::Write(_) => debts.retain(|debt| debt.key.tensor != tensor),
            }
        }
    }
}

impl Reads {
    fn read(
        &mut self,
        op: &Op,
        (tensor, view): (TensorId, Option<&View>),
        debt: &Debt<Unwritten>,
        here: &Here<'_>,
    ) {
        let told = self.faults.iter().any(|fault| fault.tensor == tensor);
        if debt.key.tensor != tensor || told || !here.is_certain(debt) {
            return;
        }
        if let Some(view) = view {
            // Elements that are picked at run time have no range to compare: report nothing.
            let Some(part) = range(view, here) else { return };
            if !debt.key.parts.iter().any(|own| meet(own, &part)) {
                return;
            }
        }
        let (partly, under) = (debt.key.partly, here.condition(debt));
        self.faults.push(Fault { tensor, op: op.id, partly, under });
    }
}

/// Begins the paths of a tensor at the first operation that names it.
fn touched(tensor: TensorId, debts: &mut Debts<Unwritten>, here: &Here<'_>) {
    if !debts.iter().any(|debt| debt.key.tensor == tensor && !debt.key.touched) {
        return;
    }
    let first = debts.iter().find(|debt| debt.key.tensor == tensor).map(|debt| debt.key.clone());
    debts.retain(|debt| debt.key.tensor != tensor);
    debts.extend(first.map(|key| Debt::new(Unwritten { touched: true, ..key }, here.depth())));
    debts.sort();
}

/// Returns the elements that a view of a register tensor shows, if they are a range of known coordinates; otherwise `None`.
fn range(view: &View, here: &Here<'_>) -> Option<Range> {
    let of = |(dim, offset)| {
        let first = here.value(offset).as_const()?;
        Some((first, first + view.length(dim)?))
    };
    view.picked.is_none().then(|| view.offsets.iter().enumerate().map(of).collect())?
}

fn meet(a: &Range, b: &Range) -> bool {
    a.iter().zip(b).all(|(a, b)| a.0 < b.1 && b.0 < a.1)
}

/// Returns a range without the elements of another, in disjoint parts.
fn without(range: &Range, other: &Range) -> Vec<Range> {
    if !meet(range, other) {
        return vec![range.clone()];
    }
    let (mut out, mut rest) = (Vec::new(), range.clone());
    for (dim, (from, to)) in other.iter().enumerate() {
        let (first, last) = rest[dim];
        for (low, high) in [(first, *from), (*to, last)] {
            if low < high {
                let mut part = rest.clone();
                part[dim] = (low, high);
                out.push(part);
            }
        }
        rest[dim] = (first.max(*from), last.min(*to));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_range_covers_the_rest_once() {
        let whole = vec![(0, 6), (0, 5)];
        for other in [vec![(0, 6), (0, 5)], vec![(2, 4), (1, 9)], vec![(5, 6), (0, 1)], vec![(6, 7), (0, 5)]]
        {
            let left = without(&whole, &other);
            for (x, y) in (0..6).flat_map(|x| (0..5).map(move |y| (x, y))) {
                let at = vec![(x, x + 1), (y, y + 1)];
                let times = left.iter().filter(|part| meet(part, &at)).count();
                assert_eq!(times, usize::from(!meet(&other, &at)), "{other:?} {x} {y}");
            }
        }
    }
}
