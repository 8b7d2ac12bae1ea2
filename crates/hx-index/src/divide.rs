//! Division of the language: `/` and `%` floor, and both are 0 where the divisor is 0.

/// `⌊x / y⌋`; 0 where `y` is 0. The one quotient that does not fit, `i64::MIN / -1`, wraps to `i64::MIN`.
pub fn floor_div(x: i64, y: i64) -> i64 {
    if y == 0 {
        return 0;
    }
    let quotient = x.wrapping_div(y);
    if x.wrapping_rem(y) != 0 && (x < 0) != (y < 0) { quotient - 1 } else { quotient }
}

/// `x - ⌊x / y⌋ · y`, with the sign of `y`; 0 where `y` is 0.
pub fn floor_mod(x: i64, y: i64) -> i64 {
    if y == 0 {
        return 0;
    }
    let rest = x.wrapping_rem(y);
    if rest != 0 && (rest < 0) != (y < 0) { rest + y } else { rest }
}
