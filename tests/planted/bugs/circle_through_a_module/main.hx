// planted: HX0108 in check
// Functions of two other files call each other, and the kernel calls one of them.
use odd::odd;

kernel parity(x: f32[m], y: mut f32[m])
    grid [cdiv(m, 128)]
    threads 128
{
    let i = block_idx;
    copy(odd(load(tile(x, [128])[.., i])), tile(y, [128])[.., i]);
}

test "parity" {
    let x = zeros(f32, [128]);
    let y = empty(f32, [128]);
    parity(x, y);
    assert_eq(y, x);
}
