//! Forbids `_` arms in a `match` over the kinds of operations or statements. So a new kind is a compile error in every place that
//! has to handle it.
//!
//! Tests of one kind (`matches!`, `if let`, `let … else`) are allowed, and so are arms that bind the rest to a name.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::Finding;

/// The enums whose kinds grow, by the names under which code imports them.
const GROWING: &[&str] = &["OpKind", "Stmt", "TileStmt"];

/// Crates with a different `Stmt` (of syntax or of bodies), and folders of tests.
const FREE: &[&str] = &["crates/hx-hir/", "crates/hx-syntax/", "crates/hx-fmt/", "/tests/", "/tests.rs"];

/// Checks a file of library code.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let is_library = path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs");
    if !is_library || FREE.iter().any(|free| path.contains(free)) {
        return Vec::new();
    }
    // Ignore a file that is not valid Rust: the compiler reports it.
    let Ok(file) = syn::parse_file(text) else { return Vec::new() };
    let mut matches = Matches { lines: Vec::new() };
    matches.visit_file(&file);
    let finding = |line| Finding {
        path: path.to_owned(),
        line,
        message: "a `_` arm takes new kinds of operations or statements silently: name the kinds".to_owned(),
    };
    matches.lines.into_iter().map(finding).collect()
}

/// The lines of arms that violate the rule.
struct Matches {
    lines: Vec<usize>,
}

impl<'ast> Visit<'ast> for Matches {
    fn visit_expr_match(&mut self, found: &'ast syn::ExprMatch) {
        if found.arms.iter().any(|arm| names_growing(&arm.pat)) {
            let wild = found.arms.iter().filter(|arm| is_wild(&arm.pat));
            self.lines.extend(wild.map(|arm| arm.pat.span().start().line));
        }
        visit::visit_expr_match(self, found);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.ident != "tests" {
            visit::visit_item_mod(self, module);
        }
    }
}

/// Reports whether a pattern names a kind of a growing enum.
fn names_growing(pattern: &syn::Pat) -> bool {
    struct Paths(bool);
    impl<'ast> Visit<'ast> for Paths {
        fn visit_path(&mut self, path: &'ast syn::Path) {
            let of = path.segments.iter().rev().nth(1);
            self.0 |= of.is_some_and(|segment| GROWING.iter().any(|name| segment.ident == name));
        }
    }
    let mut paths = Paths(false);
    paths.visit_pat(pattern);
    paths.0
}

/// Reports whether a pattern accepts any kind without naming or binding it: `_`, `(_, _)`, `Some(_)`.
fn is_wild(pattern: &syn::Pat) -> bool {
    match pattern {
        syn::Pat::Wild(_) => true,
        syn::Pat::Paren(inner) => is_wild(&inner.pat),
        syn::Pat::Tuple(tuple) => tuple.elems.iter().all(is_wild),
        syn::Pat::TupleStruct(some) if some.path.is_ident("Some") => some.elems.iter().all(is_wild),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(arms: &str) -> Vec<usize> {
        let text = format!("fn f() {{\n    match x {{\n{arms}\n    }}\n}}\n");
        check("crates/hx-synth/src/f.rs", &text).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn wildcards_over_kinds_are_found() {
        assert_eq!(lines("OpKind::Sync => 1,\n_ => 2,"), [4]);
        assert_eq!(lines("Some(Stmt::Op(_)) => 1,\nSome(_) => 2,\nNone => 3,"), [4]);
        assert_eq!(lines("(OpKind::Fill { .. }, Some(_)) => 1,\n(_, _) => 2,"), [4]);
        assert_eq!(
            lines("Stmt::Op(op) => match op.kind {\nOpKind::Commit => 1,\n_ => 2,\n},\nother => 2,"),
            [5]
        );
    }

    #[test]
    fn named_rests_and_other_enums_are_free() {
        assert!(lines("Stmt::Op(op) => 1,\ncontrol => control.bodies(),").is_empty());
        assert!(lines("Atom::Mod(a, b) => 1,\n_ => 2,").is_empty());
        assert!(
            lines("(OpKind::Fill { .. }, _) => 1,\n(OpKind::Sync | OpKind::Wait { .. }, _) => 2,").is_empty()
        );
        let text = "fn f() { match x { Stmt::Let => 1, _ => 2 } }";
        assert!(check("crates/hx-hir/src/f.rs", text).is_empty());
    }
}
