//! Expressions: literals, operators, layouts, `if`, blocks.

use hx_dtype::DType;
use hx_index::{BitOp, Expr as Value};

use super::tensor::Outside;
use super::{Infer, MAX_TERMS, TypeProblem, is_missing};
use crate::{
    ArithOp, BinaryOp, Block, CmpOp, Elem, Expr, ExprId, Extent, Literal, LogicOp, MemorySpace, TensorTy, Ty,
    UnaryOp, bit_op, definitely_differ,
};

impl<'a> Infer<'a> {
    /// Infers and records the type of an expression.
    pub(super) fn expr(&mut self, id: ExprId) -> Ty {
        let ty = self.expr_inner(id);
        self.out.exprs.insert(id, ty.clone());
        ty
    }

    fn expr_inner(&mut self, id: ExprId) -> Ty {
        let store = self.store;
        match &store[id] {
            Expr::Missing => Ty::Error,
            Expr::Literal(literal) => literal_ty(literal),
            Expr::Path { generics, .. } => {
                for generic in generics {
                    self.expr(generic.value);
                }
                self.resolved(id)
            }
            Expr::Unary { op, operand } => self.unary(id, *op, *operand),
            Expr::Binary { op, lhs, rhs } => self.binary(id, *op, *lhs, *rhs),
            Expr::Call { callee, args } => self.call(id, *callee, args),
            Expr::MethodCall { receiver, name, args } => self.method_call(id, *receiver, name, args),
            Expr::Field { base, name } => self.field(id, *base, name),
            Expr::Index { base, args } => self.index(id, *base, args, Outside::Refused),
            Expr::Guarded { read, otherwise } => self.guarded(*read, *otherwise),
            Expr::Tuple(fields) => {
                let parts = fields.iter().map(|f| self.expr(f.value)).collect();
                self.compound(id, parts, Ty::Tuple)
            }
            Expr::Array(parts) => {
                let parts = parts.iter().map(|p| self.expr(*p)).collect();
                self.compound(id, parts, Ty::Array)
            }
            Expr::Layout { shape, stride } => self.layout(*shape, *stride),
            Expr::Range { start, end } => {
                let mut bound = |e: &Option<ExprId>| {
                    e.map(|e| {
                        let found = self.expr(e);
                        Box::new(self.want_int(e, &found))
                    })
                };
                let start = bound(start);
                Ty::Range { start, end: bound(end) }
            }
            Expr::New => Ty::New,
            Expr::Wildcard => Ty::Unknown,
            Expr::Closure { body, .. } => {
                // The operator determines the types of a closure's parameters, and its application checks them.
                self.expr(*body);
                Ty::Closure
            }
            Expr::If { condition, then, otherwise } => self.if_expr(*condition, *then, *otherwise),
            Expr::Block(block) => self.block(block),
        }
    }

    pub(super) fn block(&mut self, block: &Block) -> Ty {
        for &stmt in &block.stmts {
            self.stmt(stmt);
        }
        block.tail.map_or(Ty::Unit, |tail| self.expr(tail))
    }

    fn if_expr(&mut self, condition: ExprId, then: ExprId, otherwise: Option<ExprId>) -> Ty {
        let found = self.expr(condition);
        self.want_condition(condition, &found);
        let then = self.expr(then);
        let Some(otherwise) = otherwise else { return Ty::Unit };
        let other = self.expr(otherwise);
        match (then, other) {
            (a, b) if a == b => a,
            (Ty::Int(_), Ty::Int(_)) => Ty::Int(None),
            _ => Ty::Unknown,
        }
    }

    pub(super) fn want_condition(&mut self, expr: ExprId, found: &Ty) {
        match found {
            Ty::Bool => {}
            quiet if quiet.is_quiet() => {}
            Ty::Tensor(_) => {
                self.report(TypeProblem::NotUniform { expr });
            }
            other => {
                self.report(TypeProblem::Mismatch { expr, found: other.clone(), wanted: "a truth value" });
            }
        }
    }

    /// Returns the type if it is an integer, and an integer of unknown value for a read of one element. A quiet type stays; any
    /// other type is reported.
    pub(super) fn want_int(&mut self, expr: ExprId, found: &Ty) -> Ty {
        match found {
            Ty::Int(_) => found.clone(),
            quiet if quiet.is_quiet() => quiet.clone(),
            // A tensor without modes is a read of one element.
            Ty::Tensor(t) if t.shape.is_empty() => Ty::Int(None),
            other => self.report(TypeProblem::Mismatch { expr, found: other.clone(), wanted: "an integer" }),
        }
    }

