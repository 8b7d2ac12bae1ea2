kernel tile_too_large<BM = 512>(x: f32[m, n], y: mut f32[m, n])
    grid [cdiv(m, BM)]
    threads 128
{
    let b = block_idx;
    let a = load(tile(x, [BM, 256])[.., .., b, 0]);
    copy(a * 2.0, tile(y, [BM, 256])[.., .., b, 0]);
}
