//! Parts, transposes and choices of any tensor expression, and assignments to parts.

/// Indices and `.T` apply to expressions as to names.
kernel parts(x: f32[64, 48], y: mut f32[48, 32], z: mut f32[16, 48])
    grid [1]
    threads 128
{
    let v = load(x);
    copy((v + 1.0)[16..48].T, y);
    copy(sum(v * v, axis: 0)[.., 0..48] + (2.0 * v)[48..64, ..], z);
}

test "parts of expressions" {
    let x = randn(f32, [64, 48], seed: 1);
    let (y, z) = (empty(f32, [48, 32]), empty(f32, [16, 48]));
    parts(x, y, z);
    assert_eq(y, cast(x[16..48] + 1.0, f32).T);
    assert_close(z, sum(x * x, axis: 0, keepdims: true) + 2.0 * x[48..64], ulp: 8);
}

/// Choices between literals have the type of what they meet.
kernel choices<T: type = f32>(x: T[n], y: mut T[n], count: mut i32[n])
    grid [cdiv(n, 128)]
    threads 64
{
    let v = load(tile(x, [128])[.., block_idx]);
    let sign = where(v > 0.0, 1.0, where(v < 0.0, -1.0, 0.0));
    v = v + where(v > 1.0, 2.0, 0.0);
    copy(v * sign, tile(y, [128])[.., block_idx]);
    copy(where(v > 0.5, 3, 1) + cast(where(v < 0.0, 1.0, 0.0), i32), tile(count, [128])[.., block_idx]);
}

test "choices between literals" for T in [f32, f16, f64] {
    let x = randn(T, [300], seed: 1);
    x[7] = 0.0;
    let (y, count) = (empty(T, [300]), empty(i32, [300]));
    choices(x, y, count);
    let v = cast(x + where(x > 1.0, 2.0, 0.0), T);
    assert_eq(y, v * where(x > 0.0, 1.0, where(x < 0.0, -1.0, 0.0)));
    assert_eq(count, where(v > 0.5, 3, 1) + where(v < 0.0, 1, 0));
}

/// Parts change in place: by a number, a row, a column, and the tensor's own values.
kernel changed(x: f32[64, 48], rounds: i32, y: mut f32[64, 48])
    grid [1]
    threads 128
{
    let v = load(x);
    let means = sum(v, axis: 0) / 64.0;
    v[0..32] += 1.0;
    v[8, ..] = 7.0;
    v[.., 40..48] *= 0.5;
    v[32..64] -= means;
    for i in 0..rounds {
        v[60..64, 0..3] = cast(i, f32);
    }
    let at = index(v, 0);
    at[0..4, 5] = 100;
    copy(v + cast(at, f32), y);
}

test "parts change in place" for rounds in [0, 1, 3] {
    let x = randn(f32, [64, 48], seed: 1);
    let y = empty(f32, [64, 48]);
    changed(x, rounds, y);
    let v = copy(x);
    let means = sum(v, axis: 0, keepdims: true) / 64.0;
    v[0..32] = v[0..32] + 1.0;
    v[8] = 7.0;
    v[.., 40..48] = v[.., 40..48] * 0.5;
    v[32..64] = v[32..64] - means;
    if rounds > 0 {
        v[60..64, 0..3] = rounds - 1.0;
    }
    let at = cast(arange(i32, [64]).reshape([64, 1]) + zeros(i32, [1, 48]), i32);
    at[0..4, 5] = 100;
    assert_close(y, v + at, ulp: 8);
}

/// Counters of unrolled loops are axes and compile-time arguments.
fn scaled<FACTOR = 1>(x: f32) -> f32 { FACTOR * x }

kernel along(x: f32[32, 32], y: mut f32[32, 32])
    grid [1]
    threads 128
{
    let v = load(x);
    let total = v;
    #[unroll]
    for axis in 0..2 {
        total += max(v, axis: axis);
        total += scaled<FACTOR = axis + 2>(v);
    }
    copy(total, y);
}

test "counters as axes" {
    let x = randn(f32, [32, 32], seed: 1);
    let y = empty(f32, [32, 32]);
    along(x, y);
    let wanted = x + max(x, axis: 0, keepdims: true) + max(x, axis: 1, keepdims: true) + 5.0 * x;
    assert_close(y, wanted, ulp: 8);
}

