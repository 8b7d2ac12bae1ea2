//! Random tensors that a GPU makes have the bits of those that the host makes, and results that stay on the GPU are those that host code reads.
//!
//! `measure` runs its kernel on the GPU's tensor. `assert_eq` reads the tensors on the host, which makes `x` from its seed.

kernel moved<B = 1024, T: type = f16>(x: T[n], y: mut T[n])
    grid [cdiv(n, B)]
    threads 128
{
    let [block] = block_idx;
    copy(load(tile(x, [B])[.., block]), tile(y, [B])[.., block]);
}

kernel raised<B = 1024>(x: mut f32[n])
    grid [cdiv(n, B)]
    threads 128
{
    let [block] = block_idx;
    let part = tile(x, [B])[.., block];
    copy(load(part) + 1.0, part);
}

bench "normal numbers" for n in [1, 1000, 4099, 5000001] {
    for (T, U) in [(f16, u16), (bf16, u16), (f32, u32), (f8e4m3, u8), (f8e5m2, u8)] {
        let x = randn(T, [n], seed: 12345678901);
        let y = empty(T, [n]);
        measure { moved(x, y) }
        assert_eq(bitcast(y, U), bitcast(x, U));
    }
}

bench "uniform numbers" for n in [1, 1003, 5000001] {
    for (T, U, low, high) in [
        (f16, u16, -0.3, 1.7),
        (f32, u32, 0.0, 1.0),
        (f8e4m3, u8, -3.0, 100.0),
        (i8, u8, -128, 128),
        (u32, u32, 0, 4294967296),
        (i32, u32, -1000, 7),
    ] {
        let x = uniform(T, [n], low: low, high: high);
        let y = empty(T, [n]);
        measure { moved(x, y) }
        assert_eq(bitcast(y, U), bitcast(x, U));
    }
}

bench "functions of random numbers" for n in [4099, 3000000] {
    for (T, U) in [(i8, u8), (bf16, u16), (f8e4m3, u8), (i32, u32)] {
        let x = cast(randn(f32, [n], seed: 3) * 60.0, T);
        let y = empty(T, [n]);
        measure { moved(x, y) }
        assert_eq(bitcast(y, U), bitcast(x, U));
    }
    let x = cast(floor(uniform(f32, [n], low: 0.0, high: 16.0)), f16);
    let y = empty(f16, [n]);
    measure { moved(x, y) }
    assert_eq(y, x);
}

// The elements of a byte, in blocks. The kernel moves bytes.
bench "packed numbers of 4 bits" {
    let tiles = ((64, 128), (2, 4, 16)) : ((128, 8192), (4, 1, 8));
    let pairs = (64, (2, 4, 16)) : (128, (4, 1, 8));
    for (T, low, high, block) in [(u4, 0, 16, pairs), (i4, -8, 8, tiles)] {
        let x = reshape(pack(uniform(T, [8192, 1024], low: low, high: high, seed: 5), block), [8388608]);
        let y = empty(T, [8388608]);
        measure { moved(x, y) }
        assert_eq(y, x);
    }
}

// A kernel that changes its input: the runs that are timed leave no trace.
bench "results after timed runs" {
    let x = zeros(f32, [5000]);
    measure { raised(x) }
    baseline raised(x);
    assert_eq(x, full(f32, [5000], 2.0));
    x[0] = 7.0;
    measure { raised(x) }
    assert_eq(x[0], 8.0);
    assert_eq(x[1..], full(f32, [4999], 3.0));
}
