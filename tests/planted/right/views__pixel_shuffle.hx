/// y[c, h · R + u, w · R + v] = x[c · R² + u · R + v, h, w] + bias[c]: channels become pixels. A block writes the rows of one row of x for one channel.
kernel pixel_shuffle<R = 2, BW = 32>(x: f16[k, h, w], bias: f16[c], y: mut f16[c, h, R, w, R])
    where k == c * R * R
    grid [cdiv(w, BW), h, c]
    threads 64
{
    let [bw, row, channel] = block_idx;
    let own = x[channel * (R * R)..(channel + 1) * (R * R), row, ..];
    let v = reshape(load(tile(own, [R * R, BW])[.., .., 0, bw]), [R, R, BW]);
    let add = load(bias[channel..channel + 1])[new, new, ..];
    copy(permute(v, [0, 2, 1]) + add, tile(y[channel, row], [R, BW, R])[.., .., .., 0, bw, 0]);
}

test "channels become pixels" for (c, h, w) in [(2, 3, 32), (3, 5, 40), (1, 1, 1), (4, 2, 100)] {
    let (x, bias) = (randn(f16, [4 * c, h, w], seed: 1), randn(f16, [c], seed: 2));
    let y = empty(f16, [c, h, 2, w, 2]);
    pixel_shuffle(x, bias, y);
    for i in 0..c {
        for d in 0..4 {
            assert_close(y[i, .., d / 2, .., d % 2], x[4 * i + d] + bias[i], ulp: 1);
        }
    }
}
