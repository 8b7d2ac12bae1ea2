//! Loop counts of pipelines in every form: a ring that is never given back is an error whatever decides its number of rounds, and the
//! same ring with its release is proven.

use expect_test::{Expect, expect};
use hx_base::codes;
use hx_target::Target;

use super::drawn;
use crate::{check_file, test_db::TestDb};

/// The header of a kernel behind its parameters, statements before the roles, and the range of the loops in both roles.
type Ring<'a> = [&'a str; 3];

/// Returns a kernel that copies a vector through a ring of 2 stages.
fn ring([header, before, range]: Ring<'_>, release: &str) -> String {
    format!(
        "kernel ring(x: f32[m], n: i32[e], y: mut f32[m], count: i32) {header} {{
    let s = shared_tensor(f32, [256, 2]);
    let pipe = pipeline(2);
    {before}
    warp_groups {{
        producer {{
            for i in {range} {{
                let k = pipe.acquire();
                copy_async(tile(x, [256])[.., i], s[.., k], signal: pipe);
            }}
        }}
        consumer {{
            for i in {range} {{
                let k = pipe.wait();
                copy(load(s[.., k]), tile(y, [256])[.., i]);
                {release}
            }}
        }}
    }}
}}
"
    )
}

/// Ranges that a launch, a block, or data decide, and conditions of a launch that leave few launches.
const RINGS: &[Ring<'_>] = &[
    ["grid [cdiv(m, 256)]", "", "0..cdiv(m, 256)"],
    ["grid [1]", "", "0..cast(count, i64)"],
    ["grid [1]", "", "0..m * e"],
    ["grid [1]", "", "0..cdiv(m, 256) + e"],
    ["where m % 256 == 0 grid [1]", "", "0..cdiv(m, 256)"],
    ["where m >= 4096 grid [1]", "", "0..cdiv(m, 256)"],
    ["grid [multiprocessors]", "", "0..cdiv(cdiv(m, 256) - block_idx, grid_dim)"],
    [
        "grid [multiprocessors]",
        "let (a, b) = (block_idx * m / 256 / grid_dim, (block_idx + 1) * m / 256 / grid_dim);",
        "a..b",
    ],
    // Blocks that all run at the same time, of which the facts know that they are a multiple of 16.
    ["where e <= multiprocessors grid [e]", "", "0..cdiv(m, 256)"],
    ["where e <= 2 * multiprocessors, m >= 2048 grid [e]", "", "0..cdiv(m, 256)"],
    // The index of a block.
    ["grid [cdiv(m, 256)]", "", "0..block_idx + 1"],
    ["grid [cdiv(m, 256)]", "let n = min(cdiv(m, 256), block_idx + 1);", "0..n"],
    ["grid [cdiv(m, 256), e]", "let [_, by] = block_idx;", "max(0, e - by - 3)..e"],
    // Numbers in memory: a length, clamped, a range, a factor, one for each block, differences, a table by a table.
    ["where e >= 1 grid [1]", "let n0 = cast(n[0], i64);", "0..n0"],
    ["where e >= 1 grid [1]", "let n0 = max(0, min(cast(n[0], i64), cdiv(m, 256)));", "0..n0"],
    ["where e >= 2 grid [1]", "let (a, b) = (cast(n[0], i64), cast(n[1], i64));", "a..b"],
    ["grid [e]", "", "0..cdiv(m, 256) * cast(n[block_idx], i64)"],
    ["grid [e - 1]", "", "0..cdiv(cast(n[block_idx + 1] - n[block_idx], i64), 64)"],
    ["where e >= 1 grid [1]", "let p = n[0] else 0;", "0..cast(n[max(0, p)] else 0, i64)"],
    ["grid [1]", "let t = scalar(sum(load(tile(n, [32])[.., 0]), axis: 0));", "0..cast(t, i64)"],
    // Equalities, also of dimensions that decide no loop.
    ["where e == m grid [1]", "", "0..cdiv(m, 256)"],
    ["where e == cdiv(m, 256) grid [1]", "", "0..e"],
    ["where m == 256 * e grid [1]", "", "0..e"],
    ["where e == m / 8 grid [1]", "", "0..cdiv(m, 256)"],
    ["where e == m + 1 grid [1]", "", "0..cdiv(m, 256)"],
    ["where m / 256 == e / 4 grid [1]", "", "0..cdiv(m, 256)"],
    ["where e % 3 == 0, m == e grid [1]", "", "0..cdiv(m, 256)"],
    ["where e == 2 * cdiv(m, 1024) grid [e / 2]", "", "0..cdiv(m, 256)"],
    // A condition that the launch does not decide, around numbers that no round depends on.
    ["grid [1]", "let _a = if (count % 7) & cast(e, i32) == 0 { count } else { 7 };", "0..cdiv(m, 256)"],
];

