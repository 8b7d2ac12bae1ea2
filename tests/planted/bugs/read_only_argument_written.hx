// planted: HX0207 in check
// The result goes to an argument that is not `mut`.
kernel double(x: f32[64], y: f32[64])
    grid [1]
    threads 32
{
    copy(load(x) * 2.0, y);
}

test "double" {
    let y = empty(f32, [64]);
    double(randn(f32, [64], seed: 1), y);
}
