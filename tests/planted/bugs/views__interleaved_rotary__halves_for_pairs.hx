// planted: HX0612 in test
// The first and the second half of the part are turned, as in the other form of rotary embedding, but stored as pairs. Shows on
// every launch.
/// Rotates the pairs (x[2i], x[2i + 1]) of each head of `x[t, h, D]` in place, by the angle position · frequency[i], positions from a table; the first `R`
/// elements of a head take part, the rest stays.
kernel interleaved_rotary<BT = 16, D = 64, R = 32>(
    x: mut f32[t, h, D],
    position: i32[t],
    frequency: f32[R / 2],
)
    grid [cdiv(t, BT), h]
    threads 64
{
    let [bt, head] = block_idx;
    let own = tile(x[.., head, ..], [BT, D])[.., .., bt, 0];
    let v = load(own);
    let turned = reshape(v[.., ..R], [BT, 2, R / 2]);
    let (a, b) = (turned[.., 0, ..], turned[.., 1, ..]);
    let angle = cast(load(tile(position, [BT])[.., bt])[.., new], f32) * load(frequency)[new, ..];
    let (c, s) = (cos(angle), sin(angle));
    let (first, second) = (a * c - b * s, a * s + b * c);
    let pairs = concat(first[.., .., new], second[.., .., new], axis: 2);
    v[.., ..R] = reshape(pairs, [BT, R]);
    sync();
    copy(v, own);
}

test "pairs are rotated" for (t, h) in [(16, 2), (20, 3), (1, 1), (33, 2)] {
    let x = randn(f32, [t, h, 64], seed: 1);
    let old = x.copy();
    let position = uniform(i32, [t], seed: 2, low: 0, high: 20);
    let frequency = uniform(f32, [16], seed: 3, low: 0.01, high: 1.0);
    interleaved_rotary(x, position, frequency);
    assert_eq(x[.., .., 32..], old[.., .., 32..]);
    for i in 0..t {
        for p in 0..16 {
            let angle = float(position[i]) * frequency[p];
            let (a, b) = (old[i, .., 2 * p], old[i, .., 2 * p + 1]);
            assert_close(x[i, .., 2 * p], a * cos(angle) - b * sin(angle), atol: 1e-4);
            assert_close(x[i, .., 2 * p + 1], a * sin(angle) + b * cos(angle), atol: 1e-4);
        }
    }
}
