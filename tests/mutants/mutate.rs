//! The mutants of a text: one statement of synchronization is changed in each.

use hx_syntax::ast::{AstNode, Block, Expr, ExprStmt, Kernel, LetStmt, Stmt};
use hx_syntax::{TextRange, parse};

/// A changed text.
pub(super) struct Mutant {
    /// The kernel whose statement was changed.
    pub(super) kernel: String,
    pub(super) line: usize,
    pub(super) change: String,
    pub(super) text: String,
}

/// The functions and methods that synchronize.
const CALLS: &[&str] = &["sync", "sync_warp", "commit", "wait", "gemm_wait", "wait_stores"];
const METHODS: &[&str] = &["acquire", "wait", "release", "release_previous", "take", "pass"];

/// Returns all mutants, in the order of the text.
pub(super) fn mutants(text: &str) -> Vec<Mutant> {
    let root = parse(text).syntax_node();
    let mut all = Vec::new();
    for kernel in root.descendants().filter_map(Kernel::cast) {
        let Some(name) = kernel.name().map(|name| name.syntax().text().to_string()) else { continue };
        let body = kernel.syntax().text().to_string();
        // Kernels whose threads all run the same statements with copies in groups have no protocol of their own.
        let has_protocol = ["pipeline(", "gemm_async", "wait_stores", "warp_groups"];
        if !has_protocol.iter().any(|word| body.contains(word)) {
            continue;
        }
        for block in kernel.syntax().descendants().filter_map(Block::cast) {
            let stmts: Vec<Stmt> = block.statements().collect();
            for at in 0..stmts.len() {
                of_statement(text, &name, &stmts, at, &mut all);
            }
        }
    }
    all
}

fn of_statement(text: &str, kernel: &str, stmts: &[Stmt], at: usize, all: &mut Vec<Mutant>) {
    let Some(call) = call(&stmts[at]) else { return };
    let range = trimmed(text, stmts[at].syntax().text_range());
    let source = &text[range];
    let line = text[..usize::from(range.start())].lines().count();
    let mut add = |change: String, text: String| {
        all.push(Mutant { kernel: kernel.to_owned(), line, change, text });
    };
    let replaced = |with: &str| {
        let mut text = text.to_owned();
        text.replace_range(std::ops::Range::<usize>::from(range), with);
        text
    };
    if matches!(stmts[at], Stmt::ExprStmt(_)) {
        add(format!("without `{source}`"), replaced(""));
        if let Some(weaker) = weaker(&call, source) {
            add(format!("`{source}` becomes `{weaker}`"), replaced(&weaker));
        }
    }
    for (other, way) in [(at.wrapping_sub(1), "up"), (at + 1, "down")] {
        let Some(other) = stmts.get(other) else { continue };
        // If the neighbour mentions the name that this statement defines, moving the statement would change the meaning of the
        // name.
        if name(&stmts[at]).is_some_and(|name| mentions(other, &name)) {
            continue;
        }
        let other = trimmed(text, other.syntax().text_range());
        let (first, second) = if other.start() < range.start() { (other, range) } else { (range, other) };
        let mut moved = text.to_owned();
        moved.replace_range(std::ops::Range::<usize>::from(second), &text[first]);
        moved.replace_range(std::ops::Range::<usize>::from(first), &text[second]);
        add(format!("`{source}` moves {way}"), moved);
    }
}

/// Returns the name that a statement defines; `None` for a statement that is no `let`.
fn name(stmt: &Stmt) -> Option<String> {
    let Stmt::LetStmt(stmt) = stmt else { return None };
    stmt.pattern().map(|pattern| pattern.syntax().text().to_string())
}

/// Reports whether a part of the text has this name.
pub(super) fn mentions(part: &impl AstNode, name: &str) -> bool {
    let mut tokens = part.syntax().descendants_with_tokens().filter_map(|element| element.into_token());
    tokens.any(|token| token.text() == name)
}

/// Returns the name of the function or, after a dot, of the method that synchronizes: `sync`, `.release`. `None` if the
/// statement is neither such a call nor a `let` with one.
fn call(stmt: &Stmt) -> Option<String> {
    let expr = match stmt {
        Stmt::ExprStmt(stmt) => ExprStmt::expr(stmt)?,
        Stmt::LetStmt(stmt) => LetStmt::initializer(stmt)?,
        _ => return None,
    };
    match expr {
        Expr::CallExpr(call) => {
            let name = call.callee()?.syntax().text().to_string();
            CALLS.contains(&name.trim()).then(|| name.trim().to_owned())
        }
        Expr::MethodCallExpr(call) => {
            let name = call.name_ref()?.syntax().text().to_string();
            METHODS.contains(&name.trim()).then(|| format!(".{}", name.trim()))
        }
        _ => None,
    }
}

/// Returns the statement with a change by one: `release` and `release_previous` are exchanged, and the first number of any
/// other call grows by 1, as `wait(0)` becomes `wait(1)`. `None` if the call has no number.
fn weaker(call: &str, source: &str) -> Option<String> {
    match call {
        ".release_previous" => Some(source.replace("release_previous", "release")),
        ".release" => Some(source.replace("release", "release_previous")),
        _ => {
            let digits = source.find(|c: char| c.is_ascii_digit())?;
            let end = source[digits..].find(|c: char| !c.is_ascii_digit())? + digits;
            let number: u32 = source[digits..end].parse().ok()?;
            Some(format!("{}{}{}", &source[..digits], number + 1, &source[end..]))
        }
    }
}

/// Returns the range without the space and the comments around a statement.
fn trimmed(text: &str, range: TextRange) -> TextRange {
    let source = &text[range];
    let start = source.len() - source.trim_start().len();
    let end = source.trim_end().len();
    TextRange::new(
        range.start() + hx_base::TextSize::from(start as u32),
        range.start() + hx_base::TextSize::from(end as u32),
    )
}
