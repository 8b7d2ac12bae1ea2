//! Chooses the combinations that are measured out of those that are legal.
//!
//! Combinations whose estimates differ by less than the model's error are equally good for all that is known. Among those, the first half
//! is taken by rank, without ties that differ in one axis only. The other half is taken so that it differs: variants of a combination that
//! was taken already, with another value in a single axis, come last.

use super::{Axis, Candidate};

/// The relative error of estimates within which their order means nothing.
const ERROR: f64 = 0.15;

/// Chooses at most `limit` of the legal combinations, which are sorted by their estimates. `accepts` reports whether one can be
/// compiled. The result is sorted in the same way.
pub(super) fn choose(
    legal: Vec<Candidate>,
    limit: usize,
    mut accepts: impl FnMut(&Candidate) -> bool,
    axes: &[Axis],
) -> Vec<Candidate> {
    let best = legal.first().map_or(0.0, |candidate| candidate.estimate.cycles);
    let mut open: Vec<(usize, Candidate)> = legal.into_iter().enumerate().collect();
    let mut taken: Vec<(usize, Candidate)> = Vec::new();
    while taken.len() < limit && !open.is_empty() {
        let near = open.iter().take_while(|(_, it)| it.estimate.cycles <= best * (1.0 + ERROR)).count();
        let at = if taken.len() < limit.div_ceil(2) || near == 0 {
            open.iter()
                .position(|(_, it)| !taken.iter().any(|(_, other)| is_tie(it, other, axes)))
                .unwrap_or(0)
        } else {
            let alike = |candidate: &Candidate| {
                taken.iter().filter(|(_, other)| differing(candidate, other, axes) <= 1).count()
            };
            // `min_by_key` returns the first of equal candidates, which has the better estimate.
            (0..near).min_by_key(|at| alike(&open[*at].1)).unwrap_or(0)
        };
        let (rank, candidate) = open.remove(at);
        if accepts(&candidate) {
            taken.push((rank, candidate));
        }
    }
    taken.sort_by_key(|(rank, _)| *rank);
    taken.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Reports whether two combinations differ in an axis that the model does not see, such as the order of tiles.
fn is_tie(a: &Candidate, b: &Candidate, axes: &[Axis]) -> bool {
    a.estimate.cycles == b.estimate.cycles && differing(a, b, axes) <= 1
}

/// Returns the number of axes in which two combinations differ.
fn differing(a: &Candidate, b: &Candidate, axes: &[Axis]) -> usize {
    axes.iter().filter(|axis| a.args.get(&axis.name) != b.args.get(&axis.name)).count()
}
