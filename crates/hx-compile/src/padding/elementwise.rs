//! Elementwise expressions at the elements beyond an edge: their values, and the masks that replace them.

use std::rc::Rc;

use hx_dtype::{DType, Operator};
use hx_index::{Atom, CmpOp, Cond, Expr, Symbol};
use hx_tile::{Inlined, Map, Op, Scalar, TensorId};

use super::PaddingConsumer;
use super::number::Number;
use super::region::{Ground, Region, along};
use super::tensor_state::{Form, Pad, TensorState};
use super::walk::Walk;

/// The inputs of an expression at some elements.
pub(crate) struct Inputs<'i> {
    pub(crate) numbers: Vec<Number>,
    pub(crate) forms: Vec<Option<&'i Form>>,
    /// The extents of the result.
    pub(crate) shape: &'i [i64],
    /// The region of the elements, if they are padding.
    pub(crate) region: Option<Region>,
    /// Whether a mask that data decide is assumed to begin where the padding begins ([`Ground::excludes`]).
    pub(crate) loose: bool,
}

impl<'a> Walk<'a> {
    /// Follows an elementwise expression.
    pub(crate) fn map(&mut self, op: &'a Op, map: &'a Map) {
        let shape = self.shape(map.dst);
        let inputs: Vec<Rc<TensorState>> = map.inputs.iter().map(|input| self.state_of(*input)).collect();
        let forms: Vec<Option<&Form>> = inputs.iter().map(|state| state.form.as_ref()).collect();
        let mut of = Inputs {
            numbers: inputs.iter().map(|state| state.data).collect(),
            forms: forms.clone(),
            shape,
            region: None,
            loose: false,
        };
        let mut state = TensorState::new(of.value(&map.value, &mut self.ground));
        state.data.same = None;
        state.form = of.form(&map.value, &self.ground);
        state.carried = inputs.iter().flat_map(|state| state.carried.iter().copied()).collect();
        let mut seen: Vec<Region> = Vec::new();
        for (i, input) in inputs.iter().enumerate() {
            for pad in input.pads.iter().filter(|pad| i == 0 || !seen.contains(&pad.region)) {
                if let Some(pad) = self.mapped((op, map), &inputs, &forms, (i, pad)) {
                    state.add(pad);
                }
            }
            seen.extend(input.pads.iter().map(|pad| pad.region.clone()));
        }
        self.set(map.dst, state);
    }

