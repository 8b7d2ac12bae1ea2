//! Parses patterns: the left sides that `let`, `for` and closures bind.

use super::*;

const PATTERN_START: TokenSet = TokenSet::new(&[IDENT, T![_], T!['('], T!['[']]);

pub(super) fn is_at_pattern(p: &Parser<'_>) -> bool {
    p.at_set(PATTERN_START)
}

// test pattern
// let x = y; let _ = y; let (a, [b, _], (c,)) = y; let [bm, bn] = block_idx;
pub(super) fn pattern(p: &mut Parser<'_>) -> bool {
    match p.current() {
        T!['('] => nested_pattern(p, (T!['('], T![')']), TUPLE_PAT),
        T!['['] => nested_pattern(p, (T!['['], T![']']), ARRAY_PAT),
        T![_] => {
            let m = p.start();
            p.bump(T![_]);
            m.complete(p, WILDCARD_PAT);
            true
        }
        T![mut] => {
            let message = "found `mut` in a pattern: locals need none";
            p.error_here(codes::OTHER_LANGUAGE, message);
            let m = p.start();
            p.bump(T![mut]);
            m.complete(p, ERROR);
            p.at_set(PATTERN_START) && pattern(p)
        }
        _ => {
            let m = p.start();
            if name(p, "a name or a pattern") {
                m.complete(p, NAME_PAT);
                return true;
            }
            m.abandon(p);
            false
        }
    }
}

fn nested_pattern(p: &mut Parser<'_>, brackets: (SyntaxKind, SyntaxKind), kind: SyntaxKind) -> bool {
    let rule = |p: &mut Parser<'_>| {
        let m = p.start();
        list(p, brackets, "a name or a pattern", |p| p.at_set(PATTERN_START), pattern);
        Some(m.complete(p, kind))
    };
    p.nested(rule).is_some()
}
