//! Races on shared memory, copies without a wait, and barriers that order nothing. Every fix is applied.

use expect_test::{Expect, expect};

use super::{check, target};
use crate::{check_file, test_db::TestDb};

/// Returns a kernel of 64 threads with this body, a register tensor `r`, a shared tensor `s` and the block's index.
fn with_body(body: &str) -> String {
    format!(
        "kernel k(x: f32[m], y: mut f32[m]) grid [cdiv(m, 256)] threads 64 {{
    let i = block_idx;
    let r = register_tensor(f32, [256]);
    let s = shared_tensor(f32, [256]);
    let gx = global_view(x[i * 256..], (256) : (1));
    let gy = global_view(y[i * 256..], (256) : (1));
{body}}}
"
    )
}

/// Checks a body, then applies every fix and checks again until there is nothing to fix. No error may be left.
pub(super) fn check_sync(body: &str, expected: Expect) {
    let mut text = with_body(body);
    check(&text, expected);
    for _ in 0..3 {
        let (db, file) = TestDb::with_file(&text);
        let found = check_file(&db, file, target());
        let mut edits: Vec<_> =
            found.iter().flat_map(|found| &found.fixes).flat_map(|fix| &fix.edits).collect();
        if edits.is_empty() {
            assert!(!found.iter().any(|found| found.is_error()), "{text}\n{found:#?}");
            return;
        }
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.range.start()));
        edits.dedup();
        for edit in edits {
            text.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text);
        }
    }
    panic!("there is always something to fix\n{text}");
}

/// As [`check_sync`], with a tensor `t` whose order differs from that of `r`, so that threads read what other threads wrote.
pub(super) fn check_turned(body: &str, expected: Expect) {
    let t = "    let t = register_tensor(f32, [256], layout: (64, 4) : (1, 64));\n";
    check_sync(&format!("{t}{body}"), expected);
}

