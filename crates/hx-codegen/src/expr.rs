//! Prints symbolic integers and conditions as C++.
//!
//! Ranges decide the type: an expression is computed in `int` if every step provably stays within 32 bits, else in `long long`.
//! Division and remainder floor, as in the language, and are 0 if the divisor is 0. An integer of a fixed width is computed in
//! unsigned arithmetic, which wraps. This module knows nothing of tensors and registers.

mod helper;
mod running;
mod sum;

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{Atom, CmpOp, Cond, Expr, Facts, Monomial, Symbol, Width};

pub(crate) use helper::Helper;
use running::Rounds;
pub(crate) use running::{Head, Needed};

use crate::unused::Mentions;

/// The precedence of the outermost operator of a text, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Binding {
    Or,
    And,
    Bits,
    Shift,
    Compare,
    Sum,
    Product,
    Prefix,
    Word,
}

/// A C++ expression of type `int` or `long long`.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    binding: Binding,
    /// Whether the type is `long long`.
    pub(crate) wide: bool,
}

impl Text {
    fn word(text: impl Into<String>, wide: bool) -> Text {
        Text { text: text.into(), binding: Binding::Word, wide }
    }

    /// Returns the text as an operand of an operator with precedence `at_least`.
    pub(crate) fn operand(&self, at_least: Binding) -> String {
        if self.binding >= at_least { self.text.clone() } else { format!("({})", self.text) }
    }

    /// Converts the number to `int` or `long long`.
    pub(crate) fn cast(&self, wide: bool) -> Text {
        if self.wide == wide {
            return self.clone();
        }
        if wide && self.text.bytes().all(|b| b.is_ascii_digit()) {
            return Text::word(format!("{}LL", self.text), true);
        }
        let to = if wide { "long long" } else { "int" };
        Text { text: format!("({to}){}", self.operand(Binding::Prefix)), binding: Binding::Prefix, wide }
    }
}

/// The name and the type of a symbol in the text.
#[derive(Clone, Debug)]
struct Name {
    text: String,
    wide: bool,
    /// The number of [`Printer::rounds`] around its definition.
    depth: usize,
}

/// Prints expressions over the symbols in scope.
#[derive(Debug, Default)]
pub(crate) struct Printer {
    names: BTreeMap<Symbol, Name>,
    pub(crate) facts: Facts,
    pub(crate) helpers: BTreeSet<Helper>,
    /// Symbols to which the text refers.
    pub(crate) used: BTreeSet<Symbol>,
    /// The variables that printed expressions mention, in the order of printing.
    pub(crate) mentions: Mentions,
    /// Counters of loops that the CUDA compiler unrolls.
    pub(crate) unrolled: BTreeSet<Symbol>,
    /// Local integers that some statement assigns again.
    pub(crate) changing: BTreeSet<Symbol>,
    /// Local integers that loops count, and constants that are linear in counters.
    pub(crate) counted: BTreeSet<Symbol>,
    /// The loops around the text that have running indices, the outermost first.
    rounds: Vec<Rounds>,
    /// Whether an address of shared memory is being printed.
    in_shared: bool,
}

/// The names and facts of a scope.
#[derive(Debug)]
pub(crate) struct Scope {
    names: BTreeMap<Symbol, Name>,
    facts: Facts,
}

type Range = (Option<i64>, Option<i64>);

impl Printer {
    /// Names a symbol. `wide` says that it is held in a `long long`.
    pub(crate) fn name(&mut self, symbol: Symbol, text: String, wide: bool) {
        self.names.insert(symbol, Name { text, wide, depth: self.rounds.len() });
    }

    pub(crate) fn name_of(&self, symbol: &Symbol) -> Option<&str> {
        self.names.get(symbol).map(|n| n.text.as_str())
    }

    /// Mentions a symbol in the text. Returns its name; `None` if it has none here.
    pub(crate) fn mention(&mut self, symbol: &Symbol) -> Option<String> {
        let name = self.name_of(symbol)?.to_owned();
        self.mentions.add(&name);
        Some(name)
    }

