//! Whole programs parse without errors, and their trees hold exactly their texts.

use hx_syntax::parse;
use hx_test_support::PROGRAMS;

use crate::support;

#[test]
fn programs_have_no_errors() {
    for (name, text) in PROGRAMS {
        let parse = parse(text);
        assert_eq!(support::errors(parse.errors()), "", "{name}");
        assert_eq!(parse.syntax_node().text().to_string(), *text, "{name}");
    }
}
