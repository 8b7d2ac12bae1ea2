//! Runs a file's `main { … }`.

use hx_base::interrupt::{Ended, Until};
use hx_base::{Diagnostic, SourceFile, TextRange, codes};
use hx_hir::{Item, Sound, file_items, reached_errors};
use hx_host::eval::{Options, Session, Surroundings};
use hx_inspect::{FormatReport, front_diagnostics};
use hx_launch::{Launcher, Machine, Reporting, Tuned};
use hx_workspace::Database;

use crate::bounded::{ended_at, ended_in};

/// The result of running `main`.
#[derive(Clone, Debug)]
pub enum RunOutcome {
    /// `main` ran to its end.
    Finished,
    /// Refused before it ran, because `main` is missing, has errors, or uses an item that has errors.
    Refused(Vec<Diagnostic>),
    /// `main` stopped at an error, or ran out of time.
    Failed(Vec<Diagnostic>),
}

/// The choices of a run that concern its launches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Launches<'t> {
    /// The order of events on the simulator.
    pub order: u64,
    /// Arguments of tuned kernels.
    pub tuned: Option<&'t Tuned>,
    /// The form in which each launch on the simulator reports its counters.
    pub report: Option<&'t dyn FormatReport>,
}

/// Runs the `main` of a file, at the longest until `until`. `surroundings` receives its prints.
pub fn run_main(
    db: &Database,
    file: SourceFile,
    machine: &Machine,
    launches: Launches<'_>,
    options: Options,
    surroundings: &mut dyn Surroundings,
    until: Until<'_>,
) -> RunOutcome {
    let Some(main) = file_items(db, file).main().map(Item::Main) else {
        let front =
            until.run(db, |db| front_diagnostics(db, file)).unwrap_or_else(|Ended| vec![ended_in(file)]);
        if front.iter().any(Diagnostic::is_error) {
            return RunOutcome::Refused(front);
        }
        let start = TextRange::empty(0.into());
        let missing = Diagnostic::new(&codes::HOST_ERROR, file, start, "the file has no `main { … }` to run");
        return RunOutcome::Refused(vec![
            missing.help("`hx test` runs its tests, `hx check` checks its kernels"),
        ]);
    };
    let key = main.key(db);
    let ran = until.run(db, |db| {
        // Look the item up again through this handle of the database.
        let sound = key.find(db).and_then(|main| Sound::of(db, main))?;
        let mut launcher = Launcher::new(db, machine, until)
            .in_order(launches.order)
            .with_tuned(launches.tuned)
            .reporting(launches.report.map_or(Reporting::Off, Reporting::Each));
        let mut session = Session::new(db, &mut launcher, surroundings, options);
        Some(session.run(sound, None).map(drop))
    });
    match ran {
        Ok(Some(Ok(()))) => RunOutcome::Finished,
        Ok(Some(Err(error))) => RunOutcome::Failed(error.diagnostics(db)),
        Ok(None) => RunOutcome::Refused(reached_errors(db, main).clone()),
        Err(Ended) => RunOutcome::Failed(vec![ended_at(db, main)]),
    }
}
