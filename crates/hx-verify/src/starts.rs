//! Finds the coordinates at which a view of a shared tensor may start, for every iteration of the loops around it, unrolled
//! or not, and for every launch.

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{Expr, Facts, Symbol};
use hx_tile::{SharedLayout, View};

use crate::Walk;

/// The most combinations of counters that are enumerated. If there are more, each offset takes all multiples of its divisor.
const COUNTED: i64 = 4096;

/// Returns the coordinates in the tensor at which a view may start and stay inside of `shape`. `width` is a number of elements.
/// Starts that differ only by whole `width`s and whole blocks of the swizzle move every address alike, so only the first of
/// them is returned.
pub(crate) fn starts(
    facts: &Facts,
    view: &View,
    shape: &[i64],
    place: &SharedLayout,
    width: i64,
) -> Vec<Vec<i64>> {
    let mut reach = vec![0; shape.len()];
    for ((dim, step), mode) in Walk::of(view).steps.iter().zip(&view.modes) {
        reach[*dim] += step * (mode.extent - 1);
    }
    let mut alike: Vec<Alike<'_>> = Vec::new();
    for (dim, (reach, extent)) in reach.iter().zip(shape).enumerate() {
        let (met, known) = (BTreeMap::new(), BTreeMap::new());
        alike.push(Alike { dim, reach: *reach, extent: *extent, place, width, met, known });
    }
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for start in together(facts, view, shape) {
        let classes: Option<Vec<usize>> = start.iter().zip(&mut alike).map(|(c, a)| a.class(*c)).collect();
        if classes.is_some_and(|classes| seen.insert(classes)) {
            out.push(start);
        }
    }
    out
}

/// Divides the starts along one dimension into classes that move every address alike.
struct Alike<'p> {
    dim: usize,
    /// The distance from the first to the last coordinate that the view walks.
    reach: i64,
    extent: i64,
    place: &'p SharedLayout,
    width: i64,
    /// The number of each class, by the places that its starts have in common.
    met: BTreeMap<Vec<i64>, usize>,
    /// The class of each start that was looked at.
    known: BTreeMap<i64, usize>,
}

impl Alike<'_> {
    /// Returns the class of a start; `None` if the view would leave the tensor from there, which an earlier stage rejects.
    fn class(&mut self, start: i64) -> Option<usize> {
        if start < 0 || start + self.reach >= self.extent {
            return None;
        }
        if let Some(class) = self.known.get(&start) {
            return Some(*class);
        }
        let swizzle = self.place.swizzle;
        let block = 1i64 << (swizzle.bits() + swizzle.base() + swizzle.shift().unsigned_abs());
        let period = block.max(self.width);
        let mode = self.place.layout.mode(self.dim);
        let from = mode.eval(start).div_euclid(period) * period;
        let places = (start..=start + self.reach).map(|c| mode.eval(c) - from).collect();
        let next = self.met.len();
        let class = *self.met.entry(places).or_insert(next);
        self.known.insert(start, class);
        Some(class)
    }
}

/// Returns the values that the offsets have together, for all values of the counters in them. If there are more than
/// [`COUNTED`] combinations of those, or a counter without bounds, each offset has all coordinates of [`multiples`], in every
/// combination with the others.
fn together(facts: &Facts, view: &View, shape: &[i64]) -> Vec<Vec<i64>> {
    let symbols: BTreeSet<Symbol> = view.offsets.iter().flat_map(Expr::symbols).collect();
    let counted: BTreeMap<Symbol, (i64, i64)> = symbols
        .iter()
        .filter_map(|symbol| match facts.range(&Expr::symbol(symbol.clone())) {
            (Some(least), Some(most)) if (0..COUNTED).contains(&most.saturating_sub(least)) => {
                Some((symbol.clone(), (least, most)))
            }
            _ => None,
        })
        .collect();
    let count = counted.values().try_fold(1i64, |all, (least, most)| all.checked_mul(most - least + 1));
    let exact = count.is_some_and(|count| count <= COUNTED) && counted.len() == symbols.len();
    if exact {
        return values(&counted.into_iter().collect::<Vec<_>>(), &|env| {
            view.offsets.iter().map(|offset| offset.eval(env).ok()).collect()
        });
    }
    let mut all = vec![vec![]];
    for (offset, extent) in view.offsets.iter().zip(shape) {
        let along = multiples(facts, offset, *extent);
        all = all
            .iter()
            .flat_map(|start: &Vec<i64>| along.iter().map(|c| [start.as_slice(), &[*c]].concat()))
            .collect();
    }
    all
}

/// The value of each symbol.
type Values<'a> = &'a dyn Fn(&Symbol) -> Option<i64>;

/// Returns the results of `of` for all combinations of the symbols' values, but those for which it returns `None`.
fn values(counted: &[(Symbol, (i64, i64))], of: &dyn Fn(Values<'_>) -> Option<Vec<i64>>) -> Vec<Vec<i64>> {
    let mut now: BTreeMap<&Symbol, i64> = counted.iter().map(|(symbol, range)| (symbol, range.0)).collect();
    let mut out = Vec::new();
    loop {
        out.extend(of(&|symbol| now.get(symbol).copied()));
        let next = counted.iter().find(|(symbol, range)| {
            let value = now.entry(symbol).or_default();
            let carries = *value == range.1;
            *value = if carries { range.0 } else { *value + 1 };
            !carries
        });
        if next.is_none() {
            return out;
        }
    }
}

/// Returns the coordinates below `extent` that an offset may have, judging by its divisor, by its divisor without the
/// constant term, and by its range.
fn multiples(facts: &Facts, offset: &Expr, extent: i64) -> Vec<i64> {
    let constant = offset.constant_term();
    let whole = facts.divisor(offset);
    let rest = facts.divisor(&(offset.clone() - Expr::constant(constant)));
    let divides = |d: i64, x: i64| if d == 0 { x == 0 } else { x % d == 0 };
    let (least, most) = facts.range(offset);
    let inside = |c: &i64| least.is_none_or(|least| *c >= least) && most.is_none_or(|most| *c <= most);
    (0..extent).filter(|c| divides(whole, *c) && divides(rest, c - constant)).filter(inside).collect()
}
