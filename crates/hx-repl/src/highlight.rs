//! The line being typed, in colour. The text keeps its width: only escape sequences are added.

use hx_dtype::DType;
use hx_hir::{Place, builtin};
use hx_syntax::{SyntaxKind, lex};

const KEYWORD: &str = "35";
const NUMBER: &str = "36";
const STRING: &str = "32";
const COMMENT: &str = "90";
const TYPE: &str = "33";
const BUILTIN: &str = "34";
const WRONG: &str = "31";

/// An entry with its tokens in colour.
pub(crate) fn entry(line: &str) -> String {
    if let Some(rest) = line.strip_prefix(':') {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        return format!("{}{}", paint(KEYWORD, &line[..=end]), &rest[end..]);
    }
    let mut out = String::with_capacity(line.len() * 2);
    let mut at = 0;
    for token in lex(line) {
        let end = at + usize::from(token.len);
        let text = &line[at..end];
        at = end;
        match color_of(token.kind, text) {
            Some(color) => out += &paint(color, text),
            None => out += text,
        }
    }
    out + &line[at..]
}

fn color_of(kind: SyntaxKind, text: &str) -> Option<&'static str> {
    match kind {
        SyntaxKind::COMMENT => Some(COMMENT),
        SyntaxKind::STRING => Some(STRING),
        SyntaxKind::INT_NUMBER | SyntaxKind::FLOAT_NUMBER => Some(NUMBER),
        SyntaxKind::ERROR => Some(WRONG),
        SyntaxKind::IDENT if DType::parse(text).is_some() => Some(TYPE),
        SyntaxKind::IDENT if builtin(text, Place::Host).or(builtin(text, Place::Device)).is_some() => {
            Some(BUILTIN)
        }
        kind if kind.is_keyword() => Some(KEYWORD),
        _ => None,
    }
}

/// A text in a colour, line by line: an editor may break the text anywhere.
fn paint(color: &str, text: &str) -> String {
    let lines = text
        .split('\n')
        .map(|line| if line.is_empty() { String::new() } else { format!("\x1b[{color}m{line}\x1b[0m") });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::entry;

    #[test]
    fn only_escapes_are_added() {
        for text in [
            "let a = randn(f16, [64])",
            "/* open\nand on",
            "\"tab",
            ":layout x",
            ":",
            "let é = 'x'",
            "x // hm\n",
        ] {
            let mut plain = String::new();
            let mut rest = entry(text).as_str().to_owned();
            while let Some(start) = rest.find('\x1b') {
                plain += &rest[..start];
                let end = rest[start..].find('m').expect("an escape ends") + start;
                rest = rest[end + 1..].to_owned();
            }
            assert_eq!(plain + &rest, text);
        }
    }

    #[test]
    fn tokens_have_colours() {
        assert_eq!(entry("let x = 1"), "\x1b[35mlet\x1b[0m x = \x1b[36m1\x1b[0m");
        assert_eq!(entry(":type f16"), "\x1b[35m:type\x1b[0m f16");
        assert_eq!(entry("f16"), "\x1b[33mf16\x1b[0m");
    }
}
