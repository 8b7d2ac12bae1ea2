//! The lines of an entry in the line editor: the margin of continuation lines, and their indentation.
//!
//! The line editor has no continuation prompt. So each line after the first begins with [`MARGIN`], which is as wide as the prompt:
//! code of all lines starts in the same column, and the highlighter draws `...` over the spaces. The margin is in the edited text
//! and in the history, and is removed before the entry runs.

use hx_syntax::Completeness;

use crate::entries::{LEVEL, completeness_of, indentation};

/// The prompt of an entry.
pub(crate) const PROMPT: &str = "hx> ";

/// The spaces at the start of a continuation line.
pub(crate) const MARGIN: &str = "    ";
/// The text that is drawn over a margin.
pub(crate) const CONTINUATION: &str = "... ";

/// The reaction to the return key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Return {
    /// Evaluate the entry.
    Run,
    /// Insert a line break and this text.
    Insert(String),
    /// Replace the whole entry with this text, and put the cursor at its end.
    Replace(String),
}

/// Decides what the return key does in a text with the cursor at a byte offset. An incomplete entry goes on in the next line; two
/// empty lines end it, so that its errors are shown.
pub(crate) fn on_return(text: &str, at: usize) -> Return {
    let is_at_end = text[at..].trim().is_empty();
    let is_left = is_at_end && ends_with_empty_lines(text);
    if text.trim().is_empty() || is_left || !is_incomplete(&without_prompts(&without_margin(text))) {
        return Return::Run;
    }
    if is_at_end && !has_margin(text) {
        let text = with_margin(text.trim_end());
        return Return::Replace(format!("{text}\n{}", start_of_line(&text)));
    }
    Return::Insert(format!("\n{}", start_of_line(&text[..at])))
}

fn is_incomplete(entry: &str) -> bool {
    completeness_of(entry) == Completeness::Incomplete
}

/// Reports whether the last two lines of an entry of at least three lines are empty.
fn ends_with_empty_lines(text: &str) -> bool {
    let mut last = text.rsplit('\n').map(str::trim);
    last.next() == Some("") && last.next() == Some("") && last.next().is_some()
}

/// Returns the margin and the indentation of the line after a text.
pub(crate) fn start_of_line(before: &str) -> String {
    // An unfinished argument of a command is indented like any other entry.
    format!("{MARGIN}{}", indentation(before))
}

/// Decides what a closing bracket does if it is the first character of its line: it gets the indentation of the line with the
/// opening bracket. Returns the offset of the line's start, and the line's text with the bracket. `None` if the bracket is only
/// inserted.
pub(crate) fn dedented(before: &str, bracket: char) -> Option<(usize, String)> {
    let (above, line) = before.rsplit_once('\n')?;
    let start = format!("{}{bracket}", start_of_line(&format!("{above}{bracket}")));
    (line.trim().is_empty() && line.len() >= start.len()).then_some((above.len() + 1, start))
}

/// Decides what the backspace key does in indentation: it removes up to four spaces, and at the margin it joins the line with the
/// line above. Returns the offset from which the text before the cursor is replaced, and its replacement. `None` elsewhere.
pub(crate) fn on_backspace(before: &str) -> Option<(usize, String)> {
    let (above, line) = before.rsplit_once('\n')?;
    if !line.chars().all(|c| c == ' ') || line.len() < MARGIN.len() {
        return None;
    }
    Some(match line.len() - MARGIN.len() {
        0 => (above.len(), String::new()),
        inside => (above.len() + 1, " ".repeat(MARGIN.len() + (inside - 1) / LEVEL * LEVEL)),
    })
}

/// Reports whether each line after the first begins with the margin. Blank lines always count, because an editor may have trimmed
/// them.
pub(crate) fn has_margin(text: &str) -> bool {
    text.split('\n').skip(1).all(|line| line.starts_with(MARGIN) || line.trim().is_empty())
}

/// Removes the margins, and the indentation of empty lines.
pub(crate) fn without_margin(text: &str) -> String {
    if !has_margin(text) {
        return text.to_owned();
    }
    let bare =
        |line: &str| if line.trim().is_empty() { String::new() } else { line[MARGIN.len()..].to_owned() };
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |text, line| text + "\n" + &bare(line))
}

/// Adds the margin to each line after the first.
pub(crate) fn with_margin(plain: &str) -> String {
    plain.replace('\n', &format!("\n{MARGIN}"))
}

/// Draws [`CONTINUATION`] over the margins of a coloured text. `paint` colours it.
pub(crate) fn marked(colored: &str, paint: &dyn Fn(&str) -> String) -> String {
    let mut lines = colored.split('\n');
    let mut out = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        // The colour of a comment or string that spans lines is repeated at the start of each line, before the margin.
        let escape = line.strip_prefix('\x1b').and_then(|rest| rest.find('m')).map_or(0, |end| end + 2);
        let (escape, rest) = line.split_at(escape);
        out.push('\n');
        match rest.strip_prefix(MARGIN) {
            Some(rest) => {
                out += &paint(CONTINUATION);
                out += escape;
                out += rest;
            }
            None => out += line,
        }
    }
    out
}

