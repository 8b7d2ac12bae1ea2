//! Operations that combine elements of a tensor: reductions, scans, products and sums over a cluster.

use hx_dtype::{DType, Operator};
use hx_index::{Atom, Expr, Symbol};
use hx_tile::{Op, Operand, Scalar, TensorId};

use super::PaddingConsumer;
use super::elementwise::Inputs;
use super::number::{Number, is_neutral};
use super::region::{Region, along};
use super::tensor_state::{Pad, TensorState};
use super::walk::Walk;

/// The number that stands for the axis K of a product among coordinates. Operands and results have at most 3 axes, so it is
/// free.
const K: usize = 8;

impl<'a> Walk<'a> {
    /// Follows a reduction. Padding that is all of what is combined stays padding; other padding has to be neutral.
    pub(crate) fn reduce(
        &mut self,
        op: &'a Op,
        dst: TensorId,
        src: TensorId,
        axis: usize,
        operator: Operator,
    ) {
        let (state, shape) = (self.state_of(src), self.shape(src));
        let extent = shape.get(axis).copied().unwrap_or(1);
        let mut reduced = TensorState::new(repeated(operator, &state.data, extent));
        reduced.carried = state.carried.clone();
        for pad in &state.pads {
            if !pad.region.mentions(&along(axis)) {
                reduced
                    .add(Pad { mixed: pad.mixed, ..pad.with(repeated(operator, &pad.value, extent), op.id) });
                continue;
            }
            if let Some(region) = self.whole_along(&pad.region, axis, shape) {
                reduced.add(Pad { region, ..pad.with(repeated(operator, &pad.value, extent), op.id) });
                continue;
            }
            let idempotent = matches!(operator, Operator::Max | Operator::Min | Operator::And | Operator::Or);
            if pad.repeats && idempotent {
                continue;
            }
            if pad.repeats || !is_neutral(operator, &pad.value, &state.data) {
                let consumer = PaddingConsumer::Reduce { operator, axis };
                match pad.mixed {
                    // The first operation that padding enters is the cause.
                    Some((first, consumer)) => self.report(first, consumer, pad, shape),
                    None => self.report(op.id, consumer, pad, shape),
                }
                continue;
            }
            // A row of padding alone reduces to padding.
            if let Some(region) = self.all_along(&pad.region, axis, shape) {
                let value = repeated(operator, &pad.value, extent);
                reduced.add(Pad { region, ..pad.with(value, op.id) });
            }
        }
        self.set(dst, reduced);
    }

    /// Returns the results of a reduction whose operands all lie in a region. `None` unless every other result has all operands outside of
    /// it: the edge then falls between groups of operands, never inside one.
    fn whole_along(&mut self, region: &Region, axis: usize, shape: &[i64]) -> Option<Region> {
        let (symbol, extent) = (along(axis), *shape.get(axis)?);
        self.ground.of_shape(shape);
        let own = [Atom::Symbol(symbol.clone())];
        for e in region.0.iter().filter(|e| e.mentions(&symbol)) {
            let (_, step) = e.terms().find(|(monomial, _)| **monomial == own)?;
            let rest = e.clone() - Expr::symbol(symbol.clone()).scale(step);
            let span = step.checked_mul(extent)?;
            if rest.mentions(&symbol) || step < 1 || !self.ground.facts.divides(span, &rest) {
                return None;
            }
        }
        let first = |s: &Symbol| (*s == symbol).then(Expr::default);
        Some(region.map(|e| e.substitute(&self.ground.facts, &first)))
    }

    /// Returns the results of a reduction whose operands all lie in a region; `None` if there are none.
    fn all_along(&mut self, region: &Region, axis: usize, shape: &[i64]) -> Option<Region> {
        let last = shape.get(axis)? - 1;
        let least = Expr::constant(if region.direction(axis)? > 0 { 0 } else { last });
        let at = |s: &Symbol| (*s == along(axis)).then(|| least.clone());
        let region = region.map(|e| e.substitute(&self.ground.facts, &at));
        (self.is_worth(&region) && !self.is_empty_of(&region, axis, shape)).then_some(region)
    }

    fn is_empty_of(&mut self, region: &Region, axis: usize, shape: &[i64]) -> bool {
        let mut shape = shape.to_vec();
        shape[axis] = 1;
        self.ground.is_empty(region, &shape)
    }

