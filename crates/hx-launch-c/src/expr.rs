//! Prints symbolic integers and conditions as C.
//!
//! C divides towards zero and does not notice an overflow. An expression is printed with the operators of C only if the ranges of its
//! symbols prove that no step overflows, no divisor is 0 and no operand of a division is negative. The other ones call `hx_add`,
//! `hx_mul`, `hx_div` and `hx_mod`, which report to the variable `hx_bad`.

use std::collections::BTreeMap;

use hx_index::{Atom, CmpOp, Cond, Expr, Monomial, Symbol};

/// The variable that the checked operations set.
pub(super) const BAD: &str = "hx_bad";

/// The least and the greatest value.
type Range = (i128, i128);

/// The names of symbols in C, and their ranges.
#[derive(Default)]
pub(super) struct Printer {
    symbols: BTreeMap<Symbol, (String, Range)>,
}

/// A printed operand.
struct Text {
    text: String,
    /// Whether it is a single word or a call, which needs no parentheses.
    is_closed: bool,
}

impl Text {
    fn closed(text: String) -> Text {
        Text { text, is_closed: true }
    }

    fn open(text: String) -> Text {
        Text { text, is_closed: false }
    }

    /// Returns the text as an operand of a product or a quotient.
    fn operand(&self) -> String {
        if self.is_closed { self.text.clone() } else { format!("({})", self.text) }
    }
}

impl Printer {
    /// Declares a symbol. `text` is a name or a cast in parentheses.
    pub(super) fn name(&mut self, symbol: Symbol, text: String, least: i64, greatest: i64) {
        self.symbols.insert(symbol, (text, (i128::from(least), i128::from(greatest))));
    }

    /// Returns the name of a symbol in C.
    ///
    /// # Errors
    /// If the symbol has no value at a launch.
    pub(super) fn symbol(&self, symbol: &Symbol) -> Result<&str, String> {
        let known = self.symbols.get(symbol).map(|(name, _)| name.as_str());
        known.ok_or_else(|| format!("`{symbol}` has no value when the kernel is launched"))
    }

    /// Returns the range of the value, if the operators of C compute it.
    pub(super) fn range(&self, expr: &Expr) -> Option<Range> {
        let mut sum: Option<Range> = None;
        for (monomial, coefficient) in ordered(expr) {
            let product = self.product_range(monomial, coefficient)?;
            sum = fits(sum.map_or(product, |sum| (sum.0 + product.0, sum.1 + product.1)));
            sum?;
        }
        Some(sum.unwrap_or((0, 0)))
    }

    fn product_range(&self, monomial: &Monomial, coefficient: i64) -> Option<Range> {
        let mut product = (1, 1);
        for atom in monomial {
            product = fits(times(product, self.atom_range(atom)?))?;
        }
        // The magnitude is multiplied, and the sign becomes an addition or a subtraction.
        let magnitude = i128::from(coefficient.unsigned_abs());
        let scaled = fits(times(product, (magnitude, magnitude)))?;
        fits(if coefficient < 0 { (-scaled.1, -scaled.0) } else { scaled })
    }

    fn atom_range(&self, atom: &Atom) -> Option<Range> {
        let both = |a: &Expr, b: &Expr| self.range(a).zip(self.range(b));
        match atom {
            Atom::Symbol(symbol) => self.symbols.get(symbol).map(|(_, range)| *range),
            Atom::Div(a, b) => {
                let (a, b) = both(a, b).filter(|(a, b)| a.0 >= 0 && b.0 >= 1)?;
                Some((a.0 / b.1, a.1 / b.0))
            }
            Atom::Mod(a, b) => {
                let (a, b) = both(a, b).filter(|(a, b)| a.0 >= 0 && b.0 >= 1)?;
                Some((0, a.1.min(b.1 - 1)))
            }
            Atom::Min(a, b) => both(a, b).map(|(a, b)| (a.0.min(b.0), a.1.min(b.1))),
            Atom::Max(a, b) => both(a, b).map(|(a, b)| (a.0.max(b.0), a.1.max(b.1))),
            Atom::Xor(a, b) => {
                let (a, b) = both(a, b)?;
                let is_natural = a.0 >= 0 && b.0 >= 0;
                let most = (a.1.max(b.1) as u128 + 1).next_power_of_two() as i128 - 1;
                Some(if is_natural { (0, most) } else { (i128::from(i64::MIN), i128::from(i64::MAX)) })
            }
            Atom::And(a, mask) => {
                let (a, mask) = (self.range(a)?, i128::from(*mask));
                let whole = (i128::from(i64::MIN), i128::from(i64::MAX));
                Some(match (a.0 >= 0, mask >= 0) {
                    (true, true) => (0, a.1.min(mask)),
                    (false, true) => (0, mask),
                    (true, false) => (0, a.1),
                    (false, false) => whole,
                })
            }
            Atom::Wrap(_, width) => {
                let (low, high) = width.range();
                Some((i128::from(low), i128::from(high)))
            }
        }
    }

