//! Accesses to global memory that bulk stores are still writing: found on every path, with both places, and every fix is applied.

use expect_test::{Expect, expect};
use hx_hir::file_items;
use hx_target::Target;

use super::{check_fixes, drawn};
use crate::{check_file, cuda_source, default_instance, test_db::TestDb};

/// Returns a kernel with a tile in shared memory that its threads have written, and with these statements.
fn kernel(body: &str) -> String {
    format!(
        "kernel k(x: f32[m], y: mut f32[m], z: mut f32[m], n: i32[4], d: mut i32[1])
    where m % 4 == 0
    grid [cdiv(m, 256)]
    threads 64
{{
    let i = block_idx;
    let s = shared_tensor(f32, [256]);
    copy(tile(x, [256])[.., i], s);
    sync();
{body}}}
"
    )
}

/// Compares the findings about the kernel with this body, then applies all fixes and expects no finding.
fn check(body: &str, expected: Expect) {
    check_fixes(&kernel(body), expected);
}

/// Checks that the kernel with this body has no finding.
fn right(body: &str) {
    check(body, expect![""]);
}

/// A target without bulk stores has none in flight, so it needs no instruction that waits for them.
#[test]
fn waits_on_a_target_without_bulk_stores() {
    let text = kernel(
        "    copy(s, tile(y, [256])[.., i]);\n    wait_stores(0);\n    wait_stores(0, read: false);\n",
    );
    let waits = |target: &str| {
        let (db, file) = TestDb::with_file(&text);
        let kernel = file_items(&db, file).kernels().next().expect("the text has a kernel");
        let instance =
            default_instance(&db, kernel, Target::builtin(target)).expect("every parameter has a default");
        cuda_source(&db, instance).as_ref().expect("the kernel is right").text.matches("wait_group").count()
    };
    assert_eq!(["sm_80", "sm_89", "sm_90", "sm_120a"].map(waits), [0, 0, 2, 2]);
}

