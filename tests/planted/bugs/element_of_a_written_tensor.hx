// planted: HX0214 in check
// An element of a tensor that the kernel may write is no number of the block.
kernel twice(y: mut i32[64])
    grid [1]
    threads 32
{
    let n = y[0];
    for i in 0..n {
        copy(load(y) + 1, y);
    }
}

test "twice" {
    let y = full(i32, [64], 2);
    twice(y);
}
