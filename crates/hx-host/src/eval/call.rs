//! Calls of built-in functions, kernels and methods.

use std::path::Path;

use hx_base::{FileKind, codes};
use hx_hir::{
    Arg, Builtin, CommonFn, Expr, ExprId, GenericArg, HostFn, HostLayoutFn, ItemKey, ItemKind, LayoutFn,
    Literal, Name, Place, Resolution, builtin,
};

use super::args::Args;
use super::closures::{self, Failure};
use super::{EvalError, EvalResult, Frame, builtins};
use crate::device::{LaunchArg, LaunchError, LaunchPlace, LaunchRequest};
use crate::error::HostError;
use crate::value::Value;

impl<'a> Frame<'_, 'a> {
    pub(super) fn call(&mut self, id: ExprId, callee: ExprId, args: &[Arg]) -> EvalResult<Value> {
        let body = self.body;
        let Expr::Path { path, generics } = &body.store[callee] else {
            return self.applied(id, callee, args);
        };
        match self.names.exprs.get(callee) {
            Some(Resolution::Builtin(swizzle)) if *swizzle == Builtin::Layout(LayoutFn::Swizzle) => {
                self.applied(id, callee, args)
            }
            Some(Resolution::Builtin(builtin)) => self.builtin(id, *builtin, args),
            Some(Resolution::Item(key)) => {
                match key.kind {
                    ItemKind::Kernel => {
                        let key = key.clone();
                        let values = self.generics(generics)?;
                        let places: Vec<ExprId> = generics.iter().map(|g| g.value).collect();
                        self.launch(id, key, values, &places, args)
                    }
                    ItemKind::Function => {
                        let error = HostError::unsupported(format!(
                            "`{path}` is a tile function, which only kernels call"
                        ));
                        Err(self.fail(
                            callee,
                            error.help("write the reference in host code, or a kernel that calls it"),
                        ))
                    }
                    kind => Err(self
                        .fail(callee, HostError::ty(format!("the {} `{path}` is not called", kind.word())))),
                }
            }
            Some(Resolution::Local(_) | Resolution::Binding(_)) => self.applied(id, callee, args),
            Some(_) => Err(self.fail(callee, HostError::ty(format!("`{path}` is not a function")))),
            None => Err(self.fail(callee, HostError::ty(format!("`{path}` means nothing here")))),
        }
    }

    /// Evaluates the compile-time arguments of a kernel.
    ///
    /// # Errors
    /// If one has no name, or its evaluation fails.
    pub(super) fn generics(&mut self, generics: &[GenericArg]) -> EvalResult<Vec<(Name, Value)>> {
        let mut values = Vec::with_capacity(generics.len());
        for generic in generics {
            let Some(name) = &generic.name else {
                let error = HostError::call("compile-time arguments are given by name, as in `<BM = 128>`");
                return Err(self.fail(generic.value, error));
            };
            values.push((name.clone(), self.expr(generic.value)?));
        }
        Ok(values)
    }

    /// Calls a value instead of a function: a layout is applied to coordinates.
    ///
    /// # Errors
    /// If the value is no layout, or the coordinates do not fit it.
    fn applied(&mut self, id: ExprId, callee: ExprId, args: &[Arg]) -> EvalResult<Value> {
        let called = self.expr(callee)?;
        let Value::Layout(layout) = &called else {
            let error = HostError::ty(format!("{} is not a function", called.kind()));
            return Err(self.fail(callee, error.help("functions and kernels are called by name")));
        };
        let places: Vec<ExprId> = args.iter().map(|a| a.value).collect();
        self.apply(id, layout, &places)
    }

    fn builtin(&mut self, id: ExprId, builtin: Builtin, args: &[Arg]) -> EvalResult<Value> {
        let result = self.called(id, builtin, args);
        let asserts = matches!(
            builtin,
            Builtin::Common(CommonFn::Assert) | Builtin::Host(HostFn::AssertEq | HostFn::AssertClose)
        );
        match &result {
            // An assertion about a fact that is unknown on this device neither holds nor fails.
            Err(e) if e.error.code == &codes::UNKNOWN_FACT && asserts => {
                self.session.surroundings.unjudged(&e.error.message);
                Ok(Value::Unit)
            }
            _ => result,
        }
    }

    fn called(&mut self, id: ExprId, builtin: Builtin, args: &[Arg]) -> EvalResult<Value> {
        match builtin {
            Builtin::Common(CommonFn::Assert) => self.assert(id, args),
            Builtin::HostLayout(HostLayoutFn::Linear) => self.linear(id, args),
            Builtin::Host(function @ (HostFn::Load | HostFn::Save)) => {
                let mut bound = self.args(function.name(), None, args)?;
                if let Some(path) = self.beside(args) {
                    bound.replace("path", path);
                }
                let result = builtins::function(self.session, Builtin::Host(function), &mut bound);
                self.at(id, result)
            }
            Builtin::Host(function @ (HostFn::Pack | HostFn::Unpack)) => self.in_blocks(id, function, args),
            Builtin::Host(HostFn::CublasGemm) => self.gemm(id, args),
            Builtin::Host(function @ (HostFn::Reduce | HostFn::Scan)) => {
                let mut bound = self.args(function.name(), None, args)?;
                closures::along(self.session, function, &mut bound).map_err(|failure| match failure {
                    Failure::Call(error) => self.fail(id, error),
                    Failure::Inside(error) => *error,
                })
            }
            function => {
                let mut bound = self.args(function.name(), None, args)?;
                let result = builtins::function(self.session, function, &mut bound);
                if result.is_err()
                    && matches!(function, Builtin::Host(HostFn::AssertEq | HostFn::AssertClose))
                {
                    let sides: Vec<ExprId> = args.iter().map(|arg| arg.value).take(2).collect();
                    self.suspect_of(&sides);
                }
                self.at(id, result)
            }
        }
    }

    /// Returns the path of a file relative to the folder of the source file that names it, so that a test finds its data from
    /// every folder. `None` if the path stays relative to the working folder: it is computed, comes from `args`, or was typed
    /// at the prompt, or the source file lies in that folder.
    fn beside(&self, args: &[Arg]) -> Option<Value> {
        let named = args.iter().find(|arg| arg.name.as_ref().is_some_and(|name| name == "path"));
        let arg = named.or_else(|| args.iter().find(|arg| arg.name.is_none()))?;
        let Expr::Literal(Literal::String(text)) = &self.body.store[arg.value] else { return None };
        let file = self.item.get().file(self.session.db);
        let folder = Path::new(file.path(self.session.db)).parent()?;
        if file.kind(self.session.db) != FileKind::Workspace || folder.as_os_str().is_empty() {
            return None;
        }
        Some(Value::Str(folder.join(text.as_str()).to_str()?.to_owned().into()))
    }

    pub(super) fn method(
        &mut self,
        id: ExprId,
        receiver: ExprId,
        name: &str,
        args: &[Arg],
    ) -> EvalResult<Value> {
        let receiver = self.expr(receiver)?;
        let Some(function) = builtin(name, Place::Host).filter(|function| function.is_method()) else {
            let error = HostError::ty(format!("{} has no method `{name}`", receiver.kind()));
            return Err(self.fail(id, error));
        };
        let mut bound = self.args(name, Some(receiver), args)?;
        let result = builtins::function(self.session, function, &mut bound);
        self.at(id, result)
    }

    pub(super) fn args(&mut self, function: &str, receiver: Option<Value>, args: &[Arg]) -> EvalResult<Args> {
        let mut out = Args::new(function, receiver);
        for arg in args {
            let value = self.expr(arg.value)?;
            out.push(arg.name.as_ref(), value);
        }
        Ok(out)
    }

    fn launch(
        &mut self,
        id: ExprId,
        kernel: ItemKey,
        generics: Vec<(Name, Value)>,
        generic_places: &[ExprId],
        args: &[Arg],
    ) -> EvalResult<Value> {
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            let value = self.handed(arg.value)?;
            let temporary = !self.is_place(arg.value);
            values.push(LaunchArg { name: arg.name.clone(), value, temporary });
        }
        let request = LaunchRequest { kernel, generics, args: values, candidate: None };
        self.session.surroundings.launching(&self.key, id, &request);
        let before = self.session.before(&request);
        let before = self.on_device(id, before)?;
        let mut launched = self.session.device.launch(&request);
        while let Err(LaunchError::After { printed, error }) = launched {
            printed.iter().for_each(|line| self.session.surroundings.print(line));
            launched = Err(*error);
        }
        match launched {
            Ok(report) => {
                self.session.ledger.launched(&request, &report);
                let recorded = self.session.launched(&request, &report, before);
                self.on_device(id, recorded)?;
                for line in &report.printed {
                    self.session.surroundings.print(line);
                }
                self.session.surroundings.launched(&request.kernel.name, &report);
                Ok(Value::Unit)
            }
            Err(LaunchError::Refused { error, place }) => {
                let at = match place {
                    LaunchPlace::Call => None,
                    LaunchPlace::Arg(i) => args.get(i).map(|a| a.value),
                    LaunchPlace::Generic(i) => generic_places.get(i).copied(),
                };
                Err(self.fail(at.unwrap_or(id), *error))
            }
            Err(LaunchError::Found(found)) => {
                let error = HostError::ty(format!("the kernel `{}` failed", request.kernel.name));
                Err(EvalError { found, ..self.fail(id, error) })
            }
            // The caller unwraps `After` first, so this arm is never reached.
            Err(error @ LaunchError::After { .. }) => {
                let (error, found) = error.into_parts();
                Err(EvalError { found, ..self.fail(id, error) })
            }
        }
    }

    /// Evaluates an argument that is handed to the device. A variable's contents stay where they are; every other use of a variable
    /// brings them to the host.
    pub(super) fn handed(&mut self, id: ExprId) -> EvalResult<Value> {
        match &self.body.store[id] {
            Expr::Path { generics, .. } => self.path(id, generics),
            _ => self.expr(id),
        }
    }

    /// Reports whether the expression is a variable or a part of one, so that a kernel's writes to it remain visible.
    pub(super) fn is_place(&self, id: ExprId) -> bool {
        match &self.body.store[id] {
            Expr::Path { .. } => true,
            Expr::Index { base, .. } | Expr::Field { base, .. } => self.is_place(*base),
            Expr::Block(block) => block.tail.is_some_and(|tail| self.is_place(tail)),
            _ => false,
        }
    }
}
