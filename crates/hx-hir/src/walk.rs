//! Walks over a store: the parts of an expression, the parts of a statement, and the statements below an expression.

use crate::{Block, Expr, ExprId, ExprStore, StmtId, StmtKind};

impl ExprStore {
    /// Calls `f` for the expressions directly below an expression, except those of the statements of a block.
    pub fn for_each_child(&self, expr: ExprId, f: &mut dyn FnMut(ExprId)) {
        match &self[expr] {
            Expr::Missing | Expr::Literal(_) | Expr::New | Expr::Wildcard => {}
            Expr::Path { generics, .. } => generics.iter().for_each(|g| f(g.value)),
            Expr::Unary { operand, .. } => f(*operand),
            Expr::Binary { lhs, rhs, .. } => [*lhs, *rhs].into_iter().for_each(f),
            Expr::Call { callee, args } => {
                f(*callee);
                args.iter().for_each(|a| f(a.value));
            }
            Expr::MethodCall { receiver, args, .. } => {
                f(*receiver);
                args.iter().for_each(|a| f(a.value));
            }
            Expr::Field { base, .. } => f(*base),
            Expr::Index { base, args } => {
                f(*base);
                args.iter().for_each(|a| f(*a));
            }
            Expr::Guarded { read, otherwise } => [*read, *otherwise].into_iter().for_each(f),
            Expr::Tuple(fields) => fields.iter().for_each(|field| f(field.value)),
            Expr::Array(elements) => elements.iter().for_each(|e| f(*e)),
            Expr::Layout { shape, stride } => [*shape, *stride].into_iter().for_each(f),
            Expr::Range { start, end } => start.iter().chain(end).for_each(|e| f(*e)),
            Expr::Closure { body, .. } => f(*body),
            Expr::If { condition, then, otherwise } => {
                [*condition, *then].into_iter().chain(*otherwise).for_each(f);
            }
            Expr::Block(Block { tail, .. }) => tail.iter().for_each(|e| f(*e)),
        }
    }

    /// Calls `f` for the expressions directly below a statement.
    pub fn for_each_part(&self, stmt: StmtId, f: &mut dyn FnMut(ExprId)) {
        let stmt = &self[stmt];
        stmt.attrs.iter().flat_map(|a| &a.args).for_each(|e| f(*e));
        match &stmt.kind {
            StmtKind::Let { value, .. } => f(*value),
            StmtKind::Assign { place, value, .. } => [*place, *value].into_iter().for_each(f),
            StmtKind::Expr(expr) | StmtKind::Baseline(expr) => f(*expr),
            StmtKind::For { iterable, stages, body, .. } => {
                [Some(*iterable), *stages, Some(*body)].into_iter().flatten().for_each(f)
            }
            StmtKind::While { condition, body } => [*condition, *body].into_iter().for_each(f),
            StmtKind::WarpGroups(roles) => {
                for role in roles {
                    role.count.iter().chain(&role.registers).chain([&role.body]).for_each(|e| f(*e));
                }
            }
            StmtKind::Measure { quantities, body } => {
                quantities.iter().for_each(|(_, e)| f(*e));
                f(*body);
            }
        }
    }

    /// Returns every statement in an expression, at any depth, in the order of the text.
    pub fn stmts_in(&self, expr: ExprId) -> Vec<StmtId> {
        let mut out = Vec::new();
        self.collect_stmts(expr, &mut out);
        out
    }

    /// Reports whether `f` holds for an expression or for one in it, at any depth.
    pub(crate) fn any_below(&self, expr: ExprId, f: &mut dyn FnMut(ExprId) -> bool) -> bool {
        let mut below = Vec::new();
        self.for_each_child(expr, &mut |child| below.push(child));
        if let Expr::Block(block) = &self[expr] {
            block.stmts.iter().for_each(|stmt| self.for_each_part(*stmt, &mut |part| below.push(part)));
        }
        f(expr) || below.into_iter().any(|child| self.any_below(child, f))
    }

    fn collect_stmts(&self, expr: ExprId, out: &mut Vec<StmtId>) {
        if let Expr::Block(block) = &self[expr] {
            for &stmt in &block.stmts {
                out.push(stmt);
                self.for_each_part(stmt, &mut |part| self.collect_stmts(part, out));
            }
        }
        self.for_each_child(expr, &mut |child| self.collect_stmts(child, out));
    }
}
