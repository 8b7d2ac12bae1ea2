// planted: HX0218 in check
// No device takes maxima of floats in memory.
kernel largest(x: f32[64], y: mut f32[64])
    grid [1]
    threads 32
{
    atomic_max(y, load(x));
}

test "largest" {
    let y = zeros(f32, [64]);
    largest(ones(f32, [64]), y);
}
