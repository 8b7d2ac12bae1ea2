//! Symbolic integers: the arithmetic of dimensions, offsets, addresses and guards.
//!
//! An [`Expr`] is a canonical sum of products, so expressions that are equal as polynomials compare equal. Division,
//! remainder, minimum, maximum and the bit operations of swizzles are atoms inside the products. `/` and `%` floor, and
//! are 0 if the divisor is 0. An integer of a [`Width`] wraps. [`Facts`] hold divisors and ranges of the symbols, and
//! prove divisibility and inequalities.
//!
//! Invariant: the crate knows no tensor, no layout and no syntax.
//!
//! Start at [`Expr`], then [`Facts`].

mod bits;
mod cond;
mod divide;
mod expr;
mod facts;
mod period;
mod print;
mod proof;
mod refute;
#[cfg(test)]
mod tests;
mod width;

pub use bits::BitOp;
pub use cond::{CmpOp, Cond};
pub use divide::{floor_div, floor_mod};
pub use expr::{Atom, EvalError, Expr, Monomial, Symbol};
pub use facts::Facts;
pub use width::Width;

/// Returns the greatest common divisor; `gcd(0, x) = |x|`.
pub fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    // Of all results, only 2⁶³ does not fit, and half of it divides both numbers, too.
    i64::try_from(a).unwrap_or(1 << 62)
}
