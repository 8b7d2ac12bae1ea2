//! Statements: bindings, assignments and unused results.

use hx_dtype::{AtomicOp, DType};
use hx_index::{Expr as Value, Symbol};

use super::{Infer, TypeProblem};
use crate::{
    Builtin, Db, Expr, ExprId, Item, MemorySpace, Method, Pat, PatId, Resolution, StmtId, StmtKind, TensorTy,
    Ty, TypeRef, TypeRefId, body_of,
};

/// Reports whether a body has `warp_groups`, which determine the number of threads themselves.
pub(super) fn has_warp_groups<'db>(db: &'db dyn Db, item: Item<'db>) -> bool {
    let body = body_of(db, item);
    body.store.stmts.values().any(|s| matches!(s.kind, StmtKind::WarpGroups(_)))
}

impl Infer<'_> {
    pub(super) fn stmt(&mut self, id: StmtId) {
        let store = self.store;
        let stmt = &store[id];
        for &arg in stmt.attrs.iter().flat_map(|a| &a.args) {
            self.expr(arg);
        }
        match &stmt.kind {
            StmtKind::Let { pat, ty, value } => {
                let found = self.expr(*value);
                let found = match ty {
                    Some(ty) => self.declared(*value, found, *ty),
                    None => found,
                };
                // A local is a new tensor or a view. The tensor that it refers to decides whether it may be written.
                self.bind(*pat, found);
            }
            StmtKind::Assign { place, op, value } => self.assign(*place, op.is_some(), *value),
            StmtKind::Expr(expr) => {
                let found = self.expr(*expr);
                let block = matches!(store[*expr], Expr::If { .. } | Expr::Block(_));
                if !found.is_quiet() && found != Ty::Unit && !block && !self.drops_result(*expr) {
                    self.report(TypeProblem::UnusedResult { expr: *expr, found });
                }
            }
            StmtKind::Baseline(expr) => {
                self.expr(*expr);
            }
            StmtKind::For { pat, iterable, stages, body } => {
                if let Some(stages) = *stages {
                    let found = self.expr(stages);
                    self.want_int(stages, &found);
                }
                self.for_stmt(*pat, *iterable, *body);
            }
            StmtKind::While { condition, body } => {
                let found = self.expr(*condition);
                self.want_condition(*condition, &found);
                self.expr(*body);
            }
            StmtKind::WarpGroups(roles) => {
                roles.iter().for_each(|role| self.role(id, role));
            }
            StmtKind::Measure { quantities, body } => {
                for (_, expr) in quantities {
                    self.expr(*expr);
                }
                self.expr(*body);
            }
        }
    }

    /// Reports whether a statement may drop the value of this expression: a call that also waits, or that changes memory.
    fn drops_result(&self, expr: ExprId) -> bool {
        if let Expr::Call { callee, .. } = &self.store[expr] {
            let called = self.names.exprs.get(*callee);
            return matches!(called, Some(Resolution::Builtin(Builtin::Atomic(f))) if f.op() != AtomicOp::Load);
        }
        let Expr::MethodCall { receiver, name, .. } = &self.store[expr] else { return false };
        let method = self.out.exprs.get(*receiver).and_then(|base| Method::of(base, name));
        method.is_some_and(Method::drops_result)
    }

    fn for_stmt(&mut self, pat: PatId, iterable: ExprId, body: ExprId) {
        let counter = match self.expr(iterable) {
            Ty::Range { end: Some(_), .. } | Ty::Counter => {
                let name = match &self.store[pat] {
                    Pat::Bind(name) => name.clone(),
                    _ => "_".into(),
                };
                let number = pat.into_raw().into_u32();
                Ty::Int(Some(Value::symbol(Symbol::Var(name, number))))
            }
            quiet if quiet.is_quiet() => Ty::Unknown,
            found => {
                let wanted = "a range `a..b` or a counter";
                self.report(TypeProblem::Mismatch { expr: iterable, found, wanted })
            }
        };
        self.bind(pat, counter);
        self.expr(body);
    }

    /// Returns the type of a local whose `let` states a type. `found` is the type of its value.
    fn declared(&mut self, value: ExprId, found: Ty, ty: TypeRefId) -> Ty {
        let store = self.store;
        if let (TypeRef::Tuple(types), Expr::Tuple(fields), Ty::Tuple(parts)) =
            (&store[ty], &store[value], &found)
            && types.len() == fields.len()
            && parts.len() == fields.len()
        {
            let each = types.iter().zip(fields).zip(parts.iter());
            return Ty::Tuple(
                each.map(|((ty, field), part)| self.declared(field.value, part.clone(), *ty)).collect(),
            );
        }
        let Some(wanted) = self.type_of(ty, Some(MemorySpace::Register)) else { return found };
        self.check_annotation(value, &found, &wanted);
        let dtype = match self.names.types.get(ty) {
            Some(Resolution::DType(dtype)) => Some(*dtype),
            _ => None,
        };
        match (dtype, &found) {
            (Some(dtype), Ty::Int(_)) => {
                self.check_literal(value, &found, dtype);
                // A narrower integer may wrap where it is used, so its value is not kept.
                if dtype == DType::I64 { found } else { wanted }
            }
            _ if found.is_quiet() => wanted,
            _ => found,
        }
    }

    /// Binds the names of a pattern to their types.
    pub(super) fn bind(&mut self, pat: PatId, ty: Ty) {
        let store = self.store;
        match &store[pat] {
            Pat::Missing | Pat::Wildcard => {}
            Pat::Bind(_) => {
                let ty = match ty {
                    // Some statement assigns to the local, so its value is unknown.
                    Ty::Int(_) if self.assigned.contains(&pat) => Ty::Int(None),
                    // `let y = x` of a register tensor makes a new tensor.
                    Ty::Tensor(t) if t.space == MemorySpace::Register => {
                        Ty::Tensor(TensorTy { mutable: true, param: None, ..t })
                    }
                    other => other,
                };
                self.out.pats.insert(pat, ty);
            }
            Pat::Tuple(parts) | Pat::Array(parts) => {
                let types = match ty {
                    Ty::Tuple(types) | Ty::Array(types) if types.len() == parts.len() => types,
                    single @ Ty::Int(_) if parts.len() == 1 => [single].into(),
                    quiet if quiet.is_quiet() => vec![quiet; parts.len()].into(),
                    found => {
                        self.report(TypeProblem::Pattern { pat, found, wanted: parts.len() });
                        vec![Ty::Error; parts.len()].into()
                    }
                };
                for (&part, ty) in parts.iter().zip(types.iter()) {
                    self.bind(part, ty.clone());
                }
            }
        }
    }

    /// Returns the problem of an assignment to a single element of a tensor in memory; `None` for any other place.
    fn element_written(&self, place: ExprId, added: bool, value: ExprId) -> Option<TypeProblem> {
        let Expr::Index { base, args } = &self.store[place] else { return None };
        let types = &self.out.exprs;
        let Some(Ty::Tensor(t)) = types.get(*base) else { return None };
        let is_number = |arg: &ExprId| matches!(types.get(*arg), Some(Ty::Int(_)));
        let is_element =
            t.space != MemorySpace::Register && args.len() == t.shape.len() && args.iter().all(is_number);
        is_element.then(|| TypeProblem::ElementWritten {
            expr: place,
            base: *base,
            indices: args.clone(),
            value,
            added,
        })
    }

    fn assign(&mut self, place: ExprId, arithmetic: bool, value: ExprId) {
        let (target, found) = (self.expr(place), self.expr(value));
        if let Some(problem) = self.element_written(place, arithmetic, value) {
            self.out.writes.unknown = true;
            self.report(problem);
            return;
        }
        // A part of a register tensor may be assigned to if the whole may.
        let (whole, is_part) = match (&self.store[place], &target) {
            (Expr::Index { base, .. }, Ty::Tensor(t)) if t.space == MemorySpace::Register => (*base, true),
            _ => (place, false),
        };
        let local = match self.names.exprs.get(whole) {
            Some(Resolution::Local(_)) => true,
            // A tensor parameter of a function may be assigned to.
            Some(Resolution::Param(_)) => matches!(target, Ty::Tensor(_)),
            _ => false,
        };
        if target.is_quiet() {
            self.out.writes.unknown = true;
            return;
        }
        if target.is_handle() {
            self.report(TypeProblem::FixedHandle { expr: place, found: target });
            return;
        }
        if !local {
            let space = if let Ty::Tensor(tensor) = &target { Some(tensor.space) } else { None };
            self.report(TypeProblem::NotAPlace { expr: place, space });
            return;
        }
        if is_part {
            return self.assign_part(whole, value, &found);
        }
        match (&target, &found) {
            (Ty::Tensor(dst), _) => {
                self.out.writes.params.extend(dst.param);
                if dst.space != MemorySpace::Register {
                    let operation = "=".to_owned();
                    self.report(TypeProblem::Memory {
                        expr: place,
                        found: dst.space,
                        wanted: "register",
                        operation,
                    });
                    return;
                }
                if !dst.mutable {
                    self.report(TypeProblem::NotMutable { expr: place, param: dst.param, gathered: false });
                    return;
                }
                match &found {
                    Ty::Tensor(src) => self.same_tile((place, dst), (value, src), value),
                    // `acc *= 2.0` scales every element.
                    Ty::Int(_) | Ty::Float(_) if arithmetic => {}
                    quiet if quiet.is_quiet() => {}
                    other => {
                        let found = other.clone();
                        self.report(TypeProblem::Mismatch { expr: value, found, wanted: "a tensor" });
                    }
                }
            }
            (wanted, found) => self.check_annotation(value, found, wanted),
        }
    }

    /// Checks an assignment to a part of a register tensor. The lowering, which knows the bounds, checks the shape of the value.
    fn assign_part(&mut self, whole: ExprId, value: ExprId, found: &Ty) {
        let Some(Ty::Tensor(dst)) = self.out.exprs.get(whole).cloned() else { return };
        self.out.writes.params.extend(dst.param);
        if !dst.mutable {
            self.report(TypeProblem::NotMutable { expr: whole, param: dst.param, gathered: false });
            return;
        }
        match found {
            Ty::Tensor(src) if src.elem.differs(&dst.elem) => {
                let (found, wanted) = (src.elem.clone(), dst.elem.clone());
                self.report(TypeProblem::DTypes { expr: value, found, other: whole, wanted });
            }
            Ty::Tensor(_) | Ty::Int(_) | Ty::Float(_) | Ty::Bool => {}
            quiet if quiet.is_quiet() => {}
            other => {
                let found = other.clone();
                self.report(TypeProblem::Mismatch { expr: value, found, wanted: "a tensor or a number" });
            }
        }
    }

    /// Checks that element types and shapes are equal, as `copy` and `=` require.
    pub(super) fn same_tile(
        &mut self,
        (dst, to): (ExprId, &TensorTy),
        (src, from): (ExprId, &TensorTy),
        at: ExprId,
    ) {
        if from.elem.differs(&to.elem) {
            let (found, wanted) = (from.elem.clone(), to.elem.clone());
            self.report(TypeProblem::DTypes { expr: src, found, other: dst, wanted });
        }
        if from.shape.len() != to.shape.len() || crate::shapes_differ(&from.shape, &to.shape) {
            let (left, right) = ((src, from.shape.clone()), (dst, to.shape.clone()));
            self.report(TypeProblem::Shapes { expr: at, broadcasts: false, left, right });
        }
    }

    /// Checks the value of a function's body against its declared return type.
    pub(super) fn check_return(&mut self, root: ExprId, found: &Ty, wanted: Option<&Ty>) {
        let Some(wanted) = wanted else { return };
        let at = match &self.store[root] {
            Expr::Block(block) => block.tail.unwrap_or(root),
            _ => root,
        };
        self.check_annotation(at, found, wanted);
    }
}
