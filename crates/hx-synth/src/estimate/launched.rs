//! The costs that only a launch determines: the lines of the L2 cache that the rows of boxes lie in follow from the distances between the
//! rows.
//!
//! The model counts a line as the unit of a box: a row of 128 B that begins at a multiple of 128 B is one line. If the rows of a tensor are
//! 27536 B apart, 7 of 8 rows of a box lie in two lines, and the model multiplies the time of the box by 1.875. No probe measures a box on its
//! own. The evidence is launches on an H200 whose loads bound them, divided by their estimates without this factor: the members of
//! `std::gemm::gemm` took 1.3 to 2.1 times the estimate at 3272 x 184 x 13768, 1.8 times at 1000 x 1000 x 1000, and 0.8 to 1.2 times at shapes
//! whose rows are multiples of 128 B apart. Loads into registers have the same factor: `std::gemm_any` took 1.2 to 2.1 times its estimate at rows
//! between lines without it, and takes 0.95 to 1.4 times the one with it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hx_index::gcd;
use hx_tile::{
    Base, BulkChoice, Choice, Cost, OpId, OpKind, ParamId, Resource, Solution, TileProgram, View, ViewMode,
};

use super::known::{Values, value};

/// Returns the costs of the operations in a launch, whose strides are among the known values.
pub(super) fn costs_of_launch<'p>(
    program: &TileProgram,
    solution: &'p Solution,
    known: &Values,
) -> Cow<'p, BTreeMap<OpId, Cost>> {
    let mut costs = Cow::Borrowed(&solution.costs);
    for (op, _) in program.ops(1.0) {
        let choice = solution.choices.get(&op.id);
        let rows = if let (OpKind::CopyAsync { src, .. }, Some(Choice::Bulk(choice))) = (&op.kind, choice) {
            rows_of_boxes(src, choice)
        } else if let (OpKind::Copy { src, .. }, Some(Choice::Copy(_))) = (&op.kind, choice) {
            rows_of_loads(program, src, known)
        } else {
            None
        };
        let factor = rows.and_then(|rows| factor(program, &rows, known)).unwrap_or(1.0);
        if factor > 1.0
            && let Some(cost) = costs.to_mut().get_mut(&op.id)
        {
            cost.resources[Resource::Global] *= factor;
        }
    }
    costs
}

/// Returns the latency that DRAM adds to that of the L2 cache where it is busy for the whole time of a launch.
pub(super) fn dram_latency(program: &TileProgram) -> f64 {
    let costs = program.target.costs();
    let is_cluster = program.cluster.iter().product::<u32>() > 1;
    costs.dram_latency + if is_cluster { costs.cluster_latency } else { 0.0 }
}

/// Returns the costs of the operations in a launch for which DRAM is busy for a part of its time: loads into registers wait longer, in
/// clusters too by the latency without them, to which std::gemm_split::gemm_any_split was fitted. The latency of copies into stages is that of
/// their pipeline.
pub(super) fn costs_from_dram<'c>(
    program: &TileProgram,
    costs: &'c BTreeMap<OpId, Cost>,
    from_dram: f64,
) -> Cow<'c, BTreeMap<OpId, Cost>> {
    let mut changed = Cow::Borrowed(costs);
    for (op, _) in program.ops(1.0) {
        let OpKind::Copy { src, .. } = &op.kind else { continue };
        if matches!(src.base, Base::Global(_))
            && let Some(cost) = changed.to_mut().get_mut(&op.id)
        {
            cost.latency += from_dram * program.target.costs().dram_latency;
        }
    }
    changed
}

/// The rows that a load reads: their extent along the contiguous dimension of a tensor, and the other dimensions that have several of them.
struct LoadedRows {
    param: ParamId,
    dim: usize,
    extent: i64,
    others: Vec<usize>,
}

/// Returns the rows of the boxes of a bulk load. Those of stores were not measured.
fn rows_of_boxes(src: &View, choice: &BulkChoice) -> Option<LoadedRows> {
    let Base::Global(param) = src.base else { return None };
    if choice.runs {
        return None;
    }
    let others = choice.dims.iter().zip(&choice.extents).skip(1).filter(|(_, extent)| **extent > 1);
    Some(LoadedRows {
        param,
        dim: *choice.dims.first()?,
        extent: i64::from(*choice.extents.first()?),
        others: others.map(|(dim, _)| *dim).collect(),
    })
}

/// Returns the rows of a load into registers; `None` if a row is no run of elements.
fn rows_of_loads(program: &TileProgram, src: &View, known: &Values) -> Option<LoadedRows> {
    let Base::Global(param) = src.base else { return None };
    let strides = &program.tensor_param(param)?.stride;
    let is_run = |mode: &&ViewMode| {
        strides.get(mode.dim).and_then(|stride| value(known, stride)) == Some(1)
            && value(known, &mode.factor) == Some(1)
    };
    let row = src.modes.iter().find(is_run).filter(|_| src.picked.is_none())?;
    let others = src.modes.iter().filter(|mode| mode.dim != row.dim && mode.extent > 1);
    Some(LoadedRows {
        param,
        dim: row.dim,
        extent: row.extent,
        others: others.map(|mode| mode.dim).collect(),
    })
}

/// Returns the lines that the rows of a load lie in on average, as a multiple of those of rows that begin with a line; `None` if a distance
/// between rows is unknown.
fn factor(program: &TileProgram, rows: &LoadedRows, known: &Values) -> Option<f64> {
    let param = program.tensor_param(rows.param)?;
    let bytes = |elements: i64| elements.saturating_mul(i64::from(param.dtype.bits())) / 8;
    let line = i64::from(program.target.limits.line_bytes);
    // Elements behind the end of a row are not fetched.
    let inside = value(known, param.shape.get(rows.dim)?)?;
    let row = bytes(rows.extent.min(inside.max(1)));
    let apart = rows.others.iter().map(|dim| Some(bytes(value(known, param.stride.get(*dim)?)?)));
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
