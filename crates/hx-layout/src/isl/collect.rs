//! Writes a list of points as a relation of a few lines.
//!
//! If each coordinate, in the order of the points, is an offset plus a layout's value, one `exists` says them all. Otherwise the
//! points are cut into runs of equal steps, one part each.

use super::recover::modes_of;
use super::relation::{Relation, RelationError, Space};
use super::write::digits_sum;

/// The largest number of runs that are written.
const MAX_RUNS: usize = 256;

/// Returns the relation of these points, which are in order and differ. Its dimensions are those of `space`.
///
/// # Errors
/// If the points make more than [`MAX_RUNS`] runs, or a number does not fit.
pub(super) fn relation_of(space: &Space, points: Vec<Vec<i64>>) -> Result<Relation, RelationError> {
    let names = space.part(Vec::new()).shown_names();
    let head = match space.inputs {
        None => format!("[{}]", names.join(", ")),
        Some(inputs) => format!("[{}] -> [{}]", names[..inputs].join(", "), names[inputs..].join(", ")),
    };
    let count = fresh(&names);
    let mut formulas = Vec::new();
    if points.is_empty() {
        formulas.push("false".to_string());
    } else if run(&points) == points.len() {
        formulas.push(run_formula(&names, &count, &points)?);
    } else if let Some(formula) = whole(&names, &count, &points) {
        formulas.push(formula);
    } else {
        let mut rest = points.as_slice();
        while !rest.is_empty() {
            let length = run(rest);
            formulas.push(run_formula(&names, &count, &rest[..length])?);
            rest = &rest[length..];
            if formulas.len() > MAX_RUNS {
                return Err(RelationError::Undefined(format!(
                    "the result has {} points in more than {MAX_RUNS} runs of equal steps, too many to write as a relation",
                    points.len()
                )));
            }
        }
    }
    let parts: Vec<String> = formulas.iter().map(|formula| format!("{head} : {formula}")).collect();
    let mut relation = Relation::parse(&format!("{{ {} }}", parts.join("; ")))?;
    relation.space = space.clone();
    Ok(relation)
}

/// Returns a name that is none of `names`.
fn fresh(names: &[String]) -> String {
    let taken = |name: &String| names.contains(name);
    let candidates = (0..).map(|n| if n == 0 { "k".to_string() } else { format!("k{n}") });
    candidates.into_iter().find(|name| !taken(name)).unwrap_or_default()
}

/// Writes all points as layouts of their number; `None` if a coordinate follows none.
fn whole(names: &[String], count: &str, points: &[Vec<i64>]) -> Option<String> {
    let size = i64::try_from(points.len()).ok()?;
    let mut clauses = vec![format!("0 <= {count} < {size}")];
    for (d, name) in names.iter().enumerate() {
        let first = points[0][d];
        let values = |k: usize| points[k][d].wrapping_sub(first);
        let modes = modes_of(&values, points.len()).ok()?;
        let layout = crate::Layout::flat(&modes).ok()?;
        if !(0..size).all(|k| layout.eval(k).checked_add(first) == Some(points[k as usize][d])) {
            return None;
        }
        clauses.push(format!("{name} = {}", digits_sum(count, &layout, first)));
    }
    Some(format!("exists ({count} : {})", clauses.join(" and ")))
}

/// Returns the length of the longest run of equal steps at the beginning.
fn run(points: &[Vec<i64>]) -> usize {
    let step = |pair: &[Vec<i64>]| -> Option<Vec<i64>> {
        pair[0].iter().zip(&pair[1]).map(|(a, b)| b.checked_sub(*a)).collect()
    };
    let Some(first) = points.get(..2).and_then(step) else { return 1 };
    1 + points.windows(2).take_while(|pair| step(pair).as_ref() == Some(&first)).count()
}

/// Writes a run: an interval if it is one, otherwise multiples of a count.
fn run_formula(names: &[String], count: &str, points: &[Vec<i64>]) -> Result<String, RelationError> {
    let first = &points[0];
    let step: Vec<i64> = match points.get(1) {
        Some(second) => first.iter().zip(second).map(|(a, b)| b - a).collect(),
        None => vec![0; first.len()],
    };
    let last = &points[points.len() - 1];
    if let ([name], [1]) = (names, step.as_slice()) {
        return Ok(format!("{} <= {name} <= {}", first[0], last[0]));
    }
    let clauses = names.iter().zip(first).zip(&step);
    let clauses = clauses.map(|((name, at), step)| format!("{name} = {}", steps(*at, *step, count)));
    let clauses = clauses.collect::<Vec<_>>().join(" and ");
    Ok(match points.len() {
        1 => clauses,
        length => format!("exists ({count} : 0 <= {count} < {length} and {clauses})"),
    })
}

/// Writes `at + step*count` with as few signs as it needs.
fn steps(at: i64, step: i64, count: &str) -> String {
    let multiple = match step.unsigned_abs() {
        0 => return at.to_string(),
        1 => count.to_string(),
        size => format!("{size}*{count}"),
    };
    match (at, step < 0) {
        (0, false) => multiple,
        (0, true) => format!("-{multiple}"),
        (_, false) => format!("{at} + {multiple}"),
        (_, true) => format!("{at} - {multiple}"),
    }
}
