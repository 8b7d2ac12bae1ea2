//! Functions as arguments of kernels and of other functions.

fn identity(x: f32) -> f32 {
    x
}

fn relu(x: f32) -> f32 {
    max(x, 0.0)
}

/// Numbers of one kind to numbers of another.
fn sign(x: f32) -> i32 {
    if_positive(x, 1, -1)
}

fn if_positive(x: f32, a: i32, b: i32) -> i32 {
    where(x > 0.0, a, b)
}

/// A function of a whole tile: each element minus the largest.
fn below_the_largest(x: register f32[N]) -> f32[N] {
    x - max(x, axis: 0)
}

/// Applies `F` as often as `TIMES` says.
fn repeated<F: fn, TIMES = 2>(x: register f32[N]) -> f32[N] {
    let y = x;
    #[unroll]
    for _ in 0..TIMES {
        y = F(y);
    }
    y
}

fn halved_twice(x: register f32[N]) -> f32[N] {
    repeated<F = half>(x)
}

fn half(x: f32) -> f32 {
    x * 0.5
}

/// y = F(x), in tiles of `B`.
kernel map<F: fn = identity, B = 256, T: type = f32>(x: f32[m], y: mut T[m])
    grid [cdiv(m, B)]
    threads 128
{
    let t = load(tile(x, [B])[.., block_idx]);
    copy(F(t), tile(y, [B])[.., block_idx]);
}

/// The function that a number chooses, unless the launch names one.
kernel chosen<POSITIVE = true, F: fn = if POSITIVE { relu } else { half }>(x: f32[m], y: mut f32[m])
    grid [cdiv(m, 256)]
    threads 128
{
    let f = F;
    let t = load(tile(x, [256])[.., block_idx]);
    copy(twice(t, f), tile(y, [256])[.., block_idx]);
}

fn twice(x: register f32[N], f: fn) -> f32[N] {
    f(f(x))
}

test "functions that a launch names" {
    let x = randn(f32, [1000], seed: 1);
    let y = empty(f32, [1000]);
    map(x, y);
    assert_eq(y, x);
    map<F = relu, B = 128>(x, y);
    assert_eq(y, max(x, 0.0));
    let signs = empty(i32, [1000]);
    map<F = sign>(x, signs);
    assert_eq(signs, where(x > 0.0, 1, -1));
    map<F = below_the_largest, B = 1024>(x, y);
    assert_close(y, x - max(max(x), 0.0), rtol: 1e-6, atol: 1e-6);
    map<F = halved_twice>(x, y);
    assert_eq(y, x * 0.25);
}

test "functions in the cases of a test" for (f, factor) in [(identity, 1.0), (half, 0.5)] {
    let x = randn(f32, [300], seed: 2);
    let y = empty(f32, [300]);
    map<F = f>(x, y);
    assert_eq(y, x * factor);
    assert((f == half) == (factor < 1.0));
}

test "functions that are chosen at compile time" {
    let x = randn(f32, [300], seed: 3);
    let y = empty(f32, [300]);
    chosen(x, y);
    assert_eq(y, max(x, 0.0));
    chosen<POSITIVE = false>(x, y);
    assert_eq(y, x * 0.25);
    chosen<F = identity>(x, y);
    assert_eq(y, x);
}

fn advance(at: register mut i32[N], by: i32) {
    at = at + by;
}

/// Coordinates take registers once something writes them: `fill`, `copy`, and a function, which may be called in a loop.
kernel written_coordinates(x: i32[64], y: mut i32[3, 64])
    grid [1]
    threads 32
{
    let t = load(x);
    let (i, j, k) = (index(t, 0), index(t, 0), index(t, 0));
    for _ in 0..3 {
        advance(i, 2);
    }
    copy(i, y[0]);
    copy(x, j);
    copy(j, y[1]);
    fill(k, 7);
    copy(k, y[2]);
}

test "coordinates that are written keep what was written" {
    let (x, y) = (uniform(i32, [64], seed: 1, low: 0, high: 99), empty(i32, [3, 64]));
    written_coordinates(x, y);
    assert_eq(y[0], arange(i32, [64]) + 6);
    assert_eq(y[1], x);
    assert_eq(y[2], full(i32, [64], 7));
}
