//! Slices of tensors that begin anywhere: no access is wider than every address of it allows.

/// Rows and columns from `R` and `C` on.
kernel shifted<T: type = f32, R = 1, C = 1, N = 28>(x: T[32, 32], y: mut T[N, N])
    grid [1]
    threads 128
{
    let s = shared_tensor(T, [32, 32]);
    copy(x, s);
    sync();
    copy(s[R..R + N, C..C + N], y);
}

test "shifted" for (r, c) in [(0, 0), (1, 1), (0, 2), (3, 3), (2, 4), (4, 0)] {
    let x = cast(floor(uniform(f64, [32, 32], seed: 1) * 100.0), f32);
    let part = x[r..r + 28, c..c + 28];
    let y = empty(f32, [28, 28]);
    shifted<R = r, C = c>(x, y);
    assert_eq(y, part);
    let h = empty(f16, [28, 28]);
    shifted<T = f16, R = r, C = c>(cast(x, f16), h);
    assert_eq(h, part);
    let b = empty(u8, [28, 28]);
    shifted<T = u8, R = r, C = c>(cast(x, u8), b);
    assert_eq(b, part);
    let d = empty(f64, [28, 28]);
    shifted<T = f64, R = r, C = c>(cast(x, f64), d);
    assert_eq(d, part);
}

/// The same, with rows and columns swapped in shared memory.
kernel turned<C = 3>(x: f16[32, 64], y: mut f16[48, 32])
    grid [1]
    threads 64
{
    let s = shared_tensor(f16, [32, 64]);
    copy(x, s);
    sync();
    copy(s[.., C..C + 48].T, y);
}

test "turned" for c in [0, 1, 2, 4, 8, 15] {
    let x = randn(f16, [32, 64], seed: 2);
    let y = empty(f16, [48, 32]);
    turned<C = c>(x, y);
    assert_eq(y, x[.., c..c + 48].T);
}

/// Operands that begin at any column: matrices are loaded whole only from multiples of 16 bytes on.
kernel product<O = 4>(a: f16[48, 64], b: f16[40, 64], c: mut f32[48, 40])
    grid [1]
    threads 96
{
    let sa = shared_tensor(f16, [48, 64]);
    let sb = shared_tensor(f16, [40, 64]);
    copy(a, sa);
    copy(b, sb);
    sync();
    let acc = register_tensor(f32, [48, 40]);
    fill(acc, 0.0);
    gemm(acc, sa[.., O..O + 32], sb[.., O..O + 32]);
    copy(acc, c);
}

test "product" for o in [0, 1, 2, 4, 8, 12, 15] {
    let a = randn(f16, [48, 64], seed: 3);
    let b = randn(f16, [40, 64], seed: 4);
    let c = empty(f32, [48, 40]);
    product<O = o>(a, b, c);
    assert_close(c, a[.., o..o + 32] @ b[.., o..o + 32].T, rtol: 1e-4, atol: 1e-4);
}

/// Operands that walk through shared memory in a loop, some steps of which are no multiple of 16 bytes.
kernel walked(a: f16[32, 96], b: f16[24, 96], c: mut f32[32, 24])
    grid [1]
    threads 64
{
    let sa = shared_tensor(f16, [32, 96]);
    let sb = shared_tensor(f16, [24, 96]);
    copy(a, sa);
    copy(b, sb);
    sync();
    let acc = register_tensor(f32, [32, 24]);
    fill(acc, 0.0);
    for i in 0..5 {
        gemm(acc, sa[.., i * 20..i * 20 + 16], sb[.., i * 16..i * 16 + 16]);
    }
    copy(acc, c);
}

test "walked" {
    let a = randn(f16, [32, 96], seed: 5);
    let b = randn(f16, [24, 96], seed: 6);
    let c = empty(f32, [32, 24]);
    walked(a, b, c);
    let want = zeros(f64, [32, 24]);
    for i in 0..5 {
        want = want + a[.., i * 20..i * 20 + 16] @ b[.., i * 16..i * 16 + 16].T;
    }
    assert_close(c, want, rtol: 1e-4, atol: 1e-4);
}

/// In an unrolled loop, the first slice is aligned and the others are not.
kernel unrolled(x: f16[16, 64], y: mut f32[16, 20])
    grid [1]
    threads 32
{
    let s = shared_tensor(f16, [16, 64]);
    copy(x, s);
    sync();
    let r = register_tensor(f32, [16, 20]);
    fill(r, 0.0);
    #[unroll]
    for i in 0..4 {
        r = r + cast(load(s[.., i * 11..i * 11 + 20]), f32);
    }
    copy(r, y);
}

