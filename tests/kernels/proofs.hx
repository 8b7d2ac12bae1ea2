//! Numbers read at indices that the compiler proves to be inside of their tensor, as a reader does: through minima and maxima,
//! quotients and remainders, `if`, loops, equalities in `where` clauses, assertions and rings kept by hand.

/// The element that a clamped index picks.
kernel clamped<B = 32>(t: i32[n], y: mut i32[B], i: i32)
    where n >= 1
    grid [1]
    threads 32
{
    let v = t[max(0, min(i, n - 1))];
    copy(filled<B = B>(v), y);
}

fn filled<B = 32>(v: i32) -> i32[B] {
    let r = register_tensor(i32, [B]);
    fill(r, 0);
    r + v
}

test "an index that is clamped" for i in [-5, 0, 7, 9, 10, 1000] {
    let (t, y) = (cast(arange(i32, [10]) * 3, i32), empty(i32, [32]));
    clamped(t, y, i);
    assert_eq(y, full(i32, [32], min(max(i, 0), 9) * 3));
}

/// Blocks in one axis, of which each takes a row and a column; every `q / k` heads share one of the `k` groups.
kernel shared_heads<B = 32>(t: i32[b, q], groups: i32[k], y: mut i32[b, q, B])
    where k >= 1, q % k == 0
    grid [b * q]
    threads 32
{
    let (i, head) = (block_idx / q, block_idx % q);
    let v = t[i, head] + groups[head / (q / k)];
    copy(filled<B = B>(v), y[i, head, ..]);
}

test "heads that share a group" for (b, q, k) in [(2, 6, 3), (1, 4, 1), (3, 2, 2)] {
    let (t, groups) = (uniform(i32, [b, q], low: 0, high: 99, seed: 1), cast(arange(i32, [k]) * 100, i32));
    let y = empty(i32, [b, q, 32]);
    shared_heads(t, groups, y);
    for i in 0..b {
        for j in 0..q {
            assert_eq(y[i, j], full(i32, [32], t[i, j] + groups[j / (q / k)]));
        }
    }
}

/// x in groups of 128 elements that have a scale each; a block takes 64 elements.
kernel grouped<B = 64, G = 128>(x: f32[k], scales: f32[g], y: mut f32[k])
    where g == cdiv(k, G)
    grid [cdiv(k, B)]
    threads 32
{
    let t = load(tile(x, [B])[.., block_idx]);
    copy(t * scales[block_idx * B / G], tile(y, [B])[.., block_idx]);
}

test "a scale for each group" for k in [1, 64, 128, 129, 500] {
    let (x, scales, y) = (randn(f32, [k], seed: 1), randn(f32, [cdiv(k, 128)], seed: 2), empty(f32, [k]));
    grouped(x, scales, y);
    for i in 0..cdiv(k, 128) {
        let (first, end) = (i * 128, min(i * 128 + 128, k));
        assert_close(y[first..end], x[first..end] * scales[i], ulp: 1);
    }
}

/// Sums over a part of a table: bounds that may lie outside of it, a loop that steps, and one that counts down.
kernel sums<B = 32>(t: f32[n], y: mut f32[4, B], first: i32, end: i32)
    where n >= 4
    grid [4]
    threads 32
{
    let (all, reversed, stepped, part) = (0.0, 0.0, 0.0, 0.0);
    let i = 0;
    while i < n {
        all = all + t[i];
        i = i + 1;
    }
    for i in 0..n {
        reversed = reversed + t[n - 1 - i];
    }
    for i in 0..cdiv(n - block_idx, 4) {
        stepped = stepped + t[i * 4 + block_idx];
    }
    for i in max(first, 0)..min(end, n) {
        part = part + t[i];
    }
    let r = register_tensor(f32, [B]);
    fill(r, 0.0);
    copy(r + (all + reversed + stepped + part), y[block_idx, ..]);
}

test "sums of parts" for (n, first, end) in [(4, 0, 4), (7, -3, 100), (9, 5, 2)] {
    let (t, y) = (arange(f32, [n]), empty(f32, [4, 32]));
    sums(t, y, first, end);
    for b in 0..4 {
        let expected = 0.0;
        for i in 0..n {
            expected += i * 2;
            if i % 4 == b {
                expected += i;
            }
            if i >= first && i < end {
                expected += i;
            }
        }
        assert_eq(y[b], full(f32, [32], expected));
    }
}

/// A number of the table is an index, and either an assertion or an `if` makes it one.
kernel looked_up<B = 32, ASSERTED = true>(t: i32[n], at: i32[g], y: mut i32[g, B])
    where n >= 1
    grid [g]
    threads 32
{
    let i = at[block_idx];
    if ASSERTED {
        assert(i >= 0 && i < n, "the table names an element");
        copy(filled<B = B>(t[i]), y[block_idx, ..]);
    } else {
        if i < 0 || i >= n {
            copy(filled<B = B>(t[0]), y[block_idx, ..]);
        } else {
            copy(filled<B = B>(t[i]), y[block_idx, ..]);
        }
    }
}

test "numbers that are indices" {
    let (t, at) = (cast(arange(i32, [10]) * 5, i32), cast(arange(i32, [10]) * 3 % 10, i32));
    let y = empty(i32, [10, 32]);
    looked_up(t, at, y);
    assert_eq(y[.., 0], at * 5);
    let i = cast(at * 2 - 3, i32);
    looked_up<ASSERTED = false>(t, i, y);
    assert_eq(y[.., 0], where(i >= 0 && i < 10, i * 5, 0));
}

/// Row `i` of y is the sum of the rows `i`, `i - 1` and so on of x that a ring of shared memory holds. Its stage is counted by hand.
kernel ring<STAGES = 3, MODULO = false>(x: f32[k, 64], y: mut f32[k, 64])
    grid [1]
    threads 32
{
    let s = shared_tensor(f32, [64, STAGES]);
    let r = register_tensor(f32, [64]);
    fill(r, 0.0);
    for i in 0..STAGES {
        copy(r, s[.., i]);
    }
    let stage = 0;
    for i in 0..k {
        sync();
        copy(load(x[i, ..]), s[.., stage]);
        sync();
        let sum = load(s[.., 0]);
        for j in 1..STAGES {
            sum = sum + load(s[.., j]);
        }
        copy(sum, y[i, ..]);
        if MODULO {
            stage = (stage + 1) % STAGES;
        } else {
            stage = stage + 1;
            if stage == STAGES {
                stage = 0;
            }
        }
    }
}

test "rings kept by hand" for (k, MODULO) in [(1, false), (7, false), (7, true), (8, true)] {
    let (x, y) = (randn(f32, [k, 64], seed: 1), empty(f32, [k, 64]));
    ring<MODULO = MODULO>(x, y);
    for i in 0..k {
        assert_close(y[i], sum(x[max(i - 2, 0)..i + 1], axis: 0), ulp: 4);
    }
}
