//! Finds a `//` that was meant as a division of integers, as in Python. In hx it begins a comment, which hides the rest of its
//! line from the parser.

use text_size::{TextRange, TextSize};

/// Returns the range of a `//` that follows the start of a syntax error, possibly after spaces, if the comment reads as a
/// divisor: `n // 2;`, but not `n // the number of rows`. `None` otherwise.
pub(crate) fn slashes(text: &str, start: TextSize) -> Option<TextRange> {
    let line = text.get(usize::from(start)..)?.lines().next()?;
    let comment = line.trim_start().strip_prefix("//")?;
    let before = line.len() - line.trim_start().len();
    let at = start + TextSize::try_from(before).ok()?;
    reads_as_divisor(comment).then(|| TextRange::at(at, TextSize::new(2)))
}

/// Reports whether a comment, given without its `//`, reads as an expression: it begins with `(`, or with a number or name before
/// an operator, a bracket, a comma or a semicolon, or it is a number alone.
fn reads_as_divisor(comment: &str) -> bool {
    let comment = comment.trim();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let operand = comment.find(|c| !is_part(c)).unwrap_or(comment.len());
    let (operand, rest) = comment.split_at(operand);
    let Some(first) = operand.chars().next() else { return comment.starts_with('(') };
    match rest.trim_start().chars().next() {
        Some(next) => {
            matches!(next, ';' | ',' | ')' | ']' | '[' | '(' | '+' | '-' | '*' | '/' | '%' | '<' | '>')
        }
        None => first.is_ascii_digit(),
    }
}

#[cfg(test)]
mod tests {
    use super::reads_as_divisor;
    use crate::testing::TestDb;
    use crate::{SourceFile, syntax_diagnostics};

    /// Asserts that the fixes of the syntax errors of `text` make the texts `wanted`, one text for each fix.
    fn check(text: &str, wanted: &[&str]) {
        let db = TestDb::default();
        let file = SourceFile::workspace(&db, "a.hx", text);
        let fixes = syntax_diagnostics(&db, file).iter().flat_map(|found| &found.fixes);
        let fixed = fixes.map(|fix| {
            let edit = &fix.edits[0];
            let mut fixed = text.to_owned();
            fixed.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text);
            fixed
        });
        assert_eq!(fixed.collect::<Vec<_>>(), wanted, "{text}");
    }

    #[test]
    fn a_division_that_is_a_comment_is_found() {
        check("main { let a = 7 // 2;\n print(a); }", &["main { let a = 7 / 2;\n print(a); }"]);
        check("main { print(7 // 2);\n }", &["main { print(7 / 2);\n }"]);
        // The missing semicolon is the error here; the comment is no divisor.
        check("main { let a = 7 // the first prime;\n print(a); }", &[]);
        check("main { let a = 7; // 2;\n print(a); }", &[]);
    }

    #[test]
    fn comments_that_read_as_divisors() {
        for divisor in [" 2;", " half);", " 32] threads 32 {", "BK", "2", " (m + 1);", " w[1];", " a + b;"] {
            assert_eq!(reads_as_divisor(divisor), divisor != "BK", "{divisor}");
        }
        for comment in [
            "",
            " the number of rows",
            " TODO",
            "/ a header",
            " see above: 3 rows",
            "!",
            " A fragment.",
            " the first prime;",
        ] {
            assert!(!reads_as_divisor(comment), "{comment}");
        }
    }
}
