/// Vector quantization: for each row of x the nearest of the codes, by squared distance, the first of equal ones. A block has `BM` rows and walks over the
/// codes; codes past the end have an infinite distance.
kernel nearest_code<BM = 32, BC = 32, D = 32>(
    x: f16[m, D],
    codes: f16[c, D],
    at: mut i32[m],
    distance: mut f32[m],
)
    where c >= 1
    grid [cdiv(m, BM)]
    threads 64
{
    let v = load(tile(x, [BM, D])[.., .., block_idx, 0]);
    let best = register_tensor(f32, [BM, 1]);
    let which = register_tensor(i32, [BM, 1]);
    fill(best, inf);
    fill(which, 0);
    for j in 0..cdiv(c, BC) {
        let w = load(tile(codes, [BC, D])[.., .., j, 0]);
        let dots = register_tensor(f32, [BM, BC]);
        fill(dots, 0.0);
        gemm(dots, v, w);
        let wide = cast(w, f32);
        let norms = rearrange(sum(wide * wide, axis: 1)[.., 0], auto);
        let d = where(index(dots, 1) + j * BC < c, norms[new, ..] - 2.0 * dots, inf);
        let least = min(d, axis: 1);
        let place = argmin(d, axis: 1) + cast(j * BC, i32);
        which = where(least < best, place, which);
        best = min(best, least);
    }
    let wide = cast(v, f32);
    let own = sum(wide * wide, axis: 1);
    copy(rearrange(which[.., 0], auto), tile(at, [BM])[.., block_idx]);
    copy(rearrange(best[.., 0], auto) + rearrange(own[.., 0], auto), tile(distance, [BM])[.., block_idx]);
}

test "the nearest code" for (m, c) in [(32, 64), (50, 37), (7, 1), (100, 100)] {
    let x = cast(cast(randn(f32, [m, 32], seed: 1) * 2.0, i32), f16);
    let codes = cast(cast(randn(f32, [c, 32], seed: 2) * 2.0 + 12.0, i32), f16);
    // Two codes of one row, in two tiles.
    if c > 32 {
        codes[c - 1] = codes[0];
        x[0] = codes[0];
    }
    let (at, distance) = (empty(i32, [m]), empty(f32, [m]));
    nearest_code(x, codes, at, distance);
    for i in 0..m {
        let d = sum((codes - x[i]) * (codes - x[i]), axis: 1);
        assert_eq(at[i], argmin(d));
        assert_close(distance[i], min(d), rtol: 1e-4, atol: 1e-4);
    }
}