/// In a rolled loop, every slice begins at a multiple of 2 and no more.
kernel rolled(x: f16[16, 64], y: mut f32[16, 20])
    grid [1]
    threads 32
{
    let s = shared_tensor(f16, [16, 64]);
    copy(x, s);
    sync();
    let r = register_tensor(f32, [16, 20]);
    fill(r, 0.0);
    for i in 0..4 {
        r = r + cast(load(s[.., i * 12 + 2..i * 12 + 22]), f32);
    }
    copy(r, y);
}

test "loops" {
    let x = randn(f16, [16, 64], seed: 7);
    let y = empty(f32, [16, 20]);
    unrolled(x, y);
    assert_close(y, x[.., 0..20] + x[.., 11..31] + x[.., 22..42] + x[.., 33..53], rtol: 1e-5, atol: 1e-5);
    rolled(x, y);
    assert_close(y, x[.., 2..22] + x[.., 14..34] + x[.., 26..46] + x[.., 38..58], rtol: 1e-5, atol: 1e-5);
}

/// A start that only the launch knows, and one of which the launch knows that 4 divides it.
kernel launched(x: f32[64], y: mut f32[32], z: mut f32[32], o: i32)
    where o >= 0, o <= 8
    grid [1]
    threads 32
{
    let s = shared_tensor(f32, [64]);
    copy(x, s);
    sync();
    copy(s[o..o + 32], y);
    copy(s[o * 4..o * 4 + 32], z);
}

test "launched" for o in [0, 1, 2, 3, 4, 8] {
    let x = randn(f32, [64], seed: 8);
    let y = empty(f32, [32]);
    let z = empty(f32, [32]);
    launched(x, y, z, o);
    assert_eq(y, x[o..o + 32]);
    assert_eq(z, x[o * 4..o * 4 + 32]);
}

/// A tile in a frame of zeros, stored by threads and by asynchronous copies.
kernel framed(x: f32[32, 32], y: mut f32[34, 34], z: mut f32[34, 36])
    grid [1]
    threads 64
{
    let s = shared_tensor(f32, [34, 34]);
    let t = shared_tensor(f32, [34, 36]);
    let zeros = register_tensor(f32, [34, 36]);
    fill(zeros, 0.0);
    copy(zeros[.., 0..34], s);
    copy(zeros, t);
    sync();
    copy(x, s[1..33, 1..33]);
    copy_async(x, t[1..33, 2..34]);
    commit();
    wait(0);
    sync();
    copy(s, y);
    copy(t, z);
}

test "framed" {
    let x = randn(f32, [32, 32], seed: 9);
    let y = empty(f32, [34, 34]);
    let z = empty(f32, [34, 36]);
    framed(x, y, z);
    assert_eq(y[1..33, 1..33], x);
    assert_eq(z[1..33, 2..34], x);
    assert(sum(abs(y)) == sum(abs(x)) && sum(abs(z)) == sum(abs(x)));
}

/// Asynchronous copies to and from slices of packed elements, in the pieces that both ends allow: 16, 8 and 4 bytes.
kernel packed<O = 8, P = 16>(x: u4[16, 96], y: mut u4[16, 64])
    grid [1]
    threads 32
{
    let s = shared_tensor(u4, [16, 128]);
    copy_async(x[0..16, O..O + 64], s[.., P..P + 64]);
    commit();
    wait(0);
    sync();
    copy(s[.., P..P + 64], y);
}

/// The same through registers, from and to whole bytes.
kernel packed_bytes<O = 2, P = 6>(x: u4[16, 96], y: mut u4[16, 64])
    grid [1]
    threads 32
{
    let s = shared_tensor(u4, [16, 128]);
    copy(x[0..16, O..O + 64], s[.., P..P + 64]);
    sync();
    copy(s[.., P..P + 64], y);
}

test "packed" {
    let x = uniform(u4, [16, 96], low: 0, high: 16, seed: 10);
    let y = empty(u4, [16, 64]);
    packed(x, y);
    assert_eq(y, x[.., 8..72]);
    packed<O = 32, P = 32>(x, y);
    assert_eq(y, x[.., 32..96]);
    packed<O = 0, P = 48>(x, y);
    assert_eq(y, x[.., 0..64]);
    packed_bytes(x, y);
    assert_eq(y, x[.., 2..66]);
    packed_bytes<O = 16, P = 4>(x, y);
    assert_eq(y, x[.., 16..80]);
}

/// A start that is even for every launch keeps bytes whole.
kernel packed_launched(x: u4[16, 64], y: mut u4[16, 32], o: i32)
    where o >= 0, o <= 16
    grid [1]
    threads 32
{
    let s = shared_tensor(u4, [16, 64]);
    copy(x, s);
    sync();
    copy(s[.., o * 2..o * 2 + 32], y);
}

test "packed, launched" for o in [0, 1, 2, 5, 16] {
    let x = uniform(u4, [16, 64], low: 0, high: 16, seed: 11);
    let y = empty(u4, [16, 32]);
    packed_launched(x, y, o);
    assert_eq(y, x[.., o * 2..o * 2 + 32]);
}

