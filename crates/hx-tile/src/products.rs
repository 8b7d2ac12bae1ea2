//! The asynchronous products that may be in flight at each operation.
//!
//! The threads of a scope complete their products in the order of issue. A [`Queue`] therefore lists products by age: entry
//! `i` has the products after which `i` others may have been issued. Where two paths of the program meet, the entries of the
//! same age are united.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Base, Control, Leaf, Op, OpId, OpKind, ScopeId, Stmt, SyncOp, TensorId, TileProgram};

/// The number of ages that are distinguished. Older products share the last entry.
const AGES: usize = 16;

/// The products of one scope that may be in flight, newest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Queue(Vec<BTreeSet<OpId>>);

/// The products that may be in flight before each operation, by scope.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Products {
    before: BTreeMap<OpId, Queues>,
}

type Queues = BTreeMap<ScopeId, Queue>;

/// An operation that accesses a register tensor of a product in flight.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Touched {
    pub product: OpId,
    pub op: OpId,
    pub tensor: TensorId,
    /// Whether the tensor is the product's accumulator. Otherwise it is an operand, and the operation writes it.
    pub accumulator: bool,
}

impl Queue {
    /// Returns all products.
    pub fn all(&self) -> BTreeSet<OpId> {
        self.0.iter().flatten().copied().collect()
    }

    fn issue(&mut self, product: OpId) {
        self.0.insert(0, [product].into());
        while self.0.len() > AGES {
            let oldest = self.0.pop().unwrap_or_default();
            self.0.last_mut().into_iter().for_each(|last| last.extend(&oldest));
        }
    }

    fn join(&mut self, other: &Queue) {
        self.0.resize(self.0.len().max(other.0.len()), BTreeSet::new());
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| mine.extend(theirs));
    }
}

impl Products {
    /// Returns the products in flight before every operation of the program.
    pub fn of(program: &TileProgram) -> Products {
        let mut products = Products::default();
        products.body(&program.body, &mut Queues::new());
        products
    }

    /// Returns the products of an operation's scope that may be in flight before it.
    pub fn before(&self, op: &Op) -> Queue {
        self.before.get(&op.id).and_then(|queues| queues.get(&op.scope)).cloned().unwrap_or_default()
    }

    /// Returns the tensors that other operations may use after a wait for all but the newest `leave` products of `queue`, the products in
    /// flight before the wait: the tensors of the complete products, without those that a product still in flight also uses.
    pub fn freed(program: &TileProgram, queue: &Queue, leave: u32) -> BTreeSet<TensorId> {
        let leave = (leave as usize).min(queue.0.len());
        let tensors = |of: &[BTreeSet<OpId>]| -> BTreeSet<TensorId> {
            let ops = of.iter().flatten().filter_map(|op| program.op(*op));
            ops.flat_map(|op| op.kind.registers()).collect()
        };
        let (running, done) = queue.0.split_at(leave);
        &tensors(done) - &tensors(running)
    }

    /// Returns every access to a register tensor of a product in flight that the product forbids, in the order of the
    /// program.
    pub fn touched(&self, program: &TileProgram) -> Vec<Touched> {
        let mut out = Vec::new();
        for (op, _) in program.ops(1.0) {
            let Some(queues) = self.before.get(&op.id) else { continue };
            for product in queues.values().flat_map(Queue::all) {
                let Some(OpKind::Gemm { c, a, b, .. }) = program.op(product).map(|op| &op.kind) else {
                    continue;
                };
                let touch = |tensor, accumulator| Touched { product, op: op.id, tensor, accumulator };
                if op.kind.registers().contains(c) && !continues(&op.kind, *c) {
                    out.push(touch(*c, true));
                }
                let operands = [a, b].into_iter().filter_map(|operand| operand.view.register());
                let written = operands.filter(|operand| op.kind.writes(*operand));
                out.extend(written.map(|operand| touch(operand, false)));
            }
        }
        out.dedup();
        out
    }

    fn body(&mut self, body: &[Stmt], state: &mut Queues) {
        for stmt in body {
            match stmt {
                Stmt::Leaf(Leaf::Op(op)) => self.op(op, state),
                Stmt::Control(Control::For { body, .. } | Control::While { body, .. }) => loop {
                    let mut after = state.clone();
                    self.body(body, &mut after);
                    join(&mut after, state);
                    if after == *state {
                        break;
                    }
                    *state = after;
                },
                Stmt::Control(Control::If { then, otherwise, .. }) => {
                    let mut other = state.clone();
                    self.body(then, state);
                    self.body(otherwise, &mut other);
                    join(state, &other);
                }
                // The roles are the last statement of a program, so no statement needs the joined state.
                Stmt::Control(Control::Roles(roles)) => {
                    roles.iter().for_each(|role| self.body(&role.body, &mut state.clone()))
                }
                Stmt::Leaf(_) => {}
            }
        }
    }

    fn op(&mut self, op: &Op, state: &mut Queues) {
        if !state.is_empty() {
            join(self.before.entry(op.id).or_default(), state);
        }
        if let OpKind::Gemm { asynchronous: true, .. } = op.kind {
            state.entry(op.scope).or_default().issue(op.id);
        } else if let OpKind::Sync(SyncOp::GemmWait { leave }) = op.kind
            && let Some(queue) = state.get_mut(&op.scope)
        {
            queue.0.truncate(leave as usize);
            state.retain(|_, queue| !queue.0.is_empty());
        }
    }
}

fn join(mine: &mut Queues, theirs: &Queues) {
    theirs.iter().for_each(|(scope, queue)| mine.entry(*scope).or_default().join(queue));
}

/// Reports whether an operation is an asynchronous product into `c` that reads `c` for nothing else.
fn continues(kind: &OpKind, c: TensorId) -> bool {
    let OpKind::Gemm { c: own, a, b, asynchronous: true, .. } = kind else { return false };
    *own == c && [a, b].iter().all(|operand| operand.view.base != Base::Register(c))
}
