//! Calls of functions of layouts. `hx-layout` computes them.

use hx_base::codes;
use hx_hir::{ExprId, LayoutFn};
use hx_index::Expr;
use hx_layout::expr::{self as algebra, Value as Algebra};

use crate::builtin_call::BuiltinCall;
use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::{SymLayout, Value};

impl Lowering<'_> {
    /// Lowers a call of a function of layouts.
    pub(crate) fn layout_fn(&mut self, function: LayoutFn, call: &BuiltinCall<'_, '_>) -> Lower<Value> {
        match function {
            LayoutFn::Size => {
                let [x] = self.first(call)?;
                self.size(x)
            }
            LayoutFn::Cosize => {
                let [x] = self.first(call)?;
                self.cosize(x)
            }
            LayoutFn::Coalesce
            | LayoutFn::Inverse
            | LayoutFn::RightInverse
            | LayoutFn::LeftInverse
            | LayoutFn::Complement => {
                let [l] = self.first(call)?;
                self.computed(call, &[l], call.slot(1))
            }
            LayoutFn::Compose | LayoutFn::Divide | LayoutFn::Product | LayoutFn::TileToShape => {
                let [a, b] = self.first(call)?;
                self.computed(call, &[a, b], call.slot(2))
            }
            // `swizzle<bits, base, shift>` is a value.
            LayoutFn::Swizzle => self.not_compiled(call),
        }
    }

    /// Computes a function of the algebra of these arguments and an optional one.
    fn computed(
        &mut self,
        call: &BuiltinCall<'_, '_>,
        required: &[ExprId],
        optional: Option<ExprId>,
    ) -> Lower<Value> {
        let mut args = Vec::with_capacity(required.len() + 1);
        for &arg in required.iter().chain(&optional) {
            let value = self.eval(arg)?.widened();
            args.push(self.argument(arg, &value)?);
        }
        // An integer `n` as the first operand is the layout `n:1`.
        if let Some(first @ Algebra::Int(_)) = args.first_mut()
            && let Ok(layout) = algebra::layout(first, &Algebra::Int(1))
        {
            *first = layout;
        }
        self.made(call.id, algebra::call(call.name, &args))
    }

    /// Evaluates `a ∘ b` for layouts of known integers, with or without a swizzle.
    pub(crate) fn compose(&mut self, id: ExprId, a: &Value, b: &Value) -> Lower<Value> {
        let (a, b) = (self.argument(id, a)?, self.argument(id, b)?);
        self.made(id, algebra::compose(&a, &b))
    }

    /// Converts a layout, a swizzle, an integer or a tuple of these to a value of the algebra. All integers must be known.
    fn argument(&mut self, id: ExprId, value: &Value) -> Lower<Algebra> {
        match value {
            Value::Layout(layout) => match layout.to_composed() {
                Ok(composed) if composed.swizzle.is_identity() => Ok(Algebra::Layout(composed.layout.into())),
                Ok(composed) => Ok(Algebra::Composed(composed)),
                Err((code, message)) => self.fail(code, id, message),
            },
            Value::Swizzle(swizzle) => Ok(Algebra::Swizzle(*swizzle)),
            Value::Int(x) => match x.as_const() {
                Some(x) => Ok(Algebra::Int(x)),
                None => {
                    self.fail(&codes::NOT_CONSTANT, id, "expected a known integer, found a run-time integer")
                }
            },
            Value::Tuple(parts) | Value::Array(parts) => {
                let parts = parts.iter().map(|part| Ok((None, self.argument(id, part)?)));
                Ok(Algebra::List(parts.collect::<Lower<_>>()?))
            }
            other => {
                let message = format!("expected a layout, found {}", other.what());
                self.fail(&codes::TYPE_MISMATCH, id, message)
            }
        }
    }

    /// Converts a result of the algebra. Layouts of a kernel are `shape : stride`, or follow a swizzle.
    fn made(&mut self, id: ExprId, made: Result<Algebra, String>) -> Lower<Value> {
        match made {
            Ok(Algebra::Layout(layout)) => Ok(Value::Layout(SymLayout::from_layout(&layout.layout))),
            Ok(Algebra::Composed(composed)) if composed.offset == 0 => Ok(Value::Layout(SymLayout {
                swizzle: composed.swizzle,
                ..SymLayout::from_layout(&composed.layout)
            })),
            Ok(other) => {
                let kind = other.kind();
                let message = format!(
                    "found {kind}, `{other}`, expected a layout `shape : stride` with or without a swizzle"
                );
                self.fail(&codes::LAYOUT_ALGEBRA, id, message)
            }
            Err(message) => self.fail(&codes::LAYOUT_ALGEBRA, id, message),
        }
    }

    /// Evaluates `size(x)`: the number of elements of a layout or tensor.
    fn size(&mut self, x: ExprId) -> Lower<Value> {
        match self.eval(x)? {
            Value::Tensor(t) => {
                let product = t.shape().iter().fold(Expr::constant(1), |p, e| &p * e);
                Ok(Value::Int(product.simplify(&self.facts)))
            }
            Value::Lazy(lazy) => Ok(Value::Int(Expr::constant(lazy.shape.iter().product()))),
            other => self.measured(x, &other, LayoutFn::Size),
        }
    }

    /// Evaluates `cosize(l)`: the number of places that a layout spans, one more than its largest index.
    fn cosize(&mut self, x: ExprId) -> Lower<Value> {
        let value = self.eval(x)?;
        self.measured(x, &value, LayoutFn::Cosize)
    }

    fn measured(&mut self, x: ExprId, value: &Value, function: LayoutFn) -> Lower<Value> {
        if !matches!(value, Value::Layout(_)) {
            let message = format!("expected a layout for `{}`, found {}", function.name(), value.what());
            return self.fail(&codes::TYPE_MISMATCH, x, message);
        }
        let layout = self.argument(x, value)?;
        match algebra::call(function.name(), &[layout]) {
            Ok(Algebra::Int(measure)) => Ok(Value::Int(Expr::constant(measure))),
            made => self.made(x, made),
        }
    }
}
