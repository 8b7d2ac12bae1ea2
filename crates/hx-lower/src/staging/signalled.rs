//! A ring whose stages the copies signal: a pipeline that all threads of the block fill and read. A round waits for its stage, and the stage
//! that the round before has read is filled for `n - 1` rounds later.
//!
//! Products may stay in flight from one round into the next: the matrix units then work while the threads refill the ring.

use std::collections::BTreeSet;

use hx_index::{CmpOp, Cond, Expr, Symbol};
use hx_tile::{Control, Leaf, OpKind, Pipe, PipeId, Rounds, Stmt, SyncOp, TensorId};

use super::loads::each_stmt;
use super::ring::{Ahead, Ring, with_counter};
use crate::forms::Rings;
use crate::lowering::Lowering;

impl Lowering<'_> {
    /// Changes the body of a loop, and returns the statements before and behind it.
    pub(super) fn signalled_ring(&mut self, body: &mut Vec<Stmt>, ring: &Ring<'_>) -> (Vec<Stmt>, Vec<Stmt>) {
        let ((start, end), last) = (&ring.range, ring.pipelined.stages - 1);
        let pipe = Pipe {
            name: self.output.unique_name("ring"),
            stages: u32::try_from(ring.pipelined.stages).unwrap_or(1),
            readers: None,
            is_drained: true,
            origin: ring.pipelined.origin,
        };
        let pipe = self.output.add_pipe(pipe);
        let rounds = end.clone() - start.clone();
        let first = rounds.minimum(&Expr::constant(last), &self.facts);
        let ahead = self.output.new_var("ahead".into());
        self.facts.at_least(ahead.clone(), 0);
        self.facts.at_most(ahead.clone(), first.clone() - Expr::constant(1));
        let filled = self.signalled(ring, pipe, &(start.clone() + Expr::symbol(ahead.clone())));
        let rounds = Rounds::range(Expr::default(), first);
        let before = vec![Stmt::Control(Control::For { var: ahead, rounds, body: filled })];

        let stage = self.stage_symbol(ring);
        let mut round = vec![self.order(ring, SyncOp::WaitStage { pipe, var: stage.clone() })];
        self.take_from_rings(body, ring, &Expr::symbol(stage));
        let in_flight = if self.forms.rings == Rings::InFlight { leave_in_flight(body) } else { 0 };
        round.append(body);
        if in_flight > 0 {
            round.push(self.order(ring, SyncOp::GemmWait { leave: in_flight }));
        }
        round.push(self.order(ring, SyncOp::Release { pipe, keep: u32::from(in_flight > 0) }));
        let later = Expr::symbol(ring.pipelined.counter.clone()) + Expr::constant(last);
        let refilled = self.signalled(ring, pipe, &later);
        match Cond::cmp(CmpOp::Lt, later, end.clone(), &self.facts) {
            Cond::False => {}
            Cond::True => round.extend(refilled),
            cond => round.push(Stmt::Control(Control::If { cond, then: refilled, otherwise: Vec::new() })),
        }
        *body = round;
        let mut behind = Vec::new();
        if in_flight > 0 {
            behind.push(self.order(ring, SyncOp::GemmWait { leave: 0 }));
            if ring.again {
                behind.push(self.order(ring, SyncOp::Release { pipe, keep: 0 }));
            }
        }
        // Behind this barrier the memory of the ring is free.
        behind.push(self.order(ring, SyncOp::Scope));
        (before, behind)
    }

    fn stage_symbol(&mut self, ring: &Ring<'_>) -> Symbol {
        let stage = self.output.new_var("stage".into());
        self.facts.at_least(stage.clone(), 0);
        self.facts.at_most(stage.clone(), Expr::constant(ring.pipelined.stages - 1));
        stage
    }

    /// Returns the copies of the tiles of a round into the next stage.
    fn signalled(&mut self, ring: &Ring<'_>, pipe: PipeId, round: &Expr) -> Vec<Stmt> {
        let counter = &ring.pipelined.counter;
        let stage = self.stage_symbol(ring);
        let mut copies = vec![self.order(ring, SyncOp::Acquire { pipe, var: stage.clone() })];
        for Ahead { load, ring: buffer } in ring.ahead {
            let src =
                with_counter(&load.src, &|symbol| (symbol == counter).then(|| round.clone()), &self.facts);
            let dst = self.staged_tile(*buffer, Some(Expr::symbol(stage.clone())));
            copies
                .push(self.op_of(load, OpKind::CopyAsync { src, dst, signal: Some(pipe), multicast: None }));
        }
        copies
    }
}

/// Makes the products of a round asynchronous, if they are statements of the body itself, read only shared memory that the body does not
/// write, and nothing else of the body accesses what they add to. Returns their number; 0 if they wait for themselves.
fn leave_in_flight(body: &mut [Stmt]) -> u32 {
    let mut sums = BTreeSet::new();
    for stmt in body.iter() {
        let Some(OpKind::Gemm { c, a, b, asynchronous, .. }) = stmt.op().map(|op| &op.kind) else { continue };
        if *asynchronous || [a, b].iter().any(|operand| operand.view.base.shared().is_none()) {
            return 0;
        }
        sums.insert(*c);
    }
    if sums.is_empty() || !are_apart(body, &sums) {
        return 0;
    }
    let mut count = 0;
    for stmt in body {
        if let Stmt::Leaf(Leaf::Op(op)) = stmt
            && let OpKind::Gemm { asynchronous, .. } = &mut op.kind
        {
            *asynchronous = true;
            count += 1;
        }
    }
    count
}

/// Reports whether only the products among some statements themselves access these sums, and no statement writes shared memory or waits
/// for products.
fn are_apart(body: &[Stmt], sums: &BTreeSet<TensorId>) -> bool {
    let own = body.iter().filter(|stmt| is_product(stmt)).count();
    let (mut products, mut is_apart) = (0, true);
    each_stmt(body, &mut |stmt| {
        let Some(op) = stmt.op() else { return };
        if is_product(stmt) {
            products += 1;
            return;
        }
        let description = op.kind.description();
        let writes_shared = |access: &hx_tile::Access<'_>| {
            access.base().shared().is_some() && access.mode != hx_target::Mode::Read
        };
        is_apart &= !description.accesses.iter().any(writes_shared)
            && !op.kind.tensors().iter().any(|tensor| sums.contains(tensor))
            && !matches!(op.kind, OpKind::Sync(SyncOp::GemmWait { .. }));
    });
    is_apart && products == own
}

fn is_product(stmt: &Stmt) -> bool {
    matches!(stmt.op().map(|op| &op.kind), Some(OpKind::Gemm { .. }))
}