    /// Records the range of a symbol. An unknown end stays open.
    pub(crate) fn bound(&mut self, symbol: &Symbol, (lo, hi): Range) {
        if let Some(lo) = lo {
            self.facts.at_least(symbol.clone(), lo);
        }
        if let Some(hi) = hi {
            self.facts.at_most(symbol.clone(), Expr::constant(hi));
            // Without a lower bound, the facts would take an upper bound to imply `≥ 0`.
            if lo.is_none() {
                self.facts.at_least(symbol.clone(), i64::MIN);
            }
        }
    }

    /// Saves the scope, to restore it with [`Printer::leave`].
    pub(crate) fn scope(&self) -> Scope {
        Scope { names: self.names.clone(), facts: self.facts.clone() }
    }

    pub(crate) fn leave(&mut self, outer: Scope) {
        (self.names, self.facts) = (outer.names, outer.facts);
    }

    fn is_nonnegative(&self, e: &Expr) -> bool {
        e.is_nonnegative()
            || self.facts.range(e).0.is_some_and(|lo| lo >= 0)
            || self.facts.proves_le(&Expr::default(), e)
    }

    /// Returns the floor of a quotient, simplified with the facts of the scope.
    pub(crate) fn facts_div(&self, a: &Expr, b: &Expr) -> Expr {
        a.div(b, &self.facts)
    }

    /// Reports whether a value of this expression needs a `long long`.
    pub(crate) fn is_wide(&self, e: &Expr) -> bool {
        !fits_int(self.facts.range(e))
    }

    /// Prints a sum, in `int` if every step stays within 32 bits.
    ///
    /// In a wider sum, the terms that become constants when loops are unrolled come last, added separately. A constant added to
    /// an address is an immediate of the memory instruction; inside a sum that is widened it costs instructions for each value.
    pub(crate) fn expr(&mut self, e: &Expr) -> Text {
        let (varying, fixed) = self.split(e);
        if varying.is_zero() || fixed.is_zero() || self.is_wide(&fixed) {
            return self.sum(e);
        }
        let varying = self.sum(&varying);
        if !varying.wide {
            return self.sum(e);
        }
        let fixed = self.sum(&fixed);
        let text = match fixed.text.strip_prefix('-') {
            Some(less) if fixed.binding != Binding::Sum => {
                format!("{} - {less}", varying.operand(Binding::Sum))
            }
            _ => format!("{} + {}", varying.operand(Binding::Sum), fixed.operand(Binding::Product)),
        };
        Text { text, binding: Binding::Sum, wide: true }
    }

    fn atom(&mut self, atom: &Atom) -> Text {
        let outer = self.in_shared;
        self.in_shared &= running::is_linear(atom);
        let text = self.atom_text(atom);
        self.in_shared = outer;
        text
    }

    fn atom_text(&mut self, atom: &Atom) -> Text {
        match atom {
            Atom::Symbol(symbol) => {
                self.used.insert(symbol.clone());
                let hidden = self.hidden(symbol);
                match self.names.get(symbol) {
                    Some(name) => {
                        self.mentions.add(&name.text);
                        Text::word(hidden.unwrap_or_else(|| name.text.clone()), name.wide)
                    }
                    // Unreachable: the emitter refuses expressions with unbound symbols before printing them.
                    None => Text::word("0", false),
                }
            }
            Atom::Div(a, b) => self.division(atom, a, b),
            Atom::Mod(a, b) => self.remainder(atom, a, b),
            Atom::Min(a, b) => self.choice("min", a, b),
            Atom::Max(a, b) => self.choice("max", a, b),
            Atom::Xor(a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                self.bits(atom, &a, "^", &b)
            }
            Atom::And(a, mask) => {
                let a = self.expr(a);
                self.bits(atom, &a, "&", &constant(*mask))
            }
            Atom::Wrap(a, width) => self.wrapped(a, *width),
        }
    }

