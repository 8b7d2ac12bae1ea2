//! Every text that parses is formatted, formatting its result changes nothing, and no comment is lost.
//!
//! The tests take programs apart and space them randomly, with comments added, because the formatter's decisions depend on the
//! text between the tokens.

use hx_fmt::{FormatError, format};
use hx_syntax::{SyntaxKind, lex, parse};
use proptest::prelude::*;

use hx_test_support::PROGRAMS;

/// Returns the number of inputs of each property: few by default, `PROPTEST_CASES` for a longer run.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(150)
}

/// Formats a text and checks the result. Returns false if the text does not parse.
fn check(text: &str) -> Result<bool, TestCaseError> {
    match format(text) {
        Ok(formatted) => {
            let again =
                format(&formatted).map_err(|error| TestCaseError::fail(format!("{error}\n{formatted}")))?;
            prop_assert!(again == formatted, "from\n{text}\nonce\n{formatted}\ntwice\n{again}");
            prop_assert_eq!(comments(text), comments(&formatted));
            Ok(true)
        }
        Err(FormatError::Syntax(error)) => {
            let parse = parse(text);
            prop_assert_eq!(Some(&error), parse.errors().first());
            Ok(false)
        }
        Err(FormatError::Internal) => Err(TestCaseError::fail(format!("the formatter gave up on\n{text}"))),
    }
}

fn tokens(text: &str) -> Vec<(SyntaxKind, String)> {
    let mut rest = text;
    lex(text)
        .into_iter()
        .map(|token| {
            let (head, tail) = rest.split_at(usize::from(token.len));
            rest = tail;
            (token.kind, head.to_owned())
        })
        .collect()
}

fn comments(text: &str) -> Vec<String> {
    let comments = tokens(text).into_iter().filter(|(kind, _)| *kind == SyntaxKind::COMMENT);
    comments.map(|(_, text)| text.trim_end().to_owned()).collect()
}

/// Generates the text between two tokens.
fn gap() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        20 => Just(" "),
        4 => Just("\n"),
        2 => Just("\n\n\n"),
        1 => Just("\t  "),
        1 => Just(" // line\n"),
        1 => Just("\n// own\n"),
        1 => Just("\n\n  // apart\n\n"),
        1 => Just(" /* in */ "),
        1 => Just("\n/* above */\n"),
        1 => Just(" /* two\n   lines */ "),
        1 => Just(" /* behind */\n"),
        1 => Just(" /* a *//* b */ // c\n// d\n"),
    ]
}

/// Makes the whitespace of a program minimal, and inserts the `gaps` in turn, one after each `every`th token.
fn spaced(program: &str, gaps: &[&str], every: usize) -> String {
    let mut out = String::new();
    let code = tokens(program);
    for (i, (kind, text)) in code.iter().enumerate() {
        if *kind == SyntaxKind::WHITESPACE {
            let is_after_comment = i > 0 && code[i - 1].0 == SyntaxKind::COMMENT;
            out.push_str(if is_after_comment { "\n" } else { " " });
            continue;
        }
        out.push_str(text);
        if *kind != SyntaxKind::COMMENT && i % every == 0 {
            out.push_str(gaps[(i / every) % gaps.len()]);
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn spacing_does_not_matter_to_the_rules(
        program in prop::sample::select(PROGRAMS),
        gaps in prop::collection::vec(gap(), 1..60),
        every in 1..30_usize,
    ) {
        let text = spaced(program.1, &gaps, every);
        prop_assert!(check(&text)?, "the gaps broke the program: {:?}", parse(&text).errors());
    }

    #[test]
    fn spliced_programs_are_formatted_or_refused(
        program in prop::sample::select(PROGRAMS),
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
        count in 1..12_usize,
    ) {
        let mut code: Vec<String> = tokens(program.1).into_iter().map(|(_, text)| text).collect();
        let from = from.index(code.len());
        let copy = code[from..(from + count).min(code.len())].to_vec();
        let to = to.index(code.len());
        code.splice(to..to, copy);
        check(&code.concat())?;
    }

    #[test]
    fn fixtures_are_formatted(gaps in prop::collection::vec(gap(), 1..40), every in 1..6_usize) {
        for text in SNIPPETS {
            let text = spaced(text, &gaps, every);
            prop_assert!(check(&text)?, "the gaps broke {text:?}: {:?}", parse(&text).errors());
        }
    }

    #[test]
    fn any_text_is_formatted_or_refused(text in any::<String>()) {
        check(&text)?;
    }
}

/// Short programs that together contain every construct of the language.
const SNIPPETS: &[&str] = &[
    "use a::b::{c, d as e, f::{g, h}}; use x; const N: int = 4; const T: (f32[M], f32) = y;",
    "#[cold] #[a(1)] fn f<N = 4, T: type, W: layout = (8, N) : (8, 1)>(x: register T[M, N], s: shared mut f16[K]) -> f32[M] where N > 0, M > 0 { x }",
    "kernel k(a: mut f16[m, n] : [lda, 1], w: u4[n] : W,) where m % 2 == 0, grid [1, 2] threads 32 cluster [2, 1] { a() }",
    "test \"t\" for (m, [n, _]) in [(1, 2), (3, 4)] { } bench \"b\" { measure flops 2 * m bytes m { f(a) } measure { g(); } baseline h(a); baseline i(b) }",
    "main { let x: f32 = -a + b * !c @ d.T; x[0, .., new, a.., ..b] = 1; x += (8,); #[unroll] for (i, j) in 0..n { f(i); } while a < b && c || d { } }",
    "main { let t = if a { b } else if c { d } else { e }; if a { f(); } else { } { g() } let y = { 1 }; }",
    "main { warp_groups { producer 1 registers 40 { } consumer each n (g) registers (R + 1) { f(); } } }",
    "main { scan((a, b), axis: 2, op: |(p, _), [q, r]| (p * q, r)); swizzle<3, 3, 3> ∘ (warp: 4, lane: 8) : (32, 1); f<A = 1, B = (a < b)>(_, 2 : 1); pipe.acquire(); where(c, \"s\", inf); () }",
];
