// planted: HX0218 in check
// There is no atomic sum of bytes.
kernel counts(x: u8[64], y: mut u8[64])
    grid [1]
    threads 32
{
    atomic_add(y, load(x));
}

test "counts" {
    let y = zeros(u8, [64]);
    counts(ones(u8, [64]), y);
}
