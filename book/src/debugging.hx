/// y = x, scaled so that the largest element of each row is 1
kernel scale_rows<BM = 2>(x: f32[m, n], y: mut f32[m, n])
    grid [cdiv(m, BM)]
    threads 32
{
    let bm = block_idx;
    let r = load(tile(x, [BM, 8])[.., .., bm, 0]);
    let largest = max(abs(r), axis: 1);
    if bm == 1 {
        print("rows", bm * BM, largest);
    }
    assert(largest > 0.0, "a row of zeros cannot be scaled");
    copy(r / largest, tile(y, [BM, 8])[.., .., bm, 0]);
}

main {
    let x = arange(f32, 32).reshape([4, 8]) - 8.0;
    let y = empty(f32, [4, 8]);
    scale_rows(cast(x, f32), y);
    print(y[2..]);
    scale_rows(cast(where(x < 8.0, 0.0, x), f32), y);
}
