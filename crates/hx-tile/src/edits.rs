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

/// An operation works on a tensor of its own instead of one of its operands: values are moved to it before, or from it after.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Move {
    pub at: OpId,
    /// Position in [`OpKind::registers`].
    pub operand: usize,
    /// The operand is the result: it is moved after the operation.
    pub after: bool,
}

impl Edits {
    /// Which of the moves an operation of the edited program is.
    pub fn number_of(&self, program: &TileProgram, op: OpId) -> Option<usize> {
        let number = op.0.checked_sub(first_op(program))? as usize;
        (number < self.moves.len()).then_some(number)
    }

    /// The program with its redistributions as operations. New tensors and operations are numbered after those of the program: the
    /// tensor of each move, then the shared tensor of each exchange; the operation of each move.
    pub fn apply<'p>(&self, program: &'p TileProgram) -> Cow<'p, TileProgram> {
        if self.moves.is_empty() && self.exchanges.is_empty() {
            return Cow::Borrowed(program);
        }
        let mut edited = program.clone();
        let first_op = first_op(program);
        for (i, m) in self.moves.iter().enumerate() {
            let tensor = TensorId(edited.tensors.len() as u32);
            let Some(operand) = program.op(m.at).and_then(|op| op.kind.registers().get(m.operand).copied())
            else {
                continue;
            };
            let old = program.tensor(operand);
            let kind = TensorKind::Register { pinned: None };
            edited.tensors.push(Tensor { name: format!("{}_moved", old.name), kind, ..old.clone() });
            let id = OpId(first_op + i as u32);
            let (dst, src) = if m.after { (operand, tensor) } else { (tensor, operand) };
            let moved = OpKind::Rearrange { dst, src, through: None };
            insert(&mut edited.body, m, tensor, &|origin| Op { id, kind: moved.clone(), origin });
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

/// Puts the move beside its operation, which takes the new tensor.
fn insert(stmts: &mut Vec<Stmt>, m: &Move, tensor: TensorId, made: &dyn Fn(crate::Origin) -> Op) {
    let found = stmts.iter_mut().position(|stmt| match stmt {
        Stmt::Op(op) => op.id == m.at,
        _ => false,
    });
    if let Some(at) = found
        && let Stmt::Op(op) = &mut stmts[at]
    {
        op.kind.replace(m.operand, tensor);
        let moved = Stmt::Op(made(op.origin));
        stmts.insert(at + usize::from(m.after), moved);
        return;
    }
    for stmt in stmts {
        match stmt {
            Stmt::For { body, .. } | Stmt::While { body, .. } => insert(body, m, tensor, made),
            Stmt::If { then, otherwise, .. } => {
                insert(then, m, tensor, made);
                insert(otherwise, m, tensor, made);
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
