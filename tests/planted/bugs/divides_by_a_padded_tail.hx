// planted: HX0634 in test
// Beyond the end of `d` the tile holds 0; `pad: 1` on its view is missing.
kernel ratios(x: i32[n], d: i32[n], y: mut i32[n])
    grid [cdiv(n, 64)]
    threads 64
{
    let bm = block_idx;
    copy(load(tile(x, [64])[.., bm]) / load(tile(d, [64])[.., bm]), tile(y, [64])[.., bm]);
}

test "ratios" {
    let y = empty(i32, [50]);
    ratios(full(i32, [50], 7), full(i32, [50], 2), y);
}
