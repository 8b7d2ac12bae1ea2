/// c = a · bᵀ as stream-K without sums in `c`: every block takes an equal part of the steps of all tiles. A block that begins in the middle of a tile
/// leaves what it has summed of it in `partial`, and raises its flag; the block with the tile's first step adds what others have left. Blocks are numbered
/// backwards by tickets, so that those that a block waits for have begun before it. `ticket` and `flags` are 0 before a launch.
kernel stream_fixup<BM = 32, BN = 32, BK = 32, G = 5>(
    a: f16[m, k],
    b: f16[n, k],
    c: mut f32[m, n],
    partial: mut f32[G, BM, BN],
    flags: mut i32[G],
    ticket: mut i32[1],
)
    where m >= 1, n >= 1, k >= 1
    grid [G]
    threads 128
{
    let (rows, columns, steps) = (cdiv(m, BM), cdiv(n, BN), cdiv(k, BK));
    let all = rows * columns * steps;
    let one = register_tensor(i32, [1]);
    fill(one, 1);
    let number = G - 1 - scalar(atomic_add(ticket, one));
    let (first, end) = (number * all / G, (number + 1) * all / G);
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    let i = first;
    while i < end {
        let t = i / steps;
        let stop = min(end, (t + 1) * steps);
        fill(acc, 0.0);
        for j in i..stop {
            let at = j - t * steps;
            gemm(
                acc,
                load(tile(a, [BM, BK])[.., .., t % rows, at]),
                load(tile(b, [BN, BK])[.., .., t / rows, at]),
            );
        }
        if i > t * steps {
            // The tile has begun before: its first block finishes it.
            copy(acc, tile(partial, [1, BM, BN])[0, .., .., number, 0, 0]);
            atomic_store(tile(flags, [1])[.., number], one, order: "release");
        } else {
            // Blocks behind this one have the rest of the tile.
            let other = number + 1;
            let reached = stop;
            while reached < (t + 1) * steps {
                let next = (other + 1) * all / G;
                if next > reached {
                    while scalar(atomic_load(tile(flags, [1])[.., other], order: "acquire")) == 0 {}
                    acc = acc + load(tile(partial, [1, BM, BN])[0, .., .., other, 0, 0]);
                }
                reached = next;
                other = other + 1;
            }
            copy(acc, tile(c, [BM, BN])[.., .., t % rows, t / rows]);
        }
        i = stop;
    }
}

test "stream-K with fixups" for (m, n, k) in [
    (32, 32, 320),
    (70, 40, 200),
    (100, 96, 64),
    (64, 64, 992),
    (8, 8, 64),
] {
    let (a, b) = (randn(f16, [m, k], seed: 1), randn(f16, [n, k], seed: 2));
    let (c, partial) = (empty(f32, [m, n]), empty(f32, [5, 32, 32]));
    let (flags, ticket) = (zeros(i32, [5]), zeros(i32, [1]));
    stream_fixup(a, b, c, partial, flags, ticket);
    assert_close(c, a @ b.T, rtol: 1e-3, atol: 1e-3);
}
