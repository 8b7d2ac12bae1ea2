//! What mends a finding, from the fixes that it carries.

use hx_base::{Applicability, Diagnostic, Fix, SourceFile, TextRange};
use hx_compile::Db;

use crate::{Cancellable, Shown, catch};

/// A fix, and the finding that it mends.
#[derive(Clone, PartialEq, Debug)]
pub struct Action {
    pub title: String,
    pub fix: Fix,
    pub mends: Diagnostic,
    /// It was checked and is the only one: it may be applied without looking.
    pub preferred: bool,
}

/// The fixes of what is wrong in a range.
///
/// # Errors
/// When a newer text is waiting, or the question was withdrawn.
pub fn actions(db: &dyn Db, file: SourceFile, range: TextRange, shown: &Shown) -> Cancellable<Vec<Action>> {
    catch(|| {
        let found = hx_compile::check_file(db, file, shown.arch);
        let touched = found.iter().filter(|found| {
            let own = found.primary.file == file && found.primary.range.intersect(range).is_some();
            let also = |label: &hx_base::Label| label.file == file && label.range.intersect(range).is_some();
            own || found.secondary.iter().any(also)
        });
        let mut actions = Vec::new();
        for found in touched {
            for fix in &found.fixes {
                let verified = fix.applicability == Applicability::Verified;
                actions.push(Action {
                    title: fix.title.clone(),
                    fix: fix.clone(),
                    mends: found.clone(),
                    preferred: verified && found.fixes.len() == 1,
                });
            }
        }
        actions
    })
}
