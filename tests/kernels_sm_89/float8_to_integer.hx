//! Conversions of floats of 8 bits to integers: the value is cut toward zero and stays within the range of the type; NaN becomes 0.

kernel convert<S: type = f8e4m3, D: type = i32>(x: S[n], y: mut D[n])
    grid [cdiv(n, 64)]
    threads 64
{
    copy(cast(load(tile(x, [64])[.., block_idx]), D), tile(y, [64])[.., block_idx]);
}

test "every float of 8 bits" for S in [f8e4m3, f8e5m2] {
    let x = bitcast(cast(arange(i32, [256]), u8), S);
    for D in [i8, u8, i16, u16, i32, u32, i64, u64, bool] {
        let y = empty(D, [256]);
        convert<S = S, D = D>(x, y);
        assert_eq(y, cast(x, D));
    }
}
