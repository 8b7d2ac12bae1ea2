//! Numbers of the block that change at run time, and conditions on them, each against a reference.

/// The scale of every row block, halved until it is at most `limit`.
kernel halved(x: f32[m], limit: f32, y: mut f32[m])
    grid [cdiv(m, 64)]
    threads 64
{
    let rx = load(tile(x, [64])[.., block_idx]);
    let scale = cast(1.0, f32);
    let rounds = 0;
    while scale > limit {
        scale = scale * 0.5;
        rounds += 1;
    }
    if scale < limit && rounds > 2 {
        rx = rx * scale;
    } else {
        rx = rx * -scale;
    }
    copy(rx, tile(y, [64])[.., block_idx]);
}

test "numbers change in loops" for limit in [1.0, 0.3, 0.1, 0.0625] {
    let x = randn(f32, [100], seed: 1);
    let y = empty(f32, [100]);
    halved(x, limit, y);
    let scale = 1.0;
    let rounds = 0;
    while scale > limit {
        scale = scale * 0.5;
        rounds += 1;
    }
    let sign = -1.0;
    if scale < limit && rounds > 2 {
        sign = 1.0;
    }
    assert_close(y, x * (scale * sign), rtol: 1e-6, atol: 0.0);
}

/// A table of numbers of the launch: `y = Σ w[i] · xⁱ` by Horner's rule.
kernel horner<T: type = f32>(x: T[m], w: T[n], y: mut T[m])
    grid [cdiv(m, 64)]
    threads 64
{
    let rx = load(tile(x, [64])[.., block_idx]);
    let sum = register_tensor(T, [64]);
    fill(sum, 0.0);
    let largest = cast(0.0, T);
    for i in 0..n {
        let wi = w[n - 1 - i];
        largest = max(largest, wi);
        sum = sum * rx + wi;
    }
    let positive = false;
    for i in 0..n {
        if w[i] > 0.5 {
            positive = true;
        }
    }
    let shift = if positive { largest } else { cast(-1.0, T) };
    copy(sum + shift, tile(y, [64])[.., block_idx]);
}

test "numbers are read from tensors" for (n, seed) in [(1, 1), (4, 2), (7, 3)] {
    let x = uniform(f32, [100], seed: 1, low: -1.0, high: 1.0);
    let w = randn(f32, [n], seed: seed);
    let y = empty(f32, [100]);
    horner(x, w, y);
    let sum = zeros(f64, [100]);
    for i in 0..n {
        sum = sum * x + w[n - 1 - i];
    }
    let shift = -1.0;
    let largest = max(w);
    if largest > 0.5 {
        shift = max(largest, 0.0);
    }
    assert_close(y, sum + shift, rtol: 1e-5, atol: 1e-5);
    let x2 = cast(x, f64);
    let w2 = cast(w, f64);
    let y2 = empty(f64, [100]);
    horner(x2, w2, y2);
    assert_close(y2, sum + shift, rtol: 1e-12, atol: 1e-12);
}

/// Tensors that depend on a condition of the launch.
kernel chosen(x: f32[m], n: i32, y: mut f32[m])
    grid [cdiv(m, 32)]
    threads 32
{
    let rx = load(tile(x, [32])[.., block_idx]);
    let ry = if n > 2 { rx * 2.0 } else { rx };
    let factor = if n > 1 { 1.5 } else { 3 };
    copy(ry * factor, tile(y, [32])[.., block_idx]);
}

test "a condition picks numbers and tensors" for (n, factor) in [(1, 3.0), (2, 1.5), (3, 3.0)] {
    let x = randn(f32, [40], seed: 1);
    let y = empty(f32, [40]);
    chosen(x, n, y);
    assert_close(y, x * factor, rtol: 1e-6, atol: 0.0);
}
