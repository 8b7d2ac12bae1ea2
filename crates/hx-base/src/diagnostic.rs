//! Diagnostics as plain data: what is wrong, where, what else takes part, and what mends it.
//!
//! Nothing here draws: the crate `hx-report` makes terminal text and JSON, the server makes protocol messages.

use hx_syntax::TextRange;

use crate::{Code, Db, SourceFile};

/// How bad it is, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The program has no meaning, or cannot be built.
    Error,
    /// The program runs, and probably not as meant.
    Warning,
    /// Something worth knowing.
    Note,
}

impl Severity {
    /// `error`, `warning` or `note`.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// A place with a remark. The remark may be empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Label {
    /// The file of the place.
    pub file: SourceFile,
    /// Byte range in the file.
    pub range: TextRange,
    /// What this place has to do with it; lower-case start, no final stop.
    pub message: String,
}

/// How sure it is that a fix is what the author wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Applicability {
    /// It keeps the meaning and was checked: it may be applied without asking.
    Verified,
    /// It makes a program without this error; whether it is the one meant is for the author to say.
    Maybe,
    /// It contains parts for the author to fill in.
    Placeholders,
}

impl Applicability {
    /// `verified`, `maybe` or `placeholders`.
    pub fn as_str(self) -> &'static str {
        match self {
            Applicability::Verified => "verified",
            Applicability::Maybe => "maybe",
            Applicability::Placeholders => "placeholders",
        }
    }
}

/// One replacement of text. An empty range inserts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Edit {
    /// The file to change.
    pub file: SourceFile,
    /// The bytes that are replaced.
    pub range: TextRange,
    /// What they are replaced by.
    pub text: String,
}

/// A set of edits that mends the diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fix {
    /// What the fix does, in the imperative: `insert sync()`.
    pub title: String,
    /// The edits, none overlapping another.
    pub edits: Vec<Edit>,
    /// How sure it is.
    pub applicability: Applicability,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// The code; its page is what `hx explain` shows.
    pub code: &'static Code,
    /// The level, the code's own unless changed.
    pub severity: Severity,
    /// One line: what was found, then what was wanted. Lower-case start, no final stop, code in backticks.
    pub message: String,
    /// Where it is.
    pub primary: Label,
    /// The other places that take part, in the order they should be read.
    pub secondary: Vec<Label>,
    /// Facts that explain it.
    pub notes: Vec<String>,
    /// What to do about it, in words.
    pub help: Vec<String>,
    /// What to do about it, as edits.
    pub fixes: Vec<Fix>,
}

impl Diagnostic {
    /// A finding with the level of its code.
    pub fn new(code: &'static Code, file: SourceFile, range: TextRange, message: impl Into<String>) -> Self {
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

    /// Changes the level.
    #[must_use]
    pub fn with_severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// The remark at the primary place.
    #[must_use]
    pub fn label(mut self, message: impl Into<String>) -> Self {
        self.primary.message = message.into();
        self
    }

    /// Another place that takes part.
    #[must_use]
    pub fn also(mut self, file: SourceFile, range: TextRange, message: impl Into<String>) -> Self {
        self.secondary.push(Label { file, range, message: message.into() });
        self
    }

    /// A fact that explains it.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// What to do about it, in words.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// A fix of one edit in the file of the primary place.
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

    /// A fix of any number of edits.
    #[must_use]
    pub fn with_fix(mut self, fix: Fix) -> Self {
        self.fixes.push(fix);
        self
    }

    /// Whether it keeps the program from being built.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Orders diagnostics by path, position, level, code and message, and drops repetitions. The result does not depend on
/// the order in which they were found.
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
