//! Prints and assertions of kernels: from the kernel's text to the lines and diagnostics of a test.

use expect_test::{Expect, expect};

use super::{check, check_main};

const KERNELS: &str = r#"
fn positive(x: register f32[M, N]) { assert(x > 0.0, "not positive"); }
kernel show<BM = 2, BN = 4>(x: f32[m, n], y: mut f32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 32
{
    let [bm, bn] = block_idx;
    let r = load(tile(x, [BM, BN])[.., .., bm, bn]);
    print(r);
    copy(r, tile(y, [BM, BN])[.., .., bm, bn]);
}
kernel steps(x: f32[n], s: f32, i: i32, y: mut f32[n]) grid [cdiv(n, 4)] threads 32 {
    let r = load(tile(x, [4])[.., block_idx]);
    for step in 0..i {
        if step % 2 == 1 { print("odd", step, block_idx); }
        r = r * s;
    }
    print("scale", s, s > 1.0, i * 2, "rows", r > 2.0, cast(r, f16), f16, "end");
    if block_idx == 1 { print(max(r, axis: 0)); }
    copy(r, tile(y, [4])[.., block_idx]);
}
kernel checked(x: f32[n], y: mut f32[n]) grid [cdiv(n, 32)] threads 64 {
    let r = load(tile(x, [32])[.., block_idx]);
    for step in 0..3 { assert(r + cast(step, f32) < 40.0); }
    assert(block_idx < 2, "only two blocks");
    copy(r, tile(y, [32])[.., block_idx]);
}
kernel compared(x: i32[n], limit: i32, half: f16, y: mut i32[n]) grid [n] threads 32 {
    let b = block_idx;
    assert(x[b] < limit, "too large");
    assert(half == 0.25);
    for i in 0..n { assert(i * b != 6); }
    let t = load(tile(y, [1])[.., b]);
    assert(scalar(t) >= x[b] - 100 && b < n);
    copy(t, tile(y, [1])[.., b]);
}
kernel inlined(x: f32[m, n], y: mut f32[m, n]) grid [1] threads 32 {
    let r = load(tile(x, [2, 4])[.., .., 0, 0]);
    positive(r);
    copy(r, tile(y, [2, 4])[.., .., 0, 0]);
}
kernel shared_too(x: f32[m, n], y: mut f32[m, n]) grid [1] threads 32 {
    let s = shared_tensor(f32, [2, 4]);
    copy(tile(x, [2, 4])[.., .., 0, 0], s);
    sync();
    print(s.T, tile(x, [2, 2])[.., .., 0, 0]);
    let r = register_tensor(f32, [2, 4]);
    fill(r, cast(100 / cast(n - 4, i32), f32));
    copy(r, tile(y, [2, 4])[.., .., 0, 0]);
}
kernel large(x: f32[n], y: mut f32[n]) grid [n] threads 128 {
    let r = register_tensor(f32, [128, 128]);
    fill(r, 1.0);
    if block_idx > 2 { print(r); }
    print(block_idx);
    copy(tile(x, [1])[.., block_idx], tile(y, [1])[.., block_idx]);
}
"#;

fn run(test: &str, want: Expect) {
    check(&format!("{KERNELS}{test}"), want);
}

#[test]
fn tensors_in_block_order_with_their_ragged_ends() {
    run(
        r#"test "t" { let x = arange(f32, 15).reshape([3, 5]); let y = zeros(f32, [3, 5]); show(x, y); assert_eq(x, y); }"#,
        expect![[r#"
            | show block [0, 0]: r = f32[2, 4]
            | [[0.0, 1.0, 2.0, 3.0],
            |  [5.0, 6.0, 7.0, 8.0]]
            | show block [1, 0]: r = f32[2, 4]
            | [[10.0, 11.0, 12.0, 13.0],
            |  [ 0.0,  0.0,  0.0,  0.0]]
            | show block [0, 1]: r = f32[2, 4]
            | [[4.0, 0.0, 0.0, 0.0],
            |  [9.0, 0.0, 0.0, 0.0]]
            | show block [1, 1]: r = f32[2, 4]
            | [[14.0,  0.0,  0.0,  0.0],
            |  [ 0.0,  0.0,  0.0,  0.0]]
            t.hx::t: passed
        "#]],
    );
}

#[test]
fn numbers_of_a_block_in_time_order() {
    run(
        r#"test "t" { let x = ones(f32, 8); let y = zeros(f32, 8); steps(x, 1.5, 4, y); assert_eq(y.sum(), 40.5); }"#,
        expect![[r#"
            | steps block [0]: odd step = 1
            | steps block [0]: block_idx = 0
            | steps block [0]: odd step = 3
            | steps block [0]: block_idx = 0
            | steps block [0]: scale s = 1.5
            | steps block [0]: s > 1.0 = true
            | steps block [0]: i * 2 = 8
            | steps block [0]: rows r > 2.0 = bool[4]
            | [true, true, true, true]
            | steps block [0]: cast(r, f16) = f16[4]
            | [5.062, 5.062, 5.062, 5.062]
            | steps block [0]: f16 end
            | steps block [1]: odd step = 1
            | steps block [1]: block_idx = 1
            | steps block [1]: odd step = 3
            | steps block [1]: block_idx = 1
            | steps block [1]: scale s = 1.5
            | steps block [1]: s > 1.0 = true
            | steps block [1]: i * 2 = 8
            | steps block [1]: rows r > 2.0 = bool[4]
            | [true, true, true, true]
            | steps block [1]: cast(r, f16) = f16[4]
            | [5.062, 5.062, 5.062, 5.062]
            | steps block [1]: f16 end
            | steps block [1]: max(r, axis: 0) = f32[1]
            | [5.0625]
            t.hx::t: passed
        "#]],
    );
}

#[test]
fn failed_comparisons_show_both_sides() {
    run(
        r#"test "t" { let x = arange(i32, 8) * 3; let y = zeros(i32, 8); compared(cast(x, i32), 10, 0.5, y); }"#,
        expect![[r#"
            t.hx::t: failed
            HX0612 `x[b] < limit`: too large
              at `compared(cast(x, i32), 10, 0.5, y)`: in this launch
              note: `x[b] < limit` does not hold
              note: left: 12
              note: right: 10
              note: first in block [4]; 4 times in all
            HX0612 `half == 0.25`: `half == 0.25` does not hold
              at `compared(cast(x, i32), 10, 0.5, y)`: in this launch
              note: left: 0.5
              note: right: 0.25
              note: first in block [0]; 8 times in all
            HX0612 `i * b != 6`: `i * b != 6` does not hold
              at `compared(cast(x, i32), 10, 0.5, y)`: in this launch
              note: left: 6
              note: right: 6
              note: first in block [1], when it was reached for the 7th time; 4 times in all
        "#]],
    );
}

#[test]
fn failed_assertions_fail_the_launch_and_nothing_else() {
    run(
        r#"
test "one element" { let x = arange(f32, 64); let y = zeros(f32, 64); checked(x[..40], y[..40]); assert(y.sum() > 0.0); }
test "two assertions" { let x = arange(f32, 70); let y = zeros(f32, 70); checked(x, y); assert(y.sum() > 0.0); }
test "holds" { let x = zeros(f32, 33); let y = ones(f32, 33); checked(x, y); assert_eq(x, y); }
test "in a function" { let x = zeros(f32, [2, 4]); let y = ones(f32, [2, 4]); inlined(x, y); assert_eq(x, y); }
"#,
        expect![[r#"
            t.hx::one element: failed
            HX0612 `r + cast(step, f32) < 40.0`: `r + cast(step, f32) < 40.0` does not hold
              at `checked(x[..40], y[..40])`: in this launch
              note: first at [7] in block [1], when it was reached for the 2nd time; 3 elements in all
            t.hx::two assertions: failed
            HX0612 `r + cast(step, f32) < 40.0`: `r + cast(step, f32) < 40.0` does not hold
              at `checked(x, y)`: in this launch
              note: first at [8] in block [1]; 93 elements in all
            HX0612 `block_idx < 2`: only two blocks
              at `checked(x, y)`: in this launch
              note: `block_idx < 2` does not hold
              note: left: 2
              note: right: 2
              note: first in block [2]; 1 time in all
            t.hx::holds: passed
            t.hx::in a function: failed
            HX0612 `x > 0.0`: not positive
              at `positive(r)`: called from here
              at `inlined(x, y)`: in this launch
              note: `x > 0.0` does not hold
              note: first at [0, 0] in block [0]; 8 elements in all
        "#]],
    );
}

#[test]
fn memory_is_printed_and_what_came_before_a_fault_is_kept() {
    run(
        r#"test "t" { let x = ones(f32, [2, 4]); let y = zeros(f32, [2, 4]); shared_too(x, y); assert_eq(x, y); }"#,
        expect![[r#"
            | shared_too block [0]: s.T = f32[4, 2]
            | [[1.0, 1.0],
            |  [1.0, 1.0],
            |  [1.0, 1.0],
            |  [1.0, 1.0]]
            | shared_too block [0]: tile(x, [2, 2])[.., .., 0, 0] = f32[2, 2]
            | [[1.0, 1.0],
            |  [1.0, 1.0]]
            t.hx::t: failed
            HX0634 `cast(100 / cast(n - 4, i32), f32)`: division by zero in `100 / (n - 4)`
              at `shared_too(x, y)`: in this launch
              note: seen in block [0, 0, 0]
              help: the result would be 0; a `where` clause of the kernel can demand another divisor
        "#]],
    );
}

#[test]
fn what_finds_no_room_is_told() {
    let main = r#"main { let x = ones(f32, 600); let y = zeros(f32, 600); large(x, y); assert_eq(x, y); }"#;
    let (db, file) = super::open(&format!("{KERNELS}{main}"));
    let mut lines: Vec<String> = Vec::new();
    let options = hx_host::eval::Options::default();
    let outcome = crate::run_main(
        &db,
        file,
        &super::simulator(),
        crate::Launches::default(),
        options,
        &mut lines,
        crate::WorkLimit::unlimited().from_now(),
    );
    assert!(matches!(outcome, crate::RunOutcome::Finished), "{outcome:?}");
    let blocks: Vec<&String> = lines.iter().filter(|l| l.contains("block_idx")).collect();
    let last = lines.last().cloned().unwrap_or_default();
    expect![[r#"514 of 600; Some("large block [513]: block_idx = 513"); large: 172 more prints were dropped, for want of room; `if` around a print picks a block"#]].assert_eq(&format!("{} of 600; {:?}; {last}", blocks.len(), blocks.last()));
}

#[test]
fn the_session_goes_on_in_main() {
    check_main(
        &format!(
            "{KERNELS}main {{ let x = ones(f32, [2, 4]); let y = zeros(f32, [2, 4]); show(x, y); print(y.sum()); inlined(cast(x - 1.0, f32), y); }}"
        ),
        &[],
        expect![[r#"
            show block [0, 0]: r = f32[2, 4]
            [[1.0, 1.0, 1.0, 1.0],
             [1.0, 1.0, 1.0, 1.0]]
            8.0
            failed
            HX0612 `x > 0.0`: not positive
              at `positive(r)`: called from here
              at `inlined(cast(x - 1.0, f32), y)`: in this launch
              note: `x > 0.0` does not hold
              note: first at [0, 0] in block [0]; 8 elements in all
        "#]],
    );
}
