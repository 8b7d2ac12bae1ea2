//! `pack` and `unpack` with a kernel: the order in memory is the one that the compiler infers for a tensor of the kernel.

use hx_hir::{Arg, Builtin, Expr, ExprId, GenericArg, HostFn, ItemKey, ItemKind, Name, Resolution};
use hx_layout::expr::Value as LayoutValue;

use super::args::Args;
use super::{EvalResult, Frame, builtins};
use crate::device::OrderQuestion;
use crate::error::HostError;
use crate::value::Value;

impl<'a> Frame<'_, 'a> {
    /// Evaluates `pack(x, layout)` and `pack(x, kernel, of: "w")`, or `unpack`.
    ///
    /// # Errors
    /// If the kernel infers no order for such a tensor, or as for the function with a layout.
    pub(super) fn in_blocks(&mut self, id: ExprId, function: HostFn, args: &[Arg]) -> EvalResult<Value> {
        let name = Builtin::Host(function).name();
        let (mut bound, mut asked, mut dtype) = (Args::new(name, None), None, None);
        for arg in args {
            if let Some((key, generics)) = self.kernel_named(arg.value) {
                asked = Some((arg, key, generics));
                continue;
            }
            let value = self.expr(arg.value)?;
            if let Value::Tensor(x) = &value {
                dtype = Some(x.dtype());
            }
            bound.push(arg.name.as_ref(), value);
        }
        if let (Some((arg, kernel, generics)), Some(dtype)) = (asked, dtype) {
            let param = match bound.named("of") {
                None => None,
                Some(Value::Str(text)) => Some(Name::new(&*text)),
                Some(other) => {
                    let message = format!("expected the name of a parameter, found {}", other.kind());
                    return Err(self.fail(id, HostError::ty(message)));
                }
            };
            let question = OrderQuestion { kernel, generics: self.generics(generics)?, param, dtype };
            let order = self.session.device.packed_order(&question);
            let order = self.on_device(arg.value, order)?;
            let order =
                order.map_or(Value::Auto, |block| Value::Layout(Box::new(LayoutValue::from_layout(block))));
            bound.push(arg.name.as_ref(), order);
        }
        let result = builtins::function(self.session, Builtin::Host(function), &mut bound);
        self.at(id, result)
    }

    /// Returns the kernel that an argument names, with its compile-time arguments.
    fn kernel_named(&self, id: ExprId) -> Option<(ItemKey, &'a [GenericArg])> {
        let body = self.body;
        let Expr::Path { generics, .. } = &body.store[id] else { return None };
        match self.names.exprs.get(id)? {
            Resolution::Item(key) if key.kind == ItemKind::Kernel => Some((key.clone(), generics)),
            _ => None,
        }
    }
}
