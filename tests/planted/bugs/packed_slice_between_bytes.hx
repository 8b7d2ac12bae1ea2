// planted: HX0302 in check
// A slice of 4-bit elements from the second one on begins in the middle of a byte.
kernel cut(x: u4[64], y: mut u4[32])
    grid [1]
    threads 32
{
    copy(load(global_view(x[1..], (32) : (1))), y);
}

test "cut" {
    let y = empty(u4, [32]);
    cut(uniform(u4, [64], low: 0, high: 16, seed: 1), y);
}
