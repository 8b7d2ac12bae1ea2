//! Lowers matrix products whose operands come from shared memory slice by slice along K, so that only two slices of a
//! fragment are live. While one slice is multiplied, the next is loaded.

use hx_index::{Expr, Facts};
use hx_tile::{
    Base, Choice, CopyChoice, GemmChoice, Op, OpKind, Stmt as TileStmt, TensorId, TileMode, View, tile_modes,
};

use super::copy::Ends;
use super::layout::unrolled;
use super::{COUNTED, LowerError, Lowering, counted};
use crate::{Body, Stmt};

/// A copy from shared memory into an operand that no other operation reads.
struct Feed<'p> {
    op: &'p Op,
    memory: &'p View,
    register: TensorId,
    choice: &'p CopyChoice,
    thread: Vec<TileMode>,
    issue: Vec<TileMode>,
    steps: Vec<i64>,
    /// The mode of `issue` that walks along K, and the steps of K that each of its instructions loads.
    along: (usize, i64),
}

/// A gemm with the copies that feed it.
struct Fed<'p> {
    op: &'p Op,
    tensors: [TensorId; 3],
    choice: &'p GemmChoice,
    /// The steps of K that one instruction covers.
    depth: i64,
    feeds: Vec<Feed<'p>>,
}

impl<'p> Lowering<'p> {
    /// Returns the gemm that the copies at the start of these statements feed, lowered together with them, and the number of
    /// statements that this replaces.
    pub(super) fn sliced(&self, stmts: &[TileStmt]) -> Result<Option<(Stmt, usize)>, LowerError> {
        let copies = stmts
            .iter()
            .take_while(|s| matches!(s, TileStmt::Op(op) if matches!(op.kind, OpKind::Copy { .. })));
        let count = copies.count();
        if !(1..=2).contains(&count) {
            return Ok(None);
        }
        let Some(fed) = self.fed(&stmts[..=count.min(stmts.len() - 1)], count) else { return Ok(None) };
        let extent = self.program.tensor(fed.tensors[1]).shape[1];
        let slice = fed.feeds.iter().map(|f| f.along.1).fold(fed.depth, i64::max);
        let fits = fed.feeds.iter().all(|f| slice % f.along.1 == 0) && slice % fed.depth == 0;
        if !fits || extent % slice != 0 || extent / slice < 2 {
            return Ok(None);
        }
        let body = self.slices(&fed, extent / slice, slice)?;
        Ok(Some((self.group(fed.op, body), count + 1)))
    }

    fn fed<'s>(&'s self, stmts: &'s [TileStmt], count: usize) -> Option<Fed<'s>> {
        let TileStmt::Op(op) = stmts.get(count)? else { return None };
        let OpKind::Gemm { c, a, b, .. } = op.kind else { return None };
        let Some(Choice::Gemm(choice)) = self.solution.choices.get(&op.id) else { return None };
        let depth = hx_target::catalogue().gemm(&choice.row)?.shape[2];
        let feeds: Option<Vec<Feed<'s>>> = stmts[..count].iter().map(|s| self.feed(s, [a, b])).collect();
        let feeds = feeds?;
        let distinct = count == 1 || feeds[0].register != feeds[1].register;
        (a != b && distinct).then_some(Fed { op, tensors: [c, a, b], choice, depth, feeds })
    }

    fn feed<'s>(&'s self, stmt: &'s TileStmt, operands: [TensorId; 2]) -> Option<Feed<'s>> {
        let TileStmt::Op(op) = stmt else { return None };
        let OpKind::Copy { src, dst } = &op.kind else { return None };
        let register = dst.register().filter(|t| operands.contains(t) && self.uses.get(t) == Some(&2))?;
        let (Base::Shared(_), Some(Choice::Copy(choice))) = (src.base, self.solution.choices.get(&op.id))
        else {
            return None;
        };
        let thread = tile_modes(&choice.memory.mode(0), &choice.tile)?;
        let issue = tile_modes(&choice.memory.mode(2), &choice.tile)?;
        let steps: Vec<i64> = choice.register.mode(1).leaves().iter().map(|l| l.1).collect();
        let mut along = issue.iter().enumerate().filter(|(_, m)| m.extent > 1 && m.strides[1] != 0);
        let (position, mode) = along.next()?;
        let extent = self.program.tensor(register).shape[1];
        let regular =
            mode.strides[0] == 0 && mode.strides[1] * mode.extent == extent && along.next().is_none();
        let along = (position, mode.strides[1]);
        (regular && steps.len() == issue.len()).then_some(Feed {
            op,
            memory: src,
            register,
            choice,
            thread,
            issue,
            steps,
            along,
        })
    }

    fn slices(&self, fed: &Fed<'_>, count: i64, slice: i64) -> Result<Body, LowerError> {
        let mut body = Body::new();
        let mut ready = Vec::new();
        for feed in &fed.feeds {
            let mut facts = self.facts.clone();
            let (setup, at) = self.thread_coordinates(feed.op, &feed.thread, &feed.choice.tile, &mut facts);
            body.extend(setup);
            ready.push((feed, at, facts));
        }
        let k = self.counter("k", fed.op, COUNTED);
        let now = Expr::symbol(k.clone());
        let load = |at_slice: &Expr| -> Result<Body, LowerError> {
            let mut out = Body::new();
            for (feed, at, facts) in &ready {
                let mut facts: Facts = facts.clone();
                facts.at_most(k.clone(), Expr::constant(count - 2));
                let body = self.load_slice(feed, at.clone(), facts, at_slice, slice)?;
                out.push(self.group(feed.op, body));
            }
            Ok(out)
        };
        let multiply = |at_slice: &Expr| -> Result<Body, LowerError> {
            let steps = slice / fed.depth;
            let inner = self.counter("step", fed.op, COUNTED + 3);
            let step = at_slice.scale(steps) + counted(&inner, steps);
            Ok(unrolled(&[(inner, steps)], self.products(fed.op, fed.tensors, fed.choice, step)?))
        };
        body.extend(load(&Expr::default())?);
        let mut steady = load(&(now.clone() + Expr::constant(1)))?;
        steady.extend(multiply(&now)?);
        // `unrolled` leaves out a loop of one step, but the body needs the counter.
        let steady = unrolled_always(&k, count - 1, steady);
        body.push(steady);
        body.extend(multiply(&Expr::constant(count - 1))?);
        Ok(body)
    }

    /// Returns the loads of an operand for one slice.
    fn load_slice(
        &self,
        feed: &Feed<'_>,
        at: Vec<Expr>,
        mut facts: Facts,
        at_slice: &Expr,
        slice: i64,
    ) -> Result<Body, LowerError> {
        let (position, width) = feed.along;
        let each = slice / width;
        let inner = self.counter("part", feed.op, COUNTED + 16);
        facts.at_most(inner.clone(), Expr::constant(each - 1));
        let value = at_slice.scale(each) + counted(&inner, each);
        let ends = Ends {
            op: feed.op,
            memory: feed.memory,
            register: feed.register,
            is_load: true,
            choice: feed.choice,
            thread: &feed.thread,
            issue: &feed.issue,
            steps: &feed.steps,
        };
        let body = self.transfers(&ends, at, facts, Some((position, value)))?;
        Ok(unrolled(&[(inner, each)], body))
    }
}

fn unrolled_always(counter: &hx_index::Symbol, count: i64, body: Body) -> Stmt {
    Stmt::For { var: counter.clone(), start: Expr::default(), end: Expr::constant(count), unroll: true, body }
}
