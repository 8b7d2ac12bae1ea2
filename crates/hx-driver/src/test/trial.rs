//! One case of a test with a `forall`, and everything that running it takes.

use std::sync::atomic::AtomicBool;

use hx_base::Diagnostic;
use hx_base::interrupt::Ended;
use hx_hir::{Item, Sound, reached_errors};
use hx_host::device::NoDevice;
use hx_host::eval::{EvalResult, Options, Session};
use hx_launch::Machine;
use hx_workspace::Database;

use super::{Case, CaseReport, TestOptions, run_guarded};
use crate::bounded::{WorkLimit, ended_at};

/// The reason of a skip because `assume` does not hold.
pub(super) const REFUSED: &str = "`assume` does not hold for it";

/// The way in which a test with a `forall` runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Property {
    /// Cases are drawn. The cases of this list, which failed when the test was last run, run before them.
    Drawn(Vec<String>),
    /// One case runs, which a filter named by its values: `m = 65, T = bf16`.
    Given(String),
    /// As [`Property::Given`], for the search: a failure is not explained down to the kernel.
    Trial(String),
}

impl Property {
    /// Returns the values of the one case that runs; `None` if cases are drawn.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Property::Drawn(_) => None,
            Property::Given(text) | Property::Trial(text) => Some(text),
        }
    }
}

/// The result of drawing the cases of a test.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// The number of cases that ran, including the one that failed.
    pub cases: usize,
    /// The values of the smallest case that fails.
    pub failing: Option<String>,
}

impl CaseReport {
    /// Returns the name that runs the failed case alone: that of the smallest failing case of a `forall`, otherwise that of the
    /// case.
    pub fn rerun_name(&self) -> String {
        match self.drawn.as_ref().and_then(|drawn| drawn.failing.as_ref()) {
            Some(text) => format!("{}[{text}]", self.case.name),
            None => self.case.name.clone(),
        }
    }
}

impl Case {
    /// Returns the case with the values of cases that run first, if it is a test with a `forall`.
    #[must_use]
    pub fn starting_with(mut self, failed: Vec<String>) -> Case {
        if let Some(Property::Drawn(known)) = &mut self.property {
            *known = failed;
        }
        self
    }

    /// Returns the name of the test: that of the case, without the values of a case of a `forall`.
    pub fn test_name(&self) -> &str {
        match self.property.as_ref().and_then(Property::text) {
            Some(text) => self.name.strip_suffix(&format!("[{text}]")).unwrap_or(&self.name),
            None => &self.name,
        }
    }
}

/// One run of a test: everything that running a case takes.
#[derive(Clone, Copy)]
pub(crate) struct Run<'r> {
    pub(crate) db: &'r Database,
    pub(crate) case: &'r Case,
    pub(crate) machine: &'r Machine,
    pub(crate) options: &'r TestOptions<'r>,
    pub(crate) stop: &'r AtomicBool,
}

impl Run<'_> {
    /// Runs the case of these values.
    pub(super) fn one(&self, property: fn(String) -> Property, text: &str) -> CaseReport {
        let case = Case {
            name: format!("{}[{text}]", self.case.name),
            property: Some(property(text.to_owned())),
            ..self.case.clone()
        };
        run_guarded(Run { case: &case, ..*self })
    }

    /// Computes with the `forall` of the test, on the host and within the time limit of a case.
    ///
    /// # Errors
    /// The diagnostics of the failure; none if the test is no longer in its file.
    pub(super) fn host<R>(
        &self,
        work: impl for<'s> FnOnce(&mut Session<'s>, Sound<Item<'s>>) -> EvalResult<R>,
    ) -> Result<R, Vec<Diagnostic>> {
        let Some(item) = self.case.test.find(self.db) else { return Err(Vec::new()) };
        let until = WorkLimit { stop: self.stop, limit: self.options.timeout }.from_now();
        let done = until.run(self.db, |db| {
            let sound = self.case.test.find(db).and_then(|item| Sound::of(db, item))?;
            let (mut device, mut surroundings) = (NoDevice, Vec::<String>::new());
            let mut session = Session::new(db, &mut device, &mut surroundings, Options::default());
            Some(work(&mut session, sound))
        });
        match done {
            Ok(Some(done)) => done.map_err(|error| error.diagnostics(self.db)),
            Ok(None) => Err(reached_errors(self.db, item).clone()),
            Err(Ended) => Err(vec![ended_at(self.db, item)]),
        }
    }

    /// Returns a report of the test that failed with these diagnostics.
    pub(super) fn failed(&self, found: Vec<Diagnostic>) -> CaseReport {
        super::failed(self.case, found)
    }
}
