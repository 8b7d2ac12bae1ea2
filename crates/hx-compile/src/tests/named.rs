//! Findings about instructions that the source names and that cannot be.

use expect_test::{Expect, expect};
use hx_target::Target;

use super::{check, drawn};
use crate::{check_file, test_db::TestDb};

#[test]
fn an_access_that_the_named_instruction_cannot_make() {
    check(
        "kernel odd(x: f32[n], y: mut f32[n]) where n > 3 grid [cdiv(n, 1024)] threads 128 {
    copy(load(tile(x[3..], [1024])[.., block_idx], by: \"ld.global.v4\"), tile(y, [1024])[.., block_idx]);
}
",
        expect![[r#"
            HX0302 `load(tile(x[3..], [1024])[.., block_idx], by: "ld.global.v4")` not `ld.global.v4.b32`: the tile starts at `block_idx.x * 1024 + 3` in dimension 0 of `x`, a multiple of 1
              `load(tile(x[3..], [1024])[.., block_idx], by: "ld.global.v4")`: moves `x` to `x_tile`
              help: without `by: "ld.global.v4"` the compiler chooses the instruction
        "#]],
    );
}

#[test]
fn a_product_that_the_named_instruction_cannot_make() {
    check(
        "kernel held(a: f16[64, 24], b: f16[64, 24], c: mut f32[64, 64]) grid [1] threads 128 {
    let acc = register_tensor(f32, [64, 64]);
    fill(acc, 0.0);
    gemm(acc, load(a), load(b), by: \"mma.m16n8k16\");
    copy(acc, c);
}
",
        expect![[r#"
            HX0302 `gemm(acc, load(a), load(b), by: "mma.m16n8k16")` not `mma.m16n8k16.f32.f16`: `K = 24` is no multiple of 16
              `gemm(acc, load(a), load(b), by: "mma.m16n8k16")`: multiplies `a_tile` (f16) by `b_tile` (f16) into `acc` (f32), with K = 24
              help: without `by: "mma.m16n8k16"` the compiler chooses the instruction
        "#]],
    );
}

/// A load whose instruction is named is made in its own round.
#[test]
fn a_loop_whose_loads_are_named_reads_nothing_ahead() {
    check(
        "kernel halves(x: f32[n], y: mut f32[n]) grid [1] threads 128 {
    for i in 0..cdiv(n, 128) pipelined(3) {
        let t = load(tile(x, [128])[.., i], by: \"ld.global\");
        copy(t * 0.5, tile(y, [128])[.., i]);
    }
}
",
        expect![[r#"
            HX0232 `3` found `pipelined` on a loop that loads nothing ahead
              help: it reads ahead what statements of the body itself `load` from global memory, at places that follow from the counter
        "#]],
    );
}

/// A store of the copy unit writes or adds, and each has an instruction of its own.
#[test]
fn a_store_whose_named_instruction_writes_what_is_to_be_added() {
    let store = |arguments: &str| {
        format!(
            "kernel sums(x: f32[m], y: mut f32[m]) where m % 4 == 0 grid [cdiv(m, 256)] threads 64 {{
    let s = shared_tensor(f32, [256]);
    copy(tile(x, [256])[.., block_idx], s);
    sync();
    copy_async(s, tile(y, [256])[.., block_idx], {arguments});
    wait_stores(0);
}}
"
        )
    };
    let check = |text: &str, expected: Expect| {
        let (db, file) = TestDb::with_file(text);
        expected.assert_eq(&drawn(text, check_file(&db, file, Target::usual())));
    };
    check(
        &store("add: true, by: \"tma.store\""),
        expect![[r#"
        HX0302 `copy_async(s, tile(y, [256])[.., block_idx], add: true, by: "tma.store")` `tma.store` does not add elements of type `f32`
          `copy_async(s, tile(y, [256])[.., block_idx], add: true, by: "tma.store")`: `copy_async`
          help: without `by: "tma.store"` the compiler chooses the instruction
          help: `tma.reduce.add` adds them
    "#]],
    );
    check(
        &store("by: \"tma.reduce\""),
        expect![[r#"
        HX0302 `copy_async(s, tile(y, [256])[.., block_idx], by: "tma.reduce")` `tma.reduce` does not store elements of type `f32`
          `copy_async(s, tile(y, [256])[.., block_idx], by: "tma.reduce")`: `copy_async`
          help: without `by: "tma.reduce"` the compiler chooses the instruction
          help: `tma.store` or `bulk.store` stores them
    "#]],
    );
}
