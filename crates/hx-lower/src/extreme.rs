//! The position of the largest or least element along an axis: a scan over elements and positions, whose last entry is the result.

use hx_dtype::{DType, Operator};
use hx_hir::ExprId;
use hx_index::Expr;
use hx_tile::{OpKind, Scalar, ViewMode};

use crate::error::Lower;
use crate::lowering::Lowering;
use crate::value::{Lazy, Value};

impl Lowering<'_> {
    /// Lowers `argmax(t, axis: …)` and `argmin(t, axis: …)`. Of equal elements, the first one counts. NaN is skipped, as by
    /// `max` and `min`; if all elements are NaN, the position is 0.
    pub(crate) fn position(
        &mut self,
        id: ExprId,
        largest: bool,
        t: ExprId,
        axis: ExprId,
        hint: Option<&str>,
    ) -> Lower<Value> {
        let tensor = self.tensor(t)?;
        let tensor = self.in_registers(t, &tensor, None)?;
        let (src, _) = self.settled(t, &tensor, None)?;
        let src = self.widened_elements(src, id);
        let dtype = self.output.tensor(src).dtype;
        let shape = self.output.tensor(src).shape.clone();
        let axis = self.axis(axis, shape.len())?;
        let positions = Lazy { shape: shape.clone(), inputs: Vec::new(), value: Scalar::Index { axis } };
        let positions = self.materialize(id, positions, Some("position"));
        let Some((positions, _)) = self.register_of(&positions) else { return Ok(Value::Error) };
        let (elements, _) = self.new_register("extreme", dtype, shape.clone(), id);
        let (found, _) = self.new_register("at", DType::I32, shape.clone(), id);
        let op = later_if_better(largest, dtype);
        let (dst, src) = (vec![elements, found], vec![src, positions]);
        self.emit(OpKind::Scan { dst, src, axis, op, reverse: false }, id);
        let mut last = self.whole(found);
        last.offsets[axis] = Expr::constant(shape[axis] - 1);
        last.modes[axis] = ViewMode { extent: 1, dim: axis, factor: Expr::constant(1) };
        let (dst, result) = self.new_register(hint.unwrap_or("at"), DType::I32, last.shape(), id);
        self.emit(OpKind::Slice { dst, src: last }, id);
        Ok(Value::Tensor(result))
    }
}

/// Returns the operator on (element, position) that takes the later operand if its element is better than the earlier one. Every
/// number is better than NaN, which makes the operator associative: threads may combine elements in any grouping.
fn later_if_better(largest: bool, dtype: DType) -> Vec<Scalar> {
    let input =
        |index: u32| Scalar::Input { index, dtype: if index.is_multiple_of(2) { dtype } else { DType::I32 } };
    let not = |x: Scalar| Scalar::apply(Operator::Not, DType::Bool, [x]);
    let both = |x: Scalar, y: Scalar| Scalar::apply(Operator::And, DType::Bool, [x, y]);
    let (smaller, larger) = if largest { (0, 2) } else { (2, 0) };
    let better = if dtype == DType::Bool {
        both(not(input(smaller)), input(larger))
    } else if dtype.is_float() {
        // Any number is better than NaN: `<=` is false if an operand is NaN, so its negation is true.
        let worse = Scalar::apply(Operator::Le, dtype, [input(larger), input(smaller)]);
        both(not(worse), not(Scalar::apply(Operator::IsNan, dtype, [input(2)])))
    } else {
        Scalar::apply(Operator::Lt, dtype, [input(smaller), input(larger)])
    };
    let pick = |of: DType, part: u32| {
        Scalar::apply(Operator::Select, of, [better.clone(), input(2 + part), input(part)])
    };
    vec![pick(dtype, 0), pick(DType::I32, 1)]
}
