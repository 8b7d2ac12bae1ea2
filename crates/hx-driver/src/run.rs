//! Running a file's `main { … }`.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use hx_base::{Diagnostic, SourceFile, TextRange, codes, sort_diagnostics};
use hx_compile::Db;
use hx_hir::{Item, file_items, item_range};
use hx_host::eval::{Options, Session, Surroundings};

use crate::launch::Launcher;
use crate::machine::Machine;

/// What became of `main`.
#[derive(Clone, Debug)]
pub enum RunOutcome {
    /// It ended.
    Finished,
    /// The file has errors, or no `main`; nothing ran.
    Refused(Vec<Diagnostic>),
    /// It stopped at an error.
    Failed(Vec<Diagnostic>),
}

/// What is wrong with a file before any kernel is solved: syntax, names, types. Kernels are checked when they are launched.
pub fn front_diagnostics(db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
    let mut found = hx_base::syntax_diagnostics(db, file).clone();
    found.extend(hx_hir::file_diagnostics(db, file).iter().cloned());
    sort_diagnostics(db, &mut found);
    found
}

/// The errors that keep the body of a test or `main` from being evaluated: its own, and those of the file that belong to no
/// kernel, function or other body. A kernel's errors show where it is launched.
pub(crate) fn blocking<'db>(db: &'db dyn Db, item: Item<'db>, front: &[Diagnostic]) -> Vec<Diagnostic> {
    let file = item.file(db);
    let others: Vec<TextRange> = file_items(db, file)
        .items
        .iter()
        .filter(|other| **other != item && !matches!(other, Item::Use(_) | Item::Const(_)))
        .map(|other| item_range(db, *other))
        .collect();
    let elsewhere = |d: &Diagnostic| {
        d.primary.file == file && others.iter().any(|range| range.contains_range(d.primary.range))
    };
    front.iter().filter(|d| d.is_error() && !elsewhere(d)).cloned().collect()
}

/// Runs the `main` of a file. `surroundings` takes what it prints, and may stop it.
pub fn run_main(
    db: &dyn Db,
    file: SourceFile,
    machine: &Machine,
    options: Options,
    surroundings: &mut dyn Surroundings,
    stop: &AtomicBool,
    deadline: Option<Instant>,
) -> RunOutcome {
    let front = front_diagnostics(db, file);
    let Some(main) = file_items(db, file).main() else {
        if front.iter().any(Diagnostic::is_error) {
            return RunOutcome::Refused(front);
        }
        let start = TextRange::empty(0.into());
        let missing = Diagnostic::new(&codes::HOST_ERROR, file, start, "the file has no `main { … }` to run");
        return RunOutcome::Refused(vec![
            missing.help("`hx test` runs its tests, `hx check` checks its kernels"),
        ]);
    };
    let found = blocking(db, Item::Main(main), &front);
    if !found.is_empty() {
        return RunOutcome::Refused(found);
    }
    let mut launcher = Launcher::new(db, machine, deadline, stop);
    let mut session = Session::new(db, &mut launcher, surroundings, options);
    match session.run(Item::Main(main), None) {
        Ok(_) => RunOutcome::Finished,
        Err(error) => RunOutcome::Failed(error.diagnostics(db)),
    }
}
