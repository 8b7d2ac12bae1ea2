//! What a solution adds to a program: values that change hands where layouts cannot agree.

use std::borrow::Cow;

use crate::{Op, OpId, OpKind, Solution, Stmt, Tensor, TensorId, TensorKind, TileProgram};

/// The redistributions of a solution. A program with none is left as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Edits {
    pub moves: Vec<Move>,
    /// Rearrangements, the program's own and those of the moves, that go through shared memory.
    pub exchanges: Vec<OpId>,
}

/// An operation works on a tensor of its own instead of one of its operands: values are moved to it before, or from it after; both
/// where the operation updates it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Move {
    pub at: OpId,
    /// Position in [`OpKind::registers`].
    pub operand: usize,
    /// The operand is a result: it is moved after the operation.
    pub after: bool,
}

impl Move {
    /// The move of an operand, by its position in [`OpKind::registers`].
    pub fn of(op: &Op, operand: usize) -> Move {
        Move { at: op.id, operand, after: operand < op.kind.results() }
    }
}

impl Edits {
    /// Which of the moves an operation of the edited program is.
    pub fn number_of(&self, program: &TileProgram, op: OpId) -> Option<usize> {
        let number = op.0.checked_sub(first_op(program))? as usize;
        (number < self.moves.len()).then_some(number)
    }

    /// The program with its redistributions as operations. New tensors and operations are numbered after those of the program: the
    /// tensor of each move, then the shared tensor of each exchange; the operations of each move.
    pub fn apply<'p>(&self, program: &'p TileProgram) -> Cow<'p, TileProgram> {
        if self.moves.is_empty() && self.exchanges.is_empty() {
            return Cow::Borrowed(program);
        }
        let mut edited = program.clone();
        let first_op = first_op(program);
        // One operation for each move, then those that bring what is updated.
        let mut next_op = first_op + self.moves.len() as u32;
        for (m, own) in self.moves.iter().zip(first_op..) {
            let tensor = TensorId(edited.tensors.len() as u32);
            let Some(op) = program.op(m.at) else { continue };
            let Some(operand) = op.kind.registers().get(m.operand).copied() else { continue };
            let old = program.tensor(operand);
            let kind = TensorKind::Register { pinned: None };
            edited.tensors.push(Tensor { name: format!("{}_moved", old.name), kind, ..old.clone() });
            let moved = |id, dst, src| {
                let kind = OpKind::Rearrange { dst, src, through: None };
                Stmt::Op(Op { id: OpId(id), kind, origin: op.origin })
            };
            let (mut before, mut after) = (None, None);
            if m.after {
                after = Some(moved(own, operand, tensor));
                if op.kind.updates(m.operand) {
                    before = Some(moved(next_op, tensor, operand));
                    next_op += 1;
                }
            } else {
                before = Some(moved(own, tensor, operand));
            }
            insert(&mut edited.body, m, tensor, before, after);
        }
        for id in &self.exchanges {
            let through = TensorId(edited.tensors.len() as u32);
            let Some(OpKind::Rearrange { src, .. }) = edited.op(*id).map(|op| op.kind.clone()) else {
                continue;
            };
            let old = edited.tensor(src);
            let kind = TensorKind::Shared { pinned: None };
            let name = format!("{}_exchange", old.name);
            let tensor = Tensor { name, kind, ..old.clone() };
            edited.tensors.push(tensor);
            each_op(&mut edited.body, &mut |op| {
                if let (true, OpKind::Rearrange { through: slot, .. }) = (op.id == *id, &mut op.kind) {
                    *slot = Some(through);
                }
            });
        }
        Cow::Owned(edited)
    }
}

impl Solution {
    /// The program that the solution is for: with its redistributions as operations.
    pub fn program<'p>(&self, program: &'p TileProgram) -> Cow<'p, TileProgram> {
        self.edits.apply(program)
    }
}

/// The number of the first operation that is not the program's.
fn first_op(program: &TileProgram) -> u32 {
    1 + program.ops(1.0).iter().map(|(op, _)| op.id.0).max().unwrap_or(0)
}

/// Puts the moves beside their operation, which takes the new tensor.
fn insert(stmts: &mut Vec<Stmt>, m: &Move, tensor: TensorId, before: Option<Stmt>, after: Option<Stmt>) {
    let is_there = |stmt: &Stmt| matches!(stmt, Stmt::Op(op) if op.id == m.at);
    if let Some(at) = stmts.iter().position(is_there)
        && let Stmt::Op(op) = &mut stmts[at]
    {
        op.kind.replace(m.operand, tensor);
        after.into_iter().for_each(|stmt| stmts.insert(at + 1, stmt));
        before.into_iter().for_each(|stmt| stmts.insert(at, stmt));
        return;
    }
    for stmt in stmts {
        match stmt {
            Stmt::For { body, .. } | Stmt::While { body, .. } => {
                insert(body, m, tensor, before.clone(), after.clone());
            }
            Stmt::If { then, otherwise, .. } => {
                insert(then, m, tensor, before.clone(), after.clone());
                insert(otherwise, m, tensor, before.clone(), after.clone());
            }
            _ => {}
        }
    }
}

fn each_op(stmts: &mut [Stmt], f: &mut dyn FnMut(&mut Op)) {
    for stmt in stmts {
        match stmt {
            Stmt::Op(op) => f(op),
            Stmt::For { body, .. } | Stmt::While { body, .. } => each_op(body, f),
            Stmt::If { then, otherwise, .. } => {
                each_op(then, f);
                each_op(otherwise, f);
            }
            Stmt::Let { .. }
            | Stmt::Assign { .. }
            | Stmt::LoadScalar { .. }
            | Stmt::LetNumber { .. }
            | Stmt::AssignNumber { .. } => {}
        }
    }
}
