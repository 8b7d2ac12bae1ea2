//! The periods with which the values of an expression repeat.

use std::collections::BTreeSet;

use crate::{Atom, Expr};

impl Expr {
    /// Returns the periods of all remainders and quotients by constants and of all masks that occur, in steps of the innermost
    /// dividend: `i % 8` has the period 8 of `i`, and `i / 4 % 8` has 32 for the remainder and 4 for the quotient.
    pub fn periods(&self) -> BTreeSet<i64> {
        let mut found = BTreeSet::new();
        for atom in self.terms().flat_map(|(factors, _)| factors) {
            let (inside, period) = match atom {
                Atom::Symbol(_) => continue,
                Atom::Mod(a, b) => (vec![a, b], b.as_const()),
                Atom::And(a, mask) => (vec![a], mask.checked_add(1)),
                Atom::Wrap(a, _) => (vec![a], None),
                // A quotient has a period, too, because `i - i / 8 * 8` is the remainder `i % 8`.
                Atom::Div(a, b) => (vec![a, b], b.as_const()),
                Atom::Min(a, b) | Atom::Max(a, b) | Atom::Xor(a, b) => (vec![a, b], None),
            };
            let steps = inside.iter().flat_map(|inside| inside.terms().flat_map(|(factors, _)| factors));
            let steps =
                steps.filter_map(|atom| if let Atom::Div(_, by) = atom { by.as_const() } else { None });
            let steps = steps.max().unwrap_or(1);
            found.extend(period.and_then(|period| period.checked_mul(steps)).filter(|period| *period > 0));
            found.extend(inside.into_iter().flat_map(Expr::periods));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Facts, Symbol};

    #[test]
    fn remainders_come_again() {
        let (facts, i) = (Facts::default(), Expr::symbol(Symbol::Dim("i".into())));
        let c = Expr::constant;
        let quotient = i.div(&c(4), &facts);
        assert_eq!(i.rem(&c(8), &facts).periods(), BTreeSet::from([8]));
        assert_eq!(quotient.rem(&c(8), &facts).periods(), BTreeSet::from([4, 32]));
        assert_eq!((i.clone() + c(3)).periods(), BTreeSet::new());
    }
}
