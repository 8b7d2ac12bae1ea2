//! A launch of a protocol: the values of its symbols, and the data that it reads.

use std::collections::BTreeMap;

use hx_index::Symbol;

/// Loop counts, each as the text of its expression and its value in rounds.
pub type Counts = Vec<(String, i64)>;

/// The numbers of a launch that decide the statements of a protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    /// The values of the symbols in each block of the first cluster.
    pub(crate) blocks: Vec<BTreeMap<Symbol, i64>>,
    pub(crate) counts: Counts,
    pub(crate) pattern: Pattern,
}

/// The variation of the data of a source. Each element is the level of the source times a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pattern {
    /// All elements are equal: lengths.
    Flat,
    /// Each element is larger than the one before by the level: positions at which equal parts begin.
    Ramp,
    /// Neighbouring elements differ.
    Uneven,
    /// Neighbouring elements differ by parts that differ.
    UnevenRamp,
    /// After the first elements, all others are negative or 0: a list with an end.
    Ended { after: i64, negative: bool },
    /// The first elements are 0: flags that others raise.
    Begun { after: i64 },
}

/// The weights of neighbouring elements in an uneven pattern, which repeat.
const WEIGHTS: [i64; 6] = [1, 0, 0, 2, 1, 3];

impl Pattern {
    /// Returns the weight of an element with these coordinates.
    pub(crate) fn weight(self, at: &[i64]) -> i64 {
        let last = at.last().copied().unwrap_or(0);
        let outer: i64 = at.iter().rev().skip(1).fold(0, |sum, at| sum.wrapping_mul(3).wrapping_add(*at));
        let length = WEIGHTS.len() as i64;
        let weight = |index: i64| WEIGHTS[index.rem_euclid(length) as usize];
        match self {
            Pattern::Flat => 1,
            Pattern::Ramp => last,
            Pattern::Uneven => weight(last.wrapping_add(outer)),
            Pattern::UnevenRamp => {
                let (whole, rest) = (last.div_euclid(length), last.rem_euclid(length));
                let all: i64 = WEIGHTS.iter().sum();
                (0..rest).fold(whole.saturating_mul(all), |sum, at| sum + weight(at.wrapping_add(outer)))
            }
            Pattern::Ended { after, .. } if last < after => 1,
            Pattern::Ended { negative, .. } => -i64::from(negative),
            Pattern::Begun { after } => i64::from(last >= after),
        }
    }
}

/// The prefix of the symbol of a level: the source of the data follows. Messages show the whole name.
pub const LEVEL: &str = "values of ";

/// The name of the source of numbers that a block reads from its registers.
pub(crate) const REGISTERS: &str = "registers";

/// Returns the symbol of the level of a source of data. No dimension of a kernel has a name with spaces.
pub(crate) fn level(source: &str) -> Symbol {
    Symbol::Dim(format!("{LEVEL}{source}").into())
}

/// Reports whether a symbol is the level of a source of data.
pub(crate) fn is_level(symbol: &Symbol) -> bool {
    matches!(symbol, Symbol::Dim(name) if name.starts_with(LEVEL))
}
