// planted: HX0618 in test
// The flag is read relaxed: nothing orders the plain accesses to the sum.
kernel chain<B = 256>(x: i32[n], y: mut i32[n], ticket: mut i32[1], flags: mut i32[t], sums: mut i32[t])
    where t == cdiv(n, B), n >= 1
    grid [cdiv(n, B)]
    threads 64
{
    let one = register_tensor(i32, [1]);
    fill(one, 1);
    let me = scalar(atomic_add(ticket, one));
    let v = scan(load(tile(x, [B])[.., me]), axis: 0, op: |a, b| a + b);
    let before = register_tensor(i32, [1]);
    fill(before, 0);
    if me > 0 {
        while scalar(atomic_load(tile(flags, [1])[.., me - 1])) == 0 {}
        before = load(tile(sums, [1])[.., me - 1]);
    }
    let all = before + v[B - 1..B];
    copy(all, tile(sums, [1])[.., me]);
    atomic_store(tile(flags, [1])[.., me], one, order: "release");
    copy(v + before, tile(y, [B])[.., me]);
}

test "chain" for n in [256, 3000] {
    let x = uniform(i32, [n], seed: 281, low: -9, high: 10);
    let t = cdiv(n, 256);
    let y = empty(i32, [n]);
    let (ticket, flags, sums) = (zeros(i32, [1]), zeros(i32, [t]), zeros(i32, [t]));
    chain(x, y, ticket, flags, sums);
    assert_eq(y, cumsum(x, 0));
}
