kernel pinned_fragment(x: f16[m, k], w: f16[n, k], y: mut f32[m, n])
    grid [1]
    threads 128
{
    let a = register_tensor(f16, [64, 16], layout: (128, 8) : (8, 1));
    let c = register_tensor(f32, [64, 64]);
    copy(tile(x, [64, 16])[.., .., 0, 0], a);
    fill(c, 0.0);
    gemm(c, a, load(tile(w, [64, 16])[.., .., 0, 0]));
    copy(c, tile(y, [64, 64])[.., .., 0, 0]);
}