    /// Returns the padding of the result at the elements where input `i` has this padding; `None` if the result is not padding there.
    fn mapped(
        &mut self,
        (op, map): (&Op, &Map),
        inputs: &[Rc<TensorState>],
        forms: &[Option<&Form>],
        (i, pad): (usize, &Pad),
    ) -> Option<Pad> {
        let shape = self.shape(map.dst);
        self.ground.of_shape(shape);
        let axes = pad.region.axes();
        let spans = |k: usize| {
            let own = self.shape(map.inputs[k]);
            axes.iter().all(|axis| own.get(*axis) == shape.get(*axis))
        };
        let spans: Vec<bool> = (0..inputs.len()).map(spans).collect();
        let mut numbers = Vec::new();
        for (k, state) in inputs.iter().enumerate() {
            let (number, is_padding) = if k == i { (pad.value, true) } else { self.at(state, &pad.region) };
            let legit = !is_padding && spans[k];
            numbers.push(Number { same: Some(k as u32), legit, ..number });
        }
        let legit: Vec<bool> = numbers.iter().map(|number| number.legit && number.bits.is_none()).collect();
        let region = Some(self.alone(inputs, pad));
        let mut of = Inputs { numbers, forms: forms.to_vec(), shape, region, loose: pad.ring };
        let number = of.value(&map.value, &mut self.ground);
        let same = number.same.map(|k| k as usize);
        if !number.padding && number.bits.is_none() {
            return None;
        }
        let (is_legit, number) = (number.legit, Number { same: None, legit: false, ..number });
        if is_legit && !number.padding {
            // If an accumulator has met only padding in all rounds so far, it still has its initial value.
            let region = self.first_rounds(&pad.region);
            let number = Number { padding: true, ..number };
            return Some(Pad { region, carried: Default::default(), ..pad.with(number, op.id) });
        }
        let number = if number.padding { number } else { number.chosen() };
        // The result repeats elements only if it is the value of this input, or if no other input is involved.
        let repeats = pad.repeats && (same == Some(i) || inputs.len() == 1);
        let others: Vec<usize> = (0..inputs.len()).filter(|k| legit[*k]).collect();
        let consumer = match &map.value {
            _ if others.is_empty() => None,
            Scalar::Apply { operator: operator @ (Operator::Max | Operator::Min), .. } => {
                Some(PaddingConsumer::Elements(*operator))
            }
            _ if others.iter().any(|k| map.inputs[*k] == map.dst) => Some(PaddingConsumer::Rounds),
            _ if map.inputs[i] == map.dst && self.moves(&pad.region) => Some(PaddingConsumer::Rounds),
            _ => None,
        };
        let now = consumer
            .filter(|_| number.padding && !number.meant && !pad.value.meant)
            .map(|consumer| (op.id, consumer));
        let mixed = pad.mixed.filter(|_| number.padding).or(now);
        let carried = others.iter().flat_map(|k| inputs[*k].carried.iter().copied()).collect();
        Some(Pad { mixed, repeats, carried, ..pad.with(number, op.id) })
    }

    /// Reports whether a region depends on the counter of a loop around, and thus lies elsewhere in every round.
    fn moves(&self, region: &Region) -> bool {
        self.ground.counters.iter().any(|(counter, _)| region.mentions(counter))
    }

    /// Returns the elements of a region that are in it in all rounds of the loops around, from the first one on.
    fn first_rounds(&self, region: &Region) -> Region {
        let mut region = region.clone();
        for (counter, start) in &self.ground.counters {
            let grows = |e: &Expr| {
                let own = e.terms().find(|(monomial, _)| **monomial == [Atom::Symbol(counter.clone())]);
                !e.mentions(counter) || own.is_some_and(|(_, factor)| factor > 0)
            };
            if region.mentions(counter) && region.0.iter().all(grows) {
                let first = |s: &Symbol| (s == counter).then(|| start.clone());
                region = region.map(|e| e.substitute(&self.ground.facts, &first));
            }
        }
        region
    }

    /// Returns the region of a padding without the elements that are padding along another axis, too: a row beyond the end has
    /// no elements of the tensor to mix with.
    fn alone(&self, inputs: &[Rc<TensorState>], pad: &Pad) -> Region {
        let axes = pad.region.axes();
        let mut region = pad.region.clone();
        let others = inputs.iter().flat_map(|state| &state.pads).filter(|other| other.value.padding);
        for other in others {
            let apart = other.region.axes().is_disjoint(&axes);
            if let ([e], true) = (&other.region.0[..], apart) {
                let inside = -e.clone() - Expr::constant(1);
                if !region.0.contains(&inside) {
                    region.0.push(inside);
                }
            }
        }
        region
    }

    /// Returns the value of the elements of a region, and whether they are padding.
    pub(crate) fn at(&mut self, state: &TensorState, region: &Region) -> (Number, bool) {
        let mut found: Option<Number> = None;
        for pad in &state.pads {
            let equal = pad.region == *region;
            if equal || self.ground.covers(&pad.region, region) {
                // Elements in exactly this region come from a tile that was filled on the same path as the padding, so its
                // value is certain.
                let value = if equal || pad.certain { pad.value } else { pad.value.or(state.data) };
                found = Some(found.map_or(value, |found| found.or(value)));
            }
        }
        if let (None, Some(Form::Truth(cond) | Form::Bit(cond))) = (found, &state.form)
            && let Some(truth) = decide(cond, region, false, &mut self.ground)
        {
            let dtype = state.data.dtype;
            return (Number::exact(dtype, dtype.encode(f64::from(u8::from(truth)))), false);
        }
        (found.unwrap_or(state.data), found.is_some())
    }

