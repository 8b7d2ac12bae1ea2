// planted: HX0205 in check
// Rows and columns of the destination are swapped.
kernel moves(x: f32[64, 32], y: mut f32[32, 64])
    grid [1]
    threads 32
{
    copy(load(x), y);
}

test "moves" {
    let y = empty(f32, [32, 64]);
    moves(randn(f32, [64, 32], seed: 1), y);
}
