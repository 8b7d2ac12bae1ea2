// planted: HX0218 in check
// A load releases nothing.
kernel spin(x: i32[64], y: mut i32[64])
    grid [1]
    threads 32
{
    copy(atomic_load(x, order: "release"), y);
}

test "spin" {
    let y = empty(i32, [64]);
    spin(ones(i32, [64]), y);
}
