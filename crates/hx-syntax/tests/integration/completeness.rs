//! Tests the REPL's reaction to the return key.

use hx_syntax::{Completeness, completeness};

#[test]
fn complete() {
    for text in [
        "",
        "  // nothing\n",
        "let x = 1",
        "let x = 1;",
        "x @ y.T",
        "f(x)\n",
        "for i in 0..3 { f(i) }",
        "fn f(x: f32) -> f32 { x }",
        "test \"t\" { }",
        "x = 3",
        "let a = 1; let b = 2",
        "if c { 1 } else { 2 }",
        "use std::math::LOG2E;",
        "use std::math",
        "const N = 4",
        "let a = 1\nlet b = 2\na",
        "use std::math\nx = 2",
    ] {
        assert_eq!(completeness(text), Completeness::Complete, "{text}");
    }
}

#[test]
fn incomplete() {
    for text in [
        "let",
        "let x",
        "let x =",
        "f(",
        "f(a,",
        "x +",
        "x.",
        "[1, 2",
        "for i in 0..3 {",
        "for i in 0..3",
        "for i in 0..3 {\n  f(i);\n",
        "fn f(x: f32)",
        "kernel k(a: f16[m, n],",
        "kernel k(a: f16[m, n])\n    grid [1]",
        "/* still",
        "/// a doc comment",
        "#[unroll]",
        "if c { 1 } else",
        "use std::math::{LOG2E,",
        "(4, 8) :",
        "scan(x, op: |a, b|",
        "warp_groups {",
        // An error inside of an open brace.
        "fn f() {\n  let x = ];",
        "kernel k() {\n  f((1 2);\n  let y = ",
    ] {
        assert_eq!(completeness(text), Completeness::Incomplete, "{text}");
    }
}

#[test]
fn invalid() {
    for text in [
        ")",
        "f(x))",
        "let x = ];",
        "let x = \"abc",
        "let 1 = x",
        "let x y",
        "a b",
        "f(]\n",
        "fn f() {\n  let x = \n  }\nlet",
        "x = 'a'",
        "0x",
        "fn f() {\n  let x = ];\n}",
        "fn f() {\n  let x = (];\n}",
        "f([1 2",
    ] {
        assert_eq!(completeness(text), Completeness::Invalid, "{text}");
    }
}
