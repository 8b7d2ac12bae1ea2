//! Programs whose evaluation at compile time would never end, or fill the memory.

use expect_test::expect;

use hx_hir::testing::TestDb;
use hx_hir::{Sound, file_items};
use hx_target::Target;

use super::{check, lowered};
use crate::{CtArgs, Forms, LaunchFacts, lower};

/// Returns a kernel whose thread count is the expression `threads`, preceded by `items`.
fn with_threads(items: &str, threads: &str) -> String {
    format!(
        "{items}kernel probe(c: mut f32[32]) grid [1] threads {threads} {{ let v = load(c); copy(v, c); }}\n"
    )
}

#[test]
fn a_constant_is_evaluated_once_however_often_it_is_named() {
    let doubled: String = (1..60).map(|i| format!("const A{i} = A{} + A{};\n", i - 1, i - 1)).collect();
    assert!(lowered(&with_threads(&format!("const A0 = 1;\n{doubled}"), "A59 / A54")));
    let chain: String = (1..2000).rev().map(|i| format!("const B{i} = B{} + 1;\n", i - 1)).collect();
    assert!(lowered(&with_threads(&format!("{chain}const B0 = 1;\n"), "B1999 - 1968")));
}

#[test]
fn twice_the_constants_are_twice_the_work() {
    // Each constant names the two that follow it.
    let work = |n: usize| {
        let line = |i: usize| format!("const A{i} = A{} + 0 * A{};\n", i + 2, i + 1);
        let items =
            (0..n).map(line).collect::<String>() + &format!("const A{n} = 1;\nconst A{} = 32;\n", n + 1);
        let (db, file) = TestDb::with_file(&with_threads(&items, "A1"));
        let kernel = file_items(&db, file).kernels().last().expect("the text has a kernel");
        let kernel = Sound::of(&db, kernel).expect("the kernel has no errors");
        db.log.take();
        db.log.take_checks();
        assert!(
            lower(&db, kernel, &CtArgs::default(), &LaunchFacts::all_16(), (Target::usual(), Forms::PLAIN))
                .is_ok()
        );
        [db.log.take().len(), db.log.take_checks()]
    };
    for (half, whole) in work(400).into_iter().zip(work(800)) {
        assert!(whole * 10 <= half * 22, "{half} for 400 constants, {whole} for 800");
    }
}

#[test]
fn empty_tuples_count_as_parts() {
    let items: String = (1..40).map(|i| format!("const T{i} = (T{}, T{});\n", i - 1, i - 1)).collect();
    check(
        &with_threads(&format!("const T0 = ();\n{items}const L = T39 : T39;\n"), "32 + 0 * L.size"),
        expect![[r#"
            error[HX0224]: found a value of more than 16384 parts, which is the limit at compile time
              const T15 = (T14, T14);
                          ^^^^^^^^^^
            error[HX0224]: found a value of more than 16384 parts, which is the limit at compile time
              const T30 = (T29, T29);
                          ^^^^^^^^^^
            error[HX0213]: a layout has nothing called `size`
              kernel probe(c: mut f32[32]) grid [1] threads 32 + 0 * L.size { let v = load(c); copy(v, c); }
                                                                       ^^^^
        "#]],
    );
}

#[test]
fn values_do_not_double_for_ever() {
    let items: String = (1..60).map(|i| format!("const T{i} = (T{}, T{});\n", i - 1, i - 1)).collect();
    check(
        &with_threads(
            &format!("const T0 = (1, 1);\n{items}const L = T59 : T59;\nconst N = 32 + 0 * L.size;\n"),
            "N",
        ),
        expect![[r#"
            error[HX0224]: found a value of more than 16384 parts, which is the limit at compile time
              const T14 = (T13, T13);
                          ^^^^^^^^^^
            error[HX0224]: found a value of more than 16384 parts, which is the limit at compile time
              const T29 = (T28, T28);
                          ^^^^^^^^^^
            error[HX0224]: found a value of more than 16384 parts, which is the limit at compile time
              const T44 = (T43, T43);
                          ^^^^^^^^^^
            error[HX0224]: found a value of more than 16384 parts, which is the limit at compile time
              const T59 = (T58, T58);
                          ^^^^^^^^^^
            error[HX0213]: a layout has nothing called `size`
              const N = 32 + 0 * L.size;
                                   ^^^^
            error[HX0101]: nothing in scope is called `N`
              kernel probe(c: mut f32[32]) grid [1] threads N { let v = load(c); copy(v, c); }
                                                            ^
              note: a dimension is bound where its name stands alone in a parameter's shape
        "#]],
    );
    let doubled: String = (1..60).map(|i| format!("let e{i} = e{} * (e{} + 1);\n", i - 1, i - 1)).collect();
    check(
        &format!(
            "kernel probe(c: mut f32[n]) grid [n] threads 32 {{ let e0 = n + block_idx;\n{doubled} print(e59); }}\n"
        ),
        expect![[r#"
            error[HX0224]: found a symbolic integer of more than 512 terms and factors, which is the limit at compile time
              let e5 = e4 * (e4 + 1);
                             ^^^^^^ the evaluation stopped here
              help: pass the value to the kernel as an argument
        "#]],
    );
    let scalars: String = (1..60).map(|i| format!("let e{i} = e{} * e{};\n", i - 1, i - 1)).collect();
    check(
        &format!(
            "kernel probe(c: mut f32[32], e0: f32) grid [1] threads 32 {{\n{scalars}copy(load(c) + e59, c); }}\n"
        ),
        expect![[r#"
            error[HX0224]: found a value of more than 16384 parts, which is the limit at compile time
              let e14 = e13 * e13;
                        ^^^^^^^^^ the evaluation stopped here
              help: split it up, or compute it at run time
        "#]],
    );
}

#[test]
fn functions_are_not_inlined_for_ever() {
    let doubled: String =
        (1..40).map(|i| format!("fn f{i}(x: f32) -> f32 {{ f{}(x) + f{}(x) }}\n", i - 1, i - 1)).collect();
    check(
        &format!(
            "fn f0(x: f32) -> f32 {{ x + 1.0 }}\n{doubled}\
             kernel probe(c: mut f32[32]) grid [1] threads 32 {{ let v = load(c); copy(f39(v), c); }}\n"
        ),
        expect![[r#"
            error[HX0224]: found a value of more than 16384 parts, which is the limit at compile time
              fn f13(x: f32) -> f32 { f12(x) + f12(x) }
                                      ^^^^^^^^^^^^^^^ the evaluation stopped here
              fn f14(x: f32) -> f32 { f13(x) + f13(x) }
                                      ------ called from here
              fn f15(x: f32) -> f32 { f14(x) + f14(x) }
                                      ------ called from here
              fn f16(x: f32) -> f32 { f15(x) + f15(x) }
                                      ------ called from here
              fn f17(x: f32) -> f32 { f16(x) + f16(x) }
                                      ------ called from here
              fn f37(x: f32) -> f32 { f36(x) + f36(x) }
                                      ------ called from here
              fn f38(x: f32) -> f32 { f37(x) + f37(x) }
                                      ------ called from here
              fn f39(x: f32) -> f32 { f38(x) + f38(x) }
                                      ------ called from here
              kernel probe(c: mut f32[32]) grid [1] threads 32 { let v = load(c); copy(f39(v), c); }
                                                                                       ------ called from here
              note: 19 calls in between are not shown
              help: `let` gives a part of the expression a tensor of its own
        "#]],
    );
}
