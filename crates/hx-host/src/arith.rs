//! Elementwise arithmetic on computed numbers, with NumPy's broadcasting.
//!
//! Floats compute in `f64`. Integers compute in `i64`, and overflow is an error. Every function gives the same results on every
//! platform: the transcendental ones come from `libm`, not from the machine's C library.

use std::cmp::Ordering;

use hx_base::interrupt::look;
use hx_dtype::{Class, Operator};

use crate::bits;
use crate::dense::{Dense, Numbers, broadcast_shape, element_count, show_shape};
use crate::error::{HostError, HostResult};
use crate::stretch::{STRETCH, generate, map, zip};

/// An elementwise operation on two arrays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    /// Division of floats; floor division of integers.
    Div,
    /// The remainder with the divisor's sign.
    Rem,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Max,
    Min,
    Pow,
    /// Takes floats, and makes them of integers, like the two that follow.
    Atan2,
    Fmod,
    Copysign,
    /// Takes bools only, like [`Binary::Or`].
    And,
    Or,
    /// Takes integers, like the four operators that follow. `BitAnd`, `BitOr` and `BitXor` also take bools.
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
}

impl Binary {
    /// Returns the operator or function name as it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::Div => "/",
            Binary::Rem => "%",
            Binary::Eq => "==",
            Binary::Ne => "!=",
            Binary::Lt => "<",
            Binary::Le => "<=",
            Binary::Gt => ">",
            Binary::Ge => ">=",
            Binary::Max => "max",
            Binary::Min => "min",
            Binary::Pow => "pow",
            Binary::Atan2 => "atan2",
            Binary::Fmod => "fmod",
            Binary::Copysign => "copysign",
            Binary::And => "&&",
            Binary::Or => "||",
            Binary::BitAnd => "&",
            Binary::BitOr => "|",
            Binary::BitXor => "^",
            Binary::Shl => "<<",
            Binary::Shr => ">>",
        }
    }

    /// Returns the bit operator of the same meaning; `None` for arithmetic, comparisons and logic.
    fn on_bits(self) -> Option<Operator> {
        Some(match self {
            Binary::BitAnd => Operator::And,
            Binary::BitOr => Operator::Or,
            Binary::BitXor => Operator::Xor,
            Binary::Shl => Operator::Shl,
            Binary::Shr => Operator::Shr,
            _ => return None,
        })
    }

    fn is_of_floats(self) -> bool {
        matches!(self, Binary::Atan2 | Binary::Fmod | Binary::Copysign)
    }

    fn compares(self) -> bool {
        matches!(self, Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge)
    }
}

/// An elementwise function of one array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unary {
    Neg,
    Not,
    Abs,
    Exp,
    Exp2,
    Log,
    Log2,
    Log10,
    Exp10,
    Expm1,
    Log1p,
    Cbrt,
    Sqrt,
    Rsqrt,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Sigmoid,
    Erf,
    Erfinv,
    Lgamma,
    Trunc,
    Sign,
    Floor,
    Ceil,
    Round,
    IsNan,
    IsInf,
    IsFinite,
}

/// Applies `op` element by element to two arrays whose shapes broadcast.
///
/// # Errors
/// If the shapes do not broadcast, the operator does not take such numbers, integers overflow 64 bits or are divided by zero, or the
/// machine has no room for the result.
pub fn binary(op: Binary, a: &Dense, b: &Dense) -> HostResult<Dense> {
    let Some(shape) = broadcast_shape(&a.shape, &b.shape) else {
        return Err(HostError::shape(format!(
            "shapes {} and {} do not broadcast in `{}`",
            show_shape(&a.shape),
            show_shape(&b.shape),
            op.symbol()
        )));
    };
    element_count(&shape)?;
    if matches!(op, Binary::And | Binary::Or) {
        return logical(op, &a.broadcast_to(&shape), &b.broadcast_to(&shape))
            .map(|data| Dense { shape, data });
    }
    if let Some(operator) = op.on_bits() {
        return bits::binary(operator, &shape, a, b).map(|data| Dense { shape, data });
    }
    let class = a.data.class().max(b.data.class());
    let floats = class == Class::Float || op.is_of_floats() || (op == Binary::Pow && negative_exponent(b));
    let data = if class == Class::Bool && op.compares() {
        compare(op, &a.broadcast_to(&shape).into_floats(), &b.broadcast_to(&shape).into_floats())
    } else if floats && op.compares() && a.data.class() != b.data.class() {
        Numbers::Bool(exactly(op, &a.broadcast_to(&shape), &b.broadcast_to(&shape)))
    } else if floats {
        let (x, y) = (Sides::new(a, &shape).floats(), Sides::new(b, &shape).floats());
        if op.compares() {
            compare(op, &x.expand(), &y.expand())
        } else {
            Numbers::Float(float_op(op, &x, &y))
        }
    } else {
        let (x, y) = (a.broadcast_to(&shape).into_ints(), b.broadcast_to(&shape).into_ints());
        let (x, y) = (x.unwrap_or_default(), y.unwrap_or_default());
        if op.compares() { compare(op, &x, &y) } else { Numbers::Int(int_op(op, &x, &y)?) }
    };
    Ok(Dense { shape, data })
}

