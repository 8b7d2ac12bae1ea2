/// How many tokens each expert gets, and the auxiliary loss of load balancing of each batch: E · Σ over experts of (share of tokens) · (mean
/// probability). The tokens of a batch are dealt to the `C` blocks of a cluster; counts are summed as integers, probabilities as floats.
kernel expert_counts<BT = 32, E = 16, C = 2>(p: f32[b, t, E], counts: mut i32[b, E], loss: mut f32[b])
    where t >= 1
    grid [C * b]
    cluster [C]
    threads 32
{
    let (rank, batch) = (block_idx % C, block_idx / C);
    let rounds = cdiv(cdiv(t, BT) - rank, C);
    let hits = register_tensor(i32, [BT, E]);
    let mass = register_tensor(f32, [BT, E]);
    fill(hits, 0);
    fill(mass, 0.0);
    for i in 0..rounds {
        let first = (rank + i * C) * BT;
        let v = load(tile(p[batch], [BT, E])[.., .., rank + i * C, 0]);
        let best = rearrange(argmax(v, axis: 1), auto);
        let chosen = best == index(v, 1) && index(v, 0) + first < t;
        hits = hits + cast(chosen, i32);
        mass = mass + v;
    }
    let all = sum(rearrange(sum(hits, axis: 0), auto), cluster: 0);
    let whole = sum(rearrange(sum(mass, axis: 0), auto), cluster: 0);
    if rank == 0 {
        copy(all[0, ..], counts[batch]);
        let share = cast(all, f32) * whole / (cast(t, f32) * cast(t, f32));
        copy(sum(share, axis: 1)[0, ..] * cast(E, f32), tile(loss, [1])[.., batch]);
    }
}

test "the load of experts" for (b, t) in [(2, 64), (3, 100), (1, 7), (2, 33)] {
    let p = cast(softmax(randn(f32, [b, t, 16], seed: 1), axis: 2), f32);
    let (counts, loss) = (empty(i32, [b, 16]), empty(f32, [b]));
    expert_counts(p, counts, loss);
    for i in 0..b {
        let best = argmax(p[i], axis: 1);
        let wanted = zeros(i64, [16]);
        for j in 0..t {
            wanted[best[j]] = wanted[best[j]] + 1;
        }
        assert_eq(counts[i], wanted);
        assert_close(loss[i], sum(cast(wanted, f64) / t * mean(p[i], axis: 0)) * 16, rtol: 1e-4);
    }
}
