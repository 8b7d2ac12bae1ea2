//! Tests the typed view.

use expect_test::expect;
use hx_syntax::{
    AstNode, AstPtr,
    ast::{self, AssignOp, BinaryOp, Expr, HasAttrs, HasDocs, Item, LiteralKind, Stmt},
    parse, parse_cell,
};

fn first_expr(text: &str) -> Expr {
    let parse = parse_cell(text);
    assert!(parse.is_ok(), "{text}: {:?}", parse.errors());
    parse.syntax_node().descendants().find_map(Expr::cast).unwrap()
}

#[test]
fn a_kernel() {
    let parse = parse(
        "//! File.\n\n/// Doc of f.\n///   More.\n#[cold]\nkernel f<BM = 64, W: layout>(a: f16[m, k] : W, s: shared mut f16[8])\n\
         where k > 1, m > 2 grid [1, 2] threads 32 cluster [2, 1] { g(); h() }",
    );
    assert!(parse.is_ok());
    let file = parse.tree();
    assert_eq!(file.doc_text().as_deref(), Some("File."));
    let Some(Item::Kernel(kernel)) = file.items().next() else { panic!("a kernel was expected") };
    assert_eq!(kernel.name().unwrap().text(), "f");
    assert_eq!(kernel.doc_text().as_deref(), Some("Doc of f.\n  More."));
    assert!(kernel.attr("cold").is_some());
    let generics: Vec<_> = kernel.generic_param_list().unwrap().params().collect();
    assert_eq!(generics[0].default().unwrap().syntax().text(), "64");
    assert_eq!(generics[1].ty().unwrap().syntax().text(), "layout");
    let params: Vec<_> = kernel.param_list().unwrap().params().map(|it| it.named_type().unwrap()).collect();
    assert_eq!(params[0].shape().unwrap().dims().count(), 2);
    assert_eq!(params[0].layout_annotation().unwrap().value().unwrap().syntax().text(), "W");
    assert!(!params[0].is_mut());
    assert_eq!(params[1].space(), Some(ast::MemorySpace::Shared));
    assert!(params[1].is_mut());
    assert_eq!(kernel.where_clause().unwrap().predicates().count(), 2);
    assert_eq!(kernel.grid_clause().unwrap().extents().unwrap().syntax().text(), "[1, 2]");
    assert_eq!(kernel.threads_clause().unwrap().count().unwrap().syntax().text(), "32");
    assert_eq!(kernel.cluster_clause().unwrap().extents().unwrap().syntax().text(), "[2, 1]");
    let body = kernel.body().unwrap();
    assert_eq!(body.statements().count(), 1);
    assert_eq!(body.tail_expr().unwrap().syntax().text(), "h()");
}

#[test]
fn a_test_has_a_title_and_cases() {
    let parse = parse("test \"a \\\"b\\\"\" for m in [1, 2] { }");
    let Some(Item::Test(test)) = parse.tree().items().next() else { panic!("a test was expected") };
    assert_eq!(test.title().as_deref(), Some("a \"b\""));
    assert_eq!(test.case_clause().unwrap().cases().unwrap().syntax().text(), "[1, 2]");
}

