//! Calls on the device: primitives from the table of built-in names, and tile functions.

use hx_dtype::DType;
use hx_index::Expr as Value;

use super::{Infer, TypeProblem, scalar_ty};
use crate::{
    Arg, Elem, Expr, ExprId, Function, GenericArg, Item, ItemKey, MemorySpace, Name, Need, Resolution,
    TensorTy, Ty, builtin_params, definitely_differ, fn_signature, match_args, signature_names,
    signature_types,
};

/// An argument with its type.
type Given = (ExprId, Ty);

impl<'a> Infer<'a> {
    pub(super) fn call(&mut self, id: ExprId, callee: ExprId, args: &[Arg]) -> Ty {
        let types: Vec<Ty> = args.iter().map(|a| self.expr(a.value)).collect();
        let Expr::Path { generics, .. } = &self.store[callee] else {
            return match self.expr(callee) {
                quiet if quiet.is_quiet() => quiet,
                found => self.report(TypeProblem::NotCallable { callee, found }),
            };
        };
        for generic in generics {
            self.expr(generic.value);
        }
        match self.names.exprs.get(callee).cloned() {
            Some(Resolution::Builtin(b)) => {
                let Some(params) = b.get().params else {
                    let found = self.resolved(callee);
                    return self.report(TypeProblem::NotCallable { callee, found });
                };
                self.no_generic_args(callee, generics);
                let Some(given) = self.args(id, b.name(), &builtin_params(params), args, &types) else {
                    return Ty::Error;
                };
                self.primitive(id, b.name(), &given)
            }
            Some(Resolution::Item(key)) => match key.find(self.db) {
                Some(Item::Function(function)) => self.function(id, callee, function, generics, args, &types),
                Some(Item::Kernel(_)) => self.report(TypeProblem::KernelCall { callee, name: key.name }),
                Some(_) => {
                    let found = self.resolved(callee);
                    self.report(TypeProblem::NotCallable { callee, found })
                }
                None => Ty::Unknown,
            },
            Some(_) => match self.resolved(callee) {
                quiet if quiet.is_quiet() => quiet,
                found => self.report(TypeProblem::NotCallable { callee, found }),
            },
            None => Ty::Error,
        }
    }

    /// Returns the argument of each parameter, and reports the arguments that do not fit.
    pub(super) fn args(
        &mut self,
        call: ExprId,
        callee: &str,
        params: &[(&str, Need)],
        args: &[Arg],
        types: &[Ty],
    ) -> Option<Vec<Option<Given>>> {
        let (slots, problems) = match_args(params, args);
        let fits = problems.is_empty();
        for problem in problems {
            let labels = args.iter().map(|a| a.name.clone()).collect();
            self.report(TypeProblem::Args { call, callee: callee.into(), problem, labels });
        }
        fits.then(|| slots.into_iter().map(|s| s.map(|i| (args[i].value, types[i].clone()))).collect())
    }

