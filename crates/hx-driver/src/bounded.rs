//! Time limits of works, and the error of a work that ran out of time or was stopped ([`hx_base::interrupt`]).

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hx_base::interrupt::Until;
use hx_base::{Diagnostic, SourceFile, TextRange, TextSize};
use hx_hir::{Db, Item, item_range};
use hx_host::HostError;
use web_time::Instant;

/// The time limit of each of several works, and their common stop flag.
#[derive(Clone, Copy, Debug)]
pub struct WorkLimit<'a> {
    /// Stops all works once it is true.
    pub stop: &'a AtomicBool,
    pub limit: Option<Duration>,
}

impl WorkLimit<'static> {
    /// Returns limits that never end a work.
    pub fn unlimited() -> WorkLimit<'static> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        WorkLimit { stop: &NEVER, limit: None }
    }
}

impl<'a> WorkLimit<'a> {
    /// Begins a work: returns the stop flag with a deadline of now plus the limit.
    pub fn from_now(self) -> Until<'a> {
        Until { stop: self.stop, deadline: self.limit.map(|limit| Instant::now() + limit) }
    }
}

/// Returns the error of an evaluation that was stopped or ran out of time at no place of its own: it points to the item's
/// keyword.
pub(crate) fn ended_at<'db>(db: &'db dyn Db, item: Item<'db>) -> Diagnostic {
    let start = first_code(db, item);
    ended(item.file(db), TextRange::at(start, TextSize::of(item.kind().word())))
}

/// Returns the error of work on a file that ended early.
pub fn ended_in(file: SourceFile) -> Diagnostic {
    ended(file, TextRange::empty(0.into()))
}

fn ended(file: SourceFile, range: TextRange) -> Diagnostic {
    let error = HostError::stopped();
    let found = Diagnostic::new(error.code, file, range, error.message);
    error.help.into_iter().fold(found, |found, help| found.help(help))
}

/// Returns the place of the keyword that begins an item.
pub(crate) fn first_code<'db>(db: &'db dyn Db, item: Item<'db>) -> TextSize {
    let range = item_range(db, item);
    let text = item.file(db).text(db).get(std::ops::Range::<usize>::from(range)).unwrap_or_default();
    // Skip the comments, attributes and blank lines before the keyword: the item's range includes them.
    let mut before = 0;
    for line in text.split_inclusive('\n') {
        let code = line.trim_start();
        if !code.is_empty() && !code.starts_with("//") && !code.starts_with("#[") {
            before += line.len() - code.len();
            break;
        }
        before += line.len();
    }
    range.start() + TextSize::try_from(before.min(text.len())).unwrap_or_default()
}
