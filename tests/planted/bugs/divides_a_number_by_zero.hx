// planted: HX0634 in test
// The tile that is read is the remainder by a parameter that may be 0.
kernel turn(x: f32[n], d: i32, y: mut f32[n])
    grid [1]
    threads 64
{
    let i = 7 % d;
    copy(load(tile(x, [64])[.., i]), tile(y, [64])[.., 0]);
}

test "turn" {
    let y = empty(f32, [64]);
    turn(full(f32, [64], 7.0), 0, y);
}