fn logical(op: Binary, a: &Numbers, b: &Numbers) -> HostResult<Numbers> {
    let (Numbers::Bool(x), Numbers::Bool(y)) = (a, b) else {
        let symbol = op.symbol();
        return Err(HostError::ty(format!("`{symbol}` needs bools"))
            .help(format!("compare first: `x != 0 {symbol} y != 0`")));
    };
    Ok(Numbers::Bool(zip(x, y, |x, y| if op == Binary::And { x && y } else { x || y })))
}

fn negative_exponent(b: &Dense) -> bool {
    matches!(&b.data, Numbers::Int(v) if v.iter().any(|&x| x < 0))
}

/// An operand, and the shape of the result to which it is broadcast.
struct Sides<'a> {
    from: &'a Dense,
    shape: &'a [usize],
}

enum Floats {
    Repeated(f64, usize),
    Each(Vec<f64>),
}

impl<'a> Sides<'a> {
    fn new(from: &'a Dense, shape: &'a [usize]) -> Sides<'a> {
        Sides { from, shape }
    }

    fn floats(self) -> Floats {
        if self.from.data.len() == 1 {
            let one = self.from.data.clone().into_floats();
            return Floats::Repeated(one[0], self.shape.iter().product());
        }
        Floats::Each(self.from.broadcast_to(self.shape).into_floats())
    }
}

impl Floats {
    fn expand(&self) -> Vec<f64> {
        match self {
            Floats::Repeated(x, n) => vec![*x; *n],
            Floats::Each(v) => v.clone(),
        }
    }
}

fn float_op(op: Binary, x: &Floats, y: &Floats) -> Vec<f64> {
    match op {
        Binary::Add => of_both(x, y, |a, b| a + b),
        Binary::Sub => of_both(x, y, |a, b| a - b),
        Binary::Mul => of_both(x, y, |a, b| a * b),
        Binary::Div => of_both(x, y, |a, b| a / b),
        Binary::Rem => of_both(x, y, floor_rem),
        Binary::Max => of_both(x, y, max_or_nan),
        Binary::Min => of_both(x, y, |a, b| -max_or_nan(-a, -b)),
        Binary::Atan2 => of_both(x, y, libm::atan2),
        Binary::Fmod => of_both(x, y, libm::fmod),
        Binary::Copysign => of_both(x, y, libm::copysign),
        _ => of_both(x, y, libm::pow),
    }
}

fn of_both(x: &Floats, y: &Floats, f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    match (x, y) {
        (Floats::Each(x), Floats::Each(y)) => zip(x, y, f),
        (Floats::Each(x), Floats::Repeated(b, _)) => map(x, |a| f(a, *b)),
        (Floats::Repeated(a, _), Floats::Each(y)) => map(y, |b| f(*a, b)),
        (Floats::Repeated(a, n), Floats::Repeated(b, _)) => vec![f(*a, *b); *n],
    }
}

/// Returns the larger of two numbers; NaN if either is NaN.
pub(crate) fn max_or_nan(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// Returns `a % b` with the sign of `b`.
pub fn floor_rem(a: f64, b: f64) -> f64 {
    let r = a % b;
    if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r }
}

/// Returns `⌊a / b⌋`; `None` on division by zero or overflow.
pub fn floor_div(a: i64, b: i64) -> Option<i64> {
    let q = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q })
}

