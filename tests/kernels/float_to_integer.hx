//! Conversions of floats to integers at the edges: the value is cut toward zero and stays within the range of the type; NaN becomes 0.

kernel convert<S: type = f32, D: type = i32>(x: S[n], y: mut D[n])
    grid [cdiv(n, 64)]
    threads 64
{
    copy(cast(load(tile(x, [64])[.., block_idx]), D), tile(y, [64])[.., block_idx]);
}

test "floats to integers, against the host" for S in [f16, bf16, f32, f64] {
    // Halves, the ends of the types of 8, 16, 32 and 64 bits, and the nearest numbers of f32 and f64 beside them.
    let x = cast(
        [
            0.0,
            -0.0,
            0.5,
            -0.5,
            0.999,
            -0.999,
            1.5,
            -1.5,
            2.5,
            -2.5,
            1e-40,
            1e-310,
            1e30,
            -1e30,
            inf,
            -inf,
            nan,
            -nan,
            127.0,
            127.5,
            128.0,
            128.5,
            -128.0,
            -128.5,
            -129.0,
            255.0,
            255.5,
            256.0,
            448.0,
            -448.0,
            57344.0,
            -57344.0,
            32767.0,
            32767.5,
            32768.0,
            -32768.0,
            -32768.5,
            -32769.0,
            65504.0,
            65535.0,
            65535.5,
            65536.0,
            2147483520.0,
            2147483647.0,
            2147483647.5,
            2147483648.0,
            -2147483648.0,
            -2147483648.5,
            -2147483649.0,
            -2147483904.0,
            4294967040.0,
            4294967295.0,
            4294967295.5,
            4294967296.0,
            9007199254740991.0,
            9007199254740993.0,
            9223371487098961920.0,
            9223372036854774784.0,
            9223372036854775808.0,
            -9223372036854775808.0,
            -9223373136366403584.0,
            18446742974197923840.0,
            18446744073709549568.0,
            18446744073709551616.0,
        ],
        S,
    );
    for D in [i8, u8, i16, u16, i32, u32, i64, u64, bool] {
        let y = empty(D, [64]);
        convert<S = S, D = D>(x, y);
        assert_eq(y, cast(x, D));
    }
}

test "packed integers" for D in [i4, u4, i2, u2, i1, u1] {
    let x = cast(
        [
            0.0,
            0.5,
            -0.5,
            1.0,
            -1.0,
            1.5,
            -1.5,
            2.0,
            -2.0,
            3.0,
            -3.0,
            7.0,
            7.9,
            8.0,
            -8.9,
            -9.0,
            15.9,
            16.0,
            1e9,
            -1e9,
            inf,
            -inf,
            nan,
            -0.0,
        ],
        f32,
    );
    let x = cast(reshape([x, x, x, x], [96]), f32);
    let y = empty(D, [96]);
    convert<S = f32, D = D>(x, y);
    assert_eq(y, cast(x, D));
}

test "NaN and infinities, written out" for S in [f16, bf16, f32, f64] {
    let x = cast([nan, inf, -inf, -nan], S);
    let (a, b, c, d) = (empty(i8, [4]), empty(u16, [4]), empty(i32, [4]), empty(u32, [4]));
    convert<S = S, D = i8>(x, a);
    convert<S = S, D = u16>(x, b);
    convert<S = S, D = i32>(x, c);
    convert<S = S, D = u32>(x, d);
    assert_eq(a, cast([0, 127, -128, 0], i8));
    assert_eq(b, cast([0, 65535, 0, 0], u16));
    assert_eq(c, cast([0, 2147483647, -2147483648, 0], i32));
    assert_eq(d, cast([0, 4294967295, 0, 0], u32));
    let (e, f) = (empty(i64, [4]), empty(u64, [4]));
    convert<S = S, D = i64>(x, e);
    convert<S = S, D = u64>(x, f);
    assert_eq(e, cast([0, 9223372036854775807, -9223372036854775807 - 1, 0], i64));
    assert_eq(f, bitcast(cast([0, -1, 0, 0], i64), u64));
}

kernel number<S: type = f32, D: type = i64>(x: S[n], y: mut D[n])
    grid [n]
    threads 32
{
    let one = register_tensor(D, [1]);
    fill(one, 0);
    copy(one + cast(x[block_idx], D), tile(y, [1])[.., block_idx]);
}

test "numbers of the block" for S in [f32, f64] {
    let x = cast([nan, inf, -inf, 2.5, -2.5, 3e9], S);
    for D in [i32, u32, i64, u64] {
        let y = empty(D, [6]);
        number<S = S, D = D>(x, y);
        assert_eq(y, cast(x, D));
    }
}
