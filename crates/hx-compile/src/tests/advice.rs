//! The advice about roles, rings and tiles: it names the cause once, and a fix that is offered holds.

use expect_test::{Expect, expect};
use hx_target::Target;

use super::drawn;
use crate::{check_file, test_db::TestDb};

/// A product with a producer and two groups that consume.
const PRODUCT: &str =
    "kernel product<BM = 128, BN = 128, BK = 64, S = 4>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(f16, [BM, BK, S]);
    let sb = shared_tensor(f16, [BN, BK, S]);
    let pipe = pipeline(S);
    warp_groups {
        producer {
            for ki in 0..cdiv(k, BK) {
                let s = pipe.acquire();
                copy_async(tile(a, [BM, BK])[.., .., bm, ki], sa[.., .., s], signal: pipe);
                copy_async(tile(b, [BN, BK])[.., .., bn, ki], sb[.., .., s], signal: pipe);
            }
        }
        consumer 2 {
            let acc = register_tensor(f32, [BM, BN]);
            fill(acc, 0.0);
            for _ in 0..cdiv(k, BK) {
                let s = pipe.wait();
                gemm_async(acc, sa[.., .., s], sb[.., .., s]);
                gemm_wait(0);
                pipe.release();
            }
            copy(cast(acc, f16), tile(c, [BM, BN])[.., .., bm, bn]);
        }
    }
}
";

/// Checks a text after changes, and that each fix leaves no error.
fn check(text: &str, changes: &[[&str; 2]], expected: Expect) {
    let changed = |text: String, [from, to]: &[&str; 2]| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    };
    let text = changes.iter().fold(text.to_owned(), changed);
    let (db, file) = TestDb::with_file(&text);
    let found = check_file(&db, file, Target::usual());
    expected.assert_eq(&drawn(&text, found));
    let mut fixes: Vec<_> = found.iter().flat_map(|found| &found.fixes).flat_map(|fix| &fix.edits).collect();
    if fixes.is_empty() {
        return;
    }
    let mut text = text.clone();
    fixes.sort_by_key(|edit| std::cmp::Reverse(edit.range.start()));
    fixes.iter().for_each(|edit| text.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text));
    let (db, file) = TestDb::with_file(&text);
    let left: Vec<_> =
        check_file(&db, file, Target::usual()).iter().filter(|found| found.is_error()).collect();
    assert!(left.is_empty(), "{text}\n{left:#?}");
}

#[test]
fn the_product_is_right() {
    check(PRODUCT, &[], expect![""]);
}

