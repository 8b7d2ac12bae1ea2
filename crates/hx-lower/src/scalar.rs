//! Numbers, truth values and names: the expressions that need no tensor.

use hx_base::codes;
use hx_dtype::{DType, Operator};
use hx_hir::{
    ArithOp, BinaryOp, Block, Builtin, BuiltinValue, CmpOp, Expr as HirExpr, ExprId, ItemKey, LayoutFn,
    Literal, LogicOp, Path, Resolution, UnaryOp, bit_op,
};
use hx_index::{CmpOp as IndexCmp, Cond, Expr, Symbol};
use hx_tile::Scalar;

use crate::bit_operator::{self, of_conditions};
use crate::elementwise::{Operand, comparison, dtype_of, is_elementwise};
use crate::error::{Lower, Reported};
use crate::lowering::Lowering;
use crate::value::{ExprTuple, SymLayout, Value};
use crate::whole::Whole;

impl<'db> Lowering<'db> {
    /// Evaluates an expression.
    pub(crate) fn eval(&mut self, id: ExprId) -> Lower<Value> {
        self.eval_named(id, None)
    }

    /// Evaluates an expression whose value a `let` binds to the name `hint`.
    pub(crate) fn eval_named(&mut self, id: ExprId, hint: Option<&str>) -> Lower<Value> {
        self.step(id)?;
        let store = self.store();
        let flow = matches!(store[id], HirExpr::Block(_) | HirExpr::If { .. });
        // While an expression is open, its earlier operands are already evaluated, so nothing inside may assign. Blocks and
        // branches have no operands.
        self.frame_mut().operands += usize::from(!flow);
        let value = self.eval_inner(id, hint);
        self.frame_mut().operands -= usize::from(!flow);
        match value? {
            Value::Error => Err(Reported(())),
            value => self.bounded(id, value),
        }
    }

    fn eval_inner(&mut self, id: ExprId, hint: Option<&str>) -> Lower<Value> {
        let store = self.store();
        Ok(match &store[id] {
            HirExpr::Missing => return self.meaningless(id),
            HirExpr::Literal(literal) => self.literal(id, literal)?,
            HirExpr::Path { path, .. } => self.path(id, path)?,
            HirExpr::Unary { op, operand } => self.unary(id, *op, *operand)?,
            HirExpr::Binary { op, lhs, rhs } => self.binary(id, *op, *lhs, *rhs)?,
            HirExpr::Call { callee, args } => self.call(id, *callee, args, hint)?,
            HirExpr::MethodCall { receiver, name, args } => {
                self.method_call(id, *receiver, name, args, hint)?
            }
            HirExpr::Field { base, name } => self.field(id, *base, name)?,
            HirExpr::Index { base, args } => self.index(id, *base, args)?,
            HirExpr::Guarded { read, otherwise } => self.guarded(id, *read, *otherwise)?,
            HirExpr::Tuple(fields) => {
                // The labels of a layout's modes are for readers and have no effect.
                Value::Tuple(fields.iter().map(|f| self.eval(f.value)).collect::<Lower<_>>()?)
            }
            HirExpr::Array(parts) => Value::Array(parts.iter().map(|p| self.eval(*p)).collect::<Lower<_>>()?),
            HirExpr::Layout { shape, stride } => self.layout(id, *shape, *stride)?,
            HirExpr::Range { start, end } => {
                let start = start.map(|e| self.bound(e)).transpose()?;
                Value::Range { start, end: end.map(|e| self.bound(e)).transpose()? }
            }
            HirExpr::New => Value::New,
            HirExpr::Wildcard => return self.fail(&codes::TYPE_MISMATCH, id, "expected a value, found `_`"),
            HirExpr::Closure { .. } => {
                let message =
                    "found a closure, expected a value: it can be the operator of `scan` or `reduce`";
                return self.fail(&codes::TYPE_MISMATCH, id, message);
            }
            HirExpr::If { condition, then, otherwise } => {
                self.if_expr(id, *condition, *then, *otherwise, hint)?
            }
            HirExpr::Block(block) => self.block(block, hint)?,
        })
    }

