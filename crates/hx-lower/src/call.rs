//! Calls: the arguments of all calls, and the callee. `builtin` lowers built-in functions; tile functions are inlined.

use hx_base::codes;
use hx_hir::{
    Arg, ArgProblem, Expr as HirExpr, ExprId, Function, Item, ItemKey, ItemKind, Need, Resolution, Sound,
    builtin_params, match_args,
};
use hx_index::Expr;

use crate::builtin_call::BuiltinCall;
use crate::error::{ItemPart, Lower, LowerError};
use crate::lowering::Lowering;
use crate::value::Value;

impl<'db> Lowering<'db> {
    pub(crate) fn call(
        &mut self,
        id: ExprId,
        callee: ExprId,
        args: &'db [Arg],
        hint: Option<&str>,
    ) -> Lower<Value> {
        let store = self.store();
        let HirExpr::Path { generics, .. } = &store[callee] else {
            let value = self.eval(callee)?;
            let message = format!("expected a function, found {} before `(`", value.what());
            return self.fail(&codes::NOT_CALLABLE, callee, message);
        };
        match self.frame().names.exprs.get(callee).cloned() {
            Some(Resolution::Builtin(b)) => match b.params() {
                Some(params) => {
                    let slots = self.args(id, b.name(), &builtin_params(params), args)?;
                    let slots = slots.iter().map(|s| s.map(|i| args[i].value)).collect();
                    self.builtin(b, &BuiltinCall { id, name: b.name(), slots, args, hint })
                }
                None => self.fail(&codes::NOT_CALLABLE, callee, format!("`{}` is not a function", b.name())),
            },
            Some(Resolution::Item(key)) if key.kind == ItemKind::Function => {
                let used = self.frame().item.used(self.db, &key).and_then(Sound::function);
                let Some(function) = used else { return self.meaningless(id) };
                self.inline(id, callee, function, generics, args)
            }
            Some(Resolution::Item(key)) if key.kind == ItemKind::Kernel => {
                let message = format!(
                    "the kernel `{}` is called in a kernel: kernels are launched from the host",
                    key.name
                );
                self.fail(&codes::NOT_A_PRIMITIVE, callee, message)
            }
            Some(Resolution::DType(dtype)) => {
                let error = self
                    .error(&codes::NOT_CALLABLE, callee, format!("the element type `{dtype}` is called"))
                    .help(format!("`cast(x, {dtype})` converts"));
                Err(self.report(error))
            }
            Some(_) => match self.eval(callee)? {
                Value::Function(key) => {
                    let function = self.passed(callee, &key)?;
                    self.inline(id, callee, function, generics, args)
                }
                value => {
                    let message = format!("expected a function, found {} before `(`", value.what());
                    self.fail(&codes::NOT_CALLABLE, callee, message)
                }
            },
            None => self.meaningless(callee),
        }
    }

    /// Returns a function that an argument names. The item whose text is lowered need not use it: a launch may name it.
    fn passed(&mut self, at: ExprId, key: &ItemKey) -> Lower<Sound<Function<'db>>> {
        let Some(Item::Function(function)) = key.find(self.db) else {
            let message = format!("the function `{}` does not exist any more", key.name);
            return self.fail(&codes::UNKNOWN_NAME, at, message);
        };
        // The caller of `lower` checks the functions among the arguments, and a sound item names only sound ones.
        Sound::of(self.db, function).map_or_else(|| self.meaningless(at), Ok)
    }

    /// Returns the index of the argument for each parameter; `None` for an optional one that the call omits. Reports
    /// arguments that match no parameter, parameters with two arguments, and required ones without any.
    pub(crate) fn args(
        &mut self,
        id: ExprId,
        name: &str,
        params: &[(&str, Need)],
        args: &[Arg],
    ) -> Lower<Vec<Option<usize>>> {
        let (slots, problems) = match_args(params, args);
        let mut result = Ok(slots);
        for problem in problems {
            let at = |lowering: &Self, arg: usize| lowering.place_at(ItemPart::Label(id, arg));
            let error = match problem {
                ArgProblem::TooMany { arg, found, wanted } => {
                    let message = format!("`{name}` takes {wanted} arguments, found {found}");
                    LowerError::new(&codes::WRONG_ARGUMENT_COUNT, at(self, arg), message)
                }
                ArgProblem::Missing { params } => {
                    let message = format!("`{name}` lacks the argument `{}`", params.join("`, `"));
                    self.error(&codes::MISSING_ARGUMENT, id, message)
                }
                ArgProblem::UnknownName { arg } => {
                    let label = args.get(arg).and_then(|a| a.name.clone()).unwrap_or_default();
                    let message = format!("`{name}` has no parameter `{label}`");
                    LowerError::new(&codes::UNKNOWN_ARGUMENT, at(self, arg), message)
                }
                ArgProblem::Twice { arg, first } => {
                    let error = LowerError::new(
                        &codes::DUPLICATE_ARGUMENT,
                        at(self, arg),
                        "an argument is given twice",
                    );
                    error.also(at(self, first), "given here first")
                }
            };
            result = Err(self.report(error));
        }
        result
    }

    /// Reports whether `a == b` follows from the facts.
    pub(crate) fn same(&self, a: &Expr, b: &Expr) -> bool {
        (a.clone() - b.clone()).simplify(&self.facts).is_zero()
    }
}
