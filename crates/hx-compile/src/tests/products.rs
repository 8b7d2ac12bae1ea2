//! Products that no matrix instruction does, although there are some for their types.

use expect_test::expect;

use super::check;

/// One product of two tiles from memory.
fn product(dtype: &str, sum: &str, k: u32, threads: u32) -> String {
    format!(
        "kernel product(a: {dtype}[32, {k}], b: {dtype}[32, {k}], c: mut {sum}[32, 32]) grid [1] threads {threads} {{
    let acc = register_tensor({sum}, [32, 32]);
    fill(acc, 0);
    gemm(acc, load(a), load(b));
    copy(acc, c);
}}
"
    )
}

#[test]
fn steps_of_k_that_no_matrix_instruction_takes_are_told() {
    check(
        &product("f16", "f32", 12, 128),
        expect![[r#"
        HX0309 `gemm(acc, load(a), load(b))` this product runs on `fma.f32.f16`: no matrix instruction fits it
          note: `mma.m16n8k16.f32.f16` takes 16 steps of K at once, and 12 is no multiple
          note: `mma.m16n8k8.f32.f16` takes 8 steps of K at once, and 12 is no multiple
    "#]],
    );
    check(
        &product("i8", "i32", 24, 128),
        expect![[r#"
        HX0309 `gemm(acc, load(a), load(b))` this product runs on `fma.i32.i8`: no matrix instruction fits it
          note: `mma.m16n8k32.i32.i8` takes 32 steps of K at once, and 24 is no multiple
          note: `mma.m16n8k16.i32.i8` takes 16 steps of K at once, and 24 is no multiple
    "#]],
    );
}

#[test]
fn products_that_fit_or_have_no_matrix_instruction_are_not_told() {
    check(&product("f16", "f32", 48, 128), expect![[""]]);
    check(&product("f32", "f32", 12, 128), expect![[""]]);
}
