// planted: HX0618 in test
// Blocks begin every 12 rows but store 16: the last rows of one are the first of the next.
kernel segments(x: f32[m, 32], y: mut f32[m, 32])
    grid [cdiv(m, 12)]
    threads 32
{
    let i = block_idx;
    let rows = load(global_view(x[i * 12.., ..], (16, 32) : (32, 1)));
    copy(rows + cast(i, f32), global_view(y[i * 12.., ..], (16, 32) : (32, 1)));
}

test "segments" {
    let y = empty(f32, [30, 32]);
    segments(randn(f32, [30, 32], seed: 1), y);
}
