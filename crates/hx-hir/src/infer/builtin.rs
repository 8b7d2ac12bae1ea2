//! The types of built-in functions on the device.

use hx_dtype::DType;
use hx_index::Expr as Value;

use super::call::TypedArg;
use super::{Infer, TypeProblem, scalar_ty};
use crate::{
    Builtin, CommonFn, Elem, ExprId, KernelFn, LayoutFn, MathFn, MemorySpace, Method, TensorTy, Ty,
    definitely_differ,
};

impl Infer<'_> {
    /// Returns the type of a call of a built-in function, and checks its arguments. `given` has the argument of each parameter.
    pub(super) fn builtin(&mut self, id: ExprId, builtin: Builtin, given: &[Option<TypedArg>]) -> Ty {
        let found = match builtin {
            Builtin::Kernel(function) => self.kernel_fn(id, function, given),
            Builtin::Method(method) => self.method(method, given),
            Builtin::Atomic(function) => self.atomic_fn(id, function.op(), given),
            Builtin::Common(function) => self.common_fn(id, function, given),
            Builtin::Math(function) => first(given).map(|[x]| self.math(function, x)),
            Builtin::Layout(function) => Some(layout_fn(function)),
            // Names that only the host has do not resolve in device code, and a call of a value such as `block_idx` is reported
            // before.
            Builtin::Value(_) | Builtin::HostLayout(_) | Builtin::Host(_) => None,
        };
        found.unwrap_or(Ty::Unknown)
    }

    /// Returns the type of a call of a function that only device code has; `None` if a required argument is missing or no type
    /// is known.
    fn kernel_fn(&mut self, id: ExprId, function: KernelFn, given: &[Option<TypedArg>]) -> Option<Ty> {
        Some(match function {
            KernelFn::RegisterTensor => {
                let [dtype, shape] = first(given)?;
                self.new_tensor((dtype.0, &dtype.1), (shape.0, &shape.1), MemorySpace::Register)
            }
            KernelFn::SharedTensor => {
                let [dtype, shape] = first(given)?;
                self.new_tensor((dtype.0, &dtype.1), (shape.0, &shape.1), MemorySpace::Shared)
            }
            KernelFn::GlobalView => {
                let [buffer, layout] = first(given)?;
                self.global_view((buffer.0, &buffer.1), (layout.0, &layout.1))
            }
            KernelFn::Tile => {
                let [t, shape] = first(given)?;
                self.tile((t.0, &t.1), (shape.0, &shape.1))
            }
            KernelFn::Gather => {
                let [t, rows] = first(given)?;
                self.picked(id, &t, &rows, given, false)
            }
            KernelFn::Scatter => {
                let [t, rows] = first(given)?;
                self.picked(id, &t, &rows, given, true)
            }
            KernelFn::Copy => {
                let [src, dst] = first(given)?;
                self.copy(id, src, dst)
            }
            KernelFn::CopyAsync => self.copy_async(id, given)?,
            KernelFn::Turns => Ty::Turns,
            KernelFn::Barrier => Ty::Barrier,
            KernelFn::Pipeline => {
                for (at, number) in given.iter().flatten() {
                    self.want_int(*at, number);
                }
                Ty::Pipeline
            }
            KernelFn::Counter => self.counter(given)?,
            KernelFn::Prefetch => {
                let [(at, view)] = first(given)?;
                // A wrong memory is reported.
                let _ = self.want_tensor_in((at, &view), MemorySpace::Global, "prefetch");
                Ty::Unit
            }
            KernelFn::Load => {
                let [view] = first(given)?;
                self.load(view.0, &view.1)
            }
            KernelFn::Reshape => {
                let [t, shape] = first(given)?;
                let t = self.want_tensor(t.0, &t.1).ok()?;
                let shape = self.shape(shape.0, &shape.1)?;
                Ty::Tensor(TensorTy { shape, ..t })
            }
            KernelFn::Concat => self.concat(id, given)?,
            KernelFn::Split => self.split(given)?,
            KernelFn::Rearrange => {
                let [t] = first(given)?;
                t.1
            }
            KernelFn::Fill => {
                let [t, x] = first(given)?;
                self.fill(t, x)
            }
            KernelFn::Index => {
                let [t, _] = first(given)?;
                self.index_of(&t)
            }
            KernelFn::Scalar => {
                let [t] = first(given)?;
                self.scalar(&t)
            }
            KernelFn::Gemm | KernelFn::GemmAsync => {
                let [c, a, b] = first(given)?;
                self.gemm(c, a, b)
            }
            KernelFn::Sync
            | KernelFn::SyncWarp
            | KernelFn::Commit
            | KernelFn::Wait
            | KernelFn::GemmWait
            | KernelFn::WaitForPrevious
            | KernelFn::AllowNext
            | KernelFn::Arrive
            | KernelFn::Expect => Ty::Unit,
            KernelFn::WaitStores => {
                if let Some(Some((at, read))) = given.get(1) {
                    self.want_condition(*at, read);
                }
                Ty::Unit
            }
            KernelFn::Mbarrier => return None,
            KernelFn::Min | KernelFn::Max => return self.reduction(id, function, given),
            KernelFn::Sum => return self.sum(id, given),
            KernelFn::Argmax | KernelFn::Argmin => {
                let [t, axis] = first(given)?;
                match self.reduce(&t, &axis) {
                    Ty::Tensor(t) => Ty::Tensor(TensorTy { elem: Elem::Known(DType::I32), ..t }),
                    other => other,
                }
            }
            KernelFn::Any | KernelFn::All => self.truths(given)?,
            KernelFn::Reduce => {
                let [t, axis] = first(given)?;
                self.each_part(t, |cx, part| cx.reduce(part, &axis))
            }
            KernelFn::Scan => {
                let [t, axis] = first(given)?;
                if let Some(Some((at, reverse))) = given.get(3) {
                    self.want_condition(*at, reverse);
                }
                self.each_part(t, |cx, part| cx.scan(part, &axis))
            }
        })
    }

    /// Infers the type of `copy_async(src, dst, signal: …, multicast: …, add: …)`; `None` if a required argument is missing.
    fn copy_async(&mut self, id: ExprId, given: &[Option<TypedArg>]) -> Option<Ty> {
        let [src, dst] = first(given)?;
        if let Some(Some((at, signal))) = given.get(2) {
            self.want_pipeline(*at, signal);
        }
        if let Some(Some((at, axis))) = given.get(3) {
            self.want_int(*at, axis);
        }
        if let Some(Some((at, add))) = given.get(4) {
            self.want_condition(*at, add);
        }
        Some(self.copy(id, src, dst))
    }

    /// Infers the type of `counter(tensor, count)`; `None` if an argument is missing.
    fn counter(&mut self, given: &[Option<TypedArg>]) -> Option<Ty> {
        let [(at, tensor), (count, number)] = first(given)?;
        if let Ok(t) = self.want_tensor_in((at, &tensor), MemorySpace::Global, "counter") {
            self.want_mutable(at, &t);
        }
        self.want_int(count, &number);
        Some(Ty::Counter)
    }

    /// Returns the type of a call of a method, such as `p.acquire()`; `None` if a required argument is missing.
    fn method(&mut self, method: Method, given: &[Option<TypedArg>]) -> Option<Ty> {
        Some(match method {
            Method::Acquire | Method::WaitStage => Ty::Int(None),
            Method::Publish
            | Method::Release
            | Method::ReleasePrevious
            | Method::Take
            | Method::Pass
            | Method::SyncAt
            | Method::ArriveAt => Ty::Unit,
            Method::Skip => {
                let [(at, count)] = first(given)?;
                self.want_int(at, &count);
                Ty::Unit
            }
        })
    }

    fn want_pipeline(&mut self, expr: ExprId, found: &Ty) {
        if *found != Ty::Pipeline && !found.is_quiet() {
            self.report(TypeProblem::Mismatch { expr, found: found.clone(), wanted: "a pipeline" });
        }
    }

    fn common_fn(&mut self, id: ExprId, function: CommonFn, given: &[Option<TypedArg>]) -> Option<Ty> {
        Some(match function {
            CommonFn::Permute => {
                let [t, order] = first(given)?;
                self.permute((t.0, &t.1), (order.0, &order.1))
            }
            CommonFn::Flip => self.flip(given)?,
            CommonFn::Cast => {
                let [t, dtype] = first(given)?;
                self.cast(t, dtype)
            }
            CommonFn::Bitcast => self.bitcast(given)?,
            CommonFn::Pow | CommonFn::Mulhi | CommonFn::Atan2 | CommonFn::Fmod | CommonFn::Copysign => {
                let [a, b] = first(given)?;
                self.join(id, a, b)
            }
            CommonFn::Where => {
                let [c, x, y] = first(given)?;
                self.select(id, c, x, y)
            }
            CommonFn::Fma | CommonFn::Clamp => {
                let [a, b, c] = first(given)?;
                let (at, product) = (a.0, self.join(id, a, b));
                self.join(id, (at, product), c)
            }
            CommonFn::Cdiv => {
                let [a, b] = first(given)?;
                self.cdiv(&a, &b)
            }
            CommonFn::Print | CommonFn::Assert => Ty::Unit,
        })
    }

    /// Infers the type of `min(a, b)` and `max(a, b)`, or of `min`, `max` and `sum` along an axis; `None` for a value that is
    /// no tensor, without a second one and an axis.
    fn reduction(&mut self, id: ExprId, function: KernelFn, given: &[Option<TypedArg>]) -> Option<Ty> {
        let t = given.first()?.as_ref()?;
        let axis = given.last()?.as_ref();
        match (given, axis) {
            ([_, Some(b), _], None) => {
                Some(self.extreme(id, function == KernelFn::Min, t.clone(), b.clone()))
            }
            (_, Some(axis)) => Some(match self.reduce(t, axis) {
                // Truth values are counted.
                Ty::Tensor(sum) if function == KernelFn::Sum && sum.elem == Elem::Known(DType::Bool) => {
                    Ty::Tensor(TensorTy { elem: Elem::Known(DType::I32), ..sum })
                }
                other => other,
            }),
            (_, None) if matches!(t.1, Ty::Tensor(_)) => {
                let problem = crate::ArgProblem::Missing { params: vec!["axis".to_owned()] };
                let callee = function.name().into();
                Some(self.report(TypeProblem::Args { call: id, callee, problem, labels: Vec::new() }))
            }
            (_, None) => None,
        }
    }

    /// Infers the type of `sum(t, axis: …)`, or of `sum(t, cluster: …, to: …)`, which has the shape of its tensor. With
    /// `scatter` the number of blocks decides one extent. `None` if the tensor is missing.
    fn sum(&mut self, id: ExprId, given: &[Option<TypedArg>]) -> Option<Ty> {
        let (Some(t), [cluster, to, scatter]) = (given.first()?, [2, 3, 4].map(|at| given.get(at)?.as_ref()))
        else {
            return None;
        };
        let Some((at, axis)) = cluster else { return self.reduction(id, KernelFn::Sum, &given[..2]) };
        self.want_int(*at, axis);
        if let Some((at, to)) = to {
            self.want_int(*at, to);
        }
        if let Some(scatter) = scatter {
            return Some(match self.reduce(t, scatter) {
                Ty::Tensor(part) => Ty::Tensor(self.scattered(part, &t.1)),
                other => other,
            });
        }
        Some(match self.want_tensor_in((t.0, &t.1), MemorySpace::Register, "a sum") {
            Ok(t) => Ty::Tensor(TensorTy { mutable: true, param: None, ..t }),
            Err(quiet) => quiet,
        })
    }

    /// Returns the type of a part of a tensor that is cut along the axis along which `reduced` has extent 1. Its extent there
    /// is unknown.
    fn scattered(&self, reduced: TensorTy, whole: &Ty) -> TensorTy {
        let Ty::Tensor(whole) = whole else { return reduced };
        let cut = reduced.shape.iter().zip(&whole.shape);
        let shape = cut.map(|(one, extent)| extent.clone().filter(|_| one == extent)).collect();
        TensorTy { shape, ..reduced }
    }

    /// Infers a type for each part of a tuple of tensors, or for one tensor.
    fn each_part(&mut self, (at, ty): TypedArg, mut infer: impl FnMut(&mut Self, &TypedArg) -> Ty) -> Ty {
        match ty {
            Ty::Tuple(parts) => {
                Ty::Tuple(parts.iter().map(|part| infer(self, &(at, part.clone()))).collect())
            }
            one => infer(self, &(at, one)),
        }
    }

    /// Infers the type of `index(t, axis)`: a register tensor of `i32` with the shape of `t`.
    fn index_of(&mut self, t: &TypedArg) -> Ty {
        match self.want_tensor(t.0, &t.1) {
            Ok(t) => Ty::Tensor(TensorTy {
                elem: Elem::Known(DType::I32),
                space: MemorySpace::Register,
                mutable: true,
                param: None,
                ..t
            }),
            Err(quiet) => quiet,
        }
    }

    fn scalar(&mut self, t: &TypedArg) -> Ty {
        match self.want_tensor(t.0, &t.1) {
            Ok(TensorTy { elem: Elem::Known(dtype), .. }) => scalar_ty(dtype),
            Ok(_) => Ty::Unknown,
            Err(quiet) => quiet,
        }
    }

    pub(super) fn copy(&mut self, id: ExprId, src: TypedArg, dst: TypedArg) -> Ty {
        let (from, to) = (self.want_tensor(src.0, &src.1), self.want_tensor(dst.0, &dst.1));
        match &to {
            Ok(to) => self.want_mutable(dst.0, to),
            Err(_) => self.out.writes.unknown = true,
        }
        if let (Ok(from), Ok(to)) = (from, to) {
            self.same_tile((dst.0, &to), (src.0, &from), id);
        }
        Ty::Unit
    }

    fn want_mutable(&mut self, expr: ExprId, t: &TensorTy) {
        self.out.writes.params.extend(t.param);
        if !t.mutable {
            self.report(TypeProblem::NotMutable { expr, param: t.param, gathered: t.gathered });
        }
    }

    pub(super) fn load(&mut self, at: ExprId, view: &Ty) -> Ty {
        match self.want_tensor(at, view) {
            Ok(t) if t.space == MemorySpace::Register => {
                let operation = "load".to_owned();
                self.report(TypeProblem::Memory {
                    expr: at,
                    found: t.space,
                    wanted: "global or shared",
                    operation,
                })
            }
            Ok(t) => {
                for value in t.shape.iter().flatten() {
                    if !self.in_function && !crate::is_compile_time(value) {
                        return self.report(TypeProblem::NotConstant { expr: at, value: value.clone() });
                    }
                }
                Ty::Tensor(TensorTy { space: MemorySpace::Register, mutable: true, param: None, ..t })
            }
            Err(quiet) => quiet,
        }
    }

    pub(super) fn cast(&mut self, (at, t): TypedArg, (dtype_at, dtype): TypedArg) -> Ty {
        let elem = self.want_dtype(dtype_at, &dtype);
        match (t, elem) {
            (_, None) => Ty::Error,
            (quiet, _) if quiet.is_quiet() => quiet,
            (Ty::Tensor(t), Some(elem)) => {
                Ty::Tensor(TensorTy { elem, space: MemorySpace::Register, mutable: true, param: None, ..t })
            }
            // A narrower integer may wrap; only the lowering computes its value.
            (Ty::Int(value), Some(Elem::Known(DType::I64))) => Ty::Int(value),
            (Ty::Int(_) | Ty::Float(_) | Ty::Bool, Some(Elem::Known(dtype))) => scalar_ty(dtype),
            (Ty::Int(_) | Ty::Float(_) | Ty::Bool, Some(_)) => Ty::Unknown,
            (found, _) => {
                self.report(TypeProblem::Mismatch { expr: at, found, wanted: "a tensor or a number" })
            }
        }
    }

    fn fill(&mut self, (at, t): TypedArg, (x_at, x): TypedArg) -> Ty {
        match self.want_tensor(at, &t) {
            Ok(t) => {
                self.want_mutable(at, &t);
                match (&x, &t.elem) {
                    (Ty::Float(None), Elem::Known(dtype)) if dtype.is_int() => {
                        self.report(TypeProblem::Literal {
                            expr: x_at,
                            value: "a fraction".into(),
                            dtype: *dtype,
                        });
                    }
                    (Ty::Int(_) | Ty::Float(None), Elem::Known(dtype)) => {
                        self.check_literal(x_at, &x, *dtype)
                    }
                    (Ty::Int(_) | Ty::Float(_) | Ty::Bool, _) => {}
                    (quiet, _) if quiet.is_quiet() => {}
                    _ => {
                        self.report(TypeProblem::Mismatch { expr: x_at, found: x, wanted: "a number" });
                    }
                }
                Ty::Unit
            }
            Err(_) => {
                self.out.writes.unknown = true;
                Ty::Unit
            }
        }
    }

    fn gemm(&mut self, c: TypedArg, a: TypedArg, b: TypedArg) -> Ty {
        let mut tensors = Vec::new();
        self.out.writes.unknown |= c.1.is_quiet();
        for (at, ty) in [&c, &a, &b] {
            let Ok(t) = self.want_tensor(*at, ty) else { return Ty::Unit };
            // A third mode makes a batch of products. The result tensor determines the number of modes.
            let modes = tensors.first().map_or(t.shape.len().clamp(2, 3), |c: &TensorTy| c.shape.len());
            if t.shape.len() != modes {
                let wanted = format!("{modes} modes for `gemm`");
                self.report(TypeProblem::Rank { expr: *at, found: t.shape.len(), wanted });
                return Ty::Unit;
            }
            tensors.push(t);
        }
        let [tc, ta, tb] = &tensors[..] else { return Ty::Unit };
        self.want_mutable(c.0, tc);
        if tc.space != MemorySpace::Register {
            let operation = "the result of `gemm`".to_owned();
            self.report(TypeProblem::Memory { expr: c.0, found: tc.space, wanted: "register", operation });
        }
        for (at, t) in [(a.0, ta), (b.0, tb)] {
            if t.space == MemorySpace::Global {
                let operation = "gemm".to_owned();
                self.report(TypeProblem::Memory {
                    expr: at,
                    found: t.space,
                    wanted: "register or shared",
                    operation,
                });
            }
        }
        let multiply =
            |a: &Elem, b: &Elem| matches!((a, b), (Elem::Known(a), Elem::Known(b)) if a.multiplies_with(*b));
        if tb.elem.differs(&ta.elem) && !multiply(&ta.elem, &tb.elem) {
            let (found, wanted) = (tb.elem.clone(), ta.elem.clone());
            self.report(TypeProblem::DTypes { expr: b.0, found, other: a.0, wanted });
        }
        let mut modes = vec![
            ("M", a.0, &ta.shape[0], c.0, &tc.shape[0]),
            ("N", b.0, &tb.shape[0], c.0, &tc.shape[1]),
            ("K", b.0, &tb.shape[1], a.0, &ta.shape[1]),
        ];
        if let (Some(x), Some(y), Some(z)) = (ta.shape.get(2), tb.shape.get(2), tc.shape.get(2)) {
            modes.extend([("batch", a.0, x, c.0, z), ("batch", b.0, y, c.0, z)]);
        }
        for (mode, at, found, other, wanted) in modes {
            if let (Some(found), Some(wanted)) = (found, wanted)
                && definitely_differ(found, wanted)
            {
                let (found, wanted) = (found.clone(), wanted.clone());
                self.report(TypeProblem::GemmShape { mode, at, found, other, wanted });
                break;
            }
        }
        Ty::Unit
    }

    /// Returns the common type of two operands of an elementwise function, and reports operands without one.
    fn join(&mut self, id: ExprId, (x_at, x): TypedArg, (y_at, y): TypedArg) -> Ty {
        match (x, y) {
            (Ty::Error, _) | (_, Ty::Error) => Ty::Error,
            (Ty::Unknown, _) | (_, Ty::Unknown) => Ty::Unknown,
            (Ty::Tensor(x), Ty::Tensor(y)) => {
                if x.elem.differs(&y.elem) {
                    return self.report(TypeProblem::DTypes {
                        expr: y_at,
                        found: y.elem,
                        other: x_at,
                        wanted: x.elem,
                    });
                }
                match self.broadcast(id, (x_at, &x.shape), (y_at, &y.shape)) {
                    Some(shape) => Ty::Tensor(TensorTy { shape, mutable: true, param: None, ..x }),
                    None => Ty::Error,
                }
            }
            (Ty::Tensor(t), Ty::Int(_) | Ty::Float(_) | Ty::Bool)
            | (Ty::Int(_) | Ty::Float(_) | Ty::Bool, Ty::Tensor(t)) => {
                Ty::Tensor(TensorTy { mutable: true, param: None, ..t })
            }
            (Ty::Int(_), Ty::Int(_)) => Ty::Int(None),
            (Ty::Float(x), Ty::Float(y)) => Ty::Float(x.or(y)),
            (Ty::Float(x), Ty::Int(_)) | (Ty::Int(_), Ty::Float(x)) => Ty::Float(x),
            (Ty::Bool, Ty::Bool) => Ty::Bool,
            (Ty::Int(_) | Ty::Float(_) | Ty::Tensor(_) | Ty::Bool, other) => self
                .report(TypeProblem::Mismatch { expr: y_at, found: other, wanted: "a tensor or a number" }),
            (other, _) => self.report(TypeProblem::Mismatch {
                expr: x_at,
                found: other,
                wanted: "a tensor or a number",
            }),
        }
    }

    fn select(&mut self, id: ExprId, c: TypedArg, x: TypedArg, y: TypedArg) -> Ty {
        let values = self.join(id, x.clone(), y);
        match (&c.1, &values) {
            (Ty::Tensor(cond), Ty::Tensor(t)) => {
                match self.broadcast(id, (c.0, &cond.shape), (x.0, &t.shape)) {
                    Some(shape) => Ty::Tensor(TensorTy { shape, ..t.clone() }),
                    None => Ty::Error,
                }
            }
            (Ty::Tensor(cond), Ty::Int(_) | Ty::Float(_)) => {
                let elem = match &values {
                    Ty::Float(Some(elem)) => elem.clone(),
                    _ => Elem::Unknown,
                };
                Ty::Tensor(TensorTy { elem, mutable: true, param: None, ..cond.clone() })
            }
            _ => values,
        }
    }

    fn cdiv(&mut self, a: &TypedArg, b: &TypedArg) -> Ty {
        let (x, y) = (self.want_int(a.0, &a.1), self.want_int(b.0, &b.1));
        match (x, y) {
            (_, Ty::Int(Some(y))) if y.is_zero() => self.report(TypeProblem::DivisionByZero { expr: b.0 }),
            (Ty::Int(Some(x)), Ty::Int(Some(y))) => Ty::Int(Some(x.ceil_div(&y, &self.facts))),
            _ => Ty::Int(None),
        }
    }

    fn extreme(&mut self, id: ExprId, least: bool, a: TypedArg, b: TypedArg) -> Ty {
        match (&a.1, &b.1) {
            (Ty::Int(Some(x)), Ty::Int(Some(y))) => {
                Ty::Int(Some(if least { x.minimum(y, &self.facts) } else { x.maximum(y, &self.facts) }))
            }
            _ => self.join(id, a, b),
        }
    }

    fn reduce(&mut self, t: &TypedArg, axis: &TypedArg) -> Ty {
        let mut tensor = match self.want_tensor_in((t.0, &t.1), MemorySpace::Register, "a reduction") {
            Ok(tensor) => tensor,
            Err(quiet) => return quiet,
        };
        let Ty::Int(Some(value)) = self.want_int(axis.0, &axis.1) else { return Ty::Unknown };
        let Some(at) = value.as_const() else { return Ty::Unknown };
        match usize::try_from(at).ok().filter(|a| *a < tensor.shape.len()) {
            Some(at) => {
                tensor.shape[at] = Some(Value::constant(1));
                Ty::Tensor(TensorTy { mutable: true, param: None, ..tensor })
            }
            None => {
                let extent = Value::constant(tensor.shape.len() as i64);
                self.report(TypeProblem::IndexOutside { expr: axis.0, index: value, extent })
            }
        }
    }

    /// Infers the type of `any(t, axis: …)` and `all(t, axis: …)`. Without an axis the result is a truth value of the block.
    /// `None` if the tensor is missing.
    fn truths(&mut self, given: &[Option<TypedArg>]) -> Option<Ty> {
        let t = given.first()?.as_ref()?;
        let tensor = match self.want_tensor_in((t.0, &t.1), MemorySpace::Register, "a reduction") {
            Ok(tensor) => tensor,
            Err(quiet) => return Some(quiet),
        };
        if matches!(tensor.elem, Elem::Known(dtype) if dtype != DType::Bool) {
            let wanted = "a tensor of truth values";
            return Some(self.report(TypeProblem::Mismatch { expr: t.0, found: Ty::Tensor(tensor), wanted }));
        }
        Some(given.get(1)?.as_ref().map_or(Ty::Bool, |axis| self.reduce(t, axis)))
    }

    /// Infers the type of a scan: the shape of `t` is kept, and the axis must be one of its modes.
    fn scan(&mut self, t: &TypedArg, axis: &TypedArg) -> Ty {
        match (self.reduce(t, axis), &t.1) {
            (Ty::Tensor(found), Ty::Tensor(t)) => Ty::Tensor(TensorTy { shape: t.shape.clone(), ..found }),
            (other, _) => other,
        }
    }

    fn math(&mut self, function: MathFn, (at, x): TypedArg) -> Ty {
        match x {
            Ty::Tensor(t) => match (self.elementwise(at, t, function.name()), function) {
                (Ty::Tensor(t), MathFn::Isnan) => {
                    Ty::Tensor(TensorTy { elem: Elem::Known(DType::Bool), ..t })
                }
                (found, _) => found,
            },
            Ty::Int(_) | Ty::Float(_) if function == MathFn::Isnan => Ty::Bool,
            Ty::Int(_) if matches!(function, MathFn::Abs | MathFn::Sign | MathFn::Popcount | MathFn::Clz) => {
                Ty::Int(None)
            }
            Ty::Int(_) => Ty::Float(None),
            float @ Ty::Float(_) => float,
            quiet if quiet.is_quiet() => quiet,
            found => self.report(TypeProblem::Mismatch { expr: at, found, wanted: "a tensor or a number" }),
        }
    }
}

/// Returns the type of a function of layouts.
fn layout_fn(function: LayoutFn) -> Ty {
    match function {
        LayoutFn::Size | LayoutFn::Cosize => Ty::Int(None),
        LayoutFn::Compose
        | LayoutFn::Complement
        | LayoutFn::Inverse
        | LayoutFn::RightInverse
        | LayoutFn::LeftInverse
        | LayoutFn::Coalesce
        | LayoutFn::Divide
        | LayoutFn::Product
        | LayoutFn::TileToShape
        | LayoutFn::Swizzle => Ty::Layout(None),
    }
}

/// Returns the arguments of the first `N` parameters; `None` if one of them is missing, which has been reported.
pub(super) fn first<const N: usize>(given: &[Option<TypedArg>]) -> Option<[TypedArg; N]> {
    let found: Vec<TypedArg> = given.iter().take(N).flatten().cloned().collect();
    found.try_into().ok()
}
