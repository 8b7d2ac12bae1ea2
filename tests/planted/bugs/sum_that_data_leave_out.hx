// planted: HX0404 in check
// The rows of the second block are marked as empty, so it does not come to the sum.
kernel marked(x: f32[2, 64], some: i32[2], y: mut f32[64])
    grid [2]
    cluster [2]
    threads 64
{
    if some[block_idx] > 0 {
        let all = sum(load(x[block_idx]), cluster: 0);
        if block_idx == 1 {
            copy(all, y);
        }
    }
}

test "marked" {
    let some = arange(i32, [2]);
    let y = empty(f32, [64]);
    marked(randn(f32, [2, 64], seed: 1), some, y);
}
