// planted: HX0401 in check
// Three slices in two buffers: the first slice of the next tile takes the buffer of the last one, which a store still reads.
kernel stores(x: f32[m, 192], y: mut f32[m, 192])
    grid [1]
    threads 128
{
    let sc = shared_tensor(f32, [64, 64, 2]);
    for i in 0..cdiv(m, 64) {
        for j in 0..3 {
            wait_stores(1);
            sync();
            copy(load(tile(x, [64, 64])[.., .., i, j]), sc[.., .., j % 2]);
            sync();
            copy_async(sc[.., .., j % 2], tile(y, [64, 64])[.., .., i, j]);
        }
    }
}

test "slices" {
    stores(randn(f32, [128, 192], seed: 1), empty(f32, [128, 192]));
}
