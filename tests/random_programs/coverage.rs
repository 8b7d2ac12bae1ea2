//! The rows of the catalogue that programs use, and those that no program can.

use std::collections::{BTreeMap, BTreeSet};

use hx_target::catalogue;

/// Rows that no program of the language can request, by name, with the reason. The run checks that the table is exact: none of
/// these rows occurs, and every other row does.
pub(super) const BEYOND: &[(&str, &str)] = &[];

/// Returns the name of the row of the file that stands for a row: products by descriptor have one for all numbers of columns.
pub(super) fn family(name: &str) -> String {
    let is_wide = catalogue().gemm(name).is_some_and(|row| row.is_by_descriptor());
    match (is_wide, name.find('n'), name.find('k')) {
        (true, Some(from), Some(to)) if from < to => format!("{}n{{n}}{}", &name[..from], &name[to..]),
        _ => name.to_owned(),
    }
}

/// Returns the name of every row of the catalogue.
pub(super) fn rows() -> BTreeSet<String> {
    let all = catalogue();
    let names = all.copies.iter().map(|r| r.name.clone());
    let names = names.chain(all.gemms.iter().map(|r| family(&r.name)));
    let names = names.chain(all.converts.iter().map(|r| r.name.clone()));
    let names = names.chain(all.exchanges.iter().map(|r| r.name.clone()));
    let names = names.chain(all.groups.iter().map(|r| r.name.clone()));
    let names = names.chain(all.bulks.iter().map(|r| r.name.clone()));
    let shared = all.bulks.iter().filter(|r| r.multicast.is_some());
    let names = names.chain(shared.map(|r| format!("{}.multicast", r.name)));
    let names = names.chain(all.syncs.iter().map(|r| r.name.clone()));
    let names =
        names.chain(all.reaches.iter().flat_map(|r| ["a", "b"].map(|side| format!("{side}.{}", r.name))));
    names.chain(all.computes.iter().map(|r| computed(&r.operator, &r.dtype.to_string(), r.values))).collect()
}

/// Returns the name of the row of an operator.
pub(super) fn computed(operator: &str, dtype: &str, values: u32) -> String {
    if values == 1 { format!("{operator}.{dtype}") } else { format!("{operator}.{dtype}x{values}") }
}

/// Returns the rows that a program of the language can request.
pub(super) fn within_reach() -> BTreeSet<String> {
    rows().into_iter().filter(|name| BEYOND.iter().all(|(beyond, _)| beyond != name)).collect()
}

/// Returns the names that occurred in fewer than `often` programs, with their counts.
pub(super) fn too_few(
    wanted: BTreeSet<String>,
    seen: &BTreeMap<String, u64>,
    often: u64,
) -> Vec<(u64, String)> {
    let counted = wanted.into_iter().map(|name| (seen.get(&name).copied().unwrap_or(0), name));
    counted.filter(|(count, _)| *count < often).collect()
}
