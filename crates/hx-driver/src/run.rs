//! Running a file's `main { … }`.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use hx_base::{Diagnostic, SourceFile, TextRange, codes, sort_diagnostics};
use hx_compile::Db;
use hx_hir::{Item, Sound, file_items, reached_errors};
use hx_host::eval::{Options, Session, Surroundings};

use crate::launch::Launcher;
use crate::machine::Machine;

/// What became of `main`.
#[derive(Clone, Debug)]
pub enum RunOutcome {
    /// It ended.
    Finished,
    /// `main` has errors, or uses something that has; or there is none. Nothing ran.
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

/// Errors of other files than these in what their items use. They are reported where they are, though nobody asked about
/// those files: nothing that uses them is built.
pub fn foreign_errors(db: &dyn Db, files: &[SourceFile]) -> Vec<Diagnostic> {
    let items = files.iter().flat_map(|file| &file_items(db, *file).items);
    let errors = items.flat_map(|item| reached_errors(db, *item));
    let mut found: Vec<Diagnostic> =
        errors.filter(|error| !files.contains(&error.primary.file)).cloned().collect();
    sort_diagnostics(db, &mut found);
    found
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
    let Some(main) = file_items(db, file).main() else {
        let front = front_diagnostics(db, file);
        if front.iter().any(Diagnostic::is_error) {
            return RunOutcome::Refused(front);
        }
        let start = TextRange::empty(0.into());
        let missing = Diagnostic::new(&codes::HOST_ERROR, file, start, "the file has no `main { … }` to run");
        return RunOutcome::Refused(vec![
            missing.help("`hx test` runs its tests, `hx check` checks its kernels"),
        ]);
    };
    let Some(sound) = Sound::of(db, Item::Main(main)) else {
        return RunOutcome::Refused(reached_errors(db, Item::Main(main)).clone());
    };
    let mut launcher = Launcher::new(db, machine, deadline, stop);
    let mut session = Session::new(db, &mut launcher, surroundings, options);
    match session.run(sound, None) {
        Ok(_) => RunOutcome::Finished,
        Err(error) => RunOutcome::Failed(error.diagnostics(db)),
    }
}
