//! Prints symbolic integers and conditions as C++.
//!
//! Ranges decide the type: an expression is computed in `int` if every step provably stays within 32 bits, else in `long long`.
//! Division and remainder floor, as in the language, and are 0 if the divisor is 0. An integer of a fixed width is computed in
//! unsigned arithmetic, which wraps. This module knows nothing of tensors and registers.

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{Atom, CmpOp, Cond, Expr, Facts, Monomial, Symbol, Width};

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

/// Functions that the text calls, so that their definitions must precede it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Helper {
    FloorDiv {
        wide: bool,
    },
    FloorMod {
        wide: bool,
    },
    /// For dividends and divisors that are not negative.
    Div {
        wide: bool,
        signed: bool,
    },
    /// For dividends and divisors that are not negative.
    Mod {
        wide: bool,
        signed: bool,
    },
    Extract,
    Insert,
    /// Converts to tf32, rounding to nearest even.
    Tf32,
    /// Converts to float toward zero, and sets the last bit if that lost anything (round to odd).
    Odd,
}

impl Helper {
    pub(crate) fn definition(self) -> String {
        let int = |wide: bool| if wide { "long long" } else { "int" };
        let unsigned = |wide: bool| if wide { "unsigned long long" } else { "unsigned" };
        match self {
            // The quotient by -1 is the negated dividend, which wraps. The quotient by 0 is 0.
            Helper::FloorDiv { wide } => {
                let (t, u) = (int(wide), unsigned(wide));
                format!(
                    "static __device__ __forceinline__ {t} hx_floor_div({t} a, {t} b) {{\n    \
                     const bool plain = ({u})b + 1u > 1u;\n    \
                     const {t} d = plain ? b : 1;\n    \
                     const {t} q = a / d - (a % d != 0 && (a < 0) != (d < 0));\n    \
                     return plain ? q : ({t})(0u - ({u})(a & b));\n}}\n"
                )
            }
            Helper::FloorMod { wide } => {
                let (t, u) = (int(wide), unsigned(wide));
                format!(
                    "static __device__ __forceinline__ {t} hx_floor_mod({t} a, {t} b) {{\n    \
                     const {t} d = ({u})b + 1u > 1u ? b : 1;\n    \
                     const {t} r = a % d;\n    \
                     return r != 0 && (r < 0) != (d < 0) ? r + d : r;\n}}\n"
                )
            }
            // Selects instead of a branch: the compiler then hoists a loop-invariant quotient out of its loop.
            Helper::Div { wide, signed } => {
                let t = if signed { int(wide) } else { unsigned(wide) };
                format!(
                    "static __device__ __forceinline__ {t} hx_div({t} a, {t} b) {{\n    \
                     const {t} d = b == 0 ? 1 : b;\n    \
                     const {t} q = a / d;\n    \
                     return b == 0 ? 0 : q;\n}}\n"
                )
            }
            Helper::Mod { wide, signed } => {
                let t = if signed { int(wide) } else { unsigned(wide) };
                format!(
                    "static __device__ __forceinline__ {t} hx_mod({t} a, {t} b) {{\n    \
                     const {t} d = b == 0 ? 1 : b;\n    \
                     const {t} r = a % d;\n    \
                     return b == 0 ? 0 : r;\n}}\n"
                )
            }
            Helper::Tf32 => "static __device__ __forceinline__ unsigned hx_tf32(float x) {\n    \
                 const unsigned bits = __float_as_uint(x);\n    \
                 return x == x ? (bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u : 0x7fffe000u;\n}\n"
                .to_owned(),
            Helper::Odd => [("double", "double", "x == x && "), ("int", "int", ""), ("unsigned", "uint", "")]
                .into_iter()
                .chain([("long long", "ll", ""), ("unsigned long long", "ull", "")])
                .map(|(c_type, name, number)| {
                    format!(
                        "static __device__ __forceinline__ float hx_odd({c_type} x) {{\n    \
                         const float cut = __{name}2float_rz(x);\n    \
                         return {number}({c_type})cut != x ? __uint_as_float(__float_as_uint(cut) | 1u) : cut;\n}}\n"
                    )
                })
                .collect::<Vec<_>>()
                .join("\n"),
            Helper::Extract => "static __device__ __forceinline__ unsigned hx_extract(unsigned word, int shift, int bits) {\n    \
                 return (word >> shift) & ((1u << bits) - 1u);\n}\n"
                .to_owned(),
            Helper::Insert => "static __device__ __forceinline__ unsigned hx_insert(unsigned word, unsigned value, int shift, int bits) {\n    \
                 const unsigned mask = ((1u << bits) - 1u) << shift;\n    \
                 return (word & ~mask) | ((value << shift) & mask);\n}\n"
                .to_owned(),
        }
    }
}

/// The name and the type of a symbol in the text.
#[derive(Clone, Debug)]
struct Name {
    text: String,
    wide: bool,
}

/// Prints expressions over the symbols in scope.
#[derive(Debug, Default)]
pub(crate) struct Printer {
    names: BTreeMap<Symbol, Name>,
    pub(crate) facts: Facts,
    pub(crate) helpers: BTreeSet<Helper>,
    /// Symbols to which the text refers.
    pub(crate) used: BTreeSet<Symbol>,
    /// Counters of loops that the CUDA compiler unrolls.
    pub(crate) unrolled: BTreeSet<Symbol>,
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
        self.names.insert(symbol, Name { text, wide });
    }

    pub(crate) fn name_of(&self, symbol: &Symbol) -> Option<&str> {
        self.names.get(symbol).map(|n| n.text.as_str())
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

    /// Splits a sum into the terms that vary in the machine code and those that become constants when loops are unrolled.
    fn split(&self, e: &Expr) -> (Expr, Expr) {
        let is_fixed = |m: &Monomial| {
            m.iter().all(|atom| as_symbol(atom).is_some_and(|symbol| self.unrolled.contains(symbol)))
        };
        let (mut varying, mut fixed) = (Expr::default(), Expr::default());
        for (m, c) in e.terms() {
            let part = if is_fixed(m) { &mut fixed } else { &mut varying };
            *part = part.clone() + product(m).scale(c);
        }
        (varying, fixed)
    }

    fn sum(&mut self, e: &Expr) -> Text {
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

    /// Factors out a stride that several products of more than 32 bits share: `symbol · quotient + rest`. One wide product
    /// replaces several.
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

    fn atom(&mut self, atom: &Atom) -> Text {
        match atom {
            Atom::Symbol(symbol) => {
                self.used.insert(symbol.clone());
                match self.names.get(symbol) {
                    Some(name) => Text::word(name.text.clone(), name.wide),
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
        let (a, b) = (self.expr(a), self.expr(b));
        let wide = a.wide || b.wide;
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

fn as_symbol(atom: &Atom) -> Option<&Symbol> {
    match atom {
        Atom::Symbol(symbol) => Some(symbol),
        _ => None,
    }
}

fn product(monomial: &Monomial) -> Expr {
    monomial.iter().fold(Expr::constant(1), |p, a| &p * &Expr::atom(a.clone()))
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
