// planted: HX0612 in test
// The carry is multiplied with that of the chunk before once more: `curve` has it already. Shows for n > 128: the third chunk and
// later ones fall too fast.
/// Survival curves: y[i, j] = Π over k <= j of (1 - hazard[i, k]), and the position from which the curve is below one half (n if it never is), for rows of any
/// length, a chunk at a time.
kernel survival<BM = 4, B = 64>(hazard: f32[m, n], y: mut f32[m, n], median: mut i32[m])
    grid [cdiv(m, BM)]
    threads 64
{
    let bm = block_idx;
    let carry = register_tensor(f32, [BM, 1]);
    let reached = register_tensor(i32, [BM, B]);
    fill(carry, 1.0);
    fill(reached, 0);
    for j in 0..cdiv(n, B) {
        let v = 1.0 - load(tile(hazard, [BM, B])[.., .., bm, j]);
        let curve = scan(v, axis: 1, op: |a, b| a * b) * carry;
        carry = carry * curve[.., B - 1..];
        copy(curve, tile(y, [BM, B])[.., .., bm, j]);
        let early = curve >= 0.5 && index(v, 1) + j * B < n;
        reached = reached + cast(early, i32);
    }
    copy(rearrange(sum(reached, axis: 1)[.., 0], auto), tile(median, [BM])[.., bm]);
}

test "survival curves" for (m, n) in [(4, 64), (7, 100), (1, 5), (10, 200)] {
    let hazard = uniform(f32, [m, n], seed: n, low: 0.0, high: 3.0 / n);
    let (y, median) = (empty(f32, [m, n]), empty(i32, [m]));
    survival(hazard, y, median);
    let curve = ones(f64, [m]);
    let early = zeros(i64, [m]);
    for j in 0..n {
        curve = curve * (1.0 - hazard[.., j]);
        assert_close(y[.., j], curve, rtol: 1e-4, atol: 1e-6);
        early = early + where(y[.., j] >= 0.5, 1, 0);
    }
    assert_eq(median, early);
}
