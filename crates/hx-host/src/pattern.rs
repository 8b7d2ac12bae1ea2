//! Describes in words which elements are wrong: a row, a column, the last tile, every second element.
//!
//! It uses only a shape and a mask.

use std::collections::BTreeSet;

/// Returns the coordinates of the row-major element `index`.
pub fn coordinate(shape: &[usize], mut index: usize) -> Vec<usize> {
    let mut out = vec![0; shape.len()];
    for d in (0..shape.len()).rev() {
        let extent = shape[d].max(1);
        out[d] = index % extent;
        index /= extent;
    }
    out
}

/// Describes the marked elements. `wrong` is row-major and has at least one mark.
pub fn describe(shape: &[usize], wrong: &[bool]) -> String {
    let count = wrong.iter().filter(|w| **w).count();
    if count == wrong.len() {
        return "every element".to_owned();
    }
    let mut sets = vec![BTreeSet::new(); shape.len()];
    for (i, _) in wrong.iter().enumerate().filter(|(_, w)| **w) {
        for (set, c) in sets.iter_mut().zip(coordinate(shape, i)) {
            set.insert(c);
        }
    }
    if count == 1 {
        return "one element".to_owned();
    }
    let parts: Vec<String> = (0..shape.len())
        .filter(|&d| sets[d].len() < shape[d])
        .map(|d| {
            let along: Vec<usize> = sets[d].iter().copied().collect();
            along_dimension(&along, shape[d], &dimension_names(d, shape.len()))
        })
        .collect();
    let area: usize = sets.iter().map(BTreeSet::len).product();
    if area == count {
        return parts.join(" in ");
    }
    if let Some(text) = beyond(shape, wrong) {
        return text;
    }
    let percent = (count as f64 / area as f64 * 100.0).clamp(1.0, 99.0);
    let place = if parts.is_empty() { "the tensor".to_owned() } else { parts.join(" in ") };
    format!("{SCATTERED} over {percent:.0}% of {place}")
}

/// Reports whether marks of a tensor with at least two dimensions have no simple pattern.
pub fn is_scattered(shape: &[usize], wrong: &[bool]) -> bool {
    shape.len() > 1 && describe(shape, wrong).starts_with(SCATTERED)
}

/// The first word of a description without a pattern.
const SCATTERED: &str = "scattered";

/// Describes the marks if the unmarked elements are one box at the origin, as when a grid lacks its last blocks: `rows from 64 on
/// and columns from 64 on`. `None` if they are not.
fn beyond(shape: &[usize], wrong: &[bool]) -> Option<String> {
    let mut ends = vec![0; shape.len()];
    for (i, _) in wrong.iter().enumerate().filter(|(_, w)| !**w) {
        for (end, c) in ends.iter_mut().zip(coordinate(shape, i)) {
            *end = (*end).max(c + 1);
        }
    }
    let is_inside = |i: usize| coordinate(shape, i).iter().zip(&ends).all(|(c, end)| c < end);
    if !wrong.iter().enumerate().all(|(i, w)| *w != is_inside(i)) {
        return None;
    }
    let cut = (0..shape.len()).filter(|d| ends[*d] < shape[*d]);
    let from = cut.map(|d| format!("{} from {} on", bare(&dimension_names(d, shape.len()).1), ends[d]));
    Some(from.collect::<Vec<_>>().join(" and "))
}

/// Returns the words before one index and before several indices of dimension `d`: `row` and `rows`, or `i1 =` and `i1 in` if
/// there are more than two dimensions.
fn dimension_names(d: usize, rank: usize) -> (String, String) {
    let both = |one: &str, many: &str| (one.to_owned(), many.to_owned());
    match (rank, d) {
        (1, _) => both("element", "elements"),
        (2, 0) => both("row", "rows"),
        (2, _) => both("column", "columns"),
        _ => both(&format!("i{d} ="), &format!("i{d} in")),
    }
}

/// Returns a name of [`dimension_names`] without its ` =` or ` in`.
fn bare(name: &str) -> &str {
    name.trim_end_matches(" =").trim_end_matches(" in")
}

fn along_dimension(set: &[usize], extent: usize, (one, many): &(String, String)) -> String {
    let (first, last) = (set[0], set[set.len() - 1]);
    if set.len() == 1 {
        let end = if first + 1 == extent { ", the last" } else { "" };
        return format!("{one} {first}{end}");
    }
    if last - first + 1 == set.len() {
        let end = if last + 1 == extent { format!(", the last {}", set.len()) } else { String::new() };
        return format!("{many} {first}..{}{end}", last + 1);
    }
    if let Some(text) = periodic(set, extent, one, many) {
        return text;
    }
    if set.len() <= 6 {
        let all: Vec<String> = set.iter().map(usize::to_string).collect();
        return format!("{many} {}", all.join(", "));
    }
    format!("{many} {first}..{}, not all", last + 1)
}

/// Describes a set of indices that repeats with a period: `every second row`, `columns 8..16 of every 16`. `None` if it has no
/// period up to half of the extent, or is not one run within a period.
fn periodic(set: &[usize], extent: usize, one: &str, many: &str) -> Option<String> {
    let mut member = vec![false; extent];
    set.iter().for_each(|&i| member[i] = true);
    let period = (2..=extent / 2).find(|&p| (p..extent).all(|i| member[i] == member[i - p]))?;
    let residues: Vec<usize> = (0..period).filter(|&i| member[i]).collect();
    let (&first, &last) = (residues.first()?, residues.last()?);
    if residues.len() == 1 {
        let from = if first == 0 { String::new() } else { format!(" from {first}") };
        return Some(format!("every {} {}{from}", ordinal(period), bare(one)));
    }
    (last - first + 1 == residues.len()).then(|| format!("{many} {first}..{} of every {period}", last + 1))
}

fn ordinal(n: usize) -> String {
    match n {
        2 => "second".to_owned(),
        3 => "third".to_owned(),
        4 => "fourth".to_owned(),
        _ => {
            let suffix = match (n % 10, n % 100) {
                (1, t) if t != 11 => "st",
                (2, t) if t != 12 => "nd",
                (3, t) if t != 13 => "rd",
                _ => "th",
            };
            format!("{n}{suffix}")
        }
    }
}
