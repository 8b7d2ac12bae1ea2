//! The instruction of a conversion. It converts neighbours in registers, so the order of both sides decides which one fits.

use hx_dtype::DType;
use hx_layout::Layout;
use hx_target::{ConvertRow, Target};

use crate::distribution::layout_of_table;

/// A row of the catalogue with the positions that it converts.
pub(crate) struct Conversion {
    pub(crate) row: &'static ConvertRow,
    /// `[value, issue]` → position among the values of the source.
    pub(crate) src: Layout,
    /// `[value, issue]` → position among the values of the destination.
    pub(crate) dst: Layout,
}

/// Returns the widest row that converts values whose positions in the source are `table`, the cheapest of equal width; `None` if each value
/// is converted on its own.
pub(crate) fn of_table(table: &[i64], [from, to]: [DType; 2], target: Target) -> Option<Conversion> {
    let better = |best: Option<Conversion>, next: Conversion| {
        let key = |found: &Conversion| (found.row.values, -found.row.issue);
        match best {
            Some(best) if key(&best) > key(&next) => Some(best),
            Some(_) | None => Some(next),
        }
    };
    let rows = || target.rows().converts_of(from, to);
    let in_order = rows().filter_map(|row| of_neighbours(table, row)).fold(None, better);
    in_order.or_else(|| rows().filter_map(|row| of_words(table, row)).fold(None, better))
}

/// Returns the conversion of neighbours of the destination by a row, if the row takes their sources.
fn of_neighbours(table: &[i64], row: &'static ConvertRow) -> Option<Conversion> {
    let (n, together) = (i64::from(row.values), i64::from(row.together));
    let dense = |c: &[i64]| {
        let first = c[0] - row.source(0);
        first % together == 0 && (0..).zip(c).all(|(i, at)| at - row.source(i) == first)
    };
    if table.len() as i64 % n != 0 || !table.chunks(n as usize).all(dense) {
        return None;
    }
    let (src, dst) = layouts(table, n)?;
    Some(Conversion { row, src, dst })
}

/// Returns the conversion of whole operands of the source by a row: of packed elements in any order of which the row puts the elements of
/// each word of the destination side by side. The words themselves may lie anywhere.
fn of_words(table: &[i64], row: &'static ConvertRow) -> Option<Conversion> {
    let (n, each) = (i64::from(row.values), i64::from(row.each()));
    let count = table.len() as i64;
    if row.together < 2 || count % n != 0 {
        return None;
    }
    let mut places = vec![None; table.len()];
    for (place, at) in (0..).zip(table) {
        let slot = places.get_mut(usize::try_from(*at).ok()?)?;
        if slot.replace(place).is_some() {
            return None;
        }
    }
    let sources: Vec<i64> = (0..count).map(|i| i / n * n + row.source(i % n)).collect();
    let place = |at: &i64| usize::try_from(*at).ok().and_then(|at| *places.get(at)?);
    let results: Vec<i64> = sources.iter().map(place).collect::<Option<_>>()?;
    let is_word =
        |word: &[i64]| word[0] % each == 0 && (word[0]..).zip(word).all(|(wanted, at)| *at == wanted);
    if !results.chunks(each as usize).all(is_word) {
        return None;
    }
    let side = |table: &[i64]| layout_of_table(&[n, count / n], table);
    Some(Conversion { row, src: side(&sources)?, dst: side(&results)? })
}

/// Returns the positions of the source and of the destination, `[value, issue]`, for instructions that convert `step` neighbours of the
/// destination. `None` if no layout describes them.
pub(crate) fn layouts(table: &[i64], step: i64) -> Option<(Layout, Layout)> {
    let values = table.len() as i64;
    let identity: Vec<i64> = (0..values).collect();
    let side = |table: &[i64]| layout_of_table(&[step, values / step], table);
    Some((side(table)?, side(&identity)?))
}
