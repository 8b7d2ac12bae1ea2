//! The roles of `warp_groups`: their place, their numbers and their bodies.

use hx_index::{Expr as Value, Symbol};

use super::{Infer, RolesProblem, TypeProblem};
use crate::{Expr, ExprId, Pat, Resolution, StmtId, StmtKind, Ty, WarpRole};

impl Infer<'_> {
    /// Checks that `warp_groups` is the last statement of a kernel's body, and has a role.
    pub(super) fn place_roles(&mut self, root: ExprId) {
        let (stmts, tail) = match &self.store[root] {
            Expr::Block(block) => (block.stmts.as_slice(), block.tail),
            _ => (&[][..], None),
        };
        let last = stmts.last().filter(|_| tail.is_none());
        for (id, stmt) in self.store.stmts.iter() {
            let StmtKind::WarpGroups(roles) = &stmt.kind else { continue };
            let problem = if self.in_function {
                RolesProblem::InFunction
            } else if last == Some(&id) {
                if roles.is_empty() { RolesProblem::NoRole } else { continue }
            } else if stmts.contains(&id) {
                RolesProblem::NotLast
            } else {
                RolesProblem::Inside
            };
            self.report(TypeProblem::Roles { stmt: id, problem });
        }
    }

    pub(super) fn role(&mut self, stmt: StmtId, role: &WarpRole) {
        for &expr in role.count.iter().chain(&role.registers) {
            let found = self.expr(expr);
            self.want_int(expr, &found);
            if self.mentions_local(expr) {
                self.report(TypeProblem::RoleNumber { expr });
            } else if let Ty::Int(Some(value)) = found
                && !crate::is_compile_time(&value)
            {
                self.report(TypeProblem::NotConstant { expr, value });
            }
        }
        if let Some(pat) = role.binder {
            if !role.each {
                self.report(TypeProblem::Roles { stmt, problem: RolesProblem::Binder(pat) });
            }
            let name = match &self.store[pat] {
                Pat::Bind(name) => name.clone(),
                _ => "_".into(),
            };
            let number = pat.into_raw().into_u32();
            self.bind(pat, Ty::Int(Some(Value::symbol(Symbol::Var(name, number)))));
        }
        self.expr(role.body);
    }

    fn mentions_local(&self, expr: ExprId) -> bool {
        let mut found = matches!(self.names.exprs.get(expr), Some(Resolution::Local(_)));
        self.store.for_each_child(expr, &mut |child| found |= self.mentions_local(child));
        found
    }
}