    /// Infers the value of an extent; `None` if it is unknown or not an integer.
    pub(super) fn extent(&mut self, expr: ExprId) -> Extent {
        let found = self.expr(expr);
        match self.want_int(expr, &found) {
            Ty::Int(value) => value,
            _ => None,
        }
    }

    fn unary(&mut self, id: ExprId, op: UnaryOp, operand: ExprId) -> Ty {
        match (op, self.expr(operand)) {
            (_, quiet) if quiet.is_quiet() => quiet,
            (UnaryOp::Neg, Ty::Int(value)) => Ty::Int(value.map(|v| -v)),
            (UnaryOp::Neg, float @ Ty::Float(_)) => float,
            (UnaryOp::Not | UnaryOp::BitNot, Ty::Bool) => Ty::Bool,
            (UnaryOp::BitNot, Ty::Int(_)) => Ty::Int(None),
            (UnaryOp::BitNot, number) if may_be_int(&number) => Ty::Unknown,
            (op, Ty::Tensor(t)) => self.elementwise(operand, t, op.text()),
            (op, lhs) => {
                let op = op.text();
                self.report(TypeProblem::NoOperation { expr: id, op, lhs, rhs: None })
            }
        }
    }

    /// Returns the result type of an elementwise operation on one tensor: a new register tensor. It is unknown for a read of
    /// one element, and a tensor in memory is an error.
    pub(super) fn elementwise(&mut self, operand: ExprId, t: TensorTy, op: &str) -> Ty {
        if t.shape.is_empty() {
            return Ty::Unknown;
        }
        if t.space != MemorySpace::Register {
            return self.report(TypeProblem::Memory {
                expr: operand,
                found: t.space,
                wanted: "register",
                operation: op.to_owned(),
            });
        }
        Ty::Tensor(TensorTy { mutable: true, param: None, ..t })
    }

