//! `print` and `assert` in kernels: what this file says is the same on the simulator and on a GPU, byte by byte.
//!
//! ```text
//! for device in sim cuda; do hx run tests/gpu/print.hx --device $device > $device.txt; done; diff sim.txt cuda.txt
//! ```
//!
//! `hx test` runs the tests below on either device. The last kernel of `main` fails its assertions on purpose, so `hx run` ends with
//! exit code 1.

/// The accumulator of a product lies in fragments across the warps; every element is printed once.
kernel product<BM = 32, BN = 16, BK = 16>(a: f16[m, k], b: f16[n, k], c: mut f32[m, n])
    where k % BK == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 64
{
    let [bm, bn] = block_idx;
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for ki in 0..k / BK {
        let ra = load(tile(a, [BM, BK])[.., .., bm, ki]);
        let rb = load(tile(b, [BN, BK])[.., .., bn, ki]);
        gemm(acc, ra, rb);
        assert(abs(acc) <= 4096.0, "the sums stay small");
        if bm == 0 && bn == 1 {
            print("after", ki, acc);
        }
    }
    let s = shared_tensor(f32, [BM, BN]);
    copy(acc, s);
    sync();
    if bm == 0 && bn == 0 {
        print(s, s[8..16, 8..16].T, sum(acc, axis: 1), cast(acc, bf16));
    }
    copy(acc, tile(c, [BM, BN])[.., .., bm, bn]);
}

/// Elements of every kind and width, some held by several threads, some by none.
kernel kinds(x: f32[n], y: mut f32[n], s: f32, i: i32)
    grid [cdiv(n, 8)]
    threads 96
{
    let r = load(tile(x, [8], pad: 0.0)[.., block_idx]);
    let whole = cast(r, i32);
    print("floats", r, cast(r, f16), cast(r, bf16), cast(r, f64));
    print("integers", whole, cast(r, i8), cast(r, u8), cast(r, i64), whole % 3);
    print("truth", r > 2.0, !(r > 2.0), "numbers of the block", s, i, s < 2.0, block_idx, [i, block_idx * 8]);
    print("reduced", sum(r, axis: 0), max(r, axis: 0));
    print("a text alone");
    copy(r, tile(y, [8])[.., block_idx]);
}

/// How often a block prints only its data know.
kernel until(steps: i32[n], y: mut i32[n])
    grid [n]
    threads 32
{
    let left = steps[block_idx];
    while left > 0 {
        print(left);
        assert(left < 100);
        left = left - 2;
    }
    copy(load(tile(steps, [1])[.., block_idx]), tile(y, [1])[.., block_idx]);
}

/// Elements of rows that are too large.
kernel limited<BM = 4, BN = 32>(x: f32[m, n], limit: f32, y: mut f32[m, n])
    grid [cdiv(m, BM)]
    threads 128
{
    for j in 0..cdiv(n, BN) {
        let r = load(tile(x, [BM, BN])[.., .., block_idx, j]);
        assert(r < limit, "an element is too large");
        assert(sum(r, axis: 1) < limit * 16.0);
        copy(r, tile(y, [BM, BN])[.., .., block_idx, j]);
    }
    assert(block_idx < 2, "three blocks are too many");
}

fn nothing_failed(x: register f32[N]) {
    assert(x == x, "a number");
}

/// More blocks than there is room for.
kernel crowd(x: f32[n], y: mut f32[n])
    grid [n]
    threads 128
{
    let wide = register_tensor(f32, [128, 128]);
    fill(wide, 1.0);
    if block_idx >= 8 {
        print(block_idx, wide);
    }
    let r = load(tile(x, [1])[.., block_idx]);
    nothing_failed(r);
    print(r);
    copy(r, tile(y, [1])[.., block_idx]);
}

test "a product with prints" for (m, n, k) in [(32, 16, 16), (40, 24, 48)] {
    let a = cast((arange(f32, m * k) % 7.0 - 2.0).reshape([m, k]), f16);
    let b = cast((arange(f32, n * k) % 5.0 - 2.0).reshape([n, k]), f16);
    let c = empty(f32, [m, n]);
    product(a, b, c);
    assert_eq(c, a @ b.T);
}

test "every kind" for n in [8, 13] {
    let x = arange(f32, n);
    let y = empty(f32, n);
    kinds(x, y, 1.5, -3);
    assert_eq(y, x);
}

test "data decide" {
    let steps = cast([3, 0, 7, 1], i32);
    let y = empty(i32, 4);
    until(steps, y);
    assert_eq(y, steps);
}

test "assertions that hold" for (m, n) in [(8, 32), (5, 70)] {
    let x = ones(f32, [m, n]);
    let y = empty(f32, [m, n]);
    limited(x, 2.5, y);
    assert_eq(y, x);
}

test "a crowd" {
    let x = arange(f32, 530);
    let y = empty(f32, 530);
    crowd(x, y);
    assert_eq(y, x);
}

main {
    let a = cast((arange(f32, 40 * 32) % 7.0 - 2.0).reshape([40, 32]), f16);
    let b = cast((arange(f32, 24 * 32) % 5.0 - 2.0).reshape([24, 32]), f16);
    let c = empty(f32, [40, 24]);
    product(a, b, c);
    let x = arange(f32, 13);
    let y = empty(f32, 13);
    kinds(x, y, 1.5, -3);
    let left = empty(i32, 4);
    until(cast([3, 0, 7, 1], i32), left);
    let many = arange(f32, 530);
    let out = empty(f32, 530);
    crowd(many, out);
    let rows = arange(f32, 9 * 70).reshape([9, 70]);
    let to = empty(f32, [9, 70]);
    limited(rows, 300.0, to);
}
