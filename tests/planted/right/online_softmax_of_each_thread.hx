// Each row of the tile has a maximum and a sum of its own. Rows that lie beyond the end keep what they were filled with.
kernel log_sum(x: f32[n], y: mut f32[1])
    grid [1]
    threads 32
{
    let (top, total) = (register_tensor(f32, [32, 1]), register_tensor(f32, [32, 1]));
    fill(top, -1e30);
    fill(total, 0.0);
    for i in 0..cdiv(n, 128) {
        let part = reshape(load(tile(x, [128], pad: -inf)[.., i]), [32, 4]);
        let higher = max(top, max(part, axis: 1));
        total = total * exp(top - higher) + sum(exp(part - higher), axis: 1);
        top = higher;
    }
    let all = max(top, axis: 0);
    let s = sum(total * exp(top - all), axis: 0);
    copy((all + log(s))[0], y);
}

test "log of a sum" for n in [3, 128, 300] {
    let (x, y) = (randn(f32, [n], seed: 1), empty(f32, [1]));
    log_sum(x, y);
    assert_close(y[0], log(sum(exp(x))), rtol: 1e-5);
}
