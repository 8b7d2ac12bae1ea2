//! Copies without a wait, waits without a copy, and shared tensors that nothing writes.

use expect_test::expect;
use hx_hir::file_items;
use hx_target::Target;

use super::check;
use super::sync::{check_sync, check_turned};
use crate::{default_instance, test_db::TestDb};

#[test]
fn a_copy_that_nothing_waits_for_is_waited_for_or_removed() {
    // No statement reads the tensor that the copy fills.
    check_sync(
        "    copy(gx, r);
    copy(r, gy);
    copy_async(gx, s);
",
        expect![[r#"
            HX0409 `copy_async(gx, s)` nothing waits for this copy into `s`
              note: nothing closes its group
              note: nothing reads `s`
              fix: remove it
        "#]],
    );
    check_sync(
        "    let s2 = shared_tensor(f32, [256]);
    copy_async(gx, s);
    commit();
    copy_async(gx, s2);
    wait(0);
    sync();
    copy(s, r);
    copy(r, gy);
",
        expect![[r#"
            HX0409 `copy_async(gx, s2)` nothing waits for this copy into `s2`
              note: nothing closes its group
              note: nothing reads `s2`
              fix: remove it
        "#]],
    );
    // The tensor is read, but before this copy.
    check_sync(
        "    copy_async(gx, s);
    commit();
    wait(0);
    sync();
    copy(s, r);
    copy(r, gy);
    sync();
    copy_async(gx, s);
    commit();
",
        expect![[r#"
            HX0409 `copy_async(gx, s)` nothing waits for this copy into `s`
              fix: `wait(0)` before the kernel ends
        "#]],
    );
}

#[test]
fn a_wait_with_nothing_in_flight_is_told() {
    check_sync(
        "    wait(0);\n    copy(gx, s);\n    sync();\n    copy(s, r);\n    copy(r, gy);\n",
        expect![[r#"
            HX0410 `wait(0)` this wait waits for nothing
              note: no group of copies is ever in flight here
              fix: remove it
        "#]],
    );
    check_sync(
        "    copy_async(gx, s);
    commit();
    wait(0);
    wait(0);
    sync();
    copy(s, r);
    copy(r, gy);
",
        expect![[r#"
            HX0410 `wait(0)` this wait waits for nothing
              note: no group of copies is ever in flight here
              fix: remove it
        "#]],
    );
    // A single group is in flight, and the first of the two waits leaves it there.
    check_sync(
        "    copy_async(gx, s);
    commit();
    wait(1);
    wait(0);
    sync();
    copy(s, r);
    copy(r, gy);
",
        expect![[r#"
            HX0410 `wait(1)` this wait waits for nothing
              note: more than one group of copies is never in flight here
              fix: remove it
        "#]],
    );
}

/// The groups of the last rounds are empty, but they are closed and waited for all the same.
#[test]
fn a_pipeline_that_drains_waits_for_something() {
    let ring = |rounds: &str| {
        format!(
            "    let ring = shared_tensor(f32, [256, 3]);
    let gz = tile(x, [256]);
    let gw = tile(y, [256]);
    for k in 0..2 {{
        copy_async(gz[.., k], ring[.., k]);
        commit();
    }}
    for k in 0..{rounds} {{
        wait(1);
        sync();
        if k + 2 < {rounds} {{
            copy_async(gz[.., k + 2], ring[.., (k + 2) % 3]);
        }}
        commit();
        copy(ring[.., k % 3], t);
        copy(t, gw[.., k]);
    }}
    wait(0);
    copy(gx, r);
    copy(r, s);
    sync();
    copy(s, t);
    copy(t, gy);
"
        )
    };
    check_turned(&ring("cdiv(m, 256)"), expect![[""]]);
    check_turned(&ring("30"), expect![[""]]);
}

#[test]
fn a_wait_that_one_way_needs_is_needed() {
    check_sync(
        "    if m > 1000 {
        copy_async(gx, s);
        commit();
    }
    wait(0);
    sync();
    copy(s, r);
    copy(r, gy);
",
        expect![[""]],
    );
}

#[test]
fn a_shared_tensor_that_nothing_writes_is_not_read() {
    super::check(
        "kernel k(x: f32[256], y: mut f32[256]) grid [1] threads 64 {
    let s = shared_tensor(f32, [256]);
    copy(s, y);
    copy(x, y);
}
",
        expect![[r#"
            HX0411 `s` `s` is read, and nothing writes it
              `shared_tensor(f32, [256])`: `s` begins undefined
              help: `copy` into `s`, or `fill` it, before it is read
        "#]],
    );
    super::check(
        "kernel k(x: f32[256], y: mut f32[256]) grid [1] threads 64 {
    let s = shared_tensor(f32, [256]);
    if x[0] > 0.0 {
        fill(s, 0.0);
    }
    sync();
    copy(s, y);
}
",
        expect![[""]],
    );
}

#[test]
fn what_changes_hands_has_the_name_that_was_written() {
    check(
        "kernel scanned(a: f16[64, 64], b: f16[64, 64], c: mut f32[64, 64]) grid [1] threads 128 {
    let acc = register_tensor(f32, [64, 64]);
    fill(acc, 0.0);
    gemm(acc, abs(load(a)), abs(load(b)));
    let sums_moved = scan(acc, axis: 0, op: |x, y| x + y);
    let out = register_tensor(f32, [64, 64]);
    fill(out, 0.0);
    gemm(out, cast(sums_moved, f16), abs(load(b)));
    copy(out, c);
}
",
        expect![[r#"
            HX0306 `load(a)` `a` is read 4 B at a time
              `gemm(acc, abs(load(a)), abs(load(b)))`: the layout follows from this `gemm`
              note: `ld.global.b32` runs 32 times a thread here, which is 20% of a block's estimated cycles
              note: each thread holds 2 neighbours along the contiguous dimension
              help: pin `a_tile` to `((8,16),(8,4)):((512,1),(64,16))`: 16 B accesses, estimated cycles 6693 → 5886
            HX0306 `load(b)` `b` is read 4 B at a time
              `gemm(acc, abs(load(a)), abs(load(b)))`: the layout follows from this `gemm`
              note: `ld.global.b32` runs 32 times a thread here, which is 20% of a block's estimated cycles
              note: each thread holds 2 neighbours along the contiguous dimension
              help: pin `b_tile` to `((8,16),(8,4)):((512,1),(64,16))`: 16 B accesses, estimated cycles 6693 → 6121
            HX0305 `cast(sums_moved, f16)` `sums_moved_f16` changes hands between threads here, through 8192 B of shared memory
              note: it takes an estimated 555 of a block's 6693 cycles (8%)
              note: `sums_moved_f16` is held as ((4,8,2,2):(128,1,16,512), (2,2,4,2):(64,8,1024,32)) (elementwise: as its operand) and needed as ((4,8,4):(128,1,0), (2,2,2,4,4):(64,8,512,16,1024)) (A fragment of `mma.m16n8k16.f32.f16`)
              help: layouts or `warps:` that agree spare it; `rearrange(…, auto)` says that it is meant
        "#]],
    );
}

#[test]
fn hints_for_caches_change_no_choice() {
    let solution = |l1: &str, l2: &str| {
        let text = format!(
            "kernel probe(a: f16[m, k], b: f16[n, k], c: mut f32[m, n]) grid [cdiv(m, 64), cdiv(n, 64)] threads 128 {{
                let [i, j] = block_idx;
                let sa = shared_tensor(f16, [64, 64]);
                copy_async(tile(a, [64, 64])[.., .., i, 0], sa{l2});
                commit();
                let tb = load(tile(b, [64, 64])[.., .., j, 0]{l1}{l2});
                let acc = register_tensor(f32, [64, 64]);
                fill(acc, 0.0);
                wait(0);
                sync();
                gemm(acc, sa, tb);
                copy(acc, tile(c, [64, 64])[.., .., i, j]{l1}{l2});
            }}"
        );
        let (db, file) = TestDb::with_file(&text);
        let kernel = file_items(&db, file).kernels().next().expect("a kernel");
        let instance = default_instance(&db, kernel, Target::usual()).expect("no open parameters");
        crate::solved(&db, instance).as_ref().expect("a solution").solution.clone()
    };
    let plain = solution("", "");
    assert_eq!(plain, solution("", ", l2: \"evict_first\""));
    assert_eq!(plain, solution(", l1: \"evict_last\"", ", l2: \"evict_last\""));
}
