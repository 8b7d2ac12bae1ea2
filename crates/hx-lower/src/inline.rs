//! Inlining of tile functions at their calls.

use std::collections::BTreeMap;

use hx_base::codes;
use hx_dtype::DType;
use hx_hir::{
    Arg, Builtin, Expr as HirExpr, ExprId, FnSignature, Function, GenericArg, KernelFn, MemorySpace, Name,
    Names, Need, Predicate, Resolution, Sound, TypeRef, TypeRefId, fn_signature, signature_names,
};
use hx_index::{Cond, Expr};

use crate::error::{ItemPart, Lower, LowerError, Reported};
use crate::lowering::{Frame, Lowering, shape_text};
use crate::value::{Lazy, Tensor, Value};
use crate::whole::{Whole, width};

impl<'db> Lowering<'db> {
    /// Inlines a call of a tile function: evaluates the body in place of the call.
    pub(crate) fn inline(
        &mut self,
        id: ExprId,
        callee: ExprId,
        function: Sound<Function<'db>>,
        generics: &'db [GenericArg],
        args: &'db [Arg],
    ) -> Lower<Value> {
        let key = &function.get().key(self.db);
        // A function that names itself is not sound. One that is passed to itself is, and would be inlined forever.
        if self.frames.iter().any(|f| f.key == *key) {
            let message = format!("`{}` is passed to itself, and calls itself here", key.name);
            let error = self
                .error(&codes::RECURSION, callee, message)
                .help("a `fn` is inlined where it is called, so it cannot call itself");
            return Err(self.report(error));
        }
        let sig = fn_signature(self.db, function.get());
        let params: Vec<(&str, Need)> =
            sig.params.iter().map(|p| (p.name.as_str(), Need::Required)).collect();
        let slots = self.args(id, &key.name, &params, args)?;
        let values = self.frozen_arguments(sig, &slots, args)?;
        let given = self.given_generics(callee, sig, generics)?;
        let call = Some(self.origin(id));
        let names = &signature_names(self.db, function.get().into()).names;
        self.frames.push(Frame {
            item: function.item(),
            key: key.clone(),
            store: &sig.store,
            names,
            in_signature: true,
            generics: vec![Value::Error; sig.generics.len()],
            params: values.iter().map(|(_, v)| v.clone()).collect(),
            dims: BTreeMap::new(),
            result: None,
            locals: BTreeMap::new(),
            variables: BTreeMap::new(),
            operands: 0,
            spread: None,
            call,
        });
        let result = self.enter_function(sig, &given, &values);
        self.frames.pop();
        result
    }

    /// Evaluates the arguments of a call, in the order of the parameters, and freezes their values.
    fn frozen_arguments(
        &mut self,
        sig: &FnSignature,
        slots: &[Option<usize>],
        args: &[Arg],
    ) -> Lower<Vec<(ExprId, Value)>> {
        let mut values = Vec::with_capacity(slots.len());
        for (param, slot) in sig.params.iter().zip(slots) {
            let Some(slot) = *slot else { continue };
            let at = args[slot].value;
            let is_number = matches!(&sig.store[param.ty], TypeRef::Named { shape: None, .. });
            let found = self.eval(at)?;
            let is_written = matches!(
                &sig.store[param.ty],
                TypeRef::Named { space: Some(MemorySpace::Register), mutable: true, .. }
            );
            let found = if is_written { self.written_argument(at, found, sig, &param.name)? } else { found };
            let value = match found {
                // An expression of coordinates alone takes no registers until its elements are used, so a function of numbers gets
                // it as it is.
                Value::Lazy(lazy) if is_number && lazy.inputs.is_empty() => Value::Lazy(lazy),
                Value::Lazy(lazy) => Value::Tensor(self.materialize(at, lazy, None)),
                other => self.freeze(other),
            };
            values.push((at, value));
        }
        Ok(values)
    }

    fn given_generics(
        &mut self,
        callee: ExprId,
        sig: &FnSignature,
        generics: &[GenericArg],
    ) -> Lower<BTreeMap<Name, Value>> {
        let mut given = BTreeMap::new();
        for (i, arg) in generics.iter().enumerate() {
            let place = self.place_at(ItemPart::Label(callee, i));
            let Some(name) = arg.name.clone() else {
                let error = LowerError::new(
                    &codes::UNKNOWN_ARGUMENT,
                    place,
                    "compile-time arguments are passed by name",
                );
                return Err(self.report(error));
            };
            if !sig.generics.iter().any(|g| g.name == name) {
                let message = format!("the function has no compile-time parameter `{name}`");
                let error = LowerError::new(&codes::UNKNOWN_ARGUMENT, place, message);
                return Err(self.report(error));
            }
            let value = self.eval(arg.value)?.widened();
            given.insert(name, value);
        }
        Ok(given)
    }

