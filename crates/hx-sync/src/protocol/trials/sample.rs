//! Draws values for the symbols of a launch where no search finds some number of rounds: counts that neither grow nor fall with
//! a single symbol.

use std::collections::BTreeMap;

use hx_index::Symbol;

use super::super::script::{Sight, walk};
use super::space::Values;
use super::{Coverage, Launch, Protocol, Search};

/// The number of launches that are drawn for each pattern of data.
const DRAWN: usize = 192;

/// A generator of numbers (Knuth's MMIX constants). The same numbers are drawn in every run.
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end.max(1)
    }
}

/// The best drawn launch for one loop.
struct Best {
    rounds: i64,
    launch: Launch,
}

impl Search<'_> {
    /// Returns launches in which loops have numbers of rounds that `coverage` lacks, and conditions the truth that it lacks.
    pub(super) fn drawn(&self, protocol: &Protocol, coverage: &mut Coverage) -> Vec<Launch> {
        let mut numbers = Numbers(1);
        let start = self.space.start();
        let mut best: BTreeMap<usize, Best> = BTreeMap::new();
        let mut sides: BTreeMap<(usize, bool), Launch> = BTreeMap::new();
        let mut cases: BTreeMap<(usize, usize), Launch> = BTreeMap::new();
        for _ in 0..DRAWN {
            let values = self.varied(&start, &mut numbers);
            let Some(values) = self.space.mended(&values) else { continue };
            let Some(launch) = self.launch(&values, false) else { continue };
            let mut chance = |end: i64| numbers.below(end.unsigned_abs()) as i64;
            walk(protocol, &launch, &mut chance, &mut |sight| match sight {
                Sight::Rounds { of, rounds } => {
                    if let Some((site, wanted)) = coverage.drawn(of, rounds) {
                        // The nearest number of rounds to the one that is wanted.
                        let distance = |rounds: i64| (rounds - wanted).abs();
                        let known = best.get(&site);
                        if known.is_none_or(|known| distance(rounds) < distance(known.rounds)) {
                            best.insert(site, Best { rounds, launch: launch.clone() });
                        }
                    }
                }
                Sight::Truth { of, holds } => {
                    if let Some(site) = coverage.lacks(of, holds) {
                        sides.entry((site, holds)).or_insert_with(|| launch.clone());
                    }
                }
                Sight::At { of, values } => {
                    for case in coverage.lacks_cases(of, values) {
                        cases.entry(case).or_insert_with(|| launch.clone());
                    }
                }
                Sight::Place { .. } => {}
            });
        }
        let best = best.into_values().map(|best| best.launch);
        best.chain(sides.into_values()).chain(cases.into_values()).collect()
    }

    /// Draws values of all symbols.
    pub(super) fn varied(&self, start: &Values, numbers: &mut Numbers) -> Values {
        start.iter().map(|(symbol, value)| (symbol.clone(), self.draw(symbol, *value, numbers))).collect()
    }

    /// Draws a value of a symbol: small or large, as the facts allow.
    fn draw(&self, symbol: &Symbol, start: i64, numbers: &mut Numbers) -> i64 {
        let is_given = self.known.given.iter().any(|(given, _)| given == symbol);
        let step = self.space.step(symbol);
        let multiple = match numbers.below(3) {
            0 => 1 + numbers.below(8) as i64,
            1 => 1 + numbers.below(64) as i64,
            _ => 1 << numbers.below(9),
        };
        match symbol {
            _ if is_given => start,
            Symbol::BlockIdx(_) => numbers.below(6) as i64,
            _ => self.space.allowed(symbol, multiple * step),
        }
    }
}
