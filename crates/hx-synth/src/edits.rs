//! The changes that the solver makes to a program: rounds of copies, loads of operands, and moves of values between threads where
//! layouts cannot agree.
//!
//! The log of these edits stays in this crate. Whatever follows the solver reads the program that they lead to.

mod cut;

use std::borrow::Cow;

use hx_tile::{Base, Leaf, Op, OpId, OpKind, Stmt, Tensor, TensorId, TensorKind, TileProgram, View};

pub use cut::Chunks;
pub(crate) use cut::Cut;

/// The rounds, loads and redistributions of a solution. A solution without any leaves the program as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Edits {
    /// The copies that move in rounds.
    pub(crate) cuts: Vec<Cut>,
    /// The routes of operands in shared memory to their products. An operand without a load is read where it is.
    pub(crate) loads: Vec<Load>,
    /// Redistributions, in the program with the rounds and loads.
    pub(crate) moves: Vec<Move>,
    /// The stores whose source is moved because wider accesses take less time with the move. Layouts do not need these moves.
    pub(crate) widened: Vec<OpId>,
    /// Rearrangements that go through shared memory: the program's own and those of the moves.
    pub(crate) exchanges: Vec<OpId>,
}

/// Loads an operand of a product from shared memory into a register tensor of its own, right before the product.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Load {
    pub(crate) gemm: OpId,
    /// The operand that is loaded: 0 for A, 1 for B.
    pub(crate) operand: usize,
}

/// Gives an operation a tensor of its own in place of one of its operands. Values are moved to that tensor before the
/// operation, or from it after the operation; both if the operation updates the operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Move {
    pub(crate) at: OpId,
    /// The position in [`OpKind::registers`].
    pub(crate) operand: usize,
    /// Whether the operand is a result, which is moved after the operation.
    pub(crate) after: bool,
}

impl Move {
    /// Returns the move of an operand, given its position in [`OpKind::registers`].
    pub(crate) fn of(op: &Op, operand: usize) -> Move {
        Move { at: op.id, operand, after: operand < op.kind.results() }
    }
}

impl Edits {
    /// Returns the program with its rounds and its loads as operations: the one in which the solver decides everything else. A
    /// program that has them already stays as it is.
    pub(crate) fn loaded<'p>(&self, program: &'p TileProgram) -> Cow<'p, TileProgram> {
        if self.loads.is_empty() && self.cuts.is_empty() {
            return Cow::Borrowed(program);
        }
        let mut loaded = program.clone();
        if !self.cuts.is_empty() {
            cut::apply(&mut loaded, &self.cuts, first_op(program));
        }
        load(&mut loaded.body, &self.loads, &program.tensors);
        Cow::Owned(loaded)
    }

    /// Returns the program with its rounds, loads and redistributions as operations. Loads have the numbers that the program keeps
    /// free for them. Other new tensors and operations have numbers after those of the program: the tensors of the moves, then
    /// the shared tensor of each exchange, and the operations of the moves.
    pub(crate) fn apply<'p>(&self, program: &'p TileProgram) -> Cow<'p, TileProgram> {
        let loaded = self.loaded(program);
        if self.moves.is_empty() && self.exchanges.is_empty() {
            return loaded;
        }
        let program = &*loaded;
        let mut edited = program.clone();
        let first_op = first_op(program);
        // Each move has one operation. The operations that copy updated operands to their new tensors are numbered after
        // these.
        let mut next_op = first_op + self.moves.len() as u32;
        for (m, own) in self.moves.iter().zip(first_op..) {
            let tensor = TensorId(edited.tensors.len() as u32);
            let Some(op) = program.op(m.at) else { continue };
            let Some(operand) = op.kind.registers().get(m.operand).copied() else { continue };
            let old = program.tensor(operand);
            let kind = TensorKind::Register { pinned: None };
            let name = format!("{}_moved", old.name);
            edited.tensors.push(Tensor {
                name,
                kind,
                binder: None,
                moved_from: Some(operand),
                ..old.clone()
            });
            let moved = |id, dst, src| {
                let kind = OpKind::Rearrange { dst, src, through: None };
                Stmt::Leaf(Leaf::Op(Op { id: OpId(id), kind, scope: op.scope, origin: op.origin }))
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
            edited.tensors.push(Tensor { name, kind, binder: None, moved_from: Some(src), ..old.clone() });
            each_op(&mut edited.body, &mut |op| {
                if let (true, OpKind::Rearrange { through: slot, .. }) = (op.id == *id, &mut op.kind) {
                    *slot = Some(through);
                }
            });
        }
        Cow::Owned(edited)
    }
}

/// Returns the first number that no operation of the program has.
fn first_op(program: &TileProgram) -> u32 {
    1 + program.ops(1.0).iter().map(|(op, _)| op.id.0).max().unwrap_or(0)
}

/// Inserts loads before their products, whose operands then are the loaded tensors.
fn load(stmts: &mut Vec<Stmt>, loads: &[Load], tensors: &[Tensor]) {
    let mut at = 0;
    while let Some(stmt) = stmts.get_mut(at) {
        let mut before = Vec::new();
        match stmt {
            Stmt::Leaf(Leaf::Op(Op { id, kind: OpKind::Gemm { a, b, .. }, scope, .. })) => {
                for (operand, slot) in [a, b].into_iter().enumerate() {
                    let Some(ids) = slot.load.filter(|_| loads.contains(&Load { gemm: *id, operand })) else {
                        continue;
                    };
                    let tensor = &tensors[ids.tensor.0 as usize];
                    let dst = View::whole(Base::Register(ids.tensor), &tensor.shape);
                    let src = std::mem::replace(&mut slot.view, dst.clone());
                    slot.load = None;
                    let kind = OpKind::Copy { src, dst };
                    before.push(Stmt::Leaf(Leaf::Op(Op {
                        id: ids.op,
                        kind,
                        scope: *scope,
                        origin: tensor.origin,
                    })));
                }
            }
            Stmt::Leaf(Leaf::Op(_)) => {}
            control => control.bodies_mut().for_each(|body| load(body, loads, tensors)),
        }
        at += before.len() + 1;
        let first = at - before.len() - 1;
        stmts.splice(first..first, before);
    }
}

/// Inserts the moves before and after their operation, and gives the operation the new tensor.
fn insert(stmts: &mut Vec<Stmt>, m: &Move, tensor: TensorId, before: Option<Stmt>, after: Option<Stmt>) {
    let is_there = |stmt: &Stmt| matches!(stmt, Stmt::Leaf(Leaf::Op(op)) if op.id == m.at);
    if let Some(at) = stmts.iter().position(is_there)
        && let Stmt::Leaf(Leaf::Op(op)) = &mut stmts[at]
    {
        op.kind.replace(m.operand, tensor);
        after.into_iter().for_each(|stmt| stmts.insert(at + 1, stmt));
        before.into_iter().for_each(|stmt| stmts.insert(at, stmt));
        return;
    }
    for body in stmts.iter_mut().flat_map(Stmt::bodies_mut) {
        insert(body, m, tensor, before.clone(), after.clone());
    }
}

fn each_op(stmts: &mut [Stmt], f: &mut dyn FnMut(&mut Op)) {
    for stmt in stmts {
        match stmt {
            Stmt::Leaf(Leaf::Op(op)) => f(op),
            control => control.bodies_mut().for_each(|body| each_op(body, f)),
        }
    }
}
