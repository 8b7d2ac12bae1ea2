//! A ring that groups of asynchronous copies fill, with `commit` and `wait`. Each round waits for its own tiles, meets the other threads, and
//! starts the copies of `n - 1` rounds later, whose stage was read in the round before.

use hx_index::{CmpOp, Cond, Expr};
use hx_tile::{Control, Leaf, Op, OpKind, Stmt, SyncOp};

use super::ring::{Ahead, Ring, with_counter};
use crate::lowering::Lowering;

impl Lowering<'_> {
    /// Changes the body of a loop, and returns the statements before and behind it.
    pub(super) fn ring_of_groups(&mut self, body: &mut Vec<Stmt>, ring: &Ring<'_>) -> (Vec<Stmt>, Vec<Stmt>) {
        let (start, _) = &ring.range;
        let (counter, last) = (Expr::symbol(ring.pipelined.counter.clone()), ring.pipelined.stages - 1);
        let mut before = if ring.again { vec![self.order(ring, SyncOp::Scope)] } else { Vec::new() };
        for stage in 0..last {
            before.extend(self.filled(ring, &(start.clone() + Expr::constant(stage))));
            before.push(self.order(ring, SyncOp::Commit));
        }
        let left = u32::try_from(last - 1).unwrap_or_default();
        let mut round =
            vec![self.order(ring, SyncOp::Wait { groups: left }), self.order(ring, SyncOp::Scope)];
        round.extend(self.filled(ring, &(counter.clone() + Expr::constant(last))));
        round.push(self.order(ring, SyncOp::Commit));
        let stage = self.stage_of(ring, &counter);
        self.take_from_rings(body, ring, &stage);
        round.append(body);
        *body = round;
        (before, vec![self.order(ring, SyncOp::Wait { groups: 0 }), self.order(ring, SyncOp::Scope)])
    }

    /// Makes an operation of the loop that orders others.
    pub(super) fn order(&mut self, ring: &Ring<'_>, op: SyncOp) -> Stmt {
        let (scope, origin) = ring.at;
        Stmt::Leaf(Leaf::Op(Op { id: self.output.next_op(), kind: OpKind::Sync(op), scope, origin }))
    }

    fn stage_of(&self, ring: &Ring<'_>, round: &Expr) -> Expr {
        let number = round.clone() - ring.range.0.clone();
        number.rem(&Expr::constant(ring.pipelined.stages), &self.facts)
    }

    /// Returns the copies of the tiles of a round into their stage. A round that the loop may not have reads nothing.
    fn filled(&mut self, ring: &Ring<'_>, round: &Expr) -> Vec<Stmt> {
        let (counter, end) = (&ring.pipelined.counter, &ring.range.1);
        let stage = self.stage_of(ring, round);
        let mut copies = Vec::new();
        let mut is_empty_behind = true;
        for Ahead { load, ring: buffer } in ring.ahead {
            let src =
                with_counter(&load.src, &|symbol| (symbol == counter).then(|| round.clone()), &self.facts);
            let dst = self.staged_tile(*buffer, Some(stage.clone()));
            match self.narrow(&src) {
                None => copies
                    .push(self.op_of(load, OpKind::CopyAsync { src, dst, signal: None, multicast: None })),
                Some(reason) => {
                    self.notes.add_passed(load.origin, reason);
                    copies.extend(self.through_registers(load, src, dst));
                }
            }
            is_empty_behind &= self.ends_with_tensor(load, ring.pipelined, end);
        }
        match Cond::cmp(CmpOp::Lt, round.clone(), end.clone(), &self.facts) {
            Cond::False => Vec::new(),
            cond if cond != Cond::True && !is_empty_behind => {
                vec![Stmt::Control(Control::If { cond, then: copies, otherwise: Vec::new() })]
            }
            _ => copies,
        }
    }
}
