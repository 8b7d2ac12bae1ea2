//! Kernels whose groups of threads have different tasks, each against a reference. The tasks share nothing but the tensors in
//! memory: they copy and compute disjoint parts, and synchronize within themselves.

/// One role doubles every other tile, the other one squares the rest.
kernel two_tasks<N = 256>(x: f32[m], y: mut f32[m])
    grid [cdiv(m, 2 * N)]
{
    let (xs, ys) = (tile(x, [N]), tile(y, [N]));
    warp_groups {
        producer {
            copy(load(xs[.., 2 * block_idx]) * 2.0, ys[.., 2 * block_idx]);
        }
        consumer 2 {
            let v = load(xs[.., 2 * block_idx + 1]);
            copy(v * v, ys[.., 2 * block_idx + 1]);
        }
    }
}

test "two roles compute parts of a tensor" {
    let x = randn(f32, [1500], seed: 1);
    let y = empty(f32, [1500]);
    two_tasks(x, y);
    for i in 0..6 {
        let t = x[256 * i..min(1500, 256 * i + 256)];
        let expected = if i % 2 == 0 { t * 2.0 } else { t * t };
        assert_close(y[256 * i..min(1500, 256 * i + 256)], expected, rtol: 1e-6, atol: 1e-6);
    }
}

/// A role of two groups transposes a tile through a shared tensor; another one sums the columns of the same tile.
kernel transposed_and_summed<B = 64>(x: f32[m, n], t: mut f32[n, m], sums: mut f32[r, n])
    where r * B >= m
    grid [cdiv(m, B), cdiv(n, B)]
{
    let [bm, bn] = block_idx;
    let s = shared_tensor(f32, [B, B]);
    warp_groups {
        consumer 2 {
            for k in 0..2 {
                sync();
                copy(
                    load(tile(x, [B, B / 2])[.., .., bm, 2 * bn + k]),
                    s[.., k * (B / 2)..(k + 1) * (B / 2)],
                );
                sync();
                let part = s[.., k * (B / 2)..(k + 1) * (B / 2)];
                copy(load(part.T), tile(t, [B / 2, B])[.., .., 2 * bn + k, bm]);
            }
        }
        consumer registers 168 {
            let v = load(tile(x, [B, B])[.., .., bm, bn]);
            copy(sum(v, axis: 0), tile(sums, [1, B])[.., .., bm, bn]);
        }
    }
}

test "a role of two groups meets at barriers of its own" {
    let x = randn(f32, [100, 130], seed: 2);
    let (t, sums) = (empty(f32, [130, 100]), empty(f32, [2, 130]));
    transposed_and_summed(x, t, sums);
    assert_close(t, x.T, rtol: 0.0, atol: 0.0);
    assert_close(sums[0, ..], sum(x[..64, ..], axis: 0), rtol: 1e-5, atol: 1e-5);
    assert_close(sums[1, ..], sum(x[64.., ..], axis: 0), rtol: 1e-5, atol: 1e-5);
}

/// Each of three groups normalizes rows of its own, through memory of its own.
kernel each_rows<ROWS = 8, N = 512>(x: f32[m, N], y: mut f32[m, N], last: mut f32[m, 1])
    grid [cdiv(m, 3 * ROWS)]
{
    let tiles = tile(x, [ROWS, N]);
    warp_groups {
        producer registers 40 {}
        consumer each 3 (g) {
            let i = 3 * block_idx + g;
            let s = shared_tensor(f32, [ROWS, N]);
            let v = load(tiles[.., .., i, 0]);
            let scaled = v / max(max(abs(v), axis: 1), 1.0e-20);
            copy(scaled, s);
            sync();
            let total = scan(load(s), axis: 1, op: |a, b| a + b);
            copy(total, tile(y, [ROWS, N])[.., .., i, 0]);
            copy(total[.., N - 1..], tile(last, [ROWS, 1])[.., .., i, 0]);
        }
    }
}

test "groups of one role have memory of their own" {
    let x = randn(f32, [50, 512], seed: 3);
    let (y, last) = (empty(f32, [50, 512]), empty(f32, [50, 1]));
    each_rows(x, y, last);
    let scaled = x / max(abs(x), axis: 1)[.., new];
    assert_close(last[.., 0], sum(scaled, axis: 1), rtol: 1e-4, atol: 1e-4);
    assert_close(y[.., ..1], scaled[.., ..1], rtol: 1e-5, atol: 1e-5);
    assert_close(y[.., 1..2], scaled[.., ..1] + scaled[.., 1..2], rtol: 1e-5, atol: 1e-5);
}

/// Halves the sum in memory, adds `v` to it, and returns the new sum.
fn add_to(s: shared mut f32[N], v: register f32[N], order: turns) -> f32[N] {
    order.take();
    let sum = load(s) * 0.5 + v;
    copy(sum, s);
    order.pass();
    sum
}

/// Two groups add their tiles to one sum in memory, one after the other: each reads what the group before it wrote.
kernel in_turns<N = 128, ROUNDS = 3>(x: f32[m], y: mut f32[m])
    grid [1]
{
    let s = shared_tensor(f32, [N]);
    let order = turns();
    fill(s, 1.0);
    sync();
    warp_groups {
        producer {}
        consumer each 2 (g) {
            for i in 0..ROUNDS {
                let sum = add_to(s, load(tile(x, [N])[.., 2 * i + g]), order);
                copy(sum, tile(y, [N])[.., 2 * i + g]);
            }
        }
    }
}

test "groups take turns" {
    let x = randn(f32, [768], seed: 4);
    let y = empty(f32, [768]);
    in_turns(x, y);
    let sum = x[..128] + 0.5;
    for i in 1..6 {
        sum = sum * 0.5 + x[128 * i..128 * i + 128];
    }
    assert_close(y[640..], sum, rtol: 1e-5, atol: 1e-5);
}
