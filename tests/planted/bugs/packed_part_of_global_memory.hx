// planted: HX0302 in check
// The part begins in the middle of a byte of global memory.
kernel part(x: i4[16, 64], y: mut i4[16, 32])
    grid [1]
    threads 32
{
    copy(x[.., 5..37], y);
}

test "part" {
    let x = uniform(i4, [16, 64], low: -8, high: 8, seed: 1);
    let y = empty(i4, [16, 32]);
    part(x, y);
}
