//! The values that an element may have: bounds, and whether padding took part in it.
//!
//! Bounds assume that tensors hold finite numbers: `0 · x` is 0, and `-inf - x` is `-inf`. An infinity times a number of the block
//! keeps its sign, because such numbers are scales.

use hx_dtype::{Class, DType, Operator};

/// From this magnitude on, a number that the source puts in the place of padding stands for an infinity: `-1e30`, and `-1e4` in half
/// precision.
const STANDS_FOR_INFINITY: f64 = 9999.0;

/// The values of an element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Number {
    pub(crate) dtype: DType,
    /// The least and the greatest value; NaN apart.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// The only value, if there is one.
    pub(crate) bits: Option<u64>,
    /// The number of the input that always has the same value; `None` if no input has.
    pub(crate) same: Option<u32>,
    /// Whether an element beyond an edge took part.
    pub(crate) padding: bool,
    /// Whether elements of tensors took part, and padding only where it changes nothing.
    pub(crate) legit: bool,
    /// Whether the source says what lies beyond each of the edges, by `pad:`.
    pub(crate) told: bool,
    /// Whether the source says that the zeros are meant: `pad: 0`.
    pub(crate) meant: bool,
    /// Whether the source names this very value for padding: by `pad:`, or in a `where`.
    pub(crate) given: bool,
    /// Whether it is made of the bits of a value that the source names for padding.
    pub(crate) packed: bool,
    /// Whether it is made of numbers of the block and constants alone, so that all elements have it.
    pub(crate) uniform: bool,
    /// Whether it may be NaN.
    pub(crate) nan: bool,
}

impl Number {
    /// Returns any number of a type.
    pub(crate) fn any(dtype: DType) -> Number {
        let (low, high) = widest(dtype);
        let nan = dtype.is_float();
        Number {
            dtype,
            low,
            high,
            bits: None,
            same: None,
            padding: false,
            legit: false,
            told: false,
            meant: false,
            given: false,
            packed: false,
            uniform: false,
            nan,
        }
    }

    /// Returns the number with these bits.
    pub(crate) fn exact(dtype: DType, bits: u64) -> Number {
        let value = dtype.decode(bits);
        let (low, high) = if value.is_nan() { widest(dtype) } else { (value, value) };
        Number { low, high, bits: Some(bits), nan: value.is_nan(), ..Number::any(dtype) }
    }

    /// Returns any number between two bounds. Bounds that no element of the type has mean that integers may have wrapped.
    pub(crate) fn between(dtype: DType, low: f64, high: f64) -> Number {
        let (least, most) = widest(dtype);
        if low.is_nan() || high.is_nan() || !dtype.is_float() && (low < least || high > most) {
            return Number::any(dtype);
        }
        if low == high && (dtype.is_float() || low.abs() < 9e15) {
            return Number { nan: false, ..Number::exact(dtype, dtype.encode(low)) };
        }
        Number { low, high, ..Number::any(dtype) }
    }

    /// Returns the number as one that a literal of the source gave to padding.
    pub(crate) fn chosen(self) -> Number {
        let stands = self.dtype.is_float()
            && self.bits.is_some()
            && self.low.is_finite()
            && self.low.abs() >= STANDS_FOR_INFINITY;
        let given = self.bits.is_some();
        if !stands {
            return Number { given, ..self };
        }
        let infinity = f64::INFINITY.copysign(self.low);
        let bits = Some(self.dtype.encode(infinity));
        Number { low: infinity, high: infinity, bits, given, ..self }
    }

    /// Returns a number that is one of the two.
    pub(crate) fn or(self, other: Number) -> Number {
        let bits = self.bits.filter(|bits| other.bits == Some(*bits));
        Number {
            dtype: self.dtype,
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            bits,
            same: self.same.filter(|same| other.same == Some(*same)),
            padding: self.padding || other.padding,
            legit: self.legit && other.legit,
            told: padding_is_told(&[self, other]),
            meant: self.meant && other.meant,
            given: self.given && other.given && bits.is_some(),
            packed: self.packed && other.packed,
            uniform: self.uniform && other.uniform,
            nan: self.nan || other.nan,
        }
    }

