// planted: HX0208 in check
// A number is read through gathered rows: the row's own number has to be read first.
kernel number(x: f32[m, 8], rows: i32[64], y: mut f32[32])
    where m >= 64
    grid [1]
    threads 32
{
    let t = register_tensor(f32, [32]);
    fill(t, gather(x, rows)[3, 4]);
    copy(t, y);
}

test "number" {
    let y = empty(f32, [32]);
    number(ones(f32, [64, 8]), zeros(i32, [64]), y);
}
