// A hash relies on `u32` wrapping, for the seed of the block and for elements alike.
kernel hashed(x: u32[n], seed: u32, y: mut u32[n])
    grid [cdiv(n, 64)]
    threads 64
{
    let bm = block_idx;
    let start = seed * 2654435761 + cast(bm, u32);
    copy((load(tile(x, [64])[.., bm]) + start) * 2246822519, tile(y, [64])[.., bm]);
}

test "hashed" for (seed, want) in [(0, 0), (3, 4108235221), (4294967295, 62244025)] {
    let y = empty(u32, [64]);
    hashed(zeros(u32, [64]), seed, y);
    assert_eq(y, full(u32, [64], want));
}