    /// Prints an expression.
    ///
    /// # Errors
    /// If a symbol has no value at a launch.
    pub(super) fn int(&self, expr: &Expr) -> Result<String, String> {
        self.sum(expr).map(|text| text.text)
    }

    fn sum(&self, expr: &Expr) -> Result<Text, String> {
        if let Some(value) = expr.as_const() {
            return Ok(constant(value));
        }
        if self.range(expr).is_none() {
            return self.checked_sum(expr);
        }
        let mut out = String::new();
        let single = expr.terms().count() == 1;
        for (monomial, coefficient) in ordered(expr) {
            out += match (out.is_empty(), coefficient < 0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            let factors = monomial.iter().map(|atom| self.atom(atom)).collect::<Result<Vec<_>, _>>()?;
            if let ([only], true, 1) = (factors.as_slice(), single, coefficient) {
                return Ok(Text { text: only.text.clone(), is_closed: only.is_closed });
            }
            let mut words: Vec<String> = factors.iter().map(Text::operand).collect();
            let magnitude = coefficient.unsigned_abs();
            if magnitude != 1 || words.is_empty() {
                words.push(magnitude.to_string());
            }
            out += &words.join(" * ");
        }
        Ok(Text::open(out))
    }

    /// Prints a sum whose value may overflow, or that divides by a number that may be 0 or negative. The order of the operations is
    /// that of [`Expr::eval`], so both notice the same overflows.
    fn checked_sum(&self, expr: &Expr) -> Result<Text, String> {
        let mut sum: Option<String> = None;
        for (monomial, coefficient) in expr.terms() {
            let mut factors = Vec::new();
            if coefficient != 1 || monomial.is_empty() {
                factors.push(constant(coefficient).text);
            }
            for atom in monomial {
                factors.push(self.atom(atom)?.text);
            }
            let product = factors.into_iter().reduce(|a, b| format!("hx_mul({a}, {b}, &{BAD})"));
            let product = product.unwrap_or_default();
            sum = Some(sum.map_or(product.clone(), |sum| format!("hx_add({sum}, {product}, &{BAD})")));
        }
        Ok(Text::closed(sum.unwrap_or_else(|| "0".to_owned())))
    }

    fn atom(&self, atom: &Atom) -> Result<Text, String> {
        let is_plain = self.atom_range(atom).is_some();
        let divided = |a: &Expr, b: &Expr, operator: &str, function: &str| {
            Ok::<_, String>(if is_plain {
                Text::open(format!("{} {operator} {}", self.sum(a)?.operand(), self.sum(b)?.operand()))
            } else {
                Text::closed(format!("{function}({}, {}, &{BAD})", self.int(a)?, self.int(b)?))
            })
        };
        Ok(match atom {
            Atom::Symbol(symbol) => Text::closed(self.symbol(symbol)?.to_owned()),
            Atom::Div(a, b) => divided(a, b, "/", "hx_div")?,
            Atom::Mod(a, b) => divided(a, b, "%", "hx_mod")?,
            Atom::Min(a, b) => Text::closed(format!("hx_min({}, {})", self.int(a)?, self.int(b)?)),
            Atom::Max(a, b) => Text::closed(format!("hx_max({}, {})", self.int(a)?, self.int(b)?)),
            Atom::Xor(a, b) => Text::open(format!("{} ^ {}", self.sum(a)?.operand(), self.sum(b)?.operand())),
            Atom::And(a, mask) => {
                Text::open(format!("{} & {}", self.sum(a)?.operand(), constant(*mask).operand()))
            }
            Atom::Wrap(a, width) => {
                let signed = i32::from(width.signed);
                Text::closed(format!("hx_wrap({}, {}, {signed})", self.wrapping(a)?, width.bits))
            }
        })
    }

    /// Prints an expression modulo 2⁶⁴, without a sign.
    fn wrapping(&self, expr: &Expr) -> Result<String, String> {
        if self.range(expr).is_some() {
            return Ok(format!("(uint64_t)({})", self.int(expr)?));
        }
        let mut terms = Vec::new();
        for (monomial, coefficient) in ordered(expr) {
            let mut factors = monomial
                .iter()
                .map(|atom| Ok(format!("(uint64_t){}", self.atom(atom)?.operand())))
                .collect::<Result<Vec<_>, String>>()?;
            if coefficient != 1 || factors.is_empty() {
                factors.push(format!("{}u", coefficient as u64));
            }
            terms.push(factors.join(" * "));
        }
        Ok(terms.join(" + "))
    }

    /// Prints a condition.
    ///
    /// # Errors
    /// If a symbol has no value at a launch.
    pub(super) fn cond(&self, cond: &Cond) -> Result<String, String> {
        let joined = |conds: &[Cond], operator: &str| {
            let texts = conds.iter().map(|cond| {
                let text = self.cond(cond)?;
                Ok(if matches!(cond, Cond::And(_) | Cond::Or(_)) { format!("({text})") } else { text })
            });
            Ok::<_, String>(texts.collect::<Result<Vec<_>, String>>()?.join(operator))
        };
        Ok(match cond {
            Cond::True => "1".to_owned(),
            Cond::False => "0".to_owned(),
            Cond::Cmp(op, a, b) => {
                let operator = match op {
                    CmpOp::Lt => "<",
                    CmpOp::Le => "<=",
                    CmpOp::Eq => "==",
                    CmpOp::Ne => "!=",
                };
                // An exclusive or binds less than a comparison.
                let side = |e: &Expr| {
                    let text = self.sum(e)?;
                    let is_bitwise = matches!(e.as_atom(), Some(Atom::Xor(..) | Atom::And(..)));
                    Ok::<_, String>(if is_bitwise { text.operand() } else { text.text })
                };
                format!("{} {operator} {}", side(a)?, side(b)?)
            }
            Cond::And(conds) => joined(conds, " && ")?,
            Cond::Or(conds) => joined(conds, " || ")?,
        })
    }
}

/// Returns the terms in the order in which they are printed: the constant is the last one.
fn ordered(expr: &Expr) -> impl Iterator<Item = (&Monomial, i64)> {
    let symbolic = expr.terms().filter(|(monomial, _)| !monomial.is_empty());
    symbolic.chain(expr.terms().filter(|(monomial, _)| monomial.is_empty()))
}

fn constant(value: i64) -> Text {
    match value {
        // C has no negative literals, and the magnitude of the least number is not in range.
        i64::MIN => Text::closed("INT64_MIN".to_owned()),
        0.. => Text::closed(value.to_string()),
        _ => Text::open(value.to_string()),
    }
}

/// Returns the range if every value fits 64 bits.
fn fits(range: Range) -> Option<Range> {
    (range.0 >= i128::from(i64::MIN) && range.1 <= i128::from(i64::MAX)).then_some(range)
}

/// Returns the range of a product. Both ranges fit 64 bits, so no product overflows.
fn times(a: Range, b: Range) -> Range {
    let all = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
    (all.into_iter().fold(i128::MAX, i128::min), all.into_iter().fold(i128::MIN, i128::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hx_index::{Facts, Width};

    fn printer() -> Printer {
        let mut printer = Printer::default();
        for name in ["k", "m", "n"] {
            printer.name(Symbol::Dim(name.into()), name.to_owned(), 0, i64::from(i32::MAX));
        }
        printer.name(Symbol::Scalar("s".into()), "(int64_t)s".to_owned(), i64::MIN, i64::MAX);
        printer
    }

    fn check(expr: &Expr, want: &str) {
        assert_eq!(printer().int(expr).as_deref(), Ok(want));
    }

    #[test]
    fn proven_expressions_are_those_of_c() {
        let (facts, n, m) = (Facts::default(), Expr::dim("n"), Expr::dim("m"));
        check(&n.ceil_div(&Expr::constant(128), &facts), "(n + 127) / 128");
        check(&(&n * &m).scale(2), "m * n * 2");
        check(&(n.clone() - m.clone() - Expr::constant(3)), "-m + n - 3");
        check(&(n.div(&Expr::constant(8), &facts) * m.rem(&Expr::constant(4), &facts)), "(n / 8) * (m % 4)");
        check(&n.minimum(&m, &facts).scale(3), "hx_min(m, n) * 3");
    }

    #[test]
    fn others_are_checked() {
        let (facts, n, m) = (Facts::default(), Expr::dim("n"), Expr::dim("m"));
        let less = n.clone() - Expr::constant(1);
        check(&Expr::atom(Atom::Div(less, Expr::constant(8))), "hx_div(n - 1, 8, &hx_bad)");
        check(&n.div(&m, &facts), "hx_div(n, m, &hx_bad)");
        let volume = &(&n * &m) * &Expr::dim("k");
        check(&volume, "hx_mul(hx_mul(k, m, &hx_bad), n, &hx_bad)");
        let scalar = Expr::symbol(Symbol::Scalar("s".into()));
        check(&(scalar.clone() + Expr::constant(1)), "hx_add(1, (int64_t)s, &hx_bad)");
        check(
            &(scalar + n).wrap(Width { bits: 32, signed: true }, &facts),
            "hx_wrap((uint64_t)n + (uint64_t)(int64_t)s, 32, 1)",
        );
    }

    #[test]
    fn conditions() {
        let (n, m) = (Expr::dim("n"), Expr::dim("m"));
        let fits = Cond::Cmp(CmpOp::Lt, m.clone(), Expr::constant(8));
        let even = Cond::Cmp(CmpOp::Eq, Expr::atom(Atom::Mod(n, Expr::constant(2))), Expr::default());
        let cond = Cond::Or(vec![fits.clone(), Cond::And(vec![even, fits])]);
        assert_eq!(printer().cond(&cond).as_deref(), Ok("m < 8 || (n % 2 == 0 && m < 8)"));
    }
}
