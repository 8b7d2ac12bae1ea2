//! The costs that only a launch determines: the lines of the L2 cache that the rows of boxes lie in follow from the distances between the
//! rows.
//!
//! The model counts a line as the unit of a box: a row of 128 B that begins at a multiple of 128 B is one line. If the rows of a tensor are
//! 27536 B apart, 7 of 8 rows of a box lie in two lines, and the model multiplies the time of the box by 1.875. No probe measures a box on its
//! own. The evidence is launches on an H200 whose loads bound them, divided by their estimates without this factor: the members of
//! `std::gemm::gemm` took 1.3 to 2.1 times the estimate at 3272 x 184 x 13768, 1.8 times at 1000 x 1000 x 1000, and 0.8 to 1.2 times at shapes
//! whose rows are multiples of 128 B apart.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hx_index::gcd;
use hx_tile::{Base, BulkChoice, Choice, Cost, Op, OpId, OpKind, Resource, Solution, TileProgram};

use super::known::{Values, value};

/// Returns the costs of the operations in a launch, whose strides are among the known values.
pub(super) fn costs_of_launch<'p>(
    program: &TileProgram,
    solution: &'p Solution,
    known: &Values,
) -> Cow<'p, BTreeMap<OpId, Cost>> {
    let mut costs = Cow::Borrowed(&solution.costs);
    for (op, _) in program.ops(1.0) {
        let Some(Choice::Bulk(choice)) = solution.choices.get(&op.id) else { continue };
        let factor = factor(program, op, choice, known).unwrap_or(1.0);
        if factor > 1.0
            && let Some(cost) = costs.to_mut().get_mut(&op.id)
        {
            cost.resources[Resource::Global] *= factor;
        }
    }
    costs
}

/// Returns the lines that a row of the boxes of a load lies in on average, as a multiple of those of a row that begins with a line; `None`
/// for other copies, or if a distance between rows is unknown. Stores were not measured.
fn factor(program: &TileProgram, op: &Op, choice: &BulkChoice, known: &Values) -> Option<f64> {
    let OpKind::CopyAsync { src, .. } = &op.kind else { return None };
    let Base::Global(id) = src.base else { return None };
    if choice.runs {
        return None;
    }
    let param = program.tensor_param(id)?;
    let bytes = i64::from(param.dtype.bits()) / 8;
    let line = i64::from(program.target.limits.line_bytes);
    // Elements behind the end of a row are not fetched.
    let inside = value(known, param.shape.get(*choice.dims.first()?)?)?;
    let row = i64::from(*choice.extents.first()?).min(inside.max(1)) * bytes;
    let rows = choice.dims.iter().zip(&choice.extents).skip(1).filter(|(_, extent)| **extent > 1);
    let apart = rows.map(|(dim, _)| Some(value(known, param.stride.get(*dim)?)?.saturating_mul(bytes)));
    let unit = apart.collect::<Option<Vec<i64>>>()?.into_iter().fold(line, gcd);
    Some(mean_lines(row, unit, line) / mean_lines(row, line, line))
}

/// Returns the lines of `line` bytes that a row of `row` bytes lies in, on average over the rows that begin at multiples of `unit` bytes.
fn mean_lines(row: i64, unit: i64, line: i64) -> f64 {
    let starts = line / unit.max(1);
    let lines = |start: i64| (start * unit + row + line - 1) / line;
    (0..starts).map(lines).sum::<i64>() as f64 / starts.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::mean_lines;

    #[test]
    fn rows_that_begin_within_a_line_lie_in_two() {
        assert_eq!([128, 64, 32, 16].map(|unit| mean_lines(128, unit, 128)), [1.0, 1.5, 1.75, 1.875]);
        assert_eq!([128, 64, 32, 16].map(|unit| mean_lines(64, unit, 128)), [1.0, 1.0, 1.25, 1.375]);
        assert_eq!(mean_lines(16, 16, 128), 1.0, "a row of 16 bytes never crosses a line");
        assert_eq!(mean_lines(512, 16, 128), 4.875);
    }
}
