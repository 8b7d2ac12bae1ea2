kernel warps_do_not_divide(x: f16[m, k], w: f16[n, k], y: mut f32[m, n])
    grid [1]
    threads 128
{
    let c = register_tensor(f32, [64, 64]);
    fill(c, 0.0);
    gemm(c, load(tile(x, [64, 16])[.., .., 0, 0]), load(tile(w, [64, 16])[.., .., 0, 0]), warps: [3, 1]);
    copy(c, tile(y, [64, 64])[.., .., 0, 0]);
}
