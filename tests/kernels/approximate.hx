//! Arithmetic that is approximate because its result is rounded to 16 bits, beside the same kernel with `#[exact]`.

fn quotient(x: f32) -> f32 { 3.0 / x }

fn root(x: f32) -> f32 { sqrt(abs(x)) }

fn power_of_e(x: f32) -> f32 { exp(x) }

fn logarithm(x: f32) -> f32 { log(abs(x)) }

fn logarithm_of_2(x: f32) -> f32 { log2(abs(x)) }

fn logistic(x: f32) -> f32 { sigmoid(x) }

fn silu(x: f32) -> f32 { x * sigmoid(x) }

fn tangent(x: f32) -> f32 { tanh(x) }

fn power(x: f32) -> f32 { pow(abs(x), -1.7) }

kernel approximate<F: fn = quotient, T: type = f16>(x: f32[n], y: mut T[n])
    grid [cdiv(n, 256)]
    threads 128
{
    copy(cast(F(load(tile(x, [256])[.., block_idx])), T), tile(y, [256])[.., block_idx]);
}

#[exact]
kernel exact<F: fn = quotient, T: type = f16>(x: f32[n], y: mut T[n])
    grid [cdiv(n, 256)]
    threads 128
{
    copy(cast(F(load(tile(x, [256])[.., block_idx])), T), tile(y, [256])[.., block_idx]);
}

/// The upper halves of all floats of 32 bits but the last, whose bits are those with which simulated memory begins; each with a lower half in the
/// middle. Results are NaN where the reference is, and at most one unit beside it elsewhere.
test "the result is the exact one or a neighbour of it" for T in [f16, bf16] {
    let x = bitcast(cast((arange(i64, [65535]) << 16) | 0x5a5a, u32), f32);
    let y = empty(T, [65535]);
    approximate<F = quotient, T = T>(x, y);
    let wanted = cast(3.0 / x, T);
    assert_eq(isnan(y), isnan(wanted));
    assert_close(cast(where(isnan(wanted), 0.0, y), T), where(isnan(wanted), 0.0, wanted), ulp: 1);
    let y = empty(T, [65535]);
    approximate<F = root, T = T>(x, y);
    let wanted = cast(sqrt(abs(x)), T);
    assert_eq(isnan(y), isnan(wanted));
    assert_close(cast(where(isnan(wanted), 0.0, y), T), where(isnan(wanted), 0.0, wanted), ulp: 1);
    let y = empty(T, [65535]);
    approximate<F = power_of_e, T = T>(x, y);
    let wanted = cast(exp(x), T);
    assert_eq(isnan(y), isnan(wanted));
    assert_close(cast(where(isnan(wanted), 0.0, y), T), where(isnan(wanted), 0.0, wanted), ulp: 1);
    let y = empty(T, [65535]);
    approximate<F = logarithm, T = T>(x, y);
    let wanted = cast(log(abs(x)), T);
    assert_eq(isnan(y), isnan(wanted));
    assert_close(cast(where(isnan(wanted), 0.0, y), T), where(isnan(wanted), 0.0, wanted), ulp: 1);
    let y = empty(T, [65535]);
    approximate<F = logarithm_of_2, T = T>(x, y);
    let wanted = cast(log2(abs(x)), T);
    assert_eq(isnan(y), isnan(wanted));
    assert_close(cast(where(isnan(wanted), 0.0, y), T), where(isnan(wanted), 0.0, wanted), ulp: 1);
    let y = empty(T, [65535]);
    approximate<F = logistic, T = T>(x, y);
    let wanted = cast(sigmoid(x), T);
    assert_eq(isnan(y), isnan(wanted));
    assert_close(cast(where(isnan(wanted), 0.0, y), T), where(isnan(wanted), 0.0, wanted), ulp: 1);
    let y = empty(T, [65535]);
    approximate<F = silu, T = T>(x, y);
    let wanted = cast(x * sigmoid(x), T);
    assert_eq(isnan(y), isnan(wanted));
    assert_close(cast(where(isnan(wanted), 0.0, y), T), where(isnan(wanted), 0.0, wanted), ulp: 1);
    let y = empty(T, [65535]);
    approximate<F = tangent, T = T>(x, y);
    let wanted = cast(tanh(x), T);
    assert_eq(isnan(y), isnan(wanted));
    assert_close(cast(where(isnan(wanted), 0.0, y), T), where(isnan(wanted), 0.0, wanted), ulp: 1);
    let y = empty(T, [65535]);
    approximate<F = power, T = T>(x, y);
    let wanted = cast(pow(abs(x), -1.7), T);
    assert_eq(isnan(y), isnan(wanted));
    assert_close(cast(where(isnan(wanted), 0.0, y), T), where(isnan(wanted), 0.0, wanted), ulp: 1);
}

/// Quotients of numbers of any magnitude, from the smallest below the normal ones to infinity.
kernel quotients<T: type = f16>(a: f32[n], b: f32[n], y: mut T[n])
    grid [cdiv(n, 256)]
    threads 128
{
    let (p, q) = (load(tile(a, [256])[.., block_idx]), load(tile(b, [256])[.., block_idx]));
    copy(cast(p / q, T), tile(y, [256])[.., block_idx]);
}

test "quotients of numbers of any magnitude" for T in [f16, bf16] {
    let order = arange(i64, [65535]);
    let numbers = bitcast(cast((order << 16) | 0x1234, u32), f32);
    for step in [1, 7, 128, 4111, 33000] {
        let places = (order * step + step) % 65535;
        let others = bitcast(cast((places << 16) | 0xfedc, u32), f32);
        let y = empty(T, [65535]);
        quotients<T = T>(numbers, others, y);
        let wanted = cast(numbers / others, T);
        assert_eq(isnan(y), isnan(wanted));
        assert_close(cast(where(isnan(wanted), 0.0, y), T), where(isnan(wanted), 0.0, wanted), ulp: 1);
    }
}
