// planted: HX0302 in check
// Every row of the frame puts the copied tile at an odd element, and an asynchronous copy moves 4 bytes or more.
kernel framed(x: f16[16, 32], y: mut f16[16, 34])
    grid [1]
    threads 32
{
    let s = shared_tensor(f16, [16, 34]);
    copy_async(x, s[.., 1..33]);
    commit();
    wait(0);
    sync();
    copy(s[.., 1..33], y[.., 1..33]);
}

test "framed" {
    let x = randn(f16, [16, 32], seed: 1);
    let y = empty(f16, [16, 34]);
    framed(x, y);
}
