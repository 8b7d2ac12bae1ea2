//! Tests of edge cases: integers of all types, tensors without elements.

use expect_test::{Expect, expect};

use super::evaluation::check_main;

#[test]
fn integers_are_what_their_types_say() {
    check_main(
        r#"
        print(cast(-1, u64), cast(-1, u32), cast(-1, u4), cast(300, u8), cast(200, i8), cast(1e19, u64));
        let x = cast([-1, 5, -9223372036854775807 - 1], u64);
        print(x, x[0], x[1], cast(x, i64), cast(x, i8), cast(x, f64), cast(x, bool));
        assert_eq(x[0], cast(-1, u64));
        for e in x { print(e); }
        // 2^60 + 2^36 lies in the middle between two f32. With one more, the upper is nearer, but rounding to f64 first would
        // drop it.
        let between = 1152921504606846976 + 68719476736;
        print(cast(cast([between, between + 1], f32), f64) - 1152921504606846976.0);
        "#,
        expect![[r#"
            18446744073709551615 4294967295 15 44 -56 10000000000000000000
            u64[3]
            [18446744073709551615,                    5,  9223372036854775808] 18446744073709551615 5 i64[3]
            [                  -1,                    5, -9223372036854775808] i8[3]
            [-1,  5,  0] f64[3]
            [1.84467441e19,           5.0, 9.22337204e18] bool[3]
            [true, true, true]
            18446744073709551615
            5
            9223372036854775808
            f64[2]
            [          0.0, 1.37438953e11]
        "#]],
    );
    let fails = |line: &str, want: Expect| check_main(line, want);
    fails(
        "print(cast(-1, u64) + 1);",
        expect![[r#"
        HX0614 at `cast(-1, u64) + 1`: the u64 value 18446744073709551615 does not fit i64, in which the host computes
    "#]],
    );
    fails(
        "let x = zeros(u8, [2]); x[0] = 300;",
        expect![[r#"
        HX0614 at `300`: found 300, which `u8` cannot hold
          the part that is written has shape []
          help: `cast(300, u8)` wraps it
    "#]],
    );
    fails(
        "let x = zeros(i8, [2]); x[..] = [1, -129];",
        expect![[r#"
        HX0614 at `[1, -129]`: found -129, which `i8` cannot hold
          the part that is written has shape [2]
          help: `cast(-129, i8)` wraps it
    "#]],
    );
    fails(
        "arange(u8, 300);",
        expect![[r#"
        HX0614 at `arange(u8, 300)`: found 299, which `u8` cannot hold
          help: `cast(299, u8)` wraps it
    "#]],
    );
    fails(
        "uniform(i4, [2], low: -9, high: 3);",
        expect![[r#"
        HX0614 at `uniform(i4, [2], low: -9, high: 3)`: found the bounds -9 and 3, and `i4` holds -8 to 7
    "#]],
    );
}

#[test]
fn tensors_without_elements_are_tensors() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| format!("{:?}", folder.path().join(name).display().to_string());
    let text = r#"
        for shape in [[0], [0, 4], [3, 0], [2, 0, 3]] {
            for t in [f32, i8, bool] {
                let x = zeros(t, shape);
                save(NPY, x);
                assert_eq(load(NPY), x);
                assert_eq(load(NPY).shape, x.shape);
                save(MANY, [("x", x), ("n", ones(i8, [2]))]);
                assert_eq(load(MANY)["x"], x);
                assert_eq(load(MANY)["x"].dtype, t);
                assert_close(x, load(NPY), atol: 0.0);
            }
            let x = zeros(f32, shape);
            print(x, exp(x) + 1, x.sum(), reshape(x, [0, 7]), cast(x, u4), (x == x).all());
            print(cumsum(x, axis: 0), copy(x), [x]);
        }
        let m = zeros(f32, [0, 4]);
        print(m @ zeros(f32, [4, 3]), zeros(f32, [2, 0]) @ zeros(f32, [0, 2]), m.T, m[.., 1], m[0..0, 2..3]);
        print(softmax(m), sum(m, axis: 0), sum(m, axis: 1), permute(m, [1, 0]), where(m == m, m, m));
        print(arange(i32, 0), eye(f32, [0]), randn(f32, [0, 2]), full(f32, [0], 3.0), empty(f32, [0, 2]));
        print(scan(m, axis: 1, op: |a, b| a + b), reduce(zeros(f32, [2, 0]), axis: 0, op: |a, b| a + b));
        m[..] = 2.0;
        for row in m { print("never"); }
        for row in zeros(i8, [2, 0]) { print(row); }
    "#;
    check_main(
        &text.replace("NPY", &at("e.npy")).replace("MANY", &at("e.safetensors")),
        expect![[r#"
            f32[0] [] f64[0] [] 0.0 f32[0, 7] [] u4[0] [] true
            f64[0] [] f32[0] [] [f32[0]]
            f32[0, 4] [] f64[0, 4] [] 0.0 f32[0, 7] [] u4[0, 4] [] true
            f64[0, 4] [] f32[0, 4] [] [f32[0, 4]]
            f32[3, 0] [] f64[3, 0] [] 0.0 f32[0, 7] [] u4[3, 0] [] true
            f64[3, 0] [] f32[3, 0] [] [f32[3, 0]]
            f32[2, 0, 3] [] f64[2, 0, 3] [] 0.0 f32[0, 7] [] u4[2, 0, 3] [] true
            f64[2, 0, 3] [] f32[2, 0, 3] [] [f32[2, 0, 3]]
            f64[0, 3] [] f64[2, 2]
            [[0.0, 0.0],
             [0.0, 0.0]] f32[4, 0] [] f32[0] [] f32[0, 1] []
            f64[0, 4] [] f64[4]
            [0.0, 0.0, 0.0, 0.0] f64[0] [] f32[4, 0] [] f64[0, 4] []
            i32[0] [] f32[0, 0] [] f32[0, 2] [] f32[0] [] f32[0, 2] []
            f64[0, 4] [] f64[0] []
            i8[0] []
            i8[0] []
        "#]],
    );
    check_main(
        "max(zeros(f32, [0, 4]));",
        expect![[r#"
        HX0615 at `max(zeros(f32, [0, 4]))`: `max` of no elements: the shape is [0, 4]
    "#]],
    );
}