#[test]
fn literals_have_values() {
    let value = |text: &str| match first_expr(text) {
        Expr::Literal(literal) => match literal.kind().unwrap() {
            LiteralKind::Int(it) => format!("{:?}", it.value()),
            LiteralKind::Float(it) => format!("{:?}", it.value()),
            LiteralKind::String(it) => format!("{:?}", it.value()),
            LiteralKind::Bool(it) => format!("{it}"),
            LiteralKind::Inf => "inf".to_owned(),
        },
        other => panic!("{other:?}"),
    };
    let values: Vec<String> =
        ["1_000", "0xFF", "0b1010", "0o17", "1.5e-3", "1e5", "2.5_0", r#""a\n\u{2218}\\""#, "true", "inf"]
            .map(value)
            .into();
    expect![[
        r#"Some(1000) Some(255) Some(10) Some(15) Some(0.0015) Some(100000.0) Some(2.5) "a\n∘\\" true inf"#
    ]]
    .assert_eq(&values.join(" "));
}

#[test]
fn ranges_know_their_ends() {
    for (text, start, end) in
        [("x[a..b]", true, true), ("x[a..]", true, false), ("x[..b]", false, true), ("x[..]", false, false)]
    {
        let Expr::IndexExpr(index) = first_expr(text) else { panic!("{text}") };
        let Some(Expr::RangeExpr(range)) = index.index_list().unwrap().args().next() else {
            panic!("{text}")
        };
        assert_eq!((range.start().is_some(), range.end().is_some()), (start, end), "{text}");
    }
}

#[test]
fn operators_and_operands() {
    let Expr::BinaryExpr(sum) = first_expr("a - b * c") else { panic!("a binary expression was expected") };
    assert_eq!(sum.op_kind().map(BinaryOp::text), Some("-"));
    assert_eq!(sum.lhs().unwrap().syntax().text(), "a");
    assert_eq!(sum.rhs().unwrap().syntax().text(), "b * c");
    let cell = parse_cell("x[0] += 1;").tree();
    let Some(Stmt::AssignStmt(assign)) = cell.statements().next() else {
        panic!("an assignment was expected")
    };
    assert_eq!(assign.op_kind(), Some(AssignOp::Arith(ast::ArithOp::Add)));
    assert_eq!(assign.place().unwrap().syntax().text(), "x[0]");
    assert_eq!(assign.value().unwrap().syntax().text(), "1");
}

#[test]
fn branches() {
    let Expr::IfExpr(outer) = first_expr("if a { 1 } else if b { 2 } else { 3 }") else {
        panic!("an if was expected")
    };
    assert_eq!(outer.condition().unwrap().syntax().text(), "a");
    assert_eq!(outer.then_branch().unwrap().syntax().text(), "{ 1 }");
    let inner = outer.else_branch().unwrap().if_expr().unwrap();
    assert_eq!(inner.else_branch().unwrap().block().unwrap().syntax().text(), "{ 3 }");
    let broken = parse_cell("if { 1 }").syntax_node().descendants().find_map(ast::IfExpr::cast).unwrap();
    assert!(broken.condition().is_none());
    assert!(broken.then_branch().is_some());
}

#[test]
fn a_pointer_finds_its_node_in_another_root() {
    let parse = parse("fn f() { }\nfn g() { }");
    let ptr = AstPtr::new(&parse.tree().items().nth(1).unwrap());
    let again = ptr.try_to_node(&parse.syntax_node()).unwrap();
    assert_eq!(again.name().unwrap().text(), "g");
}

#[test]
fn comments_belong_to_items() {
    let text = "// header\n\n// about f\n/// doc\n\n// more\nfn f() { } // behind\n// about g\nfn g() { }";
    let items: Vec<String> = parse(text).tree().items().map(|it| it.syntax().text().to_string()).collect();
    expect![[r#"
        [
            "/// doc\n\n// more\nfn f() { }",
            "// behind\n// about g\nfn g() { }",
        ]
    "#]]
    .assert_debug_eq(&items);
}

#[test]
fn results_can_be_shared() {
    fn is_shared<T: Send + Sync + Clone + Eq>() {}
    is_shared::<hx_syntax::Parse>();
    is_shared::<hx_syntax::Parse<ast::Cell>>();
    is_shared::<AstPtr<ast::Expr>>();
    assert_eq!(parse("fn f() { }"), parse("fn f() { }"));
    assert_ne!(parse("fn f() { }"), parse("fn f() {  }"));
}

#[test]
fn every_code_is_listed_once() {
    let codes: Vec<&str> = hx_syntax::codes::ALL.iter().map(|&(code, ..)| code).collect();
    let mut sorted = codes.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(codes, sorted);
}
