//! Visits statements inside of statements.

use std::collections::BTreeSet;

use hx_index::{Atom, Expr, Symbol};

use crate::{Body, Bulk, Control, Drawn, Leaf, Local, Role, Stmt, ThreadProgram};

impl Stmt {
    /// Returns the bodies inside the statement: those of [`Control::bodies`], none for a leaf.
    pub fn bodies(&self) -> impl Iterator<Item = &Body> + use<'_> {
        let control = if let Stmt::Control(control) = self { Some(control) } else { None };
        control.into_iter().flat_map(Control::bodies)
    }
}

impl Control {
    /// Returns the body of an operation or a loop, the two branches of a condition, those of all roles. A [`crate::Log`] is a leaf: it
    /// holds only its [`crate::Put`]s, with their coordinates and loops.
    pub fn bodies(&self) -> impl Iterator<Item = &Body> + use<'_> {
        let (bodies, roles): ([Option<&Body>; 2], &[Role]) = match self {
            Control::Group(group) => ([Some(&group.body), None], &[]),
            Control::For { body, .. } | Control::While { body, .. } => ([Some(body), None], &[]),
            Control::Drawn(drawn) => ([Some(&drawn.body), None], &[]),
            Control::If { then, otherwise, .. } => ([Some(then), Some(otherwise)], &[]),
            Control::Roles(roles) => ([None, None], roles),
        };
        bodies.into_iter().flatten().chain(roles.iter().map(|role| &role.body))
    }
}

impl ThreadProgram {
    /// Reports whether blocks of a cluster reach each other's shared memory. Then the threads of all of them meet before the body,
    /// when the barriers are ready, and after it.
    pub fn crosses_blocks(&self) -> bool {
        let mut crosses = false;
        visit_leaves(&self.body, &mut |leaf| {
            if let Leaf::Bulk(Bulk { blocks, .. }) | Leaf::Arrive { blocks, .. } = leaf {
                crosses |= !blocks.is_empty();
            }
            crosses |= matches!(leaf, Leaf::Send(_));
        });
        crosses
    }

    /// Reports whether a launch may overlap the launches before it: it waits for them before it accesses global memory.
    pub fn waits_for_previous(&self) -> bool {
        let mut waits = false;
        visit_leaves(&self.body, &mut |leaf| waits |= matches!(leaf, Leaf::WaitPrevious));
        waits
    }
}

/// Calls `see` for every statement of a body, and of the bodies in it, in program order.
pub fn visit<'b>(body: &'b [Stmt], see: &mut impl FnMut(&'b Stmt)) {
    for stmt in body {
        see(stmt);
        stmt.bodies().for_each(|body| visit(body, see));
    }
}

/// Calls `see` for every leaf of a body, and of the bodies in it, in program order.
pub fn visit_leaves<'b>(body: &'b [Stmt], see: &mut impl FnMut(&'b Leaf)) {
    visit(body, &mut |stmt| {
        if let Stmt::Leaf(leaf) = stmt {
            see(leaf);
        }
    });
}

/// Calls `see` for every local number that a body defines or changes, in program order. The counters of loops are none of them.
fn visit_locals<'b>(body: &'b [Stmt], see: &mut impl FnMut(Local<'b>)) {
    visit_leaves(body, &mut |leaf| {
        if let Some(local) = leaf.description().local {
            see(local);
        }
    });
}

/// Returns the local numbers that some statement of a body changes.
pub fn assigned(body: &[Stmt]) -> BTreeSet<Symbol> {
    let mut out = BTreeSet::new();
    visit_locals(body, &mut |local| {
        if local.changes {
            out.insert(local.var.clone());
        }
    });
    out
}

/// Returns the local integers that loops count: all statements of a loop that change them add a term which does not depend on them.
/// Loops that are unrolled do not count, nor do integers that begin anew in a round, as the numbers of stages do.
pub fn counted(body: &[Stmt]) -> BTreeSet<Symbol> {
    let mut out = BTreeSet::new();
    visit(body, &mut |stmt| {
        let Stmt::Control(
            Control::For { unroll: false, body, .. }
            | Control::While { body, .. }
            | Control::Drawn(Drawn { body, .. }),
        ) = stmt
        else {
            return;
        };
        let (mut steps, mut others) = (BTreeSet::new(), BTreeSet::new());
        visit_locals(body, &mut |Local { var, value, .. }| {
            if let Some(value) = value {
                let to = if adds(value, var) { &mut steps } else { &mut others };
                to.insert(var.clone());
            }
        });
        out.extend(steps.difference(&others).cloned());
    });
    out
}

/// Reports whether a value is `var` and a term that does not depend on it, perhaps wrapped to 32 bits or more.
fn adds(value: &Expr, var: &Symbol) -> bool {
    match value.as_atom() {
        Some(Atom::Wrap(inner, width)) => width.bits >= 32 && adds(inner, var),
        _ => !(value.clone() - Expr::symbol(var.clone())).mentions(var),
    }
}

#[cfg(test)]
mod tests {
    use hx_index::{Cond, Facts, Width};

    use super::*;

    #[test]
    fn what_each_round_adds_to_is_counted() {
        let q = Symbol::Var("q".into(), 0);
        let at = || Expr::symbol(q.clone());
        let one = || Expr::constant(1);
        let check = |value: Expr, unroll, again: Option<Expr>, expected: bool| {
            let mut body = vec![Stmt::Leaf(Leaf::Assign { var: q.clone(), value })];
            if let Some(value) = again {
                let then = vec![Stmt::Leaf(Leaf::Assign { var: q.clone(), value })];
                body.push(Stmt::Control(Control::If { cond: Cond::True, then, otherwise: Vec::new() }));
            }
            let (var, start, end) = (Symbol::Var("i".into(), 1), Expr::default(), Expr::dim("n"));
            let all = [Stmt::Control(Control::For { var, start, end, unroll, body })];
            assert_eq!(counted(&all).contains(&q), expected, "{all:?}");
        };
        check(at() + one(), false, None, true);
        check(at() + Expr::dim("m"), false, None, true);
        check(Expr::atom(Atom::Wrap(at() + one(), Width { bits: 32, signed: true })), false, None, true);
        check(Expr::atom(Atom::Wrap(at() + one(), Width { bits: 8, signed: true })), false, None, false);
        check((at() + one()).rem(&Expr::constant(3), &Facts::default()), false, None, false);
        check(at().scale(2), false, None, false);
        check(Expr::dim("m"), false, None, false);
        check(at() + one(), true, None, false);
        check(at() + one(), false, Some(at() - Expr::constant(2)), true);
        // The index of a ring grows by 1 and is reset to 0.
        check(at() + one(), false, Some(Expr::default()), false);
    }
}
