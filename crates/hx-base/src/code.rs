//! The type of a code, and the lookup of codes. The codes themselves are in [`crate::codes`].

use crate::{Severity, codes, nearest};

/// A kind of finding, with its number, its name, and the page that explains it. The number never changes its meaning.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code {
    /// `HX` and four digits; the first two name the family.
    pub id: &'static str,
    /// The name in kebab-case.
    pub name: &'static str,
    /// The default severity.
    pub severity: Severity,
    /// A line that says what was found. Lower-case start, no final stop.
    pub summary: &'static str,
    pub status: Status,
    /// The page in Markdown. It comes from a doc comment, so each line may begin with a space that is no part of the text.
    pub(crate) doc: &'static str,
}

/// Whether findings of this code exist. The number of a code is never given to another kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Stages report findings of this code since this version of hx.
    Reported { since: &'static str },
    /// The code is a page of advice that this command shows; no finding has the code.
    Shown { by: &'static str },
    /// The meaning of the code is fixed, but no stage reports it yet.
    Reserved,
}

impl Status {
    /// Returns the remark that a list adds to the summary, such as ` (not reported yet)`; empty for a reported code.
    pub fn aside(self) -> String {
        match self {
            Status::Reported { .. } => String::new(),
            Status::Shown { by } => format!(" (shown by `{by}`)"),
            Status::Reserved => " (not reported yet)".to_owned(),
        }
    }

    /// Returns the first sentence of the page, or `None` for a reported code.
    fn remark(self) -> Option<String> {
        match self {
            Status::Reported { .. } => None,
            Status::Shown { by } => Some(format!("Shown by `{by}`, not reported.")),
            Status::Reserved => Some("Not reported yet.".to_owned()),
        }
    }
}

impl Code {
    /// Returns the page in Markdown: the status of a code that is not reported, the meaning, an example with the finding, and an
    /// example that fixes it.
    pub fn explanation(&self) -> String {
        let lines = self.doc.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end());
        let mut text = self.status.remark().map_or_else(String::new, |remark| format!("{remark}\n"));
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    /// Returns the `.hx` examples of the page, each after a flag that is true if the example must produce the finding.
    pub fn examples(&self) -> Vec<(bool, String)> {
        let mut examples = Vec::new();
        let mut open: Option<(Option<bool>, String)> = None;
        for line in self.explanation().lines() {
            match (&mut open, line.strip_prefix("```")) {
                (None, Some(tag)) => {
                    let fails = match tag {
                        "hx" => Some(false),
                        "hx fails" => Some(true),
                        _ => None,
                    };
                    open = Some((fails, String::new()));
                }
                (Some(_), Some(_)) => {
                    if let Some((Some(fails), text)) = open.take() {
                        examples.push((fails, text));
                    }
                }
                (Some((_, text)), None) => {
                    text.push_str(line);
                    text.push('\n');
                }
                (None, None) => {}
            }
        }
        examples
    }
}

/// Yields every code, ordered by number.
pub fn all_codes() -> impl Iterator<Item = &'static Code> {
    codes::FAMILIES.iter().flat_map(|family| family.codes.iter().copied())
}

/// Returns the code with this number or name, ignoring case. The number may lack its `HX`. `None` if no code has it.
pub fn code(id: &str) -> Option<&'static Code> {
    let number = |code: &Code| code.id.strip_prefix("HX") == Some(id);
    all_codes()
        .find(|code| code.id.eq_ignore_ascii_case(id) || code.name.eq_ignore_ascii_case(id) || number(code))
}

/// Returns the code whose number or name is nearest to a text that is neither. `None` if [`nearest`] finds none near enough.
pub fn nearest_code(text: &str) -> Option<&'static Code> {
    nearest(text, all_codes().flat_map(|code| [code.name, code.id])).and_then(code)
}
