//! Forbids `_` arms in a `match` over the kinds of operations, statements, built-ins, element types, memories or choices. Then the
//! compiler reports a new kind in every place that has to handle it.
//!
//! Tests for one kind (`matches!`, `if let`, `let … else`) are allowed, and so are arms that bind the other kinds to a name.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::Finding;

/// A group of enums that get new kinds as the compiler grows.
struct Growing {
    /// The names under which code imports them.
    enums: &'static [&'static str],
    what: &'static str,
    /// Paths of crates in which these names belong to other enums.
    elsewhere: &'static [&'static str],
}

const GROWING: &[Growing] = &[
    Growing {
        enums: &["OpKind", "Stmt", "TileStmt", "Control", "Leaf"],
        what: "operations or statements",
        // These crates have a `Stmt` of their own.
        elsewhere: &["crates/hx-hir/", "crates/hx-syntax/", "crates/hx-fmt/"],
    },
    Growing {
        enums: &[
            "Builtin",
            "BuiltinValue",
            "KernelFn",
            "CommonFn",
            "MathFn",
            "LayoutFn",
            "HostLayoutFn",
            "HostFn",
        ],
        what: "built-ins",
        elsewhere: &[],
    },
    Growing { enums: &["DType"], what: "element types", elsewhere: &[] },
    Growing {
        enums: &["Base", "Completion", "Memory", "MemorySpace", "Mem", "Proxy", "Space", "TensorKind"],
        what: "memories, or of accesses to them",
        elsewhere: &[],
    },
    // A host's generator of cases has a `Choice` of its own.
    Growing { enums: &["Choice"], what: "choices", elsewhere: &["crates/hx-host/"] },
];

/// Parts of the paths of tests, which the rule does not cover.
const TESTS: &[&str] = &["/tests/", "/tests.rs"];

/// Checks a file, unless it belongs to tests or is not in a library.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let is_library = path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs");
    if !is_library || TESTS.iter().any(|tests| path.contains(tests)) {
        return Vec::new();
    }
    // Ignore a file that is not valid Rust: the compiler reports it.
    let Ok(file) = syn::parse_file(text) else { return Vec::new() };
    let here = GROWING.iter().filter(|growing| !growing.elsewhere.iter().any(|free| path.contains(free)));
    here.flat_map(|growing| {
        let mut matches = Matches { enums: growing.enums, lines: Vec::new() };
        matches.visit_file(&file);
        let finding = |line| Finding {
            path: path.to_owned(),
            line,
            message: format!("a `_` arm takes new kinds of {} silently: name the kinds", growing.what),
        };
        matches.lines.into_iter().map(finding).collect::<Vec<_>>()
    })
    .collect()
}

/// Collects the lines of `_` arms in matches over `enums`.
struct Matches {
    enums: &'static [&'static str],
    lines: Vec<usize>,
}

impl<'ast> Visit<'ast> for Matches {
    fn visit_expr_match(&mut self, found: &'ast syn::ExprMatch) {
        if found.arms.iter().any(|arm| names_one_of(self.enums, &arm.pat)) {
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

/// Reports whether a pattern names a kind of one of the enums.
fn names_one_of(enums: &[&str], pattern: &syn::Pat) -> bool {
    struct Paths<'e> {
        enums: &'e [&'e str],
        found: bool,
    }
    impl<'ast> Visit<'ast> for Paths<'_> {
        fn visit_path(&mut self, path: &'ast syn::Path) {
            let of = path.segments.iter().rev().nth(1);
            self.found |= of.is_some_and(|segment| self.enums.iter().any(|name| segment.ident == name));
        }
    }
    let mut paths = Paths { enums, found: false };
    paths.visit_pat(pattern);
    paths.found
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
        assert_eq!(lines("(DType::F32, DType::F16) => 1,\n_ if to.is_float() => 2,\n(from, to) => 3,"), [4]);
        assert_eq!(lines("KernelFn::Copy => 1,\n_ => 2,"), [4]);
        assert_eq!(lines("Some(Resolution::Builtin(Builtin::Math(_))) => 1,\n_ => 2,"), [4]);
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
        let text = "fn f() { match x { HostFn::Len => 1, _ => 2 } }";
        assert_eq!(check("crates/hx-hir/src/f.rs", text).len(), 1);
    }
}