#[test]
fn a_wait_for_reads_completes_nothing() {
    check(
        "    copy_async(s, tile(y, [256])[.., i]);
    wait_stores(0);
    sync();
    copy(load(tile(y, [256])[.., i]), tile(z, [256])[.., i]);
",
        expect![[r#"
            HX0422 `load(tile(y, [256])[.., i])` `y` is read while a store to it is in flight
              `copy_async(s, tile(y, [256])[.., i])`: the store begins here
              fix: wait for the writes, too: `wait_stores(0, read: false)`
        "#]],
    );
    check(
        "    copy_async(s, tile(y, [256])[.., i]);
    copy(load(tile(y, [256])[.., i]), tile(z, [256])[.., i]);
",
        expect![[r#"
            HX0422 `load(tile(y, [256])[.., i])` `y` is read while a store to it is in flight
              `copy_async(s, tile(y, [256])[.., i])`: the store begins here
              fix: insert `wait_stores(0, read: false)`, `sync()`
        "#]],
    );
    right(
        "    copy_async(s, tile(y, [256])[.., i]);
    wait_stores(0, read: false);
    sync();
    copy(load(tile(y, [256])[.., i]), tile(z, [256])[.., i]);
",
    );
}

#[test]
fn one_thread_knows_of_the_completion_until_a_barrier() {
    check(
        "    copy_async(s, tile(y, [256])[.., i]);
    wait_stores(0, read: false);
    copy(load(tile(y, [256])[.., i]), tile(z, [256])[.., i]);
",
        expect![[r#"
            HX0422 `load(tile(y, [256])[.., i])` `y` is read by threads that do not know whether the store to it is complete
              `copy_async(s, tile(y, [256])[.., i])`: the store begins here
              fix: insert `sync()`
        "#]],
    );
    // The thread that waits is the one that stores.
    right(
        "    copy_async(s, tile(y, [256])[.., i]);
    wait_stores(0, read: false);
    copy_async(s, tile(y, [256])[.., i], add: true);
",
    );
}

#[test]
fn a_wait_that_leaves_the_store_in_flight() {
    check(
        "    copy_async(s, tile(y, [256])[.., i]);
    copy_async(s, tile(z, [256])[.., i]);
    wait_stores(1, read: false);
    sync();
    copy(load(tile(z, [256])[.., i]), tile(y, [256])[.., i]);
",
        expect![[r#"
            HX0422 `load(tile(z, [256])[.., i])` `z` is read while a store to it is in flight
              `copy_async(s, tile(z, [256])[.., i])`: the store begins here
              fix: insert `wait_stores(0, read: false)`, `sync()`
        "#]],
    );
    right(
        "    copy_async(s, tile(y, [256])[.., i]);
    copy_async(s, tile(z, [256])[.., i]);
    wait_stores(1, read: false);
    sync();
    copy(load(tile(x, [256])[.., i]), tile(y, [256])[.., i]);
",
    );
}

#[test]
fn stores_meet_no_stores_and_sums_meet_sums() {
    check(
        "    copy_async(s, tile(y, [256])[.., i], add: true);
    copy_async(s, y[i * 256 + 64..i * 256 + 320]);
",
        expect![[r#"
            HX0422 `copy_async(s, y[i * 256 + 64..i * 256 + 320])` `y` is written while a store to it is in flight
              `copy_async(s, tile(y, [256])[.., i], add: true)`: the store begins here
              fix: insert `wait_stores(0, read: false)`
        "#]],
    );
    right(
        "    copy_async(s, tile(y, [256])[.., i], add: true);
    copy_async(s, y[i * 256 + 64..i * 256 + 320], add: true);
",
    );
    right(
        "    copy_async(s, tile(y, [256])[.., 2 * i]);
    copy_async(s, tile(y, [256])[.., 2 * i + 1]);
",
    );
}

#[test]
fn another_part_is_told_of_only_if_it_certainly_meets_the_store() {
    // Block 0 meets its own store.
    check(
        "    copy_async(s, tile(y, [256])[.., i]);
    let one = register_tensor(i32, [1]);
    fill(one, 1);
    if scalar(atomic_add(d, one, order: \"acq_rel\")) == grid_dim - 1 {
        copy(sum(load(tile(y, [1024])[.., 0]), axis: 0), z[0..1]);
    }
",
        expect![[r#"
            HX0422 `load(tile(y, [1024])[.., 0])` `y` is read while a store to it is in flight
              `copy_async(s, tile(y, [256])[.., i])`: the store begins here
              fix: insert `wait_stores(0, read: false)`, `sync()`
        "#]],
    );
    right(
        "    copy_async(s, tile(y, [256])[.., i]);
    copy(load(tile(y, [256])[.., n[0]]), tile(z, [256])[.., i]);
",
    );
}

#[test]
fn loops_leave_stores_in_flight() {
    check(
        "    for _ in 0..cdiv(m, 1024) {
        copy_async(s, tile(y, [256])[.., i]);
        wait_stores(0);
    }
",
        expect![[r#"
            HX0422 `copy_async(s, tile(y, [256])[.., i])` `y` is written while a store to it is in flight
              `copy_async(s, tile(y, [256])[.., i])`: the store begins here
              fix: wait for the writes, too: `wait_stores(0, read: false)`
        "#]],
    );
    check(
        "    for j in 0..cdiv(m, 1024) {
        copy_async(s, tile(y, [256])[.., j]);
        wait_stores(0);
        sync();
        if j > 0 {
            copy(load(tile(y, [256])[.., j - 1]), tile(z, [256])[.., j]);
        }
    }
",
        expect![[r#"
            HX0422 `load(tile(y, [256])[.., j - 1])` `y` is read while a store to it is in flight
              `copy_async(s, tile(y, [256])[.., j])`: the store begins here
              fix: wait for the writes, too: `wait_stores(0, read: false)`
        "#]],
    );
    right(
        "    for j in 0..cdiv(m, 1024) {
        copy_async(s, tile(y, [256])[.., j]);
        wait_stores(0);
    }
    wait_stores(0, read: false);
    sync();
    copy(load(tile(y, [256])[.., 0]), tile(z, [256])[.., i]);
",
    );
}

#[test]
fn a_path_needs_conditions_that_hold_together() {
    right(
        "    let f = n[0];
    if f > 0 {
        copy_async(s, tile(y, [256])[.., i]);
    }
    if f > 0 {
        wait_stores(0, read: false);
        sync();
    }
    copy(load(tile(y, [256])[.., i]), tile(z, [256])[.., i]);
",
    );
    right(
        "    let f = n[0];
    if f > 0 {
        copy_async(s, tile(y, [256])[.., i]);
    } else {
        copy(load(tile(y, [256])[.., i]), tile(z, [256])[.., i]);
    }
",
    );
    right(
        "    let f = n[0];
    if f > 3 {
        copy_async(s, tile(y, [256])[.., i]);
    }
    if f < 3 {
        copy(load(tile(y, [256])[.., i]), tile(z, [256])[.., i]);
    }
",
    );
    check(
        "    let f = n[0];
    if f > 3 {
        copy_async(s, tile(y, [256])[.., i]);
    }
    copy(load(tile(y, [256])[.., i]), tile(z, [256])[.., i]);
",
        expect![[r#"
            HX0422 `load(tile(y, [256])[.., i])` `y` is read while a store to it is in flight
              `copy_async(s, tile(y, [256])[.., i])`: the store begins here
              fix: insert `wait_stores(0, read: false)`, `sync()`
        "#]],
    );
    check(
        "    copy_async(s, tile(y, [256])[.., i]);
    let f = n[0];
    if f > 3 {
        wait_stores(0, read: false);
        sync();
    }
    copy(load(tile(y, [256])[.., i]), tile(z, [256])[.., i]);
",
        expect![[r#"
            HX0422 `load(tile(y, [256])[.., i])` `y` is read while a store to it is in flight
              `copy_async(s, tile(y, [256])[.., i])`: the store begins here
              fix: insert `wait_stores(0, read: false)`, `sync()`
        "#]],
    );
}

/// The wait for the store is in the role that stores, and its fix as well.
#[test]
fn the_stores_of_a_role_are_waited_for_in_the_role() {
    let text = |wait: &str| {
        format!(
            "kernel k(x: f32[m], y: mut f32[m], z: mut f32[m]) where m % 4 == 0 grid [1] {{
    let (a, b) = (shared_tensor(f32, [256, 2]), shared_tensor(f32, [256]));
    let pipe = pipeline(2);
    warp_groups {{
        producer {{
            for i in 0..cdiv(m, 256) {{
                let p = pipe.acquire();
                copy_async(tile(x, [256])[.., i], a[.., p], signal: pipe);
            }}
        }}
        consumer {{
            for i in 0..cdiv(m, 256) {{
                let p = pipe.wait();
                let t = load(a[.., p]);
                pipe.release();
                copy(t, b);
                sync();
                copy_async(b, tile(y, [256])[.., i]);
                {wait};
                sync();
                copy(load(tile(y, [256])[.., i]) * 2.0, tile(z, [256])[.., i]);
            }}
        }}
    }}
}}
"
        )
    };
    let check = |wait: &str, expected: Expect| {
        let text = text(wait);
        let (db, file) = TestDb::with_file(&text);
        expected.assert_eq(&drawn(&text, check_file(&db, file, Target::usual())));
    };
    check(
        "wait_stores(0)",
        expect![[r#"
        HX0422 `load(tile(y, [256])[.., i])` `y` is read while a store to it is in flight
          `copy_async(b, tile(y, [256])[.., i])`: the store begins here
          fix: wait for the writes, too: `wait_stores(0, read: false)`
    "#]],
    );
    check("wait_stores(0, read: false)", expect![[""]]);
}

/// Returns a kernel whose first role stores a tile, and whose second role reads it, with these statements behind the store and before the
/// read.
fn roles(behind: &str, before: &str) -> String {
    format!(
        "kernel k(x: f32[m], y: mut f32[m], z: mut f32[m])
    where m % 4 == 0
    grid [cdiv(m, 256)]
{{
    let s = shared_tensor(f32, [256]);
    let stored = barrier();
    warp_groups {{
        producer {{
            copy(tile(x, [256])[.., block_idx], s);
            sync();
            copy_async(s, tile(y, [256])[.., block_idx]);
            {behind}
        }}
        consumer {{
            {before}
            copy(load(tile(y, [256])[.., block_idx]), tile(z, [256])[.., block_idx]);
        }}
    }}
}}
"
    )
}

#[test]
fn another_role_hears_of_a_store_at_a_barrier_behind_the_wait_for_its_writes() {
    check_fixes(&roles("wait_stores(0, read: false);\nstored.sync();", "stored.sync();"), expect![[""]]);
    check_fixes(&roles("wait_stores(0, read: false);\nstored.arrive();", "stored.sync();"), expect![[""]]);
    check_fixes(
        &roles("wait_stores(0);\nstored.sync();", "stored.sync();"),
        expect![[r#"
        HX0422 `load(tile(y, [256])[.., block_idx])` `y` is read while a store to it is in flight
          `copy_async(s, tile(y, [256])[.., block_idx])`: another role begins the store here
          fix: wait for the writes, too: `wait_stores(0, read: false)`
    "#]],
    );
    check_fixes(
        &roles("stored.sync();", "stored.sync();"),
        expect![[r#"
        HX0422 `load(tile(y, [256])[.., block_idx])` `y` is read while a store to it is in flight
          `copy_async(s, tile(y, [256])[.., block_idx])`: another role begins the store here
          fix: insert `wait_stores(0, read: false)`
    "#]],
    );
}

#[test]
fn a_barrier_that_does_not_lie_between_a_store_and_another_role_tells_nothing() {
    let found = |text: &str, expected: Expect| {
        let (db, file) = TestDb::with_file(text);
        expected.assert_eq(&drawn(text, check_file(&db, file, Target::usual())));
    };
    found(
        &roles("wait_stores(0, read: false);\nsync();", "sync();")
            .replace("    let stored = barrier();\n", ""),
        expect![[r#"
        HX0422 `load(tile(y, [256])[.., block_idx])` `y` is read by threads that do not know whether the store to it is complete
          `copy_async(s, tile(y, [256])[.., block_idx])`: another role begins the store here
          help: both roles come to a barrier between the two, in every round: the one that stores behind its `wait_stores`, and again before its next store; `sync()` is a barrier of one role only
    "#]],
    );
    found(
        &roles("stored.sync();\nwait_stores(0, read: false);\nsync();", "stored.sync();"),
        expect![[r#"
        HX0422 `load(tile(y, [256])[.., block_idx])` `y` is read by threads that do not know whether the store to it is complete
          `copy_async(s, tile(y, [256])[.., block_idx])`: another role begins the store here
          fix: insert `wait_stores(0, read: false)`
    "#]],
    );
}