    /// Formats the value as in the source, if it is known; otherwise `None`.
    pub(crate) fn shown(&self) -> Option<String> {
        self.bits.map(|bits| literal(self.dtype, bits))
    }

    /// Reports whether the number is a known NaN.
    pub(crate) fn is_nan(&self) -> bool {
        self.bits.is_some_and(|bits| self.dtype.decode(bits).is_nan())
    }

    fn point(&self) -> Option<f64> {
        (self.low == self.high).then_some(self.low)
    }

    pub(crate) fn is(&self, value: f64) -> bool {
        self.point() == Some(value)
    }

    /// Returns the truth value, if it is known; otherwise `None`.
    pub(crate) fn truth(&self) -> Option<bool> {
        self.bits.map(|bits| bits != 0)
    }

    /// Converts to another type. Floating-point numbers are truncated to integers.
    pub(crate) fn cast(self, to: DType) -> Number {
        let rest = |number: Number| Number {
            same: self.same.filter(|_| to == self.dtype),
            padding: self.padding,
            legit: self.legit,
            told: self.told,
            meant: self.meant && number.is(0.0),
            given: self.given,
            packed: self.packed,
            uniform: self.uniform,
            ..number
        };
        if to == self.dtype {
            return self;
        }
        if let Some(bits) = self.bits {
            let value = self.dtype.decode(bits);
            let value = if self.dtype.is_float() && !to.is_float() { value.trunc() } else { value };
            // Integers of 64 bits are not exact here.
            let exact = value.is_nan() || value.is_infinite() || value.abs() < 9e15;
            if exact {
                return rest(Number::exact(to, to.encode(value)));
            }
        }
        let (low, high) = (self.low, self.high);
        let (low, high) =
            if self.dtype.is_float() && !to.is_float() { (low.trunc(), high.trunc()) } else { (low, high) };
        let (least, most) = widest(to);
        rest(match (to.is_float(), self.dtype.is_float()) {
            (false, true) => Number::between(to, low.clamp(least, most), high.clamp(least, most)),
            _ if to == DType::Bool => Number::any(to),
            _ => Number::between(to, low, high),
        })
    }

    /// Returns any result of these operands.
    pub(crate) fn unknown(dtype: DType, args: &[Number]) -> Number {
        Number {
            padding: args.iter().any(|arg| arg.padding),
            told: padding_is_told(args),
            legit: args.iter().all(|arg| arg.legit || !arg.padding) && args.iter().any(|arg| arg.legit),
            uniform: args.iter().all(|arg| arg.uniform),
            ..Number::any(dtype)
        }
    }

    /// Applies an operator. `alike` says that the first two operands are one expression.
    pub(crate) fn apply(operator: Operator, dtype: DType, args: &[Number], alike: bool) -> Number {
        let result = operator.result(dtype);
        let exact: Option<Vec<u64>> = args.iter().map(|arg| arg.bits).collect();
        let mut number = match exact {
            Some(bits) => Number::exact(result, operator.eval(dtype, &bits)),
            None => {
                let (low, high) = bounds(operator, dtype, args, alike);
                Number::between(result, low, high)
            }
        };
        let kept = kept(operator, args);
        number.same = kept.and_then(|kept| kept.same);
        number.padding = args.iter().any(|arg| arg.padding);
        number.told = padding_is_told(args);
        number.packed = number.told && args.iter().any(|arg| arg.packed);
        // An element to which padding adds nothing is still that element.
        match kept {
            Some(kept) if kept.legit => (number.padding, number.legit) = (kept.padding, true),
            _ => {
                number.legit =
                    args.iter().all(|arg| arg.legit || !arg.padding) && args.iter().any(|arg| arg.legit)
            }
        }
        let mut padded = args.iter().filter(|arg| arg.padding);
        number.meant = number.padding && dtype.is_float() && number.is(0.0) && padded.all(|arg| arg.meant);
        number.uniform = args.iter().all(|arg| arg.uniform || arg.bits.is_some());
        number.nan = number.is_nan() || number.bits.is_none() && result.is_float();
        number
    }
}

