//! Tests broken code: its errors, and the rest that is still understood.

use expect_test::{Expect, expect};
use hx_syntax::{parse, parse_cell};

use crate::support;

/// Checks the errors of a file, then its tree.
fn check(text: &str, expected: Expect) {
    let parse = parse(text);
    assert_eq!(parse.syntax_node().text().to_string(), text);
    assert!(!parse.is_ok(), "an error was expected");
    expected.assert_eq(&format!(
        "{}{}",
        support::errors(parse.errors()),
        support::sketch(&parse.syntax_node())
    ));
}

/// Checks the errors of a cell, then its tree.
fn check_cell(text: &str, expected: Expect) {
    let parse = parse_cell(text);
    assert_eq!(parse.syntax_node().text().to_string(), text);
    assert!(!parse.is_ok(), "an error was expected");
    expected.assert_eq(&format!(
        "{}{}",
        support::errors(parse.errors()),
        support::sketch(&parse.syntax_node())
    ));
}

/// Checks the errors alone.
fn check_errors(text: &str, expected: Expect) {
    let parse = parse_cell(text);
    assert_eq!(parse.syntax_node().text().to_string(), text);
    expected.assert_eq(&support::errors(parse.errors()));
}

#[test]
fn a_missing_brace_spares_the_next_item() {
    check(
        "fn f() {\n    let x = 1;\n\nkernel g() grid [1] threads 32 { }",
        expect![[r#"
        HX0001 23..23: found the keyword `kernel` where `}` for the `{` opened before was expected
        (source_file
          (fn fn f (param_list ( )) (block { (let_stmt let x = 1 ;)))
          (kernel
            kernel
            g
            (param_list ( ))
            (grid_clause grid (array_expr [ 1 ]))
            (threads_clause threads 32)
            (block { })))
    "#]],
    );
}

#[test]
fn a_misspelled_item() {
    check(
        "kernal f(a: f16[m]) { let x = 1; }\nfn g() { }",
        expect![[r#"
        HX0001 0..6: found `kernal` where an item was expected: did you mean `kernel`?
        (source_file
          (error kernal f ( a : f16 [ m ] ) { let x = 1 ; })
          (fn fn g (param_list ( )) (block { })))
    "#]],
    );
}

#[test]
fn a_statement_between_items() {
    check(
        "let x = 1;\nfn g() { }",
        expect![[r#"
        HX0001 0..3: found the keyword `let` where an item was expected (`use`, `const`, `fn`, `kernel`, `test`, `bench` or `main`)
        (source_file (error let x = 1 ;) (fn fn g (param_list ( )) (block { })))
    "#]],
    );
}

#[test]
fn python_is_recognized() {
    check(
        "def f(x) { }\nimport std;\nfn g() { }",
        expect![[r#"
        HX0001 0..3: found `def` where an item was expected: did you mean `fn`?
        (source_file (error def f ( x ) { } import std ;) (fn fn g (param_list ( )) (block { })))
    "#]],
    );
}

#[test]
fn a_stray_brace() {
    check(
        "fn f() { } }\nfn g() { }",
        expect![[r#"
        HX0009 11..12: found `}` that closes nothing
        (source_file
          (fn fn f (param_list ( )) (block { }))
          (error })
          (fn fn g (param_list ( )) (block { })))
    "#]],
    );
}

#[test]
fn half_a_header() {
    check(
        "kernel f<BM = , BN(a: f16[m,, b f32, : T) where grid threads 128 { f(); }",
        expect![[r#"
        HX0001 14..15: found `,` where an expression was expected
        HX0001 18..19: found `(` where `,` or `>` was expected
        HX0001 28..29: found `,` where a dimension was expected
        HX0001 32..35: found `f32` where `,` was expected
        HX0001 37..38: found `:` where a dimension was expected
        HX0001 40..41: found `)` where `]` for the `[` opened before was expected
        (source_file
          (kernel
            kernel
            f
            (generic_param_list
              <
              (generic_param BM =)
              ,
              (generic_param BN)
              (error ()
              (generic_param a : (named_type f16 (shape [ m , , b f32 , (error :) T))))
            (error ) where grid threads 128)
            (block { (expr_stmt (call_expr f (arg_list ( ))) ;) })))
    "#]],
    );
}

#[test]
fn a_header_without_a_body() {
    check(
        "kernel f(a: f16[m])\n    grid [1]\n\nfn g() { }",
        expect![[r#"
        HX0001 32..32: found the keyword `fn` where `{` and a body was expected
        (source_file
          (kernel
            kernel
            f
            (param_list ( (param a : (named_type f16 (shape [ m ]))) ))
            (grid_clause grid (array_expr [ 1 ])))
          (fn fn g (param_list ( )) (block { })))
    "#]],
    );
}

#[test]
fn a_kernel_returns_nothing() {
    check(
        "kernel f() -> f32 { }",
        expect![[r#"
            HX0011 11..13: found `->` on a kernel: a kernel returns nothing, it writes to parameters that are `mut`
            (source_file (kernel kernel f (param_list ( )) (ret_type -> (named_type f32)) (block { })))
        "#]],
    );
}

#[test]
fn a_clause_twice() {
    check(
        "kernel f() grid [1] threads 32 grid [2] { }\nfn g() grid [1] { }",
        expect![[r#"
        HX0014 31..35: found `grid` twice
        HX0011 51..55: found `grid` on a function: only a kernel is launched with it
        (source_file
          (kernel
            kernel
            f
            (param_list ( ))
            (grid_clause grid (array_expr [ 1 ]))
            (threads_clause threads 32)
            (grid_clause grid (array_expr [ 2 ]))
            (block { }))
          (fn fn g (param_list ( )) (grid_clause grid (array_expr [ 1 ])) (block { })))
    "#]],
    );
}

#[test]
fn mut_of_rust() {
    check(
        "fn f(mut x: f32) { let mut y = x; }",
        expect![[r#"
        HX0013 5..8: found `mut` before the name of a parameter: it is written before its type, as in `c: mut f16[m]`
        HX0013 23..26: found `mut` in a pattern: locals need none
        (source_file
          (fn
            fn
            f
            (param_list ( (param (error mut) x : (named_type f32)) ))
            (block { (let_stmt let (error mut) y = x ;) })))
    "#]],
    );
}

#[test]
fn a_keyword_as_a_name() {
    check(
        "fn test(kernel: f32) { let bench = kernel; }",
        expect![[r#"
            HX0001 3..7: found the keyword `test` where the name of a function was expected
            HX0001 8..14: found the keyword `kernel` where the name of a parameter was expected
            HX0001 27..32: found the keyword `bench` where a name or a pattern was expected
            HX0001 35..41: found the keyword `kernel` where an expression was expected
            (source_file
              (fn
                fn
                (error test)
                (param_list ( (param (error kernel) : (named_type f32)) ))
                (block { (let_stmt let (error bench) = (error kernel) ;) })))
        "#]],
    );
}

#[test]
fn a_case_without_a_name() {
    check(
        "test foo { }\nbench { }\ntest \"a\" for x { }",
        expect![[r#"
        HX0001 5..8: found `foo` where a name in double quotes was expected
        HX0001 19..20: found `{` where a name in double quotes was expected
        HX0001 38..39: found `{` where `in` was expected
        (source_file
          (test test (error foo) (block { }))
          (bench bench (block { }))
          (test test "a" (case_clause for x) (block { })))
    "#]],
    );
}

#[test]
fn measure_outside_a_bench() {
    check(
        "fn f() { measure { g(); } baseline g() }",
        expect![[r#"
        HX0011 9..16: found `measure` outside a `bench`
        HX0011 26..34: found `baseline` outside a `bench`
        (source_file
          (fn
            fn
            f
            (param_list ( ))
            (block
              {
              (measure_stmt measure (block { (expr_stmt (call_expr g (arg_list ( ))) ;) }))
              (baseline_stmt baseline (call_expr g (arg_list ( ))))
              })))
    "#]],
    );
}

#[test]
fn attributes_on_nothing() {
    check(
        "fn f() { #[unroll] }\n#[inline]",
        expect![[r#"
        HX0001 19..20: found `}` where a statement after its attributes was expected
        HX0001 30..30: found the end of the text where an item after its attributes was expected
        (source_file
          (fn fn f (param_list ( )) (block { (expr_stmt (attr # [ unroll ])) }))
          (error (attr # [ inline ])))
    "#]],
    );
}

#[test]
fn a_list_of_uses() {
    check(
        "use a::{b c, , d as};\nuse ;\nuse a::*;\nfn f() { }",
        expect![[r#"
            HX0001 10..11: found `c` where `,` was expected
            HX0001 13..14: found `,` where a name was expected
            HX0001 19..20: found `}` where a new name was expected
            HX0001 26..27: found `;` where a path such as `std::math::LOG2E` was expected
            HX0013 35..36: found `*`: a `use` names what it brings in, as in `use std::math::{exp, log}`
            (source_file
              (use
                use
                (use_tree a :: (use_tree_list { (use_tree b) (use_tree c) , , (use_tree d (rename as)) }))
                ;)
              (use use ;)
              (use use (use_tree a :: (error *)) ;)
              (fn fn f (param_list ( )) (block { })))
        "#]],
    );
}

#[test]
fn a_broken_role() {
    check(
        "main { warp_groups { producer { } worker 2 { f(); } consumer { } } }",
        expect![[r#"
        HX0001 34..40: found `worker` where a role, `producer` or `consumer` was expected
        (source_file
          (main
            main
            (block
              {
              (warp_groups_stmt
                warp_groups
                {
                (warp_role producer (block { }))
                (error worker 2 { f ( ) ; })
                (warp_role consumer (block { }))
                })
              })))
    "#]],
    );
}

#[test]
fn a_missing_operand() {
    check_cell(
        "let x = a + ;\nlet y = * b;\nf(a, , b);",
        expect![[r#"
        HX0001 12..13: found `;` where an expression was expected
        HX0001 22..23: found `*` where an expression was expected
        HX0001 32..33: found `,` where an argument was expected
        (cell
          (let_stmt let x = (binary_expr a +) ;)
          (let_stmt let y = (error * b) ;)
          (expr_stmt (call_expr f (arg_list ( (arg a) , , (arg b) ))) ;))
    "#]],
    );
}

#[test]
fn a_missing_comma() {
    check_cell(
        "f(a b, c);\n[1 2];\n(a b)",
        expect![[r#"
        HX0001 4..5: found `b` where `,` was expected
        HX0001 14..15: found `2` where `,` was expected
        HX0001 21..22: found `b` where `,` was expected
        (cell
          (expr_stmt (call_expr f (arg_list ( (arg a) (arg b) , (arg c) ))) ;)
          (expr_stmt (array_expr [ 1 2 ]) ;)
          (tuple_expr ( a (tuple_field b) )))
    "#]],
    );
}

#[test]
fn a_missing_semicolon() {
    check_cell(
        "let x = 1\nlet y = 2\nf(x)\ng(y) h(z);",
        expect![[r#"
            HX0001 30..31: found `h` where `;` was expected
            (cell
              (let_stmt let x = 1)
              (let_stmt let y = 2)
              (expr_stmt (call_expr f (arg_list ( (arg x) ))))
              (expr_stmt (call_expr g (arg_list ( (arg y) ))) (error h ( z )) ;))
        "#]],
    );
}

#[test]
fn an_unclosed_call() {
    check_cell(
        "let x = f(a, b\nlet y = 2;",
        expect![[r#"
        HX0001 14..14: found the keyword `let` where `)` for the `(` opened before was expected
        (cell (let_stmt let x = (call_expr f (arg_list ( (arg a) , (arg b)))) (let_stmt let y = 2 ;))
    "#]],
    );
}

#[test]
fn the_wrong_bracket() {
    check_cell(
        "let x = f(a];\nlet y = (1;\nlet z = 1;",
        expect![[r#"
        HX0001 11..12: found `]` where `)` for the `(` opened before was expected
        HX0001 24..25: found `;` where `)` for the `(` opened before was expected
        (cell
          (let_stmt let x = (call_expr f (arg_list ( (arg a))))
          (error ] ;)
          (let_stmt let y = (paren_expr ( 1) ;)
          (let_stmt let z = 1 ;))
    "#]],
    );
}

#[test]
fn comparisons_in_a_row() {
    check_cell(
        "a < b < c;\na == b == c;\n4 : 1 : 2;\na .. b .. c;",
        expect![[r#"
        HX0010 6..7: found a comparison of a comparison: write parentheses, or join two comparisons with `&&`
        HX0010 18..20: found a comparison of a comparison: write parentheses, or join two comparisons with `&&`
        HX0010 30..31: found a second `:` in a layout: write parentheses
        HX0010 42..44: found a second `..` in a range
        (cell
          (expr_stmt (binary_expr (binary_expr a < b) < c) ;)
          (expr_stmt (binary_expr (binary_expr a == b) == c) ;)
          (expr_stmt (layout_expr (layout_expr 4 : 1) : 2) ;)
          (expr_stmt (range_expr a .. b) (error .. c) ;))
    "#]],
    );
}

#[test]
fn labels_need_a_place() {
    check_cell(
        "[a, b : 1];\nx[0, i : 2];\nf<a: 3>(x);\nmatmul<BM = a < b>(x);",
        expect![[r#"
            HX0012 4..5: found `b:`, which reads as a label, in a list without labels: write `(b) : …`
            HX0012 17..18: found `i:`, which reads as a label, in a list without labels: write `(i) : …`
            HX0012 27..28: found `a:`: a compile-time argument is written `a = …`
            HX0010 51..52: found a comparison between `<` and `>`: write parentheses around it
            (cell
              (expr_stmt (array_expr [ a , (layout_expr b : 1) ]) ;)
              (expr_stmt (index_expr x (index_list [ 0 , (layout_expr i : 2) ])) ;)
              (expr_stmt
                (call_expr (path_expr f (generic_arg_list < (generic_arg a : 3) >)) (arg_list ( (arg x) )))
                ;)
              (expr_stmt
                (call_expr
                  (path_expr matmul (generic_arg_list < (generic_arg BM = (binary_expr a < b)) >))
                  (arg_list ( (arg x) )))
                ;))
        "#]],
    );
}

#[test]
fn a_closure_is_an_argument() {
    check_cell(
        "let f = |a, b| a + b;\nlet g = f(|| 1);",
        expect![[r#"
        HX0011 8..9: found a closure outside arguments: it is written where an operator is taken
        HX0001 32..34: found a closure without parameters
        (cell
          (let_stmt let f = (closure_expr (closure_param_list | a , b |) (binary_expr a + b)) ;)
          (let_stmt let g = (call_expr f (arg_list ( (arg (closure_expr (closure_param_list ||) 1)) ))) ;))
    "#]],
    );
}

#[test]
fn new_is_for_indices() {
    check_cell(
        "x[.., new];\nlet y = new;\nf(new);",
        expect![[r#"
        HX0011 20..23: found `new` outside an index: it adds a mode of extent 1, as in `x[.., new]`
        HX0011 27..30: found `new` outside an index: it adds a mode of extent 1, as in `x[.., new]`
        (cell
          (expr_stmt (index_expr x (index_list [ (range_expr ..) , (new_expr new) ])) ;)
          (let_stmt let y = (new_expr new) ;)
          (expr_stmt (call_expr f (arg_list ( (arg (new_expr new)) ))) ;))
    "#]],
    );
}

#[test]
fn other_languages() {
    check_cell(
        "f(axis = 1);\nx as f32;\nassert!(x);\na and b or c;\n0..=n;\nt.0;\nl o (8, 8) : (8, 1);\nreturn x;\nreturn;\nf(&b);",
        expect![[r#"
            HX0013 2..6: found `axis =`: a named argument is written `axis: …`
            HX0013 15..17: found `as`: a conversion is written `cast(x, f32)`
            HX0013 29..30: found `!` in a call: calls are written without it
            HX0013 37..40: found `and`: the operator is `&&`
            HX0013 43..45: found `or`: the operator is `||`
            HX0013 52..53: found `..=`: a range excludes its end, write `a..b + 1`
            HX0013 58..59: found a number after `.`: an element of a tuple is written `t[0]`
            HX0013 63..64: found `o`: the operator is `∘`
            HX0013 82..88: found `return`: the last expression of a body, without `;`, is its value
            HX0013 92..98: found `return`: the last expression of a body, without `;`, is its value
            HX0013 102..103: found `&` before an operand: tensors are passed without a reference
            (cell
              (expr_stmt (call_expr f (arg_list ( (arg axis (error =) 1) ))) ;)
              (expr_stmt x (error as f32) ;)
              (expr_stmt (call_expr assert (error !) (arg_list ( (arg x) ))) ;)
              (expr_stmt (binary_expr (binary_expr a and b) or c) ;)
              (expr_stmt (range_expr 0 .. (error =) n) ;)
              (expr_stmt (field_expr t . (error 0)) ;)
              (expr_stmt
                (binary_expr
                  l
                  o
                  (layout_expr
                    (tuple_expr ( (tuple_field 8) , (tuple_field 8) ))
                    :
                    (tuple_expr ( (tuple_field 8) , (tuple_field 1) ))))
                ;)
              (expr_stmt (error return) x ;)
              (expr_stmt (error return) ;)
              (expr_stmt (call_expr f (arg_list ( (arg (error &) b) ))) ;))
        "#]],
    );
}

#[test]
fn half_a_let() {
    check_cell(
        "let\nlet x\nlet x:\nlet x = \nlet (a, = b;\nf(x);",
        expect![[r#"
        HX0001 4..7: found the keyword `let` where a name or a pattern was expected
        HX0001 9..9: found the keyword `let` where `=` was expected
        HX0001 16..16: found the keyword `let` where a type was expected
        HX0001 24..24: found the keyword `let` where an expression was expected
        HX0001 34..35: found `=` where `)` for the `(` opened before was expected
        (cell
          (let_stmt let)
          (let_stmt let x)
          (let_stmt let x :)
          (let_stmt let x =)
          (let_stmt let (tuple_pat ( a ,) = b ;)
          (expr_stmt (call_expr f (arg_list ( (arg x) ))) ;))
    "#]],
    );
}

#[test]
fn half_an_if() {
    check_cell(
        "if\nif c\nif c { x } else\nwhile { f(); }\nfor in x { }\nfor i x { }",
        expect![[r#"
            HX0001 7..7: found the keyword `if` where `{` was expected
            HX0001 23..23: found the keyword `while` where `{` was expected
            HX0001 30..31: found `{` where an expression was expected
            HX0001 43..45: found the keyword `in` where a name or a pattern was expected
            HX0001 58..59: found `x` where `in` was expected
            (cell
              (expr_stmt (if_expr if (if_expr if c)))
              (expr_stmt (if_expr if c (block { x }) (else_branch else)))
              (while_stmt while (block { (expr_stmt (call_expr f (arg_list ( ))) ;) }))
              (for_stmt for in x (block { }))
              (for_stmt for i x (block { })))
        "#]],
    );
}

#[test]
fn half_a_path() {
    check_cell(
        "std::;\na.;\na.b.(c);",
        expect![[r#"
        HX0001 5..6: found `;` where a name was expected
        HX0001 9..10: found `;` where the name of a field or a method was expected
        HX0001 15..16: found `(` where the name of a field or a method was expected
        (cell
          (expr_stmt (path std ::) ;)
          (expr_stmt (field_expr a .) ;)
          (expr_stmt (method_call_expr (field_expr a . b) . (arg_list ( (arg c) ))) ;))
    "#]],
    );
}

#[test]
fn attributes() {
    check_cell(
        "#unroll for i in x { }\n#[] f();\n#[a(b] g();",
        expect![[r#"
            HX0013 0..7: found `#unroll`: a loop is unrolled by `#[unroll]` before it
            HX0001 25..26: found `]` where the name of an attribute was expected
            HX0001 37..38: found `]` where `)` for the `(` opened before was expected
            (cell
              (for_stmt for i in x (block { }))
              (expr_stmt (attr # [ ]) (call_expr f (arg_list ( ))) ;)
              (expr_stmt (attr # [ a (arg_list ( (arg b)) ]) (call_expr g (arg_list ( ))) ;))
        "#]],
    );
}

#[test]
fn numbers() {
    check_errors(
        "0x; 0b12; 0xfg; 1f32; 1e400; 1.; 1.e5; 1_000.5_0; 999999999999999999999999999999999999999999; 0..k; 1e5; 2E-3;",
        expect![[r#"
        HX0006 0..2: found `0x`: after `0x`, `0b` or `0o` come digits of base 16, 2 or 8, up to 128 bits
        HX0006 4..8: found `0b12`: after `0x`, `0b` or `0o` come digits of base 16, 2 or 8, up to 128 bits
        HX0006 10..14: found `0xfg`: after `0x`, `0b` or `0o` come digits of base 16, 2 or 8, up to 128 bits
        HX0006 16..20: found `f32` after a number: numbers take no suffix and adapt to the type they meet, `cast` converts
        HX0006 22..27: found a number beyond the range of f64: infinity is written `inf`
        HX0006 29..31: found no digit after the point: write `1.0`
        HX0006 50..92: found a number that no type of the language can hold
    "#]],
    );
}

#[test]
fn strings() {
    check_errors(
        "let a = \"abc;\nlet b = \"\\q \\u{110000} \\u12 \\n \\u{2218}\";\nlet c = 'x';",
        expect![[r#"
            HX0002 8..13: found the end of the line inside a string: `"` is missing
            HX0007 23..25: `\q` is not an escape: strings have `\n \t \r \0 \\ \" \u{…}`
            HX0007 26..36: `110000` is not a code point in hexadecimal
            HX0007 37..39: `\u` is followed by a code point in braces, as in `\u{2218}`
            HX0013 64..67: found `'`: strings are written in double quotes
        "#]],
    );
}

#[test]
fn comments() {
    check_errors(
        "let a = 1; /* /* nested */ */ let b = 2; /* /* open */",
        expect![[r#"
        HX0003 41..43: found the end of the text inside a block comment: `*/` is missing
    "#]],
    );
}

#[test]
fn confusables() {
    check_errors(
        "let x = a × b − c;\nlet y = “no”;\nif a ≤ b { }\nlet z = s ◦ l;\nlet\u{a0}w = ∞；\nlet α = 1;\nlet x² = 2;",
        expect![[r#"
            HX0005 10..12: found `×` (U+00D7): write `*`
            HX0005 15..18: found `−` (U+2212): write `-`
            HX0005 30..33: found `“` (U+201C): write a string in straight double quotes
            HX0005 35..38: found `”` (U+201D): write a string in straight double quotes
            HX0005 45..48: found `≤` (U+2264): write `<=`
            HX0005 65..68: found `◦` (U+25E6): write `∘` (U+2218) or `compose(a, b)`
            HX0005 75..77: found U+00A0, a space of another kind: write an ordinary space
            HX0005 81..84: found `∞` (U+221E): write `inf`
            HX0005 84..87: found `；` (U+FF1B): write `;`
            HX0004 92..94: found `α` (U+03B1) in a name: names are made of ASCII letters, digits and `_`
            HX0004 104..107: found `²` (U+00B2) in a name: names are made of ASCII letters, digits and `_`
        "#]],
    );
}

#[test]
fn characters() {
    check_errors(
        "a ? b; a ^ b; ~a; $x; `y`; \\ ; \u{7}; ☃;",
        expect![[r#"
            HX0013 2..3: found `?`: a choice is written `if c { x } else { y }`, or `where(c, x, y)` element by element
            HX0013 18..19: found `$`: names are made of letters, digits and `_`
            HX0013 22..23: found a backtick: strings are written in double quotes
            HX0013 24..25: found a backtick: strings are written in double quotes
            HX0013 27..28: found `\`: a line needs no continuation mark
            HX0004 31..32: found `\u{7}` (U+0007), which starts no token
            HX0004 34..37: found `☃` (U+2603), which starts no token
        "#]],
    );
}

#[test]
fn line_breakers() {
    check_errors(
        "let a = 1;\u{b} let b = 2;\u{c} // x\u{2028}y\n let c = \"\u{2029}\";\u{85} let d = 1; \u{d}let e = 2; // \u{202e}",
        expect![[r#"
            HX0004 10..11: found U+000B, which only some tools count as the end of a line: remove it
            HX0004 22..23: found U+000C, which only some tools count as the end of a line: remove it
            HX0004 28..31: found U+2028, which only some tools count as the end of a line: remove it
            HX0004 43..46: found U+2029, which only some tools count as the end of a line: remove it
            HX0004 48..50: found U+0085, which only some tools count as the end of a line: remove it
            HX0004 62..63: found U+000D, a carriage return without a line feed: remove it
            HX0004 77..80: found U+202E, which changes the direction in which code is shown: remove it
        "#]],
    );
}

#[test]
fn a_value_called_like_an_item() {
    check(
        "main {\n    let a = test + 1;\n    f(kernel, 2);\n}\nfn f() { }",
        expect![[r#"
            HX0001 19..23: found the keyword `test` where an expression was expected
            HX0001 35..41: found the keyword `kernel` where an expression was expected
            (source_file
              (main
                main
                (block
                  {
                  (let_stmt let a = (binary_expr (error test) + 1) ;)
                  (expr_stmt (call_expr f (arg_list ( (arg (error kernel)) , (arg 2) ))) ;)
                  }))
              (fn fn f (param_list ( )) (block { })))
        "#]],
    );
}

#[test]
fn an_empty_file_of_noise() {
    check_errors(
        "@@ ++ ::",
        expect![[r#"
        HX0001 0..1: found `@` where a statement was expected
    "#]],
    );
}
