//! Avoids repeated diagnostics: every launch of an instance fails with the same errors of its kernel.

use hx_base::{Diagnostic, line_index};
use hx_hir::Db;
use hx_host::eval::without_launch;

/// The kernel errors reported so far in one run of tests or benches, each with the case that first reported it.
#[derive(Debug, Default)]
pub struct ReportedErrors {
    kernels: Vec<(Diagnostic, String)>,
}

impl ReportedErrors {
    /// Splits the diagnostics of a case: returns the new ones, and for each known one a line that names the case that reported
    /// it.
    pub fn news(&mut self, db: &dyn Db, case: &str, found: &[Diagnostic]) -> (Vec<Diagnostic>, Vec<String>) {
        let (mut new, mut known) = (Vec::new(), Vec::new());
        for diagnostic in found {
            let Some(of_kernel) = without_launch(diagnostic) else {
                new.push(diagnostic.clone());
                continue;
            };
            match self.kernels.iter().find(|(told, _)| *told == of_kernel) {
                Some((told, first)) => known.push(repeated(db, told, first)),
                None => {
                    self.kernels.push((of_kernel, case.to_owned()));
                    new.push(diagnostic.clone());
                }
            }
        }
        (new, known)
    }
}

/// Formats `HX0401 at k.hx:6:10, as in k.hx::t[1]`.
fn repeated(db: &dyn Db, told: &Diagnostic, first: &str) -> String {
    let file = told.primary.file;
    let at = line_index(db, file).line_col(told.primary.range.start());
    format!("{} at {}:{}:{}, as in {first}", told.code.id, file.path(db), at.line + 1, at.col + 1)
}
