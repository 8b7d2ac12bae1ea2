// planted: HX0605 in test
// A block stores a tile that another one loads, if both arguments are one tensor.
kernel turn(x: f32[n, n], y: mut f32[n, n])
    grid [cdiv(n, 32), cdiv(n, 32)]
    threads 64
{
    let [i, j] = block_idx;
    copy(load(tile(x, [32, 32])[.., .., i, j]).T, tile(y, [32, 32])[.., .., j, i]);
}

test "turn" {
    let x = randn(f32, [64, 64], seed: 1);
    turn(x, x);
}
