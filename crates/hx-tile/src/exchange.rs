//! Neighbouring statements of a loop that could stand in the other order: asynchronous copies, and products.
//!
//! If copies precede products, they are in flight while the products run. If they follow products that are in flight, issuing
//! them costs the threads no time. This module only finds and exchanges such statements; other code decides whether the changed
//! program is still correct.

use crate::{Control, Leaf, OpId, OpKind, Stmt, SyncOp, TileProgram};

/// Copies with their `commit`, and products right beside them, in the body of one loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exchange {
    /// The copies and the commits, in program order; the last one is a commit.
    pub copies: Vec<OpId>,
    /// The products, and waits for them, in program order; the first one is a product.
    pub products: Vec<OpId>,
    /// Whether the copies precede the products in the program.
    pub ahead: bool,
}

/// The part that a statement can have in an exchange.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Copy,
    Commit,
    Product,
    ProductWait,
    Other,
}

impl TileProgram {
    /// Returns the exchanges that the loops of the program allow by the kinds of their statements.
    pub fn exchanges(&self) -> Vec<Exchange> {
        let mut out = Vec::new();
        find(&self.body, false, &mut out);
        out
    }

    /// Returns the program with the copies and the products in the other order.
    pub fn exchanged(&self, exchange: &Exchange) -> TileProgram {
        let mut program = self.clone();
        turn(&mut program.body, exchange);
        program
    }
}

fn part(stmt: &Stmt) -> Part {
    let Stmt::Leaf(Leaf::Op(op)) = stmt else { return Part::Other };
    if let OpKind::CopyAsync { signal: None, .. } = op.kind {
        Part::Copy
    } else if let OpKind::Sync(SyncOp::Commit) = op.kind {
        Part::Commit
    } else if let OpKind::Gemm { .. } = op.kind {
        Part::Product
    } else if let OpKind::Sync(SyncOp::GemmWait { .. }) = op.kind {
        Part::ProductWait
    } else {
        Part::Other
    }
}

fn ops(body: &[Stmt]) -> Vec<OpId> {
    body.iter().flat_map(Stmt::ops).map(|op| op.id).collect()
}

fn find(body: &[Stmt], looped: bool, out: &mut Vec<Exchange>) {
    for stmt in body {
        let looped = looped || matches!(stmt, Stmt::Control(Control::For { .. } | Control::While { .. }));
        stmt.bodies().for_each(|body| find(body, looped, out));
    }
    if looped {
        here(body, out);
    }
}

/// Finds the exchanges among the statements of one body.
fn here(body: &[Stmt], out: &mut Vec<Exchange>) {
    let parts: Vec<Part> = body.iter().map(part).collect();
    let mut at = 0;
    while at < parts.len() {
        if parts[at] != Part::Copy {
            at += 1;
            continue;
        }
        let first = at;
        while matches!(parts.get(at), Some(Part::Copy | Part::Commit)) {
            at += 1;
        }
        // Copies behind the last commit are in a group that another statement closes.
        let Some(end) = (first..at).rev().find(|i| parts[*i] == Part::Commit).map(|i| i + 1) else {
            continue;
        };
        let copies = ops(&body[first..end]);
        let mut add = |products: &[Stmt], ahead: bool| {
            let products = ops(products);
            if !products.is_empty() && !out.iter().any(|e| e.copies == copies && e.products == products) {
                out.push(Exchange { copies: copies.clone(), products, ahead });
            }
        };
        let is_product = |i: &usize| parts[*i] == Part::Product;
        let is_either = |i: &usize| matches!(parts[*i], Part::Product | Part::ProductWait);
        let before = |of: &dyn Fn(&usize) -> bool| (0..first).rev().take_while(of).last().unwrap_or(first);
        let after = |of: &dyn Fn(&usize) -> bool| end + (end..parts.len()).take_while(of).count();
        add(&body[before(&is_product)..first], false);
        let whole = before(&is_either);
        let from = (whole..first).find(|i| is_product(i)).unwrap_or(first);
        add(&body[from..first], false);
        if end == at {
            add(&body[end..after(&is_product)], true);
            if parts.get(end) == Some(&Part::Product) {
                add(&body[end..after(&is_either)], true);
            }
        }
    }
}

/// Exchanges the statements in the body that has them, and reports whether there is one.
fn turn(body: &mut [Stmt], exchange: &Exchange) -> bool {
    let is_at = |stmt: &Stmt, ids: &[OpId]| matches!(stmt, Stmt::Leaf(Leaf::Op(op)) if ids.contains(&op.id));
    let moved = |stmt: &Stmt| is_at(stmt, &exchange.copies) || is_at(stmt, &exchange.products);
    if let Some(first) = body.iter().position(moved) {
        let count = exchange.copies.len() + exchange.products.len();
        let ahead = if exchange.ahead { exchange.copies.len() } else { exchange.products.len() };
        body[first..first + count].rotate_left(ahead);
        return true;
    }
    body.iter_mut().any(|stmt| match stmt {
        Stmt::Control(Control::For { body, .. } | Control::While { body, .. }) => turn(body, exchange),
        Stmt::Control(Control::If { then, otherwise, .. }) => {
            turn(then, exchange) || turn(otherwise, exchange)
        }
        Stmt::Control(Control::Roles(roles)) => roles.iter_mut().any(|role| turn(&mut role.body, exchange)),
        Stmt::Leaf(_) => false,
    })
}
