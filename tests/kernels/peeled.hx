//! Loops in two parts, each against a reference: `#[peel]` changes no result.

/// Sums the absolute values before `bound` and the values from there on.
kernel split_sum<B = 64>(x: f32[n], bound: i32, y: mut f32[1])
    grid [1]
    threads 64
{
    let sums = register_tensor(f32, [B]);
    fill(sums, 0.0);
    let (rounds, parts) = (0, 0);
    #[peel]
    for j in 0..cdiv(n, B) {
        let t = load(tile(x, [B])[.., j]);
        if j < bound {
            t = abs(t);
            parts += 1;
        } else {
            rounds += parts;
        }
        sums = sums + t;
    }
    let total = sum(sums, axis: 0);
    copy(total + cast(rounds, f32), y);
}

test "a peeled loop goes through all rounds" for (n, bound) in [
    (0, 3),
    (64, 0),
    (64, 1),
    (640, -5),
    (640, 4),
    (640, 10),
    (640, 99),
    (601, 7),
] {
    let x = randn(f32, [n], seed: 1);
    let y = empty(f32, [1]);
    split_sum(x, bound, y);
    let rounds = cdiv(n, 64);
    let first = max(0, min(bound, rounds));
    let at = min(n, first * 64);
    let expected = sum(abs(x[..at]), axis: 0) + sum(x[at..], axis: 0);
    assert_close(y, expected + first * (rounds - first), rtol: 1e-5, atol: 1e-4);
}

/// Scales the tiles, the first and the last one by factors of their own.
kernel ends<B = 32>(x: f32[n], y: mut f32[n])
    grid [1]
    threads 32
{
    #[peel]
    for j in 0..cdiv(n, B) {
        let t = load(tile(x, [B])[.., j]);
        let scaled = if j == 0 { t * 2.0 } else { t * 3.0 };
        if (j + 1) * B > n {
            scaled = scaled + 1.0;
        }
        copy(scaled, tile(y, [B])[.., j]);
    }
}

test "the first round and a ragged last one" for n in [5, 32, 33, 64, 100] {
    let x = randn(f32, [n], seed: 2);
    let y = empty(f32, [n]);
    ends(x, y);
    let i = arange(i64, [n]);
    let expected = where(i < 32, x * 2.0, x * 3.0);
    assert_close(y, where(i >= n / 32 * 32, expected + 1.0, expected), rtol: 1e-6, atol: 1e-6);
}
