//! HX0503: tensors of more registers than a thread has.

use expect_test::expect;
use hx_hir::file_items;

use super::{check, drawn, target};
use crate::{CtValue, Instance, LaunchFacts, check_file, instance_diagnostics, test_db::TestDb};

/// Each tensor fits on its own, but all of them are held while the block waits.
#[test]
fn tensors_that_are_held_at_once_are_counted() {
    let load = |name: &str| format!("    let {name} = load(tile(x, [64, 128])[.., .., 0, 0]);\n");
    let loads: String = ["a", "b", "c", "d", "e"].into_iter().map(load).collect();
    let kernel = |sync: &str| {
        format!(
            "kernel k(x: f32[m, n], y: mut f32[m, n]) grid [1] threads 128 {{
    let s = shared_tensor(f32, [64, 128]);
{loads}    copy(a, s);
{sync}    let f = load(s);
    copy(a + b + c + d + e + f, tile(y, [64, 128])[.., .., 0, 0]);
}}
"
        )
    };
    check(
        &kernel("    sync();\n"),
        expect![[r#"
            HX0503 `sync()` tensors of 320 registers a thread are held across this `sync`, and a thread of sm_80 has 255
              `load(tile(x, [64, 128])[.., .., 0, 0])`: `a` takes 64
              `load(tile(x, [64, 128])[.., .., 0, 0])`: `b` takes 64
              `load(tile(x, [64, 128])[.., .., 0, 0])`: `c` takes 64
              `load(tile(x, [64, 128])[.., .., 0, 0])`: `d` takes 64
              fix: run it with 256 threads
        "#]],
    );
}

/// Every offer was solved and leaves registers to the computation. Offers are another default of a parameter (in words if a
/// launch gives its value) and more threads (also if a parameter counts them).
#[test]
fn tensors_that_do_not_fit_are_offered_what_makes_them() {
    let kernel = |rows: &str, threads: &str| {
        format!(
            "kernel k<BM = {rows}, WARPS = 4>(x: f32[m, n], y: mut f32[m, n]) grid [cdiv(m, BM)] threads {threads} {{
    let a = load(tile(x, [BM, 256])[.., .., block_idx, 0]);
    copy(a / (1.0 + sum(a, axis: 1)), tile(y, [BM, 256])[.., .., block_idx, 0]);
}}
"
        )
    };
    check(
        &kernel("256", "128"),
        expect![[r#"
        HX0503 `load(tile(x, [BM, 256])[.., .., block_idx, 0])` `a` takes 512 registers of each thread, which has 255 on sm_80
          `load(tile(x, [BM, 256])[.., .., block_idx, 0])`: 512 elements of f32 a thread
          fix: let `BM` be 64
        HX0503 `a / (1.0 + sum(a, axis: 1))` `value` takes 512 registers of each thread, which has 255 on sm_80
          `a / (1.0 + sum(a, axis: 1))`: 512 elements of f32 a thread
          fix: let `BM` be 64
    "#]],
    );
    check(
        &kernel("128", "64"),
        expect![[r#"
        HX0503 `load(tile(x, [BM, 256])[.., .., block_idx, 0])` `a` takes 512 registers of each thread, which has 255 on sm_80
          `load(tile(x, [BM, 256])[.., .., block_idx, 0])`: 512 elements of f32 a thread
          fix: run it with 256 threads
        HX0503 `a / (1.0 + sum(a, axis: 1))` `value` takes 512 registers of each thread, which has 255 on sm_80
          `a / (1.0 + sum(a, axis: 1))`: 512 elements of f32 a thread
          fix: run it with 256 threads
    "#]],
    );
    check(
        &kernel("128", "32 * WARPS"),
        expect![[r#"
        HX0503 `load(tile(x, [BM, 256])[.., .., block_idx, 0])` `a` takes 256 registers of each thread, which has 255 on sm_80
          `load(tile(x, [BM, 256])[.., .., block_idx, 0])`: 256 elements of f32 a thread
          fix: let `BM` be 64
          fix: let `WARPS` be 8
        HX0503 `a / (1.0 + sum(a, axis: 1))` `value` takes 256 registers of each thread, which has 255 on sm_80
          `a / (1.0 + sum(a, axis: 1))`: 256 elements of f32 a thread
          fix: let `BM` be 64
          fix: let `WARPS` be 8
    "#]],
    );
    for text in [kernel("256", "128"), kernel("128", "64"), kernel("128", "32 * WARPS")] {
        let (db, file) = TestDb::with_file(&text);
        for fix in check_file(&db, file, target()).iter().flat_map(|found| &found.fixes) {
            let mut mended = text.clone();
            fix.edits.iter().for_each(|edit| {
                mended.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text)
            });
            check(&mended, expect![""]);
        }
    }
    let text = kernel("16", "128");
    let (db, file) = TestDb::with_file(&text);
    let kernel = file_items(&db, file).kernels().next().expect("there is one");
    let args = std::collections::BTreeMap::from([("BM".into(), CtValue::Int(256))]);
    let instance = Instance::chosen(&db, kernel, args, target(), LaunchFacts::all_16());
    expect![[r#"
        HX0503 `load(tile(x, [BM, 256])[.., .., block_idx, 0])` `a` takes 512 registers of each thread, which has 255 on sm_80
          `load(tile(x, [BM, 256])[.., .., block_idx, 0])`: 512 elements of f32 a thread
          help: with `BM = 64` the registers suffice
        HX0503 `a / (1.0 + sum(a, axis: 1))` `value` takes 512 registers of each thread, which has 255 on sm_80
          `a / (1.0 + sum(a, axis: 1))`: 512 elements of f32 a thread
          help: with `BM = 64` the registers suffice
    "#]].assert_eq(&drawn(&text, instance_diagnostics(&db, instance)));
}
