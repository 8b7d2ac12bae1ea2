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