    /// Wraps a value to an integer of this width.
    fn wrapped(&mut self, e: &Expr, width: Width) -> Text {
        let wide = width.bits > 32;
        let prefix = |text: String, wide| Text { text, binding: Binding::Prefix, wide };
        let sum = format!("({})", self.modular(e, wide));
        match (width.signed, width.bits) {
            (_, 33..) => prefix(format!("(long long){sum}"), true),
            (true, 32) => prefix(format!("(int){sum}"), false),
            (true, 16) => prefix(format!("(int)(short){sum}"), false),
            (true, 8) => prefix(format!("(int)(signed char){sum}"), false),
            (true, bits) => {
                let text = format!("(int)({sum} << {0}) >> {0}", 32 - bits);
                Text { text, binding: Binding::Shift, wide: false }
            }
            (false, 32) => prefix(format!("(long long){sum}"), true),
            (false, bits) => prefix(format!("(int)({sum} & {:#x}u)", (1u64 << bits) - 1), false),
        }
    }

    /// Prints a sum in unsigned arithmetic of 32 or 64 bits.
    fn modular(&mut self, e: &Expr, wide: bool) -> String {
        let to = if wide { "unsigned long long" } else { "unsigned" };
        let number = |c: u64| if wide { format!("{c}ULL") } else { format!("{}u", c as u32) };
        let mut terms: Vec<(&Monomial, i64)> = e.terms().collect();
        terms.sort_by_key(|(m, c)| (*c < 0, m.is_empty()));
        let mut text = String::new();
        for (m, c) in terms {
            let sign = match (text.is_empty(), c < 0) {
                (true, true) => number(0) + " - ",
                (true, false) => String::new(),
                (false, true) => " - ".into(),
                (false, false) => " + ".into(),
            };
            let mut factors: Vec<String> =
                m.iter().map(|atom| format!("({to}){}", self.atom(atom).operand(Binding::Prefix))).collect();
            if c.unsigned_abs() != 1 || m.is_empty() {
                factors.push(number(c.unsigned_abs()));
            }
            text = text + &sign + &factors.join(" * ");
        }
        text
    }

    /// Prints a bit operation, cast back to `int` if its value fits.
    fn bits(&self, whole: &Atom, a: &Text, op: &str, b: &Text) -> Text {
        let text = format!("{} {op} {}", a.operand(Binding::Prefix), b.operand(Binding::Prefix));
        self.narrowed(whole, Text { text, binding: Binding::Bits, wide: a.wide || b.wide })
    }

    fn narrowed(&self, whole: &Atom, text: Text) -> Text {
        let fits = fits_int(self.facts.range(&Expr::atom(whole.clone())));
        if text.wide && fits { text.cast(false) } else { text }
    }

    fn division(&mut self, whole: &Atom, a: &Expr, b: &Expr) -> Text {
        let shift = b.as_const().and_then(power_of_two);
        // A proof costs time, and a shift needs none.
        let plain = shift.is_none() && self.is_nonnegative(a) && self.is_nonnegative(b);
        let x = self.expr(a);
        let text = match shift {
            Some(shift) => {
                let text = format!("{} >> {shift}", x.operand(Binding::Prefix));
                Text { text, binding: Binding::Shift, wide: x.wide }
            }
            None if plain && !self.facts.is_nonzero(b) => {
                let y = self.expr(b);
                self.call("hx_div", &x, &y, |wide| Helper::Div { wide, signed: true })
            }
            None if plain => {
                let y = self.expr(b);
                let text = format!("{} / {}", x.operand(Binding::Product), y.operand(Binding::Prefix));
                Text { text, binding: Binding::Product, wide: x.wide || y.wide }
            }
            None => {
                let y = self.expr(b);
                self.call("hx_floor_div", &x, &y, |wide| Helper::FloorDiv { wide })
            }
        };
        self.narrowed(whole, text)
    }

    fn remainder(&mut self, whole: &Atom, a: &Expr, b: &Expr) -> Text {
        if let Some(running) = b.as_const().and_then(|divisor| self.running(a, divisor)) {
            return running;
        }
        let shift = b.as_const().and_then(power_of_two);
        let plain = shift.is_none() && self.is_nonnegative(a) && self.is_nonnegative(b);
        let x = self.expr(a);
        let text = match shift {
            Some(shift) => return self.bits(whole, &x, "&", &constant((1i64 << shift) - 1)),
            None if plain && !self.facts.is_nonzero(b) => {
                let y = self.expr(b);
                self.call("hx_mod", &x, &y, |wide| Helper::Mod { wide, signed: true })
            }
            None if plain => {
                let y = self.expr(b);
                let text = format!("{} % {}", x.operand(Binding::Product), y.operand(Binding::Prefix));
                Text { text, binding: Binding::Product, wide: x.wide || y.wide }
            }
            None => {
                let y = self.expr(b);
                self.call("hx_floor_mod", &x, &y, |wide| Helper::FloorMod { wide })
            }
        };
        self.narrowed(whole, text)
    }