fn int_op(op: Binary, x: &[i64], y: &[i64]) -> HostResult<Vec<i64>> {
    let apply = |a: i64, b: i64| match op {
        Binary::Add => a.checked_add(b),
        Binary::Sub => a.checked_sub(b),
        Binary::Mul => a.checked_mul(b),
        Binary::Div => floor_div(a, b),
        Binary::Rem => floor_div(a, b).and_then(|q| a.checked_sub(q.checked_mul(b)?)),
        Binary::Max => Some(a.max(b)),
        Binary::Min => Some(a.min(b)),
        _ => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
    };
    (0..)
        .zip(x.iter().zip(y))
        .map(|(i, (&a, &b))| {
            if i % STRETCH == 0 {
                look();
            }
            apply(a, b).ok_or_else(|| {
                let divides = matches!(op, Binary::Div | Binary::Rem) && b == 0;
                let why = if divides { "divides by zero" } else { "overflows i64" };
                HostError::arithmetic(format!("`{a} {} {b}` {why}", op.symbol()))
            })
        })
        .collect()
}

fn compare<T: PartialOrd + Copy>(op: Binary, x: &[T], y: &[T]) -> Numbers {
    let test = |a: T, b: T| match op {
        Binary::Eq => a == b,
        Binary::Ne => a != b,
        Binary::Lt => a < b,
        Binary::Le => a <= b,
        Binary::Gt => a > b,
        _ => a >= b,
    };
    Numbers::Bool(zip(x, y, test))
}

/// Compares integers with floats, without rounding the integers; `op` is one of the six comparisons.
fn exactly(op: Binary, a: &Numbers, b: &Numbers) -> Vec<bool> {
    let is = |order: Option<Ordering>| match op {
        Binary::Eq => order == Some(Ordering::Equal),
        Binary::Ne => order != Some(Ordering::Equal),
        Binary::Lt => order == Some(Ordering::Less),
        Binary::Le => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Binary::Gt => order == Some(Ordering::Greater),
        _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    };
    match (a, b) {
        (Numbers::Float(x), ints) => {
            let y = ints.clone().into_ints().unwrap_or_default();
            zip(x, &y, |x, y| is(order(y, x).map(Ordering::reverse)))
        }
        (ints, floats) => {
            let x = ints.clone().into_ints().unwrap_or_default();
            zip(&x, &floats.clone().into_floats(), |x, y| is(order(x, y)))
        }
    }
}

/// Compares an integer with a float exactly, without rounding the integer; `None` for NaN.
fn order(x: i64, y: f64) -> Option<Ordering> {
    /// 2⁶³: a float is in the range of `i64` if it is at least `-END` and below `END`.
    const END: f64 = 9_223_372_036_854_775_808.0;
    let whole = y.floor();
    if y.is_nan() {
        return None;
    }
    if !(-END..END).contains(&whole) {
        return Some(if whole < 0.0 { Ordering::Greater } else { Ordering::Less });
    }
    Some(x.cmp(&(whole as i64)).then(if y > whole { Ordering::Less } else { Ordering::Equal }))
}

/// Applies `op` element by element.
///
/// # Errors
/// If `!` gets anything but truth values, or the negation or the absolute value of an integer overflows 64 bits.
pub fn unary(op: Unary, a: &Dense) -> HostResult<Dense> {
    let data = match (op, &a.data) {
        (Unary::Not, Numbers::Bool(v)) => Numbers::Bool(map(v, |x: bool| !x)),
        (Unary::Not, _) => return Err(HostError::ty("`!` needs a bool")),
        (Unary::Neg | Unary::Abs, Numbers::Int(_) | Numbers::Bool(_)) => {
            let ints = a.data.clone().into_ints().unwrap_or_default();
            let negate = op == Unary::Neg;
            let f = |x: i64| if negate || x < 0 { x.checked_neg() } else { Some(x) };
            let out: Option<Vec<i64>> = map(&ints, f).into_iter().collect();
            Numbers::Int(
                out.ok_or_else(|| HostError::arithmetic(format!("`-({})` overflows i64", i64::MIN)))?,
            )
        }
        (Unary::Floor | Unary::Ceil | Unary::Round, Numbers::Int(_)) => a.data.clone(),
        (Unary::IsNan | Unary::IsInf | Unary::IsFinite, _) => {
            let floats = a.data.clone().into_floats();
            let test: fn(f64) -> bool = match op {
                Unary::IsNan => f64::is_nan,
                Unary::IsInf => f64::is_infinite,
                _ => f64::is_finite,
            };
            Numbers::Bool(map(&floats, test))
        }
        _ => {
            let f = float_function(op);
            Numbers::Float(map(&a.data.clone().into_floats(), f))
        }
    };
    Ok(Dense { shape: a.shape.clone(), data })
}

