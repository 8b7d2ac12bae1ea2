//! The results of a bench stay on the GPU. A pretended GPU, on which every kernel adds 1.0, shows what host code and comparisons see.

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use expect_test::{Expect, expect};
use hx_driver::{BenchOptions, Filter, WorkLimit, list_benches, run_benches};
use hx_launch::open_machines;
use hx_workspace::Database;

use super::setup;
use crate::support::Sandbox;

const KERNELS: &str = "kernel raised(x: mut f32[n]) grid [1] threads 32 {
    let part = tile(x, [32])[.., 0];
    copy(load(part) + 1.0, part);
}
kernel next(x: f32[n], y: mut f32[n]) grid [1] threads 32 { copy(load(tile(x, [32])[.., 0]) + 1.0, tile(y, [32])[.., 0]); }
";

/// Runs the bench of a text, and compares what it prints and its rows with `want`.
fn check(bench: &str, want: Expect) {
    let sandbox = Sandbox::with("t.hx", &format!("{KERNELS}bench \"b\" {{\n{bench}\n}}\n"));
    let Some(setup) = setup("devices::benches", &sandbox, &["9.0"]) else { return };
    let machines = open_machines(&setup).expect("the worker pretends to have one");
    let mut db = Database::default();
    let files = db.open(&sandbox.path("t.hx").to_string_lossy()).expect("the file is there").files;
    let listing = list_benches(&db, &files, &Filter::default(), WorkLimit::unlimited());
    let (options, stop) = (BenchOptions::default(), AtomicBool::new(false));
    let mut out = String::new();
    run_benches(&db, &listing.cases, &machines[0], &options, &stop, &|_, _| {}, |report| {
        report.output.iter().for_each(|line| out += &format!("{line}\n"));
        let groups = match report.outcome {
            Ok(groups) => groups,
            Err(found) => {
                found.iter().for_each(|error| out += &format!("{}: {}\n", error.code.id, error.message));
                return;
            }
        };
        for group in groups {
            for (at, work) in group.measures.iter().enumerate() {
                let share = group.memory_share(work).map(|memory| {
                    let bytes = memory.of.bytes.unwrap_or_default();
                    format!(", {:.2} of a {} that moves {bytes} bytes", memory.share, memory.of.label)
                });
                let _ = writeln!(out, "{}{}", work.label, share.unwrap_or_default());
                for other in group.comparisons(at) {
                    let apart = other.difference.map(|difference| difference.absolute);
                    let _ = writeln!(out, "  from {}: {apart:?}", other.other.label);
                }
            }
        }
    });
    want.assert_eq(&out);
}

/// Timed runs change the memory of a kernel that updates its tensor. The next statement sees the result of the statement before.
#[test]
fn timed_runs_leave_no_trace() {
    check(
        "let x = zeros(f32, [32]);
        measure { raised(x) }
        baseline raised(x);
        measure { raised(x) }
        print(x[0], x[31]);",
        expect![[r#"
            3.0 3.0
            raised, 3.00 of a copy that moves 128 bytes
              from raised: Some(1.0)
            raised, 2.00 of a copy that moves 128 bytes
        "#]],
    );
}

/// Host code that reads a result brings it, and what it writes is on the GPU at the next launch.
#[test]
fn host_code_reads_and_writes_results() {
    check(
        "let x = full(f32, [32], 5.0);
        measure { raised(x) }
        print(x[0]);
        x[0] = 7.0;
        baseline raised(x);
        print(x[0], x[1]);
        let y = zeros(f32, [96]);
        measure { next(x, y[64..]) }
        print(y[64], y[65]);
        assert_eq(y[..64], zeros(f32, [64]));",
        expect![[r#"
            6.0
            8.0 7.0
            9.0 8.0
            raised, 3.00 of a copy that moves 128 bytes
              from raised: Some(2.0)
            next, 2.00 of a copy that moves 256 bytes
        "#]],
    );
}

/// A view that is not aligned like an allocation goes by the host's memory, where a launch of the pretended GPU writes nothing.
#[test]
fn odd_views_go_by_the_host() {
    check(
        "let x = full(f32, [33], 5.0);
        measure { raised(x) }
        measure { raised(x[1..]) }
        print(x[0], x[1]);",
        expect![[r#"
            6.0 6.0
            raised, 3.00 of a copy that moves 128 bytes
            raised, 1.50 of a copy that moves 128 bytes
        "#]],
    );
}
