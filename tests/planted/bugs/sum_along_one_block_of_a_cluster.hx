// planted: HX0508 in check
// The two blocks of a cluster lie along axis 1, so along axis 0 there is nothing to add.
kernel total(x: f32[m, n], y: mut f32[m])
    grid [cdiv(m, 8), 2]
    cluster [1, 2]
    threads 64
{
    let [i, j] = block_idx;
    let part = sum(load(tile(x, [8, 64], pad: 0)[.., .., i, j]), axis: 1);
    let all = sum(part, cluster: 0);
    if j == 0 {
        copy(all[.., 0], tile(y, [8])[.., i]);
    }
}

test "sums of rows" {
    let x = randn(f32, [20, 128], seed: 1);
    let y = empty(f32, [20]);
    total(x, y);
    assert_close(y, sum(x, axis: 1), rtol: 1e-5, atol: 1e-5);
}