#[test]
fn a_ring_needs_room_for_its_stages() {
    check(
        PRODUCT,
        &[["shared_tensor(f16, [BM, BK, S])", "shared_tensor(f16, [BM, BK, 3])"]],
        expect![[r#"
        HX0210 `s` `sa` has room for 3 stages, and `pipe` has 4
          `s`: a stage of `pipe` may be `3`
          `pipeline(S)`: the ring is made here
          help: give both the same number, best by one compile-time parameter: `pipeline(STAGES)` and `shared_tensor(…, [.., STAGES])`
    "#]],
    );
}

#[test]
fn a_copy_signals_the_stage_that_it_fills() {
    check(
        PRODUCT,
        &[["sa[.., .., s], signal: pipe)", "sa[.., .., s])"]],
        expect![[r#"
        HX0403 `copy_async(tile(a, [BM, BK])[.., .., bm, ki], sa[.., .., s])` this copy fills a stage of `pipe` and does not signal it
          `pipe.acquire()`: the stage is acquired here
          note: `pipe.wait()` waits for the copies that signal the stage
          fix: add `signal: pipe`
    "#]],
    );
}

#[test]
fn tiles_are_indexed_behind_the_modes_inside_of_them() {
    check(
        PRODUCT,
        &[["[.., .., bm, ki]", "[bm, ki]"]],
        expect![[r#"
        HX0210 `bm` cannot prove that this stays inside of its part of `a`
          `bm`: the index `block_idx.x` may be `128` or more
          help: the first 2 modes are inside of a tile, and the tiles come behind them
          fix: index the tiles
    "#]],
    );
}

#[test]
fn roles_with_different_rounds_are_told_how_many() {
    check(
        PRODUCT,
        &[["for _ in 0..cdiv(k, BK)", "for _ in 0..k / BK"]],
        expect![[r#"
        HX0409 `copy_async(tile(a, [BM, BK])[.., .., bm, ki], sa[.., .., s], signal: pipe)` the block can end before this copy into a stage of `pipe` arrives
          `pipe.wait()`: the stages of `pipe` are waited for here
          note: 1 stage of `pipe` is acquired, and each of its readers waits for none
          note: the memory belongs to another block then
          note: this is so with `(k + 63) / 64` = 1, `k / 64` = 0
          help: the loops that wait for `pipe` need as many rounds as those that acquire it
    "#]],
    );
    check(
        PRODUCT,
        &[["for ki in 0..cdiv(k, BK)", "for ki in 0..k / BK"]],
        expect![[r#"
        HX0404 `pipe.wait()` group 0 of `consumer` waits for ever: its stage of `pipe` is never filled
          `pipe.acquire()`: stages of `pipe` are acquired here
          note: it waits for stage number 1, and none is acquired
          note: this is so with `k / 64` = 0, `(k + 63) / 64` = 1
          help: the loops that wait for `pipe` need as many rounds as those that acquire it
    "#]],
    );
}

#[test]
fn a_stage_with_fewer_readers_than_expected_is_told_of_them() {
    let changes = [["pipeline(S)", "pipeline(S, readers: 4)"]];
    check(
        PRODUCT,
        &changes,
        expect![[r#"
        HX0404 `pipe.acquire()` `producer` waits for ever: no stage of `pipe` is given back
          `pipe.wait()`: the stages of `pipe` are waited for here
          `pipe.wait()`: group 0 of `consumer` waits here meanwhile
          note: 4 groups have to give back each stage, and 2 groups wait for it
          note: this is so with `(k + 63) / 64` = 5
          help: `pipeline(4, readers: 2)`, or let the other groups wait for every stage too
    "#]],
    );
}

#[test]
fn a_missing_wait_is_one_finding() {
    check(
        PRODUCT,
        &[["let s = pipe.wait();", "let s = 0;"]],
        expect![[r#"
        HX0401 `sa[.., .., s]` a stage of `pipe` is read before a wait for its copies
          `copy_async(tile(a, [BM, BK])[.., .., bm, ki], sa[.., .., s], signal: pipe)`: `sa` is filled here
          note: this is so with `(k + 63) / 64` = 1
          help: `pipe.wait()` returns the stage whose copies have arrived
    "#]],
    );
}

#[test]
fn a_stage_that_is_not_the_one_waited_for_is_named() {
    check(
        PRODUCT,
        &[["sb[.., .., s]);", "sb[.., .., 0]);"]],
        expect![[r#"
        HX0401 `sb[.., .., 0]` a stage of `pipe` is read after it was given back
          `pipe.release()`: it was given back here
          `copy_async(tile(b, [BN, BK])[.., .., bn, ki], sb[.., .., s], signal: pipe)`: and can be filled again here
          note: this is so with `(k + 63) / 64` = 5
          help: give it back behind its last use, and index `sb` by the stage that `pipe.wait()` returned
    "#]],
    );
}

#[test]
fn nothing_orders_roles_but_stages() {
    let text = "kernel two(x: f32[256], y: mut f32[256]) grid [1] {
    let s = shared_tensor(f32, [256]);
    warp_groups {
        producer {
            copy(load(x), s);
            sync();
        }
        consumer {
            sync();
            copy(load(s), y);
        }
    }
}
";
    check(
        text,
        &[],
        expect![[r#"
            HX0401 `load(s)` threads race on `s`: nothing orders the accesses
              `load(s)`: `s` is read here
              `copy(load(x), s)`: `s` is written here
              fix: insert `let ready = barrier()`, and `ready.sync()` in both roles
        "#]],
    );
}

#[test]
fn an_index_of_a_signalled_copy_is_clamped_instead_of_guarded() {
    let text = "kernel rows(x: f32[m, 64], first: i32[n], y: mut f32[n, 64]) grid [n] {
    let s = shared_tensor(f32, [1, 64, 1]);
    let pipe = pipeline(1);
    warp_groups {
        producer {
            let row = first[block_idx];
            let i = pipe.acquire();
            copy_async(tile(x[8..24], [1, 64])[.., .., row, 0], s[.., .., i], signal: pipe);
        }
        consumer {
            let i = pipe.wait();
            copy(load(s[.., .., i]), tile(y, [1, 64])[.., .., block_idx, 0]);
            pipe.release();
        }
    }
}
";
    check(
        text,
        &[],
        expect![[r#"
        HX0210 `row` cannot prove that this stays inside of its part of `x`
          `row`: `first_value` may be negative
          fix: keep the index inside: `max(0, …)`
    "#]],
    );
}

/// A box begins at a multiple of 128 bytes, so parts of other sizes have no layout.
#[test]
fn the_parts_that_boxes_fill_have_a_size_that_fits() {
    let slots = "kernel slots(x: f32[m, n], y: mut f32[m, n]) grid [cdiv(m, 9)] threads 128 {
    let o = shared_tensor(f32, [9, 48, 2]);
    for j in 0..cdiv(n, 48) {
        copy(load(tile(x, [9, 48])[.., .., block_idx, j]), o[.., .., j % 2]);
        sync();
        copy_async(o[.., .., j % 2], tile(y, [9, 48])[.., .., block_idx, j]);
        wait_stores(0);
        sync();
    }
}
";
    check(
        slots,
        &[],
        expect![[r#"
        HX0301 `copy_async(o[.., .., j % 2], tile(y, [9, 48])[.., .., block_idx, j])` no layout of the shared tensor `o` serves all of its accesses
          `copy_async(o[.., .., j % 2], tile(y, [9, 48])[.., .., block_idx, j])`: a part of `o` has 1728 B, and each part has to begin at a multiple of 128 B
          help: a tile of `[10, 48]` fits; so does a shared tensor for each part
    "#]],
    );
    check(slots, &[["9, 48", "10, 48"], ["m, 9", "m, 10"]], expect![""]);
    check(
        "kernel groups(x: bf16[m, 96], y: mut bf16[m, 96]) grid [cdiv(m, 3)] {
    warp_groups {
        producer { }
        consumer each 3 (g) {
            let o = shared_tensor(bf16, [1, 96]);
            copy(load(tile(x, [1, 96])[.., .., block_idx * 3 + g, 0]), o);
            sync();
            copy_async(o, tile(y, [1, 96])[.., .., block_idx * 3 + g, 0]);
            wait_stores(0);
        }
    }
}
",
        &[],
        expect![[r#"
        HX0301 `copy_async(o, tile(y, [1, 96])[.., .., block_idx * 3 + g, 0])` no layout of the shared tensor `o` serves all of its accesses
          `copy_async(o, tile(y, [1, 96])[.., .., block_idx * 3 + g, 0])`: a part of `o` has 192 B, and each part has to begin at a multiple of 128 B
          help: a tile of `[1, 128]` fits; so does a shared tensor for each part
    "#]],
    );
}

/// A condition would leave out the last tile, of which only some elements are outside.
#[test]
fn a_view_that_steps_backwards_is_no_reason_for_a_condition() {
    let reversed = "kernel reversed(x: f32[n], y: mut f32[n]) grid [cdiv(n, 32)] threads 32 {
    let v = load(global_view(x[n - 1 - block_idx * 32..], (32,) : (-1,)));
    copy(v, tile(y, [32])[.., block_idx]);
}
";
    check(
        reversed,
        &[],
        expect![[r#"
        HX0210 `(32,) : (-1,)` cannot prove that this stays inside of its part of `x`
          `(32,) : (-1,)`: the first element may be at `n - block_idx.x * 32 - 32`
          help: a view that steps backwards ends at the start of the tensor; `load(gather(t, i))` reads elements in any order, and 0 outside: `i` is a register tensor of positions, as `n - 1 - index(r, 0)`
    "#]],
    );
    let change = [
        "load(global_view(x[n - 1 - block_idx * 32..], (32,) : (-1,)))",
        "load(gather(x, n - 1 - block_idx * 32 - index(register_tensor(i32, [32]), 0)))",
    ];
    check(reversed, &[change], expect![""]);
}
