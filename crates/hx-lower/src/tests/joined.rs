//! `concat`, `split`, assignments of tiles to parts, `any` and `all`, and shared tensors under another shape.

use expect_test::{Expect, expect};

use super::check;

fn with_tiles(body: &str, want: Expect) {
    let head = "kernel f(x: f32[16, 32], y: f32[16, 32], z: mut f32[16, 32]) grid [1] threads 32 {
            let (a, b) = (load(x), load(y));
            let s = shared_tensor(f32, [16, 32]);";
    check(&format!("{head}\n{body}\n}}"), want);
}

#[test]
fn parts_are_inserted() {
    with_tiles(
        "let (p, q) = split(a, 2, axis: 1);
            copy(concat(q, p, axis: 1), z);
            a[.., 4..8] = b[.., 12..16];
            a[8.., ..] += b[..8];
            a[3, 16..] = b[5, ..16];
            a[2..4, 1] = b[2..4, 7];
            copy(a, z);",
        expect![[r#"
            kernel f threads 32
              grid [1]
              param x: f32[16, 32] : [32, 1] align 16
              param y: f32[16, 32] : [32, 1] align 16
              param z: mut f32[16, 32] : [32, 1] align 16
              register a: f32[16, 32]
              register b: f32[16, 32]
              register a_part: f32[16, 16]
              register a_part_1: f32[16, 16]
              register joined: f32[16, 32]
              register b_part: f32[16, 4]
              register b_part_1: f32[8, 32]
              register a_part_2: f32[8, 32]
              register part: f32[8, 32]
              register b_part_2: f32[16]
              register value: f32[16]
              register value_part: f32[1, 16]
              register a_part_3: f32[1, 32]
              register b_part_3: f32[2]
              register value_1: f32[2]
              register value_1_part: f32[2, 1]
              register a_part_4: f32[16, 1]
              #0 copy(x[0..16, 0..32], a)
              #1 copy(y[0..16, 0..32], b)
              #2 a_part = a[.., 0..16]
              #3 a_part_1 = a[.., 16..32]
              #4 fill(joined, 0.0)
              #5 joined[.., 0..16] = a_part_1
              #6 joined[.., 16..32] = a_part
              #7 copy(joined, z[0..16, 0..32])
              #8 b_part = b[.., 12..16]
              #9 a[.., 4..8] = b_part
              #10 b_part_1 = b[0..8, ..]
              #11 a_part_2 = a[8..16, ..]
              #12 part = (a_part_2 + b_part_1)
              #13 a[8..16, ..] = part
              #14 b_part_2 = b[5, 0..16]
              #15 value = b_part_2
              #16 value_part = value[..] with 1 new
              #17 a_part_3 = a[3..4, ..]
              #18 a_part_3[.., 16..32] = value_part
              #19 a = where(((3.0 <= index(0)) & (index(0) < 4.0)), a_part_3, a)
              #20 b_part_3 = b[2..4, 7]
              #21 value_1 = b_part_3
              #22 value_1_part = value_1[..] with 1 new
              #23 a_part_4 = a[.., 1..2]
              #24 a_part_4[2..4, ..] = value_1_part
              #25 a = where(((1.0 <= index(1)) & (index(1) < 2.0)), a_part_4, a)
              #26 copy(a, z[0..16, 0..32])
        "#]],
    );
}

#[test]
fn truth_values_of_the_block() {
    with_tiles(
        "let rows = all(a > b, axis: 1);
            if any(a > b) { copy(where(rows, a, b), z); }",
        expect![[r#"
            kernel f threads 32
              grid [1]
              param x: f32[16, 32] : [32, 1] align 16
              param y: f32[16, 32] : [32, 1] align 16
              param z: mut f32[16, 32] : [32, 1] align 16
              register a: f32[16, 32]
              register b: f32[16, 32]
              register value: bool[16, 32]
              register rows: bool[16, 1]
              register value_1: bool[16, 32]
              register reduced: bool[1, 32]
              register reduced_1: bool[1, 1]
              register reduced_1_all: bool[1, 1] layout (32,1):(0,0)
              register value_2: f32[16, 32]
              #0 copy(x[0..16, 0..32], a)
              #1 copy(y[0..16, 0..32], b)
              #2 value = (b < a)
              #3 rows = reduce(value, axis: 1, &)
              #4 value_1 = (b < a)
              #5 reduced = reduce(value_1, axis: 0, |)
              #6 reduced_1 = reduce(reduced, axis: 1, |)
              #7 reduced_1_all = reduced_1[.., ..]
              #8 reduced_1_value = scalar(reduced_1_all)
              if reduced_1_value != 0
                #9 value_2 = where(rows, a, b)
                #10 copy(value_2, z[0..16, 0..32])
        "#]],
    );
}

#[test]
fn index_tensors_are_stretched_to_one_shape() {
    check(
        "kernel f(x: f32[m, n], i: i32[16], j: i32[8], y: mut f32[16, 8]) grid [1] threads 32 {
            copy(load(gather(x, load(i[.., new]), load(j[new, ..]))), y);
        }",
        expect![[r#"
            kernel f threads 32
              grid [1]
              param x: f32[m, n] : [n, 1] align 16
              param i: i32[16] : [1] align 16
              param j: i32[8] : [1] align 16
              param y: mut f32[16, 8] : [8, 1] align 16
              fact m % 16 == 0
              fact n % 16 == 0
              register i_tile: i32[16, 1]
              register j_tile: i32[1, 8]
              register i_tile_wide: i32[16, 8]
              register j_tile_wide: i32[16, 8]
              register x_tile: f32[16, 8]
              #0 copy(i[0..16 + 0..1 by 0], i_tile)
              #1 copy(j[0..1 by 0 + 0..8], j_tile)
              #2 i_tile_wide = i_tile
              #3 j_tile_wide = j_tile
              #4 copy(x[i_tile_wide, j_tile_wide], x_tile)
              #5 copy(x_tile, y[0..16, 0..8])
        "#]],
    );
}

#[test]
fn shared_tensors_have_other_shapes() {
    with_tiles(
        "copy(a[..8], reshape(s, [2, 8, 32])[1, ..]);
            copy(reshape(s, [4, 128]), reshape(b, [4, 128]));
            let (top, bottom) = split(s, 2, axis: 0);
            copy(load(reshape(s, [16, 4, 8])[.., 2, ..]), reshape(bottom, [16, 2, 8])[.., 1, ..]);",
        expect![[r#"
            kernel f threads 32
              grid [1]
              param x: f32[16, 32] : [32, 1] align 16
              param y: f32[16, 32] : [32, 1] align 16
              param z: mut f32[16, 32] : [32, 1] align 16
              register a: f32[16, 32]
              register b: f32[16, 32]
              shared s: f32[16, 32]
              register a_part: f32[8, 32]
              register reshaped: f32[4, 128]
              register s_parts: f32[4, 4, 32]
              register reshaped_1: f32[4, 128]
              register s_tile: f32[16, 8]
              register reshaped_2: f32[8, 2, 8]
              #0 copy(x[0..16, 0..32], a)
              #1 copy(y[0..16, 0..32], b)
              #2 a_part = a[0..8, ..]
              #3 copy(a_part, s[8 + 0..8, 0..32])
              #4 reshaped = reshape(b, [4, 128])
              #5 copy(s[0..4 by 4 + 0..4, 0..32], s_parts)
              #6 reshaped_1 = reshape(s_parts, [4, 128])
              #7 reshaped = cast(reshaped_1, f32)
              #8 copy(s[0..16, 16 + 0..8], s_tile)
              #9 reshaped_2 = reshape(s_tile, [8, 2, 8])
              #10 copy(reshaped_2, s[8 + 0..8, 8 + 0..2 by 16 + 0..8])
        "#]],
    );
}

#[test]
fn joined_tiles_fit() {
    with_tiles(
        "let c = concat(a, b[..8], axis: 1);
            let d = concat(a, cast(b, f16), axis: 0);
            let e = concat(a, s, axis: 0);
            let f = concat(a, b, axis: 2);
            let g = concat(a, b);
            let h = split(a, 3, axis: 0);
            let i = split(x, 2, axis: 0);
            let j = any(a);
            let k = reshape(s, [32, 17]);
            let l = reshape(s[.., ..24], [128, 3]);
            let m = reshape(s[.., ..24], [24, 16]);
            a[..4, ..] = b;
            a[..4, ..] = cast(b[..4], f16);",
        expect![[r#"
            error[HX0204]: expected `f32`, found elements of type `f16`
                          let d = concat(a, cast(b, f16), axis: 0);
                                            ^^^^^^^^^^^^ this is `f16`
                          let d = concat(a, cast(b, f16), axis: 0);
                                         - this is `f32`
              fix: convert it with `cast(…, f32)` (`cast(b, f16)` → `cast(cast(b, f16), f32)`)
            error[HX0215]: found a shared tensor, expected a register one for `concat`
                          let e = concat(a, s, axis: 0);
                                            ^
              fix: move it into registers with `load(…)` (`s` → `load(s)`)
            error[HX0222]: `concat` lacks the argument `axis`
                          let g = concat(a, b);
                                  ^^^^^^^^^^^^
              note: `concat(a, b, c?, d?, axis: …)`
            error[HX0215]: found a global tensor, expected a register or shared one for `split`
                          let i = split(x, 2, axis: 0);
                                        ^
              fix: move it into registers with `load(…)` (`x` → `load(x)`)
            error[HX0203]: expected a tensor of truth values, found a register tensor
                          let j = any(a);
                                      ^
            error[HX0204]: expected `f32`, found elements of type `f16`
                          a[..4, ..] = cast(b[..4], f16);
                                       ^^^^^^^^^^^^^^^^^ this is `f16`
                          a[..4, ..] = cast(b[..4], f16);
                          - this is `f32`
              fix: convert it with `cast(…, f32)` (`cast(b[..4], f16)` → `cast(cast(b[..4], f16), f32)`)
            error[HX0205]: expected `[16, 32]` with any extent along axis 1, found the shape `[8, 32]`
              let c = concat(a, b[..8], axis: 1);
                                ^^^^^^
              let c = concat(a, b[..8], axis: 1);
                             - has the shape `[16, 32]`
            error[HX0211]: found the axis 2, expected one below 2
                          let f = concat(a, b, axis: 2);
                                                     ^
            error[HX0205]: expected a divisor of it from 1 to 64, found 3 parts of the extent 16
                          let h = split(a, 3, axis: 0);
                                           ^
            error[HX0205]: found the shape `[16, 32]`, expected as many elements as in `[32, 17]`
                          let k = reshape(s, [32, 17]);
                                             ^^^^^^^^
            error[HX0205]: `[24, 16]` cuts modes of the shared tensor unevenly, expected extents that divide modes of `[16, 24]` or join them
                          let m = reshape(s[.., ..24], [24, 16]);
                                                       ^^^^^^^^ the tensor has one address for each index of its own modes, so they are divided and joined as a whole
              help: `reshape(load(…), …)` goes through registers
            error[HX0205]: expected a number or a tensor of shape `[4, 32]`, found a tensor of shape `[16, 32]` for a part
                          a[..4, ..] = b;
                                       ^
        "#]],
    );
}

#[test]
fn a_flip_is_a_part_that_walks_backward() {
    with_tiles(
        "let t = flip(a, axis: 1);
            copy(flip(t * 2.0, 0) + flip(b, axis: 0), z);
            copy(flip(flip(a[.., 8..], axis: 1), axis: 1), z[.., 8..]);",
        expect![[r#"
            kernel f threads 32
              grid [1]
              param x: f32[16, 32] : [32, 1] align 16
              param y: f32[16, 32] : [32, 1] align 16
              param z: mut f32[16, 32] : [32, 1] align 16
              register a: f32[16, 32]
              register b: f32[16, 32]
              register t: f32[16, 32]
              register value: f32[16, 32]
              register flipped: f32[16, 32]
              register flipped_1: f32[16, 32]
              register value_1: f32[16, 32]
              register a_part: f32[16, 24]
              register flipped_2: f32[16, 24]
              register flipped_3: f32[16, 24]
              #0 copy(x[0..16, 0..32], a)
              #1 copy(y[0..16, 0..32], b)
              #2 t = a[.., .. reversed]
              #3 value = (t * 2.0)
              #4 flipped = value[.. reversed, ..]
              #5 flipped_1 = b[.. reversed, ..]
              #6 value_1 = (flipped + flipped_1)
              #7 copy(value_1, z[0..16, 0..32])
              #8 a_part = a[.., 8..32]
              #9 flipped_2 = a_part[.., .. reversed]
              #10 flipped_3 = flipped_2[.., .. reversed]
              #11 copy(flipped_3, z[0..16, 8 + 0..24])
        "#]],
    );
    with_tiles(
        "copy(flip(a, axis: 2), z);
            copy(flip(y, axis: 0), z);",
        expect![[r#"
            error[HX0215]: found a global tensor, expected a register one for `flip`
                          copy(flip(y, axis: 0), z);
                                    ^
              fix: move it into registers with `load(…)` (`y` → `load(y)`)
            error[HX0211]: found the axis 2, expected one below 2
              copy(flip(a, axis: 2), z);
                                 ^
        "#]],
    );
}
