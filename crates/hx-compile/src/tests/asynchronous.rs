//! Asynchronous products: accesses to their registers and operands before the wait. Every fix is applied.

use expect_test::{Expect, expect};

use super::{check, target};
use crate::{check_file, test_db::TestDb};

/// Returns a kernel of 128 threads that multiplies two tiles, with these statements after the copies of the tiles.
fn with_products(body: &str) -> String {
    format!(
        "kernel k(x: f16[64, 64], y: f16[64, 64], z: mut f32[64, 64]) grid [1] threads 128 {{
    let (a, b) = (shared_tensor(f16, [64, 64]), shared_tensor(f16, [64, 64]));
    copy_async(x, a);
    copy_async(y, b);
    commit();
    wait(0);
    sync();
    let c = register_tensor(f32, [64, 64]);
    fill(c, 0.0);
{body}    copy(c, z);
}}
"
    )
}

/// Checks a body, then applies all fixes and expects no further error.
fn check_products(body: &str, expected: Expect) {
    let mut text = with_products(body);
    check(&text, expected);
    let (db, file) = TestDb::with_file(&text);
    let found = check_file(&db, file, target());
    let mut edits: Vec<_> = found.iter().flat_map(|found| &found.fixes).flat_map(|fix| &fix.edits).collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.range.start()));
    edits.dedup();
    for edit in edits {
        text.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text);
    }
    let (db, file) = TestDb::with_file(&text);
    let left = check_file(&db, file, target());
    assert!(!left.iter().any(|found| found.is_error()), "{text}\n{left:#?}");
}

#[test]
fn a_waited_product_is_right() {
    check_products("    gemm_async(c, a, b);\n    gemm_async(c, a, b);\n    gemm_wait(0);\n", expect![""]);
    check_products(
        "    for _ in 0..4 {\n        gemm_async(c, a, b);\n        gemm_wait(1);\n    }\n    gemm_wait(0);\n",
        expect![""],
    );
}

#[test]
fn an_accumulator_is_read_before_the_wait() {
    check_products(
        "    gemm_async(c, a, b);\n",
        expect![[r#"
            HX0406 `copy(c, z)` `c` is read before its product is complete
              `gemm_async(c, a, b)`: the product begins here
              fix: insert `gemm_wait(0)`
        "#]],
    );
    check_products(
        "    gemm_async(c, a, b);\n    gemm_wait(1);\n",
        expect![[r#"
            HX0406 `copy(c, z)` `c` is read before its product is complete
              `gemm_async(c, a, b)`: the product begins here
              fix: `gemm_wait(0)`
        "#]],
    );
}

#[test]
fn an_accumulator_is_written_in_flight() {
    check_products(
        "    gemm_async(c, a, b);\n    c = c * 2.0;\n    gemm_wait(0);\n",
        expect![[r#"
            HX0406 `c * 2.0` `c` is read before its product is complete
              `gemm_async(c, a, b)`: the product begins here
              fix: insert `gemm_wait(0)`
        "#]],
    );
}

#[test]
fn an_operand_in_registers_is_rewritten_in_flight() {
    check_products(
        "    let p = load(a);
    for _ in 0..2 {
        gemm_async(c, p, b);
        p = p * 2.0;
    }
    gemm_wait(0);
",
        expect![[r#"
            HX0406 `p * 2.0` `p` is written while a product uses it
              `gemm_async(c, p, b)`: the product begins here
              note: every round writes the same registers: two tensors in turns, of two names, keep a product in flight while the next operand is made
              fix: insert `gemm_wait(0)`
        "#]],
    );
}

/// Two groups: one of them may still read what the other overwrites. The finding is told once, and its fix has the barrier.
#[test]
fn a_shared_operand_is_written_in_flight() {
    let body = "    gemm_async(c, a, b);\n    copy(x, a);\n    gemm_wait(0);\n";
    check_products(
        body,
        expect![[r#"
        HX0406 `copy(x, a)` `a` is written while a product uses it
          `gemm_async(c, a, b)`: the product begins here
          fix: insert `gemm_wait(0)`, `sync()`
    "#]],
    );
    let groups =
        with_products(body).replace("[64, 64]", "[128, 64]").replace("mut f32[128, 64]", "mut f32[128, 128]");
    let groups = groups.replace("f32, [128, 64]", "f32, [128, 128]").replace("threads 128", "threads 256");
    check(
        &groups,
        expect![[r#"
        HX0406 `copy(x, a)` `a` is written while a product uses it
          `gemm_async(c, a, b)`: the product begins here
          fix: insert `gemm_wait(0)`, `sync()`
    "#]],
    );
}