kernel row_extremes<T: type = f32>(x: T[m, n], at: mut i32[m, 2])
    where n <= 64
    grid [cdiv(m, 16)]
    threads 128
{
    let v = load(tile(x, [16, 64])[.., .., block_idx, 0]);
    let inside = index(v, 1) < n;
    copy(argmax(where(inside, v, cast(-100, T)), axis: 1), tile(at, [16, 1])[.., .., block_idx, 0]);
    copy(argmin(where(inside, v, cast(100, T)), axis: 1), tile(at, [16, 1])[.., .., block_idx, 1]);
}

kernel column_extremes<T: type = f32>(x: T[m, n], at: mut i32[2, n])
    where m <= 32
    grid [cdiv(n, 16)]
    threads 64
{
    let v = load(tile(x, [32, 16])[.., .., 0, block_idx]);
    let inside = index(v, 0) < m;
    copy(argmax(where(inside, v, cast(-100, T)), axis: 0), tile(at, [1, 16])[.., .., 0, block_idx]);
    copy(argmin(where(inside, v, cast(100, T)).T, axis: 1).T, tile(at, [1, 16])[.., .., 1, block_idx]);
}

test "positions of extremes" for (T, m, n) in [(f32, 32, 64), (f16, 17, 5), (i32, 30, 50)] {
    let x = cast(uniform(i32, [m, n], low: -20, high: 20, seed: 1), T);
    let (rows, columns) = (empty(i32, [m, 2]), empty(i32, [2, n]));
    row_extremes(x, rows);
    column_extremes(x, columns);
    assert_eq(rows[.., 0], argmax(x, axis: 1));
    assert_eq(rows[.., 1], argmin(x, axis: 1));
    assert_eq(columns[0], argmax(x, axis: 0));
    assert_eq(columns[1], argmin(x, axis: 0));
}

test "the host sorts and finds" {
    let x = cast([[3, 1, 2], [1, 3, 3]], i32);
    assert_eq(sort(x), [[1, 2, 3], [1, 3, 3]]);
    assert_eq(sort(x, axis: 0), [[1, 1, 2], [3, 3, 3]]);
    assert_eq(argmax(x), 0);
    assert_eq(argmax(x, axis: 1, keepdims: true), [[0], [1]]);
    assert_eq(argmin(x, axis: 0), [1, 0, 0]);
    assert_eq(argmax(cast([1.0, nan, 2.0], f32)), 2);
}

/// A product and the sum that follows it round once. Two elements of `y` lie side by side in a thread, those of `z` do not.
kernel fused<T: type = f16>(a: T[n], b: T[n], c: T[n], y: mut T[4, n], z: mut T[n, 4])
    grid [cdiv(n, 128)]
    threads 64
{
    let at = block_idx;
    let (a, b, c) = (
        load(tile(a, [128])[.., at]),
        load(tile(b, [128])[.., at]),
        load(tile(c, [128])[.., at]),
    );
    #[unroll]
    for i in 0..4 {
        let v = a * b + c;
        if i == 1 {
            v = c + a * b;
        }
        if i == 2 {
            v = a * b - c;
        }
        if i == 3 {
            v = c - a * b;
        }
        copy(v, tile(y[i, ..], [128])[.., at]);
        copy(v, tile(z[.., i], [128])[.., at]);
    }
}

test "products are fused with sums" for (T, n) in [(f16, 100), (f16, 512), (bf16, 512), (f32, 100)] {
    let (a, b) = (randn(T, [n], seed: 1), randn(T, [n], seed: 2));
    // Sums that cancel show the digits that a product rounded by itself has lost.
    let c = cast(-a * b, T);
    let (y, z) = (empty(T, [4, n]), empty(T, [n, 4]));
    fused(a, b, c, y, z);
    let plus = cast(a * b + c, T);
    let minus = cast(a * b - c, T);
    assert_eq(y[0], plus);
    assert_eq(y[1], plus);
    assert_eq(y[2], minus);
    assert_eq(y[3], -minus);
    assert_eq(z, y.T);
}

test "a fused product rounds once" {
    // The product lies halfway between two numbers of the type, and the tiny addend decides.
    let one = cast(zeros(f32, [128]) + 1.0, bf16);
    let (y, z) = (empty(bf16, [4, 128]), empty(bf16, [128, 4]));
    fused(cast(one * 1.0078125, bf16), cast(one * 1.5, bf16), cast(one * -1e-30, bf16), y, z);
    assert_eq(y[0], one * 1.5078125);
    assert_eq(y[2], one * 1.515625);
    assert_eq(z, y.T);
}
