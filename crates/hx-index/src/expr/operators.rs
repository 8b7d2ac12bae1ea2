//! The operators `+`, `-` and `*` of expressions.

use std::ops::{Add, Mul, Neg, Sub};
use std::sync::Arc;

use super::products::Products;
use super::{Expr, Terms};

impl From<i64> for Expr {
    fn from(value: i64) -> Expr {
        Expr::constant(value)
    }
}

impl Add for Expr {
    type Output = Expr;
    fn add(mut self, mut other: Expr) -> Expr {
        // Sums commute. The terms of the shorter sum are added to the longer one, which takes fewer insertions.
        if self.terms().len() < other.terms().len() {
            std::mem::swap(&mut self, &mut other);
        }
        if !other.is_zero() {
            let Terms { products, hash } = Arc::make_mut(&mut self.terms);
            hash.take();
            for (m, c) in Arc::unwrap_or_clone(other.terms).products.0 {
                products.add(m, c);
            }
        }
        self
    }
}

impl Sub for Expr {
    type Output = Expr;
    fn sub(mut self, other: Expr) -> Expr {
        if !other.is_zero() {
            let Terms { products, hash } = Arc::make_mut(&mut self.terms);
            hash.take();
            for (m, c) in Arc::unwrap_or_clone(other.terms).products.0 {
                products.add(m, c.saturating_neg());
            }
        }
        self
    }
}

impl Neg for Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        self.scale(-1)
    }
}

impl Mul for &Expr {
    type Output = Expr;
    fn mul(self, other: &Expr) -> Expr {
        match (self.as_const(), other.as_const()) {
            (Some(1), _) => return other.clone(),
            (_, Some(1)) => return self.clone(),
            _ => {}
        }
        let mut product = Products::default();
        for (m1, c1) in self.terms() {
            for (m2, c2) in other.terms() {
                let mut m: Vec<_> = m1.iter().chain(m2).cloned().collect();
                m.sort();
                product.add(m, c1.saturating_mul(c2));
            }
        }
        product.into()
    }
}

impl Mul for Expr {
    type Output = Expr;
    fn mul(self, other: Expr) -> Expr {
        &self * &other
    }
}
