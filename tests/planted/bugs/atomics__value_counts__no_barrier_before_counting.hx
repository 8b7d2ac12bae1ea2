// planted: HX0618 in test
// The `sync()` behind the zeroing of the counts is missing. Shows on every launch, depending on the schedule: a thread counts
// before another one zeroes that bin, and the count is lost.
use std::math::LN2;

/// The counts of the values 0..N of a vector of bytes, and their entropy: each persistent block counts in shared memory, adds its counts to those of
/// the others, and the last one computes the entropy. `counts` and `done` are 0 before a launch; `done` is 0 again after it.
kernel value_counts<B = 512, N = 64>(x: u8[n], counts: mut i32[N], entropy: mut f32[1], done: mut i32[1])
    where n >= 1
    grid [min(multiprocessors, cdiv(n, B))]
    threads 64
{
    let own = shared_tensor(i32, [N]);
    let none = register_tensor(i32, [N]);
    fill(none, 0);
    copy(none, own);
    let ones = register_tensor(i32, [B]);
    fill(ones, 1);
    for w in 0..cdiv(cdiv(n, B) - block_idx, grid_dim) {
        let t = block_idx + w * grid_dim;
        let v = cast(load(tile(x, [B])[.., t]), i32);
        let bins = where(index(v, 0) + t * B < n, v, -1);
        atomic_add(scatter(own, bins), ones);
    }
    sync();
    atomic_add(counts, load(own));
    let one = register_tensor(i32, [1]);
    fill(one, 1);
    if scalar(atomic_add(done, one, order: "acq_rel")) == grid_dim - 1 {
        let all = cast(atomic_load(counts), f32) / cast(n, f32);
        let terms = where(all > 0.0, -all * log2(all) * LN2, 0.0);
        copy(sum(terms, axis: 0), entropy);
        atomic_store(done, one * 0);
    }
}

test "counts and entropy" for n in [512, 1000, 5000, 1] {
    let x = uniform(u8, [n], seed: n, low: 0, high: 70);
    let (counts, entropy, done) = (zeros(i32, [64]), empty(f32, [1]), zeros(i32, [1]));
    value_counts(x, counts, entropy, done);
    let wanted = 0.0;
    for b in 0..64 {
        let number = sum(where(x == b, 1, 0));
        assert_eq(counts[b], number);
        if number > 0 {
            wanted = wanted - float(number) / n * log(float(number) / n);
        }
    }
    assert_close(entropy[0], wanted, rtol: 1e-4, atol: 1e-5);
    assert_eq(done[0], 0);
}
