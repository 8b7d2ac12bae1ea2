kernel two_gemms(x: f16[m, k], w: f16[n, k], y: mut f32[m, n])
    grid [1]
    threads 128
{
    let a = load(tile(x, [64, 16])[.., .., 0, 0]);
    let b = load(tile(w, [64, 16])[.., .., 0, 0]);
    let c = register_tensor(f32, [64, 64]);
    fill(c, 0.0);
    gemm(c, a, b, warps: [4, 1]);
    gemm(c, a, b, warps: [1, 4]);
    copy(c, tile(y, [64, 64])[.., .., 0, 0]);
}
