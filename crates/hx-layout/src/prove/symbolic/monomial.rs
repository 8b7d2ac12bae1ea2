//! Monomials: a number times powers of names.

use std::collections::BTreeMap;
use std::fmt;

/// A number times powers of names. The monomial 0 has no names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Monomial {
    pub(super) factor: i64,
    powers: BTreeMap<String, u32>,
}

impl Monomial {
    pub(super) fn number(factor: i64) -> Monomial {
        Monomial { factor, powers: BTreeMap::new() }
    }

    pub(super) fn name(name: &str) -> Monomial {
        Monomial { factor: 1, powers: BTreeMap::from([(name.to_string(), 1)]) }
    }

    pub(super) fn is(&self, number: i64) -> bool {
        self.factor == number && self.powers.is_empty()
    }

    /// Returns the product; `None` if a number does not fit.
    pub(super) fn times(&self, other: &Monomial) -> Option<Monomial> {
        let factor = self.factor.checked_mul(other.factor)?;
        if factor == 0 {
            return Some(Monomial::number(0));
        }
        let mut powers = self.powers.clone();
        for (name, power) in &other.powers {
            *powers.entry(name.clone()).or_default() += power;
        }
        Some(Monomial { factor, powers })
    }

    /// Returns the quotient if it is a monomial with an integer factor.
    pub(super) fn over(&self, other: &Monomial) -> Option<Monomial> {
        if other.factor <= 0 || self.factor % other.factor != 0 {
            return None;
        }
        let mut powers = self.powers.clone();
        for (name, power) in &other.powers {
            let left = powers.get(name)?.checked_sub(*power)?;
            powers.insert(name.clone(), left);
        }
        powers.retain(|_, power| *power > 0);
        Some(Monomial { factor: self.factor / other.factor, powers })
    }

    /// Returns a sort key that respects divisibility.
    pub(super) fn weight(&self) -> (u32, i64) {
        (self.powers.values().sum(), self.factor)
    }

    /// Yields the names.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.powers.keys()
    }

    /// Returns the number for these values of the names; `None` if it does not fit, or a name has no value.
    pub(super) fn at(&self, values: &BTreeMap<String, i64>) -> Option<i64> {
        self.powers.iter().try_fold(self.factor, |product, (name, power)| {
            product.checked_mul(values.get(name)?.checked_pow(*power)?)
        })
    }
}

impl fmt::Display for Monomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        if self.factor != 1 || self.powers.is_empty() {
            parts.push(self.factor.to_string());
        }
        for (name, power) in &self.powers {
            parts.extend((0..*power).map(|_| name.clone()));
        }
        f.write_str(&parts.join("*"))
    }
}