fn float_function(op: Unary) -> fn(f64) -> f64 {
    match op {
        Unary::Neg => |x| -x,
        Unary::Abs => f64::abs,
        Unary::Exp => libm::exp,
        Unary::Exp2 => libm::exp2,
        Unary::Log => libm::log,
        Unary::Log2 => libm::log2,
        Unary::Log10 => libm::log10,
        Unary::Exp10 => libm::exp10,
        Unary::Expm1 => libm::expm1,
        Unary::Log1p => libm::log1p,
        Unary::Cbrt => libm::cbrt,
        Unary::Tan => libm::tan,
        Unary::Asin => libm::asin,
        Unary::Acos => libm::acos,
        Unary::Atan => libm::atan,
        Unary::Sinh => libm::sinh,
        Unary::Cosh => libm::cosh,
        Unary::Erfinv => hx_dtype::erfinv,
        Unary::Lgamma => libm::lgamma,
        Unary::Trunc => f64::trunc,
        Unary::Sign => |x| {
            if x > 0.0 {
                1.0
            } else if x < 0.0 {
                -1.0
            } else {
                x
            }
        },
        Unary::Sqrt => f64::sqrt,
        Unary::Rsqrt => |x| 1.0 / x.sqrt(),
        Unary::Sin => libm::sin,
        Unary::Cos => libm::cos,
        Unary::Tanh => libm::tanh,
        Unary::Sigmoid => |x| 1.0 / (1.0 + libm::exp(-x)),
        Unary::Erf => libm::erf,
        Unary::Floor => f64::floor,
        Unary::Ceil => f64::ceil,
        Unary::Round => f64::round_ties_even,
        Unary::Not | Unary::IsNan | Unary::IsInf | Unary::IsFinite => |x| x,
    }
}

/// Evaluates `where(c, x, y)`: each element is that of `x` if `c` holds, otherwise that of `y`.
///
/// # Errors
/// If `c` is not a tensor of truth values, the shapes do not broadcast, or the machine has no room for the result.
pub fn select(c: &Dense, x: &Dense, y: &Dense) -> HostResult<Dense> {
    let Numbers::Bool(_) = &c.data else {
        return Err(HostError::ty("the condition of `where(...)` is not a bool"));
    };
    let both = broadcast_shape(&x.shape, &y.shape).and_then(|s| broadcast_shape(&c.shape, &s));
    let Some(shape) = both else {
        return Err(HostError::shape(format!(
            "shapes {}, {} and {} do not broadcast in `where`",
            show_shape(&c.shape),
            show_shape(&x.shape),
            show_shape(&y.shape)
        )));
    };
    element_count(&shape)?;
    let Numbers::Bool(choice) = c.broadcast_to(&shape) else {
        return Err(HostError::ty("the condition of `where(...)` is not a bool"));
    };
    let (x, y) = (x.broadcast_to(&shape), y.broadcast_to(&shape));
    fn pick<T: Copy>(choice: &[bool], x: &[T], y: &[T]) -> Vec<T> {
        generate(choice.len(), |i| if choice[i] { x[i] } else { y[i] })
    }
    let data = match (x, y) {
        (Numbers::Bool(x), Numbers::Bool(y)) => Numbers::Bool(pick(&choice, &x, &y)),
        (x, y) if x.class() != Class::Float && y.class() != Class::Float => {
            let (x, y) = (x.into_ints().unwrap_or_default(), y.into_ints().unwrap_or_default());
            Numbers::Int(pick(&choice, &x, &y))
        }
        (x, y) => Numbers::Float(pick(&choice, &x.into_floats(), &y.into_floats())),
    };
    Ok(Dense { shape, data })
}
