/// The loop carries a sum of each row, which 4 warps compute together in every round.
kernel sums(x: f32[m, n], y: mut f32[m])
    grid [m]
    threads 128
{
    let total = register_tensor(f32, [1]);
    fill(total, 0.0);
    for j in 0..cdiv(n, 1024) {
        total = total + sum(load(tile(x, [1, 1024])[.., .., block_idx, j]), axis: 1)[.., 0];
    }
    copy(total, tile(y, [1])[.., block_idx]);
}
