kernel lanes(x: f32[m, n], y: mut f32[m, 64])
    where n <= 256
    grid [m, 4]
    cluster [1, 4]
    threads 64
{
    let [i, part] = block_idx;
    let all = sum(load(tile(x, [1, 64])[.., .., i, part]) * 2.0, cluster: 1);
    if part == 0 {
        copy(all, tile(y, [1, 64])[.., .., i, 0]);
    }
}

test "lanes" {
    let x = randn(f32, [2, 200], seed: 1);
    let y = empty(f32, [2, 64]);
    lanes(x, y);
    let all = zeros(f32, [2, 256]);
    all[.., ..200] = x * 2.0;
    assert_close(y, sum(reshape(all, [2, 4, 64]), axis: 1), rtol: 1e-5, atol: 1e-6);
}
