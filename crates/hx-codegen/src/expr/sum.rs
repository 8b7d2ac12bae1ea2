//! Prints sums: the order and the types of their terms, so that no step overflows and shared strides are multiplied once.

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{Atom, Expr, Monomial, Symbol};

use super::{Binding, Printer, Text, as_symbol, constant, fits_int};

impl Printer {
    /// Splits a sum into the terms that vary in the machine code and those that become constants when loops are unrolled.
    pub(super) fn split(&self, e: &Expr) -> (Expr, Expr) {
        let (mut varying, mut fixed) = (Expr::default(), Expr::default());
        for (m, c) in e.terms() {
            let part = if self.is_fixed(m) { &mut fixed } else { &mut varying };
            *part = part.clone() + product(m).scale(c);
        }
        (varying, fixed)
    }

    /// Reports whether a product becomes constant when loops are unrolled.
    pub(super) fn is_fixed(&self, product: &Monomial) -> bool {
        product.iter().all(|atom| as_symbol(atom).is_some_and(|symbol| self.unrolled.contains(symbol)))
    }

    pub(super) fn sum(&mut self, e: &Expr) -> Text {
        if let Some(c) = e.as_const() {
            return constant(c);
        }
        if let Some((symbol, quotient, rest)) = self.factored(e) {
            let stride = self.atom(&Atom::Symbol(symbol)).cast(true);
            let quotient = self.expr(&quotient);
            let text = format!("{} * {}", stride.operand(Binding::Prefix), quotient.operand(Binding::Prefix));
            if rest.is_zero() {
                return Text { text, binding: Binding::Product, wide: true };
            }
            let rest = self.expr(&rest);
            let text = format!("{text} + {}", rest.operand(Binding::Product));
            return Text { text, binding: Binding::Sum, wide: true };
        }
        // A sum that begins with its positive terms overflows least. The constant comes last for readability.
        let mut terms: Vec<(&Monomial, i64)> = e.terms().filter(|(m, _)| !m.is_empty()).collect();
        terms.sort_by_key(|(_, c)| *c < 0);
        terms.extend(e.terms().filter(|(m, _)| m.is_empty()));
        let printed: Vec<(Term, Expr)> =
            terms.iter().map(|(m, c)| (self.term(m, *c), product(m).scale(*c))).collect();
        let (wide, narrow): (Vec<_>, Vec<_>) = printed.into_iter().partition(|(t, _)| t.text.wide);
        let narrow_fits = self.partial_sums_fit(&narrow);
        let (wide, narrow) = (sum_of(wide), sum_of(narrow));
        match (wide, narrow) {
            (None, None) => constant(0),
            (None, Some(narrow)) if narrow_fits => narrow.text(false),
            (None, Some(narrow)) => narrow.text(true),
            (Some(wide), None) => wide.text(true),
            (Some(wide), Some(narrow)) if narrow_fits && narrow.count > 1 => {
                let narrow = narrow.text(false);
                let text = format!("{} + ({})", wide.text(true).operand(Binding::Sum), narrow.text);
                Text { text, binding: Binding::Sum, wide: true }
            }
            // The narrow terms are added one by one, because C++ then widens each before the addition.
            (Some(wide), Some(narrow)) => wide.then(narrow).text(true),
        }
    }

    /// Factors out a stride that several products of more than 32 bits share: `symbol · quotient + rest`, so that one wide
    /// product replaces several; `None` if they share none.
    fn factored(&mut self, e: &Expr) -> Option<(Symbol, Expr, Expr)> {
        let mut shares: BTreeMap<&Symbol, usize> = BTreeMap::new();
        for (m, c) in e.terms() {
            if m.len() > 1 && self.term(m, c).text.wide {
                let symbols: BTreeSet<&Symbol> = m.iter().filter_map(as_symbol).collect();
                symbols.into_iter().for_each(|s| *shares.entry(s).or_default() += 1);
            }
        }
        let most = shares.values().copied().max().filter(|most| *most > 1)?;
        let symbol = shares.into_iter().find(|(_, count)| *count == most)?.0.clone();
        let (mut quotient, mut rest) = (Expr::default(), Expr::default());
        for (m, c) in e.terms() {
            let at = m.iter().position(|a| as_symbol(a) == Some(&symbol));
            match at.filter(|_| m.len() == 1 || self.term(m, c).text.wide) {
                Some(at) => {
                    let mut others = m.clone();
                    others.remove(at);
                    quotient = quotient + product(&others).scale(c);
                }
                None => rest = rest + product(m).scale(c),
            }
        }
        Some((symbol, quotient, rest))
    }

