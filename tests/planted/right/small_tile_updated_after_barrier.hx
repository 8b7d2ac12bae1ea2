// Several threads read each of the 16 elements; the barrier stands before the one that stores it.
kernel double(y: mut f32[16])
    grid [1]
    threads 64
{
    let t = load(y);
    sync();
    copy(t * 2.0, y);
}

test "double" {
    let y = arange(f32, [16]);
    double(y);
    assert_eq(y, arange(f32, [16]) * 2.0);
}
