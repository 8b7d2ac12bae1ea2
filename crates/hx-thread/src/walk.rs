//! Visits statements inside of statements.

use std::collections::BTreeSet;

use hx_index::Symbol;

use crate::{Body, Bulk, Role, Stmt, ThreadProgram};

impl Stmt {
    /// Returns the bodies inside the statement: the body of an operation or a loop, the two branches of a condition, those
    /// of all roles. The body of a [`crate::Log`] does not count: it holds only its [`crate::Put`]s, with their loops.
    pub fn bodies(&self) -> impl Iterator<Item = &Body> + use<'_> {
        let (bodies, roles): ([Option<&Body>; 2], &[Role]) = match self {
            Stmt::Group(group) => ([Some(&group.body), None], &[]),
            Stmt::For { body, .. } | Stmt::While { body, .. } => ([Some(body), None], &[]),
            Stmt::Drawn(drawn) => ([Some(&drawn.body), None], &[]),
            Stmt::If { then, otherwise, .. } => ([Some(then), Some(otherwise)], &[]),
            Stmt::Roles(roles) => ([None, None], roles),
            Stmt::Let { .. }
            | Stmt::Uniform { .. }
            | Stmt::MultiplyAsync(_)
            | Stmt::Fence(_)
            | Stmt::CommitProducts
            | Stmt::WaitProducts { .. }
            | Stmt::Barrier
            | Stmt::WarpBarrier
            | Stmt::Transfer(_)
            | Stmt::Multiply(_)
            | Stmt::Convert(_)
            | Stmt::Fill(_)
            | Stmt::Compute(_)
            | Stmt::Exchange(_)
            | Stmt::AsyncCopy(_)
            | Stmt::Send(_)
            | Stmt::Bulk(_)
            | Stmt::BulkStore(_)
            | Stmt::BulkCommit
            | Stmt::BulkWait { .. }
            | Stmt::Commit
            | Stmt::Wait { .. }
            | Stmt::Assign { .. }
            | Stmt::LoadInteger { .. }
            | Stmt::LoadIndex { .. }
            | Stmt::ReadIndex { .. }
            | Stmt::LetNumber { .. }
            | Stmt::AssignNumber { .. }
            | Stmt::Log(_)
            | Stmt::Put(_)
            | Stmt::Await { .. }
            | Stmt::Arrive { .. }
            | Stmt::Expect { .. }
            | Stmt::Draw(_)
            | Stmt::NamedSync { .. }
            | Stmt::NamedArrive { .. }
            | Stmt::WaitPrevious
            | Stmt::AllowNext => ([None, None], &[]),
        };
        bodies.into_iter().flatten().chain(roles.iter().map(|role| &role.body))
    }
}

impl ThreadProgram {
    /// Reports whether blocks of a cluster reach each other's shared memory. Then the threads of all of them meet before the body,
    /// when the barriers are ready, and after it.
    pub fn crosses_blocks(&self) -> bool {
        let mut crosses = false;
        visit(&self.body, &mut |stmt| {
            if let Stmt::Bulk(Bulk { blocks, .. }) | Stmt::Arrive { blocks, .. } = stmt {
                crosses |= !blocks.is_empty();
            }
            crosses |= matches!(stmt, Stmt::Send(_));
        });
        crosses
    }

    /// Reports whether a launch may overlap the launches before it: it waits for them before it accesses global memory.
    pub fn waits_for_previous(&self) -> bool {
        let mut waits = false;
        visit(&self.body, &mut |stmt| waits |= matches!(stmt, Stmt::WaitPrevious));
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

/// Returns the local numbers that some statement of a body changes.
pub fn assigned(body: &[Stmt]) -> BTreeSet<Symbol> {
    let mut out = BTreeSet::new();
    visit(body, &mut |stmt| {
        if let Stmt::Assign { var, .. } | Stmt::AssignNumber { var, .. } = stmt {
            out.insert(var.clone());
        }
    });
    out
}
