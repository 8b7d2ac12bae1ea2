//! Joins register tensors, cuts tensors into equal parts, and reverses the order of elements.

use hx_base::codes;
use hx_hir::ExprId;
use hx_index::Expr;
use hx_tile::{Base, Constant, OpKind, TensorId, View};

use crate::builtin_call::BuiltinCall;
use crate::error::Lower;
use crate::lowering::{Lowering, shape_text};
use crate::value::{Tensor, Value};

/// The largest number of parts that a tensor is cut into.
const MOST_PARTS: i64 = 64;

impl Lowering<'_> {
    /// Lowers `concat(a, b, …, axis: k)`: each tensor is inserted into a new one.
    pub(crate) fn concat(&mut self, call: &BuiltinCall<'_, '_>) -> Lower<Value> {
        let Some((axis_at, parts)) = call.slots.split_last() else { return self.not_compiled(call) };
        let Some(axis_at) = *axis_at else { return self.not_compiled(call) };
        let exprs: Vec<ExprId> = parts.iter().copied().flatten().collect();
        let mut held: Vec<(ExprId, TensorId, Tensor)> = Vec::new();
        for (at, value) in self.operand_list(&exprs)? {
            let tensor = self.want_register(at, value)?;
            let (id, tensor) = self.settled(at, &tensor, None)?;
            held.push((at, id, tensor));
        }
        let (first_at, first, joined) = held[0].clone();
        let mut shape = self.output.tensor(first).shape.clone();
        let axis = self.axis(axis_at, shape.len())?;
        for (at, id, tensor) in held.iter().skip(1) {
            if tensor.dtype != joined.dtype {
                return self.bad_dtype(*at, tensor.dtype, first_at, joined.dtype);
            }
            let own = self.output.tensor(*id).shape.clone();
            let fits = own.len() == shape.len()
                && own.iter().zip(&shape).enumerate().all(|(d, (a, b))| d == axis || a == b);
            if !fits {
                let (found, wanted) = (shape_text(&tensor.shape()), shape_text(&joined.shape()));
                let message = format!(
                    "expected `{wanted}` with any extent along axis {axis}, found the shape `{found}`"
                );
                let error = self
                    .error(&codes::SHAPE_MISMATCH, *at, message)
                    .also(self.place(first_at), format!("has the shape `{wanted}`"));
                return Err(self.report(error));
            }
            shape[axis] += own[axis];
        }
        let (dst, result) =
            self.new_register(call.hint.unwrap_or("joined"), joined.dtype, shape.clone(), call.id);
        // An insert keeps the elements outside of its part, so the tensor needs values before the first insert.
        self.emit(OpKind::Fill { dst, value: Constant::ZERO }, call.id);
        let mut first = 0;
        for (at, src, _) in held {
            let extent = self.output.tensor(src).shape[axis];
            let mut view = View::whole(Base::Register(dst), &shape);
            view.offsets[axis] = Expr::constant(first);
            view.modes[axis].extent = extent;
            self.emit(OpKind::Insert { dst: view, src }, at);
            first += extent;
        }
        Ok(Value::Tensor(result))
    }

    /// Lowers `flip(t, axis)`: a new register tensor, whose element `i` along the axis is element `n - 1 - i` of `t`.
    pub(crate) fn flip(&mut self, call: &BuiltinCall<'_, '_>) -> Lower<Value> {
        let [at, axis_at] = self.first(call)?;
        let value = self.eval(at)?;
        let tensor = self.want_register(at, value)?;
        let (src, tensor) = self.settled(at, &tensor, None)?;
        let axis = self.axis(axis_at, self.output.tensor(src).shape.len())?;
        let (_, flipped) = self.flipped((src, &tensor), axis, call.hint.unwrap_or("flipped"), call.id);
        Ok(Value::Tensor(flipped))
    }

    /// Returns a new register tensor with the elements of another one in reverse order along an axis.
    pub(crate) fn flipped(
        &mut self,
        (src, tensor): (TensorId, &Tensor),
        axis: usize,
        hint: &str,
        at: ExprId,
    ) -> (TensorId, Tensor) {
        let shape = self.output.tensor(src).shape.clone();
        let mut view = View::whole(Base::Register(src), &shape);
        if shape[axis] > 1 {
            view.offsets[axis] = Expr::constant(shape[axis] - 1);
            view.modes[axis].factor = Expr::constant(-1);
        }
        let (dst, made) = self.new_register(hint, tensor.dtype, shape, at);
        self.emit(OpKind::Slice { dst, src: view }, at);
        (dst, made)
    }

    /// Returns a value as a register tensor.
    pub(crate) fn want_register(&mut self, at: ExprId, value: Value) -> Lower<Tensor> {
        match value {
            Value::Lazy(lazy) => Ok(self.materialize(at, lazy, None)),
            Value::Tensor(t) if t.is_register() => Ok(t),
            Value::Tensor(t) => {
                let message = format!("found a {} tensor, expected a register one", t.space());
                let error = self
                    .error(&codes::WRONG_MEMORY, at, message)
                    .help("`load(…)` moves a tile into registers");
                Err(self.report(error))
            }
            other => {
                self.fail(&codes::TYPE_MISMATCH, at, format!("expected a tensor, found {}", other.what()))
            }
        }
    }

    /// Lowers `split(t, n, axis: k)`: new register tensors, or views of a shared tensor.
    pub(crate) fn split(&mut self, call: &BuiltinCall<'_, '_>) -> Lower<Value> {
        let [at, count_at] = self.first(call)?;
        let Some(axis_at) = call.slot(2) else { return self.not_compiled(call) };
        let tensor = self.tensor(at)?;
        if tensor.is_global() {
            let error = self
                .error(
                    &codes::WRONG_MEMORY,
                    at,
                    "found a global tensor, expected a register or shared one for `split`",
                )
                .help("`tile(t, shape)` cuts a global tensor");
            return Err(self.report(error));
        }
        self.want_flat(at, &tensor)?;
        let count = self.const_int(count_at, "the number of parts")?;
        let axis = self.axis(axis_at, tensor.shape().len())?;
        let extent = tensor.shape()[axis].as_const().unwrap_or_default();
        if !(1..=MOST_PARTS).contains(&count) || extent % count != 0 {
            let message = format!(
                "expected a divisor of it from 1 to {MOST_PARTS}, found {count} parts of the extent {extent}"
            );
            return self.fail(&codes::SHAPE_MISMATCH, count_at, message);
        }
        let mut parts = Vec::new();
        for i in 0..count {
            let mut view = tensor.view.clone();
            let mode = &mut view.modes[axis];
            mode.extent = Expr::constant(extent / count);
            let (dim, step) = (mode.dim, mode.factor.scale(i * extent / count));
            view.offsets[dim] = (view.offsets[dim].clone() + step).simplify(&self.facts);
            let part = tensor.with_view(view);
            let part = match part.is_register() {
                true if count == 1 => self.copy_of(&part, call.hint, at)?,
                true => self.settled(at, &part, None)?.1,
                false => part,
            };
            parts.push(Value::Tensor(part));
        }
        Ok(Value::Tuple(parts.into()))
    }
}
