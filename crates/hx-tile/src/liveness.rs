//! Finds the register tensors that a thread holds at the same time, in program order.

use std::collections::BTreeMap;

use crate::{Control, Holds, Leaf, Op, OpKind, Products, ScopeId, Stmt, SyncOp, TensorId, TileProgram};

/// Bits of a register.
const REGISTER_BITS: i64 = 32;

/// Returns the number of registers that `values` elements of a tensor take.
pub fn registers_of(program: &TileProgram, tensor: TensorId, values: i64) -> i64 {
    let bits = values.saturating_mul(i64::from(program.tensor(tensor).dtype.bits()));
    bits.saturating_add(REGISTER_BITS - 1) / REGISTER_BITS
}

/// The operations across which tensors are live: those at which a block multiplies, reduces or waits. Other operations are
/// computed value by value, so their tensors need not be in registers as a whole.
#[derive(Debug)]
pub struct LiveTensors<'p> {
    /// In program order. An operation has one entry for each scope that its own scope contains.
    pub across: Vec<LiveAcross<'p>>,
}

/// The tensors that are live across one operation.
#[derive(Debug)]
pub struct LiveAcross<'p> {
    pub op: &'p Op,
    /// The scope of the threads. They hold the tensors of this scope and of those that contain it.
    pub scope: ScopeId,
    /// The tensors that are live both before and after the operation, and its accumulator.
    pub tensors: Vec<TensorId>,
}

impl<'p> LiveTensors<'p> {
    /// Finds the tensors that are live across the operations of a program.
    pub fn of(program: &'p TileProgram) -> LiveTensors<'p> {
        let LiveRanges { ops, spans } = LiveRanges::of(program);
        let mut across = Vec::new();
        for (at, op) in ops.into_iter().enumerate() {
            let accumulator = match op.kind.description().holds {
                Holds::Nothing => continue,
                Holds::Live => None,
                Holds::LiveAnd(accumulator) => Some(accumulator),
            };
            let is_live = |(tensor, (first, last)): (&TensorId, &(usize, usize))| {
                (*first < at && at < *last || accumulator == Some(*tensor)).then_some(*tensor)
            };
            let all: Vec<TensorId> = spans.iter().filter_map(is_live).collect();
            for scope in program.scopes_within(op.scope) {
                let has = |tensor: &&TensorId| {
                    program.scope(program.tensor(**tensor).scope).contains(program.scope(scope))
                };
                across.push(LiveAcross { op, scope, tensors: all.iter().filter(has).copied().collect() });
            }
        }
        LiveTensors { across }
    }
}

/// The operations in program order, and the first and the last of them that needs each register tensor.
#[derive(Debug, Default)]
pub struct LiveRanges<'p> {
    pub ops: Vec<&'p Op>,
    /// Positions in `ops`. A tensor from before a loop that the loop uses lives to the loop's end, one past its last
    /// operation.
    pub spans: BTreeMap<TensorId, (usize, usize)>,
}

impl<'p> LiveRanges<'p> {
    /// Returns the live ranges of a program's register tensors.
    pub fn of(program: &'p TileProgram) -> LiveRanges<'p> {
        let mut ranges = LiveRanges::default();
        ranges.body(&program.body);
        ranges.products(program);
        ranges
    }

    /// Extends the live ranges of the tensors of an asynchronous product to the waits before which it may be in flight.
    fn products(&mut self, program: &'p TileProgram) {
        let products = Products::of(program);
        for (at, op) in self.ops.iter().enumerate() {
            let OpKind::Sync(SyncOp::GemmWait { .. }) = op.kind else { continue };
            for product in products.before(op).all() {
                let tensors = program.op(product).into_iter().flat_map(|op| op.kind.registers());
                for tensor in tensors {
                    self.spans.entry(tensor).and_modify(|(_, last)| *last = (*last).max(at));
                }
            }
        }
    }

    fn body(&mut self, body: &'p [Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Leaf(Leaf::Op(op)) => {
                    let at = self.ops.len();
                    self.ops.push(op);
                    for tensor in op.kind.registers() {
                        self.spans.entry(tensor).or_insert((at, at)).1 = at;
                    }
                }
                Stmt::Control(Control::For { body, .. } | Control::While { body, .. }) => self.repeated(body),
                Stmt::Control(Control::If { then, otherwise, .. }) => {
                    self.body(then);
                    self.body(otherwise);
                }
                // Roles share no register tensor, so their order does not matter.
                Stmt::Control(Control::Roles(roles)) => roles.iter().for_each(|role| self.body(&role.body)),
                Stmt::Leaf(_) => {}
            }
        }
    }

    /// Extends the live range of every tensor from before the loop that the loop uses to the end of the loop.
    fn repeated(&mut self, body: &'p [Stmt]) {
        let start = self.ops.len();
        self.body(body);
        let end = self.ops.len();
        for (first, last) in self.spans.values_mut() {
            if *first < start && *last >= start {
                *last = end;
            }
        }
    }
}
