// planted: HX0618 in test
// The bits are set atomically among the threads of one block only.
kernel marked<B = 256>(x: i32[m], set: mut u32[w], count: mut i32[1])
    where w >= 1
    grid [cdiv(m, B)]
    threads 64
{
    let v = load(tile(x, [B], pad: -1)[.., block_idx]);
    let bit = bitcast(1 << (v & 31), u32);
    let old = atomic_or(scatter(set, v >> 5), bit, scope: "block");
    let fresh = where(v >= 0 && old & bit == 0, 1, 0);
    atomic_add(count, sum(cast(fresh, i32), axis: 0));
}

test "marked" for m in [100, 2000] {
    let x = uniform(i32, [m], seed: 418, low: 0, high: 640);
    let (set, count) = (zeros(u32, [20]), zeros(i32, [1]));
    marked(x, set, count);
    let seen = zeros(i64, [640]);
    for i in 0..m {
        seen[x[i]] = 1;
    }
    assert_eq(count[0], sum(seen));
}