    /// Binds the parameters that the arguments determine, checks the arguments, and runs the body. The function's frame must be
    /// the innermost one.
    fn enter_function(
        &mut self,
        sig: &'db FnSignature,
        given: &BTreeMap<Name, Value>,
        args: &[(ExprId, Value)],
    ) -> Lower<Value> {
        for (i, generic) in sig.generics.iter().enumerate() {
            if let Some(value) = given.get(&generic.name) {
                self.frame_mut().generics[i] = value.clone();
            }
        }
        for (param, (_, value)) in sig.params.iter().zip(args) {
            self.bind_dims(param.ty, value);
        }
        for (i, generic) in sig.generics.iter().enumerate() {
            if self.frame().generics[i] != Value::Error {
                continue;
            }
            let value = match generic.default {
                Some(default) => self.eval(default)?.widened(),
                None => {
                    let message = format!("the compile-time parameter `{}` has no value", generic.name);
                    let place = self.place_at(ItemPart::Generic(i));
                    let error = LowerError::new(&codes::UNINFERRED_PARAMETER, place, message);
                    return Err(self.report(error));
                }
            };
            self.frame_mut().generics[i] = value;
        }
        for (i, (param, (at, value))) in sig.params.iter().zip(args).enumerate() {
            let value = self.check_arg(*at, param.ty, value, &param.name)?;
            self.frame_mut().params[i] = self.as_local(&param.name, value);
        }
        let names = self.frame().names;
        let is_promise = |clause: &&Predicate| names.is_promise(&sig.store, clause);
        let (promises, conditions): (Vec<_>, Vec<_>) = sig.wheres.iter().partition(is_promise);
        self.require(&conditions)?;
        let result = self.result_of(sig, args)?;
        if promises.is_empty() {
            return Ok(result);
        }
        self.promise(sig, names, result, &promises)
    }

