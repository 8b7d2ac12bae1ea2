//! Atomic accesses with the elements as they were before.

/// Puts the positive elements of `x` next to each other, in any order. Each gets its place from a counter.
kernel keep_positive<B = 512>(x: f32[m], count: mut i32[1], y: mut f32[m])
    grid [cdiv(m, B)]
    threads 128
{
    let t = load(tile(x, [B])[.., block_idx]);
    let keep = t > 0.0;
    // Elements that are not kept draw no place: there is no element -1 of the counter.
    let one = register_tensor(i32, [B]);
    fill(one, 1);
    let counter = where(keep, one - 1, -1);
    let place = atomic_add(scatter(count, counter), one);
    copy(t, scatter(y, where(keep, place, -1)));
}

test "every positive element is kept once" for m in [512, 1000, 4000] {
    let x = randn(f32, [m], seed: 3);
    let y = zeros(f32, [m]);
    let count = zeros(i32, [1]);
    keep_positive(x, count, y);
    let wanted = where(x > 0.0, x, 0.0);
    assert_eq(count[0], sum(where(x > 0.0, 1, 0)));
    assert_close(sum(y), sum(wanted), rtol: 1e-5);
    assert_close(max(y), max(wanted), rtol: 0.0);
    assert_eq(sum(where(y > 0.0, 1, 0)), count[0]);
}

/// Each operation on the integers of each block, one after the other, in global memory and in shared memory. `old` gets what the
/// operations found.
kernel each_operation<T: type = i32, N = 64>(x: T[N], y: mut T[2, N], old: mut T[2, 7, N])
    grid [1]
    threads 64
{
    let t = load(x);
    let s = shared_tensor(T, [N]);
    copy(load(y[1, ..]), s);
    sync();
    copy(atomic_add(y[0, ..], t), old[0, 0, ..]);
    copy(atomic_min(y[0, ..], t * 2), old[0, 1, ..]);
    copy(atomic_max(y[0, ..], t + 5), old[0, 2, ..]);
    copy(atomic_and(y[0, ..], t * 0 + 15), old[0, 3, ..]);
    copy(atomic_or(y[0, ..], t * 0 + 64), old[0, 4, ..]);
    copy(atomic_xor(y[0, ..], t * 0 + 65), old[0, 5, ..]);
    copy(atomic_exchange(y[0, ..], t), old[0, 6, ..]);
    copy(atomic_add(s, t), old[1, 0, ..]);
    copy(atomic_min(s, t * 2), old[1, 1, ..]);
    copy(atomic_max(s, t + 5), old[1, 2, ..]);
    copy(atomic_and(s, t * 0 + 15), old[1, 3, ..]);
    copy(atomic_or(s, t * 0 + 64), old[1, 4, ..]);
    copy(atomic_xor(s, t * 0 + 65), old[1, 5, ..]);
    copy(atomic_exchange(s, t), old[1, 6, ..]);
    sync();
    copy(load(s), y[1, ..]);
}

test "operations return what they found" for T in [i32, u32, i64] {
    let x = arange(T, [64]);
    let y = full(T, [2, 64], 20);
    let old = empty(T, [2, 7, 64]);
    each_operation(x, y, old);
    for i in 0..64 {
        let added = 20 + i;
        let least = min(added, 2 * i);
        let most = max(least, i + 5);
        let both = most % 16;
        let either = both + 64;
        let flipped = both + where(both % 2 == 0, 1, -1);
        for memory in 0..2 {
            assert_eq(old[memory, 0, i], 20);
            assert_eq(old[memory, 1, i], added);
            assert_eq(old[memory, 2, i], least);
            assert_eq(old[memory, 3, i], most);
            assert_eq(old[memory, 4, i], both);
            assert_eq(old[memory, 5, i], either);
            assert_eq(old[memory, 6, i], flipped);
            assert_eq(y[memory, i], i);
        }
    }
}

/// Sums of other types, with and without the elements as they were before, and a compare-exchange of floats.
kernel sums_of_types<N = 64>(x: f16[N], y: mut f16[N], z: mut f64[N], w: mut f32[N], old: mut f32[N])
    grid [2]
    threads 64
{
    let t = load(x);
    atomic_add(y, t);
    atomic_add(z, cast(t, f64));
    let s = shared_tensor(f16, [N]);
    copy(t, s);
    sync();
    let before = atomic_add(s, t);
    sync();
    if block_idx == 0 {
        let found = atomic_cas(w, cast(before, f32), cast(load(s), f32));
        copy(found, old);
    }
}

test "sums are of the type of the elements" {
    let x = cast(arange(f32, [64]), f16);
    let y = full(f16, [64], 1.0);
    let z = full(f64, [64], 2.0);
    let w = full(f32, [64], 3.0);
    let old = empty(f32, [64]);
    sums_of_types(x, y, z, w, old);
    for i in 0..64 {
        assert_eq(y[i], 1.0 + 2.0 * i);
        assert_eq(z[i], 2.0 + 2.0 * i);
        assert_eq(w[i], where(i == 3, 6.0, 3.0));
        assert_eq(old[i], 3.0);
    }
}
