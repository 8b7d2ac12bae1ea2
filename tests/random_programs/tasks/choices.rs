//! The choices of which a program is a function.
//!
//! A program is drawn and written in one pass over a sequence of small numbers. The first time they are random; the shrinker
//! repeats the pass with a changed sequence. In each choice 0 is the plainest, so that a sequence shrinks towards zeros.

use crate::support::Random;

/// A sequence of choices: those given, then random ones, then zeros.
pub(crate) struct Choices {
    given: Vec<usize>,
    random: Option<Random>,
    taken: Vec<usize>,
}

impl Choices {
    /// Makes the choices of program number `case` of a seed.
    pub(crate) fn drawn(seed: u64, case: u64) -> Choices {
        let random = Random::new(seed.rotate_left(17) ^ case.wrapping_mul(0xa076_1d64_78bd_642f));
        Choices { given: Vec::new(), random: Some(random), taken: Vec::new() }
    }

    /// Makes the choices that a sequence gives; those beyond its end are 0.
    pub(crate) fn given(given: Vec<usize>) -> Choices {
        Choices { given, random: None, taken: Vec::new() }
    }

    /// Returns the choices that were made so far.
    pub(crate) fn into_taken(self) -> Vec<usize> {
        self.taken
    }

    /// Returns a number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        let n = n.max(1);
        let chosen = match (self.given.get(self.taken.len()), &mut self.random) {
            (Some(given), _) => (*given).min(n - 1),
            (None, Some(random)) => (random.next() % n as u64) as usize,
            (None, None) => 0,
        };
        self.taken.push(chosen);
        chosen
    }

    /// Returns one of several, of which the first is the plainest.
    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Returns true with a probability of `n` percent.
    pub(crate) fn percent(&mut self, n: usize) -> bool {
        self.below(100) >= 100 - n.min(100)
    }

    /// Returns a number from `low` to `high`, inclusive.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1).max(1) as usize) as i64
    }
}

/// Returns the smallest sequence found that still fails. Each try replaces a choice by a smaller one, or leaves choices out.
pub(crate) fn shrink(taken: Vec<usize>, mut fails: impl FnMut(&[usize]) -> bool) -> Vec<usize> {
    let mut best = taken;
    loop {
        let before = best.clone();
        for length in [8, 4, 2, 1] {
            let mut at = 0;
            while at + length <= best.len() {
                let mut shorter = best.clone();
                shorter.drain(at..at + length);
                if fails(&shorter) {
                    best = shorter;
                } else {
                    at += length;
                }
            }
        }
        for at in 0..best.len() {
            for smaller in [0, best[at] / 2, best[at].saturating_sub(1)] {
                if smaller < best[at] {
                    let mut next = best.clone();
                    next[at] = smaller;
                    if fails(&next) {
                        best = next;
                    }
                }
            }
        }
        if best == before {
            return best;
        }
    }
}