    fn binary(&mut self, id: ExprId, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> Ty {
        let (a, b) = (self.expr(lhs), self.expr(rhs));
        if a.is_quiet() || b.is_quiet() {
            // An operand is unknown or an error. A comparison without tensors is a condition all the same, so its type is
            // `Unknown`, not `Error`.
            return match op {
                BinaryOp::Cmp(_) if !matches!((&a, &b), (Ty::Tensor(_), _) | (_, Ty::Tensor(_))) => {
                    Ty::Unknown
                }
                _ => {
                    if a == Ty::Error || b == Ty::Error {
                        Ty::Error
                    } else {
                        Ty::Unknown
                    }
                }
            };
        }
        if let (Ty::Tensor(_), _) | (_, Ty::Tensor(_)) = (&a, &b) {
            return self.tensor_binary(id, op, (lhs, a), (rhs, b));
        }
        match (op, &a, &b) {
            (BinaryOp::Compose, Ty::Layout(_), Ty::Layout(_)) => Ty::Layout(None),
            (BinaryOp::Logic(LogicOp::And | LogicOp::Or), Ty::Bool, Ty::Bool) => Ty::Bool,
            (BinaryOp::Arith(op), Ty::Int(x), Ty::Int(y)) => self.int_op(id, op, x.as_ref(), y.as_ref(), rhs),
            (BinaryOp::Arith(ArithOp::BitAnd | ArithOp::BitOr | ArithOp::BitXor), Ty::Bool, Ty::Bool) => {
                Ty::Bool
            }
            (BinaryOp::Arith(op), Ty::Float(x), Ty::Float(y)) if computes(op) => match (x, y) {
                (Some(x), Some(y)) if x.differs(y) => self.report(TypeProblem::DTypes {
                    expr: rhs,
                    found: y.clone(),
                    other: lhs,
                    wanted: x.clone(),
                }),
                (x, y) => Ty::Float(x.clone().or_else(|| y.clone())),
            },
            (BinaryOp::Arith(op), Ty::Float(x), Ty::Int(_))
            | (BinaryOp::Arith(op), Ty::Int(_), Ty::Float(x))
                if computes(op) =>
            {
                Ty::Float(x.clone())
            }
            // A number whose type is a compile-time parameter may be an integer.
            (BinaryOp::Arith(op), x, y) if bit_op(op).is_some() && may_be_int(x) && may_be_int(y) => {
                Ty::Unknown
            }
            (BinaryOp::Cmp(_), Ty::Int(_) | Ty::Float(_), Ty::Int(_) | Ty::Float(_)) => Ty::Bool,
            (BinaryOp::Cmp(CmpOp::Eq | CmpOp::Ne), Ty::DType(_), Ty::DType(_))
            | (BinaryOp::Cmp(CmpOp::Eq | CmpOp::Ne), Ty::Layout(_), Ty::Layout(_))
            | (BinaryOp::Cmp(CmpOp::Eq | CmpOp::Ne), Ty::Function(_), Ty::Function(_))
            | (BinaryOp::Cmp(CmpOp::Eq | CmpOp::Ne), Ty::Bool, Ty::Bool) => Ty::Bool,
            _ => self.report(TypeProblem::NoOperation { expr: id, op: op.text(), lhs: a, rhs: Some(b) }),
        }
    }

    fn int_op(&mut self, id: ExprId, op: ArithOp, a: Option<&Value>, b: Option<&Value>, rhs: ExprId) -> Ty {
        if let (ArithOp::Div | ArithOp::Rem, Some(0)) = (op, b.and_then(Value::as_const)) {
            return self.report(TypeProblem::DivisionByZero { expr: rhs });
        }
        if op == ArithOp::MatMul {
            let (lhs, rhs) = (Ty::Int(None), Some(Ty::Int(None)));
            return self.report(TypeProblem::NoOperation { expr: id, op: "@", lhs, rhs });
        }
        let (Some(a), Some(b)) = (a, b) else { return Ty::Int(None) };
        if a.is_larger_than(MAX_TERMS) || b.is_larger_than(MAX_TERMS) {
            // Instances report it, unless facts simplify the value there.
            return Ty::Int(None);
        }
        if let (Some(x), Some(y)) = (a.as_const(), b.as_const()) {
            let overflows = match op {
                ArithOp::Add => x.checked_add(y).is_none(),
                ArithOp::Sub => x.checked_sub(y).is_none(),
                ArithOp::Mul => x.checked_mul(y).is_none(),
                ArithOp::Shl => BitOp::Shl.eval(x, y).is_none(),
                _ => false,
            };
            if overflows {
                return self.report(TypeProblem::Overflow { expr: id });
            }
        }
        Ty::Int(Some(match op {
            ArithOp::Add => (a.clone() + b.clone()).simplify(&self.facts),
            ArithOp::Sub => (a.clone() - b.clone()).simplify(&self.facts),
            ArithOp::Mul => (a * b).simplify(&self.facts),
            ArithOp::Div => a.div(b, &self.facts),
            ArithOp::Rem | ArithOp::MatMul => a.rem(b, &self.facts),
            ArithOp::BitAnd | ArithOp::BitOr | ArithOp::BitXor | ArithOp::Shl | ArithOp::Shr => {
                return Ty::Int(bit_op(op).and_then(|op| op.apply(a, b, &self.facts)));
            }
        }))
    }

    /// Infers an operator with a tensor on at least one side: elementwise, with broadcasting.
    fn tensor_binary(
        &mut self,
        id: ExprId,
        op: BinaryOp,
        (lhs, a): (ExprId, Ty),
        (rhs, b): (ExprId, Ty),
    ) -> Ty {
        if matches!(op, BinaryOp::Compose | BinaryOp::Arith(ArithOp::MatMul)) {
            return self.report(TypeProblem::NoOperation { expr: id, op: op.text(), lhs: a, rhs: Some(b) });
        }
        let result = match (a, b) {
            (Ty::Tensor(x), Ty::Tensor(y)) => {
                let x = self.elementwise(lhs, x, op.text());
                let y = self.elementwise(rhs, y, op.text());
                let (Ty::Tensor(x), Ty::Tensor(y)) = (x, y) else { return Ty::Error };
                // The count of a shift is an integer of any type. Lowering reports a count of floats.
                if is_shift(op) && is_float(&y.elem) {
                    return Ty::Unknown;
                }
                if !is_shift(op) && x.elem.differs(&y.elem) {
                    return self.report(TypeProblem::DTypes {
                        expr: rhs,
                        found: y.elem,
                        other: lhs,
                        wanted: x.elem,
                    });
                }
                match self.broadcast(id, (lhs, &x.shape), (rhs, &y.shape)) {
                    Some(shape) => Ty::Tensor(TensorTy { shape, ..x }),
                    None => return Ty::Error,
                }
            }
            (Ty::Tensor(x), scalar) => self.with_scalar(id, op, (lhs, x), (rhs, scalar)),
            // The result has the type of the number, which may be another integer type; a literal takes that of the tile.
            (number, Ty::Tensor(y))
                if is_shift(op) && may_be_int(&number) && !matches!(self.store[lhs], Expr::Literal(_)) =>
            {
                match self.elementwise(rhs, y, op.text()) {
                    Ty::Tensor(t) if !is_float(&t.elem) => Ty::Tensor(TensorTy { elem: Elem::Unknown, ..t }),
                    other => other,
                }
            }
            (scalar, Ty::Tensor(y)) => self.with_scalar(id, op, (rhs, y), (lhs, scalar)),
            _ => Ty::Unknown,
        };
        match (op, result) {
            (BinaryOp::Arith(op), Ty::Tensor(t)) if bit_op(op).is_some() && is_float(&t.elem) => {
                let lhs = Ty::Tensor(t);
                self.report(TypeProblem::NoOperation { expr: id, op: op.text(), lhs, rhs: None })
            }
            (BinaryOp::Cmp(_), Ty::Tensor(t)) => Ty::Tensor(TensorTy { elem: Elem::Known(DType::Bool), ..t }),
            (_, result) => result,
        }
    }

    fn with_scalar(
        &mut self,
        id: ExprId,
        op: BinaryOp,
        (at, t): (ExprId, TensorTy),
        (scalar_at, scalar): (ExprId, Ty),
    ) -> Ty {
        let result = self.elementwise(at, t.clone(), op.text());
        // The count of a shift is bounded by the width of the type, which lowering checks.
        if let Elem::Known(dtype) = t.elem
            && !is_shift(op)
        {
            self.check_literal(scalar_at, &scalar, dtype);
        }
        match &scalar {
            Ty::Int(_) | Ty::Bool | Ty::Float(None) => result,
            Ty::Float(Some(elem)) if elem.differs(&t.elem) => self.report(TypeProblem::DTypes {
                expr: scalar_at,
                found: elem.clone(),
                other: at,
                wanted: t.elem,
            }),
            Ty::Float(_) => result,
            quiet if quiet.is_quiet() => result,
            _ => self.report(TypeProblem::NoOperation {
                expr: id,
                op: op.text(),
                lhs: Ty::Tensor(t),
                rhs: Some(scalar),
            }),
        }
    }

    /// Returns the shape of an elementwise operation: in each mode the extents must be equal, or one of them is 1. `None` if a
    /// mode breaks this rule or the ranks differ, which is reported.
    pub(super) fn broadcast(
        &mut self,
        id: ExprId,
        (lhs, a): (ExprId, &[Extent]),
        (rhs, b): (ExprId, &[Extent]),
    ) -> Option<Vec<Extent>> {
        let one = |e: &Extent| e.as_ref().and_then(Value::as_const) == Some(1);
        let differ = |x: &Extent, y: &Extent| {
            !one(x) && !one(y) && matches!((x, y), (Some(x), Some(y)) if definitely_differ(x, y))
        };
        if a.len() != b.len() || a.iter().zip(b).any(|(x, y)| differ(x, y)) {
            let (left, right) = ((lhs, a.to_vec()), (rhs, b.to_vec()));
            self.report(TypeProblem::Shapes { expr: id, broadcasts: true, left, right });
            return None;
        }
        Some(a.iter().zip(b).map(|(x, y)| if one(x) { y.clone() } else { x.clone() }).collect())
    }

    fn layout(&mut self, shape: ExprId, stride: ExprId) -> Ty {
        let (a, b) = (self.expr(shape), self.expr(stride));
        for (at, ty) in [(shape, &a), (stride, &b)] {
            if !is_int_tuple(ty) && !is_missing(self.store, at) {
                return self.report(TypeProblem::Mismatch {
                    expr: at,
                    found: ty.clone(),
                    wanted: "integers for a layout",
                });
            }
        }
        match a {
            Ty::Int(value) => Ty::Layout(Some(vec![value])),
            Ty::Tuple(parts) => Ty::Layout(Some(
                parts.iter().map(|p| if let Ty::Int(value) = p { value.clone() } else { None }).collect(),
            )),
            _ => Ty::Layout(None),
        }
    }
}

/// Reports whether floats compute with this operator.
fn computes(op: ArithOp) -> bool {
    op != ArithOp::MatMul && bit_op(op).is_none()
}

fn is_shift(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Arith(ArithOp::Shl | ArithOp::Shr))
}

/// Reports whether a number is an integer, or one of a compile-time type.
fn may_be_int(ty: &Ty) -> bool {
    matches!(ty, Ty::Int(_) | Ty::Float(Some(Elem::Param(_))))
}

fn is_float(elem: &Elem) -> bool {
    matches!(elem, Elem::Known(dtype) if dtype.is_float())
}

fn is_int_tuple(ty: &Ty) -> bool {
    match ty {
        Ty::Int(_) => true,
        Ty::Tuple(parts) => parts.iter().all(is_int_tuple),
        other => other.is_quiet(),
    }
}

fn literal_ty(literal: &Literal) -> Ty {
    match literal {
        Literal::Int(x) => Ty::Int(i64::try_from(*x).ok().map(Value::constant)),
        Literal::Float(_) | Literal::Inf => Ty::Float(None),
        Literal::String(_) => Ty::Str,
        Literal::Bool(_) => Ty::Bool,
    }
}
