//! Functions of one and two numbers beside those of the host, which computes in f64.

/// y[i, ..] = each function of x, in the order of `test "functions of one number"`.
kernel of_one<T: type = f32>(x: T[512], y: mut T[16, 512])
    grid [1]
    threads 128
{
    let v = load(x);
    copy(log10(abs(v)), y[0]);
    copy(exp10(v), y[1]);
    copy(expm1(v), y[2]);
    copy(log1p(abs(v)), y[3]);
    copy(cbrt(v), y[4]);
    copy(sinh(v), y[5]);
    copy(cosh(v), y[6]);
    copy(tan(v), y[7]);
    copy(asin(v * 0.25), y[8]);
    copy(acos(v * 0.25), y[9]);
    copy(atan(v), y[10]);
    copy(erfinv(v * 0.25), y[11]);
    copy(lgamma(v), y[12]);
    copy(trunc(v), y[13]);
    copy(sign(v), y[14]);
    copy(clamp(v, -1.5, 2.0), y[15]);
}

/// y[i, ..] = each function of a and b.
kernel of_two<T: type = f32>(a: T[512], b: T[512], y: mut T[4, 512])
    grid [1]
    threads 128
{
    let (u, v) = (load(a), load(b));
    copy(atan2(u, v), y[0]);
    copy(fmod(u, v), y[1]);
    copy(copysign(u, v), y[2]);
    copy(clamp(u, -abs(v), abs(v)), y[3]);
}

kernel of_integers<T: type = i32>(x: T[512], y: mut T[2, 512])
    grid [1]
    threads 128
{
    let v = load(x);
    copy(sign(v), y[0]);
    copy(clamp(v, -3, 40), y[1]);
}

test "functions of one number" for (T, ulp) in [(f32, 8), (f64, 64), (f16, 2), (bf16, 2)] {
    let x = uniform(T, [512], low: -4, high: 4, seed: 1);
    let y = empty(T, [16, 512]);
    of_one(x, y);
    assert_close(y[0], log10(abs(x)), ulp: ulp, atol: 1e-6);
    assert_close(y[1], exp10(x), ulp: ulp);
    assert_close(y[2], expm1(x), ulp: ulp);
    assert_close(y[3], log1p(abs(x)), ulp: ulp);
    assert_close(y[4], cbrt(x), ulp: ulp);
    assert_close(y[5], sinh(x), ulp: ulp);
    assert_close(y[6], cosh(x), ulp: ulp);
    assert_close(y[7], tan(x), ulp: ulp);
    assert_close(y[10], atan(x), ulp: ulp);
    assert_close(y[12], lgamma(x), ulp: 2 * ulp, atol: 1e-5);
    assert_eq(y[13], trunc(x));
    assert_eq(y[14], sign(x));
    assert_eq(y[15], clamp(x, -1.5, 2.0));
    assert_close(y[8], asin(x * 0.25), ulp: ulp);
    assert_close(y[9], acos(x * 0.25), ulp: ulp);
    assert_close(y[11], erfinv(x * 0.25), ulp: ulp);
}

test "functions at their edges" {
    let x = zeros(f32, [512]);
    x[0..8] = [0.0, -0.0, 4.0, -4.0, inf, -inf, nan, 1.0];
    let y = empty(f32, [16, 512]);
    of_one(x, y);
    assert(y[8, 2] > 1.57 && y[9, 3] > 3.14 && isnan(y[8, 4]) && isnan(y[9, 5]));
    assert(isinf(y[11, 2]) && isinf(y[11, 3]) && y[11, 3] < 0.0 && isnan(y[11, 4]));
    assert(y[13, 4] == inf && y[14, 4] == 1.0 && y[14, 5] == -1.0 && isnan(y[14, 6]) && y[14, 0] == 0.0);
    assert(y[3, 4] == inf && y[2, 5] == -1.0 && y[12, 0] == inf && y[12, 7] == 0.0);
}

test "functions of two numbers" for (T, ulp) in [(f32, 8), (f64, 64), (f16, 2)] {
    let a = uniform(T, [512], low: -50, high: 50, seed: 2);
    let b = uniform(T, [512], low: -7, high: 7, seed: 3);
    let y = empty(T, [4, 512]);
    of_two(a, b, y);
    assert_close(y[0], atan2(a, b), ulp: ulp);
    assert_close(y[1], fmod(a, b), ulp: ulp);
    assert_eq(y[2], copysign(a, b));
    assert_eq(y[3], clamp(a, -abs(b), abs(b)));
}

test "signs and ranges of integers" for T in [i32, i64, i8, i16] {
    let x = uniform(T, [512], low: -100, high: 100, seed: 4);
    let y = empty(T, [2, 512]);
    of_integers(x, y);
    assert_eq(y[0], sign(x));
    assert_eq(y[1], clamp(x, -3, 40));
}
