//! Stores and atomic accesses: padding that reaches elements that exist.

use hx_dtype::{AtomicOp, Operator};
use hx_index::Expr;
use hx_tile::{Atomic, Base, Op, TensorId, View};

use super::PaddingConsumer;
use super::number::{Number, is_neutral};
use super::region::Region;
use super::tensor_state::{Pad, TensorState};
use super::walk::Walk;

impl<'a> Walk<'a> {
    /// Follows a store. `combine` combines the elements with those in memory; without it they are replaced.
    pub(crate) fn stored(&mut self, op: &'a Op, src: &View, dst: &View, combine: Option<AtomicOp>) {
        let state = self.read(op, src);
        let shape = src.shape();
        self.ground.of_shape(&shape);
        self.scattered(op, (&state, &shape), dst, combine);
        for pad in &state.pads {
            let enters = |value: &Number| combine.is_some_and(|combine| !leaves(combine, value));
            let consumer = match (pad.mixed, combine) {
                (Some((first, consumer)), _) => (first, consumer),
                (None, Some(combine)) if enters(&pad.value) => (op.id, PaddingConsumer::Atomic(combine)),
                (None, _) => continue,
            };
            if !self.is_beyond(dst, &pad.region) {
                self.report(consumer.0, consumer.1, pad, &shape);
            }
        }
    }

    pub(crate) fn store(&mut self, op: &'a Op, src: &View, dst: &View, adds: bool) {
        self.stored(op, src, dst, adds.then_some(AtomicOp::Add));
    }

    /// Reports indices that are padding but name an element of the destination: the store would write a value that no element of the
    /// source has.
    fn scattered(
        &mut self,
        op: &'a Op,
        (state, shape): (&TensorState, &[i64]),
        dst: &View,
        combine: Option<AtomicOp>,
    ) {
        for pick in dst.picks() {
            let index = self.state_of(pick.index);
            for pad in &index.pads {
                if pad.value.told || self.is_outside(&pad.value, &pick.extent) {
                    continue;
                }
                let value = self.at(state, &pad.region).0;
                if combine.is_some_and(|combine| leaves(combine, &value)) {
                    continue;
                }
                self.report(op.id, PaddingConsumer::Index, pad, shape);
            }
        }
    }

    /// Reports whether no element of the region exists in the view.
    fn is_beyond(&mut self, view: &View, region: &Region) -> bool {
        for pick in view.picks() {
            let index = self.state_of(pick.index);
            let (value, is_padding) = self.at(&index, region);
            if is_padding && self.is_outside(&value, &pick.extent) {
                return true;
            }
        }
        self.edges(view).iter().any(|beyond| self.ground.excludes(region, false, beyond))
    }

    /// Follows an atomic access.
    pub(crate) fn atomic(&mut self, op: &'a Op, atomic: &'a Atomic) {
        let any = |walk: &Walk<'a>, tensor: TensorId| TensorState::new(Number::any(walk.dtype(tensor)));
        if atomic.is_load() {
            let state = self.read(op, &atomic.memory);
            return self.set(atomic.value, TensorState { form: None, ..state });
        }
        let value = View::whole(Base::Register(atomic.value), self.shape(atomic.value));
        match atomic.memory.base.tensor() {
            None => self.stored(op, &value, &atomic.memory, Some(atomic.op)),
            Some(_) => self.shared_atomic(op, &value, atomic),
        }
        if let Some(old) = atomic.old {
            let state = any(self, old);
            self.set(old, state);
        }
    }

    /// Follows an atomic access to shared memory, whose elements may be stored later.
    fn shared_atomic(&mut self, op: &'a Op, value: &View, atomic: &'a Atomic) {
        let state = self.read(op, value);
        let shape = value.shape();
        self.scattered(op, (&state, &shape), &atomic.memory, Some(atomic.op));
        let Some(memory) = atomic.memory.base.tensor() else { return };
        let mut now = TensorState { pads: Vec::new(), form: None, ..state.clone() };
        now.data = Number::any(self.dtype(memory));
        let consumer = (op.id, PaddingConsumer::Atomic(atomic.op));
        let enters = |pad: &&Pad| pad.mixed.is_some() || !leaves(atomic.op, &pad.value);
        for pad in state.pads.iter().filter(enters) {
            let unknown = Number { padding: true, ..now.data };
            now.add(Pad { mixed: pad.mixed.or(Some(consumer)), ..pad.with(unknown, op.id) });
        }
        if atomic.memory.picked.is_none() {
            let old = self.state_of(memory);
            self.write(&atomic.memory, now);
            let mut all = (*self.state_of(memory)).clone();
            old.pads.iter().for_each(|pad| all.add(pad.clone()));
            self.set(memory, all);
        }
    }

    /// Follows a tensor of one element that becomes a number of the block.
    pub(crate) fn read_number(&mut self, src: TensorId) {
        let state = self.state_of(src);
        self.check_parts(&state, self.shape(src));
    }

    /// Reports padding that was combined with elements, if it is all of a tensor, so that no coordinate separates it from
    /// elements.
    pub(crate) fn check_parts(&mut self, state: &TensorState, shape: &[i64]) {
        for pad in &state.pads {
            if let (Some((first, consumer)), true) = (pad.mixed, pad.region.axes().is_empty()) {
                self.report(first, consumer, pad, shape);
            }
        }
    }
}

/// Reports whether an atomic operation with padding leaves the element in memory as it is.
fn leaves(op: AtomicOp, value: &Number) -> bool {
    let others = Number::any(value.dtype);
    match op {
        AtomicOp::Add => is_neutral(Operator::Add, value, &others),
        AtomicOp::Min => is_neutral(Operator::Min, value, &others),
        AtomicOp::Max => is_neutral(Operator::Max, value, &others),
        AtomicOp::And => is_neutral(Operator::And, value, &others),
        AtomicOp::Or => is_neutral(Operator::Or, value, &others),
        AtomicOp::Xor => is_neutral(Operator::Xor, value, &others),
        AtomicOp::Load => true,
        AtomicOp::Exchange | AtomicOp::CompareExchange | AtomicOp::Store => false,
    }
}

impl Walk<'_> {
    /// Returns expressions that are at least 0 beyond each edge of a view in global memory.
    fn edges(&self, view: &View) -> Vec<Expr> {
        let mut found = Vec::new();
        for guard in self.guards(view) {
            found.push(guard.at.clone() - guard.end);
            found.push(-guard.at - Expr::constant(1));
        }
        found
    }
}