    /// Follows a scan, which runs from the last element to the first if `axis` comes with `true`. Elements that it meets after all
    /// others change no other; elements that it meets before them change all.
    pub(crate) fn scan(
        &mut self,
        op: &'a Op,
        (dst, src): (&'a [TensorId], &'a [TensorId]),
        axis: (usize, bool),
        operator: &'a [Scalar],
    ) {
        let states: Vec<_> = src.iter().map(|src| self.state_of(*src)).collect();
        let Some(shape) = src.first().map(|src| self.shape(*src)) else { return };
        let data: Vec<Number> = states.iter().map(|state| state.data).collect();
        let mut scanned: Vec<TensorState> =
            self.totals(operator, &data, shape).into_iter().map(TensorState::new).collect();
        for state in &mut scanned {
            state.carried = states.iter().flat_map(|state| state.carried.iter().copied()).collect();
        }
        let mut seen: Vec<Region> = Vec::new();
        for state in &states {
            for pad in &state.pads {
                if seen.contains(&pad.region) {
                    continue;
                }
                seen.push(pad.region.clone());
                let values: Vec<Number> = states.iter().map(|other| self.at(other, &pad.region).0).collect();
                self.scanned_padding(op, (pad, &values, &data), axis, operator, shape, &mut scanned);
            }
        }
        for (dst, state) in dst.iter().zip(scanned) {
            self.set(*dst, state);
        }
    }

    fn scanned_padding(
        &mut self,
        op: &'a Op,
        (pad, values, data): (&Pad, &[Number], &[Number]),
        (axis, reverse): (usize, bool),
        operator: &'a [Scalar],
        shape: &[i64],
        scanned: &mut [TensorState],
    ) {
        let unknown = |state: &TensorState| Number { padding: true, ..Number::any(state.data.dtype) };
        if !pad.region.mentions(&along(axis)) {
            for state in scanned.iter_mut() {
                let value = unknown(state);
                state.add(Pad { ..pad.with(value, op.id) });
            }
            return;
        }
        let follows = pad.region.direction(axis) == Some(if reverse { -1 } else { 1 });
        let kept = self.keeps(operator, (values, data), follows, shape) || values.iter().any(|v| v.meant);
        let consumer = PaddingConsumer::Scan { axis };
        if kept && follows {
            for state in scanned.iter_mut() {
                let value = Number { padding: true, ..state.data };
                state.add(Pad { repeats: true, ..pad.with(value, op.id) });
            }
        } else if follows {
            for state in scanned.iter_mut() {
                let value = unknown(state);
                state.add(Pad { mixed: pad.mixed.or(Some((op.id, consumer))), ..pad.with(value, op.id) });
            }
        } else if !kept {
            self.report(op.id, consumer, pad, shape);
        }
    }

    /// Reports whether a scan's operator returns the element of the tensor where the other operand is padding: the later one if
    /// padding `follows`, else the earlier one.
    fn keeps(
        &mut self,
        operator: &[Scalar],
        (values, data): (&[Number], &[Number]),
        follows: bool,
        shape: &[i64],
    ) -> bool {
        let n = data.len() as u32;
        let element = |(i, number): (usize, &Number)| {
            let at = i as u32 + if follows { 0 } else { n };
            Number { same: Some(at), padding: false, nan: false, ..*number }
        };
        let elements: Vec<Number> = data.iter().enumerate().map(element).collect();
        let padding: Vec<Number> = values.iter().map(|value| Number { same: None, ..*value }).collect();
        let numbers = if follows { [elements, padding].concat() } else { [padding, elements].concat() };
        let mut of = Inputs { numbers, forms: Vec::new(), shape, region: None, loose: false };
        let first = if follows { 0 } else { n };
        operator
            .iter()
            .zip(first..)
            .all(|(component, at)| of.value(component, &mut self.ground).same == Some(at))
    }

    /// Returns bounds and facts about the results of a scan.
    fn totals(&mut self, operator: &[Scalar], data: &[Number], shape: &[i64]) -> Vec<Number> {
        let mut totals = data.to_vec();
        for pass in 0..2 {
            let numbers = [totals.clone(), data.to_vec()].concat();
            let mut of = Inputs { numbers, forms: Vec::new(), shape, region: None, loose: false };
            for (i, component) in operator.iter().enumerate() {
                let both = of.value(component, &mut self.ground).or(totals[i]);
                let any = Number::any(totals[i].dtype);
                // A bound that grows with every element has no end.
                let grown = pass == 1;
                let low = if grown && both.low < totals[i].low { any.low } else { both.low };
                let high = if grown && both.high > totals[i].high { any.high } else { both.high };
                totals[i] = Number { low, high, same: None, ..both };
            }
        }
        totals
    }

