//! Makes text safe for a terminal. Names, titles and messages come from files that another person may have written.

use std::borrow::Cow;

/// Replaces every control character except line feeds and tabs by an escape such as `\u{1b}`, and likewise every character that
/// changes the direction of text or has no width, except for the joiners of emoji.
///
/// A terminal acts on control characters: they move its cursor, recolour or hide earlier output, and set its title. Characters
/// that change the direction of text make a name read as another one.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hidden(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Replaces each character that [`printable`] escapes by `�`, so that positions in characters stay valid; positions in bytes do
/// not. A carriage return at a line end stays.
pub fn masked(text: &str) -> Cow<'_, str> {
    let is_end = |at: usize| text[at..].starts_with("\r\n");
    let hides = |(at, c): (usize, char)| is_hidden(c) && !is_end(at);
    if !text.char_indices().any(hides) {
        return Cow::Borrowed(text);
    }
    let shown = |(at, c)| if hides((at, c)) { char::REPLACEMENT_CHARACTER } else { c };
    Cow::Owned(text.char_indices().map(shown).collect())
}

fn is_hidden(c: char) -> bool {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    // A label cannot underline a character without a width. The joiners of emoji stay: they shape their neighbours.
    let has_no_width = matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}');
    turns || has_no_width || (c.is_control() && c != '\n' && c != '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_acts_on_is_escaped() {
        assert_eq!(printable("a\tb\nc é ∀"), "a\tb\nc é ∀");
        assert_eq!(printable("\x1b[2Jx\r\u{7}\u{9b}"), "\\u{1b}[2Jx\\u{d}\\u{7}\\u{9b}");
        assert_eq!(printable("a\u{200b}b\u{feff}"), "a\\u{200b}b\\u{feff}");
        assert_eq!(printable("a\u{202e}b\u{2066}\u{7f}"), "a\\u{202e}b\\u{2066}\\u{7f}");
    }

    #[test]
    fn a_mask_keeps_every_place() {
        assert!(matches!(masked("a\r\nb\n"), Cow::Borrowed(_)));
        let text = "a\x1b[0mé\u{9b}\rb\r\n\u{b}c";
        let shown = masked(text);
        assert_eq!(shown, "a�[0mé��b\r\n�c");
        assert_eq!(shown.chars().count(), text.chars().count());
    }
}
