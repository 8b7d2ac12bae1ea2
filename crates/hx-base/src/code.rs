//! What a code is, and how one is found. The codes themselves are in [`crate::codes`].

use crate::{Severity, codes, nearest};

/// One kind of finding: its number, which never changes its meaning, its name, and the page that explains it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code {
    /// `HX` and four digits, the first two of which name the family.
    pub id: &'static str,
    /// Kebab-case.
    pub name: &'static str,
    /// The level it has unless something says otherwise.
    pub severity: Severity,
    /// One line: what was found. Lower-case start, no final stop.
    pub summary: &'static str,
    /// Markdown as it stands in doc comments: each line may begin with one space.
    pub(crate) doc: &'static str,
}

impl Code {
    /// The page in Markdown: what it means, an example that has it, and an example that mends it.
    pub fn explanation(&self) -> String {
        let lines = self.doc.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end());
        let mut text = String::new();
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    /// The `.hx` blocks of the page, each with whether it is meant to have the finding.
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

/// Every code, ordered by its number.
pub fn all_codes() -> impl Iterator<Item = &'static Code> {
    codes::FAMILIES.iter().flat_map(|family| family.iter().copied())
}

/// The code with this number or this name; case does not matter.
pub fn code(id: &str) -> Option<&'static Code> {
    all_codes().find(|code| code.id.eq_ignore_ascii_case(id) || code.name.eq_ignore_ascii_case(id))
}

/// The code whose number or name is nearest to a text that is neither, if one is near.
pub fn nearest_code(text: &str) -> Option<&'static Code> {
    nearest(text, all_codes().flat_map(|code| [code.name, code.id])).and_then(code)
}
