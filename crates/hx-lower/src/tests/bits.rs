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
            let e = bitcast(s, f64);
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
            error[HX0204]: found a number of 32 bits as `f64` of 64 bits, expected one width
                          let e = bitcast(s, f64);
                                  ^^^^^^^^^^^^^^^ from `i32`
              help: `cast(…, f64)` converts the value; the elements of a tensor change their width along an axis
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

#[test]
fn a_shift_has_the_type_of_its_left_operand() {
    check(
        &kernel(
            "let m: u32 = 3;
            let z: u8 = 9;
            for p in 0..4 { copy(v ^ m << (8 * p), tile(y, [B])[.., p]); }
            copy(v >> z, tile(y, [B])[.., 4]);
            copy(v ^ m << s, tile(y, [B])[.., 5]);
            copy(v << cast(v, u8), tile(y, [B])[.., 6]);
            copy(cast(cast(v, u8) << v, u32), tile(y, [B])[.., 7]);
            copy(m << cast(v, i64), tile(y, [B])[.., 8]);
            copy(v << n, tile(y, [B])[.., 9]);
            copy(1 << v, tile(y, [B])[.., 10]);
            let left = m;
            for p in 0..4 { left <<= p; }
            copy(v ^ left, tile(y, [B])[.., 11]);",
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
              register value_2: u32[64]
              register v_u8: u8[64]
              register value_3: u32[64]
              register v_u8_1: u8[64]
              register value_4: u32[64]
              register v_i64: i64[64]
              register value_5: u32[64]
              register value_6: u32[64]
              register value_7: u32[64]
              register value_8: u32[64]
              #0 copy(x[block_idx.x * 64 + 0..64], v)
              for p in 0..4
                #1 value = (v ^ ((3) << (p * 8)))
                #2 copy(value, y[p * 64 + 0..64])
              #3 value_1 = (v >> (9))
              #4 copy(value_1, y[256 + 0..64])
              #5 value_2 = (v ^ ((3) << where(((0.0 <= (s)) & ((s) < 32.0)), cast((s), u32), 4294967295.0)))
              #6 copy(value_2, y[320 + 0..64])
              #7 v_u8 = cast(v, u8)
              #8 value_3 = (v << cast(v_u8, u32))
              #9 copy(value_3, y[384 + 0..64])
              #10 v_u8_1 = cast(v, u8)
              #11 value_4 = cast((v_u8_1 << where((v < 8.0), cast(v, u8), 255.0)), u32)
              #12 copy(value_4, y[448 + 0..64])
              #13 v_i64 = cast(v, i64)
              #14 value_5 = ((3) << where(((0.0 <= v_i64) & (v_i64 < 32.0)), cast(v_i64, u32), 4294967295.0))
              #15 copy(value_5, y[512 + 0..64])
              #16 value_6 = (v << (32))
              #17 copy(value_6, y[576 + 0..64])
              #18 value_7 = ((1) << v)
              #19 copy(value_7, y[640 + 0..64])
              let left = 3
              for p in 0..4
                let number = ((left) << (p))
                left = number
              #20 value_8 = (v ^ (left))
              #21 copy(value_8, y[704 + 0..64])
        "#]],
    );
}

#[test]
fn counts_that_move_every_bit_out_are_errors() {
    check(
        &kernel(
            "let m: u8 = 3;
            let z: i32 = 40;
            let a = v << 32;
            let c = m >> -2;
            let d = m << z;
            let e = n << 64;
            let f = v << 1.5;
            let g = v << cast(v, f32);
            let h = v >> true;
            let i = m << cast(9, u64);
            let j = m + z;
            m <<= 8;",
        ),
        expect![[r#"
            error[HX0216]: found the count 32 of `<<`, expected 0 to 31 for `u32`
                          let a = v << 32;
                                  ^^^^^^^
              help: no bit of the 32 is left: `cast(…, T)` to a wider type first, or write the result
            error[HX0216]: found the count -2 of `>>`, expected 0 to 7 for `u8`
                          let c = m >> -2;
                                  ^^^^^^^
              help: `<< 2` shifts the other way
            error[HX0216]: found the count 40 of `<<`, expected 0 to 7 for `u8`
                          let d = m << z;
                                  ^^^^^^
              help: no bit of the 8 is left: `cast(…, T)` to a wider type first, or write the result
            error[HX0216]: found the count 64 of `<<`, expected 0 to 63 for `i64`
                          let e = n << 64;
                                  ^^^^^^^
              help: no bit of the 64 is left: `cast(…, T)` to a wider type first, or write the result
            error[HX0216]: found `1.5`, which `u32` cannot hold
                          let f = v << 1.5;
                                       ^^^
            error[HX0203]: expected an integer as the count of `<<`, found `f32`
                          let g = v << cast(v, f32);
                                       ^^^^^^^^^^^^
            error[HX0203]: expected an integer as the count of `>>`, found `bool`
                          let h = v >> true;
                                       ^^^^
            error[HX0216]: found the count 9 of `<<`, expected 0 to 7 for `u8`
                          let i = m << cast(9, u64);
                                  ^^^^^^^^^^^^^^^^^
              help: no bit of the 8 is left: `cast(…, T)` to a wider type first, or write the result
            error[HX0204]: expected `u8`, found a number of type `i32`
                          let j = m + z;
                                      ^ this is `i32`
                          let j = m + z;
                                  - this is `u8`
              help: `cast(…, u8)` converts
            error[HX0216]: found the count 8 of `<<`, expected 0 to 7 for `u8`
                          m <<= 8;
                                ^
              help: no bit of the 8 is left: `cast(…, T)` to a wider type first, or write the result
        "#]],
    );
}

#[test]
fn bits_of_another_width_have_a_mode_for_the_parts_of_a_word() {
    check(
        &kernel(
            "let h = bitcast(v, f16);
            let w = bitcast(h, i32);
            let r = bitcast(reshape(v, [4, 16]), u8, axis: 0);
            let q = bitcast(r, u32, axis: 0);
            copy(bitcast(w, u32) + reshape(q, [64]), tile(y, [B])[.., b]);",
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
              register words: u32[64, 1]
              register parts: f16[64, 2]
              register h: f16[128]
              register parts_1: f16[64, 2]
              register part: f16[64, 1]
              register part_1: f16[64, 1]
              register words_1: i32[64, 1]
              register w: i32[64]
              register reshaped: u32[4, 16]
              register words_2: u32[4, 1, 16]
              register parts_2: u8[4, 4, 16]
              register r: u8[16, 16]
              register parts_3: u8[4, 4, 16]
              register spread: u32[4, 4, 16]
              register part_2: u32[4, 1, 16]
              register part_3: u32[4, 1, 16]
              register part_4: u32[4, 1, 16]
              register part_5: u32[4, 1, 16]
              register words_3: u32[4, 1, 16]
              register q: u32[4, 16]
              register reshaped_1: u32[64]
              register value: u32[64]
              #0 copy(x[block_idx.x * 64 + 0..64], v)
              #1 words = reshape(v, [64, 1])
              #2 parts = bitcast(cast((words >> (cast(index(1), u32) * 16.0)), u16), f16)
              #3 h = reshape(parts, [128])
              #4 parts_1 = reshape(h, [64, 2])
              #5 part = parts_1[.., 0..1]
              #6 part_1 = parts_1[.., 1..2]
              #7 words_1 = bitcast((cast(bitcast(part, u16), u32) | (cast(bitcast(part_1, u16), u32) << 16.0)), i32)
              #8 w = reshape(words_1, [64])
              #9 reshaped = reshape(v, [4, 16])
              #10 words_2 = reshape(reshaped, [4, 1, 16])
              #11 parts_2 = cast((words_2 >> (cast(index(1), u32) * 8.0)), u8)
              #12 r = reshape(parts_2, [16, 16])
              #13 parts_3 = reshape(r, [4, 4, 16])
              #14 spread = cast(parts_3, u32)
              #15 part_2 = spread[.., 0..1, ..]
              #16 part_3 = spread[.., 1..2, ..]
              #17 part_4 = spread[.., 2..3, ..]
              #18 part_5 = spread[.., 3..4, ..]
              #19 words_3 = (((part_2 | (part_3 << 8.0)) | (part_4 << 16.0)) | (part_5 << 24.0))
              #20 q = reshape(words_3, [4, 16])
              #21 reshaped_1 = reshape(q, [64])
              #22 value = (bitcast(w, u32) + reshaped_1)
              #23 copy(value, y[block_idx.x * 64 + 0..64])
        "#]],
    );
}

#[test]
fn bits_that_are_no_whole_elements_say_so() {
    check(
        &kernel(
            "let odd = reshape(v, [4, 8, 2])[.., .., 0..1];
            let a = bitcast(odd, f64);
            let c = bitcast(v[0..3], u64);
            let d = bitcast(v > 3, u32);
            let e = bitcast(v, bool);
            let f = bitcast(v, u8, axis: 1);
            let g = bitcast(v, i32, axis: 2);
            let h = bitcast(tile(x, [B])[.., b], u8);",
        ),
        expect![[r#"
            error[HX0205]: found the extent 1 along axis 2 of `[4, 8, 1]`, expected a multiple of 2
                          let a = bitcast(odd, f64);
                                  ^^^^^^^^^^^^^^^^^
                          let a = bitcast(odd, f64);
                                          --- 2 elements of `u32` are one of `f64`
              help: `axis: 0` takes the elements along axis 0
            error[HX0205]: found the extent 3 along axis 0 of `[3]`, expected a multiple of 2
                          let c = bitcast(v[0..3], u64);
                                  ^^^^^^^^^^^^^^^^^^^^^
                          let c = bitcast(v[0..3], u64);
                                          ------- 2 elements of `u32` are one of `u64`
              help: a tile with a multiple of 2 elements along an axis has whole ones
            error[HX0204]: found elements of `bool` as `u32`, expected no `bool`, whose bits are 0 or 1
                          let d = bitcast(v > 3, u32);
                                  ^^^^^^^^^^^^^^^^^^^ from `bool`
              help: `cast(…, u32)` converts the values
            error[HX0204]: found elements of `u32` as `bool`, expected no `bool`, whose bits are 0 or 1
                          let e = bitcast(v, bool);
                                  ^^^^^^^^^^^^^^^^ from `u32`
              help: `cast(…, bool)` converts the values
            error[HX0211]: found the axis 1, expected one below 1
                          let f = bitcast(v, u8, axis: 1);
                                                       ^
            error[HX0211]: found the axis 2, expected one below 1
                          let g = bitcast(v, i32, axis: 2);
                                                        ^
            error[HX0215]: found a global tensor, expected a register one for an elementwise operation
                          let h = bitcast(tile(x, [B])[.., b], u8);
                                          ^^^^^^^^^^^^^^^^^^^
              help: `load(…)` moves a tile into registers
        "#]],
    );
}
