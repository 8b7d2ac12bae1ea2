/// One round of Bellman and Ford: for each edge from u to v with a length, dist[v] = min(dist[v], old[u] + length). `changed` counts the edges that
/// shortened a path. Distances are integers, and those that are not known are 2³⁰.
kernel relaxed_paths<B = 128>(
    from: i32[e],
    to: i32[e],
    length: i32[e],
    old: i32[n],
    dist: mut i32[n],
    changed: mut i32[1],
)
    grid [cdiv(e, B)]
    threads 64
{
    let u = load(tile(from, [B], pad: -1)[.., block_idx]);
    let v = load(tile(to, [B], pad: -1)[.., block_idx]);
    let w = load(tile(length, [B])[.., block_idx]);
    let start = load(gather(old, u));
    let next = start + w;
    let known = u >= 0 && start < 1073741824;
    let before = atomic_min(scatter(dist, where(known, v, -1)), next);
    let shorter = cast(known && next < before, i32);
    atomic_add(changed, sum(shorter, axis: 0));
}

test "shortest paths" for (n, e) in [(20, 60), (50, 300), (3, 2)] {
    let (from, to) = (
        uniform(i32, [e], seed: 1, low: 0, high: n),
        uniform(i32, [e], seed: 2, low: 0, high: n),
    );
    let length = uniform(i32, [e], seed: 3, low: 1, high: 50);
    let dist = full(i32, [n], 1073741824);
    dist[0] = 0;
    let wanted = cast(dist, i64);
    for _ in 0..n {
        for i in 0..e {
            if wanted[from[i]] < 1073741824 {
                wanted[to[i]] = min(wanted[to[i]], wanted[from[i]] + length[i]);
            }
        }
    }
    let more = true;
    while more {
        let changed = zeros(i32, [1]);
        relaxed_paths(from, to, length, dist.copy(), dist, changed);
        more = changed[0] > 0;
    }
    assert_eq(dist, wanted);
}