    /// Runs the statements of a block and returns the value of its tail.
    pub(crate) fn block(&mut self, block: &'db Block, hint: Option<&str>) -> Lower<Value> {
        for &stmt in &block.stmts {
            // A failing statement does not stop the next one, so that one run finds as many errors as possible.
            if self.stmt(stmt).is_err() {
                self.diagnostics.fail();
            }
        }
        match block.tail {
            Some(tail) => self.eval_named(tail, hint),
            None => Ok(Value::Unit),
        }
    }

    fn literal(&mut self, id: ExprId, literal: &Literal) -> Lower<Value> {
        Ok(match literal {
            Literal::Int(x) => match (i64::try_from(*x), u64::try_from(*x)) {
                (Ok(x), _) => Value::Int(Expr::constant(x)),
                // Integer expressions compute in `i64`. A larger number is one of the only type that holds it.
                (_, Ok(bits)) => Value::Scalar(Scalar::Const { bits, dtype: DType::U64 }),
                _ => {
                    return self.fail(
                        &codes::LITERAL_OUT_OF_RANGE,
                        id,
                        format!("`{x}` does not fit 64 bits"),
                    );
                }
            },
            Literal::Float(x) => Value::Float(x.value()),
            Literal::String(s) => Value::Str(s.clone()),
            Literal::Bool(x) => Value::Bool(if *x { Cond::True } else { Cond::False }),
            Literal::Inf => Value::Float(f64::INFINITY),
        })
    }

    fn path(&mut self, id: ExprId, path: &Path) -> Lower<Value> {
        let frame = self.frame();
        let Some(resolution) = frame.names.exprs.get(id) else { return self.meaningless(id) };
        Ok(match resolution {
            Resolution::Local(pat) => {
                let value = frame.locals.get(pat).map_or(Value::Error, |(v, _)| v.clone());
                self.expect_held(id, &value)?;
                value
            }
            Resolution::Param(i) => frame.params.get(*i as usize).cloned().unwrap_or(Value::Error),
            Resolution::Generic(i) => frame.generics.get(*i as usize).cloned().unwrap_or(Value::Error),
            Resolution::Dim(name) => frame.dims.get(name).cloned().map_or(Value::Error, Value::Int),
            Resolution::Result => frame.result.clone().unwrap_or(Value::Error),
            Resolution::DType(dtype) => Value::DType(*dtype),
            Resolution::Item(key) => return self.item_value(id, &key.clone()),
            // The order is inferred from the program of a row-major tensor.
            Resolution::Builtin(Builtin::Value(BuiltinValue::Auto | BuiltinValue::Infer)) => Value::Auto,
            Resolution::Builtin(Builtin::Value(BuiltinValue::Nan)) => Value::Float(f64::NAN),
            Resolution::Builtin(Builtin::Value(BuiltinValue::BlockIdx)) => {
                let axis = |i: usize| Expr::symbol(Symbol::BlockIdx(i as u8));
                let axes = (0..self.grid.axes().len()).map(axis).collect();
                return self.along_grid(id, "block_idx", axes);
            }
            Resolution::Builtin(Builtin::Value(BuiltinValue::GridDim)) => {
                let axes = (0..self.grid.axes().len()).map(|axis| self.grid_dim(axis)).collect();
                return self.along_grid(id, "grid_dim", axes);
            }
            Resolution::Builtin(Builtin::Value(BuiltinValue::Multiprocessors)) => {
                self.output.read_multiprocessors();
                Value::Int(Expr::symbol(Symbol::Multiprocessors))
            }
            Resolution::Builtin(Builtin::Layout(LayoutFn::Swizzle)) => return self.swizzle(id),
            Resolution::Builtin(b) => {
                let message = format!("found the function `{}`, expected a value: call it", b.name());
                return self.fail(&codes::WRONG_KIND, id, message);
            }
            Resolution::Module(_) | Resolution::Kind(_) | Resolution::Binding(_) => {
                return self.fail(&codes::WRONG_KIND, id, format!("`{path}` is not a value"));
            }
        })
    }

    /// Returns an integer for a grid of one axis, otherwise an array with one integer for each axis.
    fn along_grid(&mut self, id: ExprId, name: &str, axes: Vec<Expr>) -> Lower<Value> {
        match <[Expr; 1]>::try_from(axes) {
            Ok([axis]) => Ok(Value::Int(axis)),
            Err(axes) if axes.is_empty() => {
                let message =
                    format!("`{name}` has no value in the header: the `grid` defines it for the body");
                self.fail(&codes::BAD_HEADER, id, message)
            }
            Err(axes) => Ok(Value::Array(axes.into_iter().map(Value::Int).collect())),
        }
    }

