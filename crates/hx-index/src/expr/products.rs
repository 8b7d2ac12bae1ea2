//! The products of a sum.

use std::sync::{Arc, OnceLock};

use super::{Expr, Monomial, Terms};

/// Products with their coefficients, by product. Most sums have few.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Products(pub(super) Vec<(Monomial, i64)>);

impl Products {
    /// Returns the position of a product, or the one that it would have.
    pub(super) fn at(&self, monomial: &Monomial) -> Result<usize, usize> {
        self.0.binary_search_by(|(m, _)| m.cmp(monomial))
    }

    /// Adds a product. One whose coefficients add up to 0 is left out.
    pub(super) fn add(&mut self, monomial: Monomial, coefficient: i64) {
        match self.at(&monomial) {
            Err(at) if coefficient != 0 => self.0.insert(at, (monomial, coefficient)),
            Err(_) => {}
            Ok(at) => {
                let sum = &mut self.0[at].1;
                *sum = sum.saturating_add(coefficient);
                if *sum == 0 {
                    self.0.remove(at);
                }
            }
        }
    }
}

impl From<Products> for Expr {
    fn from(products: Products) -> Expr {
        Expr { terms: Arc::new(Terms { products, hash: OnceLock::new() }) }
    }
}