/// Returns the bounds of a type. Those of floating-point types are the infinities.
fn widest(dtype: DType) -> (f64, f64) {
    if dtype.is_float() { (f64::NEG_INFINITY, f64::INFINITY) } else { (dtype.min_value(), dtype.max_value()) }
}

const UNKNOWN: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// Returns the bounds of a result.
fn bounds(operator: Operator, dtype: DType, args: &[Number], alike: bool) -> (f64, f64) {
    use Operator::*;
    let arg = |i: usize| args.get(i).copied().unwrap_or(Number::any(dtype));
    let (a, b) = (arg(0), arg(1));
    let unsigned = || if dtype.is_float() { UNKNOWN } else { widest(dtype) };
    // A monotone function of one operand.
    let monotone = |f: fn(f64) -> f64| (f(a.low), f(a.high));
    match operator.exact() {
        Neg => (-a.high, -a.low),
        Abs if a.low >= 0.0 => (a.low, a.high),
        Abs if a.high <= 0.0 => (-a.high, -a.low),
        Abs => (0.0, a.high.max(-a.low)),
        Not => (1.0 - a.high, 1.0 - a.low),
        Exp => monotone(f64::exp),
        Exp2 => monotone(f64::exp2),
        Log if a.low >= 0.0 => monotone(f64::ln),
        Log2 if a.low >= 0.0 => monotone(f64::log2),
        Sqrt => (a.low.max(0.0).sqrt(), a.high.max(0.0).sqrt()),
        Rsqrt => (1.0 / a.high.max(0.0).sqrt(), 1.0 / a.low.max(0.0).sqrt()),
        Tanh => monotone(f64::tanh),
        Sigmoid => monotone(|x| 1.0 / (1.0 + (-x).exp())),
        Erf | Sin | Cos => (-1.0, 1.0),
        Exp10 => monotone(|x| 10f64.powf(x)),
        Expm1 => monotone(f64::exp_m1),
        Cbrt => monotone(f64::cbrt),
        Sinh => monotone(f64::sinh),
        Atan => monotone(f64::atan),
        Sign => (-1.0, 1.0),
        Trunc => monotone(f64::trunc),
        Floor => monotone(f64::floor),
        Ceil => monotone(f64::ceil),
        Round => monotone(f64::round_ties_even),
        Popcount | Clz => (0.0, 64.0),
        Add => sum((a.low, a.high), (b.low, b.high)),
        Sub => sum((a.low, a.high), (-b.high, -b.low)),
        Mul if alike => square(&a),
        Mul => product(&a, &b),
        Fma => {
            let scaled = if alike { square(&a) } else { product(&a, &b) };
            sum(scaled, (arg(2).low, arg(2).high))
        }
        Div => quotient(&a, &b),
        Rem if b.low > 0.0 => (0.0, b.high),
        Min => (a.low.min(b.low), a.high.min(b.high)),
        Max => (a.low.max(b.low), a.high.max(b.high)),
        And if dtype == DType::Bool => (a.low * b.low, a.high.min(b.high)),
        And if a.low >= 0.0 && b.low >= 0.0 => (0.0, a.high.min(b.high)),
        Or if dtype == DType::Bool => (a.low.max(b.low), a.high.max(b.high)),
        Or | Xor if a.low >= 0.0 && b.low >= 0.0 => (0.0, unsigned().1),
        Shl if a.is(0.0) => (0.0, 0.0),
        Shl | Mulhi if a.low >= 0.0 && b.low >= 0.0 => (0.0, unsigned().1),
        Shr if a.low >= 0.0 => (0.0, a.high),
        Pow if a.low >= 0.0 || b.point().is_some_and(|by| by % 2.0 == 0.0) => (0.0, f64::INFINITY),
        Lt | Le | Eq | Ne => compared(operator, &a, &b),
        IsNan => truth(false, !a.nan),
        Select => (a.low.min(b.low), a.high.max(b.high)),
        Log | Log2 | Log10 | Log1p | Cosh | Tan | Asin | Acos | Erfinv | Lgamma => unsigned(),
        Rem | And | Or | Xor | Shl | Shr | Mulhi | Pow | Atan2 | Fmod | Copysign => unsigned(),
        // `exact` returns none of these.
        DivApprox | SqrtApprox | ExpApprox | LogApprox | Log2Approx | SigmoidApprox | TanhApprox
        | PowApprox => unsigned(),
    }
}

