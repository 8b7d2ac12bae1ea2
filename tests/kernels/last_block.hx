//! Blocks that tell each other what they did, by atomic accesses that release and acquire.

/// total[0] is the sum of `x`, in one launch: each block leaves its sum in `parts`, and the block that finishes last adds them
/// up. `finished` is 0 before the launch and 0 again after it.
kernel sum_in_one_launch<B = 1024, P = 64>(
    x: f32[m],
    parts: mut f32[P],
    finished: mut i32[1],
    total: mut f32[1],
)
    grid [min(P, cdiv(m, B))]
    threads 128
{
    let acc = register_tensor(f32, [1]);
    fill(acc, 0.0);
    for t in 0..cdiv(cdiv(m, B) - block_idx, grid_dim) {
        acc = acc + sum(load(tile(x, [B])[.., block_idx + t * grid_dim]), axis: 0);
    }
    copy(acc, tile(parts, [1])[.., block_idx]);
    let one = register_tensor(i32, [1]);
    fill(one, 1);
    let ticket = scalar(atomic_add(finished, one, order: "acq_rel"));
    if ticket == grid_dim - 1 {
        let all = load(parts);
        let own = where(index(all, 0) < grid_dim, all, 0.0);
        copy(sum(own, axis: 0), total);
        fill(one, 0);
        copy(one, finished);
    }
}

test "the last block adds up the parts of all" for m in [1000, 5000, 70000] {
    let x = uniform(f32, [m], seed: 1);
    let parts = zeros(f32, [64]);
    let finished = zeros(i32, [1]);
    let total = empty(f32, [1]);
    sum_in_one_launch(x, parts, finished, total);
    assert_close(total[0], sum(x), rtol: 1e-5);
    assert_eq(finished[0], 0);
    sum_in_one_launch(x, parts, finished, total);
    assert_close(total[0], sum(x), rtol: 1e-5);
}

/// Sums of `B` numbers at a time, and of all before them: y[i] is the sum of x[0..=i]. One launch, one pass over `x`.
///
/// A block takes the next tile by a ticket, so the tiles before its own are those of blocks that have begun. It publishes the sum
/// of its tile at once, and looks back over the tiles before it until it finds one whose running sum is known. `state[t]` says
/// what is known of tile `t`: 0 nothing, 1 its own sum, 2 the running sum up to its end.
kernel look_back_scan<B = 512>(
    x: i32[m],
    y: mut i32[m],
    ticket: mut i32[1],
    state: mut i32[t],
    sums: mut i32[t],
    prefixes: mut i32[t],
)
    where t == cdiv(m, B)
    grid [cdiv(m, B)]
    threads 128
{
    let one = register_tensor(i32, [1]);
    fill(one, 1);
    let mine = scalar(atomic_add(ticket, one));
    let running = scan(load(tile(x, [B])[.., mine]), axis: 0, op: |a, b| a + b);
    let own = running[B - 1..B];
    let before = register_tensor(i32, [1]);
    fill(before, 0);
    if mine > 0 {
        copy(own, tile(sums, [1])[.., mine]);
        atomic_store(tile(state, [1])[.., mine], one, order: "release");
        let at = mine - 1;
        while at >= 0 {
            let known = scalar(atomic_load(tile(state, [1])[.., at], order: "acquire"));
            if known == 2 {
                before = before + load(tile(prefixes, [1])[.., at]);
                at = -1;
            }
            if known == 1 {
                before = before + load(tile(sums, [1])[.., at]);
                at = at - 1;
            }
        }
    }
    copy(before + own, tile(prefixes, [1])[.., mine]);
    atomic_store(tile(state, [1])[.., mine], one + 1, order: "release");
    copy(running + before, tile(y, [B])[.., mine]);
}

test "every tile finds the sum of those before it" for m in [512, 1000, 20000] {
    let x = uniform(i32, [m], seed: 1, low: -9, high: 10);
    let y = empty(i32, [m]);
    let tiles = (m + 511) / 512;
    let ticket = zeros(i32, [1]);
    let state = zeros(i32, [tiles]);
    let sums = empty(i32, [tiles]);
    let prefixes = empty(i32, [tiles]);
    look_back_scan(x, y, ticket, state, sums, prefixes);
    assert_eq(y, cumsum(x, axis: 0));
}
