// Packed elements at starts that are even in every launch.
kernel part(x: u4[16, 64], y: mut u4[16, 32], o: i32)
    where o >= 0, o <= 16
    grid [1]
    threads 32
{
    let s = shared_tensor(u4, [16, 72]);
    copy(x, s[.., 6..70]);
    sync();
    copy(s[.., o * 2 + 6..o * 2 + 38], y);
}

test "part" for o in [0, 1, 3, 16] {
    let x = uniform(u4, [16, 64], low: 0, high: 16, seed: 1);
    let y = empty(u4, [16, 32]);
    part(x, y, o);
    assert_eq(y, x[.., o * 2..o * 2 + 32]);
}