    fn call(&mut self, function: &str, a: &Text, b: &Text, helper: fn(bool) -> Helper) -> Text {
        let wide = a.wide || b.wide;
        self.helpers.insert(helper(wide));
        Text::word(format!("{function}({}, {})", a.cast_up(wide).text, b.cast_up(wide).text), wide)
    }

    fn choice(&mut self, function: &str, a: &Expr, b: &Expr) -> Text {
        let is_choice = |atom: &Atom| matches!(atom, Atom::Min(..) | Atom::Max(..));
        let chosen = |e: &Expr| e.terms().flat_map(|(monomial, _)| monomial).any(is_choice);
        let nested = chosen(a) || chosen(b);
        let (a, b) = (self.expr(a), self.expr(b));
        let wide = a.wide || b.wide;
        if nested && !wide {
            let (helper, name) = match function {
                "min" => (Helper::Least, "hx_least"),
                _ => (Helper::Most, "hx_most"),
            };
            self.helpers.insert(helper);
            return Text::word(format!("{name}({}, {})", a.text, b.text), false);
        }
        Text::word(format!("{function}({}, {})", a.cast_up(wide).text, b.cast_up(wide).text), wide)
    }

    /// Prints a condition as a C++ `bool`.
    pub(crate) fn cond(&mut self, cond: &Cond) -> String {
        self.bool_text(cond).0
    }

    fn bool_text(&mut self, cond: &Cond) -> (String, Binding) {
        match cond {
            Cond::True => ("true".into(), Binding::Word),
            Cond::False => ("false".into(), Binding::Word),
            Cond::Cmp(op, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                let op = match op {
                    CmpOp::Lt => "<",
                    CmpOp::Le => "<=",
                    CmpOp::Eq => "==",
                    CmpOp::Ne => "!=",
                };
                let text = format!("{} {op} {}", a.operand(Binding::Sum), b.operand(Binding::Sum));
                (text, Binding::Compare)
            }
            Cond::And(all) => (self.joined(all, " && "), Binding::And),
            Cond::Or(any) => (self.joined(any, " || "), Binding::Or),
        }
    }

    fn joined(&mut self, conds: &[Cond], by: &str) -> String {
        let texts: Vec<String> = conds
            .iter()
            .map(|c| match self.bool_text(c) {
                (text, Binding::And | Binding::Or) => format!("({text})"),
                (text, _) => text,
            })
            .collect();
        texts.join(by)
    }
}

impl Text {
    fn cast_up(&self, wide: bool) -> Text {
        if wide { self.cast(true) } else { self.clone() }
    }
}

fn as_symbol(atom: &Atom) -> Option<&Symbol> {
    match atom {
        Atom::Symbol(symbol) => Some(symbol),
        _ => None,
    }
}

fn fits_int((lo, hi): Range) -> bool {
    lo.is_some_and(|lo| lo >= i64::from(i32::MIN)) && hi.is_some_and(|hi| hi <= i64::from(i32::MAX))
}

fn power_of_two(d: i64) -> Option<u32> {
    (d > 0 && d & (d - 1) == 0).then(|| d.trailing_zeros())
}

fn constant(c: i64) -> Text {
    let wide = i32::try_from(c).is_err();
    match (c, wide) {
        // C++ has no negative literals, and the magnitude of this number does not fit its type.
        (i64::MIN, _) => Text { text: "-9223372036854775807LL - 1".into(), binding: Binding::Sum, wide },
        (-2147483648, _) => Text { text: "-2147483647 - 1".into(), binding: Binding::Sum, wide },
        (c, true) => Text {
            text: format!("{c}LL"),
            binding: if c < 0 { Binding::Prefix } else { Binding::Word },
            wide,
        },
        (c, false) => {
            Text { text: c.to_string(), binding: if c < 0 { Binding::Prefix } else { Binding::Word }, wide }
        }
    }
}

#[cfg(test)]
mod tests;
