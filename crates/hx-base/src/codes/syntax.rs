//! HX00xx: syntax.

family! {
    "HX00", "syntax", "Syntax";

    /// The parser expected something else here. It continues after the place, so the rest of the file is still parsed.
    ///
    /// ```hx fails
    /// const TILE = ;
    /// ```
    ///
    /// A value is expected before the `;`:
    ///
    /// ```hx
    /// const TILE = 64;
    /// ```
    ///
    /// `//` begins a comment, so `n // 2;` lacks its semicolon. `/` divides integers, and rounds down.
    UNEXPECTED_TOKEN = "HX0001", "unexpected-token", Error, "something else was expected here";

    /// A string begins with `"` and ends with `"` on the same line. Inside it, `\n` is a line break and `\"` a quote.
    ///
    /// ```hx fails
    /// test "copies a tile {
    /// }
    /// ```
    ///
    /// ```hx
    /// test "copies a tile" {
    /// }
    /// ```
    UNTERMINATED_STRING = "HX0002", "unterminated-string", Error, "a string does not end on its line";

    /// A comment that begins with `/*` ends with `*/`. Such comments nest, so each `/*` needs its own `*/`.
    ///
    /// ```hx fails
    /// /* the tile's edge /* in elements */
    /// const TILE = 64;
    /// ```
    ///
    /// ```hx
    /// /* the tile's edge /* in elements */ */
    /// const TILE = 64;
    /// ```
    UNTERMINATED_COMMENT = "HX0003", "unterminated-comment", Error, "a block comment does not end";

    /// No token starts with this character. Characters that only some tools treat as line breaks (vertical tab, form feed,
    /// U+2028 and the like) are refused everywhere, so that every tool counts the same lines.
    ///
    /// ```hx fails
    /// const GRÖSSE = 64;
    /// ```
    ///
    /// ```hx
    /// const SIZE = 64;
    /// ```
    BAD_CHARACTER = "HX0004", "bad-character", Error, "a character that no token starts with";

    /// The character only looks like one of the language, often because the text was copied from a formatted page.
    ///
    /// ```hx fails
    /// const TILE = 64；
    /// ```
    ///
    /// ```hx
    /// const TILE = 64;
    /// ```
    CONFUSABLE_CHARACTER = "HX0005", "confusable-character", Error,
        "a character that looks like another one that was meant";

    /// A number consists of digits of its base, with optional `_` between them: `1_024`, `0xff`, `0b1010`, `1.5e-3`.
    ///
    /// ```hx fails
    /// const MASK = 0b102;
    /// ```
    ///
    /// ```hx
    /// const MASK = 0b101;
    /// ```
    BAD_NUMBER = "HX0006", "bad-number", Error, "a malformed number";

    /// A backslash in a string begins one of these escapes: `\n`, `\t`, `\r`, `\\`, `\"`, `\0`, `\u{…}`.
    ///
    /// ```hx fails
    /// test "a \q test" {
    /// }
    /// ```
    ///
    /// ```hx
    /// test "a \\q test" {
    /// }
    /// ```
    BAD_ESCAPE = "HX0007", "bad-escape", Error, "an escape that strings do not have";

    /// Brackets, blocks and operators are nested so deeply that the compiler stops rather than run out of stack.
    /// Only generated or damaged text reaches this. Give the inner parts names with `let` or `const`.
    TOO_DEEP = "HX0008", "too-deep", Error, "code is nested too deeply";

    /// A bracket closes nothing: its opening partner is missing, or was already closed.
    ///
    /// ```hx fails
    /// const TILE = (64 + 64);
    /// }
    /// ```
    ///
    /// ```hx
    /// const TILE = (64 + 64);
    /// ```
    UNBALANCED_DELIMITER = "HX0009", "unbalanced-delimiter", Error, "a bracket has no partner";

    /// Comparisons do not chain, and neither does `:`: several in a row need parentheses that say which comes first.
    ///
    /// ```hx fails
    /// const INSIDE = 0 < 3 < 8;
    /// ```
    ///
    /// ```hx
    /// const INSIDE = 0 < 3 && 3 < 8;
    /// ```
    NEEDS_PARENTHESES = "HX0010", "needs-parentheses", Error, "operators in a row that need parentheses";

    /// The construct has no meaning here: `new` adds a mode inside an index, a closure is an argument of a call.
    ///
    /// ```hx fails
    /// const ADD = |a, b| a + b;
    /// ```
    ///
    /// ```hx
    /// fn prefix(x: register f32[M, N]) -> f32[M, N] {
    ///     scan(x, axis: 1, op: |a, b| a + b)
    /// }
    /// ```
    MISPLACED_CONSTRUCT = "HX0011", "misplaced-construct", Error, "a construct in a place where it has no meaning";

    /// A name followed by `:` after `(`, `,` or `<` is a label. A layout whose shape begins with a name therefore needs
    /// parentheses.
    ///
    /// ```hx fails
    /// const BM = 64;
    /// const LAYOUTS = [8 : 1, BM : 1];
    /// ```
    ///
    /// ```hx
    /// const BM = 64;
    /// const LAYOUTS = [8 : 1, (BM) : 1];
    /// ```
    BAD_LABEL = "HX0012", "bad-label", Error, "a label where labels have no meaning";

    /// This is the syntax of another language; the message names the form of `.hx`.
    ///
    /// ```hx fails
    /// fn double(x: f32) -> f32 {
    ///     return x * 2.0;
    /// }
    /// ```
    ///
    /// The last expression of a block is its value:
    ///
    /// ```hx
    /// fn double(x: f32) -> f32 {
    ///     x * 2.0
    /// }
    /// ```
    FOREIGN_SYNTAX = "HX0013", "foreign-syntax", Error, "something that another language writes this way";

    /// A header may have each part once.
    ///
    /// ```hx fails
    /// kernel idle(c: mut f16[m]) grid [1] threads 32 threads 64 {
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel idle(c: mut f16[m]) grid [1] threads 64 {
    /// }
    /// ```
    DUPLICATE_PART = "HX0014", "duplicate-part", Error, "a part that is given twice";
}
