//! Calls of functions of layouts. `hx-layout` computes them.

use hx_base::codes;
use hx_hir::{ExprId, LayoutFn};
use hx_index::Expr;
use hx_layout::{Layout, LayoutError, Tiler};

use crate::builtin_call::BuiltinCall;
use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::{SymLayout, Value};

impl Lowering<'_> {
    /// Lowers a call of a function of layouts.
    pub(crate) fn layout_fn(&mut self, function: LayoutFn, call: &BuiltinCall<'_, '_>) -> Lower<Value> {
        let id = call.id;
        match function {
            LayoutFn::Size => {
                let [x] = self.first(call)?;
                self.size(x)
            }
            LayoutFn::Cosize => {
                let [x] = self.first(call)?;
                self.cosize(x)
            }
            LayoutFn::Coalesce => {
                let [l] = self.first(call)?;
                let layout = self.plain_layout(l)?;
                self.algebra(id, Ok(layout.coalesce()))
            }
            LayoutFn::Inverse => {
                let [l] = self.first(call)?;
                self.inverse(id, l)
            }
            LayoutFn::RightInverse => {
                let [l] = self.first(call)?;
                let layout = self.plain_layout(l)?;
                self.algebra(id, Ok(layout.right_inverse()))
            }
            LayoutFn::LeftInverse => {
                let [l] = self.first(call)?;
                let layout = self.plain_layout(l)?;
                self.algebra(id, layout.left_inverse())
            }
            LayoutFn::Complement => {
                let [l] = self.first(call)?;
                let layout = self.plain_layout(l)?;
                let size = call.slot(1).map(|size| self.const_int(size, "the size")).transpose()?;
                self.algebra(id, layout.complement(size.unwrap_or(layout.cosize())))
            }
            LayoutFn::Compose => {
                let (a, b) = self.two_layouts(call)?;
                self.algebra(id, a.compose(&b))
            }
            LayoutFn::Divide => {
                let (layout, by) = self.two_layouts(call)?;
                self.algebra(id, layout.logical_divide(&Tiler::Layout(by)))
            }
            LayoutFn::Product => {
                let (layout, by) = self.two_layouts(call)?;
                self.algebra(id, layout.logical_product(&Tiler::Layout(by)))
            }
            // `swizzle<bits, base, shift>` is a value.
            LayoutFn::Swizzle => self.not_compiled(call),
        }
    }

    fn two_layouts(&mut self, call: &BuiltinCall<'_, '_>) -> Lower<(Layout, Layout)> {
        let [a, b] = self.first(call)?;
        Ok((self.plain_layout(a)?, self.plain_layout(b)?))
    }

    fn inverse(&mut self, id: ExprId, l: ExprId) -> Lower<Value> {
        let layout = self.plain_layout(l)?;
        let made = layout.right_inverse();
        if made.size() != layout.size() {
            let message = format!("`{layout}` is not a permutation of 0..{}", layout.size());
            let error = self
                .error(&codes::LAYOUT_ALGEBRA, id, message)
                .help("`right_inverse` or `left_inverse` may do");
            return Err(self.report(error));
        }
        self.algebra(id, Ok(made))
    }

    /// Evaluates a layout of known integers without a swizzle; an integer counts as a layout of one mode.
    fn plain_layout(&mut self, id: ExprId) -> Lower<Layout> {
        let found = match self.eval(id)?.widened() {
            Value::Layout(layout) => layout.to_layout(),
            Value::Int(x) => x.as_const().and_then(|x| Layout::flat(&[(x, 1)]).ok()),
            other => {
                let message = format!("expected a layout, found {}", other.what());
                return self.fail(&codes::TYPE_MISMATCH, id, message);
            }
        };
        let message = "expected a layout of known integers without a swizzle";
        found.map_or_else(|| self.fail(&codes::NOT_CONSTANT, id, message), Ok)
    }

    fn algebra(&mut self, id: ExprId, made: Result<Layout, LayoutError>) -> Lower<Value> {
        match made {
            Ok(layout) => Ok(Value::Layout(SymLayout::from_layout(&layout))),
            Err(error) => self.fail(&codes::LAYOUT_ALGEBRA, id, error.to_string()),
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
            other => self.measured(x, &other, LayoutFn::Size, Layout::size),
        }
    }

    /// Evaluates `cosize(l)`: the number of places that a layout spans, one more than its largest index.
    fn cosize(&mut self, x: ExprId) -> Lower<Value> {
        let value = self.eval(x)?;
        self.measured(x, &value, LayoutFn::Cosize, Layout::cosize)
    }

    fn measured(
        &mut self,
        x: ExprId,
        value: &Value,
        function: LayoutFn,
        measure: fn(&Layout) -> i64,
    ) -> Lower<Value> {
        match value {
            Value::Layout(layout) => match layout.to_layout() {
                Some(l) => Ok(Value::Int(Expr::constant(measure(&l)))),
                None => self.fail(
                    &codes::NOT_CONSTANT,
                    x,
                    "expected a layout of known integers without a swizzle",
                ),
            },
            other => {
                let message = format!("expected a layout for `{}`, found {}", function.name(), other.what());
                self.fail(&codes::TYPE_MISMATCH, x, message)
            }
        }
    }
}