/// Removes the prompts and the outputs of a transcript, so that a copied session can be pasted into another one. The lines
/// after a prompt belong to its entry while that is incomplete; all others are outputs. A text that does not begin with a
/// prompt is unchanged.
pub(crate) fn without_prompts(text: &str) -> String {
    let mut entries: Vec<String> = Vec::new();
    for line in text.lines() {
        if let Some(first) = line.trim_start().strip_prefix(PROMPT) {
            entries.push(first.to_owned());
        } else if let Some(last) = entries.last_mut().filter(|entry| is_incomplete(entry)) {
            let line = if line.trim() == CONTINUATION.trim() { "" } else { line };
            *last = format!("{last}\n{}", line.strip_prefix(CONTINUATION).unwrap_or(line));
        } else if entries.is_empty() {
            return text.to_owned();
        }
    }
    entries.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_return(text: &str, expected: Return) {
        let at = text.find('|').expect("a cursor");
        assert_eq!(on_return(&text.replace('|', ""), at), expected, "{text}");
    }

    #[test]
    fn the_return_key_continues_what_is_open() {
        let insert = |text: &str| Return::Insert(text.to_owned());
        check_return("1 + 1|", Return::Run);
        check_return("|1 + 1", Return::Run);
        check_return("|", Return::Run);
        check_return("kernel k() {|", insert("\n        "));
        check_return("kernel k() {\n        f(|", insert("\n            "));
        check_return("let a =|", insert("\n    "));
        // The cursor is in the middle of an open block.
        check_return("kernel k() {|\n        let a = 1;", insert("\n        "));
        // An error inside of the brace does not end the entry.
        check_return("kernel k() {\n        let a = ];|", insert("\n        "));
        check_return("kernel k() {\n        let a = ];\n    }|", Return::Run);
        check_return("let a = 1 ]|", Return::Run);
        check_return(":time for i in 0..2 {|", insert("\n        "));
        check_return(":load (|", Return::Run);
    }

    #[test]
    fn two_empty_lines_end_an_entry() {
        check_return("kernel k() {\n        |", Return::Insert("\n        ".to_owned()));
        check_return("kernel k() {\n        \n        |", Return::Run);
        check_return("kernel k() {\n        \n|        \n    }", Return::Run);
    }

    #[test]
    fn pasted_lines_get_a_margin_when_the_entry_goes_on() {
        check_return(
            "fn f() {\nlet a = 1;|",
            Return::Replace("fn f() {\n    let a = 1;\n        ".to_owned()),
        );
        check_return("fn f() {\nlet a = 1;\n}|", Return::Run);
    }

    /// Returns the text before the cursor after a replacement.
    fn after(before: &str, replacement: Option<(usize, String)>) -> Option<String> {
        replacement.map(|(start, text)| format!("{}{text}", &before[..start]))
    }

    #[test]
    fn a_closing_bracket_goes_back_one_level() {
        let check = |before: &str, bracket, expected: Option<&str>| {
            assert_eq!(after(before, dedented(before, bracket)).as_deref(), expected, "{before}");
        };
        check("kernel k() {\n        ", '}', Some("kernel k() {\n    }"));
        check("k() {\n        f(\n            ", ')', Some("k() {\n        f(\n        )"));
        check("kernel k() {\n    ", '}', None);
        check("kernel k() {\n        f", '}', None);
        check("f(", ')', None);
    }

    #[test]
    fn backspace_removes_a_level_and_then_the_line() {
        let check = |before: &str, expected: Option<&str>| {
            assert_eq!(after(before, on_backspace(before)).as_deref(), expected, "{before}");
        };
        check("f(\n            ", Some("f(\n        "));
        check("f(\n       ", Some("f(\n    "));
        check("f(\n    ", Some("f("));
        check("f(\n    a", None);
        check("    ", None);
    }

    #[test]
    fn margins_are_drawn_and_removed() {
        let text = "f(\n        1,\n\n    )";
        assert_eq!(without_margin(text), "f(\n    1,\n\n)");
        assert_eq!(without_margin("f(\n    1,\n)"), "f(\n    1,\n)");
        assert_eq!(without_margin(&with_margin("a\nb")), "a\nb");
        let paint = |text: &str| format!("<{text}>");
        assert_eq!(
            marked("/* a\n\x1b[90m    b */\x1b[0m\n    c", &paint),
            "/* a\n<... >\x1b[90mb */\x1b[0m\n<... >c"
        );
    }

    #[test]
    fn a_pasted_transcript_loses_its_prompts_and_outputs() {
        assert_eq!(without_prompts("hx> f(\n...     1)\n1\nhx> 2\n2"), "f(\n    1)\n2");
        assert_eq!(without_prompts("hx> f(\n    1)\n1"), "f(\n    1)");
        assert_eq!(without_prompts("let a = 1\nhx> 2"), "let a = 1\nhx> 2");
    }
}
