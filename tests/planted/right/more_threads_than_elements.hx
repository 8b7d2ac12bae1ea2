// Of 256 threads most have nothing to do.
kernel add(x: f32[5], y: mut f32[5])
    grid [1]
    threads 256
{
    copy(load(x) + 1.0, y);
}

test "add" {
    let y = empty(f32, [5]);
    add(arange(f32, [5]), y);
    assert_eq(y, arange(f32, [5]) + 1.0);
}
