//! Operations on the bits of integers: their ranges, and their results for scalars of the block.

use hx_dtype::DType;

use super::integers::limits;
use super::program::{Node, Range, is_unsigned};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bit {
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Not,
    /// `popcount`.
    Ones,
    /// `clz`.
    Zeros,
    /// `mulhi`.
    Upper,
    /// `bitcast` to the other type of the same width.
    Same,
}

/// An operation on operands of one type.
#[derive(Clone, Debug)]
pub(super) struct Bits {
    pub(super) op: Bit,
    /// The type of the operands.
    pub(super) dtype: DType,
    pub(super) operands: Vec<Node>,
    /// The type of the count of a shift, if it is not that of the left operand. It holds every count that is drawn.
    pub(super) count: Option<DType>,
}

impl Bits {
    pub(super) fn node(op: Bit, dtype: DType, operands: &[&Node]) -> Node {
        let operands = operands.iter().map(|x| (*x).clone()).collect();
        Node::Bits(Bits { op, dtype, operands, count: None }.into())
    }

    /// Returns `x << y` or `x >> y` with a count of the type `count`.
    pub(super) fn shift(op: Bit, dtype: DType, [x, y]: [Node; 2], count: Option<DType>) -> Node {
        Node::Bits(Bits { op, dtype, operands: vec![x, y], count }.into())
    }

    pub(super) fn renumbered(&self, by: usize) -> Bits {
        let operands = self.operands.iter().map(|x| x.renumbered(by)).collect();
        Bits { operands, ..*self }
    }

    /// Evaluates the operation for scalars; `None` for one that only tiles have.
    pub(super) fn value(&self, x: i128, y: i128) -> Option<i128> {
        let bits = i128::from(self.dtype.bits());
        let amount = u32::try_from(if (0..bits).contains(&y) { y } else { bits }).ok()?;
        Some(match self.op {
            Bit::And => x & y,
            Bit::Or => x | y,
            Bit::Xor => x ^ y,
            Bit::Shl if i128::from(amount) == bits => 0,
            Bit::Shl => x.checked_mul(1 << amount)?,
            Bit::Shr => x >> amount,
            Bit::Not if is_unsigned(self.dtype) => (1 << bits) - 1 - x,
            Bit::Not => -1 - x,
            Bit::Ones | Bit::Zeros | Bit::Upper | Bit::Same => return None,
        })
    }
}

/// Returns the integer type of the same width and the other signedness.
pub(super) fn flipped(dtype: DType) -> DType {
    match dtype {
        DType::I8 => DType::U8,
        DType::U8 => DType::I8,
        DType::I16 => DType::U16,
        DType::U16 => DType::I16,
        DType::I32 => DType::U32,
        DType::U32 => DType::I32,
        DType::I64 => DType::U64,
        _ => DType::I64,
    }
}

/// Returns the range of `&`, `|` or `^`: the result has no more digits than the longer operand.
pub(super) fn joined_bits(op: Bit, a: Range, b: Range) -> Range {
    if op == Bit::And && (a.low >= 0 || b.low >= 0) {
        let highs = [a, b].into_iter().filter(|range| range.low >= 0).map(|range| range.high);
        return Range::new(0, highs.min().unwrap_or(0));
    }
    let both = a.union(b);
    let most = both.high.max(-1 - both.low).max(0);
    let digits = 64 - most.leading_zeros();
    let high = (1_i64 << digits.min(62)) - 1;
    Range::new(if both.low < 0 { -1 - high } else { 0 }, high)
}

/// Returns the range of `~x`; `None` for `u64`, where the reference does not hold the result.
pub(super) fn inverted(range: Range, dtype: DType) -> Option<Range> {
    match (is_unsigned(dtype), dtype.bits()) {
        (true, 64) => None,
        (true, _) => Some(range.map(|x| limits(dtype).high - x)),
        (false, _) => Some(range.map(|x| -1 - x)),
    }
}

#[test]
fn ranges_of_bits_hold_their_results() {
    let op = |op, x: i64, y: i64| match op {
        Bit::And => x & y,
        Bit::Or => x | y,
        _ => x ^ y,
    };
    let ranges = [Range::new(0, 3), Range::new(-3, 5), Range::new(-8, -1), Range::new(2, 9)];
    for kind in [Bit::And, Bit::Or, Bit::Xor] {
        for (a, b) in ranges.iter().flat_map(|a| ranges.iter().map(move |b| (*a, *b))) {
            let range = joined_bits(kind, a, b);
            for (x, y) in (a.low..=a.high).flat_map(|x| (b.low..=b.high).map(move |y| (x, y))) {
                let result = op(kind, x, y);
                assert!((range.low..=range.high).contains(&result), "{kind:?} {x} {y} in {range:?}");
            }
        }
    }
}
