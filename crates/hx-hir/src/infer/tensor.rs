//! Views and tensors: indexing, `.T`, `permute`, `tile`, `global_view`, new tensors.

use hx_index::Expr as Value;

use super::{Infer, TypeProblem, scalar_ty};
use crate::{Elem, Expr, ExprId, Extent, MemorySpace, Name, TensorTy, Ty, is_compile_time};

/// The meaning of an index that is provably outside of its tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outside {
    Refused,
    /// `else` names the value of such an element.
    Guarded,
}

impl Infer<'_> {
    pub(super) fn field(&mut self, id: ExprId, base: ExprId, name: &Name) -> Ty {
        match self.expr(base) {
            quiet if quiet.is_quiet() => quiet,
            Ty::Tensor(mut t) if name == "T" => {
                let rank = t.shape.len();
                if rank < 2 {
                    let wanted = "at least 2 modes for `.T`".to_owned();
                    return self.report(TypeProblem::Rank { expr: base, found: rank, wanted });
                }
                t.shape.swap(rank - 1, rank - 2);
                Ty::Tensor(t)
            }
            found => self.report(TypeProblem::Member { expr: id, base: found, name: name.clone() }),
        }
    }

    /// Infers `read else otherwise`. Whether the read is that of one element is known when the kernel is lowered.
    pub(super) fn guarded(&mut self, read: ExprId, otherwise: ExprId) -> Ty {
        let found = match &self.store[read] {
            Expr::Index { base, args } => self.index(read, *base, args, Outside::Guarded),
            _ => self.expr(read),
        };
        self.out.exprs.insert(read, found.clone());
        self.expr(otherwise);
        found
    }

    pub(super) fn index(&mut self, id: ExprId, base: ExprId, args: &[ExprId], outside: Outside) -> Ty {
        let found = self.expr(base);
        let indices: Vec<Ty> = args.iter().map(|a| self.expr(*a)).collect();
        match found {
            quiet if quiet.is_quiet() => quiet,
            Ty::Tensor(t) => self.index_tensor(id, (base, t), args, indices, outside),
            Ty::Tuple(parts) | Ty::Array(parts) => self.index_list(id, &parts, args, &indices),
            Ty::Layout(_) => Ty::Unknown,
            lhs => self.report(TypeProblem::NoOperation { expr: id, op: "[…]", lhs, rhs: None }),
        }
    }

    fn index_list(&mut self, id: ExprId, parts: &[Ty], args: &[ExprId], indices: &[Ty]) -> Ty {
        let ([arg], [index]) = (args, indices) else {
            return self.report(TypeProblem::Rank { expr: id, found: args.len(), wanted: "1 index".into() });
        };
        let Ty::Int(Some(value)) = self.want_int(*arg, index) else { return Ty::Unknown };
        let Some(i) = value.as_const() else { return Ty::Unknown };
        match usize::try_from(i).ok().and_then(|i| parts.get(i)) {
            Some(part) => part.clone(),
            None => {
                let extent = Value::constant(parts.len() as i64);
                self.report(TypeProblem::IndexOutside { expr: *arg, index: value, extent })
            }
        }
    }

    fn index_tensor(
        &mut self,
        id: ExprId,
        (base, t): (ExprId, TensorTy),
        args: &[ExprId],
        indices: Vec<Ty>,
        outside: Outside,
    ) -> Ty {
        let taken = indices.iter().filter(|i| **i != Ty::New).count();
        if taken > t.shape.len() {
            let shape = t.shape.clone();
            return self.report(TypeProblem::TooManyIndices { expr: id, base, found: taken, shape });
        }
        let mut modes = t.shape.iter();
        let mut shape: Vec<Extent> = Vec::new();
        let mut quiet = false;
        for (&arg, index) in args.iter().zip(indices) {
            if index == Ty::New {
                shape.push(Some(Value::constant(1)));
                continue;
            }
            let Some(extent) = modes.next() else { break };
            match index {
                Ty::Int(_) if outside == Outside::Guarded => {}
                Ty::Int(value) => self.check_index(arg, value.as_ref(), extent.as_ref()),
                Ty::Range { start, end } => {
                    // A range that ends before it starts is an error of the lowering, which knows where its ends come from.
                    let found = range_extent(start.as_deref(), end.as_deref(), extent);
                    shape.push(found.filter(|extent| extent.as_const().is_none_or(|extent| extent >= 0)))
                }
                // An index that is gathered or unknown: the number of modes that it leaves is unknown.
                other if other.is_quiet() || matches!(other, Ty::Tensor(_)) => quiet = true,
                other => {
                    self.report(TypeProblem::Mismatch {
                        expr: arg,
                        found: other,
                        wanted: "an integer or a range",
                    });
                    quiet = true;
                }
            }
        }
        shape.extend(modes.cloned());
        if quiet {
            return Ty::Unknown;
        }
        let mutable = t.mutable && t.space != MemorySpace::Register;
        if shape.is_empty() {
            // An index of one element gives a block-uniform number if nothing may write the tensor.
            return match t.elem {
                Elem::Known(dtype) if t.space == MemorySpace::Global && !t.mutable => scalar_ty(dtype),
                _ => Ty::Unknown,
            };
        }
        Ty::Tensor(TensorTy { shape, mutable, ..t })
    }

    fn check_index(&mut self, arg: ExprId, index: Option<&Value>, extent: Option<&Value>) {
        let Some(index) = index else { return };
        let negative = index.as_const().is_some_and(|i| i < 0);
        let after = extent.is_some_and(|e| (index.clone() - e.clone()).as_const().is_some_and(|d| d >= 0));
        if negative || after {
            let extent = extent.cloned().unwrap_or_default();
            self.report(TypeProblem::IndexOutside { expr: arg, index: index.clone(), extent });
        }
    }

    /// Returns the extents of a written shape, `[BM, BK]` or one integer. `None` if it is unknown, or for another value, which
    /// is reported.
    pub(super) fn shape(&mut self, id: ExprId, found: &Ty) -> Option<Vec<Extent>> {
        let parts = match found {
            Ty::Array(parts) | Ty::Tuple(parts) => parts.clone(),
            Ty::Int(_) => [found.clone()].into(),
            quiet if quiet.is_quiet() => return None,
            other => {
                self.report(TypeProblem::Mismatch { expr: id, found: other.clone(), wanted: "a shape" });
                return None;
            }
        };
        let exprs: Vec<ExprId> = match &self.store[id] {
            crate::Expr::Array(parts) => parts.clone(),
            _ => vec![id; parts.len()],
        };
        let extent = |(part, expr): (&Ty, &ExprId)| match self.want_int(*expr, part) {
            Ty::Int(value) => value,
            _ => None,
        };
        Some(parts.iter().zip(&exprs).map(extent).collect())
    }

    /// Returns the extents of a shape, and reports those that are not positive or not known at compile time. In a function the
    /// dimensions count as known, because each call binds them. `None` as for [`Infer::shape`].
    pub(super) fn static_shape(&mut self, id: ExprId, found: &Ty) -> Option<Vec<Extent>> {
        let shape = self.shape(id, found)?;
        let exprs: Vec<ExprId> = match &self.store[id] {
            crate::Expr::Array(parts) => parts.clone(),
            _ => vec![id; shape.len()],
        };
        for (extent, &expr) in shape.iter().zip(&exprs) {
            let Some(value) = extent else { continue };
            if !self.in_function && !is_compile_time(value) {
                self.report(TypeProblem::NotConstant { expr, value: value.clone() });
            } else if value.as_const().is_some_and(|v| v <= 0) {
                self.report(TypeProblem::NonPositive { expr, value: value.clone() });
            }
        }
        Some(shape)
    }

    pub(super) fn new_tensor(
        &mut self,
        dtype: (ExprId, &Ty),
        shape: (ExprId, &Ty),
        space: MemorySpace,
    ) -> Ty {
        let elem = self.want_dtype(dtype.0, dtype.1);
        let shape = self.static_shape(shape.0, shape.1);
        match (elem, shape) {
            (Some(elem), Some(shape)) => {
                Ty::Tensor(TensorTy { elem, shape, space, mutable: true, param: None, gathered: false })
            }
            _ => Ty::Error,
        }
    }

    pub(super) fn want_dtype(&mut self, expr: ExprId, found: &Ty) -> Option<Elem> {
        match found {
            Ty::DType(elem) => Some(elem.clone()),
            Ty::Unknown => Some(Elem::Unknown),
            Ty::Error => None,
            other => {
                self.report(TypeProblem::Mismatch { expr, found: other.clone(), wanted: "an element type" });
                None
            }
        }
    }

    pub(super) fn global_view(&mut self, buffer: (ExprId, &Ty), layout: (ExprId, &Ty)) -> Ty {
        let t = match self.want_tensor_in(buffer, MemorySpace::Global, "global_view") {
            Ok(t) => t,
            Err(quiet) => return quiet,
        };
        match layout.1 {
            Ty::Layout(Some(modes)) => Ty::Tensor(TensorTy { shape: modes.clone(), ..t }),
            Ty::Layout(None) => Ty::Unknown,
            quiet if quiet.is_quiet() => quiet.clone(),
            other => self.report(TypeProblem::Mismatch {
                expr: layout.0,
                found: other.clone(),
                wanted: "a layout",
            }),
        }
    }

    pub(super) fn tile(&mut self, tensor: (ExprId, &Ty), shape: (ExprId, &Ty)) -> Ty {
        let t = match self.want_tensor(tensor.0, tensor.1) {
            Ok(t) => t,
            Err(quiet) => return quiet,
        };
        if t.space == MemorySpace::Register {
            return self.report(TypeProblem::Memory {
                expr: tensor.0,
                found: t.space,
                wanted: "global",
                operation: "tile".into(),
            });
        }
        let Some(sizes) = self.static_shape(shape.0, shape.1) else { return Ty::Error };
        if sizes.len() != t.shape.len() {
            let wanted = format!("{}, one for each mode of `{}`", t.shape.len(), crate::shape_text(&t.shape));
            return self.report(TypeProblem::Rank { expr: shape.0, found: sizes.len(), wanted });
        }
        let counts: Vec<Extent> = t
            .shape
            .iter()
            .zip(&sizes)
            .map(|pair| match pair {
                (Some(extent), Some(size)) => Some(extent.ceil_div(size, &self.facts)),
                _ => None,
            })
            .collect();
        let shape = sizes.into_iter().chain(counts).collect();
        Ty::Tensor(TensorTy { shape, ..t })
    }

    pub(super) fn permute(&mut self, tensor: (ExprId, &Ty), order: (ExprId, &Ty)) -> Ty {
        let t = match self.want_tensor(tensor.0, tensor.1) {
            Ok(t) => t,
            Err(quiet) => return quiet,
        };
        let Some(axes) = self.shape(order.0, order.1) else { return Ty::Error };
        let axes: Option<Vec<usize>> =
            axes.iter().map(|a| usize::try_from(a.as_ref()?.as_const()?).ok()).collect();
        let Some(axes) = axes else { return Ty::Unknown };
        let mut sorted = axes.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..t.shape.len()) {
            let wanted = format!("each of the {} modes once", t.shape.len());
            return self.report(TypeProblem::Rank { expr: order.0, found: axes.len(), wanted });
        }
        let shape = axes.iter().map(|&a| t.shape[a].clone()).collect();
        Ty::Tensor(TensorTy { shape, ..t })
    }

    /// Returns the tensor.
    ///
    /// # Errors
    /// The quiet type of a value that is unknown or wrong already; any other value is reported, and the error is its type.
    pub(super) fn want_tensor(&mut self, expr: ExprId, found: &Ty) -> Result<TensorTy, Ty> {
        match found {
            Ty::Tensor(t) => Ok(t.clone()),
            quiet if quiet.is_quiet() => Err(quiet.clone()),
            other => {
                Err(self.report(TypeProblem::Mismatch { expr, found: other.clone(), wanted: "a tensor" }))
            }
        }
    }

    /// Returns the tensor if it is in memory `space`.
    ///
    /// # Errors
    /// As for [`Infer::want_tensor`], also for a tensor in another memory; the report names the operation.
    pub(super) fn want_tensor_in(
        &mut self,
        (expr, found): (ExprId, &Ty),
        space: MemorySpace,
        operation: &str,
    ) -> Result<TensorTy, Ty> {
        let tensor = self.want_tensor(expr, found)?;
        if tensor.space == space {
            return Ok(tensor);
        }
        let (found, wanted) = (tensor.space, crate::space_word(space));
        Err(self.report(TypeProblem::Memory { expr, found, wanted, operation: operation.to_owned() }))
    }
}

fn range_extent(start: Option<&Ty>, end: Option<&Ty>, extent: &Extent) -> Extent {
    let value = |ty: Option<&Ty>, default: Extent| match ty {
        Some(Ty::Int(value)) => value.clone(),
        Some(_) => None,
        None => default,
    };
    let start = value(start, Some(Value::default()))?;
    let end = value(end, extent.clone())?;
    Some(end - start)
}
