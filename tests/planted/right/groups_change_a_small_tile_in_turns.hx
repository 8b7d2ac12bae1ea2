// Two threads of a group hold each of the 64 elements. The turn that comes round orders the write of a round before the reads of
// the next one, also those by the same group.
kernel in_turns<N = 64>(x: i32[m], y: mut i32[m])
    where m % (2 * N) == 0
    grid [1]
{
    let s = shared_tensor(i32, [N]);
    let order = turns();
    fill(s, 1);
    sync();
    warp_groups {
        producer {}
        consumer each 2 (g) {
            for i in 0..m / (2 * N) {
                let own = load(tile(x, [N])[.., 2 * i + g]);
                order.take();
                let all = load(s) + own;
                sync();
                copy(all, s);
                order.pass();
                copy(all, tile(y, [N])[.., 2 * i + g]);
            }
        }
    }
}

test "in turns" for m in [128, 512] {
    let x = uniform(i32, [m], seed: 1, low: -9, high: 9);
    let (y, e, sum) = (empty(i32, [m]), zeros(f64, [m]), ones(f64, [64]));
    in_turns(x, y);
    for i in 0..m / 64 {
        sum = sum + x[i * 64..i * 64 + 64];
        e[i * 64..i * 64 + 64] = sum;
    }
    assert_eq(y, e);
}