    fn primitive(&mut self, id: ExprId, name: &str, given: &[Option<Given>]) -> Ty {
        let pair = |g: &'_ Given| (g.0, g.1.clone());
        match (name, given) {
            ("register_tensor", [Some(d), Some(s), _]) => {
                self.new_tensor((d.0, &d.1), (s.0, &s.1), MemorySpace::Register)
            }
            ("shared_tensor", [Some(d), Some(s), _]) => {
                self.new_tensor((d.0, &d.1), (s.0, &s.1), MemorySpace::Shared)
            }
            ("global_view", [Some(b), Some(l), _]) => self.global_view((b.0, &b.1), (l.0, &l.1)),
            ("tile", [Some(t), Some(s), _]) => self.tile((t.0, &t.1), (s.0, &s.1)),
            ("permute", [Some(t), Some(o)]) => self.permute((t.0, &t.1), (o.0, &o.1)),
            ("copy" | "copy_async", [Some(src), Some(dst), ..]) => self.copy(id, pair(src), pair(dst)),
            ("atomic_add", [Some(view), Some(t)]) => self.copy(id, pair(t), pair(view)),
            ("load", [Some(view)]) => self.load(view.0, &view.1),
            ("cast", [Some(t), Some(d)]) => self.cast(pair(t), pair(d)),
            ("rearrange", [Some(t), _]) => t.1.clone(),
            ("fill", [Some(t), Some(x)]) => self.fill(pair(t), pair(x)),
            ("index", [Some(t), Some(_)]) => match self.want_tensor(t.0, &t.1) {
                Ok(t) => Ty::Tensor(TensorTy {
                    elem: Elem::Known(DType::I32),
                    space: MemorySpace::Register,
                    mutable: true,
                    param: None,
                    ..t
                }),
                Err(quiet) => quiet,
            },
            ("scalar", [Some(t)]) => match self.want_tensor(t.0, &t.1) {
                Ok(TensorTy { elem: Elem::Known(dtype), .. }) => scalar_ty(dtype),
                Ok(_) => Ty::Unknown,
                Err(quiet) => quiet,
            },
            ("gemm" | "gemm_async", [Some(c), Some(a), Some(b), _]) => self.gemm(pair(c), pair(a), pair(b)),
            (
                "sync" | "sync_warp" | "commit" | "wait" | "wait_stores" | "gemm_wait" | "print" | "assert"
                | "arrive" | "expect",
                _,
            ) => Ty::Unit,
            ("where", [Some(c), Some(x), Some(y)]) => self.select(id, pair(c), pair(x), pair(y)),
            ("cdiv", [Some(a), Some(b)]) => self.cdiv(a, b),
            ("min" | "max", [Some(a), Some(b), None]) => self.extreme(id, name == "min", pair(a), pair(b)),
            ("sum" | "min" | "max" | "reduce", [Some(t), .., Some(axis)]) if name != "reduce" => {
                self.reduce(t, axis)
            }
            ("reduce", [Some((at, Ty::Tuple(parts))), Some(axis), _]) => {
                Ty::Tuple(parts.iter().map(|part| self.reduce(&(*at, part.clone()), axis)).collect())
            }
            ("reduce", [Some(t), Some(axis), _]) => self.reduce(t, axis),
            ("scan", [Some((at, Ty::Tuple(parts))), Some(axis), _]) => {
                Ty::Tuple(parts.iter().map(|part| self.scan(&(*at, part.clone()), axis)).collect())
            }
            ("scan", [Some(t), Some(axis), _]) => self.scan(t, axis),
            ("gather", [Some(t), Some(rows)]) => self.gather(t, rows),
            ("sum" | "min" | "max", [Some(t), ..]) if matches!(t.1, Ty::Tensor(_)) => {
                let params = vec!["axis".to_owned()];
                let problem = crate::ArgProblem::Missing { params };
                self.report(TypeProblem::Args { call: id, callee: name.into(), problem, labels: Vec::new() })
            }
            ("fma", [Some(a), Some(b), Some(c)]) => {
                let ab = self.join(id, pair(a), pair(b));
                self.join(id, (a.0, ab), pair(c))
            }
            (
                "exp2" | "exp" | "log2" | "log" | "sqrt" | "rsqrt" | "tanh" | "sigmoid" | "erf" | "sin"
                | "cos" | "floor" | "ceil" | "round" | "abs",
                [Some(x)],
            ) => self.math(name, pair(x)),
            ("size" | "cosize", _) => Ty::Int(None),
            (
                "compose" | "complement" | "inverse" | "right_inverse" | "left_inverse" | "coalesce"
                | "divide" | "product" | "swizzle",
                _,
            ) => Ty::Layout(None),
            _ => Ty::Unknown,
        }
    }

