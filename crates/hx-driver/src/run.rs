//! Running a file's `main { … }`.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use hx_base::{Diagnostic, SourceFile, codes};
use hx_compile::Db;
use hx_hir::{Item, file_items};
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
    hx_base::syntax_diagnostics(db, file).clone()
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
    let found = front_diagnostics(db, file);
    if found.iter().any(Diagnostic::is_error) {
        return RunOutcome::Refused(found);
    }
    let Some(main) = file_items(db, file).main() else {
        let start = hx_base::TextRange::empty(0.into());
        let missing = Diagnostic::new(&codes::HOST_ERROR, file, start, "the file has no `main { … }` to run");
        return RunOutcome::Refused(vec![
            missing.help("`hx test` runs its tests, `hx check` checks its kernels"),
        ]);
    };
    let mut launcher = Launcher::new(db, machine, deadline, stop);
    let mut session = Session::new(db, &mut launcher, surroundings, options);
    match session.run(Item::Main(main), None) {
        Ok(_) => RunOutcome::Finished,
        Err(error) => RunOutcome::Failed(error.diagnostics(db)),
    }
}
