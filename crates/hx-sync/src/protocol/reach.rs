//! The coordinates of a part of a tensor in one dimension.

use std::collections::BTreeSet;
use std::sync::Arc;

/// The coordinates of a part, counted from its first one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reach {
    /// This number of consecutive coordinates.
    Run(i64),
    /// Coordinates with gaps, in ascending order.
    Steps(Arc<[i64]>),
}

/// The most coordinates of a part. More bits than this fit no shared memory.
const MOST: i64 = 1 << 21;

impl Reach {
    /// Returns the coordinates that some modes reach, each given by its factor and extent; without modes a single coordinate. `None` if these
    /// are more than [`MOST`].
    pub fn of(modes: &[(i64, i64)]) -> Option<Reach> {
        let within = |count: i64, (factor, extent): &(i64, i64)| {
            let count = count.checked_mul(*extent)?;
            (count <= MOST && factor.abs() <= MOST).then_some(count)
        };
        modes.iter().try_fold(1, within)?;
        let mut steps = BTreeSet::from([0]);
        for (factor, extent) in modes {
            steps = steps.iter().flat_map(|step| (0..*extent).map(move |c| step + factor * c)).collect();
        }
        let steps: Vec<i64> = steps.into_iter().collect();
        Some(match steps.last() {
            Some(last) if steps.first() == Some(&0) && last + 1 == steps.len() as i64 => Reach::Run(last + 1),
            _ => Reach::Steps(steps.into()),
        })
    }

    fn steps(&self, start: i64) -> Box<dyn Iterator<Item = i64> + '_> {
        match self {
            Reach::Run(length) => Box::new(start..start + length),
            Reach::Steps(steps) => Box::new(steps.iter().map(move |step| start + step)),
        }
    }

    fn contains(&self, start: i64, coordinate: i64) -> bool {
        match self {
            Reach::Run(length) => (start..start + length).contains(&coordinate),
            Reach::Steps(steps) => steps.binary_search(&(coordinate - start)).is_ok(),
        }
    }
}

/// Reports whether two parts, each with its first coordinate, have a coordinate in common.
pub(crate) fn meet((a, m): &(i64, Reach), (b, n): &(i64, Reach)) -> bool {
    match (m, n) {
        (Reach::Run(m), Reach::Run(n)) => *a < b + n && *b < a + m,
        (Reach::Steps(_), _) => m.steps(*a).any(|coordinate| n.contains(*b, coordinate)),
        (_, Reach::Steps(_)) => n.steps(*b).any(|coordinate| m.contains(*a, coordinate)),
    }
}

/// Reports whether the first part has all coordinates of the second one.
pub(crate) fn within((a, m): &(i64, Reach), (b, n): &(i64, Reach)) -> bool {
    match (m, n) {
        (Reach::Run(m), Reach::Run(n)) => a <= b && b + n <= a + m,
        _ => n.steps(*b).all(|coordinate| m.contains(*a, coordinate)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_runs_or_steps_up_to_a_limit() {
        assert_eq!(Reach::of(&[]), Some(Reach::Run(1)));
        assert_eq!(Reach::of(&[(8, 2), (1, 8)]), Some(Reach::Run(16)));
        assert_eq!(Reach::of(&[(4, 3)]), Some(Reach::Steps(Arc::from([0, 4, 8]))));
        for modes in [[(1, i64::MAX), (1, 1)], [(1, 1 << 20), (1, 1 << 20)], [(i64::MAX, 2), (1, 1)]] {
            assert_eq!(Reach::of(&modes), None, "{modes:?}");
        }
    }
}
