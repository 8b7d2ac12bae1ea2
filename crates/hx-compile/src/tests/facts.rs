//! Requirements on launches that a kernel needs, offered if nothing is known about its launches.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use hx_hir::file_items;
use hx_lower::LaunchFacts;

use super::target;
use crate::{Instance, instance_diagnostics, test_db::TestDb};

/// Compares the errors of a kernel about whose dimensions nothing is known, and its text after the fixes.
fn check_unknown(text: &str, expected: Expect) {
    let (db, file) = TestDb::with_file(text);
    let kernel = file_items(&db, file).kernels().next().expect("there is a kernel");
    let dims = ["k", "m", "n"].map(|dim| (dim.into(), 1)).into();
    let facts = LaunchFacts { dims, ..LaunchFacts::all_16() };
    let found = instance_diagnostics(&db, Instance::chosen(&db, kernel, BTreeMap::new(), target(), facts));
    let mut out = String::new();
    for found in found {
        out.push_str(&format!("{} {}\n", found.code.id, found.message));
        for fix in &found.fixes {
            let mut mended = text.to_owned();
            for edit in fix.edits.iter().rev() {
                mended.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text);
            }
            out.push_str(&format!("  {}\n{mended}", fix.title));
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn a_row_that_may_end_in_the_middle_of_a_byte() {
    check_unknown(
        "kernel widened(w: u4[n, k], y: mut f16[n, k])
    grid [1]
    threads 32
{
    copy(cast(load(tile(w, [16, 32])[.., .., 0, 0]), f16), tile(y, [16, 32])[.., .., 0, 0]);
}
",
        expect![[r#"
            HX0302 no instruction of sm_80 loads single elements of type `u4` from global memory
              require `k % 2 == 0` of every launch
            kernel widened(w: u4[n, k], y: mut f16[n, k])
                where k % 2 == 0
                grid [1]
                threads 32
            {
                copy(cast(load(tile(w, [16, 32])[.., .., 0, 0]), f16), tile(y, [16, 32])[.., .., 0, 0]);
            }
        "#]],
    );
    check_unknown(
        "kernel widened(w: u4[n, k], y: mut f16[n, k]) where n > 8 grid [1] threads 32 {
    copy(cast(load(tile(w, [16, 32])[.., .., 0, 0]), f16), tile(y, [16, 32])[.., .., 0, 0]);
}
",
        expect![[r#"
            HX0302 no instruction of sm_80 loads single elements of type `u4` from global memory
              require `k % 2 == 0` of every launch
            kernel widened(w: u4[n, k], y: mut f16[n, k]) where n > 8, k % 2 == 0 grid [1] threads 32 {
                copy(cast(load(tile(w, [16, 32])[.., .., 0, 0]), f16), tile(y, [16, 32])[.., .., 0, 0]);
            }
        "#]],
    );
}

#[test]
fn an_asynchronous_copy_whose_rows_may_begin_anywhere() {
    check_unknown(
        "kernel staged(x: f16[m, n], y: mut f16[m, n]) grid [1] threads 32 {
    let s = shared_tensor(f16, [16, 32]);
    copy_async(tile(x, [16, 32])[.., .., 0, 0], s);
    commit();
    wait(0);
    sync();
    copy(s, tile(y, [16, 32])[.., .., 0, 0]);
}
",
        expect![[r#"
            HX0306 `x` is read 2 B at a time
            HX0706 `x` goes through registers, and the threads wait for it there
            HX0306 `y` is written 2 B at a time
        "#]],
    );
}
