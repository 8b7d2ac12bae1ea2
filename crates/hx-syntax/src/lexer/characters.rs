//! Classifies single characters for the lexer.

use rowan::{TextRange, TextSize};

use crate::{
    SyntaxError,
    SyntaxKind::{self, *},
    T, codes,
};

pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reports whether a character is whitespace. Vertical tab and form feed separate tokens too, but are also reported.
pub(super) fn is_whitespace(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

pub(super) fn starts_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// Reports whether a character continues a name. Letters outside ASCII do, so that the whole word is reported once.
pub(super) fn continues_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || (!c.is_ascii() && c.is_alphanumeric() && confusable(c).is_none())
}

/// Reports whether a character is forbidden: characters that only some tools take for a line end, so that line numbers would
/// differ, and characters that change the direction in which code is shown.
pub(super) fn is_forbidden(c: char) -> bool {
    matches!(c, '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}') || is_bidi_control(c)
}

fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
}

/// Reports forbidden characters everywhere, comments and strings included.
pub(super) fn forbidden(text: &str, errors: &mut Vec<SyntaxError>) {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let lone_return = c == '\r' && chars.peek().is_none_or(|&(_, next)| next != '\n');
        let why = match c {
            _ if lone_return => "a carriage return without a line feed",
            _ if is_bidi_control(c) => "which changes the direction in which code is shown",
            _ if is_forbidden(c) => "which only some tools count as the end of a line",
            _ => continue,
        };
        let message = format!("found U+{:04X}, {why}: remove it", u32::from(c));
        let range = TextRange::at(TextSize::of(&text[..at]), TextSize::of(c));
        errors.push(SyntaxError::new(codes::BAD_CHARACTER, message, range));
    }
}

pub(super) fn is_foreign_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | BYTE_ORDER_MARK)
}

pub(super) fn not_a_name(c: char) -> String {
    format!("found `{c}` (U+{:04X}) in a name: names are made of ASCII letters, digits and `_`", u32::from(c))
}

/// Returns the code and message for an ASCII character that starts no token.
pub(super) fn unknown_ascii(c: char) -> (&'static str, String) {
    let hint = match c {
        '?' => {
            "found `?`: a choice is written `if c { x } else { y }`, or `where(c, x, y)` element by element"
        }
        '$' => "found `$`: names are made of letters, digits and `_`",
        '`' => "found a backtick: strings are written in double quotes",
        '\\' => "found `\\`: a line needs no continuation mark",
        _ => {
            let message =
                format!("found `{}` (U+{:04X}), which starts no token", c.escape_debug(), u32::from(c));
            return (codes::BAD_CHARACTER, message);
        }
    };
    (codes::OTHER_LANGUAGE, hint.to_owned())
}

/// Returns the token that a look-alike character probably means, and its kind, `ERROR` for quotes; `None` for other characters.
pub(super) fn confusable(c: char) -> Option<(&'static str, SyntaxKind)> {
    Some(match c {
        '×' | '·' | '⋅' | '∗' | '＊' | '∙' => ("`*`", T![*]),
        '−' | '–' | '—' | '‐' | '‑' | '－' => ("`-`", T![-]),
        '＋' => ("`+`", T![+]),
        '÷' | '∕' | '⁄' | '／' => ("`/`", T![/]),
        '％' => ("`%`", T![%]),
        '＠' => ("`@`", T![@]),
        '≤' | '⩽' => ("`<=`", T![<=]),
        '≥' | '⩾' => ("`>=`", T![>=]),
        '≠' => ("`!=`", T![!=]),
        '＜' => ("`<`", T![<]),
        '＞' => ("`>`", T![>]),
        '＝' => ("`=`", T![=]),
        '∧' => ("`&&`", T![&&]),
        '∨' => ("`||`", T![||]),
        '¬' | '！' => ("`!`", T![!]),
        '→' | '⟶' => ("`->`", T![->]),
        '…' | '‥' => ("`..`", T![..]),
        '◦' | '○' | '⚬' | 'º' | '˚' | '°' => ("`∘` (U+2218) or `compose(a, b)`", COMPOSE),
        '∞' => ("`inf`", T![inf]),
        '（' => ("`(`", T!['(']),
        '）' => ("`)`", T![')']),
        '［' | '⟦' | '⌈' | '⌊' => ("`[`, or a call such as `cdiv(a, b)`", T!['[']),
        '］' | '⟧' | '⌉' | '⌋' => ("`]`, or a call such as `cdiv(a, b)`", T![']']),
        '｛' => ("`{`", T!['{']),
        '｝' => ("`}`", T!['}']),
        '，' | '、' | '‚' => ("`,`", T![,]),
        '；' | '\u{37e}' => ("`;`", T![;]),
        '：' | '∶' | '꞉' => ("`:`", T![:]),
        '．' | '。' => ("`.`", T![.]),
        '｜' | '∣' => ("`|`", T![|]),
        '“' | '”' | '„' | '‟' | '«' | '»' | '＂' => ("a string in straight double quotes", ERROR),
        '‘' | '’' | '‛' => ("a string in straight double quotes", ERROR),
        _ => return None,
    })
}