    fn copy(&mut self, id: ExprId, src: Given, dst: Given) -> Ty {
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

    fn load(&mut self, at: ExprId, view: &Ty) -> Ty {
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

    fn cast(&mut self, (at, t): Given, (dtype_at, dtype): Given) -> Ty {
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

    fn fill(&mut self, (at, t): Given, (x_at, x): Given) -> Ty {
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

    fn gemm(&mut self, c: Given, a: Given, b: Given) -> Ty {
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

    /// Returns the common type of two operands of an elementwise function.
    fn join(&mut self, id: ExprId, (x_at, x): Given, (y_at, y): Given) -> Ty {
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

    fn select(&mut self, id: ExprId, c: Given, x: Given, y: Given) -> Ty {
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

    fn cdiv(&mut self, a: &Given, b: &Given) -> Ty {
        let (x, y) = (self.want_int(a.0, &a.1), self.want_int(b.0, &b.1));
        match (x, y) {
            (_, Ty::Int(Some(y))) if y.is_zero() => self.report(TypeProblem::DivisionByZero { expr: b.0 }),
            (Ty::Int(Some(x)), Ty::Int(Some(y))) => Ty::Int(Some(x.ceil_div(&y, &self.facts))),
            _ => Ty::Int(None),
        }
    }

    fn extreme(&mut self, id: ExprId, least: bool, a: Given, b: Given) -> Ty {
        match (&a.1, &b.1) {
            (Ty::Int(Some(x)), Ty::Int(Some(y))) => {
                Ty::Int(Some(if least { x.minimum(y, &self.facts) } else { x.maximum(y, &self.facts) }))
            }
            _ => self.join(id, a, b),
        }
    }

    fn reduce(&mut self, t: &Given, axis: &Given) -> Ty {
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

    /// Infers the type of a scan: the shape of `t` is kept, and the axis must be one of its modes.
    fn scan(&mut self, t: &Given, axis: &Given) -> Ty {
        match (self.reduce(t, axis), &t.1) {
            (Ty::Tensor(found), Ty::Tensor(t)) => Ty::Tensor(TensorTy { shape: t.shape.clone(), ..found }),
            (other, _) => other,
        }
    }

    fn gather(&mut self, t: &Given, rows: &Given) -> Ty {
        let tensor = self.want_tensor_in((t.0, &t.1), MemorySpace::Global, "gather");
        let (tensor, rows) = match (tensor, self.want_tensor(rows.0, &rows.1)) {
            (Ok(tensor), Ok(rows)) => (tensor, rows),
            (Err(quiet), _) | (_, Err(quiet)) => return quiet,
        };
        match (&rows.shape[..], tensor.shape.split_first()) {
            ([count], Some((_, rest))) => {
                let shape = std::iter::once(count.clone()).chain(rest.iter().cloned()).collect();
                Ty::Tensor(TensorTy { shape, mutable: false, gathered: true, ..tensor })
            }
            _ => Ty::Unknown,
        }
    }

    fn math(&mut self, name: &str, (at, x): Given) -> Ty {
        match x {
            Ty::Tensor(t) => self.elementwise(at, t, name),
            Ty::Int(_) if name == "abs" => Ty::Int(None),
            Ty::Int(_) => Ty::Float(None),
            float @ Ty::Float(_) => float,
            quiet if quiet.is_quiet() => quiet,
            found => self.report(TypeProblem::Mismatch { expr: at, found, wanted: "a tensor or a number" }),
        }
    }

    /// Checks a call of a tile function: the arguments against the parameters. Returns the type of the result.
    fn function(
        &mut self,
        id: ExprId,
        callee: ExprId,
        function: Function<'a>,
        generics: &[GenericArg],
        args: &[Arg],
        types: &[Ty],
    ) -> Ty {
        let item = Item::Function(function);
        let sig = fn_signature(self.db, function);
        let known: Vec<Name> = sig.generics.iter().map(|g| g.name.clone()).collect();
        self.generic_args(callee, function.name(self.db), generics, &known);
        let params: Vec<(&str, Need)> =
            sig.params.iter().map(|p| (p.name.as_str(), Need::Required)).collect();
        let Some(given) = self.args(id, function.name(self.db), &params, args, types) else {
            return Ty::Error;
        };
        let wanted = &signature_types(self.db, item).params;
        let mut lifted: Option<(ExprId, TensorTy)> = None;
        for (wanted, (at, found)) in wanted.iter().zip(given.iter().flatten()) {
            let (Some(t), false) = (self.argument(*at, found, wanted), matches!(wanted, Ty::Tensor(_)))
            else {
                continue;
            };
            lifted = match lifted {
                None => Some((*at, t)),
                Some((first, known)) => match self.broadcast(id, (first, &known.shape), (*at, &t.shape)) {
                    Some(shape) => Some((first, TensorTy { shape, ..known })),
                    None => return Ty::Error,
                },
            };
        }
        let given: Vec<Ty> = given.into_iter().flatten().map(|(_, ty)| ty).collect();
        match (self.returned(function, generics, &given), lifted) {
            // A function of numbers applied to a tensor works on every element.
            (number @ (Ty::Int(_) | Ty::Float(_) | Ty::Bool), Some((_, t))) => {
                let elem = match number {
                    Ty::Float(Some(elem @ Elem::Known(_))) => elem,
                    Ty::Bool => Elem::Known(DType::Bool),
                    // The type of an integer does not give its width.
                    Ty::Int(_) if matches!(t.elem, Elem::Known(dtype) if !dtype.is_int()) => Elem::Unknown,
                    _ => t.elem.clone(),
                };
                Ty::Tensor(TensorTy { elem, space: MemorySpace::Register, mutable: true, param: None, ..t })
            }
            (ty, _) => ty,
        }
    }

    /// Checks that compile-time arguments have names, and that the callee has parameters of these names.
    pub(super) fn generic_args(
        &mut self,
        path: ExprId,
        callee: &Name,
        generics: &[GenericArg],
        known: &[Name],
    ) {
        for (index, generic) in generics.iter().enumerate() {
            if generic.name.as_ref().is_none_or(|name| !known.contains(name)) {
                let name = generic.name.clone();
                self.report(TypeProblem::UnknownGeneric {
                    path,
                    index,
                    callee: callee.clone(),
                    name,
                    known: known.to_vec(),
                });
            }
        }
    }

    /// Refuses compile-time arguments of anything that is not an item. The numbers of `swizzle` are the exception.
    pub(super) fn no_generic_args(&mut self, callee: ExprId, generics: &[GenericArg]) {
        if let Expr::Path { path, .. } = &self.store[callee]
            && path.as_name().is_none_or(|name| name != "swizzle")
        {
            self.generic_args(callee, &Name::new(path.to_string()), generics, &[]);
        }
    }

    /// Checks one argument. Returns its type if it is a tensor.
    fn argument(&mut self, at: ExprId, found: &Ty, wanted: &Ty) -> Option<TensorTy> {
        match (found, wanted) {
            (Ty::Tensor(found), Ty::Tensor(wanted)) => {
                if wanted.mutable {
                    self.out.writes.params.extend(found.param);
                }
                if found.space != wanted.space {
                    let (space, operation) = (found.space, "this parameter".to_owned());
                    let wanted = crate::space_word(wanted.space);
                    self.report(TypeProblem::Memory { expr: at, found: space, wanted, operation });
                } else if found.elem.differs(&wanted.elem) {
                    let found = Ty::DType(found.elem.clone());
                    let wanted = Ty::DType(wanted.elem.clone());
                    self.report(TypeProblem::Annotation { expr: at, found, wanted });
                } else if found.shape.len() != wanted.shape.len() {
                    let wanted = format!("{} modes for this parameter", wanted.shape.len());
                    self.report(TypeProblem::Rank { expr: at, found: found.shape.len(), wanted });
                } else if wanted.mutable && !found.mutable {
                    let (param, gathered) = (found.param, found.gathered);
                    self.report(TypeProblem::NotMutable { expr: at, param, gathered });
                }
                Some(found.clone())
            }
            (Ty::Tensor(found), _) => Some(found.clone()),
            (found, Ty::Tensor(wanted)) if found.is_quiet() => {
                self.out.writes.unknown |= wanted.mutable;
                None
            }
            (found, Ty::Tensor(_)) => {
                self.report(TypeProblem::Mismatch { expr: at, found: found.clone(), wanted: "a tensor" });
                None
            }
            _ => None,
        }
    }

    /// Returns the type of the function's result, with its dimensions and compile-time parameters bound by the call.
    fn returned(&mut self, function: Function<'a>, generics: &[GenericArg], given: &[Ty]) -> Ty {
        let item = Item::Function(function);
        let sig = fn_signature(self.db, function);
        let Some(ret) = sig.ret else { return Ty::Unit };
        let names = &signature_names(self.db, item).names;
        let types = signature_types(self.db, item);
        if types.problems.iter().any(|problem| matches!(problem, TypeProblem::Recursion { .. })) {
            // The return type depends on itself.
            return Ty::Error;
        }
        let mut inner = Infer::new(self.db, item, &sig.store, names);
        inner.generics = types.generics.clone();
        inner.params = given.to_vec();
        let mut bound: Vec<(Name, Value)> = Vec::new();
        for (param, given) in sig.params.iter().zip(given) {
            let (crate::TypeRef::Named { shape: Some(shape), .. }, Ty::Tensor(t)) =
                (&sig.store[param.ty], given)
            else {
                continue;
            };
            if let Some(Resolution::Generic(i)) = names.types.get(param.ty)
                && let Some(slot) = inner.generics.get_mut(*i as usize)
            {
                *slot = Ty::DType(t.elem.clone());
            }
            for (dim, extent) in shape.iter().zip(&t.shape) {
                match (names.exprs.get(*dim), extent) {
                    (Some(Resolution::Dim(name)), Some(extent)) => bound.push((name.clone(), extent.clone())),
                    (Some(Resolution::Generic(i)), extent) => {
                        if let Some(slot) = inner.generics.get_mut(*i as usize) {
                            *slot = Ty::Int(extent.clone());
                        }
                    }
                    _ => {}
                }
            }
        }
        for arg in generics {
            let Some(at) = sig.generics.iter().position(|g| Some(&g.name) == arg.name.as_ref()) else {
                continue;
            };
            if let Some(ty) = self.out.exprs.get(arg.value) {
                inner.generics[at] = ty.clone();
            }
        }
        inner.bound = Some(bound);
        inner.type_of(ret, Some(MemorySpace::Register)).unwrap_or(Ty::Unknown)
    }

    /// Returns the item if it is a kernel, for host calls.
    pub(super) fn kernel_of(&self, key: &ItemKey) -> Option<crate::Kernel<'a>> {
        match key.find(self.db)? {
            Item::Kernel(kernel) => Some(kernel),
            _ => None,
        }
    }
}
