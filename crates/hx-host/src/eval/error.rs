//! An error with its expression, and its conversion to diagnostics.

use hx_base::{Diagnostic, TextRange};
use hx_hir::{Db, ExprId, ItemKey, PatId, body_source_map, item_range};

use crate::error::HostError;

/// The message of the label that [`EvalError::diagnostics`] adds last, at the launch, to each finding of a kernel.
const IN_LAUNCH: &str = "in this launch";

/// Returns a kernel's finding without its launch, so that it equals the same finding of another launch. Returns `None` for a
/// finding that is not a kernel's.
pub fn without_launch(found: &Diagnostic) -> Option<Diagnostic> {
    let mut found = found.clone();
    (found.secondary.pop()?.message == IN_LAUNCH).then_some(found)
}

/// The part of a body that an error belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BodyPart {
    Expr(ExprId),
    Pat(PatId),
    /// The item as a whole.
    Item,
}

/// The reason why an evaluation ended early.
#[derive(Clone, Debug)]
pub struct EvalError {
    /// The item whose body holds the place.
    pub item: ItemKey,
    pub at: BodyPart,
    pub error: Box<HostError>,
    /// Findings at the kernel's own places, if the error is in a kernel. They are more precise than `error`.
    pub found: Vec<Diagnostic>,
}

impl EvalError {
    /// Returns the place in the file. It is the whole item for [`BodyPart::Item`] or if the text has changed meanwhile, and empty if
    /// the item is gone.
    pub fn range(&self, db: &dyn Db) -> TextRange {
        range_of(db, &self.item, self.at)
    }

    /// Returns the diagnostics to show: the findings in the kernel, each with a label at the launch, or else the error itself.
    pub fn diagnostics(&self, db: &dyn Db) -> Vec<Diagnostic> {
        let (file, range) = (self.item.file, self.range(db));
        if !self.found.is_empty() {
            let launched = |d: &Diagnostic| d.clone().also(file, range, IN_LAUNCH);
            return self.found.iter().map(launched).collect();
        }
        let mut out = Diagnostic::new(self.error.code, file, range, self.error.message.clone());
        for label in &self.error.labels {
            out = out.also(label.file, label.range, label.message.clone());
        }
        for note in &self.error.notes {
            out = out.note(note.clone());
        }
        if let Some(help) = &self.error.help {
            out = out.help(help.clone());
        }
        vec![out]
    }
}

/// Returns the place of a part of an item in its file, as [`EvalError::range`] says.
pub fn range_of(db: &dyn Db, item: &ItemKey, at: BodyPart) -> TextRange {
    let Some(item) = item.find(db) else { return TextRange::default() };
    let map = body_source_map(db, item);
    let range = match at {
        BodyPart::Expr(id) => map.and_then(|m| m.expr(id)),
        BodyPart::Pat(id) => map.and_then(|m| m.pat(id)),
        BodyPart::Item => None,
    };
    range.map_or_else(|| item_range(db, item), |r| r + item.offset(db))
}
