// planted: HX0204 in check
// Packed weights are added to bytes without a cast.
kernel adds(x: u4[64], y: mut u8[64])
    grid [1]
    threads 32
{
    copy(load(x) + load(y), y);
}

test "adds" {
    let y = zeros(u8, [64]);
    adds(uniform(u4, [64], low: 0, high: 16, seed: 1), y);
}
