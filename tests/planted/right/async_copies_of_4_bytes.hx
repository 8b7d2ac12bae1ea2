// The columns begin at 2 and at 6: asynchronous copies of 4 bytes reach them, and none of 8.
kernel framed(x: f16[16, 64], y: mut f16[16, 40])
    grid [1]
    threads 32
{
    let s = shared_tensor(f16, [16, 40]);
    let zeros = register_tensor(f16, [16, 40]);
    fill(zeros, 0.0);
    copy(zeros, s);
    sync();
    copy_async(x[.., 2..34], s[.., 6..38]);
    commit();
    wait(0);
    sync();
    copy(s, y);
}

test "framed" {
    let x = randn(f16, [16, 64], seed: 1);
    let y = empty(f16, [16, 40]);
    framed(x, y);
    assert_eq(y[.., 6..38], x[.., 2..34]);
    assert(sum(abs(y)) == sum(abs(x[.., 2..34])));
}
