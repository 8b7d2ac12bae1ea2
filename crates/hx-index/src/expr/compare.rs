//! The order, the equality and the hash of expressions. Most compared expressions are copies that share their terms, so pointers
//! are compared first.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::{Expr, Terms};

impl PartialOrd for Expr {
    fn partial_cmp(&self, other: &Expr) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Expr {
    fn cmp(&self, other: &Expr) -> Ordering {
        if Arc::ptr_eq(&self.terms, &other.terms) {
            return Ordering::Equal;
        }
        self.terms.products.cmp(&other.terms.products)
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        Arc::ptr_eq(&self.terms, &other.terms) || self.terms.products == other.terms.products
    }
}

impl Eq for Expr {}

impl Hash for Expr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Terms { products, hash } = &*self.terms;
        let known = hash.get_or_init(|| {
            let mut hasher = DefaultHasher::new();
            products.hash(&mut hasher);
            hasher.finish()
        });
        state.write_u64(*known);
    }
}
