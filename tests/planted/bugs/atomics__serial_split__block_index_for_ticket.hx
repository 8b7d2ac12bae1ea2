// planted: HX0620 in orders
// The number of a block is its index in the grid and not its ticket. Blocks need not begin in the order of their index: a block
// may wait for one that has not begun, while all multiprocessors are full of blocks that wait. Shows on large grids, depending on
// the device's order: a hang.
/// c = a · bᵀ split along K, summed in a fixed order: split `i` of a tile adds its part to `c` when split `i - 1` has done so, which a flag of the
/// tile tells. Tickets give the numbers, so a block waits only for blocks that have begun. Flags and ticket are 0 before and after a launch.
kernel serial_split<BM = 32, BN = 32, BK = 32, SPLITS = 3>(
    a: f16[m, k],
    b: f16[n, k],
    c: mut f32[m, n],
    ticket: mut i32[1],
    flags: mut i32[tiles],
)
    where tiles == cdiv(m, BM) * cdiv(n, BN), m >= 1, n >= 1
    grid [SPLITS * tiles]
    threads 128
{
    let one = register_tensor(i32, [1]);
    fill(one, 1);
    let number = block_idx;
    let (t, split) = (number / SPLITS, number % SPLITS);
    let (bm, bn) = (t % cdiv(m, BM), t / cdiv(m, BM));
    let steps = cdiv(k, BK);
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for i in split * steps / SPLITS..(split + 1) * steps / SPLITS {
        gemm(acc, load(tile(a, [BM, BK])[.., .., bm, i]), load(tile(b, [BN, BK])[.., .., bn, i]));
    }
    let flag = tile(flags, [1])[.., t];
    let out = tile(c, [BM, BN])[.., .., bm, bn];
    if split == 0 {
        copy(acc, out);
    } else {
        while scalar(atomic_load(flag, order: "acquire")) != split {}
        copy(load(out) + acc, out);
    }
    if split == SPLITS - 1 {
        atomic_store(flag, one * 0, order: "relaxed");
    } else {
        atomic_store(flag, one * 0 + (split + 1), order: "release");
    }
    if number == grid_dim - 1 {
        atomic_store(ticket, one * 0, order: "relaxed");
    }
}

test "splits in order" for (m, n, k) in [(32, 32, 96), (100, 72, 200), (8, 40, 64), (64, 64, 16)] {
    let (a, b) = (randn(f16, [m, k], seed: 1), randn(f16, [n, k], seed: 2));
    let (c, ticket) = (empty(f32, [m, n]), zeros(i32, [1]));
    let flags = zeros(i32, [cdiv(m, 32) * cdiv(n, 32)]);
    for _ in 0..2 {
        serial_split(a, b, c, ticket, flags);
        assert_close(c, a @ b.T, rtol: 1e-3, atol: 1e-3);
        assert_eq(ticket[0], 0);
    }
}
