// planted: HX0612 in test
// The rows are not taken modulo the height. Shows on every launch: the last S rows of windows at the bottom read zeros.
/// The windows of shifted-window attention: the image [H, W, C] is rolled by `S` along both sides and cut into windows of `B` × `B` pixels, one after the
/// other.
kernel rolled_windows<B = 8, S = 3, C = 16>(x: f32[h, w, C], y: mut f32[n, B * B, C])
    where h % B == 0, w % B == 0, n == h / B * (w / B)
    grid [w / B, h / B]
    threads 64
{
    let [bw, bh] = block_idx;
    let blank = register_tensor(i32, [B * B, C]);
    fill(blank, 0);
    let pixel = index(blank, 0);
    let row = pixel / B + cast(bh * B + S, i32);
    let column = (pixel % B + cast(bw * B + S, i32)) % cast(w, i32);
    let v = load(gather(x, row, column, index(blank, 1)));
    copy(v, y[bh * (w / B) + bw]);
}

test "rolled windows" for (h, w) in [(8, 8), (16, 24), (24, 8), (8, 40)] {
    let x = randn(f32, [h, w, 16], seed: 1);
    let y = empty(f32, [h / 8 * (w / 8), 64, 16]);
    rolled_windows(x, y);
    for i in 0..h {
        for j in 0..w {
            let window = i / 8 * (w / 8) + j / 8;
            assert_eq(y[window, i % 8 * 8 + j % 8], x[(i + 3) % h, (j + 3) % w]);
        }
    }
}
