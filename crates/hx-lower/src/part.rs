//! Assignments to parts of register tensors: every element of the tensor is computed anew, and those outside of the part keep
//! their values.

use hx_base::codes;
use hx_dtype::{DType, Operator};
use hx_hir::{ArithOp, BinaryOp, ExprId, Resolution};
use hx_index::Expr;
use hx_tile::Scalar;

use crate::cx::{Cx, shape_text};
use crate::elementwise::Operand;
use crate::error::Lower;
use crate::value::{Lazy, Tensor, Value};

/// The elements of one mode that an index selects.
struct Selected {
    axis: usize,
    from: i64,
    to: i64,
    /// A range keeps the mode, an integer drops it.
    kept: bool,
    extent: i64,
}

impl Cx<'_> {
    /// Lowers `t[indices] = value` and `t[indices] op= value` for a register tensor.
    pub(crate) fn assign_part(
        &mut self,
        place: ExprId,
        t: &Tensor,
        indices: &[ExprId],
        op: Option<ArithOp>,
        value: ExprId,
    ) -> Lower<()> {
        let selected = self.selected(place, t, indices)?;
        let whole = Value::Tensor(t.clone());
        let mark = self.mark();
        let found = self.eval(value)?;
        let found = self.stretched(value, found, &selected)?;
        let new = match op {
            Some(op) => {
                self.elementwise(value, BinaryOp::Arith(op), (place, whole.clone()), (value, found))?
            }
            None => found,
        };
        self.unwritten(place, &whole, mark)?;
        let inside = Value::Lazy(inside(&selected));
        let operands: [Operand; 3] = [(place, inside), (value, new), (place, whole)];
        let blended = self.apply(place, Operator::Select, operands.into())?;
        self.assign_lazy(place, t, value, blended)
    }

    /// Returns the register tensor of which a part is assigned to; `None` if `base` is in memory.
    pub(crate) fn whole_of_part(&mut self, base: ExprId) -> Lower<Option<Tensor>> {
        let local = match self.frame().names.exprs.get(base) {
            Some(Resolution::Local(pat)) => Some(*pat),
            _ => None,
        };
        Ok(match (self.eval(base)?, local) {
            (Value::Lazy(lazy), Some(pat)) => match self.hold(base, pat, lazy) {
                Value::Tensor(t) => Some(t),
                _ => None,
            },
            (Value::Tensor(t), _) if t.is_register() => Some(t),
            _ => None,
        })
    }

    /// Returns what each index selects. The bounds must be known at compile time.
    fn selected(&mut self, place: ExprId, t: &Tensor, indices: &[ExprId]) -> Lower<Vec<Selected>> {
        let shape = t.shape();
        let mut selected = Vec::new();
        for (axis, extent) in shape.iter().enumerate() {
            let extent = extent.as_const().unwrap_or_default();
            let index = match indices.get(axis) {
                Some(index) => self.eval(*index)?.widened(),
                None => Value::Range { start: None, end: None },
            };
            let at = indices.get(axis).copied().unwrap_or(place);
            let (from, to, kept) = match index {
                Value::Int(i) => {
                    let i = self.constant_bound(at, &i)?;
                    (i, i + 1, false)
                }
                Value::Range { start, end } => {
                    let from = start.map_or(Ok(0), |start| self.constant_bound(at, &start))?;
                    let to = end.map_or(Ok(extent), |end| self.constant_bound(at, &end))?;
                    (from, to, true)
                }
                other => {
                    let message = format!("found {} as an index, wanted an integer or a range", other.what());
                    return self.fail(&codes::TYPE_MISMATCH, at, message);
                }
            };
            if from < 0 || to > extent || from > to {
                let message = format!("found the range `{from}..{to}`, wanted one inside of `0..{extent}`");
                return self.fail(&codes::INDEX_OUT_OF_RANGE, at, message);
            }
            selected.push(Selected { axis, from, to, kept, extent });
        }
        Ok(selected)
    }

    fn constant_bound(&mut self, at: ExprId, bound: &Expr) -> Lower<i64> {
        match bound.as_const() {
            Some(bound) => Ok(bound),
            None => self.run_time_index(at, bound).map(|()| 0),
        }
    }

    /// Returns the value in the modes of the whole tensor. Along a mode that the part cuts, the value has extent 1 or is a
    /// number: its elements would have to move to other threads otherwise.
    fn stretched(&mut self, at: ExprId, value: Value, selected: &[Selected]) -> Lower<Value> {
        let value = match value {
            Value::Tensor(t) if t.is_register() => self.lazy_operand(at, Value::Tensor(t))?,
            other => other,
        };
        let Value::Lazy(lazy) = value else { return Ok(value) };
        let kept: Vec<&Selected> = selected.iter().filter(|s| s.kept).collect();
        let is_whole = |s: &Selected| s.from == 0 && s.to == s.extent;
        let fits = lazy.shape.len() == kept.len()
            && lazy
                .shape
                .iter()
                .zip(&kept)
                .all(|(extent, s)| *extent == 1 || is_whole(s) && *extent == s.extent);
        if !fits {
            let wanted: Vec<Expr> =
                kept.iter().map(|s| Expr::constant(if is_whole(s) { s.extent } else { 1 })).collect();
            let found: Vec<Expr> = lazy.shape.iter().map(|e| Expr::constant(*e)).collect();
            let message = format!(
                "found a tensor of shape `{}` for a part, wanted a number or a tensor of shape `{}`",
                shape_text(&found),
                shape_text(&wanted)
            );
            let error = self
                .error(&codes::SHAPE_MISMATCH, at, message)
                .help("`where(index(t, 0) < n, x, t)` chooses between two whole tensors");
            return Err(self.report(error));
        }
        if kept.len() == selected.len() {
            return Ok(Value::Lazy(lazy));
        }
        // A dropped mode comes back with extent 1.
        let tensor = self.materialize(at, lazy, None);
        let mut view = tensor.view.clone();
        for (axis, s) in selected.iter().enumerate() {
            if !s.kept {
                let one =
                    crate::value::SymMode { extent: Expr::constant(1), dim: 0, factor: Expr::default() };
                view.modes.insert(axis, one);
            }
        }
        self.lazy_operand(at, Value::Tensor(tensor.with_view(view)))
    }
}

/// Returns the condition that an element is in the part.
fn inside(selected: &[Selected]) -> Lazy {
    let number = |x: i64| Scalar::constant(x as f64, DType::I32);
    let mut value = Scalar::Const { bits: 1, dtype: DType::Bool };
    for s in selected.iter().filter(|s| s.from > 0 || s.to < s.extent) {
        let at = || Scalar::Index { axis: s.axis };
        let from = (s.from > 0).then(|| Scalar::apply(Operator::Le, DType::I32, [number(s.from), at()]));
        let to = (s.to < s.extent).then(|| Scalar::apply(Operator::Lt, DType::I32, [at(), number(s.to)]));
        for bound in [from, to].into_iter().flatten() {
            value = match value {
                Scalar::Const { .. } => bound,
                both => Scalar::apply(Operator::And, DType::Bool, [both, bound]),
            };
        }
    }
    Lazy { shape: selected.iter().map(|s| s.extent).collect(), inputs: Vec::new(), value }
}
