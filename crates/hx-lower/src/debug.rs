//! `print` and `assert`. Each value that is printed or asserted becomes a register tensor; a number becomes a tensor of one
//! element.

use hx_base::codes;
use hx_dtype::{DType, Operator};
use hx_hir::{Arg, BinaryOp, Expr as HirExpr, ExprId};
use hx_index::{Cond, Expr};
use hx_tile::{OpKind, Scalar, TensorId};

use crate::elementwise::{Operand, condition, dtype_of};
use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::{Lazy, Tensor, Value};

/// The value of a condition, and its two operands if it is a comparison.
type Asserted = (Value, Option<[Operand; 2]>);

impl Lowering<'_> {
    /// Lowers `print("text", x, …)` to one operation for each value. Each operation carries the texts that precede its value.
    pub(crate) fn print(&mut self, id: ExprId, args: &[Arg]) -> Lower<Value> {
        let mut texts: Vec<String> = Vec::new();
        let mut result = Ok(Value::Unit);
        for arg in args {
            let at = arg.value;
            let shown = self.eval(at).and_then(|value| self.shown(at, value));
            match shown {
                Ok(Shown::Text(text)) => texts.push(text),
                Ok(Shown::Tensor(src, uniform)) => {
                    let text = std::mem::take(&mut texts).join(" ");
                    self.emit(OpKind::Print { text, src: Some(src), uniform }, at);
                }
                Err(reported) => result = Err(reported),
            }
        }
        if !texts.is_empty() || args.is_empty() {
            self.emit(OpKind::Print { text: texts.join(" "), src: None, uniform: true }, id);
        }
        result
    }

    fn shown(&mut self, at: ExprId, value: Value) -> Lower<Shown> {
        let int = |value: Expr| Scalar::Integer { value, dtype: DType::I64 };
        let number = match value {
            Value::Str(text) => return Ok(Shown::Text(text.to_string())),
            Value::DType(dtype) => return Ok(Shown::Text(dtype.to_string())),
            Value::Tensor(t) => return self.held(at, &t).map(|id| Shown::Tensor(id, false)),
            Value::Lazy(lazy) => {
                let id = self.named(at, lazy);
                return Ok(Shown::Tensor(id, false));
            }
            Value::Array(parts) | Value::Tuple(parts) if all_ints(&parts).is_some() => {
                let parts = all_ints(&parts).unwrap_or_default();
                let id = self.list(at, &parts);
                return Ok(Shown::Tensor(id, false));
            }
            Value::Int(x) => int(x),
            Value::Float(x) => Scalar::constant(x, DType::F64),
            Value::Scalar(scalar) => scalar,
            Value::Bool(cond) => condition(&cond),
            other => {
                let message = format!("expected something that can be printed, found {}", other.what());
                return self.fail(&codes::TYPE_MISMATCH, at, message);
            }
        };
        let id = self.single(at, number);
        Ok(Shown::Tensor(id, true))
    }

    /// Lowers `assert`. An assertion that is decided at compile time emits nothing; any other is checked when the kernel runs.
    pub(crate) fn assert(&mut self, at: ExprId, message: Option<ExprId>) -> Lower<Value> {
        let message = message.map_or(Ok(String::new()), |message| self.text(message));
        let (asserted, message) = (self.asserted_value(at)?, message?);
        let colon = if message.is_empty() { "" } else { ": " };
        let refusal = format!("the assertion does not hold for this instance{colon}{message}");
        self.claim(at, asserted, message, refusal)
    }

    /// Checks a clause that a function promises of its result, as an assertion.
    pub(crate) fn check_promise(&mut self, at: ExprId) -> Lower<()> {
        let asserted = self.asserted_value(at)?;
        let message = format!("the result of `{}` is not what its `where` promises", self.frame().key.name);
        self.claim(at, asserted, message.clone(), message).map(drop)
    }

    /// Checks a condition where the kernel runs, with `message` if it fails there. `refusal` is the error if the compiler knows that it fails.
    fn claim(
        &mut self,
        at: ExprId,
        (value, sides): Asserted,
        message: String,
        refusal: String,
    ) -> Lower<Value> {
        let holds = match &value {
            Value::Bool(cond) if !self.mentions_variables(cond) => Some(cond.clone()),
            _ => None,
        };
        let (cond, uniform) = match value {
            Value::Bool(Cond::True) => return Ok(Value::Unit),
            Value::Bool(Cond::False) => {
                let mut error = self.error(&codes::CONSTANT_ERROR, at, refusal);
                for (side, (_, value)) in ["left", "right"].into_iter().zip(sides.iter().flatten()) {
                    error.notes.extend(known_text(value).map(|value| format!("{side}: {value}")));
                }
                return Err(self.report(error));
            }
            Value::Bool(cond) => (self.single(at, condition(&cond)), true),
            Value::Scalar(scalar) if scalar.dtype() == DType::Bool => (self.single(at, scalar), true),
            Value::Lazy(lazy) if lazy.value.dtype() == DType::Bool => (self.named(at, lazy), false),
            Value::Tensor(t) if t.dtype == DType::Bool => (self.held(at, &t)?, false),
            Value::Lazy(_) | Value::Tensor(_) => {
                let error = self
                    .error(
                        &codes::TYPE_MISMATCH,
                        at,
                        "expected truth values, found elements that are numbers",
                    )
                    .help("compare them, as in `x != 0.0`");
                return Err(self.report(error));
            }
            other => {
                let message = format!("expected truth values, found {}", other.what());
                return self.fail(&codes::TYPE_MISMATCH, at, message);
            }
        };
        let sides = match sides.filter(|_| uniform) {
            Some([left, right]) => self.compared_numbers(left, right),
            None => Vec::new(),
        };
        self.emit(OpKind::Assert { cond, sides, message, uniform }, at);
        self.asserted.extend(holds);
        Ok(Value::Unit)
    }

    /// Evaluates an asserted condition. Returns the two operands as well if it is a comparison.
    fn asserted_value(&mut self, at: ExprId) -> Lower<Asserted> {
        let HirExpr::Binary { op: op @ BinaryOp::Cmp(_), lhs, rhs } = &self.store()[at] else {
            return Ok((self.eval(at)?, None));
        };
        self.frame_mut().operands += 1;
        let compared = self.with_operands(at, *op, *lhs, *rhs);
        self.frame_mut().operands -= 1;
        compared.map(|(value, operands)| (value, Some(operands)))
    }

    /// Returns the sides of a comparison as tensors of one element; none if a side is no number of the block.
    fn compared_numbers(&mut self, (left_at, left): Operand, (right_at, right): Operand) -> Vec<TensorId> {
        let dtype = [&left, &right].into_iter().find_map(dtype_of).filter(|dtype| dtype.is_float());
        let number = |value: Value| match value {
            Value::Int(value) => Some(Scalar::Integer { value, dtype: DType::I64 }),
            Value::Float(x) => Some(Scalar::constant(x, dtype.unwrap_or(DType::F64))),
            Value::Scalar(scalar) => Some(scalar),
            Value::Bool(cond) => Some(condition(&cond)),
            _ => None,
        };
        let (Some(left), Some(right)) = (number(left), number(right)) else { return Vec::new() };
        [(left_at, left), (right_at, right)].map(|(at, side)| self.single(at, side)).into()
    }

    pub(crate) fn text(&mut self, id: ExprId) -> Lower<String> {
        match self.eval(id)? {
            Value::Str(text) => Ok(text.to_string()),
            other => {
                self.fail(&codes::TYPE_MISMATCH, id, format!("expected a string, found {}", other.what()))
            }
        }
    }

    /// Returns the register tensor with the elements of `t`, which is loaded if it is in memory.
    fn held(&mut self, at: ExprId, t: &Tensor) -> Lower<TensorId> {
        if t.view.modes.is_empty() {
            return self.unsupported(at, "a tensor without modes here");
        }
        let held = self.in_registers(at, t, None)?;
        self.settled(at, &held, None).map(|(id, _)| id)
    }

    /// Materializes the expression as a register tensor, named after the variable if the expression is one.
    fn named(&mut self, at: ExprId, lazy: Lazy) -> TensorId {
        let hint = match &self.store()[at] {
            HirExpr::Path { path, .. } => path.to_string(),
            _ => "shown".to_owned(),
        };
        let (id, _) = self.new_register(&hint, lazy.value.dtype(), lazy.shape, at);
        self.emit(OpKind::Map(hx_tile::Map { dst: id, inputs: lazy.inputs, value: lazy.value }), at);
        id
    }

    fn single(&mut self, at: ExprId, value: Scalar) -> TensorId {
        self.named(at, Lazy { shape: vec![1], inputs: Vec::new(), value })
    }

    /// Materializes integers as a register tensor of one mode.
    fn list(&mut self, at: ExprId, parts: &[Expr]) -> TensorId {
        let int = |value: Expr, dtype: DType| Scalar::Integer { value, dtype };
        let last = int(parts.last().cloned().unwrap_or_default(), DType::I64);
        let earlier = parts.iter().enumerate().rev().skip(1);
        let value = earlier.fold(last, |rest, (i, part)| {
            let here = [Scalar::Index { axis: 0 }, int(Expr::constant(i as i64), DType::I32)];
            let here = Scalar::apply(Operator::Eq, DType::I32, here);
            Scalar::apply(Operator::Select, DType::I64, [here, int(part.clone(), DType::I64), rest])
        });
        self.named(at, Lazy { shape: vec![parts.len() as i64], inputs: Vec::new(), value })
    }
}

/// The lowered form of an argument of `print`.
enum Shown {
    Text(String),
    /// The tensor, and whether its value is the same for the whole block.
    Tensor(TensorId, bool),
}

/// Formats a number for the message of an assertion that is decided at compile time; `None` if the value is no such number.
fn known_text(value: &Value) -> Option<String> {
    match value {
        Value::Int(value) => Some(value.to_string()),
        Value::Float(value) => Some(format!("{value:?}")),
        _ => value.whole().map(|whole| whole.value.to_string()),
    }
}

/// Returns the integers if all values are integers and there is at least one; otherwise `None`.
fn all_ints(parts: &[Value]) -> Option<Vec<Expr>> {
    let ints = parts.iter().map(|part| part.whole().map(|whole| whole.value));
    ints.collect::<Option<Vec<Expr>>>().filter(|parts| !parts.is_empty())
}
