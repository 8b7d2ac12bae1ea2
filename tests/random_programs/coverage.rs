//! The rows of the catalogue that programs use, and those that no program can.

use std::collections::{BTreeMap, BTreeSet};

use hx_target::Target;

/// Rows that programs cannot request, by name, with the reason. The run checks that the table is exact: these rows do not occur
/// often enough, and every other row does.
pub(super) const BEYOND: &[(&str, &str)] = &[
    ("elect", "no role runs on one thread alone: the first thread of a scope does what one thread does"),
    ("a.k.16B", THIRTY_TWO),
    ("b.k.16B", THIRTY_TWO),
    ("a.mn.16B", SIXTY_FOUR),
    ("a.mn.32B", SIXTY_FOUR),
    ("a.mn.64B", SIXTY_FOUR),
    ("cvt.bf16x4.e8m0", SCALES),
    ("cvt.f32x4.e8m0", SCALES),
    ("cvt.f16x4.e8m0", SCALES),
    ("cvt.f32.e8m0", SCALES),
    ("cvt.e8m0.f32", SCALES),
];

const SCALES: &str = "programs compute with small integers, and a scale is neither 0 nor negative";

const THIRTY_TWO: &str = "a step of K has 32 bytes, for which a wider swizzle costs less";
const SIXTY_FOUR: &str = "a tile of A has 64 rows, 128 bytes, for which the widest swizzle costs less";

/// Every part of the language that programs of tasks must cover.
pub(super) const TASK_PARTS: &[&str] = &[
    // Ways of tiles into shared memory.
    "roles",
    "roles of single groups",
    "two producers",
    "two roles that read",
    "groups that skip stages",
    "turns",
    "barriers of roles",
    "arrivals at barriers of roles",
    "barriers of groups",
    "ring of all threads",
    "groups of copies",
    "stages that threads write",
    "packed stages",
    "packed stages in boxes",
    "release of all stages but one",
    "multicast",
    // Which tiles a block works on, and for how many steps.
    "one tile a block",
    "persistent loop",
    "counter",
    "tiles that memory lists",
    "trip counts from memory",
    "cluster",
    "cluster along two axes",
    // Work on the tiles.
    "product by descriptor",
    "product in flight",
    "product of a product",
    "product that a cluster shares",
    "sum over a cluster",
    "sum of stages",
    "reduced stages",
    "running argmax",
    "running sums",
    "stages copied out",
    "masked rows",
    // Ways of results to global memory.
    "stores in boxes",
    "bulk stores",
    "bulk sums",
    "gaps between rows",
    "parts with ends from memory",
    "runs of bytes",
    "update in place",
    "atomic_add",
    "atomic accesses of every operation",
    // Blocks and launches that depend on each other.
    "last block",
    "blocks that wait for each other",
    "chain of launches",
    "dependent launch",
    "ring in a dependent launch",
];

/// Returns the name under which a row is counted. Products by descriptor that differ only in the number of columns count as one
/// row.
pub(super) fn family(name: &str) -> String {
    let is_wide = Target::usual().rows().gemm(name).is_some_and(|row| row.is_by_descriptor());
    match (is_wide, name.find('n'), name.find('k')) {
        (true, Some(from), Some(to)) if from < to => format!("{}n{{n}}{}", &name[..from], &name[to..]),
        _ => name.to_owned(),
    }
}

/// Returns the name of every row of the catalogue.
pub(super) fn rows() -> BTreeSet<String> {
    let all = Target::usual().rows();
    let names = all.copies.iter().map(|r| r.name.clone());
    let names = names.chain(all.gemms.iter().map(|r| family(&r.name)));
    let names = names.chain(all.converts.iter().map(|r| r.name.clone()));
    let names = names.chain(all.exchanges.iter().map(|r| r.name.clone()));
    let names = names.chain(all.groups.iter().map(|r| r.name.clone()));
    let names = names.chain(all.bulks.iter().map(|r| r.name.clone()));
    let names = names.chain(all.prefetches.iter().map(|r| r.name.clone()));
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
