//! Checks which queries an edit does not run again.

use std::sync::Arc;

use hx_base::testing::{EventLog, MemorySystem};
use hx_base::{TextRange, TextSize};
use hx_workspace::Database;

use super::shown;
use crate::LastGood;

const TWO: &str = "\
kernel first(a: f16[m, n], c: mut f16[m, n]) grid [1] threads 128 {
    let r = load(tile(a, [64, 64])[.., .., 0, 0]);
    copy(r, tile(c, [64, 64])[.., .., 0, 0]);
}
kernel second(a: f16[m, n], c: mut f16[m, n]) grid [1] threads 128 {
    let r = load(tile(a, [64, 64])[.., .., 0, 0]);
    copy(r, tile(c, [64, 64])[.., .., 0, 0]);
}
";

const STAGES: [&str; 7] =
    ["infer_body", "chosen", "tile_program", "solved", "thread_program", "cuda_source", "synchronization"];

/// The queries behind the hints of a kernel, besides the stages.
const OF_HINTS: [&str; 3] = ["anchors", "instance_hints", "relative_lines"];

/// Asks for hints and diagnostics before and after an edit. Returns those of the queries that ran again, with their counts. The
/// hints must be those of a database that has seen only the new text.
fn ran_again(queries: &[&str], from: &str, to: &str) -> String {
    let log = EventLog::default();
    let system = Arc::new(MemorySystem::new([("/k.hx", TWO)]));
    let mut db = Database::with_events(system, Some(log.callback()));
    let file = db.set_overlay("/k.hx", TWO);
    let kept = LastGood::default();
    let ask = |db: &Database| {
        let whole = TextRange::up_to(TextSize::of(file.text(db)));
        crate::diagnostics(db, file, &shown()).expect("nothing is written");
        crate::inlay_hints(db, file, whole, &shown(), &kept).expect("nothing is written")
    };
    ask(&db);
    log.take();
    assert!(TWO.contains(from));
    db.set_overlay("/k.hx", &TWO.replacen(from, to, 1));
    let after = ask(&db);
    let counts = log.take_counts();
    let mut fresh = Database::new(Arc::new(MemorySystem::default()));
    let same = fresh.set_overlay("/k.hx", file.text(&db));
    let whole = TextRange::up_to(TextSize::of(same.text(&fresh)));
    let wanted = crate::inlay_hints(&fresh, same, whole, &shown(), &LastGood::default());
    let texts = |hints: Vec<crate::InlayHint>| {
        hints.iter().map(|hint| (hint.offset, hint.text(), hint.stale)).collect::<Vec<_>>()
    };
    assert_eq!(texts(after), texts(wanted.expect("nothing is written")));
    counts
        .lines()
        .filter(|line| queries.iter().any(|stage| line.starts_with(&format!("{stage} "))))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn an_edited_kernel_is_solved_alone() {
    let ran = ran_again(&STAGES, "    copy(r, tile(c", "    sync();\n    copy(r, tile(c");
    for stage in ["infer_body", "solved", "thread_program", "cuda_source"] {
        assert!(ran.contains(&format!("{stage} × 1\n")), "{stage}: {ran}");
    }
    // The second run is that of the instance with dimensions of any length, in which padding is traced.
    assert!(ran.contains("chosen × 2\n"), "{ran}");
}

#[test]
fn blanks_and_comments_solve_nothing() {
    assert_eq!(ran_again(&STAGES, "kernel first", "// a comment\nkernel first"), "");
    assert_eq!(ran_again(&STAGES, "    let r", "        let r"), "");
}

/// The hints of all kernels move, and none is computed again.
#[test]
fn an_item_above_computes_no_hints() {
    assert_eq!(ran_again(&OF_HINTS, "kernel first", "const A = 1;\n\nkernel first"), "");
}

#[test]
fn an_edited_kernel_has_its_hints_computed_alone() {
    let ran = ran_again(&OF_HINTS, "    copy(r, tile(c", "    sync();\n    copy(r, tile(c");
    assert_eq!(ran, "anchors × 1\ninstance_hints × 1\nrelative_lines × 1\n");
}

/// A finished compile changes what is shown, but runs no query again.
#[test]
fn a_compile_runs_nothing_again() {
    let log = EventLog::default();
    let system = Arc::new(MemorySystem::new([("/k.hx", TWO)]));
    let mut db = Database::with_events(system, Some(log.callback()));
    let file = db.set_overlay("/k.hx", TWO);
    let kept = LastGood::default();
    let lenses = |reported: crate::Reported<'_>| {
        let lenses = crate::lenses(&db, file, &shown(), true, reported, &kept).expect("nothing is written");
        lenses.iter().map(|lens| lens.title() + "\n").collect::<String>()
    };
    let before = lenses(&|_| None);
    assert_eq!(before.matches("(estimated)").count(), 2, "{before}");
    log.take();
    let after = lenses(&|cuda| (cuda.kernel == "first").then_some(40));
    assert_eq!(log.take_counts(), "");
    assert_eq!(
        (after.matches("40 registers (ptxas)").count(), after.matches("(estimated)").count()),
        (1, 1),
        "{after}"
    );
}
