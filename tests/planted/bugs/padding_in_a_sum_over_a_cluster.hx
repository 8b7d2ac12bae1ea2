// planted: HX0310 in check
// The blocks of a cluster have a quarter of the row each. The last quarter ends early, and exp(0) is 1.
kernel lanes(x: f32[m, n], y: mut f32[m, 64])
    where n <= 256
    grid [m, 4]
    cluster [1, 4]
    threads 64
{
    let [i, part] = block_idx;
    let e = exp(load(tile(x, [1, 64])[.., .., i, part]));
    let all = sum(e, cluster: 1);
    if part == 0 {
        copy(all, tile(y, [1, 64])[.., .., i, 0]);
    }
}

test "lanes" {
    let x = randn(f32, [2, 200], seed: 1);
    let y = empty(f32, [2, 64]);
    lanes(x, y);
    let all = zeros(f32, [2, 256]);
    all[.., ..200] = exp(x);
    assert_close(y, sum(reshape(all, [2, 4, 64]), axis: 1), rtol: 1e-5);
}
