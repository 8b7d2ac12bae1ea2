//! Integer arithmetic of the reference: the ranges of types, wrapping, and scalars of the block, whose values are known when a
//! program is drawn.

use std::collections::BTreeSet;

use hx_dtype::DType;

use super::program::{Binary, Compare, Condition, Node, Range, is_unsigned};

/// Types of elements and scalars that are computed with.
pub(super) const WHOLE: &[DType] =
    &[DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32, DType::I64, DType::U64];

/// The greatest magnitude that the reference computes exactly, in f64.
const EXACT: i64 = 1 << 52;

/// A division of integers.
#[derive(Clone, Debug)]
pub(super) struct Division {
    /// The result is the remainder instead of the quotient.
    pub(super) remainder: bool,
    pub(super) operands: [Node; 2],
    pub(super) zero: Zero,
}

/// The result of a division by 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Zero {
    /// A condition excludes the division by 0 and chooses this constant.
    Constant(i64),
    /// A condition excludes the division by 0 and chooses the dividend.
    Dividend,
    /// The divisor is never 0.
    Never,
    /// The result is 0, and the simulator reports the division.
    Reported,
}

/// A scalar of the block.
#[derive(Clone, Debug)]
pub(super) struct Number {
    pub(super) dtype: DType,
    pub(super) start: Node,
    /// A loop: its number of rounds, and the expression of the scalar itself (argument 0) that replaces the scalar in each
    /// round. `None` without a loop.
    pub(super) steps: Option<(i64, Node)>,
    /// Whether the statement names the scalar's type.
    pub(super) annotated: bool,
}

