//! Calls on the device: the arguments of all calls, and the types of tile functions. `builtin` has the types of built-ins.

use hx_dtype::DType;
use hx_index::Expr as Value;

use super::{Infer, TypeProblem};
use crate::{
    Arg, Builtin, Elem, Expr, ExprId, Function, GenericArg, Item, ItemKey, LayoutFn, MemorySpace, Method,
    Name, Need, Resolution, TensorTy, Ty, builtin_params, fn_signature, match_args, signature_names,
    signature_types,
};

/// An argument with its type.
pub(super) type TypedArg = (ExprId, Ty);

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
                let Some(params) = b.params() else {
                    let found = self.resolved(callee);
                    return self.report(TypeProblem::NotCallable { callee, found });
                };
                self.no_generic_args(callee, generics);
                let Some(given) = self.args(id, b.name(), &builtin_params(params), args, &types) else {
                    return Ty::Error;
                };
                self.builtin(id, b, &given)
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
                Ty::Function(Some(key)) => match key.find(self.db) {
                    Some(Item::Function(function)) => {
                        self.function(id, callee, function, generics, args, &types)
                    }
                    _ => Ty::Unknown,
                },
                // Lowering checks the call for the function of each instance.
                Ty::Function(None) => {
                    self.out.writes.unknown |=
                        types.iter().any(|ty| matches!(ty, Ty::Tensor(t) if t.mutable));
                    Ty::Unknown
                }
                found => self.report(TypeProblem::NotCallable { callee, found }),
            },
            None => Ty::Error,
        }
    }

    /// Infers the type of a call behind a value, such as `p.acquire()`.
    pub(super) fn method_call(&mut self, id: ExprId, receiver: ExprId, name: &Name, args: &[Arg]) -> Ty {
        let base = self.expr(receiver);
        let types: Vec<Ty> = args.iter().map(|a| self.expr(a.value)).collect();
        if base.is_quiet() {
            return base;
        }
        let Some(method) = Method::of(&base, name) else {
            return self.report(TypeProblem::Member { expr: id, base, name: name.clone() });
        };
        let builtin = Builtin::Method(method);
        let params = builtin_params(builtin.params().unwrap_or_default());
        match self.args(id, method.name(), &params, args, &types) {
            Some(given) => self.builtin(id, builtin, &given),
            None => Ty::Error,
        }
    }

    /// Returns the argument of each parameter. `None` if some arguments do not fit, which are reported. `types` has the type of
    /// each argument.
    pub(super) fn args(
        &mut self,
        call: ExprId,
        callee: &str,
        params: &[(&str, Need)],
        args: &[Arg],
        types: &[Ty],
    ) -> Option<Vec<Option<TypedArg>>> {
        let (slots, problems) = match_args(params, args);
        let fits = problems.is_empty();
        for problem in problems {
            let labels = args.iter().map(|a| a.name.clone()).collect();
            self.report(TypeProblem::Args { call, callee: callee.into(), problem, labels });
        }
        fits.then(|| slots.into_iter().map(|s| s.map(|i| (args[i].value, types[i].clone()))).collect())
    }

    /// Checks a call of a tile function: the arguments against the parameters. Returns the type of the result. If a tensor is
    /// given for a number, the function applies to every element, and the result is a tensor.
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
            (Ty::Int(_), Some((_, t))) => {
                let ret = sig.ret.and_then(|ty| signature_names(self.db, item).names.types.get(ty));
                match ret {
                    Some(Resolution::DType(dtype)) => of_every_element(scalar_elem(*dtype), &t),
                    _ => of_every_element(Ty::Int(None), &t),
                }
            }
            (ty, Some((_, t))) => of_every_element(ty, &t),
            (ty, None) => ty,
        }
    }

    /// Checks that compile-time arguments have names, each its own, and that the callee has parameters of these names.
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
            } else if let Some(name) = &generic.name
                && let Some(first) =
                    generics[..index].iter().position(|other| other.name.as_ref() == Some(name))
            {
                self.report(TypeProblem::GenericTwice { path, index, first, name: name.clone() });
            }
        }
    }

    /// Refuses compile-time arguments of anything that is not an item. The numbers of `swizzle` are the exception.
    pub(super) fn no_generic_args(&mut self, callee: ExprId, generics: &[GenericArg]) {
        let is_swizzle =
            self.names.exprs.get(callee) == Some(&Resolution::Builtin(Builtin::Layout(LayoutFn::Swizzle)));
        if let Expr::Path { path, .. } = &self.store[callee]
            && !is_swizzle
        {
            self.generic_args(callee, &Name::new(path.to_string()), generics, &[]);
        }
    }

    /// Checks one argument against the type `wanted` of its parameter. Returns its type if it is a tensor, unless the
    /// parameter's type is unknown.
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
            (Ty::Tensor(_), wanted) if wanted.is_quiet() => None,
            (Ty::Tensor(found), _) => Some(found.clone()),
            (found, Ty::Tensor(wanted)) if found.is_quiet() => {
                self.out.writes.unknown |= wanted.mutable;
                None
            }
            (found, Ty::Tensor(_)) => {
                self.report(TypeProblem::Mismatch { expr: at, found: found.clone(), wanted: "a tensor" });
                None
            }
            (found, wanted) => {
                self.handle(at, found, wanted);
                None
            }
        }
    }

    /// Checks an argument if it or its parameter is a handle: only a handle of the same kind fits.
    fn handle(&mut self, at: ExprId, found: &Ty, wanted: &Ty) {
        let functions = matches!((found, wanted), (Ty::Function(_), Ty::Function(_)));
        if found == wanted || functions || found.is_quiet() || wanted.is_quiet() {
            return;
        }
        let found = found.clone();
        let described = match wanted {
            Ty::Function(_) => "a function",
            Ty::Pipeline => "a pipeline",
            Ty::Turns => "turns",
            Ty::Barrier => "a barrier",
            Ty::Counter => "a counter",
            _ if found.is_handle() => {
                let wanted = wanted.clone();
                self.report(TypeProblem::Annotation { expr: at, found, wanted });
                return;
            }
            _ => return,
        };
        self.report(TypeProblem::Mismatch { expr: at, found, wanted: described });
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

/// Returns a number of this element type, which [`Ty::Int`] would not give.
fn scalar_elem(dtype: DType) -> Ty {
    Ty::Float(Some(Elem::Known(dtype)))
}

/// Returns the type of the result of a function of numbers, applied to every element of tensors that broadcast to `t`.
fn of_every_element(number: Ty, t: &TensorTy) -> Ty {
    let elem = match number {
        Ty::Tuple(parts) => {
            return Ty::Tuple(parts.iter().map(|part| of_every_element(part.clone(), t)).collect());
        }
        Ty::Float(Some(elem @ Elem::Known(_))) => elem,
        Ty::Bool => Elem::Known(DType::Bool),
        // The type of an integer does not give its width.
        Ty::Int(_) if matches!(t.elem, Elem::Known(dtype) if !dtype.is_int()) => Elem::Unknown,
        Ty::Int(_) | Ty::Float(_) => t.elem.clone(),
        other => return other,
    };
    Ty::Tensor(TensorTy { elem, space: MemorySpace::Register, mutable: true, param: None, ..t.clone() })
}
