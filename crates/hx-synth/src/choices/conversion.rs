//! The instruction of a conversion. It converts neighbours in registers, so the order of both sides decides which one fits.

use hx_dtype::DType;
use hx_layout::Layout;
use hx_target::{ConvertRow, Target};

use crate::distribution::layout_of_table;

/// Returns the widest row that converts values whose positions in the source are `table`; `None` if each value is converted on its
/// own.
pub(crate) fn row(table: &[i64], [from, to]: [DType; 2], target: Target) -> Option<&'static ConvertRow> {
    let fits = |row: &&ConvertRow| {
        let (n, together) = (i64::from(row.values), i64::from(row.together));
        let dense = |c: &[i64]| {
            let first = c[0] - row.source(0);
            first % together == 0 && (0..).zip(c).all(|(i, at)| at - row.source(i) == first)
        };
        table.len() as i64 % n == 0 && table.chunks(n as usize).all(dense) && layouts(table, n).is_some()
    };
    target.rows().converts_of(from, to).filter(fits).max_by_key(|row| row.values)
}

/// Returns the positions of the source and of the destination, `[value, issue]`, for instructions that convert `step` values.
/// `None` if no layout describes them.
pub(crate) fn layouts(table: &[i64], step: i64) -> Option<(Layout, Layout)> {
    let values = table.len() as i64;
    let identity: Vec<i64> = (0..values).collect();
    let side = |table: &[i64]| layout_of_table(&[step, values / step], table);
    Some((side(table)?, side(&identity)?))
}
