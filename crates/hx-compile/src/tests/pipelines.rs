//! Pipelines, turns and operations in flight: each broken kernel is told with both places, and every fix is applied.

use expect_test::{Expect, expect};
use hx_target::Target;

use super::drawn;
use crate::{check_file, test_db::TestDb};

/// Returns a kernel that copies a vector through a ring of `S` stages, with these statements.
fn ring(body: &str) -> String {
    format!(
        "kernel ring<T = 256, S = 3>(x: f32[m], y: mut f32[m])
    where m % 4 == 0
    grid [1]
    threads 64
{{
    let stages = shared_tensor(f32, [T, S]);
    let gx = tile(x, [T]);
    let gy = tile(y, [T]);
    let n = cdiv(m, T);
    let pipe = pipeline(S);
{body}}}
"
    )
}

/// Checks a kernel for a target with pipelines, then applies every fix and checks again. No error is left if there was a fix.
fn check_pipelines(text: &str, expected: Expect) {
    let target = Target::usual();
    let mut text = text.to_owned();
    let (db, file) = TestDb::with_file(&text);
    expected.assert_eq(&drawn(&text, check_file(&db, file, target)));
    for _ in 0..3 {
        let (db, file) = TestDb::with_file(&text);
        let found = check_file(&db, file, target);
        let mut edits: Vec<_> =
            found.iter().flat_map(|found| &found.fixes).flat_map(|fix| &fix.edits).collect();
        if edits.is_empty() {
            return;
        }
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.range.start()));
        edits.dedup();
        for edit in edits {
            text.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text);
        }
        let (db, file) = TestDb::with_file(&text);
        let left = check_file(&db, file, target);
        assert!(!left.iter().any(|found| found.is_error()), "{text}\n{left:#?}");
    }
}

const AHEAD: &str = "    for i in 0..min(n, S - 1) {
        let s = pipe.acquire();
        copy_async(gx[.., i], stages[.., s], signal: pipe);
    }
";

/// Returns the loop of the ring without the line `left_out`.
fn rounds(left_out: &str) -> String {
    let lines = "    for i in 0..n {
        if i + S - 1 < n {
            let s = pipe.acquire();
            copy_async(gx[.., i + S - 1], stages[.., s], signal: pipe);
        }
        let s = pipe.wait();
        copy(load(stages[.., s]), gy[.., i]);
        pipe.release();
    }
";
    AHEAD.to_owned() + &lines.replace(left_out, "")
}

#[test]
fn a_ring_is_right() {
    check_pipelines(&ring(&rounds("nothing")), expect![""]);
}

