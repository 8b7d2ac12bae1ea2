use expect_test::expect;

use super::check;

/// Returns a kernel of a vector with these statements.
fn kernel(statements: &str) -> String {
    format!(
        "kernel probe<B = 64, T: type = u32>(x: T[n], s: i32, y: mut T[n])\n\
         where n % B == 0 grid [n / B] threads 32 {{\nlet [b] = block_idx;\n\
         let v = load(tile(x, [B])[.., b]);\n{statements}\n}}\n"
    )
}

#[test]
fn an_integer_stays_one_that_proofs_know() {
    check(
        &kernel(
            "copy(v, tile(y, [B])[.., b & ~7]);
            copy(v, tile(y, [B])[.., b >> 2 << 2]);
            copy(v, tile(y, [B])[.., (b & 6) | 1]);
            copy(v, tile(y, [B])[.., (b ^ 5) & 3]);
            copy(v, tile(y, [B])[.., (b ^ s) & 3]);
            if s & 3 == 0 { copy(v & ~(v << 3), tile(y, [B])[.., 1 << 4]); }
            copy(~v ^ popcount(v), tile(y, [B])[.., clz(s)]);",
        ),
        expect![[r#"
            kernel probe threads 32
              grid [n / 64]
              param x: u32[n] : [1] align 16
              param s: i32
              param y: mut u32[n] : [1] align 16
              where n % B == 0
              fact n % 64 == 0
              register v: u32[64]
              register value: u32[64]
              register value_1: u32[64]
              #0 copy(x[block_idx.x * 64 + 0..64], v)
              #1 copy(v, y[block_idx.x * 64 - (block_idx.x % 8) * 64 + 0..64])
              #2 copy(v, y[(block_idx.x / 4) * 256 + 0..64])
              #3 copy(v, y[(block_idx.x & 0x6) * 64 + 64 + 0..64])
              #4 copy(v, y[((block_idx.x ^ 5) % 4) * 64 + 0..64])
              let number = (((block_idx.x) ^ (s)) & (3))
              #5 copy(v, y[number * 64 + 0..64])
              if s % 4 == 0
                #6 value = (v & ((v << (3)) ^ 4294967295.0))
                #7 copy(value, y[1024 + 0..64])
              #8 value_1 = ((v ^ 4294967295.0) ^ popcount(v))
              let number = clz((s))
              #9 copy(value_1, y[number * 64 + 0..64])
        "#]],
    );
}

#[test]
fn what_bits_do_not_have_says_so() {
    check(
        &kernel(
            "let f = cast(v, f32);
            let a = f & f;
            let b = f ^ 2.0;
            let c = v && v;
            let d = popcount(cast(v, u8));
            let e = bitcast(v, f64);
            let g = bitcast(1, f32);
            let h = 1 << 63;
            let i = 1.5 | 2.0;",
        ),
        expect![[r#"
            error[HX0218]: `&` has no meaning for elements of type `f32`
                          let a = f & f;
                                  ^^^^^
              help: `bitcast(x, u32)` gives the bits of an `f32`
            error[HX0218]: `^` has no meaning for elements of type `f32`
                          let b = f ^ 2.0;
                                  ^^^^^^^
              help: a power is written `pow(x, y)`; `bitcast(x, u32)` gives the bits of an `f32`
            error[HX0217]: the value does not fit 64 bits
                          let h = 1 << 63;
                                  ^^^^^^^
            error[HX0218]: `|` has no meaning between a floating-point number and a floating-point number
                          let i = 1.5 | 2.0;
                                  ^^^^^^^^^
              help: `bitcast(x, u32)` gives the bits of an `f32`
            error[HX0218]: found elements of type `u32`, for which `&&` has no meaning
                          let c = v && v;
                                  ^^^^^^
              help: `&` combines the bits of integers
            error[HX0218]: found elements of type `u8`, for which `popcount` has no meaning
                          let d = popcount(cast(v, u8));
                                  ^^^^^^^^^^^^^^^^^^^^^
              help: it takes integers of 32 or 64 bits: `cast(…, u32)` converts
            error[HX0204]: found elements of 32 bits as `f64` of 64 bits, expected two types of one width, of at least 8 bits
                          let e = bitcast(v, f64);
                                  ^^^^^^^^^^^^^^^ from `u32`
              help: `cast(…, f64)` converts the values
            error[HX0203]: expected a tensor or a number of a type, found an integer
                          let g = bitcast(1, f32);
                                          ^
        "#]],
    );
}

#[test]
fn a_number_that_becomes_a_tensor_is_one_from_its_start() {
    check(
        "fn power(x: f32, n: i32) -> f32 { let (y, i) = (1.0, 0); for _ in 0..n { y *= x; i += 1; } y }
        kernel probe(x: f32[64], y: mut f32[64], n: i32) grid [1] threads 32 {
            copy(power(load(x), n), y);
        }",
        expect![[r#"
            kernel probe threads 32
              grid [1]
              param x: f32[64] : [1] align 16
              param y: mut f32[64] : [1] align 16
              param n: i32
              register x_tile: f32[64]
              register y_1: f32[64]
              #0 copy(x[0..64], x_tile)
              #1 y_1 = 1.0
              let i = 0
              for _ in 0..n
                #2 y_1 = (y_1 * x_tile)
                i = i + 1
              #3 copy(y_1, y[0..64])
        "#]],
    );
}
