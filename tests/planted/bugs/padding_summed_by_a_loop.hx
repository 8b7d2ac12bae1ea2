// planted: HX0310 in check
// Nothing reduces a tensor: the loop adds up tiles, and the sums of the last columns are stored with the rest.
kernel sums(x: f32[n], y: mut f32[64])
    grid [1]
    threads 64
{
    let total = register_tensor(f32, [64]);
    fill(total, 0.0);
    for i in 0..cdiv(n, 64) {
        total += exp(load(tile(x, [64])[.., i]));
    }
    copy(total, y);
}

test "sums" {
    let x = randn(f32, [150], seed: 1);
    let y = empty(f32, [64]);
    sums(x, y);
    let all = zeros(f32, [192]);
    all[..150] = exp(x);
    assert_close(y, sum(reshape(all, [3, 64]), axis: 0), rtol: 1e-5);
}
