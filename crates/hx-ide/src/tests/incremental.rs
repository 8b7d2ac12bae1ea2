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

/// Asks for hints and diagnostics before and after an edit. Returns the stages that ran again, with their counts.
fn ran_again(from: &str, to: &str) -> String {
    let log = EventLog::default();
    let system = Arc::new(MemorySystem::new([("/k.hx", TWO)]));
    let mut db = Database::with_events(system, Some(log.callback()));
    let file = db.set_overlay("/k.hx", TWO);
    let kept = LastGood::default();
    let ask = |db: &Database| {
        let whole = TextRange::up_to(TextSize::of(file.text(db)));
        crate::inlay_hints(db, file, whole, &shown(), &kept).expect("nothing is written");
        crate::diagnostics(db, file, &shown()).expect("nothing is written");
    };
    ask(&db);
    log.take();
    assert!(TWO.contains(from));
    db.set_overlay("/k.hx", &TWO.replacen(from, to, 1));
    ask(&db);
    let stages =
        ["infer_body", "tile_program", "solution", "thread_program", "cuda_source", "synchronization"];
    log.take_counts()
        .lines()
        .filter(|line| stages.iter().any(|stage| line.starts_with(&format!("{stage} "))))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn an_edited_kernel_is_solved_alone() {
    let ran = ran_again("    copy(r, tile(c", "    sync();\n    copy(r, tile(c");
    for stage in ["infer_body", "tile_program", "solution", "thread_program", "cuda_source"] {
        assert!(ran.contains(&format!("{stage} × 1\n")), "{stage}: {ran}");
    }
}

#[test]
fn blanks_and_comments_solve_nothing() {
    assert_eq!(ran_again("kernel first", "// a comment\nkernel first"), "");
    assert_eq!(ran_again("    let r", "        let r"), "");
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
