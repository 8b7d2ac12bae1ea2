//! Boxes at the ends of rows that are no multiple of 16 bytes, and at columns that are none. On a GPU, a box that is stored writes up
//! to the next multiple of 16 bytes, and one that begins elsewhere is an illegal instruction: such copies take other instructions.

kernel stored<T: type = f16, BM = 32, BN = 64, ADD = false>(x: T[m, n] : [lx, 1], y: mut T[m, n] : [ly, 1])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [i, j] = block_idx;
    let s = shared_tensor(T, [BM, BN]);
    copy(tile(x, [BM, BN])[.., .., i, j], s);
    sync();
    copy_async(s, tile(y, [BM, BN])[.., .., i, j], add: ADD);
    wait_stores(0);
}

kernel loaded<T: type = f16, BM = 32, BN = 64>(x: T[m, n] : [lx, 1], y: mut T[m, n2])
    grid [cdiv(m, BM), cdiv(n2, BN)]
    threads 128
{
    let [i, j] = block_idx;
    let s = shared_tensor(T, [BM, BN, 1]);
    let p = pipeline(1);
    let k = p.acquire();
    copy_async(tile(x, [BM, BN])[.., .., i, j], s[.., .., k], signal: p);
    let k = p.wait();
    copy(load(s[.., .., k]), tile(y, [BM, BN])[.., .., i, j]);
    p.release();
}

kernel row<T: type = f16, BN = 256>(x: T[n], y: mut T[n])
    grid [cdiv(n, BN)]
    threads 32
{
    let s = shared_tensor(T, [BN]);
    copy(tile(x, [BN])[.., block_idx], s);
    sync();
    copy_async(s, tile(y, [BN])[.., block_idx]);
    wait_stores(0);
}

kernel stored_at<O = 1>(x: i32[32, 32], y: mut i32[64, 64])
    grid [1]
    threads 64
{
    let s = shared_tensor(i32, [32, 32]);
    copy(x, s);
    sync();
    copy_async(s, y[0..32, O..O + 32]);
    wait_stores(0);
}

kernel stored_from(x: i32[32, 32], first: i32[1], y: mut i32[64, 64])
    grid [1]
    threads 64
{
    let s = shared_tensor(i32, [32, 32]);
    copy(x, s);
    sync();
    let o = first[0];
    copy_async(s, y[0..32, o..o + 32]);
    wait_stores(0);
}

kernel loaded_at<O = 1>(x: i32[64, 64], y: mut i32[32, 32])
    grid [1]
    threads 64
{
    let s = shared_tensor(i32, [32, 32, 1]);
    let p = pipeline(1);
    let k = p.acquire();
    copy_async(x[0..32, O..O + 32], s[.., .., k], signal: p);
    let k = p.wait();
    copy(load(s[.., .., k]), y);
    p.release();
}

test "nothing is written behind the ends of rows" for (T, n, ld, boxed) in [
    (f16, 466, 512, false),
    (f16, 129, 512, false),
    (f16, 464, 512, true),
    (f16, 72, 128, true),
    (f32, 129, 512, false),
    (f32, 132, 512, true),
    (u8, 129, 512, false),
    (u8, 144, 512, true),
    (u8, 466, 512, false),
    (i32, 5, 8, false),
] {
    let m = 40;
    let x = cast(arange(i32, [m, ld]) % 100, T);
    let y = cast(full(i32, [m + 1, ld], 77), T);
    stored<T = T>(x[.., 0..n], y[0..m, 0..n]);
    assert(uses("tma.store") == boxed);
    assert_eq(y[0..m, 0..n], x[.., 0..n]);
    assert_eq(y[0..m, n..ld], full(i32, [m, ld - n], 77));
    assert_eq(y[m], full(i32, [ld], 77));
}

test "nothing is added behind the ends of rows" for (T, n, ld, boxed) in [
    (f16, 466, 512, false),
    (f16, 129, 512, false),
    (f16, 464, 512, true),
    (f32, 129, 512, false),
    (f32, 132, 512, true),
    (i32, 466, 512, false),
] {
    let m = 40;
    let x = cast(arange(i32, [m, ld]) % 100, T);
    let y = cast(full(i32, [m + 1, ld], 7), T);
    stored<T = T, ADD = true>(x[.., 0..n], y[0..m, 0..n]);
    assert(uses("tma.reduce.add") == boxed);
    assert_eq(y[0..m, 0..n], x[.., 0..n] + 7);
    assert_eq(y[0..m, n..ld], full(i32, [m, ld - n], 7));
    assert_eq(y[m], full(i32, [ld], 7));
}

test "columns behind the ends of rows read as zeros" for (T, n) in [
    (f16, 466),
    (f16, 129),
    (f16, 464),
    (f32, 129),
    (f32, 132),
    (u8, 129),
    (u8, 466),
] {
    let (m, ld) = (40, 512);
    let x = cast(arange(i32, [m, ld]) % 100 + 1, T);
    let y = empty(T, [m, ld]);
    loaded<T = T>(x[.., 0..n], y);
    assert(uses("tma.load"));
    assert_eq(y[.., 0..n], x[.., 0..n]);
    assert_eq(y[.., n..ld], zeros(i32, [m, ld - n]));
}

test "a tensor of one dimension" for (T, n) in [
    (f16, 129),
    (f16, 1000),
    (f16, 1003),
    (f32, 257),
    (u8, 300),
    (u8, 301),
] {
    let x = cast(arange(i32, [n]) % 100 + 1, T);
    let y = cast(full(i32, [n + 64], 77), T);
    row<T = T>(x, y[0..n]);
    assert_eq(y[0..n], x);
    assert_eq(y[n..n + 64], full(i32, [64], 77));
}

test "boxes at columns that are no multiple of 16 bytes" for o in [1, 4, 31] {
    let x = cast(arange(i32, [32, 32]), i32);
    let y = zeros(i32, [64, 64]);
    stored_at<O = o>(x, y);
    assert(uses("tma.store") == (o % 4 == 0));
    assert_eq(y[0..32, o..o + 32], x);
    assert(sum(y) == sum(x));
    let z = zeros(i32, [64, 64]);
    stored_from(x, full(i32, [1], o), z);
    assert(!uses("tma.store"));
    assert_eq(z, y);
    let u = cast(arange(i32, [64, 64]), i32);
    let v = zeros(i32, [32, 32]);
    loaded_at<O = o>(u, v);
    assert(uses("tma.load") == (o % 4 == 0));
    assert_eq(v, u[0..32, o..o + 32]);
}
