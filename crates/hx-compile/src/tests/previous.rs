//! Launches that overlap the ones before them: every access before the wait is told with both places, and every fix is applied.

use expect_test::expect;
use hx_target::Target;

use super::{check_fixes as check, drawn};
use crate::{check_file, test_db::TestDb};

/// Returns a kernel that waits for the launches before it, with these statements.
fn kernel(body: &str) -> String {
    format!(
        "kernel next(x: f32[m], y: mut f32[m], n: i32[4], c: mut i32[1])
    where m % 4 == 0
    grid [cdiv(m, 256)]
    threads 128
{{
    let i = block_idx;
{body}}}
"
    )
}

#[test]
fn what_touches_no_parameter_may_stand_before_the_wait() {
    check(
        &kernel(
            "    let s = shared_tensor(f32, [256]);
    let zeros = register_tensor(f32, [256]);
    fill(zeros, 0.0);
    copy(zeros, s);
    sync();
    wait_for_previous();
    allow_next();
    copy(load(tile(x, [256])[.., i]) + load(s), tile(y, [256])[.., i]);
",
        ),
        expect![""],
    );
}

#[test]
fn a_kernel_without_a_wait_is_launched_alone() {
    check(
        &kernel("    allow_next();\n    copy(load(tile(x, [256])[.., i]), tile(y, [256])[.., i]);\n"),
        expect![""],
    );
}