#[test]
fn a_ring_that_is_never_given_back_is_an_error_whatever_decides_its_rounds() {
    for ring_of in RINGS {
        let text = ring(*ring_of, "");
        let (db, file) = TestDb::with_file(&text);
        let found = check_file(&db, file, Target::usual());
        let codes: Vec<&str> = found.iter().map(|found| found.code.id).collect();
        assert_eq!(codes, ["HX0404"], "{text}\n{found:#?}");
    }
}

#[test]
fn the_same_ring_with_its_release_is_proven() {
    for ring_of in RINGS {
        let text = ring(*ring_of, "pipe.release();");
        let (db, file) = TestDb::with_file(&text);
        let found = check_file(&db, file, Target::usual());
        assert!(found.is_empty(), "{text}\n{found:#?}");
    }
}

/// Checks a kernel and compares all findings.
fn check(text: &str, expected: Expect) {
    let (db, file) = TestDb::with_file(text);
    let found = check_file(&db, file, Target::usual());
    assert!(found.iter().all(|found| found.code == &codes::UNCHECKED_PIPELINES), "{found:#?}");
    expected.assert_eq(&drawn(text, found));
}

#[test]
fn a_kernel_that_no_launch_fits_is_not_checked() {
    check(
        &ring(["where m % 7 == 3, m % 7 == 4 grid [1]", "", "0..cdiv(m, 256)"], "pipe.release();"),
        expect![[r#"
            HX0419 `ring` the pipelines of this kernel were not checked: no launch was found that satisfies `m % 7 == 3` and `m % 7 == 4`
              note: a fault in them would be seen by the simulator, in a launch that shows it
        "#]],
    );
}

#[test]
fn a_loop_that_never_runs_is_not_checked() {
    check(
        &ring(["where m * m + 1 == 3 * e * e grid [1]", "", "0..e"], "pipe.release();"),
        expect![[r#"
            HX0419 `ring` the pipelines of this kernel were not checked: no launch was found that satisfies `m * m + 1 == 3 * e * e`
              note: a fault in them would be seen by the simulator, in a launch that shows it
        "#]],
    );
}

#[test]
fn a_loop_that_is_too_long_is_not_checked() {
    check(
        &ring(["grid [1]", "", "0..100000"], "pipe.release();"),
        expect![[r#"
        HX0419 `ring` the pipelines of this kernel were not checked: the smallest launch has more than 60000 operations on them
          note: a fault in them would be seen by the simulator, in a launch that shows it
    "#]],
    );
}

/// Roles that read different numbers need not agree on the rounds, even if the numbers have the same name.
#[test]
fn rounds_from_different_numbers_differ() {
    let text = ring(["where e >= 2 grid [1]", "", "0..cast(n[0], i64)"], "pipe.release();");
    let other = text.replacen("for i in 0..cast(n[0], i64)", "for i in 0..cast(n[1], i64)", 1);
    let (db, file) = TestDb::with_file(&other);
    let found = check_file(&db, file, Target::usual());
    assert!(found.iter().any(|found| found.code == &codes::ENDLESS_WAIT), "{found:#?}");
}

/// A flag in shared memory between two roles: the reader waits for the first release.
fn flag(writer: &str) -> String {
    format!(
        "kernel relay(x: f32[128], y: mut f32[128]) grid [2] {{
    let flag = shared_tensor(i32, [1]);
    let s = shared_tensor(f32, [128]);
    let none = register_tensor(i32, [1]);
    fill(none, 0);
    copy(none, flag);
    sync();
    warp_groups {{
        consumer {{
            while scalar(atomic_load(flag, order: \"acquire\")) == 0 {{}}
            if block_idx == 0 {{ copy(load(s), y); }}
        }}
        consumer {{
            let one = register_tensor(i32, [1]);
            fill(one, 1);
            {writer}
        }}
    }}
}}
"
    )
}

#[test]
fn a_flag_between_roles_orders_what_was_released_before_it() {
    let codes = |writer: &str| -> Vec<&str> {
        let (db, file) = TestDb::with_file(&flag(writer));
        check_file(&db, file, Target::usual()).iter().map(|found| found.code.id).collect()
    };
    let data = "copy(load(x) * 2.0, s);";
    let release = "atomic_store(flag, one, order: \"release\");";
    assert_eq!(codes(&format!("{data} {release}")), [""; 0]);
    assert_eq!(codes(&format!("{release} {data}")), ["HX0401"]);
    assert_eq!(codes(&format!("{data} atomic_store(flag, one);")), ["HX0401"]);
    assert_eq!(codes(data), ["HX0404"]);
    // Which of several writes ends the wait depends on their values, which are not followed.
    assert_eq!(codes(&format!("{data} {release} {release}")), ["HX0419"]);
}

/// Returns the kernel of [`ring`] whose producer has another bound.
fn uneven(producer: &str, consumer: &str, header: &str) -> String {
    let text = ring([header, "", consumer], "pipe.release();");
    text.replacen(&format!("for i in {consumer}"), &format!("for i in {producer}"), 1)
}

#[test]
fn a_limit_that_no_launch_reaches_is_not_checked() {
    check(
        &uneven("0..min(cdiv(m, 256), 1000000)", "0..cdiv(m, 256)", "grid [1]"),
        expect![[r#"
        HX0419 `for i in 0..min(cdiv(m, 256), 1000000) {` the pipelines of this kernel were not checked: no launch that was followed has `1000000 < (m + 255) / 256`, which decides `min(1000000, (m + 255) / 256)`
          note: a fault in them would be seen by the simulator, in a launch that shows it
          help: if all roles have the same bound, no such launch is needed; a `where` clause can rule it out, too
    "#]],
    );
}

#[test]
fn a_clause_rules_out_the_launches_beyond_a_limit() {
    let text = uneven("0..min(cdiv(m, 256), 1000000)", "0..cdiv(m, 256)", "where m <= 256000000 grid [1]");
    check(&text, expect![[""]]);
}

#[test]
fn a_limit_in_all_roles_needs_no_launch_beyond_it() {
    check(&ring(["grid [1]", "", "0..min(cdiv(m, 256), 1000000)"], "pipe.release();"), expect![[""]]);
}

/// The message names what the kernel has: a barrier here.
#[test]
fn barriers_that_are_not_checked_are_called_barriers() {
    check(
        "kernel meet(x: f32[m], y: mut f32[m]) grid [1] {
    let s = shared_tensor(f32, [256]);
    let (full, free) = (barrier(), barrier());
    warp_groups {
        producer {
            for i in 0..min(cdiv(m, 256), 1000000) {
                copy(load(tile(x, [256])[.., i]), s);
                full.sync();
                free.sync();
            }
        }
        consumer {
            for i in 0..cdiv(m, 256) {
                full.sync();
                copy(load(s), tile(y, [256])[.., i]);
                free.sync();
            }
        }
    }
}
",
        expect![[r#"
            HX0419 `for i in 0..min(cdiv(m, 256), 1000000) {` the barriers of this kernel were not checked: no launch that was followed has `1000000 < (m + 255) / 256`, which decides `min(1000000, (m + 255) / 256)`
              note: a fault in them would be seen by the simulator, in a launch that shows it
              help: if all roles have the same bound, no such launch is needed; a `where` clause can rule it out, too
        "#]],
    );
}
