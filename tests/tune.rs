//! The combinations of the `tune` clauses of the library for launches of given dimensions, as the cost model ranks them.

use std::sync::Arc;

use expect_test::{Expect, expect};
use hx_base::testing::MemorySystem;
use hx_compile::CtValue;
use hx_compile::tune::{Candidate, Shape, ranked};
use hx_hir::file_items;
use hx_target::Target;
use hx_workspace::Database;

/// Few candidates, so that the static checks of few instances run.
const LIMIT: usize = 5;

fn line(candidate: &Candidate) -> String {
    let args: Vec<String> = candidate.args.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let estimate = &candidate.estimate;
    let waves = if estimate.waves == 1 { "wave" } else { "waves" };
    format!(
        "{}: {:.0} cycles in {} {waves}, {}",
        args.join(", "),
        estimate.cycles,
        estimate.waves,
        estimate.bound.name()
    )
}

/// Ranks a kernel for a launch with some arguments fixed, and compares the summary, the candidates and the defaults.
fn check(text: &str, kernel: &str, args: &[(&str, i64)], dims: &[(&str, i64)], expected: Expect) {
    let mut db = Database::new(Arc::new(MemorySystem::default()));
    let file = db.set_overlay("a.hx", text);
    let kernel = file_items(&db, file).kernels().find(|found| found.name(&db) == kernel).expect("the kernel");
    let shape = Shape {
        args: args.iter().map(|(name, value)| ((*name).into(), CtValue::Int(*value))).collect(),
        dims: dims.iter().map(|(name, value)| ((*name).into(), *value)).collect(),
        ..Shape::default()
    };
    let found = ranked(&db, kernel, Target::usual(), &shape, LIMIT).expect("some combinations are legal");
    let mut out = format!("{}\n", found.summary());
    for candidate in &found.candidates {
        out += &format!("{}\n", line(candidate));
    }
    out += &found.default.as_ref().map_or_else(String::new, |it| format!("the defaults: {}\n", line(it)));
    expected.assert_eq(&out);
}

const GEMM: &str = include_str!("../std/gemm.hx");
const ATTENTION: &str = include_str!("../std/attention_hopper.hx");

/// Returns the dimensions and the strides of a product of matrices that are stored by rows.
fn product(m: i64, n: i64, k: i64) -> [(&'static str, i64); 8] {
    [("m", m), ("n", n), ("k", k), ("a0", k), ("a1", 1), ("b0", k), ("b1", 1), ("c0", n)]
}

/// Large tiles keep the tensor cores busy. Two groups of threads cannot hold 256 by 256 sums.
#[test]
fn a_large_product() {
    let dims = product(4096, 4096, 4096);
    check(
        GEMM,
        "gemm",
        &[("BK", 64), ("GROUP", 8)],
        &dims,
        expect![[r#"
            312 combinations: 112 need more than the target's 227 KiB of shared memory or its threads, 5 have tensors that exceed the registers of a thread, 195 legal, of which 5 are kept
            BK = 64, BM = 128, BN = 256, GROUP = 8, STAGES = 4: 340267 cycles in 1 wave, threads and waits
            BK = 64, BM = 128, BN = 208, GROUP = 8, STAGES = 5: 348248 cycles in 1 wave, threads and waits
            BK = 64, BM = 128, BN = 208, GROUP = 8, STAGES = 4: 351090 cycles in 1 wave, threads and waits
            BK = 64, BM = 128, BN = 128, GROUP = 8, STAGES = 6: 351804 cycles in 1 wave, threads and waits
            BK = 64, BM = 192, BN = 176, GROUP = 8, STAGES = 4: 352731 cycles in 1 wave, threads and waits
            the defaults: BK = 64, GROUP = 8: 340267 cycles in 1 wave, threads and waits
        "#]],
    );
}

/// The weights come from DRAM once. Small tiles give each multiprocessor some, and many stages hide the latency.
#[test]
fn a_product_of_few_rows() {
    let dims = product(64, 6144, 4096);
    check(
        GEMM,
        "gemm",
        &[("BK", 64), ("GROUP", 8)],
        &dims,
        expect![[r#"
            312 combinations: 112 need more than the target's 227 KiB of shared memory or its threads, 5 have tensors that exceed the registers of a thread, 195 legal, of which 5 are kept
            BK = 64, BM = 64, BN = 64, GROUP = 8, STAGES = 7: 33678 cycles in 1 wave, threads and waits
            BK = 64, BM = 128, BN = 64, GROUP = 8, STAGES = 7: 34449 cycles in 1 wave, threads and waits
            BK = 64, BM = 64, BN = 128, GROUP = 8, STAGES = 7: 34498 cycles in 1 wave, threads and waits
            BK = 64, BM = 64, BN = 112, GROUP = 8, STAGES = 7: 34726 cycles in 1 wave, threads and waits
            BK = 64, BM = 128, BN = 80, GROUP = 8, STAGES = 7: 35565 cycles in 1 wave, threads and waits
            the defaults: BK = 64, GROUP = 8: 71626 cycles in 1 wave, tensor cores
        "#]],
    );
}

#[test]
fn a_large_product_in_turns() {
    let dims = product(4096, 4096, 4096);
    check(
        GEMM,
        "gemm_pingpong",
        &[("BK", 64), ("GROUP", 8)],
        &dims,
        expect![[r#"
            234 combinations: 90 need more than the target's 227 KiB of shared memory or its threads, 14 have tensors that exceed the registers of a thread, 130 legal, of which 5 are kept
            BK = 64, BM = 128, BN = 208, GROUP = 8, STAGES = 5: 342504 cycles in 1 wave, threads and waits
            BK = 64, BM = 128, BN = 208, GROUP = 8, STAGES = 4: 344277 cycles in 1 wave, threads and waits
            BK = 64, BM = 128, BN = 176, GROUP = 8, STAGES = 5: 347772 cycles in 1 wave, threads and waits
            BK = 64, BM = 128, BN = 112, GROUP = 8, STAGES = 7: 357132 cycles in 1 wave, threads and waits
            BK = 64, BM = 128, BN = 144, GROUP = 8, STAGES = 6: 383888 cycles in 1 wave, threads and waits
            the defaults: BK = 64, GROUP = 8: 380397 cycles in 1 wave, threads and waits
        "#]],
    );
}

#[test]
fn attention() {
    let dims = [("b", 4), ("h", 16), ("hk", 16), ("s", 4096), ("t", 4096)];
    check(
        ATTENTION,
        "attention_hopper",
        &[("GROUPS", 2)],
        &dims,
        expect![[r#"
            15 combinations: 4 need more than the target's 227 KiB of shared memory or its threads, 11 legal, of which 5 are kept
            BN = 192, GROUPS = 2: 751176 cycles in 16 waves, tensor cores
            BN = 128, GROUPS = 2: 752152 cycles in 16 waves, tensor cores
            BN = 160, GROUPS = 2: 752949 cycles in 16 waves, tensor cores
            BN = 176, GROUPS = 2: 754337 cycles in 16 waves, tensor cores
            BN = 144, GROUPS = 2: 758017 cycles in 16 waves, tensor cores
            the defaults: GROUPS = 2: 752152 cycles in 16 waves, tensor cores
        "#]],
    );
}
