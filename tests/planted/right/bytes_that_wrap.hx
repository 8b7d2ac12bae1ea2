// Sums of bytes wrap, on tensors and in casts.
kernel wraps(x: u8[256], y: mut u8[256], z: mut i8[256])
    grid [1]
    threads 32
{
    let t = load(x);
    copy(t + t, y);
    copy(cast(cast(t, i32) * 3, i8), z);
}

test "wraps" {
    let x = cast(arange(i32, [256]), u8);
    let y = empty(u8, [256]);
    let z = empty(i8, [256]);
    wraps(x, y, z);
    assert_eq(y, cast(arange(i32, [256]) * 2, u8));
    assert_eq(z, cast(arange(i32, [256]) * 3, i8));
}
