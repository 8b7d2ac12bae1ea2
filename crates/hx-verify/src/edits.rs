//! Checks that a solved program is its source with loads and moves, and nothing else: a load fills the register tensor that the
//! source reserves for an operand, and a move gives an operation a tensor of its own, with the values of the one in the source. The
//! copies of the source are in the rounds of the solved program: see [`rounds`](crate::rounds).

use std::collections::BTreeSet;

use hx_tile::{Leaf, Op, OpId, OpKind, Operand, Stmt, TensorId, TensorKind, TileProgram, View};

use crate::Checked;

/// An operation that the solver may add beside one of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Added {
    Load { op: OpId, src: View, dst: TensorId },
    Move { dst: TensorId, src: TensorId },
}

struct Compare<'p> {
    source: &'p TileProgram,
    solved: &'p TileProgram,
    /// The operations of the source.
    own: BTreeSet<OpId>,
}

/// Checks that `solved` differs from `source` in loads and moves only.
pub(crate) fn only_add(source: &TileProgram, solved: &TileProgram) -> Checked {
    let frame = |of: &TileProgram| TileProgram { tensors: Vec::new(), body: Vec::new(), ..of.clone() };
    if frame(source) != frame(solved) {
        return Err("the solved program differs from its source outside of its body".into());
    }
    if !solved.tensors.starts_with(&source.tensors) {
        return Err("the solved program lacks or changes a tensor of its source".into());
    }
    for tensor in &solved.tensors[source.tensors.len()..] {
        let of = tensor.moved_from.and_then(|of| solved.tensors.get(of.0 as usize));
        let is_free = matches!(
            tensor.kind,
            TensorKind::Register { pinned: None } | TensorKind::Shared { pinned: None }
        );
        let alike = of
            .is_some_and(|of| (tensor.dtype, &tensor.shape, tensor.scope) == (of.dtype, &of.shape, of.scope));
        if !is_free || !alike {
            return Err(format!("the added tensor `{}` cannot hold values of another one", tensor.name));
        }
    }
    let ids: Vec<OpId> = solved.ops(1.0).iter().map(|(op, _)| op.id).collect();
    if ids.iter().collect::<BTreeSet<_>>().len() < ids.len() {
        return Err("several operations of the solved program have one number".into());
    }
    let own = source.ops(1.0).iter().map(|(op, _)| op.id).collect();
    Compare { source, solved, own }.bodies(&source.body, &solved.body)
}

