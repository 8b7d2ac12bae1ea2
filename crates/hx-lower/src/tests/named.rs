//! Instructions that the source names.

use expect_test::{Expect, expect};

use super::check;

/// Lowers a kernel with these statements.
fn check_named(statements: &str, expected: Expect) {
    let header = "kernel f(a: f16[64, 64], c: mut f32[64, 64]) grid [1] threads 128";
    check(&format!("{header} {{\n{statements}\n}}\n"), expected);
}

#[test]
fn operations_keep_the_instruction_that_the_text_names() {
    check_named(
        "let s = shared_tensor(f16, [64, 64]);
copy(a, s, by: \"st.shared\");
sync();
let acc = register_tensor(f32, [64, 64]);
fill(acc, 0.0);
gemm(acc, s, load(s, by: \"ldmatrix.x4\"), by: \"mma\");
copy(acc, c, by: \"st.global.v2.b32\");",
        expect![[r#"
            kernel f threads 128
              grid [1]
              param a: f16[64, 64] : [64, 1] align 16
              param c: mut f32[64, 64] : [64, 1] align 16
              shared s: f16[64, 64]
              register a_tile: f16[64, 64]
              register acc: f32[64, 64]
              register s_tile: f16[64, 64]
              #0 copy(a[0..64, 0..64], a_tile)
              #1 copy(a_tile, s[0..64, 0..64], by: "st.shared")
              #2 sync()
              #3 fill(acc, 0.0)
              #4 copy(s[0..64, 0..64], s_tile, by: "ldmatrix.x4")
              #6 gemm(acc, s[0..64, 0..64], s_tile, by: "mma")
              #7 copy(acc, c[0..64, 0..64], by: "st.global.v2.b32")
        "#]],
    );
}

#[test]
fn names_that_no_operation_of_the_call_can_have() {
    check_named(
        "let s = shared_tensor(f16, [64, 64]);
copy_async(a, s, by: \"ld.global\");
copy_async(a, s, by: \"cp.asinc\");
copy_async(a, s, by: \"mma\");
copy(load(s), s, by: \"bar.sync\");
copy(load(s, by: 7), s);",
        expect![[r#"
            error[HX0218]: `ld.global` moves global to register memory, which no operation of this call does
              copy_async(a, s, by: "ld.global");
                                   ^^^^^^^^^^^
            error[HX0218]: sm_90a has no instruction `cp.asinc`
              copy_async(a, s, by: "cp.asinc");
                                   ^^^^^^^^^^
              help: `hx layout why` shows the names of the instructions that a kernel has
            error[HX0218]: `mma` multiplies matrices, which no operation of this call does
              copy_async(a, s, by: "mma");
                                   ^^^^^
            error[HX0218]: `bar.sync` neither copies nor multiplies: its places follow from the text and the layouts
              copy(load(s), s, by: "bar.sync");
                                   ^^^^^^^^^^
              help: `hx layout why` shows the names of the instructions that a kernel has
            error[HX0203]: expected a string, found an integer
              copy(load(s, by: 7), s);
                               ^
        "#]],
    );
}

#[test]
fn copies_past_the_registers_are_those_of_copy_async() {
    check_named(
        "let s = shared_tensor(f16, [64, 64]);
copy(a, s, by: \"cp.async\");
copy(a, s, by: \"tma.load\");",
        expect![[r#"
            error[HX0218]: `cp.async` moves global to shared memory, which no operation of this call does
              copy(a, s, by: "cp.async");
                             ^^^^^^^^^^
              help: `copy_async` copies from global to shared memory with it; `copy` goes through registers
            error[HX0218]: `tma.load` moves global to shared memory, which no operation of this call does
              copy(a, s, by: "tma.load");
                             ^^^^^^^^^^
              help: `copy_async` copies from global to shared memory with it; `copy` goes through registers
        "#]],
    );
}
