// planted: HX0401 in check
// The next round overwrites the tile while other threads still read it: the second `sync()` is missing.
kernel rounds(x: f16[m, 64], y: mut f16[m, 64])
    where m % 64 == 0
    grid [1]
    threads 128
{
    let s = shared_tensor(f16, [64, 64]);
    for i in 0..m / 64 {
        copy(load(tile(x, [64, 64])[.., .., i, 0]), s);
        sync();
        copy(load(s.T), tile(y, [64, 64])[.., .., i, 0]);
    }
}

test "rounds" {
    let x = randn(f16, [192, 64], seed: 1);
    let y = empty(f16, [192, 64]);
    rounds(x, y);
}
