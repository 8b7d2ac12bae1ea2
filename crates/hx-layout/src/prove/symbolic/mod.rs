//! Decides equations whose extents and strides hold names, for all values of the names at once.
//!
//! Extents and strides are monomials: a number times powers of names, each name at least 1. Coalescing and composition by
//! divisibility of monomials are sound for every value. If they do not decide, small values are tried; these can refute an
//! equation but not prove it. This module knows plain layouts, `∘`, divides and products by a layout, and complements.

mod modes;
mod monomial;
mod side;

use std::collections::{BTreeMap, BTreeSet};

use super::{Difference, Outcome, first_plain_difference};
use crate::LayoutError;
use crate::parse::Cursor;
use modes::coalesced;
use side::{Side, side};

/// The values tried for each name.
const VALUES: [i64; 6] = [1, 2, 3, 4, 6, 8];

/// The largest number of instances tried.
const INSTANCES: usize = 4096;

/// A parsed equation, with its names and texts.
pub(super) struct Equation {
    sides: [Side; 2],
    texts: [String; 2],
    names: BTreeSet<String>,
}

impl Equation {
    /// Reads `left == right`, where a side is a layout such as `(a,b):(1,a)`, a composition `A ∘ B`, or a call of a function that
    /// this module knows. Returns `None` if the text has another form, or no names.
    pub(super) fn read(text: &str) -> Option<Equation> {
        let (left, right) = text.split_once("==")?;
        let read = |text: &str| {
            let mut cursor = Cursor::new(text);
            let side = side(&mut cursor, 0)?;
            cursor.finish()?;
            Ok::<Side, LayoutError>(side)
        };
        let sides = [read(left).ok()?, read(right).ok()?];
        let mut names = BTreeSet::new();
        sides.iter().for_each(|side| side.names(&mut names));
        let texts = [left.trim().to_string(), right.trim().to_string()];
        (!names.is_empty()).then_some(Equation { sides, texts, names })
    }

    pub(super) fn texts(&self) -> [String; 2] {
        self.texts.clone()
    }

    /// Proves the equation for all values, refutes it for some, or leaves it open.
    pub(super) fn decide(&self) -> Outcome {
        let [left, right] = &self.sides;
        if let (Some(a), Some(b)) = (left.modes(), right.modes())
            && let (Some(a), Some(b)) = (coalesced(&a), coalesced(&b))
            && a == b
        {
            return Outcome::Equal;
        }
        let mut tried = 0;
        for values in self.instances() {
            // For some values a side is not a layout. The equation says nothing about these values, so they are skipped.
            let (Some(Ok(a)), Some(Ok(b))) = (left.at(&values), right.at(&values)) else { continue };
            tried += 1;
            let values: Vec<(String, i64)> = values.into_iter().collect();
            if a.size() != b.size() {
                return Outcome::Instance(values, Box::new(Outcome::Sizes(a.size(), b.size())));
            }
            if let Some(at) = first_plain_difference(&a, &b) {
                let difference = Difference { at, left: a.eval(at), right: b.eval(at) };
                return Outcome::Instance(values, Box::new(Outcome::Differ(difference)));
            }
        }
        Outcome::Open(tried)
    }

    /// Yields assignments of values to the names; the last name varies fastest.
    fn instances(&self) -> impl Iterator<Item = BTreeMap<String, i64>> + '_ {
        let count = u32::try_from(self.names.len()).ok().and_then(|n| VALUES.len().checked_pow(n));
        (0..count.unwrap_or(INSTANCES).min(INSTANCES)).map(|mut i| {
            let value = |name: &String| {
                let value = VALUES[i % VALUES.len()];
                i /= VALUES.len();
                (name.clone(), value)
            };
            self.names.iter().rev().map(value).collect()
        })
    }
}