#[test]
fn accesses_before_the_wait() {
    check(
        &kernel(
            "    let t = load(tile(x, [256])[.., i]);
    copy(t, tile(y, [256])[.., i]);
    wait_for_previous();
    copy(t * 2.0, tile(y, [256])[.., i]);
",
        ),
        expect![[r#"
            HX0416 `load(tile(x, [256])[.., i])` `x` is read before the kernel waits for the launches before this one
              `load(tile(x, [256])[.., i])`: an earlier launch may still write `x`
              `wait_for_previous()`: the wait comes only here
              `copy(t, tile(y, [256])[.., i])`: `y` is written here likewise
              fix: wait before the first access
        "#]],
    );
}

#[test]
fn numbers_and_counters_are_accesses() {
    check(
        &kernel(
            "    let first = n[i % 4];
    for t in counter(c, cdiv(m, 256)) {
        if t >= first {
            copy(load(tile(x, [256])[.., t]), tile(y, [256])[.., t]);
        }
    }
    wait_for_previous();
",
        ),
        expect![[r#"
            HX0416 `n[i % 4]` `n` is read before the kernel waits for the launches before this one
              `n[i % 4]`: an earlier launch may still write `n`
              `wait_for_previous()`: the wait comes only here
              `counter(c, cdiv(m, 256))`: `c` is written here likewise
              `load(tile(x, [256])[.., t])`: `x` is read here likewise
              `copy(load(tile(x, [256])[.., t]), tile(y, [256])[.., t])`: `y` is written here likewise
              fix: wait before the first access
        "#]],
    );
}

#[test]
fn a_wait_that_a_launch_may_leave_out() {
    check(
        &kernel(
            "    if m > 4096 {
        wait_for_previous();
    }
    for _k in 0..cdiv(m, 256) {
        wait_for_previous();
    }
    copy(load(tile(x, [256])[.., i]), tile(y, [256])[.., i]);
",
        ),
        expect![[r#"
            HX0417 `wait_for_previous()` found `wait_for_previous()` under a condition: a launch may end without it
              note: later launches take a launch that has ended for one that waited for those before it
              help: wait before the loops and conditions, in the statements of the kernel or of a role
            HX0417 `wait_for_previous()` found `wait_for_previous()` in a loop: a launch may end without it
              note: later launches take a launch that has ended for one that waited for those before it
              help: wait before the loops and conditions, in the statements of the kernel or of a role
        "#]],
    );
}

#[test]
fn a_second_wait() {
    check(
        &kernel(
            "    wait_for_previous();
    copy(load(tile(x, [256])[.., i]), tile(y, [256])[.., i]);
    wait_for_previous();
",
        ),
        expect![[r#"
            HX0410 `wait_for_previous()` this wait waits for nothing
              `wait_for_previous()`: the launches before are complete from here on
              fix: remove it
        "#]],
    );
}

/// Returns a kernel with a producer and a consumer.
fn roles(before: &str, producer: &str, consumer: &str) -> String {
    format!(
        "kernel next(x: f32[m], y: mut f32[m])
    where m % 4 == 0
    grid [1]
{{
    let stages = shared_tensor(f32, [256, 3]);
    let gx = tile(x, [256]);
    let pipe = pipeline(3);
{before}    warp_groups {{
        producer {{
{producer}            for i in 0..cdiv(m, 256) {{
                let s = pipe.acquire();
                copy_async(gx[.., i], stages[.., s], signal: pipe);
            }}
        }}
        consumer 1 {{
            for i in 0..cdiv(m, 256) {{
                let s = pipe.wait();
                let t = load(stages[.., s]);
                pipe.release();
{consumer}                copy(t, tile(y, [256])[.., i]);
            }}
        }}
    }}
}}
"
    )
}

#[test]
fn a_wait_before_the_roles_counts_for_all() {
    check(&roles("    wait_for_previous();\n", "", ""), expect![""]);
}

#[test]
fn each_role_that_touches_memory_waits() {
    check(
        &roles("", "            wait_for_previous();\n", ""),
        expect![[r#"
        HX0416 `copy(t, tile(y, [256])[.., i])` `y` is written in a role that does not wait for the launches before this one
          `copy(t, tile(y, [256])[.., i])`: an earlier launch may still use `y`
          `wait_for_previous()`: only the threads of another role wait here
          fix: insert `wait_for_previous()`
    "#]],
    );
}

#[test]
fn a_wait_in_the_loop_of_a_role() {
    check(
        &roles("", "            wait_for_previous();\n", "                wait_for_previous();\n"),
        expect![[r#"
            HX0417 `wait_for_previous()` found `wait_for_previous()` in a loop: a launch may end without it
              note: later launches take a launch that has ended for one that waited for those before it
              help: wait before the loops and conditions, in the statements of the kernel or of a role
        "#]],
    );
}

#[test]
fn a_wait_of_a_function_counts() {
    let text = "fn start() {
    wait_for_previous();
}

fn early(x: f32[m], i: i64) -> f32[256] {
    load(tile(x, [256])[.., i])
}

kernel next(x: f32[m], y: mut f32[m])
    where m % 4 == 0
    grid [cdiv(m, 256)]
    threads 128
{
    let t = early(x, block_idx);
    start();
    copy(t, tile(y, [256])[.., block_idx]);
}
";
    check(
        text,
        expect![[r#"
        HX0416 `load(tile(x, [256])[.., i])` `x` is read before the kernel waits for the launches before this one
          `load(tile(x, [256])[.., i])`: an earlier launch may still write `x`
          `wait_for_previous()`: the wait comes only here
          help: call `wait_for_previous()` before the first access to a tensor of the parameters
    "#]],
    );
}

#[test]
fn older_targets_have_no_such_launches() {
    let text = kernel("    wait_for_previous();\n    allow_next();\n").replace("let i", "let _i");
    let (db, file) = TestDb::with_file(&text);
    let found = check_file(&db, file, Target::builtin("sm_80"));
    expect![[r#"
        HX0504 `wait_for_previous()` found `wait_for_previous`, which `sm_80` does not have
          help: `--target sm_90a` has launches that overlap the ones before them; older targets do not
        HX0504 `allow_next()` found `allow_next`, which `sm_80` does not have
          help: `--target sm_90a` has launches that overlap the ones before them; older targets do not
    "#]]
    .assert_eq(&drawn(&text, found));
}