#[test]
fn a_stage_that_is_never_given_back_keeps_the_writer_waiting() {
    check_pipelines(
        &ring(&rounds("        pipe.release();\n")),
        expect![[r#"
        HX0404 `pipe.acquire()` the block waits for ever: no stage of `pipe` is given back
          `pipe.wait()`: the block waited for it here, and still holds it
          note: this is so with `min(2, (m + 255) / 256)` = 2, `(m + 255) / 256` = 4
          fix: insert `pipe.release()`
    "#]],
    );
}

#[test]
fn more_stages_are_acquired_than_the_ring_has() {
    check_pipelines(
        &ring(&rounds("nothing").replace("min(n, S - 1)", "min(n, S + 1)")),
        expect![[r#"
            HX0404 `pipe.acquire()` the block waits for ever: no stage of `pipe` is given back
              note: all its 3 stages are acquired
              note: this is so with `min(4, (m + 255) / 256)` = 3, `(m + 255) / 256` = 3
              help: give a stage back before the next one is acquired: `pipe.release()` behind its last use
        "#]],
    );
}

#[test]
fn a_stage_is_used_after_it_was_given_back() {
    let early = rounds("        pipe.release();\n")
        .replace("        copy(load", "        pipe.release();\n        copy(load");
    check_pipelines(
        &ring(&early),
        expect![[r#"
        HX0401 `load(stages[.., s])` a stage of `pipe` is read after it was given back
          `pipe.release()`: it was given back here
          `copy_async(gx[.., i + S - 1], stages[.., s], signal: pipe)`: and can be filled again here
          note: this is so with `min(2, (m + 255) / 256)` = 2, `(m + 255) / 256` = 4
          fix: move `pipe.release()` behind the use
    "#]],
    );
}

#[test]
fn a_stage_is_read_before_its_wait() {
    let early = rounds("nothing").replace(
        "        let s = pipe.wait();\n        copy(load(stages[.., s]), gy[.., i]);\n",
        "        copy(load(stages[.., i % S]), gy[.., i]);\n        pipe.wait();\n",
    );
    check_pipelines(
        &ring(&early),
        expect![[r#"
            HX0401 `load(stages[.., i % S])` a stage of `pipe` is read before a wait for its copies
              `copy_async(gx[.., i], stages[.., s], signal: pipe)`: `stages` is filled here
              note: this is so with `min(2, (m + 255) / 256)` = 1, `(m + 255) / 256` = 1
              help: `pipe.wait()` returns the stage whose copies have arrived
        "#]],
    );
}

#[test]
fn a_wait_has_no_copy() {
    check_pipelines(
        &ring(&rounds("nothing").replace("0..n {", "0..n + 1 {")),
        expect![[r#"
            HX0404 `pipe.wait()` the block waits for ever: its stage of `pipe` is never filled
              `pipe.acquire()`: stages of `pipe` are acquired here
              note: it waits for stage number 1, and none is acquired
              note: this is so with `min(2, (m + 255) / 256)` = 0, `((m + 255) / 256) + 1` = 1
              help: the loops that wait for `pipe` need as many rounds as those that acquire it
        "#]],
    );
}

#[test]
fn stages_are_skipped_that_nobody_takes() {
    check_pipelines(
        &ring(
            &rounds("nothing")
                .replace("        pipe.release();\n", "        pipe.release();\n        pipe.skip(1);\n"),
        ),
        expect![[r#"
            HX0404 `pipe.wait()` the block waits for ever: its stage of `pipe` is never filled
              `pipe.acquire()`: stages of `pipe` are acquired here
              note: it waits for stage number 3, and 2 are acquired
              note: this is so with `min(2, (m + 255) / 256)` = 2, `(m + 255) / 256` = 2
              help: the stages that a group waits for and those that it skips are all that are acquired
        "#]],
    );
}

#[test]
fn two_pipelines_wait_for_each_other() {
    let body = "    let other = pipeline(1);
    let t = shared_tensor(f32, [T, 1]);
    for i in 0..n {
        pipe.wait();
        let s = other.acquire();
        copy_async(gx[.., i], t[.., s], signal: other);
        other.wait();
        let s = pipe.acquire();
        copy_async(gx[.., i], stages[.., s], signal: pipe);
        copy(load(stages[.., s]), gy[.., i]);
        pipe.release();
        other.release();
    }
";
    check_pipelines(
        &ring(body),
        expect![[r#"
            HX0404 `pipe.wait()` the block waits for ever: its stage of `pipe` is never filled
              `pipe.acquire()`: the stage of `pipe` is acquired here, too late
              note: this is so with `(m + 255) / 256` = 1
        "#]],
    );
}

/// Returns a kernel whose producer copies tiles for two groups that multiply them.
fn product(consumer: &str) -> String {
    format!(
        "kernel product<B = 64, S = 3>(a: f16[m, k], b: f16[n, k], c: mut f32[m, n])
    grid [cdiv(m, B), cdiv(n, B)]
{{
    let [bm, bn] = block_idx;
    let (sa, sb) = (shared_tensor(f16, [B, B, S]), shared_tensor(f16, [B, B, S]));
    let pipe = pipeline(S);
    warp_groups {{
        producer {{
            for ki in 0..cdiv(k, B) {{
                let s = pipe.acquire();
                copy_async(tile(a, [B, B])[.., .., bm, ki], sa[.., .., s], signal: pipe);
                copy_async(tile(b, [B, B])[.., .., bn, ki], sb[.., .., s], signal: pipe);
            }}
        }}
        consumer 2 {{
            let acc = register_tensor(f32, [B, B]);
            fill(acc, 0.0);
            for _ in 0..cdiv(k, B) {{
                let s = pipe.wait();
                gemm_async(acc, sa[.., .., s], sb[.., .., s]);
{consumer}            }}
            gemm_wait(0);
            pipe.release();
            copy(acc, tile(c, [B, B])[.., .., bm, bn]);
        }}
    }}
}}
"
    )
}

#[test]
fn roles_pass_stages_on() {
    check_pipelines(
        &product("                gemm_wait(1);\n                pipe.release_previous();\n"),
        expect![""],
    );
}

#[test]
fn a_stage_is_given_back_while_a_product_reads_it() {
    check_pipelines(
        &product("                gemm_wait(1);\n                pipe.release();\n"),
        expect![[r#"
            HX0406 `pipe.release()` a stage is given back while a product still reads `sa` in it
              `gemm_async(acc, sa[.., .., s], sb[.., .., s])`: the product begins here
              note: this is so with `(k + 63) / 64` = 1
              fix: `gemm_wait(0)`
        "#]],
    );
}

#[test]
fn two_groups_hold_a_stage() {
    check_pipelines(
        &product("                gemm_wait(1);\n"),
        expect![[r#"
        HX0404 `pipe.acquire()` `producer` waits for ever: no stage of `pipe` is given back
          `pipe.wait()`: group 0 of `consumer` and group 1 of `consumer` waited for it here, and still hold it
          `pipe.wait()`: group 0 of `consumer` waits here meanwhile
          note: this is so with `(k + 63) / 64` = 4
          fix: insert `pipe.release_previous()`
    "#]],
    );
}

#[test]
fn a_block_ends_before_its_copies_arrive() {
    let ahead = rounds("nothing").replace("min(n, S - 1)", "S - 1");
    check_pipelines(
        &ring(&ahead),
        expect![[r#"
            HX0409 `copy_async(gx[.., i], stages[.., s], signal: pipe)` the block can end before this copy into a stage of `pipe` arrives
              `pipe.wait()`: the stages of `pipe` are waited for here
              note: 2 stages of `pipe` are acquired, and the block waits for none
              note: the memory belongs to another block then
              note: this is so with `(m + 255) / 256` = 0
              help: the loops that wait for `pipe` need as many rounds as those that acquire it
        "#]],
    );
    let reader = "        consumer 2 {";
    let late = product("                gemm_wait(1);\n                pipe.release_previous();\n")
        .replace("for _ in 0..cdiv(k, B) {", "for _ in 1..cdiv(k, B) {");
    assert!(late.contains(reader));
    check_pipelines(
        &late,
        expect![[r#"
            HX0409 `copy_async(tile(a, [B, B])[.., .., bm, ki], sa[.., .., s], signal: pipe)` the block can end before this copy into a stage of `pipe` arrives
              `pipe.wait()`: the stages of `pipe` are waited for here
              note: 1 stage of `pipe` is acquired, and each of its readers waits for none
              note: the memory belongs to another block then
              note: this is so with `(k + 63) / 64` = 1, `((k + 63) / 64) - 1` = 0
              help: the loops that wait for `pipe` need as many rounds as those that acquire it
        "#]],
    );
}

#[test]
fn a_producer_fills_a_stage_twice() {
    let text = product("                gemm_wait(0);\n                pipe.release();\n");
    let copy = "                copy_async(tile(a, [B, B])[.., .., bm, ki], sa[.., .., s], signal: pipe);\n";
    let again = copy.replace("bm, ki", "bm, ki + 1");
    check_pipelines(
        &text.replace(copy, &format!("{copy}{again}")),
        expect![[r#"
            HX0401 `copy_async(tile(a, [B, B])[.., .., bm, ki + 1], sa[.., .., s], signal: pipe)` a stage of `pipe` is filled before its readers gave it back
              `copy_async(tile(a, [B, B])[.., .., bm, ki], sa[.., .., s], signal: pipe)`: `sa` is written here
              note: this is so with `(k + 63) / 64` = 1
              help: copy to the stage that `pipe.acquire()` returned
        "#]],
    );
}

/// A ring of 2 stages goes round in few rounds. The slots for the stores come again after 7.
#[test]
fn slots_come_again_after_more_rounds_than_a_ring_has() {
    let kernel = |wait: &str, slot: &str| {
        format!(
            "kernel slots<N = 7>(x: f32[m, 64], y: mut f32[m, 64]) grid [1] {{
    let s = shared_tensor(f32, [16, 64, 2]);
    let out = shared_tensor(f32, [16, 64, N]);
    let pipe = pipeline(2);
    warp_groups {{
        producer {{
            for i in 0..cdiv(m, 16) {{
                let p = pipe.acquire();
                copy_async(tile(x, [16, 64])[.., .., i, 0], s[.., .., p], signal: pipe);
            }}
        }}
        consumer {{
            for i in 0..cdiv(m, 16) {{
                let slot = {slot};
                let q = pipe.wait();
                let v = load(s[.., .., q]);
                pipe.release();
                {wait}
                copy(v + 1.0, out[.., .., slot]);
                sync();
                copy_async(out[.., .., slot], tile(y, [16, 64])[.., .., i, 0]);
            }}
            wait_stores(0);
        }}
    }}
}}
"
        )
    };
    let found = |wait: &str, slot: &str| {
        let text = kernel(wait, slot);
        let (db, file) = TestDb::with_file(&text);
        let found = check_file(&db, file, Target::usual());
        found.iter().map(|found| format!("{} {}\n", found.code.id, found.message)).collect::<String>()
    };
    expect![""].assert_eq(&found("wait_stores(N - 1, read: true); sync();", "i % N"));
    let wrong = [
        ("", "i % N"),
        ("wait_stores(N, read: true); sync();", "i % N"),
        ("", "min(i % (N + 1), N - 1)"),
        ("", "i - i / N * N"),
        ("", "(i / 3) % N"),
        // The first use is in a later round.
        ("", "if i >= N - 2 { i % N } else { 0 }"),
    ];
    let wrong = wrong.map(|(wait, slot)| format!("{wait} {slot}: {}", found(wait, slot)));
    expect![[r#"
         i % N: HX0401 `out` is written while a store still reads it
        wait_stores(N, read: true); sync(); i % N: HX0401 `out` is written while a store still reads it
         min(i % (N + 1), N - 1): HX0401 `out` is written while a store still reads it
         i - i / N * N: HX0401 `out` is written while a store still reads it
         (i / 3) % N: HX0401 `out` is written while a store still reads it
         if i >= N - 2 { i % N } else { 0 }: HX0401 `out` is written while a store still reads it
    "#]]
    .assert_eq(&wrong.concat());
    // The search finds no launch in which a loop is as long as this ring of slots.
    let changes = [
        ("N = 7", "N = 1500"),
        ("f32", "u8"),
        ("cdiv(m, 16)", "cdiv(m, 8)"),
        ("[16, 64", "[8, 16"),
        ("m, 64", "m, 16"),
    ];
    let far = changes.iter().fold(kernel("", "i % N"), |text, (from, to)| text.replace(from, to));
    let (db, file) = TestDb::with_file(&far.replace("v + 1.0", "v + 1"));
    let codes: Vec<&str> = check_file(&db, file, Target::usual()).iter().map(|found| found.code.id).collect();
    assert_eq!(codes, ["HX0419"]);
}
