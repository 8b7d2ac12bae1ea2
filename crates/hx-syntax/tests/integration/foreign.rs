//! Tests constructs of other languages: the messages, and that the rest is understood.

use expect_test::{Expect, expect};
use hx_syntax::parse_cell;

use crate::support;

/// Checks the errors of a cell, then its tree.
fn check(text: &str, expected: Expect) {
    let parse = parse_cell(text);
    assert_eq!(parse.syntax_node().text().to_string(), text);
    expected.assert_eq(&format!(
        "{}{}",
        support::errors(parse.errors()),
        support::sketch(&parse.syntax_node())
    ));
}

#[test]
fn lines_that_begin_with_a_hash() {
    check(
        "# it's a \"comment\nf(); #\n#pragma unroll\n#include <cuda.h>\ng();",
        expect![[r#"
        HX0013 0..1: found `#`: a comment begins with `//`
        HX0013 23..24: found `#`: a comment begins with `//`
        HX0013 25..32: found `#pragma`: a loop is unrolled by `#[unroll]` before it
        HX0013 40..48: found `#include`: another file's items are brought in with `use`
        (cell (expr_stmt (call_expr f (arg_list ( ))) ;) (expr_stmt (call_expr g (arg_list ( ))) ;))
    "#]],
    );
    check(
        "#[unroll] for i in 0..4 { }\n# [cold] fn f() { }",
        expect![[r#"
        (cell
          (for_stmt (attr # [ unroll ]) for i in (range_expr 0 .. 4) (block { }))
          (fn (attr # [ cold ]) fn f (param_list ( )) (block { })))
    "#]],
    );
}

#[test]
fn locals_with_a_type_before_the_name() {
    check(
        "int i = 0; auto x = y; float16 z = 1;",
        expect![[r#"
            HX0013 0..3: found `int i`: a local is introduced with `let`
            HX0013 11..15: found `auto x`: a local is introduced with `let`
            HX0013 23..30: found `float16 z`: a local is introduced with `let`
            (cell (let_stmt int i = 0 ;) (let_stmt auto x = y ;) (let_stmt float16 z = 1 ;))
        "#]],
    );
}

#[test]
fn loops_and_conditions() {
    check(
        "for (int i = 0; i < 4; i++) { f(i); }",
        expect![[r#"
        HX0013 4..5: found a loop of three parts: it is written `for i in 0..n`
        (cell
          (for_stmt
            for
            (error ( int i = 0 ; i < 4 ; i + + ))
            (block { (expr_stmt (call_expr f (arg_list ( (arg i) ))) ;) })))
    "#]],
    );
    check(
        "if a { f(); } elif b == 1 { g(); } else { h(); }",
        expect![[r#"
        HX0013 14..18: found `elif`: it is written `else if`
        (cell
          (if_expr
            if
            a
            (block { (expr_stmt (call_expr f (arg_list ( ))) ;) })
            (else_branch
              (if_expr
                elif
                (binary_expr b == 1)
                (block { (expr_stmt (call_expr g (arg_list ( ))) ;) })
                (else_branch else (block { (expr_stmt (call_expr h (arg_list ( ))) ;) }))))))
    "#]],
    );
    check(
        "while not a and b or c { i++; }",
        expect![[r#"
        HX0013 6..9: found `not`: the negation is `!x`
        HX0013 12..15: found `and`: the operator is `&&`
        HX0013 18..20: found `or`: the operator is `||`
        HX0013 27..28: found `++`: it is written `i += 1`
        (cell
          (while_stmt
            while
            (binary_expr (binary_expr (unary_expr not a) and b) or c)
            (block { (expr_stmt (binary_expr i + (error +)) ;) })))
    "#]],
    );
}

#[test]
fn launches() {
    check(
        "k<<<grid, 128>>>(x); g();",
        expect![[r#"
        HX0013 1..2: found `<<<`: a launch is a call, the kernel's header has its `grid` and `threads`
        (cell
          (expr_stmt (call_expr (path_expr k (error < < < grid , 128 > > >)) (arg_list ( (arg x) ))) ;)
          (expr_stmt (call_expr g (arg_list ( ))) ;))
    "#]],
    );
    check(
        "k<32, 64>(x); let y = f<n>(x); f(a < 3, 4 > (b));",
        expect![[r#"
        (cell
          (expr_stmt
            (call_expr
              (path_expr k (generic_arg_list < (generic_arg 32) , (generic_arg 64) >))
              (arg_list ( (arg x) )))
            ;)
          (let_stmt
            let
            y
            =
            (call_expr (path_expr f (generic_arg_list < (generic_arg n) >)) (arg_list ( (arg x) )))
            ;)
          (expr_stmt
            (call_expr
              f
              (arg_list ( (arg (binary_expr a < 3)) , (arg (binary_expr 4 > (paren_expr ( b )))) )))
            ;))
    "#]],
    );
}
