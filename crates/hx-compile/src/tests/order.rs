//! Copies and products in the slower order: the note with both estimates, and its fix.

use expect_test::{Expect, expect};
use hx_hir::file_items;
use hx_target::Target;
use hx_tile::TileProgram;

use super::drawn;
use crate::reorder::is_synchronized;
use crate::{check_file, default_instance, test_db::TestDb, tile_program};

/// Returns a product with a ring of `stages`, whose loop has this body behind its barrier.
fn product(stages: u32, threads: u32, wait: &str, body: &str) -> String {
    let ahead = stages - 1;
    format!(
        "kernel product<S = {stages}>(a: f16[m, k], b: f16[n, k], c: mut f32[m, n])
    grid [cdiv(m, 128), cdiv(n, 128)]
    threads {threads}
{{
    let [bm, bn] = block_idx;
    let ga = tile(a, [128, 64])[.., .., bm, ..];
    let gb = tile(b, [128, 64])[.., .., bn, ..];
    let sa = shared_tensor(f16, [128, 64, S]);
    let sb = shared_tensor(f16, [128, 64, S]);
    let acc = register_tensor(f32, [128, 128]);
    fill(acc, 0.0);
    for s in 0..S - 1 {{
        copy_async(ga[.., .., s], sa[.., .., s]);
        copy_async(gb[.., .., s], sb[.., .., s]);
        commit();
    }}
    for ki in 0..cdiv(k, 64) {{
        wait({wait});
        sync();
{body}    }}
    wait(0);
    copy(acc, tile(c, [128, 128])[.., .., bm, bn]);
}}
",
        wait = if wait.is_empty() { (ahead - 1).to_string() } else { wait.to_owned() }
    )
}

const COPIES: &str = "        let next = ki + S - 1;
        copy_async(ga[.., .., next], sa[.., .., next % S]);
        copy_async(gb[.., .., next], sb[.., .., next % S]);
        commit();
";

const PRODUCT: &str = "        gemm(acc, sa[.., .., ki % S], sb[.., .., ki % S]);
";

/// Checks a kernel, then applies the fix and checks again: nothing is left. Returns the text after the fix.
fn check(text: &str, target: Target, expected: Expect) -> String {
    let (db, file) = TestDb::with_file(text);
    let found = check_file(&db, file, target);
    expected.assert_eq(&drawn(text, found));
    let mut edits: Vec<_> = found.iter().flat_map(|found| &found.fixes).flat_map(|fix| &fix.edits).collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.range.start()));
    let mut text = text.to_owned();
    for edit in &edits {
        text.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text);
    }
    if !edits.is_empty() {
        let (db, file) = TestDb::with_file(&text);
        let left = check_file(&db, file, target);
        assert!(left.is_empty(), "{text}\n{left:#?}");
    }
    text
}

