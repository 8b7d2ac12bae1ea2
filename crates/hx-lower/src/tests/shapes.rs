//! Register tensors under other shapes, and views with modes of several parts.

use expect_test::expect;

use super::check;

#[test]
fn parts_are_copied_by_way_of_a_mode_for_each() {
    check(
        "kernel f(x: f16[m, 8, k], y: mut f16[m, 8]) grid [4] threads 32 {
            let v = global_view(x[block_idx * 16.., .., ..], (16, (4, 2), k) : (8 * k, (2 * k, k), 1));
            let t = load(v[.., .., 3]);
            copy(t + t, global_view(y, (16, (4, 2)) : (8, (2, 1))));
            let r = reshape(t, [2, 8, 8]);
        }",
        expect![[r#"
            kernel f threads 32
              grid [4]
              param x: f16[m, 8, k] : [k * 8, k, 1] align 16
              param y: mut f16[m, 8] : [8, 1] align 16
              fact k % 16 == 0
              fact m % 16 == 0
              register x_parts: f16[16, 2, 4]
              register t: f16[16, 8]
              register value: f16[16, 8]
              register reshaped: f16[16, 2, 4]
              register r: f16[2, 8, 8]
              #0 copy(x[block_idx.x * 16 + 0..16, 0..2 + 0..4 by 2, 3], x_parts)
              #1 t = reshape(x_parts, [16, 8])
              #2 value = (t + t)
              #3 reshaped = reshape(value, [16, 2, 4])
              #4 copy(reshaped, y[0..16, 0..2 + 0..4 by 2])
              #5 r = reshape(t, [2, 8, 8])
        "#]],
    );
}

#[test]
fn what_parts_and_shapes_cannot_be() {
    check(
        "kernel f(x: f16[m, 8], y: mut f16[m, 8]) grid [4] threads 32 {
            let v = global_view(x, (16, (4, 2)) : (8, (2, 1)));
            let a = v[.., 3];
            let b = v.T;
            let c = tile(v, [8, 8]);
            let s = shared_tensor(f16, [16, 8]);
            copy_async(v, s);
            let d = reshape(s, [8, 16]);
            let e = reshape(load(v), [16, 9]);
        }",
        expect![[r#"
            error[HX0208]: a view with a mode of several parts has no other views than those of integers and `..` in an index
                          let a = v[.., 3];
                                        ^
              help: `load` and `copy` move it to and from registers; index the tensor before `global_view` or `reshape`
            error[HX0208]: a view with a mode of several parts has no other views than those of integers and `..` in an index
                          let b = v.T;
                                  ^^^
              help: `load` and `copy` move it to and from registers; index the tensor before `global_view` or `reshape`
            error[HX0208]: a view with a mode of several parts has no other views than those of integers and `..` in an index
                          let c = tile(v, [8, 8]);
                                  ^^^^^^^^^^^^^^^
              help: `load` and `copy` move it to and from registers; index the tensor before `global_view` or `reshape`
            error[HX0208]: `copy_async` cannot move this view: `global_view` gave it a mode of several parts
                          copy_async(v, s);
                                     ^
              help: `copy` moves it, by way of registers
            error[HX0205]: found the shape `[16, 8]`, expected as many elements as in `[16, 9]`
                          let e = reshape(load(v), [16, 9]);
                                                   ^^^^^^^
        "#]],
    );
}

/// A swizzled atom is repeated to the shape of a shared tensor, in the order of the last argument.
#[test]
fn layouts_with_swizzles_are_computed_with() {
    check(
        "kernel f(x: f16[m, 128]) grid [4] threads 128 {
            let atom: layout = swizzle<3, 3, 3> ∘ (8, 64) : (64, 1);
            let s = shared_tensor(f16, [16, 128], layout: tile_to_shape(atom, (16, 128), (2, 1)));
            let t = shared_tensor(f16, [8, 64], layout: divide(atom, 8) ∘ (8, 64) : (1, 8));
            copy(tile(x, [16, 128])[.., .., 0, 0], s);
            copy(tile(x, [8, size(atom) / 8])[.., .., 0, 0], t);
        }",
        expect![[r#"
            kernel f threads 128
              grid [4]
              param x: f16[m, 128] : [128, 1] align 16
              fact m % 16 == 0
              shared s: f16[16, 128] layout swizzle<3, 3, 3> ∘ ((8,2),(64,2)):((64,1024),(1,512))
              shared t: f16[8, 64] layout swizzle<3, 3, 3> ∘ (8,64):(64,1)
              register x_tile: f16[16, 128]
              register x_tile_1: f16[8, 64]
              #0 copy(x[0..16, 0..128], x_tile)
              #1 copy(x_tile, s[0..16, 0..128])
              #2 copy(x[0..8, 0..64], x_tile_1)
              #3 copy(x_tile_1, t[0..8, 0..64])
        "#]],
    );
    check(
        "kernel f(x: f16[m, 128]) grid [4] threads 128 {
            let v = shared_tensor(f16, [8, 128], layout: product(swizzle<3, 0, 3> ∘ 8 : 1, 128));
            let w = shared_tensor(f16, [24], layout: inverse(swizzle<1, 0, 1> ∘ (3, 8) : (8, 1)));
        }",
        expect![[r#"
            error[HX0304]: `swizzle<3, 0, 3> ∘ 8:1` cannot be repeated: its copies `128:8` do not begin at multiples of 64, and the swizzle moves with a copy only then; to swizzle the whole product, apply `swizzle<3, 0, 3>` to the product of `8:1`
                          let v = shared_tensor(f16, [8, 128], layout: product(swizzle<3, 0, 3> ∘ 8 : 1, 128));
                                                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            error[HX0304]: found a layout after a swizzle, `(8,3):(3,1) ∘ swizzle<1, 0, 1>`, expected a layout `shape : stride` with or without a swizzle
                          let w = shared_tensor(f16, [24], layout: inverse(swizzle<1, 0, 1> ∘ (3, 8) : (8, 1)));
                                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        "#]],
    );
}
