// planted: HX0310 in check
// The tile is padded with zeros. Shows where m is no multiple of 32 on columns of negative numbers: a row that does not exist
// wins with 0.
/// The largest element of each column and the first row that has it, over blocks of rows: a value and a row are packed into 64 bits whose order is
/// that of the values, and equal values that of the rows backwards. `packed` begins as the least number.
kernel packed_argmax<BM = 32, BN = 32>(x: f32[m, n], packed: mut i64[n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 64
{
    let [bm, bn] = block_idx;
    let v = load(tile(x, [BM, BN])[.., .., bm, bn]);
    let bits = bitcast(v, i32);
    // Negative numbers have the opposite order of their bits.
    let order = cast(where(bits < 0, bits ^ 0x7fffffff, bits), i64);
    let row = cast(index(v, 0) + bm * BM, i64);
    let key = (order << cast(32, i64)) | (cast(0x7fffffff, i64) - row);
    let best = max(key, axis: 0);
    atomic_max(tile(packed, [BN])[.., bn], best[0, ..]);
}

test "the first of the largest" for (m, n) in [(32, 32), (100, 70), (7, 3), (300, 33)] {
    let x = cast(cast(randn(f32, [m, n], seed: 1) * 4.0, i32), f32);
    let packed = full(i64, [n], -9223372036854775807);
    packed_argmax(x, packed);
    let best = argmax(x, axis: 0);
    for j in 0..n {
        assert_eq(0x7fffffff - (packed[j] & 0xffffffff), best[j]);
        let bits = packed[j] >> 32;
        let value = bitcast(cast([if bits < 0 { bits ^ 0x7fffffff } else { bits }], i32), f32);
        assert_eq(value[0], max(x[.., j]));
    }
}