/// Returns the truth value of a comparison, as bounds. A number that the source puts in the place of padding is beyond all others, and
/// these are finite.
fn compared(operator: Operator, a: &Number, b: &Number) -> (f64, f64) {
    let end = |x: &Number| match x.point() {
        Some(at) if x.given && at < 0.0 || at == f64::NEG_INFINITY => Some(f64::NEG_INFINITY),
        Some(at) if x.given && at > 0.0 || at == f64::INFINITY => Some(f64::INFINITY),
        _ => None,
    };
    let order = match (end(a), end(b)) {
        (Some(x), None) => x.partial_cmp(&0.0),
        (None, Some(y)) => 0.0.partial_cmp(&y),
        _ => None,
    };
    let is_number = !a.nan && !b.nan;
    match (operator, order) {
        (Operator::Lt | Operator::Le, Some(order)) => truth(order.is_lt() && is_number, order.is_gt()),
        (Operator::Eq, Some(_)) => truth(false, true),
        (Operator::Ne, Some(_)) => truth(true, false),
        (Operator::Lt, None) => truth(a.high < b.low && is_number, a.low >= b.high),
        (Operator::Le, None) => truth(a.high <= b.low && is_number, a.low > b.high),
        (Operator::Eq, None) => truth(false, a.high < b.low || b.high < a.low),
        _ => truth(a.high < b.low || b.high < a.low, false),
    }
}

fn truth(holds: bool, fails: bool) -> (f64, f64) {
    (f64::from(u8::from(holds)), f64::from(u8::from(!fails)))
}

/// Returns the bounds of a sum. A known infinity stays, whatever finite number is added.
fn sum(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let fixed = |x: (f64, f64)| (x.0 == x.1 && x.0.is_infinite()).then_some(x.0);
    match (fixed(a), fixed(b)) {
        (Some(x), Some(y)) if x != y => (f64::NAN, f64::NAN),
        (Some(x), _) | (None, Some(x)) => (x, x),
        (None, None) => {
            let low = if a.0.is_infinite() || b.0.is_infinite() { f64::NEG_INFINITY } else { a.0 + b.0 };
            let high = if a.1.is_infinite() || b.1.is_infinite() { f64::INFINITY } else { a.1 + b.1 };
            (low, high)
        }
    }
}

fn square(a: &Number) -> (f64, f64) {
    let most = a.low.abs().max(a.high.abs());
    let least = if a.low <= 0.0 && a.high >= 0.0 { 0.0 } else { a.low.abs().min(a.high.abs()) };
    (least * least, most * most)
}

/// Returns the sign of a factor of an infinity; `None` for 0, and if the sign is unknown. Numbers of the block are taken to be
/// positive.
fn sign(x: &Number) -> Option<f64> {
    if x.is(0.0) {
        None
    } else if x.low >= 0.0 || x.uniform && x.high > 0.0 {
        Some(1.0)
    } else if x.high <= 0.0 {
        Some(-1.0)
    } else {
        None
    }
}

fn product(a: &Number, b: &Number) -> (f64, f64) {
    let infinite = |x: &Number| x.point().filter(|point| point.is_infinite());
    match (infinite(a), infinite(b)) {
        (Some(x), None) => return sign(b).map_or(UNKNOWN, |sign| (x * sign, x * sign)),
        (None, Some(y)) => return sign(a).map_or(UNKNOWN, |sign| (y * sign, y * sign)),
        (Some(x), Some(y)) => return (x * y, x * y),
        (None, None) => {}
    }
    // Tensors hold finite numbers, so an open bound times 0 is 0.
    let times = |x: f64, y: f64| if x == 0.0 || y == 0.0 { 0.0 } else { x * y };
    let corners = [times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)];
    (corners.into_iter().fold(f64::INFINITY, f64::min), corners.into_iter().fold(f64::NEG_INFINITY, f64::max))
}