    /// Follows a conversion of elements, or another shape of the same elements.
    pub(crate) fn cast(&mut self, op: &'a Op, dst: TensorId, src: TensorId) {
        let (state, to) = (self.state_of(src), self.dtype(dst));
        let mut cast = (*state).clone();
        if to != state.data.dtype {
            cast.data = state.data.cast(to);
            cast.form = match &state.form {
                Some(Form::Truth(cond)) => Some(Form::Bit(cond.clone())),
                form => form.clone(),
            };
            cast.pads = state.pads.iter().map(|pad| pad.with(pad.value.cast(to), op.id)).collect();
        }
        let (from, shape) = (self.shape(src), self.shape(dst));
        if from != shape {
            self.ground.of_shape(shape);
            let map = self.row_major(from, shape);
            cast = self.moved(&cast, &map, shape);
        }
        self.set(dst, cast);
    }

    /// Returns the coordinates under the shape `from` in terms of those under the shape `to`, of elements with the same row-major
    /// index.
    fn row_major(&self, from: &[i64], to: &[i64]) -> Vec<Expr> {
        let facts = &self.ground.facts;
        let mut index = Expr::default();
        for (axis, &extent) in to.iter().enumerate() {
            let at = if extent == 1 { Expr::default() } else { Expr::symbol(along(axis)) };
            index = index.scale(extent) + at;
        }
        let mut left: i64 = from.iter().product();
        from.iter()
            .map(|&extent| {
                let rest = index.rem(&Expr::constant(left), facts);
                left /= extent.max(1);
                rest.div(&Expr::constant(left.max(1)), facts)
            })
            .collect()
    }
}

