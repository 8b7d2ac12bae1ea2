//! Conversions from and to floats of 8 bits, several values at a time and one by one.

kernel convert<BM = 4, BN = 256, T: type = f32, D: type = f8e4m3>(x: T[m, n], y: mut D[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 32
{
    let [bm, bn] = block_idx;
    copy(cast(load(tile(x, [BM, BN])[.., .., bm, bn]), D), tile(y, [BM, BN])[.., .., bm, bn]);
}

test "from every float of 8 bits" for (S, D) in [
    (f8e4m3, f16),
    (f8e4m3, bf16),
    (f8e4m3, f32),
    (f8e5m2, f16),
    (f8e5m2, bf16),
    (f8e5m2, f32),
] {
    for shape in [[1, 256], [256, 1]] {
        let x = reshape(bitcast(cast(arange(i32, [256]), u8), S), shape);
        let y = empty(D, shape);
        convert<T = S, D = D>(x, y);
        assert_eq(y, cast(x, D));
    }
}

/// Every float of 16 bits but the one with all bits set, with which simulated memory begins. The results are compared as bits: NaN is
/// 0x7f.
test "from every float of 16 bits" for (S, D) in [
    (f16, f8e4m3),
    (f16, f8e5m2),
    (bf16, f8e4m3),
    (bf16, f8e5m2),
] {
    let x = reshape(bitcast(cast(arange(i32, [65535]), u16), S), [15, 4369]);
    let y = empty(D, [15, 4369]);
    convert<T = S, D = D>(x, y);
    assert_eq(bitcast(y, u8), bitcast(cast(x, D), u8));
}

/// The upper halves of all floats of 32 bits, each with lower halves that are at, next to, and between the middles of neighbours.
test "from floats of 32 bits" for D in [f8e4m3, f8e5m2] {
    for low in [0, 1, 0x5a5a, 0x8000, 0xffff] {
        let bits = (arange(i64, [65535]) << 16) | low;
        let x = reshape(bitcast(cast(bits, u32), f32), [15, 4369]);
        let y = empty(D, [15, 4369]);
        convert<D = D>(x, y);
        assert_eq(bitcast(y, u8), bitcast(cast(x, D), u8));
    }
}
