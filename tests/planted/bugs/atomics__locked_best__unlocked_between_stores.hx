// planted: HX0618 in test
// The lock is given back between the two stores. Shows with two blocks or more: the next block may read places that do not belong
// to the elements.
/// The `K` largest elements of a vector, the largest first: each block finds those of its tile, and merges them into the list in memory under a
/// lock. `lock` is 0 before and after a launch; `best` and `at` begin as -inf and -1.
kernel locked_best<B = 256, K = 4>(x: f32[n], best: mut f32[K], at: mut i32[K], lock: mut i32[1])
    grid [cdiv(n, B)]
    threads 32
{
    let v = load(tile(x, [B], pad: -inf)[.., block_idx]);
    let place = index(v, 0) + block_idx * B;
    let (own, where_own) = (register_tensor(f32, [K]), register_tensor(i32, [K]));
    fill(own, -inf);
    fill(where_own, -1);
    let k = index(own, 0);
    for i in 0..K {
        let top = max(v, axis: 0);
        let first = min(where(v == top, cast(place, i32), cast(n, i32)), axis: 0);
        own = where(k == i, top, own);
        where_own = where(k == i, first, where_own);
        v = where(place == first, -inf, v);
    }
    let one = register_tensor(i32, [1]);
    fill(one, 1);
    while scalar(atomic_exchange(lock, one, order: "acquire")) == 1 {}
    let all = concat(load(best), own, axis: 0);
    let places = concat(load(at), where_own, axis: 0);
    sync();
    let (merged, where_merged) = (register_tensor(f32, [K]), register_tensor(i32, [K]));
    fill(merged, -inf);
    fill(where_merged, -1);
    for i in 0..K {
        let top = max(all, axis: 0);
        let which = min(where(all == top, index(all, 0), 2 * K), axis: 0);
        merged = where(k == i, top, merged);
        where_merged = where(k == i, sum(where(index(all, 0) == which, places, 0), axis: 0), where_merged);
        all = where(index(all, 0) == which, -inf, all);
    }
    copy(merged, best);
    atomic_store(lock, one * 0, order: "release");
    copy(where_merged, at);
}

test "the largest elements" for n in [256, 1000, 5000, 300] {
    let x = randn(f32, [n], seed: n);
    let (best, at, lock) = (full(f32, [4], -inf), full(i32, [4], -1), zeros(i32, [1]));
    locked_best(x, best, at, lock);
    assert_eq(lock[0], 0);
    let rest = x.copy();
    for i in 0..4 {
        let first = argmax(rest);
        assert_eq(best[i], rest[first]);
        assert_eq(at[i], first);
        rest[first] = -inf;
    }
}
