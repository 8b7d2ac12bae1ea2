//! Draws operations on the bits of integers, in tiles and in scalars of the block.

use hx_dtype::DType;

use super::bits::{Bit, Bits, flipped, inverted, joined_bits};
use super::draw::Draw;
use super::draw_integers::{Ranged, Tiles};
use super::integers::wrapped;
use super::program::{Binary, Node, Range, is_unsigned};

/// The greatest magnitude that is shifted left. The reference multiplies it by up to 2³⁴ in `f64`, and the product must be exact.
const SHIFTED: i64 = 1 << 17;
/// The greatest magnitude whose leading zeros are counted. The reference computes `floor(log2(x + 0.5))` in `f64`, where the logarithm
/// must not round up to an integer.
const COUNTED: i64 = 1 << 44;

impl Draw {
    /// Draws an operation on the bits of expressions in which each leaf has a tile.
    pub(super) fn bits(&mut self, tiles: &Tiles<'_>, dtype: DType, depth: usize) -> Ranged {
        use Bit::{And, Not, Ones, Or, Same, Shl, Shr, Upper, Xor, Zeros};
        let all = [And, Or, Xor, And, Shl, Shr, Shl, Shr, Not, Same, Ones, Zeros, Upper, Upper];
        let op = self.pick(if dtype.bits() >= 32 { &all } else { &all[..10] });
        if op == Same {
            let from = flipped(dtype);
            let (x, range) = self.whole(tiles, from, depth - 1);
            return wrapped((Bits::node(op, from, &[&x]), range), dtype)
                .unwrap_or_else(|| self.element(tiles, dtype));
        }
        let (x, a) = self.whole(tiles, dtype, depth - 1);
        let one = Bits::node(op, dtype, &[&x]);
        let count = Range::new(0, i64::from(dtype.bits()));
        let drawn = match op {
            And | Or | Xor => Some(self.joined_by(op, tiles, dtype, depth, (x, a))),
            Shl | Shr => self.moved(op, tiles, dtype, (x, a)),
            Not => inverted(a, dtype).map(|range| (one, range)),
            Ones => Some((one, count)),
            Zeros => (a.magnitude() <= COUNTED).then_some((one, count)),
            _ => Some(self.upper(tiles, dtype, (x, a))),
        };
        drawn.and_then(|drawn| wrapped(drawn, dtype)).unwrap_or_else(|| self.element(tiles, dtype))
    }

    fn joined_by(
        &mut self,
        op: Bit,
        tiles: &Tiles<'_>,
        dtype: DType,
        depth: usize,
        (x, a): Ranged,
    ) -> Ranged {
        let (y, b) = match self.below(3) {
            0 => {
                let constant = self.constant(dtype);
                (Node::Const(constant), Range::new(constant, constant))
            }
            _ => self.whole(tiles, dtype, depth - 1),
        };
        (Bits::node(op, dtype, &[&x, &y]), joined_bits(op, a, b))
    }

    /// Draws a shift by a constant, or by elements that may be negative or beyond the width.
    fn moved(&mut self, op: Bit, tiles: &Tiles<'_>, dtype: DType, (x, a): Ranged) -> Option<Ranged> {
        let bits = i64::from(dtype.bits());
        let (x, a) = if op == Bit::Shl && a.magnitude() > SHIFTED {
            (Node::Rem(x.into(), 100), Range::new(0, 99))
        } else {
            (x, a)
        };
        let most = if op == Bit::Shl { bits.min(32) } else { bits };
        let by = |times: i64| if op == Bit::Shl { a.map(|x| x << times) } else { a.map(|x| x >> times) };
        if self.percent(60) {
            // A constant that is the width of the type or more is an error.
            let times = self.below(bits.min(most + 2) as usize) as i64;
            let amount = Node::Const(times);
            return Some((Bits::node(op, dtype, &[&x, &amount]), by(times.min(63))));
        }
        let at = self.below(tiles.args.len());
        let element = self.argument(tiles, at, dtype).0;
        let mut amount = Node::Rem(element.into(), most + 2);
        if !is_unsigned(dtype) && bits <= 32 {
            amount = Node::Binary(Binary::Sub, amount.into(), Node::Const(1).into());
        }
        let out = if a.low < 0 { Range::new(-1, 0) } else { Range::new(0, 0) };
        let range = if op == Bit::Shl { by(most + 1).union(a) } else { a }.union(out);
        let count = self.count();
        Some((Bits::shift(op, dtype, [x, amount], count), range))
    }

    /// Draws the type of a count, which may be narrower or wider than that of the left operand.
    fn count(&mut self) -> Option<DType> {
        self.pick(&[None, Some(DType::I8), Some(DType::I32), Some(DType::I64)])
    }

    /// Draws the upper half of a product that the reference holds exactly.
    fn upper(&mut self, tiles: &Tiles<'_>, dtype: DType, (mut x, mut a): Ranged) -> Ranged {
        let (mut y, mut b) = self.element(tiles, dtype);
        for (node, range, by) in [(&mut y, &mut b, 1 << 20), (&mut x, &mut a, 1 << 30)] {
            if range.magnitude() > by {
                (*node, *range) = (Node::Rem(node.clone().into(), by), Range::new(0, by - 1));
            }
        }
        let range = a.zip(b, |x, y| (x * y) >> dtype.bits().min(62));
        (Bits::node(Bit::Upper, dtype, &[&x, &y]), range)
    }

    /// Draws an operation on the bits of scalars. The second operand of a shift may be beyond the width.
    pub(super) fn bits_of_numbers(&mut self, dtype: DType, x: &Node, depth: usize, own: bool) -> Node {
        let op = self.pick(&[Bit::And, Bit::Or, Bit::Xor, Bit::Shl, Bit::Shr, Bit::Not]);
        match op {
            Bit::Not => Bits::node(op, dtype, &[x]),
            Bit::Shl | Bit::Shr => {
                let most = if op == Bit::Shl { dtype.bits().min(32) } else { dtype.bits() };
                if self.percent(50) {
                    let amount = self.below(dtype.bits().min(most + 2) as usize) as i64;
                    return Bits::node(op, dtype, &[x, &Node::Const(amount)]);
                }
                let amount = Node::Launched(self.below(most as usize + 2) as i64);
                let count = self.count();
                Bits::shift(op, dtype, [x.clone(), amount], count)
            }
            _ => {
                let y = self.of_numbers(dtype, depth, own);
                Bits::node(op, dtype, &[x, &y])
            }
        }
    }
}
