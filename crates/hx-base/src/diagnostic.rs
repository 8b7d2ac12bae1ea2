//! Diagnostics as plain data: the error, its place, related places, and fixes.
//!
//! This module draws nothing: the crate `hx-report` renders terminal text and JSON, the server makes protocol messages.

use hx_syntax::TextRange;

use crate::{Code, Db, SourceFile, Status};

/// The severity of a finding, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The program has no meaning or cannot be built.
    Error,
    /// The program runs, but probably not as intended.
    Warning,
    /// The program is right and takes more time than it has to.
    Performance,
    /// Information for the author.
    Note,
}

impl Severity {
    /// Returns `error`, `warning`, `performance` or `note`.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Performance => "performance",
            Severity::Note => "note",
        }
    }
}

/// A place with a remark, which may be empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Label {
    pub file: SourceFile,
    /// Byte range in the file.
    pub range: TextRange,
    /// The role of this place; lower-case start, no final stop.
    pub message: String,
}

/// The certainty that a fix is what the author wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Applicability {
    /// The fix keeps the meaning and was checked: it may be applied without confirmation.
    Verified,
    /// The fix makes a program without this error. The author must decide whether it is the intended one.
    Maybe,
    /// The fix contains parts that the author must fill in.
    Placeholders,
}

impl Applicability {
    /// Returns `verified`, `maybe` or `placeholders`.
    pub fn as_str(self) -> &'static str {
        match self {
            Applicability::Verified => "verified",
            Applicability::Maybe => "maybe",
            Applicability::Placeholders => "placeholders",
        }
    }
}

/// A replacement of text. An empty range inserts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Edit {
    pub file: SourceFile,
    /// The bytes of the text before the edit that are replaced.
    pub range: TextRange,
    pub text: String,
}

/// A set of edits that fixes the diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fix {
    /// The action of the fix, in the imperative: `insert sync()`.
    pub title: String,
    /// The edits, which do not overlap.
    pub edits: Vec<Edit>,
    pub applicability: Applicability,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// The code, whose page `hx explain` shows.
    pub code: &'static Code,
    /// The severity: that of the code, unless [`Diagnostic::with_severity`] replaced it.
    pub severity: Severity,
    /// A line that says what was found, then what was expected. Lower-case start, no final stop, code in backticks.
    pub message: String,
    /// The place of the finding.
    pub primary: Label,
    /// The related places, in reading order.
    pub secondary: Vec<Label>,
    /// Facts that explain the finding.
    pub notes: Vec<String>,
    /// Advice in words.
    pub help: Vec<String>,
    /// Advice as edits.
    pub fixes: Vec<Fix>,
}

impl Diagnostic {
    /// Makes a finding with the severity of its code.
    pub fn new(code: &'static Code, file: SourceFile, range: TextRange, message: impl Into<String>) -> Self {
        debug_assert!(matches!(code.status, Status::Reported { .. }), "{} is not reported", code.id);
        Diagnostic {
            code,
            severity: code.severity,
            message: message.into(),
            primary: Label { file, range, message: String::new() },
            secondary: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
            fixes: Vec::new(),
        }
    }

    /// Replaces the severity of the code.
    #[must_use]
    pub fn with_severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Sets the remark at the primary place.
    #[must_use]
    pub fn label(mut self, message: impl Into<String>) -> Self {
        self.primary.message = message.into();
        self
    }

    /// Adds a related place.
    #[must_use]
    pub fn also(mut self, file: SourceFile, range: TextRange, message: impl Into<String>) -> Self {
        self.secondary.push(Label { file, range, message: message.into() });
        self
    }

    /// Adds a fact that explains the finding.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds advice in words.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// Adds a fix of one edit in the file of the primary place.
    #[must_use]
    pub fn fix(
        self,
        title: impl Into<String>,
        range: TextRange,
        text: impl Into<String>,
        applicability: Applicability,
    ) -> Self {
        let edits = vec![Edit { file: self.primary.file, range, text: text.into() }];
        self.with_fix(Fix { title: title.into(), edits, applicability })
    }

    /// Adds a fix of any number of edits.
    #[must_use]
    pub fn with_fix(mut self, fix: Fix) -> Self {
        self.fixes.push(fix);
        self
    }

    /// Reports whether the finding keeps the program from being built.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Sorts diagnostics by path, position, severity, code and message, and drops duplicates. The result does not depend on the order
/// in which they were found.
pub fn sort_diagnostics(db: &dyn Db, diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by(|a, b| {
        let key = |d: &Diagnostic| (d.primary.range.start(), d.primary.range.end(), d.severity, d.code.id);
        let path = a.primary.file.path(db).cmp(b.primary.file.path(db));
        path.then_with(|| key(a).cmp(&key(b))).then_with(|| a.message.cmp(&b.message))
    });
    diagnostics.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{codes, testing::TestDb};

    #[test]
    fn the_order_is_by_place_then_level_and_repetitions_go() {
        let db = TestDb::default();
        let late = SourceFile::workspace(&db, "z.hx", "abc");
        let early = SourceFile::workspace(&db, "a.hx", "abc");
        let at = |start: u32| TextRange::new(start.into(), (start + 1).into());
        let mut all = vec![
            Diagnostic::new(&codes::UNKNOWN_NAME, late, at(0), "z"),
            Diagnostic::new(&codes::UNKNOWN_NAME, early, at(2), "late"),
            Diagnostic::new(&codes::UNKNOWN_NAME, early, at(0), "warned").with_severity(Severity::Warning),
            Diagnostic::new(&codes::UNKNOWN_NAME, early, at(0), "twice"),
            Diagnostic::new(&codes::UNKNOWN_NAME, early, at(0), "twice"),
        ];
        sort_diagnostics(&db, &mut all);
        let messages: Vec<&str> = all.iter().map(|d| d.message.as_str()).collect();
        assert_eq!(messages, ["twice", "warned", "late", "z"]);
    }
}
