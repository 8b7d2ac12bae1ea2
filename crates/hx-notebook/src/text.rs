//! Offsets in characters, and texts with ANSI escapes.

/// Converts an offset in characters to one in bytes; beyond the end of the text it is the end.
pub(crate) fn byte_offset(text: &str, characters: usize) -> usize {
    text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at)
}

/// Converts an offset in bytes to one in characters; beyond the end of the text it is the end.
pub(crate) fn character_offset(text: &str, bytes: usize) -> usize {
    text.get(..bytes).unwrap_or(text).chars().count()
}

/// Returns the escape that replaces a colour of diagnostics, empty for no colour. The greys of diagnostics are made for a dark
/// terminal, but a notebook may be light, and its themes show bold colours darker.
fn notebook_escape(escape: &str) -> &str {
    match escape {
        // The program's text gets the colour of other text.
        "\x1b[38;5;249m" => "",
        // The margin with line numbers.
        "\x1b[38;5;240m" => "\x1b[38;5;246m",
        // "Note" and "Help".
        "\x1b[38;5;115m" | "\x1b[38;5;147m" => "\x1b[32m",
        "\x1b[1;31m" => "\x1b[31m",
        "\x1b[1;33m" => "\x1b[33m",
        "\x1b[1;36m" => "\x1b[36m",
        other => other,
    }
}

/// Replaces the colours of diagnostics by those of a notebook, and joins neighbouring parts of one colour. Diagnostics colour each
/// character separately, which would make a saved notebook several times larger.
pub(crate) fn notebook_colors(text: &str) -> String {
    const RESET: &str = "\x1b[0m";
    let mut out = String::with_capacity(text.len());
    // The escapes since the last reset, and whether a reset has to precede the next text.
    let (mut current, mut resets) = (String::new(), false);
    let mut rest = text;
    while let Some(start) = rest.find("\x1b[") {
        let (before, escape) = rest.split_at(start);
        if !before.is_empty() && resets {
            (out, current, resets) = (out + RESET, String::new(), false);
        }
        out += before;
        let Some(end) = escape.find('m') else {
            rest = escape;
            break;
        };
        let (escape, after) = escape.split_at(end + 1);
        rest = after;
        match notebook_escape(escape) {
            "" => {}
            RESET => resets = !current.is_empty(),
            escape if resets && current == escape => resets = false,
            escape => {
                if resets {
                    (out, current, resets) = (out + RESET, String::new(), false);
                }
                current += escape;
                out += escape;
            }
        }
    }
    if resets {
        out += RESET;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_of_characters() {
        let text = "a→b";
        assert_eq!([0, 1, 2, 3, 9].map(|at| byte_offset(text, at)), [0, 1, 4, 5, 5]);
        assert_eq!([0, 1, 4, 5].map(|at| character_offset(text, at)), [0, 1, 2, 3]);
    }

    #[test]
    fn neighbours_of_one_colour_are_joined() {
        let check = |text: &str, expected: &str| {
            assert_eq!(
                notebook_colors(&text.replace('<', "\x1b[").replace('>', "m")),
                expected.replace('<', "\x1b[").replace('>', "m")
            );
        };
        check("<31>a<0><31>b<0> c", "<31>ab<0> c");
        check("<31>a<0><32>b<0>", "<31>a<0><32>b<0>");
        check("<1>a<31>b<0><31>c<0>", "<1>a<31>b<0><31>c<0>");
        check("<31>a<0> <31>b<0>", "<31>a<0> <31>b<0>");
        check("<0>a", "a");
        check("<38;5;249>a<0><38;5;249>b<0><1;31>c<0><31>d<0>", "ab<31>cd<0>");
        check("a <", "a <");
    }
}