    fn partial_sums_fit(&self, terms: &[(Term, Expr)]) -> bool {
        let mut sum = Expr::default();
        terms.iter().all(|(_, e)| {
            sum = sum.clone() + e.clone();
            fits_int(self.facts.range(&sum))
        })
    }

    /// Prints one product, without the sign of its coefficient.
    fn term(&mut self, monomial: &Monomial, coefficient: i64) -> Term {
        let negative = coefficient < 0;
        let Ok(magnitude) = i64::try_from(coefficient.unsigned_abs()) else {
            // `i64::MIN` has no positive counterpart.
            return Term { negative: false, text: constant(coefficient) };
        };
        if monomial.is_empty() {
            return Term { negative, text: constant(magnitude) };
        }
        let mut factors: Vec<Text> = monomial.iter().map(|a| self.atom(a)).collect();
        // Every step must fit 32 bits, with its sign.
        let mut step = Expr::constant(1);
        let mut fits = monomial.iter().all(|a| {
            step = &step * &Expr::atom(a.clone());
            fits_int(self.facts.range(&step))
        });
        fits &= fits_int(self.facts.range(&step.scale(coefficient)));
        fits &= fits_int(self.facts.range(&step.scale(magnitude)));
        if magnitude != 1 {
            factors.push(constant(magnitude));
        }
        let wide = !fits || factors.iter().any(|f| f.wide);
        if factors.len() == 1 {
            return Term { negative, text: factors.remove(0).cast_up(wide) };
        }
        if wide && !factors[0].wide {
            factors[0] = factors[0].cast(true);
        }
        let text = factors.iter().map(|f| f.operand(Binding::Prefix)).collect::<Vec<_>>().join(" * ");
        Term { negative, text: Text { text, binding: Binding::Product, wide } }
    }
}

/// A product, with its sign held separately.
#[derive(Debug)]
struct Term {
    negative: bool,
    text: Text,
}

/// The terms of a printed sum, in order.
struct Sum {
    text: String,
    /// The precedence of the text if it is a single term.
    binding: Binding,
    count: usize,
    first_negative: bool,
    /// The first term. Its type decides the type of the terms added to it.
    first: Text,
    rest: String,
}

impl Sum {
    fn then(mut self, more: Sum) -> Sum {
        if self.count == 1 && !self.first_negative {
            self.text = self.first.operand(Binding::Product);
        }
        let sign = if more.first_negative { '-' } else { '+' };
        let tail = format!(" {sign} {}{}", more.first.operand(Binding::Product), more.rest);
        self.text.push_str(&tail);
        self.rest.push_str(&tail);
        self.count += more.count;
        self.binding = Binding::Sum;
        self
    }

    /// Returns the sum in one type. Only the first term is cast, and C++ converts the others.
    fn text(self, wide: bool) -> Text {
        if self.first.wide == wide || !wide {
            return Text { text: self.text, binding: self.binding, wide: self.first.wide };
        }
        let first = self.first.cast(true);
        let (sign, binding) = match (self.first_negative, self.count) {
            (true, 1) => ("-", Binding::Prefix),
            (true, _) => ("-", Binding::Sum),
            (false, 1) => ("", first.binding),
            (false, _) => ("", Binding::Sum),
        };
        Text { text: format!("{sign}{}{}", first.text, self.rest), binding, wide: true }
    }
}

fn sum_of(terms: Vec<(Term, Expr)>) -> Option<Sum> {
    let mut sum: Option<Sum> = None;
    for (Term { negative, text }, _) in terms {
        let one = Sum {
            text: if negative { format!("-{}", text.operand(Binding::Product)) } else { text.text.clone() },
            binding: if negative { Binding::Product } else { text.binding },
            count: 1,
            first_negative: negative,
            first: text,
            rest: String::new(),
        };
        sum = Some(match sum {
            None => one,
            Some(sum) => sum.then(one),
        });
    }
    sum
}

pub(super) fn product(monomial: &Monomial) -> Expr {
    monomial.iter().fold(Expr::constant(1), |p, a| &p * &Expr::atom(a.clone()))
}
