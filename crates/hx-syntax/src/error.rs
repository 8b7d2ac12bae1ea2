//! Syntax errors as plain data. Rendering is elsewhere.

use rowan::TextRange;

/// A syntax error: a stable code of the family `HX00xx`, what was found and expected, and the place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SyntaxError {
    /// A code of [`codes`].
    pub code: &'static str,
    /// The message: lower-case start, no final stop, code in backticks.
    pub message: String,
    /// The wrong bytes; empty if something is missing.
    pub range: TextRange,
}

impl SyntaxError {
    pub(crate) fn new(code: &'static str, message: impl Into<String>, range: TextRange) -> Self {
        SyntaxError { code, message: message.into(), range }
    }
}

/// The codes of this crate.
pub mod codes {
    /// Something else was expected here.
    pub const UNEXPECTED: &str = "HX0001";
    /// A string that does not end on its line.
    pub const UNTERMINATED_STRING: &str = "HX0002";
    /// A block comment that does not end.
    pub const UNTERMINATED_COMMENT: &str = "HX0003";
    /// A character that starts no token, a non-ASCII character in a name, or one that is forbidden everywhere: a line end that
    /// only some tools count, or a control of the text's direction.
    pub const BAD_CHARACTER: &str = "HX0004";
    /// A character that looks like one of the language and is another.
    pub const CONFUSABLE: &str = "HX0005";
    /// A malformed number.
    pub const BAD_NUMBER: &str = "HX0006";
    /// An escape that strings do not have.
    pub const BAD_ESCAPE: &str = "HX0007";
    /// Code nested too deeply.
    pub const TOO_DEEP: &str = "HX0008";
    /// A bracket without its partner.
    pub const UNBALANCED: &str = "HX0009";
    /// Comparisons in a row, or layouts in a row, which have no meaning without parentheses.
    pub const NEEDS_PARENS: &str = "HX0010";
    /// A construct in a place where it has no meaning (a closure outside arguments, `new` outside an index, ...).
    pub const MISPLACED: &str = "HX0011";
    /// A label where labels have no meaning, or a layout that reads as a label.
    pub const BAD_LABEL: &str = "HX0012";
    /// Something another language has and this one writes differently.
    pub const OTHER_LANGUAGE: &str = "HX0013";
    /// A part that is given twice (a clause of a header, a doc comment with nothing to document, ...).
    pub const DUPLICATE: &str = "HX0014";

    /// Every code of this crate with its name and one line of summary, ordered by code.
    pub const ALL: &[(&str, &str, &str)] = &[
        (UNEXPECTED, "unexpected-token", "something else was expected here"),
        (UNTERMINATED_STRING, "unterminated-string", "a string does not end on its line"),
        (UNTERMINATED_COMMENT, "unterminated-comment", "a block comment does not end"),
        (BAD_CHARACTER, "bad-character", "a character that no token starts with"),
        (CONFUSABLE, "confusable-character", "a character that looks like another one that was meant"),
        (BAD_NUMBER, "bad-number", "a malformed number"),
        (BAD_ESCAPE, "bad-escape", "an escape that strings do not have"),
        (TOO_DEEP, "too-deep", "code is nested too deeply"),
        (UNBALANCED, "unbalanced-delimiter", "a bracket has no partner"),
        (NEEDS_PARENS, "needs-parentheses", "operators in a row that need parentheses"),
        (MISPLACED, "misplaced-construct", "a construct in a place where it has no meaning"),
        (BAD_LABEL, "bad-label", "a label where labels have no meaning"),
        (OTHER_LANGUAGE, "foreign-syntax", "something that another language writes this way"),
        (DUPLICATE, "duplicate-part", "a part that is given twice"),
    ];
}
