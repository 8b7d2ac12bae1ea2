// planted: HX0612 in test
// The count is advanced before the squares are merged. Shows for n > 64 where the tiles have different means: the term of their
// difference has a wrong weight (and the first tile adds its mean's square, because the count is no longer 0).
/// Group normalization of images [b, c, n] in groups of `G` channels, by means and variances of tiles that are merged (Chan): the tile at the end of a row
/// counts only its own elements.
kernel welford_groups<G = 4, B = 64>(x: f32[b, c, n], w: f32[c], shift: f32[c], y: mut f32[b, c, n], eps: f32)
    where c % G == 0, n >= 1
    grid [c / G, b]
    threads 64
{
    let [group, image] = block_idx;
    let own = x[image, group * G..group * G + G];
    let (mean, squares, count) = (register_tensor(f32, [1]), register_tensor(f32, [1]), 0.0);
    fill(mean, 0.0);
    fill(squares, 0.0);
    for j in 0..cdiv(n, B) {
        let v = load(tile(own, [G, B])[.., .., 0, j]);
        let number = cast(min(B, n - j * B) * G, f32);
        let part = sum(sum(v, axis: 1), axis: 0)[0, ..] / number;
        let d = where(index(v, 1) + j * B < n, v - part[new, ..], 0.0);
        let own_squares = sum(sum(d * d, axis: 1), axis: 0)[0, ..];
        let both = count + number;
        let delta = part - mean;
        mean = mean + delta * (number / both);
        count = both;
        squares = squares + own_squares + delta * delta * (count * number / both);
    }
    let scale = rsqrt(squares / count + eps);
    for j in 0..cdiv(n, B) {
        let v = load(tile(own, [G, B])[.., .., 0, j]);
        let (by, add) = (load(tile(w, [G])[.., group])[.., new], load(tile(shift, [G])[.., group])[.., new]);
        let out = (v - mean[new, ..]) * scale[new, ..] * by + add;
        copy(out, tile(y[image, group * G..group * G + G], [G, B])[.., .., 0, j]);
    }
}

test "groups of channels" for (b, c, n) in [(1, 4, 64), (2, 8, 100), (1, 12, 1), (2, 4, 333)] {
    let x = cast(randn(f32, [b, c, n], seed: 1) + 5.0, f32);
    let (w, shift) = (randn(f32, [c], seed: 2), randn(f32, [c], seed: 3));
    let y = empty(f32, [b, c, n]);
    welford_groups(x, w, shift, y, 1e-3);
    for i in 0..b {
        for g in 0..c / 4 {
            let part = x[i, 4 * g..4 * g + 4];
            let d = part - mean(part);
            let wanted = d / sqrt(mean(d * d) + 1e-3) * reshape(w[4 * g..4 * g + 4], [4, 1])
                + reshape(shift[4 * g..4 * g + 4], [4, 1]);
            assert_close(y[i, 4 * g..4 * g + 4], wanted, rtol: 1e-3, atol: 1e-3);
        }
    }
}