fn quotient(a: &Number, b: &Number) -> (f64, f64) {
    let zero = a.is(0.0) && !b.is(0.0);
    let vanishes = b.point().is_some_and(f64::is_infinite) && a.point().is_none_or(f64::is_finite);
    if zero || vanishes {
        return (0.0, 0.0);
    }
    if let Some(x) = a.point().filter(|x| x.is_infinite()) {
        return sign(b).map_or(UNKNOWN, |sign| (x * sign, x * sign));
    }
    match b.point() {
        Some(by) if by > 0.0 && by.is_finite() && a.dtype.is_float() => (a.low / by, a.high / by),
        _ if a.low >= 0.0 && b.low >= 0.0 => (0.0, if a.dtype.is_float() { f64::INFINITY } else { a.high }),
        _ if a.dtype.is_float() => UNKNOWN,
        _ => widest(a.dtype),
    }
}

/// Reports whether some operand is padding, and the source gives the value of each operand that is.
fn padding_is_told(args: &[Number]) -> bool {
    let mut padded = args.iter().filter(|arg| arg.padding);
    args.iter().any(|arg| arg.padding) && padded.all(|arg| arg.told)
}

/// Returns the operand that the result equals, as the other operand of a sum with 0; `None` if the result may equal neither.
fn kept(operator: Operator, args: &[Number]) -> Option<Number> {
    use Operator::*;
    let [a, rest @ ..] = args else { return None };
    let (a, b) = (*a, *rest.first()?);
    match operator {
        // Of two operands that change nothing, the one with elements of a tensor is kept.
        Add | Or | Xor if a.is(0.0) && !(a.legit && b.is(0.0)) => Some(b),
        Add | Sub | Or | Xor | Shl | Shr if b.is(0.0) => Some(a),
        Mul if a.is(1.0) => Some(b),
        Mul | Div if b.is(1.0) => Some(a),
        And if a.dtype == DType::Bool && a.is(1.0) => Some(b),
        And if a.dtype == DType::Bool && b.is(1.0) => Some(a),
        And if all_ones(Some(&b)) => Some(a),
        And if all_ones(Some(&a)) => Some(b),
        Max if b.high <= a.low || b.is_nan() => Some(a),
        Max if a.high <= b.low || a.is_nan() => Some(b),
        Min if b.low >= a.high || b.is_nan() => Some(a),
        Min if a.low >= b.high || a.is_nan() => Some(b),
        Fma if a.is(0.0) || b.is(0.0) => rest.get(1).copied(),
        _ => None,
    }
}

fn all_ones(x: Option<&Number>) -> bool {
    x.is_some_and(|x| !x.dtype.is_float() && x.dtype.bits() < 64 && x.bits == Some((1 << x.dtype.bits()) - 1))
}

/// Reports whether an element with the value `value` does not change a reduction over elements with the values `others`.
pub(crate) fn is_neutral(operator: Operator, value: &Number, others: &Number) -> bool {
    if value.meant {
        return true;
    }
    match operator {
        // The source chose `pad: -inf` for the order of its bits: keys that pack an index beside a value.
        Operator::Max | Operator::Min if value.packed => true,
        Operator::Add | Operator::Sub | Operator::Or | Operator::Xor if value.is(0.0) => true,
        Operator::Mul => value.is(1.0),
        // A negative number that the source puts in the place of padding is chosen to be less than all others, as -1 among positions.
        Operator::Max => value.is_nan() || value.high <= others.low || value.given && value.high < 0.0,
        Operator::Min => value.is_nan() || value.low >= others.high || value.given && value.low > 0.0,
        Operator::And if value.dtype == DType::Bool => value.is(1.0),
        Operator::And => all_ones(Some(value)),
        _ => false,
    }
}

/// Formats a value as in the source.
pub(crate) fn literal(dtype: DType, bits: u64) -> String {
    let value = dtype.decode(bits);
    match dtype.class() {
        Class::Bool => (bits != 0).to_string(),
        Class::Float if value.is_infinite() => if value > 0.0 { "inf" } else { "-inf" }.to_owned(),
        Class::Float => format!("{value:?}"),
        Class::Int if dtype.is_signed() => dtype.sign_extend(bits).to_string(),
        Class::Int => (bits & dtype.mask()).to_string(),
    }
}
