// planted: HX0210 in check
// The table has four entries; block 4 asks for its fifth.
kernel scaled(x: f32[m], table: f32[4], y: mut f32[m])
    grid [cdiv(m, 32)]
    threads 32
{
    let i = block_idx;
    let scale = table[i];
    copy(load(tile(x, [32])[.., i]) * scale, tile(y, [32])[.., i]);
}

test "scaled" {
    let y = empty(f32, [160]);
    scaled(randn(f32, [160], seed: 1), ones(f32, [4]), y);
}
