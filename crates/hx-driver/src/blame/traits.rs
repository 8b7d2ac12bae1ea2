//! Finds what the writers of wrong elements have in common: an operation, a block, a warp, a thread, a lane, a value.

use std::collections::BTreeSet;

use hx_sim::{Place, Wrote};

/// The most operations, blocks or threads that are listed.
const LISTED: usize = 4;
/// For `ACCIDENTS` wrong elements, one right element with the same key is allowed: it may agree with the reference by accident.
const ACCIDENTS: usize = 16;

/// Describes the wrong elements by their writers: `the wrong elements are those that thread 17 wrote`. `writes` holds the
/// write of each element, and whether the element is wrong. Returns `None` unless one of the traits separates the wrong elements
/// from the right ones.
pub(super) fn common(
    lanes: u32,
    writes: Vec<(Wrote, bool)>,
    places: &[Place],
    index: impl Fn(u32) -> Vec<usize>,
) -> Option<String> {
    let operation = |site: u32| format!("`{}`", places[site as usize].title);
    let block = |number: u32| hx_host::dense::show_shape(&index(number));
    let warp = |wrote: &Wrote| wrote.thread / lanes;
    let lane = |wrote: &Wrote| wrote.thread % lanes;
    let by = |one: &str, many: &str, key: &dyn Fn(&Wrote) -> u32, name: &dyn Fn(u32) -> String| {
        let keys = separating(&writes, |wrote| Some(key(wrote)))?;
        Some(format!("{} {}", if keys.len() == 1 { one } else { many }, listed(&keys, name)))
    };
    let number = |key: u32| key.to_string();
    let what = by("the operation", "the operations", &|wrote| wrote.site, &operation)
        .or_else(|| by("block", "blocks", &|wrote| wrote.block, &block))
        .or_else(|| along_axis(&writes, &index))
        .or_else(|| by("warp", "warps", &warp, &number))
        .or_else(|| by("thread", "threads", &|wrote| wrote.thread, &number))
        .or_else(|| by("lane", "lanes", &lane, &number));
    if let Some(what) = what {
        return Some(format!("the wrong elements are those that {what} wrote"));
    }
    if let Some(one) = single(&writes) {
        let thread = one.thread;
        return Some(format!("only thread {thread} of block {} wrote wrong elements", block(one.block)));
    }
    let keys = separating(&writes, |wrote| wrote.value)?;
    let values = if keys.len() == 1 { "value" } else { "values" };
    Some(format!("the wrong elements are {values} {} of their threads", listed(&keys, &number)))
}

/// Finds an axis of the grid along which few indices separate the wrong elements from the right ones ([`separating`]).
fn along_axis(writes: &[(Wrote, bool)], index: &impl Fn(u32) -> Vec<usize>) -> Option<String> {
    let (any, _) = writes.first()?;
    let axes = index(any.block).len();
    (0..axes).find_map(|axis| {
        let keys = separating(writes, |wrote| index(wrote.block).get(axis).map(|at| *at as u32))?;
        let axis = ["x", "y", "z"].get(axis)?;
        Some(format!("the blocks at {} along {axis}", listed(&keys, &|key| key.to_string())))
    })
}

/// Returns the keys of the wrong elements, if they are few and separate the wrong elements from the right ones: other keys exist, and
/// nearly no right element has one of them. A few elements may agree with the reference by accident.
fn separating(writes: &[(Wrote, bool)], key: impl Fn(&Wrote) -> Option<u32>) -> Option<Vec<u32>> {
    let keyed: Vec<(u32, bool)> =
        writes.iter().map(|(wrote, wrong)| Some((key(wrote)?, *wrong))).collect::<Option<_>>()?;
    let wrong: BTreeSet<u32> = keyed.iter().filter(|(_, wrong)| *wrong).map(|(key, _)| *key).collect();
    let bad = keyed.iter().filter(|(_, wrong)| *wrong).count();
    let by_accident = keyed.iter().filter(|(key, is_wrong)| !is_wrong && wrong.contains(key)).count();
    let others = keyed.iter().any(|(key, _)| !wrong.contains(key));
    let separates = others && by_accident * ACCIDENTS <= bad;
    (separates && !wrong.is_empty() && wrong.len() <= LISTED).then(|| wrong.into_iter().collect())
}

/// Returns a wrong write, if one thread made all wrong writes and other threads wrote, too.
fn single(writes: &[(Wrote, bool)]) -> Option<Wrote> {
    let mut wrong = writes.iter().filter(|(_, is_wrong)| *is_wrong).map(|(wrote, _)| *wrote);
    let first = wrong.next()?;
    let mut all = writes.iter().map(|(wrote, _)| (wrote.block, wrote.thread));
    let same = wrong.all(|wrote| (wrote.block, wrote.thread) == (first.block, first.thread));
    (same && all.any(|who| who != (first.block, first.thread))).then_some(first)
}

fn listed(keys: &[u32], name: &dyn Fn(u32) -> String) -> String {
    let names: Vec<String> = keys.iter().map(|key| name(*key)).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}