    /// Returns the number of blocks along an axis: the number in the header, or a symbol that the launch binds. The symbol
    /// also bounds the index of the block.
    fn grid_dim(&mut self, axis: usize) -> Expr {
        let blocks = self.grid.axes()[axis].clone();
        if blocks.as_const().is_some() {
            return blocks;
        }
        let symbol = Symbol::GridDim(axis as u8);
        let count = Expr::symbol(symbol.clone());
        let index = Expr::symbol(Symbol::BlockIdx(axis as u8));
        self.facts.at_most(symbol, blocks);
        self.facts.ordered(&index, &(count.clone() - Expr::constant(1)));
        count
    }

    fn item_value(&mut self, id: ExprId, key: &ItemKey) -> Lower<Value> {
        if key.kind == hx_hir::ItemKind::Function {
            return Ok(Value::Function(key.clone()));
        }
        if key.kind != hx_hir::ItemKind::Const {
            let message = format!("expected a value, found the {} `{}`", key.kind.word(), key.name);
            return self.fail(&codes::WRONG_KIND, id, message);
        }
        self.const_value(id, key)
    }

    fn unary(&mut self, id: ExprId, op: UnaryOp, operand: ExprId) -> Lower<Value> {
        if op == UnaryOp::Neg
            && matches!(&self.store()[operand], HirExpr::Literal(Literal::Int(x)) if *x == -i128::from(i64::MIN))
        {
            return Ok(Value::Scalar(Scalar::Const { bits: i64::MIN as u64, dtype: DType::I64 }));
        }
        let value = self.eval(operand)?;
        Ok(match (op, value) {
            (UnaryOp::Neg, Value::Int(x)) => Value::Int(-x),
            (UnaryOp::Neg, Value::Float(x)) => Value::Float(-x),
            (UnaryOp::Not, Value::Bool(x)) => Value::Bool(x.negate()),
            (UnaryOp::BitNot, value) => self.bit_not(id, operand, value)?,
            (op, value) if is_elementwise(&value) => {
                let operator = if op == UnaryOp::Neg { Operator::Neg } else { Operator::Not };
                self.apply(id, operator, vec![(operand, value)])?
            }
            (op, value) => {
                let sign = if op == UnaryOp::Neg { "-" } else { "!" };
                let message = format!("found {} after `{sign}`", value.what());
                return self.fail(&codes::NO_SUCH_OPERATION, id, message);
            }
        })
    }

