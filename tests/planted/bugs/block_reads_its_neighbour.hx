// planted: HX0618 in test
// Each block reads the tile that the block before it writes.
kernel chain(y: mut f32[m])
    where m % 64 == 0
    grid [m / 64 - 1]
    threads 32
{
    let i = block_idx;
    copy(load(tile(y, [64])[.., i]) + 1.0, tile(y, [64])[.., i + 1]);
}

test "chain" {
    let y = zeros(f32, [256]);
    chain(y);
}
