kernel steps_of_k<BK = 6>(x: f32[m, k], w: f32[n, k], y: mut f32[m, n])
    grid [1]
    threads 128
{
    let c = register_tensor(f32, [32, 32]);
    fill(c, 0.0);
    for i in 0..cdiv(k, BK) {
        let a = cast(load(tile(x, [32, BK])[.., .., 0, i]), tf32);
        let b = cast(load(tile(w, [32, BK])[.., .., 0, i]), tf32);
        gemm(c, a, b);
    }
    copy(c, tile(y, [32, 32])[.., .., 0, 0]);
}