    fn binary(&mut self, id: ExprId, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> Lower<Value> {
        if let BinaryOp::Logic(logic) = op {
            return self.logic(id, logic, lhs, rhs);
        }
        self.with_operands(id, op, lhs, rhs).map(|(value, _)| value)
    }

    /// Evaluates `lhs op rhs` and returns the operands with it. The operator is not `&&` or `||`.
    pub(crate) fn with_operands(
        &mut self,
        id: ExprId,
        op: BinaryOp,
        lhs: ExprId,
        rhs: ExprId,
    ) -> Lower<(Value, [Operand; 2])> {
        let a = self.eval(lhs);
        let mark = self.mark();
        let b = self.eval(rhs);
        let operands = [(lhs, a?), (rhs, b?)];
        let [a, b] = operands.clone();
        let value = if is_elementwise(&a.1) || is_elementwise(&b.1) {
            self.unwritten(lhs, &a.1, mark)?;
            self.elementwise(id, op, a, b)?
        } else {
            self.plain(id, op, a, b)?
        };
        Ok((value, operands))
    }

    /// Evaluates `a op b` on numbers.
    pub(crate) fn arithmetic(&mut self, id: ExprId, op: ArithOp, a: Operand, b: Operand) -> Lower<Value> {
        let op = BinaryOp::Arith(op);
        if is_elementwise(&a.1) || is_elementwise(&b.1) {
            return self.elementwise(id, op, a, b);
        }
        self.plain(id, op, a, b)
    }

    /// Applies an operator to compile-time values and integers.
    fn plain(&mut self, id: ExprId, op: BinaryOp, (_, a): Operand, (rhs, b): Operand) -> Lower<Value> {
        match (op, &a, &b) {
            (BinaryOp::Compose, Value::Swizzle(swizzle), Value::Layout(layout))
                if layout.swizzle.is_identity() =>
            {
                Ok(Value::Layout(SymLayout { swizzle: *swizzle, ..layout.clone() }))
            }
            (BinaryOp::Compose, Value::Layout(_) | Value::Swizzle(_), Value::Layout(_)) => {
                self.compose(id, &a, &b)
            }
            (BinaryOp::Compose, ..) => self.no_operation(id, "∘", &a, &b),
            (BinaryOp::Arith(op), Value::Int(a), Value::Int(b)) => match bit_op(op) {
                Some(op) => self.int_bits(id, op, a, b),
                None => self.int_op(id, op, a, b, rhs).map(Value::Int),
            },
            (BinaryOp::Arith(op), Value::Bool(x), Value::Bool(y)) => match of_conditions(op, x, y) {
                Some(cond) => Ok(Value::Bool(cond)),
                None => self.no_operation(id, op.text(), &a, &b),
            },
            (BinaryOp::Arith(op), _, _) => match (as_float(&a), as_float(&b)) {
                (Some(x), Some(y)) if op != ArithOp::MatMul && bit_op(op).is_none() => {
                    Ok(Value::Float(float_op(op, x, y)))
                }
                _ => self.no_operation(id, op.text(), &a, &b),
            },
            (BinaryOp::Cmp(op), Value::Int(a), Value::Int(b)) => Ok(Value::Bool(self.compare(op, a, b))),
            (BinaryOp::Cmp(cmp @ (CmpOp::Eq | CmpOp::Ne)), Value::DType(x), Value::DType(y)) => {
                Ok(Value::Bool(truth((x == y) == (cmp == CmpOp::Eq))))
            }
            (BinaryOp::Cmp(cmp @ (CmpOp::Eq | CmpOp::Ne)), Value::Function(x), Value::Function(y)) => {
                Ok(Value::Bool(truth((x == y) == (cmp == CmpOp::Eq))))
            }
            (BinaryOp::Cmp(cmp), _, _) => match (as_float(&a), as_float(&b)) {
                (Some(x), Some(y)) => Ok(Value::Bool(truth(float_cmp(cmp, x, y)))),
                _ => self.no_operation(id, cmp.text(), &a, &b),
            },
            (BinaryOp::Logic(_), ..) => self.no_operation(id, op.text(), &a, &b),
        }
    }

    fn no_operation<T>(&mut self, id: ExprId, op: &str, a: &Value, b: &Value) -> Lower<T> {
        let message = format!("found {} `{op}` {}, which has no meaning", a.what(), b.what());
        self.fail(&codes::NO_SUCH_OPERATION, id, message)
    }

    /// Applies an operator to operands, at least one of which is a tensor or a run-time number.
    pub(crate) fn elementwise(&mut self, id: ExprId, op: BinaryOp, a: Operand, b: Operand) -> Lower<Value> {
        let operator = match op {
            BinaryOp::Arith(ArithOp::Add) => Operator::Add,
            BinaryOp::Arith(ArithOp::Sub) => Operator::Sub,
            BinaryOp::Arith(ArithOp::Mul) => Operator::Mul,
            BinaryOp::Arith(ArithOp::Div) => Operator::Div,
            BinaryOp::Arith(ArithOp::Rem) => Operator::Rem,
            BinaryOp::Cmp(op) => {
                let (operator, swapped) = comparison(op);
                return self.apply(id, operator, if swapped { vec![b, a] } else { vec![a, b] });
            }
            BinaryOp::Logic(logic) => {
                self.want_truth(id, logic, [&a.1, &b.1])?;
                if logic == LogicOp::And { Operator::And } else { Operator::Or }
            }
            BinaryOp::Arith(arith) => match bit_op(arith) {
                Some(op) => bit_operator::elementwise(op),
                None => return self.no_operation(id, op.text(), &a.1, &b.1),
            },
            BinaryOp::Compose => return self.no_operation(id, op.text(), &a.1, &b.1),
        };
        self.apply(id, operator, vec![a, b])
    }

    /// Refuses operands of `&&` and `||` that are no truth values: bits are combined by `&` and `|`.
    fn want_truth(&mut self, id: ExprId, op: LogicOp, operands: [&Value; 2]) -> Lower<()> {
        let dtype = operands.into_iter().filter_map(dtype_of).find(|dtype| *dtype != DType::Bool);
        let Some(dtype) = dtype else { return Ok(()) };
        let (text, bits) = (BinaryOp::Logic(op).text(), if op == LogicOp::And { "&" } else { "|" });
        let message = format!("found elements of type `{dtype}`, for which `{text}` has no meaning");
        let error = self.error(&codes::NO_SUCH_OPERATION, id, message);
        let error = match dtype.is_int() {
            true => error.help(format!("`{bits}` combines the bits of integers")),
            false => error,
        };
        Err(self.report(error))
    }

    fn logic(&mut self, id: ExprId, op: LogicOp, lhs: ExprId, rhs: ExprId) -> Lower<Value> {
        let a = self.eval(lhs)?;
        let mark = self.mark();
        // The right side is evaluated only if the left side does not decide the result.
        match (op, &a) {
            (LogicOp::And, Value::Bool(Cond::False)) | (LogicOp::Or, Value::Bool(Cond::True)) => {
                return Ok(a);
            }
            _ => {}
        }
        let b = self.eval(rhs)?;
        match (a, b) {
            (Value::Bool(a), Value::Bool(b)) => {
                Ok(Value::Bool(if op == LogicOp::And { a.and(b) } else { a.or(b) }))
            }
            (a, b) if is_elementwise(&a) || is_elementwise(&b) => {
                self.unwritten(lhs, &a, mark)?;
                self.elementwise(id, BinaryOp::Logic(op), (lhs, a), (rhs, b))
            }
            (a, b) => self.no_operation(id, BinaryOp::Logic(op).text(), &a, &b),
        }
    }

    pub(crate) fn compare(&self, op: CmpOp, a: &Expr, b: &Expr) -> Cond {
        let (a, b) = (a.clone(), b.clone());
        match op {
            CmpOp::Eq => Cond::cmp(IndexCmp::Eq, a, b, &self.facts),
            CmpOp::Ne => Cond::cmp(IndexCmp::Ne, a, b, &self.facts),
            CmpOp::Lt => Cond::cmp(IndexCmp::Lt, a, b, &self.facts),
            CmpOp::Le => Cond::cmp(IndexCmp::Le, a, b, &self.facts),
            CmpOp::Gt => Cond::cmp(IndexCmp::Lt, b, a, &self.facts),
            CmpOp::Ge => Cond::cmp(IndexCmp::Le, b, a, &self.facts),
        }
    }

    fn int_op(&mut self, id: ExprId, op: ArithOp, a: &Expr, b: &Expr, rhs: ExprId) -> Lower<Expr> {
        if let (Some(x), Some(y)) = (a.as_const(), b.as_const()) {
            return match checked(op, x, y) {
                Some(value) => Ok(Expr::constant(value)),
                None if y == 0 => self.fail(
                    &codes::CONSTANT_ERROR,
                    rhs,
                    format!("`{x} {} 0` is a division by zero", op.text()),
                ),
                None => self.fail(
                    &codes::CONSTANT_ERROR,
                    id,
                    format!("`{x} {} {y}` overflows 64 bits", op.text()),
                ),
            };
        }
        self.short(id, a, b)?;
        Ok(match op {
            ArithOp::Add => (a.clone() + b.clone()).simplify(&self.facts),
            ArithOp::Sub => (a.clone() - b.clone()).simplify(&self.facts),
            ArithOp::Mul => (a * b).simplify(&self.facts),
            ArithOp::Div | ArithOp::Rem if b.is_zero() => {
                return self.fail(&codes::CONSTANT_ERROR, rhs, "division by zero");
            }
            ArithOp::Div => a.div(b, &self.facts),
            ArithOp::Rem => a.rem(b, &self.facts),
            other => {
                let message = format!("found `{}` between integers", other.text());
                return self.fail(&codes::NO_SUCH_OPERATION, id, message);
            }
        })
    }

    /// Evaluates `swizzle<bits, base, shift>`.
    fn swizzle(&mut self, id: ExprId) -> Lower<Value> {
        let store = self.store();
        let HirExpr::Path { generics, .. } = &store[id] else { return Ok(Value::Error) };
        let mut numbers = Vec::with_capacity(3);
        for generic in generics {
            numbers.push(self.const_int(generic.value, "a number of a swizzle")?);
        }
        let &[bits, base, shift] = numbers.as_slice() else {
            let message = format!("found {} numbers, expected `swizzle<bits, base, shift>`", numbers.len());
            return self.fail(&codes::WRONG_ARGUMENT_COUNT, id, message);
        };
        let small = |x: i64| u32::try_from(x).ok();
        let made = small(bits).zip(small(base)).zip(i32::try_from(shift).ok());
        let made = made.and_then(|((bits, base), shift)| hx_layout::Swizzle::new(bits, base, shift).ok());
        match made {
            Some(swizzle) => Ok(Value::Swizzle(swizzle)),
            None => {
                let message = format!(
                    "`swizzle<{bits}, {base}, {shift}>` is none: the shift is at least the number of bits"
                );
                self.fail(&codes::LAYOUT_ALGEBRA, id, message)
            }
        }
    }

    fn layout(&mut self, id: ExprId, shape: ExprId, stride: ExprId) -> Lower<Value> {
        let (shape, stride) = (self.expr_tuple(shape)?, self.expr_tuple(stride)?);
        if !shape.congruent(&stride) {
            let message = "the shape and the stride of a layout nest differently";
            let error = self.error(&codes::LAYOUT_ALGEBRA, id, message.to_owned()).help(
                "write one integer as the stride of each integer of the shape; for values with several coordinates, write one layout for each coordinate",
            );
            return Err(self.report(error));
        }
        Ok(Value::Layout(SymLayout { shape, stride, swizzle: hx_layout::Swizzle::identity() }))
    }

    fn expr_tuple(&mut self, id: ExprId) -> Lower<ExprTuple> {
        let value = self.eval(id)?;
        self.value_tuple(id, value)
    }

    fn value_tuple(&mut self, id: ExprId, value: Value) -> Lower<ExprTuple> {
        match value.widened() {
            Value::Int(x) => Ok(ExprTuple::Leaf(x)),
            Value::Tuple(parts) => {
                let parts = parts.iter().map(|p| self.value_tuple(id, p.clone()));
                Ok(ExprTuple::Tuple(parts.collect::<Lower<_>>()?))
            }
            other => {
                let message = format!("expected integers for a layout, found {}", other.what());
                self.fail(&codes::TYPE_MISMATCH, id, message)
            }
        }
    }

    /// Evaluates an expression that must be an integer.
    pub(crate) fn int(&mut self, id: ExprId) -> Lower<Expr> {
        let value = self.eval(id)?;
        match self.as_integer(id, value)? {
            Value::Int(x) => Ok(x),
            other => {
                self.fail(&codes::TYPE_MISMATCH, id, format!("expected an integer, found {}", other.what()))
            }
        }
    }

    /// Evaluates the bound of a range, a 64-bit integer. A sum in a bound does not wrap, and its constants need not fit the
    /// type of the other operands.
    fn bound(&mut self, id: ExprId) -> Lower<Expr> {
        Ok(self.sum(id)?.value)
    }

    /// Evaluates a sum of whole numbers of one type as an unbounded integer.
    fn sum(&mut self, id: ExprId) -> Lower<Whole> {
        let (op, lhs, rhs) = match &self.store()[id] {
            HirExpr::Binary { op: BinaryOp::Arith(op @ (ArithOp::Add | ArithOp::Sub)), lhs, rhs } => {
                (*op, *lhs, *rhs)
            }
            _ => {
                let value = self.eval(id)?;
                if let Some(whole) = value.whole() {
                    return Ok(whole);
                }
                return match self.as_integer(id, value)? {
                    Value::Int(value) => Ok(Whole { value, dtype: None }),
                    other => {
                        let message = format!("expected an integer, found {}", other.what());
                        self.fail(&codes::TYPE_MISMATCH, id, message)
                    }
                };
            }
        };
        let (a, b) = (self.sum(lhs)?, self.sum(rhs)?);
        if let (Some(first), Some(second)) = (a.dtype, b.dtype)
            && first != second
        {
            return self.mixed_numbers(rhs, second, lhs, first);
        }
        self.short(id, &a.value, &b.value)?;
        let value = match op {
            ArithOp::Sub => a.value - b.value,
            _ => a.value + b.value,
        };
        Ok(Whole { value: value.simplify(&self.facts), dtype: a.dtype.or(b.dtype) })
    }

    /// Evaluates an expression that must be an integer known at compile time.
    pub(crate) fn const_int(&mut self, id: ExprId, what: &str) -> Lower<i64> {
        let value = self.int(id)?;
        match value.as_const() {
            Some(x) => Ok(x),
            None => {
                let message = format!("{what} is `{value}`, which is known only at run time");
                self.fail(&codes::NOT_CONSTANT, id, message)
            }
        }
    }

    /// Evaluates a truth value that must be known at compile time.
    pub(crate) fn const_bool(&mut self, id: ExprId, what: &str) -> Lower<bool> {
        match self.cond(id)? {
            Cond::True => Ok(true),
            Cond::False => Ok(false),
            open => {
                let message = format!("{what} is `{open}`, which is known only at run time");
                self.fail(&codes::NOT_CONSTANT, id, message)
            }
        }
    }

    /// Evaluates an expression that must be a truth value.
    pub(crate) fn cond(&mut self, id: ExprId) -> Lower<Cond> {
        match self.eval(id)? {
            Value::Bool(x) => Ok(x),
            Value::Scalar(scalar) if scalar.dtype() == DType::Bool => Ok(self.decided(scalar)),
            Value::Tensor(_) | Value::Lazy(_) => {
                let error = self
                    .error(
                        &codes::NOT_UNIFORM,
                        id,
                        "expected a condition that is the same for all threads, found a tensor",
                    )
                    .help("choose element by element with `where(condition, x, y)`");
                Err(self.report(error))
            }
            other => self.fail(
                &codes::TYPE_MISMATCH,
                id,
                format!("expected a truth value, found {}", other.what()),
            ),
        }
    }

    /// Evaluates an array or tuple of integers; a single integer counts as an array of one.
    pub(crate) fn ints(&mut self, id: ExprId) -> Lower<Vec<Expr>> {
        let parts = match self.eval(id)? {
            Value::Array(parts) | Value::Tuple(parts) => parts,
            single => [single].into(),
        };
        let mut out = Vec::with_capacity(parts.len());
        for part in parts.iter() {
            match self.as_integer(id, part.clone())? {
                Value::Int(x) => out.push(x),
                other => {
                    let message = format!("expected an integer, found {}", other.what());
                    return self.fail(&codes::TYPE_MISMATCH, id, message);
                }
            }
        }
        Ok(out)
    }

    /// Returns the expression of each integer that [`Lowering::ints`] returns, if `id` is written as an array or tuple; otherwise an
    /// empty list.
    pub(crate) fn element_exprs(&self, id: ExprId) -> Vec<ExprId> {
        match &self.store()[id] {
            HirExpr::Array(parts) => parts.clone(),
            HirExpr::Tuple(fields) => fields.iter().map(|f| f.value).collect(),
            _ => Vec::new(),
        }
    }
}

fn truth(value: bool) -> Cond {
    if value { Cond::True } else { Cond::False }
}

fn checked(op: ArithOp, x: i64, y: i64) -> Option<i64> {
    match op {
        ArithOp::Add => x.checked_add(y),
        ArithOp::Sub => x.checked_sub(y),
        ArithOp::Mul => x.checked_mul(y),
        ArithOp::Div | ArithOp::Rem if y == 0 => None,
        ArithOp::Div => {
            let q = x.checked_div(y)?;
            Some(if x % y != 0 && (x < 0) != (y < 0) { q - 1 } else { q })
        }
        ArithOp::Rem => {
            let r = x.checked_rem(y)?;
            Some(if r != 0 && (r < 0) != (y < 0) { r + y } else { r })
        }
        _ => None,
    }
}

/// Converts a float or a known integer to a float; `None` for other values.
fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(x) => Some(*x),
        Value::Int(x) => x.as_const().map(|x| x as f64),
        _ => None,
    }
}

fn float_op(op: ArithOp, x: f64, y: f64) -> f64 {
    match op {
        ArithOp::Add => x + y,
        ArithOp::Sub => x - y,
        ArithOp::Mul => x * y,
        ArithOp::Div => x / y,
        _ => x - y * (x / y).floor(),
    }
}

fn float_cmp(op: CmpOp, x: f64, y: f64) -> bool {
    match op {
        CmpOp::Eq => x == y,
        CmpOp::Ne => x != y,
        CmpOp::Lt => x < y,
        CmpOp::Le => x <= y,
        CmpOp::Gt => x > y,
        CmpOp::Ge => x >= y,
    }
}