impl Inputs<'_> {
    /// Returns the value of an expression.
    pub(crate) fn value(&mut self, scalar: &Scalar, ground: &mut Ground) -> Number {
        match scalar {
            Scalar::Input { index, dtype } => {
                let number = self.numbers.get(*index as usize).copied().unwrap_or(Number::any(*dtype));
                match self.forms.get(*index as usize) {
                    Some(Some(Form::Truth(cond))) if number.bits.is_none() => {
                        self.truth(cond, number, ground)
                    }
                    _ => number,
                }
            }
            Scalar::Index { axis } => {
                let last = self.shape.get(*axis).map_or(1, |extent| *extent) - 1;
                Number::between(DType::I32, 0.0, last as f64)
            }
            Scalar::Integer { value, dtype } => {
                let (low, high) = ground.facts.range(value);
                let any = Number::any(*dtype);
                let low = low.map_or(any.low, |low| (low as f64).max(any.low));
                let high = high.map_or(any.high, |high| (high as f64).min(any.high));
                Number { uniform: true, nan: false, ..Number::between(*dtype, low, high.max(low)) }
            }
            Scalar::Var { dtype, .. } | Scalar::Param { dtype, .. } => {
                Number { uniform: true, nan: false, ..Number::any(*dtype) }
            }
            Scalar::Const { bits, dtype } => Number::exact(*dtype, *bits),
            Scalar::Cast { to, arg } => self.value(arg, ground).cast(*to),
            Scalar::Bitcast { to, arg } => {
                let number = self.value(arg, ground);
                let same = number.bits.map_or(Number::any(*to), |bits| Number::exact(*to, bits));
                let packed = number.given && number.told || number.packed;
                Number { padding: number.padding, told: number.told, packed, ..same }
            }
            Scalar::Apply { operator, dtype, args } => self.apply(scalar, (*operator, *dtype, args), ground),
            Scalar::Inlined(inlined) => self.inlined(inlined, ground),
        }
    }

    fn apply(
        &mut self,
        scalar: &Scalar,
        (operator, dtype, args): (Operator, DType, &[Scalar]),
        ground: &mut Ground,
    ) -> Number {
        if let (Operator::Select, [cond, x, y]) = (operator, args) {
            let cond = self.value(cond, ground);
            return match cond.truth() {
                Some(true) => self.value(x, ground),
                Some(false) => self.value(y, ground),
                None => {
                    let either = self.value(x, ground).or(self.value(y, ground));
                    Number { padding: either.padding || cond.padding, ..either }
                }
            };
        }
        let numbers: Vec<Number> = args.iter().map(|arg| self.value(arg, ground)).collect();
        let number = Number::apply(operator, dtype, &numbers, matches!(args, [a, b, ..] if a == b));
        match (number.bits, self.cond(scalar, ground)) {
            (None, Some(cond)) => self.truth(&cond, number, ground),
            _ => number,
        }
    }

    /// Returns the result of an instruction of the source: the value of its meaning. Without one, any value that depends on the operands.
    fn inlined(&mut self, inlined: &Inlined, ground: &mut Ground) -> Number {
        let numbers: Vec<Number> = inlined.args.iter().map(|arg| self.value(arg, ground)).collect();
        match &inlined.meaning {
            Some(meaning) => self.value(meaning, ground),
            None => Number::unknown(inlined.inline.dtype, &numbers),
        }
    }

    /// Returns the truth value of a condition at the elements, or `otherwise` if it is not known.
    fn truth(&self, cond: &Cond, otherwise: Number, ground: &mut Ground) -> Number {
        match self.region.as_ref().and_then(|region| decide(cond, region, self.loose, ground)) {
            Some(truth) => Number { padding: false, ..Number::exact(DType::Bool, u64::from(truth)) },
            None => otherwise,
        }
    }

    /// Returns the elements of an expression as a function of their coordinates; `None` if it is not followed.
    pub(crate) fn form(&self, scalar: &Scalar, ground: &Ground) -> Option<Form> {
        if scalar.dtype() == DType::Bool {
            return self.cond_of(scalar, ground).map(Form::Truth);
        }
        if let Scalar::Cast { arg, .. } = scalar
            && arg.dtype() == DType::Bool
        {
            return self.cond_of(arg, ground).map(Form::Bit);
        }
        let integer = self.integer(scalar, ground).filter(|_| !scalar.dtype().is_float())?;
        (!integer.is_larger_than(LARGEST)).then_some(Form::Integer(integer))
    }

    /// Returns a comparison of integers as a condition on the coordinates; `None` if it is none, or a side is no known integer
    /// of them.
    fn cond(&self, scalar: &Scalar, ground: &Ground) -> Option<Cond> {
        let Scalar::Apply { operator, args, .. } = scalar else { return None };
        let op = match operator {
            Operator::Lt => CmpOp::Lt,
            Operator::Le => CmpOp::Le,
            Operator::Eq => CmpOp::Eq,
            Operator::Ne => CmpOp::Ne,
            _ => return None,
        };
        let [a, b] = &args[..] else { return None };
        Some(Cond::Cmp(op, self.integer(a, ground)?, self.integer(b, ground)?))
    }

    /// Returns an expression of truth values as a condition on the coordinates; `None` if nothing is known of it.
    fn cond_of(&self, scalar: &Scalar, ground: &Ground) -> Option<Cond> {
        match scalar {
            Scalar::Input { index, .. } => match self.forms.get(*index as usize)? {
                Some(Form::Truth(cond)) => Some(cond.clone()),
                _ => None,
            },
            Scalar::Const { bits, .. } => Some(if *bits == 0 { Cond::False } else { Cond::True }),
            Scalar::Apply { operator: operator @ (Operator::And | Operator::Or), args, .. } => {
                let [a, b] = &args[..] else { return None };
                let (a, b) = match (self.cond_of(a, ground), self.cond_of(b, ground)) {
                    (None, None) => return None,
                    (a, b) => (a.unwrap_or_else(unknown), b.unwrap_or_else(unknown)),
                };
                Some(if *operator == Operator::And { a.and(b) } else { a.or(b) })
            }
            Scalar::Apply { operator: Operator::Not, args, .. } => {
                Some(self.cond_of(args.first()?, ground)?.negate())
            }
            other => self.cond(other, ground),
        }
    }

    /// Returns an expression as an integer of the coordinates; `None` if it is no known one. A number that may wrap, or that a
    /// floating-point type may round, is taken as exact: indices are far from the ends of their types.
    fn integer(&self, scalar: &Scalar, ground: &Ground) -> Option<Expr> {
        match scalar {
            Scalar::Index { axis } => Some(match self.shape.get(*axis) {
                Some(1) => Expr::default(),
                _ => Expr::symbol(along(*axis)),
            }),
            Scalar::Integer { value, .. } => Some(ground.plain(value)),
            Scalar::Const { bits, dtype } => {
                let value = dtype.decode(*bits);
                (value.fract() == 0.0 && value.abs() < 9e15).then(|| Expr::constant(value as i64))
            }
            Scalar::Input { index, .. } => match self.forms.get(*index as usize)? {
                Some(Form::Integer(e)) => Some(e.clone()),
                _ => None,
            },
            Scalar::Cast { arg, .. } => self.integer(arg, ground),
            Scalar::Apply { operator, dtype, args } => {
                let a = self.integer(args.first()?, ground)?;
                let b = || self.integer(args.get(1)?, ground);
                let facts = &ground.facts;
                let known = || b()?.as_const().filter(|by| *by > 0 && !dtype.is_float()).map(Expr::constant);
                Some(match operator {
                    Operator::Neg => -a,
                    Operator::Add => a + b()?,
                    Operator::Sub => a - b()?,
                    Operator::Mul => &a * &b()?,
                    Operator::Div => a.div(&known()?, facts),
                    Operator::Rem => a.rem(&known()?, facts),
                    Operator::Shl => a.scale(1 << b()?.as_const().filter(|by| (0..32).contains(by))?),
                    Operator::Shr => {
                        let by = b()?.as_const().filter(|by| (0..32).contains(by))?;
                        a.div(&Expr::constant(1 << by), facts)
                    }
                    _ => return None,
                })
            }
            Scalar::Inlined(inlined) => self.integer(inlined.meaning.as_ref()?, ground),
            Scalar::Var { .. } | Scalar::Param { .. } | Scalar::Bitcast { .. } => None,
        }
    }
}