#[test]
fn a_missing_barrier_is_an_error_with_a_fix() {
    check_turned(
        "    copy(gx, r);
    copy(r, s);
    copy(s, t);
    copy(t, gy);
",
        expect![[r#"
            HX0401 `copy(s, t)` threads race on `s`: nothing orders the accesses
              `copy(s, t)`: thread 1 reads `s` here
              `copy(r, s)`: thread 0 writes `s` here
              note: both touch `s[1]`
              fix: insert `sync()`
        "#]],
    );
}

/// Each warp reads what it wrote itself, in another order: a barrier of each warp is enough.
#[test]
fn lanes_of_one_warp_need_a_barrier_of_the_warp_only() {
    let t = "    let t = register_tensor(f32, [256], layout: ((32, 2), 4) : ((1, 128), 32));\n";
    let r = "    let own = register_tensor(f32, [256], layout: ((32, 2), 4) : ((4, 128), 1));\n";
    check_sync(
        &format!(
            "{t}{r}    copy(gx, own);\n    copy(own, s);\n    copy(s, t);\n    copy(t, gy);\n    copy(gx, r);\n    copy(r, gy);\n"
        ),
        expect![[r#"
            HX0401 `copy(s, t)` threads race on `s`: nothing orders the accesses
              `copy(s, t)`: thread 1 reads `s` here
              `copy(own, s)`: thread 0 writes `s` here
              note: both touch `s[1]`
              fix: insert `sync_warp()`
        "#]],
    );
}

#[test]
fn a_barrier_is_missing_from_one_round_to_the_next() {
    check_turned(
        "    for _ in 0..m / 64 {
        copy(gx, r);
        copy(r, s);
        sync();
        copy(s, t);
        copy(t, gy);
    }
",
        expect![[r#"
            HX0401 `copy(r, s)` threads race on `s`: nothing orders the accesses
              `copy(r, s)`: thread 0 writes `s` here
              `copy(s, t)`: thread 1 reads `s` here
              note: both touch `s[1]`
              fix: insert `sync()`
        "#]],
    );
}

#[test]
fn a_barrier_that_orders_nothing_is_a_warning_with_a_fix() {
    check_turned(
        "    copy(gx, r);
    copy(r, s);
    sync();
    sync(); // twice
    copy(s, t);
    copy(t, gy);
",
        expect![[r#"
            HX0402 `sync()` this barrier orders nothing
              note: no write to a shared tensor and other use of it have only this barrier between them
              fix: remove it
        "#]],
    );
    check_sync(
        "    copy(gx, r);\n    copy(r, gy);\n    sync();\n",
        expect![[r#"
            HX0106 `s` nothing uses `s`
              fix: rename it to `_s`
            HX0402 `sync()` this barrier orders nothing
              note: no write to a shared tensor and other use of it have only this barrier between them
              fix: remove it
        "#]],
    );
}

#[test]
fn what_every_thread_reads_back_itself_needs_no_barrier() {
    check_sync("    copy(gx, r);\n    copy(r, s);\n    copy(s, r);\n    copy(r, gy);\n", expect![[""]]);
}

#[test]
fn a_copy_that_nothing_waited_for_is_waited_for() {
    check_turned(
        "    copy_async(gx, s);
    commit();
    sync();
    copy(s, t);
    copy(t, gy);
",
        expect![[r#"
            HX0106 `r` nothing uses `r`
              fix: rename it to `_r`
            HX0403 `copy(s, t)` `s` is read before anything waited for the copy into it
              `copy(s, t)`: thread 0 reads `s` here
              `copy_async(gx, s)`: thread 0 writes `s` here
              note: both touch `s[0]`
              fix: insert `wait(0)`
        "#]],
    );
    // The group is still open.
    check_sync(
        "    copy_async(gx, s);
    wait(0);
    sync();
    copy(s, r);
    copy(r, gy);
",
        expect![[r#"
            HX0403 `copy(s, r)` `s` is read before anything waited for the copy into it
              `copy(s, r)`: thread 0 reads `s` here
              `copy_async(gx, s)`: thread 0 writes `s` here
              note: both touch `s[0]`
              fix: `commit()` after the copies: it closes their group
        "#]],
    );
    // The wait leaves one group too many in flight.
    check_sync(
        "    let s2 = shared_tensor(f32, [256]);
    copy_async(gx, s2);
    commit();
    copy_async(gx, s);
    commit();
    wait(1);
    sync();
    copy(s, r);
    copy(s2, r);
    copy(r, gy);
",
        expect![[r#"
            HX0403 `copy(s, r)` `s` is read before anything waited for the copy into it
              `copy(s, r)`: thread 0 reads `s` here
              `copy_async(gx, s)`: thread 0 writes `s` here
              note: both touch `s[0]`
              fix: wait until at most 0 groups are in flight
        "#]],
    );
}

/// The kernel has no register tensor, so the solver has no layout to search for.
#[test]
fn a_copy_that_nothing_waits_for_is_a_warning() {
    let text = "kernel k(x: f32[256]) grid [1] threads 64 {
    let s = shared_tensor(f32, [256]);
    copy_async(x, s);
    commit();
}
";
    check(
        text,
        expect![[r#"
        HX0409 `copy_async(x, s)` nothing waits for this copy into `s`
          note: nothing reads `s`
          fix: remove it
    "#]],
    );
}

/// A wait may leave more groups in flight than exist. The search for its remedy starts from the number that exist.
#[test]
fn a_wait_that_leaves_more_groups_than_exist_waits_for_none() {
    check_sync(
        "    copy_async(gx, s);
    commit();
    wait(64);
    sync();
    copy(s, r);
    copy(r, gy);
",
        expect![[r#"
            HX0403 `copy(s, r)` `s` is read before anything waited for the copy into it
              `copy(s, r)`: thread 0 reads `s` here
              `copy_async(gx, s)`: thread 0 writes `s` here
              note: both touch `s[0]`
              fix: wait until at most 0 groups are in flight
        "#]],
    );
}

#[test]
fn a_buffer_is_not_filled_again_while_it_is_read_or_in_flight() {
    check_turned(
        "    copy_async(gx, s);
    commit();
    copy_async(gx, s);
    commit();
    wait(0);
    sync();
    copy(s, t);
    copy(t, gy);
",
        expect![[r#"
            HX0106 `r` nothing uses `r`
              fix: rename it to `_r`
            HX0403 `copy_async(gx, s)` `s` is written before anything waited for the copy into it
              `copy_async(gx, s)`: thread 0 writes `s` here
              `copy_async(gx, s)`: thread 0 writes `s` here
              note: both touch `s[0]`
              fix: insert `wait(0)`
        "#]],
    );
    check_turned(
        "    for _ in 0..m / 256 {
        copy_async(gx, s);
        commit();
        wait(0);
        sync();
        copy(s, t);
        copy(t, gy);
    }
",
        expect![[r#"
            HX0106 `r` nothing uses `r`
              fix: rename it to `_r`
            HX0401 `copy_async(gx, s)` threads race on `s`: nothing orders the accesses
              `copy_async(gx, s)`: thread 0 writes `s` here
              `copy(s, t)`: thread 1 reads `s` here
              note: both touch `s[1]`
              fix: insert `sync()`
        "#]],
    );
}

/// The ring has more stages than a loop of unknown length is followed for. Its filling is followed to the end, and so is a
/// loop of known length.
#[test]
fn a_deep_ring_is_followed_for_as_long_as_copies_are_in_flight() {
    let ring = |most: u32| {
        format!(
            "    let ring = shared_tensor(f32, [256, 8]);
    let gz = tile(x, [256]);
    let gw = tile(y, [256]);
    for k in 0..7 {{
        copy_async(gz[.., k], ring[.., k]);
        commit();
    }}
    for k in 0..12 {{
        wait({most});
        sync();
        if k + 7 < 12 {{
            copy_async(gz[.., k + 7], ring[.., (k + 7) % 8]);
        }}
        commit();
        copy(ring[.., k % 8], t);
        copy(t, gw[.., k]);
    }}
    copy(gx, r);
    copy(r, gy);
"
        )
    };
    check_turned(
        &ring(6),
        expect![[r#"
        HX0106 `s` nothing uses `s`
          fix: rename it to `_s`
    "#]],
    );
    check_turned(
        &ring(7),
        expect![[r#"
        HX0106 `s` nothing uses `s`
          fix: rename it to `_s`
        HX0403 `copy(ring[.., k % 8], t)` `ring` is read before anything waited for the copy into it
          `copy(ring[.., k % 8], t)`: thread 0 reads `ring` here
          `copy_async(gz[.., k], ring[.., k])`: thread 0 writes `ring` here
          note: both touch `ring[0, 0]`
          note: another pair of accesses to `ring` will be ordered by the same
          fix: wait until at most 6 groups are in flight
    "#]],
    );
}

/// Data that a warp writes and reads itself need no barrier of the block; data for another warp do.
#[test]
fn a_barrier_of_warps_orders_what_one_warp_does() {
    let own = "    let t = register_tensor(f32, [256], layout: ((32, 2), 4) : ((1, 128), 32));\n";
    let body = "    copy(gx, r);
    copy(r, s);
    sync_warp();
    copy(s, t);
    copy(t, gy);
";
    check_sync(&format!("{own}{body}"), expect![[""]]);
    check_turned(
        body,
        expect![[r#"
        HX0401 `copy(s, t)` threads race on `s`: nothing orders the accesses
          `copy(s, t)`: thread 32 reads `s` here
          `copy(r, s)`: thread 8 writes `s` here
          note: both touch `s[32]`
          fix: insert `sync()`
    "#]],
    );
}

/// Each warp fills a ring for itself: the warp that reads the data also issues the asynchronous copy.
#[test]
fn warps_copy_what_they_read_where_they_wait_alone() {
    check_turned(
        "    let ring = shared_tensor(f32, [256, 2]);
    let gz = tile(x, [256]);
    copy_async(gz[.., 0], ring[.., 0]);
    commit();
    for k in 0..m / 256 {
        wait(0);
        sync_warp();
        if k + 1 < m / 256 {
            copy_async(gz[.., k + 1], ring[.., (k + 1) % 2]);
        }
        commit();
        copy(ring[.., k % 2], r);
        copy(r, gy);
    }
    copy(gx, t);
    copy(t, gy);
",
        expect![[r#"
            HX0106 `s` nothing uses `s`
              fix: rename it to `_s`
        "#]],
    );
}

/// A buffer takes the place of another because a barrier separates their uses, so that barrier is not superfluous.
#[test]
fn a_barrier_that_parts_two_buffers_in_one_place_is_kept() {
    check_turned(
        "    copy(gx, r);
    copy(r, s);
    sync();
    copy(s, t);
    sync();
    let other = shared_tensor(f32, [256]);
    copy(t, other);
    sync();
    copy(other, r);
    copy(r, gy);
",
        expect![[""]],
    );
}

/// Only a launch decides the condition, so both branches are followed to the end.
#[test]
fn a_barrier_under_a_condition_does_not_order_the_other_way() {
    check_turned(
        "    copy(gx, r);
    copy(r, s);
    if m > 1000 {
        sync();
    }
    copy(s, t);
    copy(t, gy);
",
        expect![[r#"
            HX0401 `copy(s, t)` threads race on `s`: nothing orders the accesses
              `copy(s, t)`: thread 1 reads `s` here
              `copy(r, s)`: thread 0 writes `s` here
              note: both touch `s[1]`
              fix: insert `sync()`
        "#]],
    );
    // A write under the same condition needs no barrier outside of it.
    check_turned(
        "    copy(gx, r);
    if m > 1000 {
        copy(r, s);
        sync();
        copy(s, t);
        copy(t, gy);
    }
",
        expect![[""]],
    );
}

/// The loop does not run if the condition fails, so no finding may concern that path.
#[test]
fn a_condition_that_decides_a_loop_as_well_is_not_taken_apart() {
    check_turned(
        "    if m > 255 {
        copy_async(gx, s);
        commit();
        wait(0);
        sync();
    }
    for _ in 0..m / 256 {
        copy(s, t);
        copy(t, gy);
    }
",
        expect![[r#"
            HX0106 `r` nothing uses `r`
              fix: rename it to `_r`
            HX0403 `copy(s, t)` `s` is read before anything waited for the copy into it
              `copy(s, t)`: thread 0 reads `s` here
              `copy_async(gx, s)`: thread 0 writes `s` here
              note: both touch `s[0]`
              fix: insert `wait(0)`, `sync()`
        "#]],
    );
}

#[test]
fn a_useless_barrier_is_told_wherever_only_a_launch_knows_the_way() {
    check_turned(
        "    copy(gx, r);
    let j = 0;
    while j < m {
        sync();
        copy(r, s);
        sync();
        sync();
        copy(s, t);
        copy(t, gy);
        j = j + 256;
    }
",
        expect![[r#"
            HX0402 `sync()` this barrier orders nothing
              note: no write to a shared tensor and other use of it have only this barrier between them
              fix: remove it
        "#]],
    );
    check_turned(
        "    copy(gx, r);
    if m > 1000 {
        copy(r, s);
        sync();
        sync();
        copy(s, t);
        copy(t, gy);
    }
",
        expect![[r#"
            HX0402 `sync()` this barrier orders nothing
              note: no write to a shared tensor and other use of it have only this barrier between them
              fix: remove it
        "#]],
    );
    // Only a launch knows which stage is read, so the barrier is needed.
    check_turned(
        "    let ring = shared_tensor(f32, [256, 4]);
    copy(gx, r);
    copy(r, ring[.., m % 4]);
    sync();
    copy(ring[.., 0], t);
    copy(t, gy);
",
        expect![[r#"
            HX0106 `s` nothing uses `s`
              fix: rename it to `_s`
        "#]],
    );
}

/// A move of two matrices takes the addresses of sixteen lanes. The addresses that the other lanes compute are no accesses.
#[test]
fn lanes_that_address_nothing_do_not_race() {
    let text = "kernel k(a: f16[16, 16], b: f16[8, 16], c: mut f16[16, 8]) grid [1] threads 32 {
    let acc = register_tensor(f32, [16, 8]);
    fill(acc, 0.0);
    gemm(acc, load(a), load(b));
    let s = shared_tensor(f16, [16, 8]);
    copy(cast(acc, f16), s);
    sync();
    copy(s, c);
}
";
    check(text, expect![[""]]);
}

/// A dimension that is at least 1 and a multiple of 16 gives a loop of `k / 16` rounds at least one.
#[test]
fn a_loop_with_a_round_in_every_launch_orders_what_is_behind_it() {
    let kernel = |header: &str| {
        format!(
            "kernel last(x: f32[32, k], y: mut f32[32, 32]) {header} grid [1] threads 64 {{
    let s = shared_tensor(f32, [32, 32]);
    let sum = register_tensor(f32, [32, 32]);
    fill(sum, 0.0);
    copy(tile(x, [32, 32])[.., .., 0, 0], s);
    for _ in 0..k / 16 {{
        sync();
        sum = sum + load(s);
    }}
    copy(sum + load(s.T), y);
}}
"
        )
    };
    check(&kernel("where k >= 1"), expect![[""]]);
    check(
        &kernel(""),
        expect![[r#"
        HX0401 `load(s.T)` threads race on `s`: nothing orders the accesses
          `load(s.T)`: thread 1 reads `s` here
          `copy(tile(x, [32, 32])[.., .., 0, 0], s)`: thread 32 writes `s` here
          note: both touch `s[4, 0]`
          note: this is so where a loop whose length a launch decides has 0 rounds
          fix: insert `sync()`
    "#]],
    );
}
