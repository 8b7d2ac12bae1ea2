//! Symbolic integers: the arithmetic of dimensions, offsets, addresses and guards.
//!
//! An [`Expr`] is kept in a canonical sum of products, so that two expressions that are equal as polynomials are equal as values.
//! Division, remainder, minimum, maximum and the bit operations of swizzles are atoms inside the products. `/` and `%` floor, and
//! are 0 where the divisor is 0. An integer of a [`Width`] wraps.
//! [`Facts`] hold what is known of the symbols (divisors and ranges) and prove divisibility and inequalities.
//!
//! The crate knows nothing of tensors, layouts or syntax. Start at [`Expr`], then [`Facts`].

mod cond;
mod divide;
mod expr;
mod facts;
mod print;
#[cfg(test)]
mod tests;
mod width;

pub use cond::{CmpOp, Cond};
pub use divide::{floor_div, floor_mod};
pub use expr::{Atom, EvalError, Expr, Monomial, Symbol};
pub use facts::Facts;
pub use width::Width;

/// Greatest common divisor; `gcd(0, x) = |x|`.
pub fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    // Only 2⁶³ does not fit; half of it divides as well.
    i64::try_from(a).unwrap_or(1 << 62)
}
