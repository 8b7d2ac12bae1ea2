//! Functions of elements, `where`, and reductions along an axis.

use hx_base::codes;
use hx_dtype::{DType, Operator};
use hx_hir::{
    ArithOp, BinaryOp, Builtin, Expr as HirExpr, ExprId, KernelFn, LogicOp, Pat, PatId, Resolution,
};
use hx_index::Cond;
use hx_tile::{OpKind, Scalar};

use crate::carried::carrier;
use crate::elementwise::{Operand, is_elementwise};
use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::{Tensor, Value};

impl Lowering<'_> {
    /// Applies a function of one number to each element of a tensor, or to a number.
    pub(crate) fn math(&mut self, id: ExprId, operator: Operator, x: ExprId) -> Lower<Value> {
        match self.eval(x)? {
            Value::Int(value) if operator.is_of_words() => Ok(match value.as_const() {
                Some(x) => {
                    Value::Int(hx_index::Expr::constant(operator.eval(DType::I64, &[x as u64]) as i64))
                }
                None => {
                    let number = Scalar::Integer { value, dtype: DType::I64 };
                    Value::Scalar(Scalar::apply(operator, DType::I64, [number]))
                }
            }),
            Value::Float(value) if operator == Operator::IsNan => {
                Ok(Value::Bool(if value.is_nan() { Cond::True } else { Cond::False }))
            }
            Value::Int(value) if operator == Operator::Abs => {
                let zero = hx_index::Expr::default();
                Ok(Value::Int(value.maximum(&(zero - value.clone()), &self.facts)))
            }
            Value::Int(value) if operator == Operator::Sign => {
                let (least, most) = (hx_index::Expr::constant(-1), hx_index::Expr::constant(1));
                Ok(Value::Int(value.maximum(&least, &self.facts).minimum(&most, &self.facts)))
            }
            Value::Int(value) => match value.as_const() {
                Some(value) => Ok(Value::Float(constant(operator, value as f64))),
                None => {
                    let message =
                        format!("expected a float for `{}`, found a run-time integer", operator.name());
                    let error = self
                        .error(&codes::TYPE_MISMATCH, x, message)
                        .help("`cast(…, f32)` converts a number");
                    let _ = id;
                    Err(self.report(error))
                }
            },
            Value::Float(value) => Ok(Value::Float(constant(operator, value))),
            value if is_elementwise(&value) => self.apply(id, operator, vec![(x, value)]),
            other => {
                let message = format!("expected a tensor or a number, found {}", other.what());
                self.fail(&codes::TYPE_MISMATCH, x, message)
            }
        }
    }

    /// Applies a function of several operands, at least one of which is not a literal.
    pub(crate) fn elementwise_call(
        &mut self,
        id: ExprId,
        operator: Operator,
        args: &[ExprId],
    ) -> Lower<Value> {
        let operands = self.operand_list(args)?;
        self.apply(id, operator, operands)
    }

    /// Lowers `where(condition, x, y)`.
    pub(crate) fn select(&mut self, id: ExprId, c: ExprId, x: ExprId, y: ExprId) -> Lower<Value> {
        let cond = self.eval(c)?;
        match cond {
            Value::Bool(Cond::True) => return self.eval(x),
            Value::Bool(Cond::False) => return self.eval(y),
            _ => {}
        }
        let mark = self.mark();
        let mut operands = self.operand_list(&[x, y])?;
        self.unwritten(c, &cond, mark)?;
        if let Ok(literals) = <[Operand; 2]>::try_from(operands.clone())
            && let Some(choice) = self.choice(&(c, cond.clone()), &literals)?
        {
            return Ok(choice);
        }
        operands.insert(0, (c, cond));
        self.apply(id, Operator::Select, operands)
    }

    /// Evaluates several operands and checks that no later operand changes the value of an earlier one.
    pub(crate) fn operand_list(&mut self, args: &[ExprId]) -> Lower<Vec<Operand>> {
        let mut found = Vec::with_capacity(args.len());
        for &arg in args {
            let value = self.eval(arg)?;
            found.push((arg, value, self.mark()));
        }
        for (at, value, mark) in &found {
            self.unwritten(*at, value, *mark)?;
        }
        Ok(found.into_iter().map(|(at, value, _)| (at, value)).collect())
    }

    /// Lowers `sum(t, axis: 1)` and the other reductions by a built-in operator.
    pub(crate) fn reduce(
        &mut self,
        id: ExprId,
        operator: Operator,
        t: ExprId,
        axis: ExprId,
        hint: Option<&str>,
    ) -> Lower<Value> {
        let tensor = if operator == Operator::Add { self.counted(t) } else { self.tensor(t) }?;
        self.want_reducible(id, operator, t, &tensor)?;
        let axis = self.axis(axis, tensor.shape().len())?;
        self.reduce_along(id, operator, (t, &tensor), axis, hint).map(Value::Tensor)
    }

    /// Returns a tensor to sum up. Truth values in registers, and choices between whole literals, are counted as `i32`.
    fn counted(&mut self, t: ExprId) -> Lower<Tensor> {
        let value = self.eval(t)?;
        let counts = match &value {
            Value::Choice(choice) => !choice.is_float(),
            Value::Tensor(tensor) => tensor.is_register() && tensor.dtype == DType::Bool,
            Value::Lazy(lazy) => lazy.value.dtype() == DType::Bool,
            _ => false,
        };
        let value = if counts { self.converted(t, (t, value), DType::I32, None)? } else { value };
        self.as_tensor(t, value)
    }

    /// Lowers `any(t)` and `all(t)`: along an axis, or over all axes to a truth value of the block.
    pub(crate) fn truths(
        &mut self,
        id: ExprId,
        operator: Operator,
        t: ExprId,
        axis: Option<ExprId>,
        hint: Option<&str>,
    ) -> Lower<Value> {
        let mut tensor = self.tensor(t)?;
        if tensor.dtype != DType::Bool {
            let message = format!("expected truth values, found elements of type `{}`", tensor.dtype);
            let error = self.error(&codes::TYPE_MISMATCH, t, message).help("compare them, as in `x != 0.0`");
            return Err(self.report(error));
        }
        self.want_reducible(id, operator, t, &tensor)?;
        if let Some(axis) = axis {
            let axis = self.axis(axis, tensor.shape().len())?;
            return self.reduce_along(id, operator, (t, &tensor), axis, hint).map(Value::Tensor);
        }
        let shape = tensor.shape();
        for (axis, _) in shape.iter().enumerate().filter(|(_, extent)| extent.as_const() != Some(1)) {
            tensor = self.reduce_along(id, operator, (t, &tensor), axis, None)?;
        }
        self.only_element(id, t, &tensor)
    }

    /// Refuses tensors in memory, and element types that the operator does not combine.
    fn want_reducible(&mut self, id: ExprId, operator: Operator, t: ExprId, tensor: &Tensor) -> Lower<()> {
        if !tensor.is_register() {
            let message =
                format!("found a {} tensor, expected a register one for a reduction", tensor.space());
            let error =
                self.error(&codes::WRONG_MEMORY, t, message).help("`load(…)` moves a tile into registers");
            return Err(self.report(error));
        }
        let on_bits = matches!(operator, Operator::And | Operator::Or | Operator::Xor);
        let is_scale = tensor.dtype.is_scale();
        let fits = if on_bits { !tensor.dtype.is_float() } else { tensor.dtype != DType::Bool && !is_scale };
        if fits {
            return Ok(());
        }
        let message = format!("`{}` does not reduce elements of type `{}`", operator.name(), tensor.dtype);
        let error = self.error(&codes::NO_SUCH_OPERATION, id, message);
        let help = "`cast(…, f32)` converts element by element";
        Err(self.report(if is_scale { error.help(help) } else { error }))
    }

    /// Combines the elements of a register tensor along an axis, whose extent becomes 1.
    fn reduce_along(
        &mut self,
        id: ExprId,
        operator: Operator,
        (t, tensor): (ExprId, &Tensor),
        axis: usize,
        hint: Option<&str>,
    ) -> Lower<Tensor> {
        let whole = self.register_of(tensor).and_then(|(src, shape)| {
            let order = tensor.view.as_permutation(&shape)?;
            Some((src, shape, order))
        });
        let (src, shape, order) = match whole {
            Some(whole) => whole,
            None => {
                let (part, _) = self.settled(t, tensor, None)?;
                let shape = self.output.tensor(part).shape.clone();
                let order = (0..shape.len()).collect();
                (part, shape, order)
            }
        };
        let axis = order[axis];
        let mut reduced = shape;
        reduced[axis] = 1;
        let (hint, wide) = (hint.unwrap_or("reduced"), carrier(tensor.dtype));
        let src = self.widened_elements(src, id);
        let own = if wide == tensor.dtype { hint } else { "reduced" };
        let (dst, result) = self.new_register(own, wide, reduced, id);
        self.emit(OpKind::Reduce { dst, src, axis, operator }, id);
        let (_, result) = self.narrowed_elements((dst, result), tensor.dtype, hint, id);
        Ok(crate::stmt::permuted(&result, &order))
    }

    /// Returns the built-in operator that a closure of two parameters denotes, if it denotes one.
    pub(crate) fn closure_operator(&mut self, op: ExprId) -> Lower<Option<Operator>> {
        let store = self.store();
        let HirExpr::Closure { params, body } = &store[op] else {
            return self.fail(&codes::TYPE_MISMATCH, op, "expected an operator, as in `|a, b| a + b`");
        };
        let [a, b] = params[..] else {
            return self.fail(
                &codes::TYPE_MISMATCH,
                op,
                "expected an operator of two operands, as in `|a, b| a + b`",
            );
        };
        let body = match &store[*body] {
            HirExpr::Block(block) if block.stmts.is_empty() => block.tail.unwrap_or(*body),
            _ => *body,
        };
        Ok(match &store[body] {
            HirExpr::Binary { op, lhs, rhs } if self.are_params([a, b], [*lhs, *rhs]) => match op {
                BinaryOp::Arith(ArithOp::Add) => Some(Operator::Add),
                BinaryOp::Arith(ArithOp::Mul) => Some(Operator::Mul),
                BinaryOp::Logic(LogicOp::And) | BinaryOp::Arith(ArithOp::BitAnd) => Some(Operator::And),
                BinaryOp::Logic(LogicOp::Or) | BinaryOp::Arith(ArithOp::BitOr) => Some(Operator::Or),
                BinaryOp::Arith(ArithOp::BitXor) => Some(Operator::Xor),
                _ => None,
            },
            HirExpr::Call { callee, args } => match (self.frame().names.exprs.get(*callee), &args[..]) {
                (Some(Resolution::Builtin(f)), [x, y]) if self.are_params([a, b], [x.value, y.value]) => {
                    extreme(*f)
                }
                _ => None,
            },
            _ => None,
        })
    }

    /// Reports whether the two expressions are the two parameters, in either order.
    fn are_params(&self, [a, b]: [PatId; 2], exprs: [ExprId; 2]) -> bool {
        let is = |expr: ExprId, pat: PatId| {
            matches!(self.store()[pat], Pat::Bind(_))
                && self.frame().names.exprs.get(expr) == Some(&Resolution::Local(pat))
        };
        (is(exprs[0], a) && is(exprs[1], b)) || (is(exprs[0], b) && is(exprs[1], a))
    }
}

/// Returns the operator of `min` or `max`; `None` for another function.
fn extreme(function: Builtin) -> Option<Operator> {
    let extremes = [(KernelFn::Min, Operator::Min), (KernelFn::Max, Operator::Max)];
    extremes.into_iter().find(|(f, _)| function == Builtin::Kernel(*f)).map(|(_, operator)| operator)
}

fn constant(operator: Operator, x: f64) -> f64 {
    DType::F64.decode(operator.eval(DType::F64, &[DType::F64.encode(x)]))
}
