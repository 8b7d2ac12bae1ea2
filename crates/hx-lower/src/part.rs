//! Assignments to parts of register tensors. A number, or a tensor of extent 1 along what the part cuts, is blended in: every element
//! of the tensor is computed anew, and those outside of the part keep their values. Any other tensor is inserted, so that each thread
//! sets only the elements of the part.

use hx_base::codes;
use hx_dtype::{DType, Operator};
use hx_hir::{ArithOp, BinaryOp, ExprId, Resolution};
use hx_index::Expr;
use hx_tile::{Map, OpKind, Scalar, TensorId};

use crate::elementwise::Operand;
use crate::error::Lower;
use crate::lowering::{Lowering, shape_text};
use crate::value::{Lazy, Tensor, Value};

/// The elements of one mode that an index selects.
#[derive(Clone)]
struct Selected {
    axis: usize,
    from: i64,
    to: i64,
    /// A range keeps the mode, an integer drops it.
    kept: bool,
    extent: i64,
}

impl Selected {
    fn is_whole(&self) -> bool {
        self.from == 0 && self.to == self.extent
    }

    fn count(&self) -> i64 {
        self.to - self.from
    }

    /// Reports whether the index selects one of several elements.
    fn is_point(&self) -> bool {
        self.count() == 1 && self.extent > 1
    }
}

impl Lowering<'_> {
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
        if let Value::Lazy(lazy) = &found
            && selected.iter().any(|s| !s.is_whole() && s.count() > 1 && lazy.shape[s.axis] == s.count())
        {
            return self.insert_part((place, t), &selected, op, (value, lazy.clone()), mark);
        }
        let new = match op {
            Some(op) => {
                self.elementwise(value, BinaryOp::Arith(op), (place, whole.clone()), (value, found))?
            }
            None => found,
        };
        self.unwritten(place, &whole, mark)?;
        self.blend((place, t), &selected, (value, new))
    }

    /// Replaces the selected elements by those of `new`, which has extent 1 along what is cut.
    fn blend(
        &mut self,
        (place, t): (ExprId, &Tensor),
        selected: &[Selected],
        (at, new): Operand,
    ) -> Lower<()> {
        let inside = Value::Lazy(inside(selected));
        let whole = Value::Tensor(t.clone());
        let operands: [Operand; 3] = [(place, inside), (at, new), (place, whole)];
        let blended = self.apply(place, Operator::Select, operands.into())?;
        self.assign_lazy(place, t, at, blended)
    }

    /// Inserts the elements of `found`, which has the modes of `t` and the extents of the part, or 1.
    fn insert_part(
        &mut self,
        (place, t): (ExprId, &Tensor),
        selected: &[Selected],
        op: Option<ArithOp>,
        (at, found): (ExprId, Lazy),
        mark: usize,
    ) -> Lower<()> {
        // Along a mode of which one element is selected, several threads may hold the others. So the part goes into a tensor of that
        // element alone, which is then blended in.
        let point = |s: &Selected| {
            if s.is_point() { s.clone() } else { Selected { from: 0, to: s.extent, ..s.clone() } }
        };
        let points: Vec<Selected> = selected.iter().map(point).collect();
        let has_points = points.iter().any(Selected::is_point);
        let (row, ranges) = if has_points {
            let (_, row) = self.settled(place, &cut(t, &points), None)?;
            let range = |s: &Selected| {
                if s.is_point() { Selected { from: 0, to: 1, extent: 1, ..s.clone() } } else { s.clone() }
            };
            (row, selected.iter().map(range).collect())
        } else {
            (t.clone(), selected.to_vec())
        };
        let part = cut(&row, &ranges);
        let new = match op {
            Some(op) => {
                let old = (place, Value::Tensor(part.clone()));
                self.elementwise(at, BinaryOp::Arith(op), old, (at, Value::Lazy(found)))?
            }
            None => Value::Lazy(found),
        };
        self.unwritten(place, &Value::Tensor(t.clone()), mark)?;
        let Value::Lazy(new) = new else { return self.meaningless(at) };
        if new.value.dtype() != t.dtype {
            return self.bad_dtype(at, new.value.dtype(), place, t.dtype);
        }
        let shape: Vec<i64> = ranges.iter().map(Selected::count).collect();
        let src = match (&new.value, &new.inputs[..]) {
            // The value is a whole tensor: insert it without a copy.
            (Scalar::Input { .. }, [only]) if new.shape == shape => *only,
            _ => self.named_part(at, Lazy { shape, ..new }),
        };
        let dst = self.part(place, &part)?;
        self.emit(OpKind::Insert { dst, src }, at);
        if has_points {
            return self.blend((place, t), &points, (place, Value::Tensor(row)));
        }
        Ok(())
    }

    /// Stores the expression in a new register tensor.
    fn named_part(&mut self, at: ExprId, lazy: Lazy) -> TensorId {
        let (dst, _) = self.new_register("part", lazy.value.dtype(), lazy.shape, at);
        self.emit(OpKind::Map(Map { dst, inputs: lazy.inputs, value: lazy.value }), at);
        dst
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
                    let message =
                        format!("expected an integer or a range, found {} as an index", other.what());
                    return self.fail(&codes::TYPE_MISMATCH, at, message);
                }
            };
            if from < 0 || to > extent || from > to {
                let message = format!("found the range `{from}..{to}`, expected one inside of `0..{extent}`");
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

    /// Returns the value in the modes of the whole tensor: a number, or an expression with the extents of the part or 1.
    fn stretched(&mut self, at: ExprId, value: Value, selected: &[Selected]) -> Lower<Value> {
        let value = match value {
            Value::Tensor(t) if t.is_register() => self.lazy_operand(at, Value::Tensor(t))?,
            other => other,
        };
        let Value::Lazy(lazy) = value else { return Ok(value) };
        let kept: Vec<&Selected> = selected.iter().filter(|s| s.kept).collect();
        let fits = lazy.shape.len() == kept.len()
            && lazy.shape.iter().zip(&kept).all(|(extent, s)| *extent == 1 || *extent == s.count());
        if !fits {
            let wanted: Vec<Expr> = kept.iter().map(|s| Expr::constant(s.count())).collect();
            let found: Vec<Expr> = lazy.shape.iter().map(|e| Expr::constant(*e)).collect();
            let message = format!(
                "expected a number or a tensor of shape `{}`, found a tensor of shape `{}` for a part",
                shape_text(&wanted),
                shape_text(&found)
            );
            return self.fail(&codes::SHAPE_MISMATCH, at, message);
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

/// Returns the view of the selected elements, which keeps all modes.
fn cut(t: &Tensor, selected: &[Selected]) -> Tensor {
    let mut view = t.view.clone();
    for s in selected {
        let mode = &mut view.modes[s.axis];
        mode.extent = Expr::constant(s.count());
        let (dim, step) = (mode.dim, mode.factor.scale(s.from));
        view.offsets[dim] = view.offsets[dim].clone() + step;
    }
    t.with_view(view)
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
