//! Division as the language defines it: `/` and `%` floor, and both are 0 if the divisor is 0.

/// Returns `⌊x / y⌋`; 0 if `y` is 0. The only quotient that does not fit, `i64::MIN / -1`, wraps to `i64::MIN`.
pub fn floor_div(x: i64, y: i64) -> i64 {
    if y == 0 {
        return 0;
    }
    let quotient = x.wrapping_div(y);
    if x.wrapping_rem(y) != 0 && (x < 0) != (y < 0) { quotient - 1 } else { quotient }
}

/// Returns `x - ⌊x / y⌋ · y`, with the sign of `y`; 0 if `y` is 0.
pub fn floor_mod(x: i64, y: i64) -> i64 {
    if y == 0 {
        return 0;
    }
    let rest = x.wrapping_rem(y);
    if rest != 0 && (rest < 0) != (y < 0) { rest + y } else { rest }
}