/// Returns a condition that nothing decides. It stands for a condition on data.
fn unknown() -> Cond {
    let data = Symbol::Var("of data".into(), 0);
    Cond::Cmp(CmpOp::Eq, Expr::symbol(data), Expr::default())
}

/// The largest number of terms of an integer that is followed.
const LARGEST: usize = 32;

/// Returns the truth value that a condition has at all elements of a region; `None` if it may have both.
fn decide(cond: &Cond, region: &Region, loose: bool, ground: &mut Ground) -> Option<bool> {
    match cond {
        Cond::True => Some(true),
        Cond::False => Some(false),
        Cond::Cmp(op, a, b) => ground.decide(region, loose, (*op, a, b)),
        Cond::And(all) => {
            let known: Vec<Option<bool>> =
                all.iter().map(|cond| decide(cond, region, loose, ground)).collect();
            match known.contains(&Some(false)) {
                true => Some(false),
                false => known.iter().all(Option::is_some).then_some(true),
            }
        }
        Cond::Or(any) => {
            let known: Vec<Option<bool>> =
                any.iter().map(|cond| decide(cond, region, loose, ground)).collect();
            match known.contains(&Some(true)) {
                true => Some(true),
                false => known.iter().all(Option::is_some).then_some(false),
            }
        }
    }
}
