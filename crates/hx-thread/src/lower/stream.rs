//! Lowers matrix products whose operands come from shared memory slice by slice along K, so that only two slices of a
//! fragment are live. While one slice is multiplied, the next is loaded.

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{Expr, Facts};
use hx_tile::{
    Choice, CopyChoice, GemmChoice, Op, OpId, OpKind, Stream, TensorId, TileMode, View, tile_modes,
};

use super::copy::Ends;
use super::layout::unrolled;
use super::{COUNTED, LowerError, Lowering, counted};
use crate::{Body, Control, Stmt};

/// A copy of a stream: from shared memory into an operand that no other operation reads.
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
struct StreamedGemm<'p> {
    op: &'p Op,
    tensors: [TensorId; 3],
    choice: &'p GemmChoice,
    /// The steps of K that one instruction covers.
    step: i64,
    feeds: Vec<Feed<'p>>,
}

impl Lowering<'_> {
    /// Returns the copies that streams load slice by slice. They are lowered with their products.
    pub(super) fn streamed(choices: &BTreeMap<OpId, Choice>) -> BTreeSet<OpId> {
        let streams = choices.values().filter_map(|choice| choice.gemm()?.stream.as_ref());
        streams.flat_map(|stream| stream.loads.clone()).collect()
    }

    /// Lowers a gemm together with the loads of its stream.
    pub(super) fn stream(
        &self,
        op: &Op,
        tensors: [TensorId; 3],
        choice: &GemmChoice,
        stream: &Stream,
    ) -> Result<Body, LowerError> {
        let feeds: Option<Vec<Feed<'_>>> = stream.loads.iter().map(|load| self.feed(*load)).collect();
        let feeds = feeds.ok_or_else(|| self.error(op, "a load of the stream does not walk along K"))?;
        let extent = self.program.tensor(tensors[1]).shape[1];
        let gemm = StreamedGemm { op, tensors, choice, step: choice.row.shape[2], feeds };
        self.slices(&gemm, extent / stream.depth, stream.depth)
    }

    fn feed(&self, load: OpId) -> Option<Feed<'_>> {
        let op = self.program.op(load)?;
        let OpKind::Copy { src, dst } = &op.kind else { return None };
        let Some(Choice::Copy(choice)) = self.solution.choices.get(&load) else { return None };
        let thread = tile_modes(&choice.memory.mode(0), &choice.tile)?;
        let issue = tile_modes(&choice.memory.mode(2), &choice.tile)?;
        let steps: Vec<i64> = choice.register.mode(1).leaves().iter().map(|l| l.1).collect();
        let register = dst.register()?;
        let extent = self.program.tensor(register).shape[1];
        let mut along = issue.iter().enumerate().filter(|(_, m)| m.extent > 1 && m.strides[1] != 0);
        let (Some((position, mode)), None) = (along.next(), along.next()) else { return None };
        let is_regular =
            mode.strides[0] == 0 && mode.strides[1] * mode.extent == extent && steps.len() == issue.len();
        let along = (position, mode.strides[1]);
        is_regular.then_some(Feed { op, memory: src, register, choice, thread, issue, steps, along })
    }

    fn slices(&self, gemm: &StreamedGemm<'_>, count: i64, slice: i64) -> Result<Body, LowerError> {
        let mut body = Body::new();
        let mut ready = Vec::new();
        for feed in &gemm.feeds {
            let mut facts = self.facts_of(feed.op).clone();
            let (setup, at) = self.thread_coordinates(feed.op, &feed.thread, &feed.choice.tile, &mut facts);
            body.extend(setup);
            ready.push((feed, at, facts));
        }
        let k = self.counter("k", gemm.op, COUNTED);
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
            let steps = slice / gemm.step;
            let inner = self.counter("step", gemm.op, COUNTED + 3);
            let step = at_slice.scale(steps) + counted(&inner, steps);
            Ok(unrolled(&[(inner, steps)], self.products(gemm.op, gemm.tensors, gemm.choice, step)?))
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
    Stmt::Control(Control::For {
        var: counter.clone(),
        start: Expr::default(),
        end: Expr::constant(count),
        unroll: true,
        body,
    })
}
