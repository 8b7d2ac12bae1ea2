//! Bit operators on symbolic integers, for the operands whose result is a symbolic expression.

use crate::{Expr, Facts};

/// An operator on the bits of two integers in two's complement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BitOp {
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

impl BitOp {
    /// All operators, in the order of the enumeration.
    pub const ALL: [BitOp; 5] = [BitOp::And, BitOp::Or, BitOp::Xor, BitOp::Shl, BitOp::Shr];

    /// Evaluates the operator on 64 bits. A shift by a negative amount or by 64 and more moves every bit out.
    ///
    /// Returns `None` if a shift to the left loses bits or changes the sign.
    pub fn eval(self, x: i64, y: i64) -> Option<i64> {
        let by = u32::try_from(y).ok().filter(|by| *by < 64);
        Some(match self {
            BitOp::And => x & y,
            BitOp::Or => x | y,
            BitOp::Xor => x ^ y,
            BitOp::Shr => x >> by.unwrap_or(63),
            BitOp::Shl if x == 0 => 0,
            BitOp::Shl => {
                let shifted = x << by?;
                return (shifted >> by? == x).then_some(shifted);
            }
        })
    }

    /// Returns an expression with the value of `a op b`. `None` if no such expression is known, for example for `x << y` with a
    /// symbol `y`.
    pub fn apply(self, a: &Expr, b: &Expr, facts: &Facts) -> Option<Expr> {
        if let (Some(x), Some(y)) = (a.as_const(), b.as_const()) {
            return self.eval(x, y).map(Expr::constant);
        }
        match self {
            BitOp::And | BitOp::Or | BitOp::Xor => {
                let is_natural = |x: &Expr| facts.proves_le(&Expr::default(), x);
                if self == BitOp::Xor && is_natural(a) && is_natural(b) {
                    return Some(a.xor(b));
                }
                let (x, mask) = b.as_const().map(|m| (a, m)).or_else(|| a.as_const().map(|m| (b, m)))?;
                // The sum `x + mask` of a large number and a mask may not fit 64 bits, although `x | mask` does.
                let is_small = |x: Option<i64>| x.is_some_and(|x| x.unsigned_abs() < 1 << 62);
                let (low, high) = facts.launch_range(x);
                let fits = self == BitOp::And || is_small(low) && is_small(high) && is_small(Some(mask));
                fits.then(|| self.masked(x, mask, facts))
            }
            // A shift to the left is a product with a power of two, and a shift to the right a quotient by one, rounded down.
            BitOp::Shl | BitOp::Shr => {
                let power = Expr::constant(1i64.checked_shl(u32::try_from(b.as_const()?).ok()?)?);
                power.as_const().filter(|power| *power > 0)?;
                Some(if self == BitOp::Shl { (a * &power).simplify(facts) } else { a.div(&power, facts) })
            }
        }
    }
}

impl BitOp {
    /// Returns `x op mask` as a sum, for `&`, `|` and `^`.
    fn masked(self, x: &Expr, mask: i64, facts: &Facts) -> Expr {
        let common = if mask >= 0 {
            common_bits(x, mask, facts)
        } else {
            // A negative mask has every bit except those of `!mask`.
            x.clone() - common_bits(x, !mask, facts)
        };
        match self {
            BitOp::And => common,
            // The sum `x + mask` counts each common bit twice: `|` counts it once, and `^` not at all.
            BitOp::Or => x.clone() + Expr::constant(mask) - common,
            _ => x.clone() + Expr::constant(mask) - common.scale(2),
        }
        .simplify(facts)
    }
}

/// Returns `x & mask` for a mask that is not negative.
fn common_bits(x: &Expr, mask: i64, facts: &Facts) -> Expr {
    let low = facts.divisor(x);
    let zeros = if low == 0 { i64::MAX } else { (low & low.wrapping_neg()) - 1 };
    match mask & !zeros {
        0 => Expr::default(),
        // If the mask is 2ⁿ - 1, `x & mask` is `x % 2ⁿ`, a form that proofs can bound.
        _ if mask & (mask + 1) == 0 && mask < i64::MAX => x.rem(&Expr::constant(mask + 1), facts),
        _ => x.and(mask),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Symbol;

    proptest! {
        #[test]
        fn an_expression_has_the_value_of_the_operator(
            x in any::<i32>(), scale in 1i64..70, y in -70i64..70, op in 0usize..5, swapped in any::<bool>(),
        ) {
            let op = BitOp::ALL[op];
            let symbol = Symbol::Scalar("x".into());
            let (a, b) = (Expr::symbol(symbol.clone()).scale(scale), Expr::constant(y));
            let (a, b) = if swapped { (b, a) } else { (a, b) };
            if let Some(stated) = op.apply(&a, &b, &Facts::default()) {
                let env = |s: &Symbol| (*s == symbol).then_some(i64::from(x));
                let value = |e: &Expr| e.eval(&env).ok();
                if let (Some(found), Some(wanted)) = (value(&stated), op.eval(value(&a).unwrap(), value(&b).unwrap())) {
                    prop_assert_eq!(found, wanted, "{} is {}", a, stated);
                }
            }
        }
    }

    #[test]
    fn known_numbers() {
        assert_eq!(BitOp::Shl.eval(1, 62), Some(1 << 62));
        assert_eq!(BitOp::Shl.eval(1, 63), None);
        assert_eq!(BitOp::Shl.eval(-1, 63), Some(i64::MIN));
        assert_eq!(BitOp::Shr.eval(-5, 70), Some(-1));
        assert_eq!(BitOp::Xor.eval(-1, 5), Some(!5));
    }
}