/// Slices of layouts that are pinned: a swizzle, and rows that are no multiple of an access apart.
kernel pinned<R = 2, C = 2>(x: f16[64, 64], y: mut f16[56, 56], z: mut f16[56, 56])
    grid [1]
    threads 128
{
    let s = shared_tensor(f16, [64, 64], layout: swizzle<3, 3, 3> ∘ (64, 64) : (64, 1));
    let t = shared_tensor(f16, [64, 64], layout: (64, 64) : (66, 1));
    copy(x, s);
    copy(x, t);
    sync();
    copy(s[R..R + 56, C..C + 56], y);
    copy(t[R..R + 56, C..C + 56], z);
}

/// The first row of a pinned layout is known at launch only: of rows 66 elements apart, two neighbours are together in all.
kernel pinned_launched(x: f16[64, 64], y: mut f16[8, 64], o: i32)
    where o >= 0, o <= 56
    grid [1]
    threads 32
{
    let t = shared_tensor(f16, [64, 64], layout: (64, 64) : (66, 1));
    copy(x, t);
    sync();
    copy(t[o..o + 8, ..], y);
}

test "pinned" for (r, c) in [(0, 0), (2, 2), (1, 8), (8, 1), (3, 4)] {
    let x = randn(f16, [64, 64], seed: 12);
    let y = empty(f16, [56, 56]);
    let z = empty(f16, [56, 56]);
    pinned<R = r, C = c>(x, y, z);
    assert_eq(y, x[r..r + 56, c..c + 56]);
    assert_eq(z, x[r..r + 56, c..c + 56]);
    let rows = empty(f16, [8, 64]);
    pinned_launched(x, rows, r * 4 + c);
    assert_eq(rows, x[r * 4 + c..r * 4 + c + 8]);
}

/// Tiles of a slice, and stages whose size is odd.
kernel tiled(x: f32[20, 20], y: mut f32[8, 8], z: mut f32[7, 9])
    grid [1]
    threads 32
{
    let s = shared_tensor(f32, [20, 20]);
    copy(x, s);
    let stages = shared_tensor(f32, [7, 9, 3]);
    for i in 0..3 {
        copy(x[0..7, 0..9], stages[.., .., i]);
    }
    sync();
    copy(tile(s[2..18, 2..18], [8, 8])[.., .., 1, 1], y);
    copy(load(stages[.., .., 0]) + load(stages[.., .., 1]) + load(stages[.., .., 2]), z);
}

test "tiled" {
    let x = randn(f32, [20, 20], seed: 13);
    let y = empty(f32, [8, 8]);
    let z = empty(f32, [7, 9]);
    tiled(x, y, z);
    assert_eq(y, x[10..18, 10..18]);
    assert_close(z, x[0..7, 0..9] * 3, ulp: 2);
}

/// Slices of global memory: sums, rows that a slice of a table picks, and a start that only the launch knows.
kernel beyond(x: f32[64, 32], table: i32[24], y: mut f32[48], z: mut f32[16, 32], w: mut f32[32], o: i32)
    where o >= 0, o <= 16
    grid [3]
    threads 32
{
    let t = shared_tensor(i32, [24]);
    copy(table, t);
    sync();
    atomic_add(y[o..o + 32], load(x[0, 0..32]));
    copy(gather(x, t[3..19]), z);
    copy(x[o, 0..32], w);
}

test "beyond" for o in [0, 1, 3, 16] {
    let x = cast(floor(uniform(f64, [64, 32], seed: 14) * 9.0), f32);
    let table = uniform(i32, [24], low: 0, high: 64, seed: 15);
    let y = zeros(f32, [48]);
    let z = empty(f32, [16, 32]);
    let w = empty(f32, [32]);
    beyond(x, table, y, z, w, o);
    assert_eq(y[o..o + 32], x[0] * 3);
    assert(sum(y) == sum(x[0]) * 3);
    for i in 0..16 {
        assert_eq(z[i], x[table[i + 3]]);
    }
    assert_eq(w, x[o]);
}

/// Parts of a tile, picked by two counters of loops that are written out: the inner one has a local of its own in each round.
kernel nested(x: f32[16, 64], y: mut f32[16, 64])
    grid [1]
    threads 32
{
    let r = load(x);
    #[unroll]
    for i in 0..4 {
        #[unroll]
        for j in 0..2 {
            let from = i * 16 + j * 8;
            copy(r[.., from..from + 8] * 2.0, y[.., from..from + 8]);
        }
    }
}

test "loops in loops" {
    let x = randn(f32, [16, 64], seed: 11);
    let y = empty(f32, [16, 64]);
    nested(x, y);
    assert_eq(y, x * 2.0);
}
