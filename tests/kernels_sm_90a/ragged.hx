//! Parts of a tensor that end where the kernel says: boxes are clipped there, for loads, stores and sums.

/// Doubles the rows of each sequence in `y`, which has no others.
kernel doubled<M = 64, D = 64, T: type = f16>(x: T[m, D], y: mut T[m, D], starts: i32[ends], longest: i32)
    where ends >= 1
    grid [cdiv(longest, M), ends - 1]
    threads 128
{
    let [i, sequence] = block_idx;
    let (first, end) = (max(0, starts[sequence]), starts[sequence + 1]);
    let (s, slot, pipe) = (shared_tensor(T, [M, D, 1]), shared_tensor(T, [M, D]), pipeline(1));
    let stage = pipe.acquire();
    copy_async(tile(x[first..end], [M, D])[.., .., i, 0], s[.., .., stage], signal: pipe);
    let stage = pipe.wait();
    let t = load(s[.., .., stage]);
    pipe.release();
    copy(t + t, slot);
    sync();
    copy_async(slot, tile(y[first..end], [M, D])[.., .., i, 0]);
}

/// Starts of sequences, of which one is empty; one ends behind the tensor, and one begins there.
test "boxes end with their part" for (T, m) in [(f16, 200), (f32, 200), (f16, 0), (f16, 131)] {
    let x = randn(T, [m, 64], seed: 1);
    let y = full(T, [m, 64], 7.0);
    let starts = cast(zeros(i64, [7]), i32);
    for (i, at) in [(0, 3), (1, 70), (2, 70), (3, 198), (4, 199), (5, 230), (6, 300)] {
        starts[i] = at;
    }
    doubled<T = T>(x, y, starts, 128);
    assert(uses("tma.load") && uses("tma.store"));
    let row = reshape(arange(i64, [m]), [m, 1]);
    assert_eq(y, where(row < 3, full(T, [m, 64], 7.0), x * 2.0));
}

/// A sequence after the tensor's rows, and starts that are no rows at all: nothing is read or written outside.
test "parts outside of their tensor" for (first, end) in [
    (-5, 20),
    (190, 1000),
    (90, 40),
    (-100, -50),
    (2000, 3000),
] {
    let x = randn(f16, [200, 64], seed: 1);
    let y = full(f16, [200, 64], 7.0);
    let starts = cast(zeros(i64, [2]), i32);
    starts[0] = first;
    starts[1] = end;
    doubled(x, y, starts, 256);
    let row = reshape(arange(i64, [200]), [200, 1]);
    assert_eq(y, where(row >= first && row < end, x * 2.0, full(f16, [200, 64], 7.0)));
}

/// Adds the rows of `x` to those from `first` to before `end` of `y`, per head.
kernel added<M = 32, D = 32>(x: f32[n, h, D], y: mut f32[m, h, D], first: i32, end: i32)
    where first >= 0
    grid [cdiv(n, M), h]
    threads 64
{
    let [i, head] = block_idx;
    let s = shared_tensor(f32, [M, D]);
    copy(tile(x[.., head], [M, D])[.., .., i, 0], s);
    sync();
    copy_async(s, tile(y[first..end, head], [M, D])[.., .., i, 0], add: true);
}

test "sums end with their part" {
    let x = randn(f32, [70, 3, 32], seed: 1);
    let y = randn(f32, [100, 3, 32], seed: 2);
    let z = y.copy();
    added(x, y, 10, 60);
    assert(uses("tma.reduce.add"));
    assert_eq(y[..10], z[..10]);
    assert_eq(y[60..], z[60..]);
    assert_close(y[10..60], z[10..60] + x[..50], rtol: 1e-6, atol: 1e-6);
}

/// Four dimensions and two more are more than a map has, so that threads copy.
kernel moved<M = 64, D = 64>(x: f16[b, h, m, D], y: mut f16[b, h, m, D], first: i32, end: i32)
    where first >= 0
    grid [cdiv(m, M), h, b]
    threads 128
{
    let [i, head, batch] = block_idx;
    let (s, pipe) = (shared_tensor(f16, [M, D, 1]), pipeline(1));
    let stage = pipe.acquire();
    copy_async(tile(x[batch, head, first..end], [M, D])[.., .., i, 0], s[.., .., stage], signal: pipe);
    let stage = pipe.wait();
    copy_async(s[.., .., stage], tile(y[batch, head, first..end], [M, D])[.., .., i, 0]);
}

test "parts of four dimensions are copied by threads" {
    let x = randn(f16, [2, 2, 150, 64], seed: 1);
    let y = full(f16, [2, 2, 150, 64], 7.0);
    moved(x, y, 5, 139);
    assert(uses("cp.async") && !uses("tma.load") && !uses("tma.store"));
    assert_eq(y[.., .., 5..139], x[.., .., 5..139]);
    assert_eq(y[.., .., ..5], full(f16, [2, 2, 5, 64], 7.0));
    assert_eq(y[.., .., 139..], full(f16, [2, 2, 11, 64], 7.0));
}
