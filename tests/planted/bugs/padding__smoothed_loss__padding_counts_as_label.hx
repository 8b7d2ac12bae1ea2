// planted: HX0310 in check
// Labels past the end are padded with 0, which is a label. Shows where m is no multiple of 64: the mean divides by too many rows.
/// Cross entropy with label smoothing: loss[i] = lse - (1 - e) · x[label] - e · mean(x), for rows of at most `N` elements. A row whose label is outside of
/// the row is ignored. The last result is the mean over the rows that count, or 0 if none does.
kernel smoothed_loss<N = 512, M = 64>(x: f32[m, n], label: i32[m], loss: mut f32[m], smoothing: f32)
    where n <= N, n >= 1
    grid [m]
    threads 64
{
    let row = block_idx;
    let wanted = label[row];
    let v = load(tile(x[row], [N], pad: -inf)[.., 0]);
    let inside = index(v, 0) < n;
    let top = max(v, axis: 0);
    let lse = top + log(sum(exp(v - top), axis: 0));
    let mean = sum(where(inside, v, 0.0), axis: 0) / cast(n, f32);
    let hit = sum(where(inside && index(v, 0) == wanted, v, 0.0), axis: 0);
    let one = lse - hit * (1.0 - smoothing) - mean * smoothing;
    if wanted >= 0 && wanted < n {
        copy(one, tile(loss, [1])[.., row]);
    } else {
        copy(one * 0.0, tile(loss, [1])[.., row]);
    }
}

kernel mean_loss<B = 64>(loss: f32[m], label: i32[m], n: i32, mean: mut f32[1])
    grid [1]
    threads 32
{
    let (total, number) = (register_tensor(f32, [B]), register_tensor(i32, [B]));
    fill(total, 0.0);
    fill(number, 0);
    for i in 0..cdiv(m, B) {
        let at = load(tile(label, [B])[.., i]);
        total = total + load(tile(loss, [B])[.., i]);
        number = number + cast(at >= 0 && at < n, i32);
    }
    let count = sum(number, axis: 0);
    copy(where(count > 0, sum(total, axis: 0) / cast(max(count, 1), f32), 0.0), mean);
}

test "a smoothed loss" for (m, n) in [(4, 512), (100, 300), (7, 3), (1, 100)] {
    let x = cast(randn(f32, [m, n], seed: 1) * 3.0, f32);
    let label = uniform(i32, [m], seed: 2, low: -1, high: n + 2);
    if m == 1 {
        label[0] = -1;
    }
    let (loss, all) = (empty(f32, [m]), empty(f32, [1]));
    smoothed_loss(x, label, loss, 0.1);
    mean_loss(loss, label, n, all);
    let p = log(softmax(x, axis: 1));
    let (total, number) = (0.0, 0);
    for i in 0..m {
        if label[i] >= 0 && label[i] < n {
            let one = -0.9 * p[i, label[i]] - 0.1 * mean(p[i]);
            assert_close(loss[i], one, rtol: 1e-4, atol: 1e-4);
            total = total + one;
            number = number + 1;
        } else {
            assert_eq(loss[i], 0.0);
        }
    }
    assert_close(all[0], if number > 0 { total / number } else { 0.0 }, rtol: 1e-4, atol: 1e-5);
}
