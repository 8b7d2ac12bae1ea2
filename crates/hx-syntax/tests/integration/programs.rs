//! Whole programs: no error, and the text comes out as it went in.

use hx_syntax::parse;

use crate::support;

/// The programs that the language was designed with.
pub(crate) const PROGRAMS: &[(&str, &str)] = &[
    ("matmul", include_str!("../programs/matmul.hx")),
    ("pipeline", include_str!("../programs/pipeline.hx")),
    ("attention", include_str!("../programs/attention.hx")),
    ("moe", include_str!("../programs/moe.hx")),
    ("selective_scan", include_str!("../programs/selective_scan.hx")),
    ("w4a16", include_str!("../programs/w4a16.hx")),
];

#[test]
fn programs_have_no_errors() {
    for (name, text) in PROGRAMS {
        let parse = parse(text);
        assert_eq!(support::errors(parse.errors()), "", "{name}");
        assert_eq!(parse.syntax_node().text().to_string(), *text, "{name}");
    }
}
