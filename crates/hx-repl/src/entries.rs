//! Splits a longer text, such as a notebook's cell, into entries, and tells whether its author is still typing.

use hx_syntax::{Completeness, completeness, open_brackets};

/// Spaces of a level of indentation.
pub(crate) const LEVEL: usize = 4;

/// An entry of a longer text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<'a> {
    /// The offset of the entry in the text, in bytes.
    pub start: usize,
    pub text: &'a str,
}

/// Splits a text into entries whose concatenation is the text. A line that begins with `:` or `?` is an entry; all lines between
/// two such lines are one entry. A command with an unfinished expression continues in the next lines, and `:time` alone on its
/// line times the entry after it.
pub fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut found = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        let before = &text[start..at];
        let ends = (is_command(line) || is_command(before)) && !goes_on(before);
        if ends && !before.is_empty() {
            found.push(Entry { start, text: before });
            start = at;
        }
        at += line.len();
    }
    if start < text.len() {
        found.push(Entry { start, text: &text[start..] });
    }
    found
}

/// Reports whether a text is a `:command` or `?name`.
pub(crate) fn is_command(text: &str) -> bool {
    text.trim_start().starts_with([':', '?'])
}

/// Reports whether the line after an entry belongs to it.
fn goes_on(entry: &str) -> bool {
    let Some(command) = entry.trim_start().strip_prefix(':') else {
        return !is_command(entry) && is_unfinished(entry);
    };
    let (name, argument) = command.split_at(command.find(char::is_whitespace).unwrap_or(command.len()));
    match name {
        "time" if argument.trim_start_matches([' ', '\t', '\r']).starts_with('\n') => true,
        "time" | "type" | "layout" => is_unfinished(argument),
        _ => false,
    }
}

fn is_unfinished(text: &str) -> bool {
    !text.trim().is_empty() && completeness(text) == Completeness::Incomplete
}

/// Classifies a text of several entries: `Incomplete` if its last entry is.
pub fn completeness_of(text: &str) -> Completeness {
    match entries(text).last() {
        Some(last) if is_command(last.text) => {
            if goes_on(last.text) && !last.text.trim_end().ends_with(":time") {
                Completeness::Incomplete
            } else {
                Completeness::Complete
            }
        }
        Some(last) => completeness(last.text),
        None => Completeness::Complete,
    }
}

/// Returns the indentation of the line after a text: four spaces for each open bracket.
pub fn indentation(text: &str) -> String {
    " ".repeat(LEVEL * open_brackets(text).len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found = entries(text);
        assert_eq!(found.iter().map(|entry| entry.text).collect::<Vec<_>>(), expected);
        assert!(found.iter().all(|entry| text[entry.start..].starts_with(entry.text)));
    }

    #[test]
    fn commands_are_entries_of_their_own() {
        check("", &[]);
        check("let a = 1\na + 1\n", &["let a = 1\na + 1\n"]);
        check("let a = 1\n:type a\na", &["let a = 1\n", ":type a\n", "a"]);
        check("?arange\n:help\n", &["?arange\n", ":help\n"]);
    }

    #[test]
    fn a_line_inside_of_brackets_is_no_command() {
        check("let t = (\n:help\n", &["let t = (\n:help\n"]);
    }

    #[test]
    fn a_command_goes_on_while_its_expression_does() {
        check(
            ":time for i in 0..2 {\n    print(i)\n}\n1",
            &[":time for i in 0..2 {\n    print(i)\n}\n", "1"],
        );
        check(":time\nlet a = 1\na\n", &[":time\nlet a = 1\na\n"]);
        check(":load a.hx\nf(", &[":load a.hx\n", "f("]);
    }

    #[test]
    fn the_last_entry_decides_whether_a_text_is_complete() {
        assert_eq!(completeness_of("let a = 1\n:type a"), Completeness::Complete);
        assert_eq!(completeness_of(":type a\nfor i in 0..2 {"), Completeness::Incomplete);
        assert_eq!(completeness_of(":time f("), Completeness::Incomplete);
        assert_eq!(completeness_of(":time"), Completeness::Complete);
        assert_eq!(completeness_of("a )"), Completeness::Invalid);
        assert_eq!(indentation("kernel k() {\n    f("), "        ");
        assert_eq!(indentation("f())"), "");
    }
}