impl Compare<'_> {
    fn bodies(&self, source: &[Stmt], solved: &[Stmt]) -> Checked {
        let mut rest = solved.iter();
        // What has to follow the last operation of the source.
        let mut after = Vec::new();
        for stmt in source {
            let mut added = Vec::new();
            let other = loop {
                match rest.next() {
                    Some(Stmt::Leaf(Leaf::Op(op))) if !self.own.contains(&op.id) => added.push(op),
                    Some(other) => break other,
                    None => return Err("the solved program lacks a statement of its source".into()),
                }
            };
            let [before, next] = match (stmt, other) {
                (Stmt::Leaf(Leaf::Op(op)), Stmt::Leaf(Leaf::Op(other))) => self.operation(op, other)?,
                (stmt, other) => {
                    self.control(stmt, other)?;
                    [Vec::new(), Vec::new()]
                }
            };
            self.between(&added, &after, &before)?;
            after = next;
        }
        let added = rest.map(|stmt| {
            let op = if let Stmt::Leaf(Leaf::Op(op)) = stmt { Some(op) } else { None };
            let op = op.filter(|op| !self.own.contains(&op.id));
            op.ok_or("the solved program repeats a statement of its source")
        });
        self.between(&added.collect::<Result<Vec<&Op>, _>>()?, &after, &[])
    }

    fn control(&self, stmt: &Stmt, other: &Stmt) -> Checked {
        let without_bodies = |stmt: &Stmt| {
            let mut stmt = stmt.clone();
            stmt.bodies_mut().for_each(Vec::clear);
            stmt
        };
        if without_bodies(stmt) != without_bodies(other) {
            return Err("the solved program has another statement than its source".into());
        }
        stmt.bodies().zip(other.bodies()).try_for_each(|(body, other)| self.bodies(body, other))
    }

    /// Returns the operations that have to precede an operation of the solved program, and those that have to follow it, so that it
    /// does what the operation of the source does.
    fn operation(&self, op: &Op, other: &Op) -> Result<[Vec<Added>; 2], String> {
        let (mut kind, mut before, mut after) = (other.kind.clone(), Vec::new(), Vec::new());
        for (operand, dst) in other.kind.registers().into_iter().enumerate() {
            let Some(src) = self.added(dst) else { continue };
            kind.replace(operand, src);
            if operand < other.kind.results() {
                after.push(Added::Move { dst: src, src: dst });
            }
            let into = Added::Move { dst, src };
            let is_read = operand >= other.kind.results() || other.kind.updates(operand);
            if is_read && !before.contains(&into) {
                before.push(into);
            }
        }
        if let (OpKind::Gemm { a, b, .. }, OpKind::Gemm { a: other_a, b: other_b, .. }) =
            (&op.kind, &mut kind)
        {
            let loads = [self.load(a, other_a), self.load(b, other_b)];
            before.splice(0..0, loads.into_iter().flatten());
        }
        // The shared memory of an exchange holds the values on their way, and changes none.
        if let OpKind::Rearrange { through, .. } = &mut kind
            && through.is_some_and(|through| self.added(through).is_some())
        {
            *through = None;
        }
        if (Op { kind, ..other.clone() }) != *op {
            return Err(format!("operation #{} is not the one of the source", op.id.0));
        }
        Ok([before, after])
    }

    /// Returns the tensor of which an added tensor holds the values; `None` for a tensor of the source.
    fn added(&self, tensor: TensorId) -> Option<TensorId> {
        let is_added = tensor.0 as usize >= self.source.tensors.len();
        self.solved.tensor(tensor).moved_from.filter(|_| is_added)
    }

    /// Returns the load of an operand that the source leaves in shared memory and that the solved program reads from the reserved
    /// register tensor. Makes the operand that of the source.
    fn load(&self, operand: &Operand, other: &mut Operand) -> Option<Added> {
        let ids = operand.load?;
        let tensor = self.source.tensors.get(ids.tensor.0 as usize)?;
        if *other != Operand::register(ids.tensor, &tensor.shape) {
            return None;
        }
        *other = operand.clone();
        Some(Added::Load { op: ids.op, src: operand.view.clone(), dst: ids.tensor })
    }

    /// Checks that exactly these operations were added between two of the source: those that follow the first, in any order, then
    /// those that precede the second.
    fn between(&self, added: &[&Op], after: &[Added], before: &[Added]) -> Checked {
        let found = added.iter().map(|op| {
            self.kind_of(op).ok_or_else(|| format!("the added operation #{} is no load and no move", op.id.0))
        });
        let found: Vec<Added> = found.collect::<Result<_, String>>()?;
        let same = |found: &[Added], wanted: &[Added]| {
            found.len() == wanted.len() && wanted.iter().all(|one| found.contains(one))
        };
        let split = after.len().min(found.len());
        if !same(&found[..split], after) || !same(&found[split..], before) {
            return Err("the solved program adds other loads and moves than its operations need".into());
        }
        // A loaded operand is moved after it was loaded.
        let loaded = |tensor: &TensorId| {
            found.iter().position(|one| matches!(one, Added::Load { dst, .. } if dst == tensor))
        };
        let too_early = found.iter().enumerate().any(|(at, one)| match one {
            Added::Move { src, .. } => loaded(src).is_some_and(|load| load > at),
            Added::Load { .. } => false,
        });
        if too_early { Err("an operand is moved before it is loaded".into()) } else { Ok(()) }
    }

    fn kind_of(&self, op: &Op) -> Option<Added> {
        if let OpKind::Rearrange { dst, src, .. } = op.kind {
            return Some(Added::Move { dst, src });
        }
        let OpKind::Copy { src, dst } = &op.kind else { return None };
        let tensor = dst.register()?;
        let is_whole = *dst == View::whole(dst.base, &self.solved.tensor(tensor).shape);
        is_whole.then(|| Added::Load { op: op.id, src: src.clone(), dst: tensor })
    }
}
