// planted: HX0411 in check
kernel hollow(y: mut f32[64])
    grid [1]
    threads 32
{
    let s = shared_tensor(f32, [64]);
    copy(s, y);
}

test "hollow" {
    let y = empty(f32, [64]);
    hollow(y);
}
