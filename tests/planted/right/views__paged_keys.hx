/// Scores of one query of each sequence with keys in pages: page `i` of a sequence is row `pages[sequence, i]` of the pool. The number of keys of each sequence
/// is in memory; scores behind it are -inf.
kernel paged_keys<P = 16, D = 64>(
    q: f16[b, D],
    pool: f16[all, P, D],
    pages: i32[b, width],
    lengths: i32[b],
    s: mut f32[b, width * P],
    scale: f32,
)
    grid [width, b]
    threads 32
{
    let [i, sequence] = block_idx;
    let length = lengths[sequence];
    let page = pages[sequence, i];
    let out = tile(s[sequence], [P])[.., i];
    let query = cast(load(tile(q[sequence], [D])[.., 0][new, ..]), f32);
    let keys = cast(load(tile(pool, [1, P, D])[0, .., .., page, 0, 0]), f32);
    let dots = rearrange(sum(keys * query, axis: 1)[.., 0], auto);
    let position = index(dots, 0) + i * P;
    copy(where(position < length, dots * scale, -inf), out);
}

test "keys in pages" for (b, width) in [(1, 2), (3, 5), (4, 1)] {
    let (q, pool) = (randn(f16, [b, 64], seed: 1), randn(f16, [20, 16, 64], seed: 2));
    let pages = uniform(i32, [b, width], seed: 3, low: 0, high: 20);
    let lengths = uniform(i32, [b], seed: 4, low: 1, high: width * 16 + 1);
    let s = empty(f32, [b, width * 16]);
    paged_keys(q, pool, pages, lengths, s, 0.125);
    for i in 0..b {
        for j in 0..width {
            let x = sum(pool[pages[i, j]] * q[i], axis: 1) * 0.125;
            for p in 0..16 {
                if j * 16 + p < lengths[i] {
                    assert_close(s[i, j * 16 + p], x[p], rtol: 1e-4, atol: 1e-4);
                } else {
                    assert_eq(s[i, j * 16 + p], -inf);
                }
            }
        }
    }
}
