// Inputs that are also outputs: each element is loaded by the thread that stores it, before it does.
kernel relu(x: f16[n], y: mut f16[n])
    grid [cdiv(n, 256)]
    threads 128
{
    copy(max(load(tile(x, [256])[.., block_idx]), 0.0), tile(y, [256])[.., block_idx]);
}

kernel add(x: f32[n], y: f32[n], z: mut f32[n])
    grid [cdiv(n, 512)]
    threads 64
{
    let t = tile(z, [512])[.., block_idx];
    copy(load(tile(x, [512])[.., block_idx]) + load(tile(y, [512])[.., block_idx]), t);
}

/// Rows turned by an angle: both halves of a row are loaded before either is stored.
kernel turned(x: f32[m, 64], y: mut f32[m, 64], c: f32, s: f32)
    grid [cdiv(m, 16)]
    threads 128
{
    let (xs, ys) = (tile(x, [16, 32])[.., .., block_idx, ..], tile(y, [16, 32])[.., .., block_idx, ..]);
    let (a, b) = (load(xs[.., .., 0]), load(xs[.., .., 1]));
    copy(a * c - b * s, ys[.., .., 0]);
    copy(a * s + b * c, ys[.., .., 1]);
}

/// Each block takes every so many tiles.
kernel scaled(x: f32[n], y: mut f32[n], by: f32)
    grid [min(3, cdiv(n, 128))]
    threads 32
{
    for t in 0..cdiv(cdiv(n, 128) - block_idx, grid_dim) {
        copy(
            load(tile(x, [128])[.., block_idx + t * grid_dim]) * by,
            tile(y, [128])[.., block_idx + t * grid_dim],
        );
    }
}

test "one tensor" for n in [1, 300, 2048] {
    let x = randn(f16, [n], seed: 1);
    let y = x.copy();
    relu(y, y);
    assert_eq(y, max(x, 0.0));
    let a = randn(f32, [n], seed: 2);
    let b = randn(f32, [n], seed: 3);
    let (p, q) = (a.copy(), b.copy());
    add(p, b, p);
    assert_eq(p, cast(a + b, f32));
    add(a, q, q);
    assert_eq(q, cast(a + b, f32));
    let c = a.copy();
    scaled(c, c, 2.0);
    assert_eq(c, a * 2.0);
}

test "turned" for m in [16, 37] {
    let x = randn(f32, [m, 64], seed: 4);
    let (y, z) = (x.copy(), empty(f32, [m, 64]));
    turned(x, z, 0.6, 0.8);
    turned(y, y, 0.6, 0.8);
    assert_eq(y, z);
}