/// Returns the range of a type; for 64 bits the range in which the reference is exact.
pub(super) fn limits(dtype: DType) -> Range {
    match (dtype.bits(), is_unsigned(dtype)) {
        (64, true) => Range::new(0, EXACT),
        (64, false) => Range::new(-EXACT, EXACT),
        (bits, true) => Range::new(0, (1 << bits) - 1),
        (bits, false) => Range::new(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
    }
}

pub(super) fn is_within(range: Range, outer: Range) -> bool {
    outer.low <= range.low && range.high <= outer.high
}

/// Wraps an expression to the range of a type if it may leave it. `None` if the reference is not exact.
pub(super) fn wrapped((node, range): (Node, Range), dtype: DType) -> Option<(Node, Range)> {
    if is_within(range, limits(dtype)) {
        return Some((node, range));
    }
    let exact = dtype.bits() < 64 && is_within(range, Range::new(-EXACT, EXACT));
    exact.then(|| (Node::Wrapped(node.into(), dtype), limits(dtype)))
}

/// Returns the low bits of a number, interpreted in the type. `None` if the reference is not exact.
fn low_bits(value: i128, dtype: DType) -> Option<i128> {
    let Range { low, high } = limits(dtype);
    let [low, high] = [low, high].map(i128::from);
    let wrapped = (value - low).rem_euclid(high - low + 1) + low;
    (dtype.bits() < 64 || wrapped == value).then_some(wrapped)
}

/// Returns the quotient rounded down, and the remainder with the sign of the divisor; both are 0 for the divisor 0.
fn divided(x: i128, by: i128) -> [i128; 2] {
    if by == 0 {
        return [0, 0];
    }
    let rest = x.rem_euclid(by);
    let rest = if by < 0 && rest != 0 { rest + by } else { rest };
    [(x - rest) / by, rest]
}

fn compared(how: Compare, a: i128, b: i128) -> bool {
    match how {
        Compare::Lt => a < b,
        Compare::Le => a <= b,
        Compare::Gt => a > b,
        Compare::Ge => a >= b,
        Compare::Eq => a == b,
        Compare::Ne => a != b,
    }
}

/// Reports whether the value of an expression leaves the range of a type. False if the value is not known: the expression uses
/// the scalar itself, or is beyond the reference.
pub(super) fn leaves(node: &Node, dtype: DType) -> bool {
    let value = if node.mentions(0) { None } else { evaluated(node, 0) };
    value.is_some_and(|value| low_bits(value, dtype) != Some(value))
}

impl Number {
    /// Returns the value after all steps; `None` if it is beyond the exact range of the reference.
    pub(super) fn value(&self) -> Option<i64> {
        let within = |value: i128| i64::try_from(value).ok().filter(|x| (-EXACT..=EXACT).contains(x));
        let mut value = within(evaluated(&self.start, 0)?)?;
        if let Some((count, step)) = &self.steps {
            for _ in 0..*count {
                value = within(evaluated(step, value)?)?;
            }
        }
        Some(value)
    }
}

/// Evaluates an expression of scalars. `own` is the value of argument 0.
fn evaluated(node: &Node, own: i64) -> Option<i128> {
    let of = |node: &Node| evaluated(node, own);
    Some(match node {
        Node::Arg(_) => own.into(),
        Node::Const(x) | Node::Launched(x) => (*x).into(),
        Node::Neg(x) => -of(x)?,
        Node::Abs(x) => of(x)?.abs(),
        Node::Binary(op, x, y) => {
            let (x, y) = (of(x)?, of(y)?);
            match op {
                Binary::Add => x + y,
                Binary::Sub => x - y,
                Binary::Mul => x.checked_mul(y)?,
                Binary::Min => x.min(y),
                Binary::Max => x.max(y),
            }
        }
        Node::Rem(x, n) => divided(of(x)?, (*n).into())[1],
        Node::Quotient(x, n) => divided(of(x)?, (*n).into())[0],
        Node::Wrapped(x, dtype) => low_bits(of(x)?, *dtype)?,
        Node::Cast(x, _) => of(x)?,
        Node::Divided(division) => {
            let [x, by] = division.operands.each_ref().map(of);
            let (x, by) = (x?, by?);
            match division.zero {
                Zero::Constant(other) if by == 0 => other.into(),
                Zero::Dividend if by == 0 => x,
                _ => divided(x, by)[usize::from(division.remainder)],
            }
        }
        Node::Select(_, conditions, x, y) => {
            let [Condition { compare, operands: [a, b], .. }] = conditions.as_slice() else { return None };
            if compared(*compare, of(a)?, of(b)?) { of(x)? } else { of(y)? }
        }
        Node::Number(number) => number.value()?.into(),
        Node::Bits(bits) => {
            let operands: Option<Vec<i128>> = bits.operands.iter().map(of).collect();
            let operands = operands?;
            bits.value(*operands.first()?, operands.get(1).copied().unwrap_or(0))?
        }
        Node::Index(_) | Node::Half(..) | Node::Ratio(..) | Node::Fma(..) | Node::Point(..) => return None,
    })
}

/// Returns every draw that a run of at least `MANY` programs must contain: each type with each of its uses.
pub(super) fn draws() -> BTreeSet<String> {
    let of = |types: &[DType], what: &str| -> Vec<String> {
        types.iter().map(|dtype| format!("{what} {dtype}")).collect()
    };
    let (narrow, unsigned) = (&WHOLE[..6], [DType::U8, DType::U16, DType::U32, DType::U64]);
    let mut all: BTreeSet<String> = ["tiles that wrap in", "numbers that wrap in"]
        .into_iter()
        .chain(["casts of tiles that wrap to", "casts of numbers that wrap to"])
        .flat_map(|what| of(narrow, what))
        .collect();
    all.extend(["quotients of", "remainders of", "numbers of type"].into_iter().flat_map(|w| of(WHOLE, w)));
    all.extend(of(&unsigned, "comparisons of"));
    all.extend(of(&[DType::I8, DType::U8, DType::I16, DType::U16], "starts of type"));
    all.extend(of(WHOLE, "bits of numbers of"));
    all.extend(["& of", "| of", "^ of", "<< of", ">> of"].into_iter().flat_map(|w| of(WHOLE, w)));
    for call in ["add", "min", "max", "and", "or", "xor"] {
        all.extend(["global", "shared"].map(|memory| format!("atomic_{call} in {memory} memory")));
        all.insert(format!("results of atomic_{call}"));
    }
    all.insert(DIVIDES_BY_ZERO.to_owned());
    all
}

/// The draw of a division by 0 whose result is used.
pub(super) const DIVIDES_BY_ZERO: &str = "divisions by 0";

#[test]
fn numbers_wrap_and_divisions_round_down() {
    for (value, dtype, want) in [
        (70000, DType::I8, 112),
        (-1, DType::U8, 255),
        (128, DType::I8, -128),
        (65536, DType::I16, 0),
        (-40000, DType::I16, 25536),
        (-1, DType::U32, 4_294_967_295),
    ] {
        assert_eq!(low_bits(value, dtype), Some(want), "{value} as {dtype}");
    }
    assert_eq!(low_bits(-1, DType::U64), None);
    for (x, by, want) in
        [(-7, 2, [-4, 1]), (7, -2, [-4, -1]), (-7, -2, [3, -1]), (7, 0, [0, 0]), (6, -2, [-3, 0])]
    {
        assert_eq!(divided(x, by), want, "{x} by {by}");
    }
}