    /// Follows a product `c[m, n] += a[m, k] · b[n, k]`.
    pub(crate) fn product(&mut self, op: &'a Op, c: TensorId, a: &Operand, b: &Operand) {
        let shape = self.shape(c);
        let k = a.view.modes.get(1).map_or(1, |mode| mode.extent);
        let mut all = shape.to_vec();
        all.resize(K, 1);
        all.push(k);
        let place = |operand: &Operand, first: usize| -> Vec<Expr> {
            let axes = [first, K, 2];
            let modes = operand.view.modes.iter().zip(axes);
            modes
                .map(
                    |(mode, axis)| if mode.extent == 1 { Expr::default() } else { Expr::symbol(along(axis)) },
                )
                .collect()
        };
        let [a_state, b_state] = [(a, 0), (b, 1)].map(|(operand, first)| {
            let state = self.read(op, &operand.view);
            self.moved(&state, &place(operand, first), &all)
        });
        let old = self.state_of(c);
        let mut state = TensorState::new(Number::any(self.dtype(c)));
        for operand in [&a_state, &b_state, &*old] {
            state.carried.extend(operand.carried.iter().copied());
        }
        let is_along_k = |pad: &Pad| pad.region.mentions(&along(K));
        for (own, other) in [(&a_state, &b_state), (&b_state, &a_state)] {
            for pad in own.pads.iter().filter(|pad| is_along_k(pad)) {
                let value = self.at(other, &pad.region).0;
                if !times(&pad.value, &value).is(0.0) {
                    self.report(op.id, PaddingConsumer::Product, pad, &all);
                }
            }
        }
        let along_others = a_state.pads.iter().chain(&b_state.pads).filter(|pad| !is_along_k(pad));
        for pad in along_others.chain(&old.pads) {
            let is_zero = |state: &TensorState, walk: &mut Walk<'a>| {
                let (value, is_padding) = walk.at(state, &pad.region);
                is_padding && value.is(0.0)
            };
            let added = !is_zero(&a_state, self) && !is_zero(&b_state, self);
            let value = match added {
                true => Number::any(state.data.dtype),
                false => self.at(&old, &pad.region).0,
            };
            let of_result = old.pads.iter().any(|known| known == pad);
            let mixed = pad.mixed.filter(|_| of_result);
            state.add(Pad { mixed, ..pad.with(Number { padding: true, same: None, ..value }, op.id) });
        }
        self.set(c, state);
    }

    /// Follows a sum over the blocks of a cluster.
    pub(crate) fn cluster_sum(&mut self, op: &'a Op, x: TensorId, parts: &'a [TensorId], axis: u8) {
        let sources: Vec<TensorId> = if parts.is_empty() { vec![x] } else { parts.to_vec() };
        let mut summed = TensorState::new(Number::any(self.dtype(x)));
        let varies = Symbol::BlockIdx(axis);
        for source in sources {
            let (state, shape) = (self.state_of(source), self.shape(source));
            summed.carried.extend(state.carried.iter().copied());
            for pad in &state.pads {
                let moves = pad.region.mentions(&varies) && self.program.blocks_along(axis) > 1;
                if pad.value.is(0.0) && moves {
                    continue;
                }
                if moves && pad.value.padding {
                    self.report(op.id, PaddingConsumer::Cluster, pad, shape);
                    continue;
                }
                let value = if pad.value.is(0.0) { pad.value } else { Number::any(summed.data.dtype) };
                summed.add(pad.with(Number { padding: true, ..value }, op.id));
            }
        }
        self.set(x, summed);
    }
}

/// Returns the product of two elements as the sums of a product take it: the elements of tensors are finite.
fn times(a: &Number, b: &Number) -> Number {
    let dtype = if a.dtype.is_float() { DType::F64 } else { DType::I64 };
    Number::apply(Operator::Mul, dtype, &[a.cast(dtype), b.cast(dtype)], false)
}

/// Returns the reduction of `count` elements that are all like `value`.
fn repeated(operator: Operator, value: &Number, count: i64) -> Number {
    let count = count as f64;
    let rest = |number: Number| Number { padding: value.padding, meant: value.meant, same: None, ..number };
    rest(match operator {
        Operator::Max | Operator::Min | Operator::And | Operator::Or => *value,
        Operator::Add if value.bits.is_some() && value.low == value.high => {
            let sum = if value.is(0.0) { 0.0 } else { value.low * count };
            Number::between(value.dtype, sum, sum)
        }
        Operator::Add => {
            let times = |bound: f64| if bound == 0.0 { 0.0 } else { bound * count };
            Number::between(value.dtype, times(value.low), times(value.high))
        }
        Operator::Mul if value.is(1.0) || value.is(0.0) => *value,
        Operator::Mul if value.low >= 0.0 && value.dtype.is_float() => {
            Number::between(value.dtype, 0.0, f64::INFINITY)
        }
        _ => Number::any(value.dtype),
    })
}
