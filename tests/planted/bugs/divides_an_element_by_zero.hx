// planted: HX0634 in test
// The last rows of `d` are 0, and nothing chooses another divisor for them.
kernel ratios(x: i32[n], d: i32[n], y: mut i32[n])
    grid [cdiv(n, 64)]
    threads 64
{
    let bm = block_idx;
    copy(load(tile(x, [64])[.., bm]) / load(tile(d, [64])[.., bm]), tile(y, [64])[.., bm]);
}

test "ratios" {
    let x = full(i32, [64], 7);
    let d = cast(60 - arange(i32, 64), i32);
    let y = empty(i32, [64]);
    ratios(x, d, y);
}
