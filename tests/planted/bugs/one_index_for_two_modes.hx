// planted: HX0206 in check
// One index in registers picks elements of a matrix.
kernel picked(x: f32[m, n], i: i32[64], y: mut f32[64])
    grid [1]
    threads 32
{
    copy(load(gather(x, load(i))), y);
}

test "picked" {
    let y = empty(f32, [64]);
    picked(ones(f32, [64, 2]), zeros(i32, [64]), y);
}
