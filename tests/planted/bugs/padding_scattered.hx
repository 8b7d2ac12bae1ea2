// planted: HX0310 in check
// The last tile of `to` ends early: its zeros send elements of `x` beyond the end, zeros too, to element 0.
kernel send(x: f32[n], to: i32[n], y: mut f32[m])
    grid [cdiv(n, 32)]
    threads 32
{
    let at = load(tile(to, [32])[.., block_idx]);
    copy(load(tile(x, [32])[.., block_idx]), scatter(y, at));
}

test "send" {
    let x = cast(arange(i32, [40]) + 1, f32);
    let y = zeros(f32, [40]);
    send(x, cast(arange(i32, [40]), i32), y);
    assert_eq(y, x);
}