#[test]
fn copies_of_two_stages_belong_ahead_of_the_products() {
    let (slow, fast) = (format!("{PRODUCT}{COPIES}"), format!("{COPIES}{PRODUCT}"));
    let (slow, fast) = (product(2, 256, "", &slow), product(2, 256, "", &fast));
    let fixed = check(
        &slow,
        Target::usual(),
        expect![[r#"
            HX0418 `copy_async(ga[.., .., next], sa[.., .., next % S])` the copies would cost less time ahead of the products: estimate 0.76×
              `copy_async(ga[.., .., next], sa[.., .., next % S])`: the copies
              `gemm(acc, sa[.., .., ki % S], sb[.., .., ki % S])`: the products
              note: the blocks of a multiprocessor are estimated to take 29130 instead of 38538 cycles, where a loop of unknown length counts as 16 rounds
              fix: move the copies ahead of the products (estimate 0.76×)
        "#]],
    );
    assert_eq!(fixed, fast);
    let fixed = check(
        &slow,
        Target::builtin("sm_80"),
        expect![[r#"
            HX0418 `copy_async(ga[.., .., next], sa[.., .., next % S])` the copies would cost less time ahead of the products: estimate 0.70×
              `copy_async(ga[.., .., next], sa[.., .., next % S])`: the copies
              `gemm(acc, sa[.., .., ki % S], sb[.., .., ki % S])`: the products
              note: the blocks of a multiprocessor are estimated to take 40147 instead of 57646 cycles, where a loop of unknown length counts as 16 rounds
              fix: move the copies ahead of the products (estimate 0.70×)
        "#]],
    );
    assert_eq!(fixed, fast);
}

#[test]
fn deep_rings_hide_the_copies_in_both_orders() {
    for body in [format!("{PRODUCT}{COPIES}"), format!("{COPIES}{PRODUCT}")] {
        check(&product(4, 256, "", &body), Target::usual(), expect![""]);
    }
}

#[test]
fn statements_with_a_barrier_between_them_keep_their_order() {
    // The copies overwrite what the products read.
    let body = "        gemm(acc, sa[.., .., 0], sb[.., .., 0]);
        sync();
        copy_async(ga[.., .., ki + 1], sa[.., .., 0]);
        copy_async(gb[.., .., ki + 1], sb[.., .., 0]);
        commit();
";
    check(&product(2, 256, "", body), Target::usual(), expect![""]);
}

#[test]
fn copies_start_while_products_are_in_flight() {
    let asynchronous = PRODUCT.replace("gemm(", "gemm_async(");
    let body = format!("{COPIES}{asynchronous}        gemm_wait(0);\n");
    check(
        &product(4, 256, "", &body),
        Target::usual(),
        expect![[r#"
            HX0418 `copy_async(ga[.., .., next], sa[.., .., next % S])` the copies would cost less time behind the products: estimate 0.71×
              `copy_async(ga[.., .., next], sa[.., .., next % S])`: the copies
              `gemm_async(acc, sa[.., .., ki % S], sb[.., .., ki % S])`: the products
              note: the blocks of a multiprocessor are estimated to take 15259 instead of 21545 cycles, where a loop of unknown length counts as 16 rounds
              fix: move the copies behind the products (estimate 0.71×)
        "#]],
    );
    // Without matrix instructions of a group, a product is complete when it has been issued.
    check(&product(4, 256, "", &body), Target::builtin("sm_80"), expect![""]);
}

#[test]
fn a_name_between_the_statements_keeps_the_text() {
    let products = "        let now = ki % S;
        gemm(acc, sa[.., .., now], sb[.., .., now]);
";
    let slow = product(2, 256, "", &format!("{products}{}", COPIES.replace("next", "now")));
    check(
        &slow,
        Target::usual(),
        expect![[r#"
            HX0418 `copy_async(ga[.., .., now], sa[.., .., now % S])` the copies would cost less time ahead of the products: estimate 0.76×
              `copy_async(ga[.., .., now], sa[.., .., now % S])`: the copies
              `gemm(acc, sa[.., .., now], sb[.., .., now])`: the products
              note: the blocks of a multiprocessor are estimated to take 29130 instead of 38538 cycles, where a loop of unknown length counts as 16 rounds
              help: move the copies ahead of the products (estimate 0.76×)
        "#]],
    );
}

/// An exchange is checked as a program of its own, from its layouts to its races.
#[test]
fn the_check_of_an_exchange_sees_races() {
    let sound = |text: &str, exchange: bool| {
        let (db, file) = TestDb::with_file(text);
        let kernel = file_items(&db, file).kernels().next().expect("a kernel");
        let instance = default_instance(&db, kernel, Target::usual()).expect("no open parameters");
        let program = &tile_program(&db, instance).as_ref().expect("it lowers").program;
        let exchanges = program.exchanges();
        assert_eq!(exchanges.len(), 1, "{exchanges:?}");
        let program = if exchange { program.exchanged(&exchanges[0]) } else { TileProgram::clone(program) };
        let solved = hx_synth::solve(&program, &|| false).expect("it has layouts");
        is_synchronized(&db, &program, &solved)
    };
    let right = product(2, 256, "", &format!("{PRODUCT}{COPIES}"));
    assert!(sound(&right, false) && sound(&right, true));
    // The copies fill the stage that the products read.
    let racing = right.replace("ki + S - 1", "ki");
    assert!(!sound(&racing, false) && !sound(&racing, true));
}
