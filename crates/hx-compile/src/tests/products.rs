//! Products that no matrix instruction computes, although some exist for their types.

use expect_test::expect;

use super::check;

/// Returns a product of two tiles from memory.
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
              note: `mma.m16n8k16.f32.f16` takes 16 steps of K at once, and 12 is not a multiple
              note: `mma.m16n8k8.f32.f16` takes 8 steps of K at once, and 12 is not a multiple
            HX0306 `load(a)` `a` is read 2 B at a time
              `gemm(acc, load(a), load(b))`: the layout follows from this `gemm`
              note: `ld.global.b16` runs 96 times a thread here, which is 53% of a block's estimated cycles
              note: the stride `12` of `a` is known to be divisible by 4 only
              note: 8 B at a time takes 1.00 times the estimated cycles, if you copy `a` to a `shared_tensor`, `sync()`, and `load` from there
        "#]],
    );
    check(
        &product("i8", "i32", 24, 128),
        expect![[r#"
            HX0309 `gemm(acc, load(a), load(b))` this product runs on `fma.i32.i8`: no matrix instruction fits it
              note: `mma.m16n8k32.i32.i8` takes 32 steps of K at once, and 24 is not a multiple
              note: `mma.m16n8k16.i32.i8` takes 16 steps of K at once, and 24 is not a multiple
            HX0306 `load(a)` `a_tile` is read 1 B at a time
              `gemm(acc, load(a), load(b))`: the layout follows from this `gemm`
              note: `ld.shared.b8` runs 96 times a thread here, which is 31% of a block's estimated cycles
              note: asks for `(32,24):(D,D)`; each thread holds 1 element in a row
              note: 8 B at a time takes 1.10 times the estimated cycles, if you pin `a_tile_tile` to `((32,4),24):((1,0),32)`
            HX0306 `load(b)` `b_tile` is read 1 B at a time
              `gemm(acc, load(a), load(b))`: the layout follows from this `gemm`
              note: `ld.shared.b8` runs 48 times a thread here, which is 16% of a block's estimated cycles
              note: asks for `(32,24):(D,D)`; each thread holds 1 element in a row
              note: 8 B at a time takes 1.07 times the estimated cycles, if you pin `b_tile_tile` to `((4,32),24):((0,1),32)`
        "#]],
    );
}

#[test]
fn products_that_fit_or_have_no_matrix_instruction_are_not_told() {
    check(&product("f16", "f32", 48, 128), expect![[""]]);
}

#[test]
fn what_a_later_target_can_do_is_told() {
    check(
        "kernel product(a: f8e4m3[32, 32], b: f8e5m2[32, 32], c: mut f32[32, 32]) grid [1] threads 32 {
    let acc = register_tensor(f32, [32, 32]);
    fill(acc, 0.0);
    gemm(acc, load(a), load(b));
    copy(acc, c);
}
",
        expect![[r#"
            HX0302 `gemm(acc, load(a), load(b))` no instruction of sm_80 multiplies f8e4m3 and f8e5m2 into f32
              `gemm(acc, load(a), load(b))`: multiplies `a_tile` (f8e4m3) by `b_tile` (f8e5m2) into `acc` (f32), with K = 32
              note: of floating-point numbers, sm_80 multiplies f16 · f16 → f32, f16 · f16 → f16, bf16 · bf16 → f32, tf32 · tf32 → f32, f64 · f64 → f64, f32 · f32 → f32
              help: there is one from sm_89 on
              help: `cast` both operands to types on the left of a `→` in the note, and give the accumulator the type on its right
        "#]],
    );
    check(
        "kernel added(x: bf16[32], y: mut bf16[32]) grid [1] threads 32 {
    atomic_add(y, load(x));
}
",
        expect![[r#"
            HX0302 `atomic_add(y, load(x))` no instruction of sm_80 adds single elements of type `bf16` in global memory
              `atomic_add(y, load(x))`: `atomic_add`
              help: there is one from sm_90 on
        "#]],
    );
}
