// planted: HX0310 in check
kernel excess(x: f32[m, n], y: mut f32[m], limit: f32)
    where n <= 64
    grid [m]
    threads 32
{
    let t = load(tile(x, [1, 64])[.., .., block_idx, 0]);
    copy(sum(abs(t - limit), axis: 1)[0, ..], tile(y, [1])[.., block_idx]);
}

test "excess" {
    let x = randn(f32, [2, 50], seed: 1);
    let y = empty(f32, [2]);
    excess(x, y, 0.5);
    assert_close(y, sum(abs(x - 0.5), axis: 1), rtol: 1e-5);
}
