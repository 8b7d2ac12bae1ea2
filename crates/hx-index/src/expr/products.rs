//! The products of a sum with their coefficients.

use std::sync::{Arc, OnceLock};

use super::{Expr, Monomial, Terms};

/// Pairs of a product and its coefficient, sorted by product. A sorted vector suffices, because most sums have few products.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Products(pub(super) Vec<(Monomial, i64)>);

impl Products {
    /// Returns the index of a product as `Ok`, or the index at which it is to be inserted as `Err`.
    pub(super) fn at(&self, monomial: &Monomial) -> Result<usize, usize> {
        self.0.binary_search_by(|(m, _)| m.cmp(monomial))
    }

    /// Adds a product with a coefficient. If the coefficients of the product add up to 0, the product is removed.
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
