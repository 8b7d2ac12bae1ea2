//! The patterns of data under which a protocol is followed.

use hx_index::Expr;

use super::{Pattern, Protocol, Stmt};

/// Returns the patterns of data under which a protocol is followed: equal data and, if statements read numbers, unequal data. If a `while`
/// depends on data, also lists that end and flags that begin after each number of elements in `wanted`.
pub(super) fn patterns(protocol: &Protocol, wanted: &[i64]) -> Vec<Pattern> {
    let (mut reads, mut ends) = (false, false);
    protocol.visit(&mut |stmt| {
        reads |= matches!(stmt, Stmt::Number { .. });
        ends |= matches!(stmt, Stmt::While { .. }) && stmt.counts();
    });
    let mut patterns = vec![Pattern::Flat];
    if reads {
        patterns.extend([Pattern::Ramp, Pattern::Uneven, Pattern::UnevenRamp]);
    }
    if reads && ends {
        for &after in wanted {
            patterns.extend([true, false].map(|negative| Pattern::Ended { after, negative }));
            patterns.push(Pattern::Begun { after });
        }
    }
    patterns
}

impl Pattern {
    /// Returns the weight of an element as an expression. It is only near the weight where that has no expression: 1 for an
    /// uneven pattern, a list or flags, and the last coordinate for an uneven ramp.
    pub(super) fn weight_of(self, at: &[Expr]) -> Expr {
        match self {
            Pattern::Flat | Pattern::Uneven | Pattern::Ended { .. } | Pattern::Begun { .. } => {
                Expr::constant(1)
            }
            Pattern::Ramp | Pattern::UnevenRamp => at.last().cloned().unwrap_or_default(),
        }
    }

    /// Reports whether the search chooses levels of this pattern for every wanted number of rounds, and so follows up to
    /// [`super::MOST`] launches of it. For the other patterns, which show elements that differ, it follows up to
    /// [`super::FEWER`].
    pub(super) fn decides_levels(self) -> bool {
        matches!(self, Pattern::Flat | Pattern::Ramp)
    }
}
