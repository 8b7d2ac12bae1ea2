//! Numbers read under a guard: `t[i] else x` is `x` for an element outside of the tensor.

/// y[i] = x[i] · scale, where each row of `B` elements has the scale that `t` holds for it, or 1 past the end of `t`.
kernel scaled<B = 64>(x: f32[m], t: f32[r], y: mut f32[m])
    grid [cdiv(m, B)]
    threads 32
{
    let scale = t[block_idx] else 1.0;
    copy(load(tile(x, [B])[.., block_idx]) * scale, tile(y, [B])[.., block_idx]);
}

test "a scale for some rows" for r in [1, 2, 3, 9] {
    let (x, t, y) = (randn(f32, [200], seed: 1), randn(f32, [r], seed: 2), empty(f32, [200]));
    scaled(x, t, y);
    for i in 0..4 {
        let (first, end) = (i * 64, min(i * 64 + 64, 200));
        assert_close(y[first..end], x[first..end] * (t[i] else 1.0), ulp: 1);
    }
}

/// y = the neighbours of element `at + block` of the table, integers that pick rows of `x`: row −1 is none.
kernel picked<N = 32>(x: f32[m, N], rows: i32[r, 2], at: i32, y: mut f32[g, N])
    grid [g]
    threads 32
{
    let row = rows[at + block_idx, 1] else rows[0, 0] else -1;
    if row >= 0 {
        copy(load(x[row, ..]), y[block_idx, ..]);
    } else {
        copy(load(x[0, ..]) * 0.0 - 1.0, y[block_idx, ..]);
    }
}

test "rows of a table, past both of its ends" for (r, at) in [(4, 0), (4, -2), (4, 3), (0, 0)] {
    let x = randn(f32, [8, 32], seed: 1);
    let rows = uniform(i32, [r, 2], low: 0, high: 8, seed: 3);
    let y = empty(f32, [5, 32]);
    picked(x, rows, at, y);
    for g in 0..5 {
        let row = rows[at + g, 1] else rows[0, 0] else -1;
        assert_eq(y[g], if row >= 0 { x[row] } else { full(f32, [32], -1.0) });
    }
}

/// Flags of type `bool`, half floats, and an index that changes in a loop.
kernel counted<B = 32>(flags: bool[f], h: f16[k], y: mut f32[B])
    grid [1]
    threads 32
{
    let (i, sum) = (-3, 0.0);
    while i < 12 {
        let v = h[i] else 2.0;
        if flags[i] else true {
            sum = sum + cast(v, f32);
        }
        i = i + 1;
    }
    let out = register_tensor(f32, [B]);
    fill(out, 0.0);
    copy(out + sum, y);
}

test "flags and halves" {
    let flags = arange(i32, [7]) % 2 == 0;
    let (h, y) = (cast(arange(f32, [5]), f16), empty(f32, [32]));
    counted(flags, h, y);
    // -3, -2, -1: 2 each. 0, 2, 4 of `h`, then 6: 2. From 7 to 11: 2 each.
    assert_eq(y, full(f32, [32], 6.0 + 6.0 + 2.0 + 10.0));
}
