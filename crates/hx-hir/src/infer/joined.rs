//! The types of joined tensors, of their parts, and of flipped tensors.

use hx_index::Expr as Value;

use super::builtin::first;
use super::call::TypedArg;
use super::{Infer, TypeProblem};
use crate::{ArgProblem, Elem, ExprId, KernelFn, MemorySpace, TensorTy, Ty};

impl Infer<'_> {
    /// Infers the type of `concat(a, b, …, axis: k)`. The lowering, which knows the extents, checks them. `None` without
    /// arguments.
    pub(super) fn concat(&mut self, id: ExprId, given: &[Option<TypedArg>]) -> Option<Ty> {
        let (axis, parts) = given.split_last()?;
        let Some(axis) = axis else { return Some(self.without_axis(id, KernelFn::Concat)) };
        let mut joined: Option<(ExprId, TensorTy)> = None;
        let at = self.constant_axis(axis);
        for (expr, ty) in parts.iter().flatten() {
            let part = match self.want_tensor_in((*expr, ty), MemorySpace::Register, "concat") {
                Ok(part) => part,
                Err(quiet) => return Some(quiet),
            };
            let Some((other, mut known)) = joined.take() else {
                joined = Some((*expr, TensorTy { mutable: true, param: None, ..part }));
                continue;
            };
            if known.elem.differs(&part.elem) {
                let (found, wanted) = (part.elem, known.elem);
                return Some(self.report(TypeProblem::DTypes { expr: *expr, found, other, wanted }));
            }
            if known.shape.len() != part.shape.len() {
                let wanted = format!("{} modes as of the first tensor", known.shape.len());
                let found = part.shape.len();
                return Some(self.report(TypeProblem::Rank { expr: *expr, found, wanted }));
            }
            match at.filter(|at| *at < known.shape.len()) {
                Some(at) => {
                    let sum = known.shape[at].clone().zip(part.shape[at].clone());
                    known.shape[at] = sum.map(|(a, b)| a + b);
                }
                None => known.shape.iter_mut().for_each(|extent| *extent = None),
            }
            joined = Some((other, known));
        }
        Some(joined.map_or(Ty::Unknown, |(_, t)| Ty::Tensor(t)))
    }

    /// Infers the type of `split(t, n, axis: k)`: a tuple of `n` parts. `None` if `t` or `n` is missing.
    pub(super) fn split(&mut self, given: &[Option<TypedArg>]) -> Option<Ty> {
        let [t, count] = first(given)?;
        let tensor = match self.want_tensor(t.0, &t.1) {
            Ok(tensor) => tensor,
            Err(quiet) => return Some(quiet),
        };
        let Some(Some(axis)) = given.get(2) else {
            return Some(self.without_axis(t.0, KernelFn::Split));
        };
        if tensor.space == MemorySpace::Global {
            let operation = "split".to_owned();
            let wanted = "register or shared";
            return Some(self.report(TypeProblem::Memory {
                expr: t.0,
                found: tensor.space,
                wanted,
                operation,
            }));
        }
        let Ty::Int(Some(count)) = self.want_int(count.0, &count.1) else { return Some(Ty::Unknown) };
        let (Some(n), Some(at)) = (count.as_const(), self.constant_axis(axis)) else {
            return Some(Ty::Unknown);
        };
        let count = usize::try_from(n).ok().filter(|n| (1..=64).contains(n));
        let (Some(count), true) = (count, at < tensor.shape.len()) else { return Some(Ty::Unknown) };
        let mut part = TensorTy { param: None, ..tensor };
        let extent = part.shape[at].take().and_then(|extent| extent.as_const());
        part.shape[at] = extent.filter(|extent| extent % n == 0).map(|extent| Value::constant(extent / n));
        Some(Ty::Tuple(vec![Ty::Tensor(part); count].into()))
    }

    /// Infers the type of `flip(t, axis)`. `None` if an argument is missing.
    pub(super) fn flip(&mut self, given: &[Option<TypedArg>]) -> Option<Ty> {
        let [t, axis] = first(given)?;
        self.want_int(axis.0, &axis.1);
        Some(match self.want_tensor_in((t.0, &t.1), MemorySpace::Register, "flip") {
            Ok(flipped) => Ty::Tensor(TensorTy { mutable: true, param: None, ..flipped }),
            Err(quiet) => quiet,
        })
    }

    /// Infers the type of `bitcast(t, T, axis: k)`. Elements of another width lie along the axis, by default the last one. The
    /// lowering, which knows the extents, checks them. `None` if an argument is missing.
    pub(super) fn bitcast(&mut self, given: &[Option<TypedArg>]) -> Option<Ty> {
        let [t, dtype] = first(given)?;
        let from = if let Ty::Tensor(t) = &t.1 { Some(t.elem.clone()) } else { None };
        let axis = given.get(2).and_then(Option::as_ref).map(|axis| self.constant_axis(axis));
        let mut cast = self.cast(t, dtype);
        let (Some(from), Ty::Tensor(t)) = (from, &mut cast) else { return Some(cast) };
        let (Elem::Known(from), Elem::Known(to)) = (from, &t.elem) else {
            t.shape.iter_mut().for_each(|extent| *extent = None);
            return Some(cast);
        };
        let (from, to) = (i64::from(from.bits()), i64::from(to.bits()));
        let at = axis.unwrap_or(t.shape.len().checked_sub(1));
        match at.and_then(|at| t.shape.get_mut(at)) {
            _ if from == to => {}
            Some(extent) if from > to => {
                *extent = extent.take().map(|extent| extent * Value::constant(from / to));
            }
            Some(extent) => {
                let (narrow, parts) = (extent.take().and_then(|extent| extent.as_const()), to / from);
                *extent = narrow.filter(|n| n % parts == 0).map(|n| Value::constant(n / parts));
            }
            None => t.shape.iter_mut().for_each(|extent| *extent = None),
        }
        Some(cast)
    }

    fn constant_axis(&mut self, (at, axis): &TypedArg) -> Option<usize> {
        match self.want_int(*at, axis) {
            Ty::Int(Some(axis)) => usize::try_from(axis.as_const()?).ok(),
            _ => None,
        }
    }

    fn without_axis(&mut self, call: ExprId, function: KernelFn) -> Ty {
        let problem = ArgProblem::Missing { params: vec!["axis".to_owned()] };
        let callee = function.name().into();
        self.report(TypeProblem::Args { call, callee, problem, labels: Vec::new() })
    }
}
