// planted: HX0618 in test
// The first places are the inclusive sums. Shows on every launch: the rows of each expert begin where they should end, and the
// last ones lie past the end of y and are dropped.
/// Sorts tokens by expert, in two launches: the first counts the tokens of each expert; the last of its blocks turns the counts into the first places.
/// The second gives each token a place among those of its expert by a counter, and copies its row there.
kernel count_experts<B = 128, E = 8>(expert: i32[t], cursor: mut i32[E], done: mut i32[1])
    grid [cdiv(t, B)]
    threads 32
{
    let e = load(tile(expert, [B], pad: -1)[.., block_idx]);
    let ones = register_tensor(i32, [B]);
    fill(ones, 1);
    atomic_add(scatter(cursor, e), ones);
    let one = register_tensor(i32, [1]);
    fill(one, 1);
    if scalar(atomic_add(done, one, order: "acq_rel")) == grid_dim - 1 {
        let counts = atomic_load(cursor);
        let before = scan(counts, axis: 0, op: |a, b| a + b);
        atomic_store(cursor, before);
        atomic_store(done, one * 0);
    }
}

kernel place_tokens<B = 32, D = 64, E = 8>(
    x: f32[t, D],
    expert: i32[t],
    cursor: mut i32[E],
    y: mut f32[t, D],
    place: mut i32[t],
)
    grid [cdiv(t, B)]
    threads 64
{
    let e = load(tile(expert, [B], pad: -1)[.., block_idx]);
    let ones = register_tensor(i32, [B]);
    fill(ones, 1);
    let own = atomic_add(scatter(cursor, e), ones);
    let at = where(e >= 0, own, -1);
    copy(at, tile(place, [B])[.., block_idx]);
    let rows = shared_tensor(i32, [B]);
    copy(at, rows);
    sync();
    copy(load(tile(x, [B, D])[.., .., block_idx, 0]), scatter(y, rows));
}

test "tokens are sorted by expert" for t in [32, 100, 300, 1] {
    let (x, expert) = (randn(f32, [t, 64], seed: 1), uniform(i32, [t], seed: t, low: 0, high: 8));
    let (cursor, done) = (zeros(i32, [8]), zeros(i32, [1]));
    let (y, place) = (empty(f32, [t, 64]), empty(i32, [t]));
    count_experts(expert, cursor, done);
    let first = cursor.copy();
    place_tokens(x, expert, cursor, y, place);
    let before = 0;
    for e in 0..8 {
        let number = sum(where(expert == e, 1, 0));
        assert_eq(first[e], before);
        assert_eq(cursor[e], before + number);
        before = before + number;
    }
    let used = zeros(i32, [t]);
    for i in 0..t {
        let at = place[i];
        assert(at >= first[expert[i]] && at < cursor[expert[i]]);
        used[at] = used[at] + 1;
        assert_eq(y[at], x[i]);
    }
    assert_eq(used, ones(i32, [t]));
}