    /// Checks the clauses of a function about its arguments.
    fn require(&mut self, clauses: &[&'db Predicate]) -> Lower<()> {
        for clause in clauses {
            match self.cond(clause.condition)? {
                Cond::True => {}
                cond => {
                    let message = format!("`{}` is not known to hold here: it is `{cond}`", clause.text);
                    return self.fail(&codes::CONSTANT_ERROR, clause.condition, message);
                }
            }
        }
        Ok(())
    }

    /// Checks what a function promises of its result, as assertions behind its body: nothing is left to check of what the compiler proves.
    fn promise(
        &mut self,
        sig: &'db FnSignature,
        names: &'db Names,
        result: Value,
        clauses: &[&'db Predicate],
    ) -> Lower<Value> {
        let result = self.freeze(result);
        let frame = self.frame_mut();
        (frame.store, frame.names, frame.in_signature) = (&sig.store, names, true);
        frame.result = Some(result.clone());
        clauses.iter().try_for_each(|clause| self.check_promise(clause.condition))?;
        Ok(result)
    }

    /// Runs the body of a function, whose frame is the innermost one.
    fn result_of(&mut self, sig: &'db FnSignature, args: &[(ExprId, Value)]) -> Lower<Value> {
        let number = |ty: &TypeRefId| matches!(&sig.store[*ty], TypeRef::Named { shape: None, .. });
        let ret = sig.ret.filter(number).and_then(|ty| self.element_type(ty));
        let item = self.frame().item;
        let ptx = self.ptx_of(sig, item);
        let (body, names) = (item.body(self.db), item.names(self.db));
        let frame = self.frame_mut();
        (frame.store, frame.names, frame.in_signature) = (&body.store, names, false);
        if let Some(ptx) = ptx
            && let Some(value) = self.ptx_call(body.root, &ptx, args)?
        {
            return Ok(value);
        }
        self.frame_mut().spread = self.spread(body.root);
        let value = self.eval_named(body.root, None)?;
        let Some(dtype) = ret else { return Ok(value) };
        let value = self.number_as(body.root, value, dtype)?;
        let numbers = sig.params.iter().zip(args).filter(|(param, _)| number(&param.ty));
        let elements = numbers.map(|(_, (_, arg))| arg.clone()).collect();
        self.in_each_element(body.root, value, dtype, elements)
    }

    /// Returns the result of a function of numbers that is applied to elements: a number that depends on none of them is the result
    /// for each.
    fn in_each_element(&mut self, at: ExprId, value: Value, dtype: DType, args: Vec<Value>) -> Lower<Value> {
        let has_elements = |value: &Value| {
            matches!(value, Value::Tensor(t) if t.is_register()) || matches!(value, Value::Lazy(_))
        };
        let is_number = matches!(value, Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Scalar(_));
        if !is_number || !args.iter().any(has_elements) {
            return Ok(value);
        }
        let mut all: Option<Lazy> = None;
        for arg in args.into_iter().filter(has_elements) {
            let Value::Lazy(found) = self.lazy_operand(at, arg)? else { continue };
            all = Some(match all {
                Some(known) => self.joined(at, (at, known), (at, found))?.1,
                None => found,
            });
        }
        let Some(Lazy { shape, .. }) = all else { return Ok(value) };
        let value = self.as_number(at, value, dtype)?;
        Ok(Value::Lazy(Lazy { shape, inputs: Vec::new(), value }))
    }

    /// Binds the parts that a parameter's type leaves open to those of its argument: dimensions, and compile-time parameters
    /// that are an element type or a whole dimension.
    fn bind_dims(&mut self, ty: TypeRefId, value: &Value) {
        let store = self.store();
        let Value::Tensor(t) = value else { return };
        let TypeRef::Named { shape, .. } = &store[ty] else { return };
        let frame = self.frame_mut();
        if let Some(Resolution::Generic(i)) = frame.names.types.get(ty)
            && let Some(slot @ Value::Error) = frame.generics.get_mut(*i as usize)
        {
            *slot = Value::DType(t.dtype);
        }
        for (&dim, extent) in shape.iter().flatten().zip(t.shape()) {
            match frame.names.exprs.get(dim) {
                Some(Resolution::Dim(name)) => {
                    frame.dims.entry(name.clone()).or_insert(extent);
                }
                Some(Resolution::Generic(i)) => {
                    if let Some(slot @ Value::Error) = frame.generics.get_mut(*i as usize) {
                        *slot = Value::Int(extent);
                    }
                }
                _ => {}
            }
        }
    }

    /// Checks the argument against the parameter's type and returns it as the body sees it.
    fn check_arg(&mut self, at: ExprId, ty: TypeRefId, value: &Value, name: &str) -> Lower<Value> {
        let store = self.store();
        let TypeRef::Named { space, mutable, shape, .. } = &store[ty] else { return Ok(value.clone()) };
        let wanted = match self.frame().names.types.get(ty) {
            Some(Resolution::DType(dtype)) => Some(*dtype),
            Some(Resolution::Generic(i)) => match self.frame().generics.get(*i as usize) {
                Some(Value::DType(dtype)) => Some(*dtype),
                _ => None,
            },
            _ => None,
        };
        let Some(shape) = shape else {
            return self.check_number(at, value, wanted, name);
        };
        let Value::Tensor(t) = value else {
            let message = format!("expected a tensor, found {} for `{name}`", value.what());
            return self.arg_error(at, &codes::TYPE_MISMATCH, message);
        };
        if let Some(wanted) = wanted.filter(|w| *w != t.dtype) {
            let message = format!("expected `{wanted}`, found elements of type `{}` for `{name}`", t.dtype);
            return self.arg_error(at, &codes::DTYPE_MISMATCH, message);
        }
        let memory = match space {
            Some(MemorySpace::Register) => "register",
            Some(MemorySpace::Shared) => "shared",
            Some(MemorySpace::Global) | None => "global",
        };
        if memory != t.space() {
            let message = format!("found a {} tensor for `{name}`, expected a {memory} one", t.space());
            return self.arg_error(at, &codes::WRONG_MEMORY, message);
        }
        let extents = shape.iter().map(|e| self.int(*e)).collect::<Lower<Vec<Expr>>>()?;
        let found = t.shape();
        let fits = found.len() == extents.len() && found.iter().zip(&extents).all(|(a, b)| self.same(a, b));
        if !fits {
            let (found, wanted) = (shape_text(&found), shape_text(&extents));
            let message = format!("expected `{wanted}`, found the shape `{found}` for `{name}`");
            return self.arg_error(at, &codes::SHAPE_MISMATCH, message);
        }
        if *mutable && !t.mutable {
            let message = format!("`{name}` is written by the function, but the argument may only be read");
            return self.arg_error(at, &codes::NOT_MUTABLE, message);
        }
        Ok(Value::Tensor(Tensor { mutable: *mutable, fresh: false, ..t.clone() }))
    }

    /// Returns the register tensor that a function writes. A local that is an expression so far becomes a tensor.
    ///
    /// # Errors
    /// If the argument is any other expression and the function returns nothing: then nothing could read the elements.
    fn written_argument(&mut self, at: ExprId, value: Value, sig: &FnSignature, name: &str) -> Lower<Value> {
        let is_lost = match (&value, self.frame().names.exprs.get(at)) {
            (Value::Lazy(lazy), Some(Resolution::Local(pat))) => {
                let (pat, lazy) = (*pat, lazy.clone());
                return Ok(self.hold(at, pat, lazy));
            }
            (Value::Lazy(_), _) => true,
            // A new tensor as argument, `f(register_tensor(…))`, is workspace of the function, so its elements may be lost.
            (Value::Tensor(t), _) => t.is_register() && t.fresh && !self.is_made_here(at),
            _ => false,
        };
        if !is_lost || sig.ret.is_some() {
            return Ok(value);
        }
        let message = format!("cannot write to this expression: nothing keeps the result of `{name}`");
        let error = self.error(&codes::NOT_MUTABLE, at, message);
        Err(self.report(error.help("bind it before the call: `let t = …;`")))
    }

    fn is_made_here(&self, at: ExprId) -> bool {
        let made = Resolution::Builtin(Builtin::Kernel(KernelFn::RegisterTensor));
        let callee = if let HirExpr::Call { callee, .. } = &self.store()[at] { Some(*callee) } else { None };
        callee.is_some_and(|callee| self.frame().names.exprs.get(callee) == Some(&made))
    }

    /// As [`Lowering::check_arg`], for a parameter without a shape.
    fn check_number(&mut self, at: ExprId, value: &Value, wanted: Option<DType>, name: &str) -> Lower<Value> {
        match (value, wanted) {
            // A function of numbers applied to a register tensor works on every element.
            (Value::Tensor(t), Some(wanted)) if t.is_register() => {
                self.check_elements(at, value, t.dtype, wanted, name)
            }
            (Value::Lazy(lazy), Some(wanted)) => {
                self.check_elements(at, value, lazy.value.dtype(), wanted, name)
            }
            (Value::Tensor(t), _) => self.arg_error(
                at,
                &codes::RANK_MISMATCH,
                format!("expected a number, found a tensor of rank {} for `{name}`", t.view.modes.len()),
            ),
            (value, Some(wanted)) if wanted.is_int() && value.whole().is_some() => {
                self.number_argument(at, value, wanted, name)
            }
            _ => Ok(value.clone()),
        }
    }

    /// Returns the elements that a function of numbers works on, if they have the type of its parameter.
    fn check_elements(
        &mut self,
        at: ExprId,
        value: &Value,
        found: DType,
        wanted: DType,
        name: &str,
    ) -> Lower<Value> {
        if found == wanted {
            return Ok(value.clone());
        }
        let message = format!("expected `{wanted}`, found elements of type `{found}` for `{name}`");
        self.arg_error(at, &codes::DTYPE_MISMATCH, message)
    }

    /// Converts a whole number to the parameter's type, like [`Lowering::number_as`], but reports errors at the argument.
    fn number_argument(&mut self, at: ExprId, value: &Value, wanted: DType, name: &str) -> Lower<Value> {
        let Some(Whole { value, dtype }) = value.whole() else { return Ok(value.clone()) };
        let fits = match (dtype, width(wanted)) {
            (Some(own), _) => own == wanted,
            (None, Some(width)) => width.bits == 64 || self.facts.fits(&value, width),
            (None, None) => self.facts.range(&value).0.is_some_and(|low| low >= 0),
        };
        if fits {
            return Ok(Whole { value, dtype: Some(wanted) }.into_value());
        }
        match (dtype, value.as_const()) {
            (None, Some(x)) => {
                let message = format!("found {x} for `{name}`, which `{wanted}` cannot hold");
                self.arg_error(at, &codes::LITERAL_OUT_OF_RANGE, message)
            }
            (own, _) => {
                let found = own.unwrap_or(DType::I64);
                let message = format!(
                    "found a number of type `{found}` for `{name}`, expected `{wanted}`: `cast(…, {wanted})` converts"
                );
                self.arg_error(at, &codes::DTYPE_MISMATCH, message)
            }
        }
    }

    /// Reports an error at an argument of the call. The call is in the frame below the innermost one.
    pub(crate) fn arg_error<T>(
        &mut self,
        at: ExprId,
        code: &'static hx_base::Code,
        message: String,
    ) -> Lower<T> {
        let below = self.frames.len().checked_sub(2).and_then(|i| self.frames.get(i));
        let Some(caller) = below else { return Err(Reported(())) };
        let part = if caller.in_signature { ItemPart::Signature(at) } else { ItemPart::Body(at) };
        let place = crate::error::Place { item: caller.key.clone(), part };
        let callee = self.place_at(ItemPart::Name);
        let mut error = LowerError::new(code, place, message).also(callee, "the function is here");
        error.calls = Vec::new();
        Err(self.diagnostics.add(error))
    }
}
