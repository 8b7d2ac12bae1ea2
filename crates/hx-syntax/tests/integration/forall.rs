//! Tests the `forall` clause where it is broken or misplaced, and the word where it is a name.

use expect_test::{Expect, expect};
use hx_syntax::parse;

use crate::support;

/// Checks the errors of a file, then its tree.
fn check(text: &str, expected: Expect) {
    let parse = parse(text);
    assert_eq!(parse.syntax_node().text().to_string(), text);
    let (errors, tree) = (support::errors(parse.errors()), support::sketch(&parse.syntax_node()));
    expected.assert_eq(&format!("{errors}{tree}"));
}

#[test]
fn forall_is_a_name_elsewhere() {
    check(
        "test \"a\" for forall in forall { forall(forall); }",
        expect![[r#"
        (source_file
          (test
            test
            "a"
            (case_clause for forall in forall)
            (block { (expr_stmt (call_expr forall (arg_list ( (arg forall) ))) ;) })))
    "#]],
    );
}

#[test]
fn half_typed_clauses() {
    check(
        "test \"a\" forall { }",
        expect![[r#"
        HX0001 16..17: found `{` where a variable and its values, as in `m in 1..=300` was expected
        (source_file (test test "a" (forall_clause forall) (block { })))
    "#]],
    );
    check(
        "test \"a\" forall m { }",
        expect![[r#"
        HX0001 18..19: found `{` where `in` was expected
        (source_file (test test "a" (forall_clause forall (forall_variable m)) (block { })))
    "#]],
    );
    check(
        "test \"a\" forall m in { }",
        expect![[r#"
        HX0001 21..22: found `{` where an expression was expected
        (source_file (test test "a" (forall_clause forall (forall_variable m in)) (block { })))
    "#]],
    );
    check(
        "test \"a\" forall m 1..=2, n in 1..=2 { }",
        expect![[r#"
        HX0001 18..19: found `1` where `in` was expected
        (source_file
          (test
            test
            "a"
            (forall_clause
              forall
              (forall_variable m (range_expr 1 .. = 2))
              ,
              (forall_variable n in (range_expr 1 .. = 2)))
            (block { })))
    "#]],
    );
    check(
        "test \"a\" forall m in 1..=2,\nkernel f() grid [1] threads 32 { }",
        expect![[r#"
        HX0001 27..27: found the keyword `kernel` where a variable and its values, as in `m in 1..=300` was expected
        (source_file
          (test test "a" (forall_clause forall (forall_variable m in (range_expr 1 .. = 2)) ,))
          (kernel
            kernel
            f
            (param_list ( ))
            (grid_clause grid (array_expr [ 1 ]))
            (threads_clause threads 32)
            (block { })))
    "#]],
    );
}

#[test]
fn ranges_have_both_ends() {
    check(
        "test \"a\" forall m in 1.., n in ..=4, k in .. { }",
        expect![[r#"
        HX0011 21..24: found an open range in `forall`, expected one with both ends, as in `1..=300`
        HX0011 31..35: found an open range in `forall`, expected one with both ends, as in `1..=300`
        HX0011 42..44: found an open range in `forall`, expected one with both ends, as in `1..=300`
        (source_file
          (test
            test
            "a"
            (forall_clause
              forall
              (forall_variable m in (range_expr 1 ..))
              ,
              (forall_variable n in (range_expr .. = 4))
              ,
              (forall_variable k in (range_expr ..)))
            (block { })))
    "#]],
    );
    check(
        "test \"a\" forall m in [1..=2] { }",
        expect![[r#"
        HX0013 25..26: found `..=`: a range excludes its end, write `a..b + 1`
        (source_file
          (test
            test
            "a"
            (forall_clause forall (forall_variable m in (array_expr [ (range_expr 1 .. (error =) 2) ])))
            (block { })))
    "#]],
    );
}

#[test]
fn misplaced_clauses() {
    check(
        "test \"a\" for m in [1] forall n in 1..2 { }",
        expect![[r#"
        HX0011 22..28: found `forall` after `for`: a test either lists its cases or draws them
        (source_file
          (test
            test
            "a"
            (case_clause for m in (array_expr [ 1 ]))
            (forall_clause forall (forall_variable n in (range_expr 1 .. 2)))
            (block { })))
    "#]],
    );
    check(
        "bench \"a\" forall n in 1..2 { f(n); }",
        expect![[r#"
        HX0011 10..16: found `forall` on a bench: cases are drawn for tests only, a bench lists its shapes, as in `bench "…" for n in [64, 4096]`
        (source_file
          (bench
            bench
            "a"
            (forall_clause forall (forall_variable n in (range_expr 1 .. 2)))
            (block { (expr_stmt (call_expr f (arg_list ( (arg n) ))) ;) })))
    "#]],
    );
    check(
        "main forall n in 1..2 { }",
        expect![[r#"
        HX0001 5..11: found `forall` where `{` and a body was expected
        (source_file (main main (error forall n in 1 .. 2) (block { })))
    "#]],
    );
}
