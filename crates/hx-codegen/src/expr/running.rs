//! Counters of loops in addresses of shared memory: running indices, and hidden counters.
//!
//! The front end of the CUDA compiler turns an address that is linear in a counter into a variable that it counts up in each
//! round. If the variable begins at the base of shared memory, it takes the place of the base, and ptxas 13.0 computes other
//! addresses of the loop from its changed value: `base + 256` becomes `base + 4096 · i + 256`. That was seen in loops with matrix
//! products by descriptor, whose addresses are in uniform registers. `(i + 2) % 3 · 4096` is such an address, too, because the
//! front end takes `i - i / 3 · 3` apart.
//!
//! - A remainder by a constant is kept in a variable of the loop, a running index. It costs a comparison instead of a
//!   multiplication. Remainders by powers of two stay: they are one instruction, and not taken apart.
//! - Other addresses of shared memory that are linear in the counter use a copy of it of which the front end knows nothing. So do
//!   addresses that are linear in a local integer to which the rounds of a loop add.

use hx_index::{Atom, Expr, Monomial, Symbol};

use super::{Helper, Printer, Text, constant, power_of_two};

/// The largest divisor with running indices: the sum of two remainders then fits an `int`.
const MOST: i64 = 1 << 30;

/// A loop that is not unrolled, and the running indices of its counter.
#[derive(Debug)]
pub(crate) struct Rounds {
    counter: Symbol,
    start: Expr,
    indices: Vec<Running>,
    /// Whether an address of shared memory uses a copy of the counter.
    hides: bool,
}

/// The remainder of `counter · step + rest + first` by a constant.
#[derive(Debug)]
struct Running {
    divisor: i64,
    step: Expr,
    rest: Expr,
    first: i64,
    name: String,
}

/// A dividend `counter · step + rest + fixed`, which is linear in the counter of a loop.
struct Linear {
    step: Expr,
    /// The terms that do not change in the loop.
    rest: Expr,
    /// The terms that are constant once loops are unrolled.
    fixed: Expr,
}

/// The variables that the body of a loop needs.
#[derive(Debug, Default)]
pub(crate) struct Needed {
    pub(crate) heads: Vec<Head>,
    /// The name of the copy of the counter; `None` if no address of shared memory uses a copy.
    pub(crate) hidden: Option<String>,
}

/// A running index in the head of its loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    pub(crate) name: String,
    pub(crate) first: String,
    /// The value in the next round.
    pub(crate) next: String,
}

impl Printer {
    /// Enters the body of a loop whose counter begins at `start`.
    pub(crate) fn enter_rounds(&mut self, counter: &Symbol, start: &Expr) {
        let (counter, start) = (counter.clone(), start.clone());
        self.rounds.push(Rounds { counter, start, indices: Vec::new(), hides: false });
    }

    /// Leaves the body of a loop whose counter has this name, once the printer has left its scope. Returns the variables that the
    /// body uses.
    pub(crate) fn leave_rounds(&mut self, counter: &str) -> Needed {
        let Some(Rounds { start, indices, hides, .. }) = self.rounds.pop() else { return Needed::default() };
        let head = |running: Running| {
            let Running { divisor, step, rest, first, name } = running;
            let by = Expr::constant(divisor);
            let at = &start * &step + rest + Expr::constant(first);
            let first = at.rem(&by, &self.facts);
            let first = self.expr(&first).cast(false).text;
            let step = step.rem(&by, &self.facts);
            let next = match step.as_const() {
                Some(step) => shifted(&name, step, divisor),
                None => {
                    let step = self.expr(&step).cast(false).operand(super::Binding::Product);
                    format!("{name} >= {divisor} - {step} ? {name} - ({divisor} - {step}) : {name} + {step}")
                }
            };
            Head { name, first, next }
        };
        let heads = indices.into_iter().map(head).collect();
        Needed { heads, hidden: hides.then(|| hidden(counter)) }
    }

    /// Prints a part of an address of shared memory.
    pub(crate) fn in_shared(&mut self, e: &Expr) -> Text {
        let outer = std::mem::replace(&mut self.in_shared, true);
        let text = self.expr(e);
        self.in_shared = outer;
        text
    }

    /// Returns the copy of a counter or of a counted integer that an address of shared memory uses. `None` outside of such
    /// addresses, and for other symbols.
    pub(super) fn hidden(&mut self, symbol: &Symbol) -> Option<String> {
        if !self.in_shared {
            return None;
        }
        let name = &self.names.get(symbol)?.text;
        if let Some(rounds) = self.rounds.iter_mut().rfind(|rounds| rounds.counter == *symbol) {
            rounds.hides = true;
            return Some(hidden(name));
        }
        if !self.counted.contains(symbol) {
            return None;
        }
        self.helpers.insert(Helper::Hidden);
        Some(format!("hx_hidden({name})"))
    }

    /// Reports whether the front end sees that a value is linear in a counter.
    pub(crate) fn counts(&self, value: &Expr) -> bool {
        let counter = |symbol: &Symbol| {
            self.counted.contains(symbol) || self.rounds.iter().any(|rounds| rounds.counter == *symbol)
        };
        let linear = |atom: &Atom| match atom {
            Atom::Symbol(symbol) => counter(symbol),
            Atom::Mod(inner, _) | Atom::Wrap(inner, _) => is_linear(atom) && self.counts(inner),
            _ => false,
        };
        value.terms().any(|(product, _)| product.iter().any(linear))
    }

    /// Prints the remainder of a dividend that is linear in a loop's counter as a running index of the loop. `None` if the
    /// dividend is not linear, or if the divisor is below 3, above [`MOST`] or a power of two.
    pub(super) fn running(&mut self, dividend: &Expr, divisor: i64) -> Option<Text> {
        if !(3..=MOST).contains(&divisor) || power_of_two(divisor).is_some() {
            return None;
        }
        let depth = self.rounds.iter().rposition(|rounds| dividend.mentions(&rounds.counter))?;
        let Linear { step, rest, fixed } = self.linear(dividend, depth)?;
        let rounds = &mut self.rounds[depth];
        let known =
            |running: &&Running| (running.divisor, &running.step, &running.rest) == (divisor, &step, &rest);
        let (first, name) = match rounds.indices.iter().find(known) {
            Some(running) => (running.first, running.name.clone()),
            None => {
                let counter = self.names.get(&rounds.counter)?.text.clone();
                let alike = rounds.indices.iter().filter(|running| running.divisor == divisor).count();
                let number = if alike == 0 { String::new() } else { format!("_{}", alike + 1) };
                // No name of the program equals this one: after `hx_`, names of the program end with `_`. Counters of loops
                // around this one have other names.
                let name = format!("hx_{counter}_mod_{divisor}{number}");
                let first = fixed.as_const().unwrap_or(0);
                rounds.indices.push(Running { divisor, step, rest, first, name: name.clone() });
                (first, name)
            }
        };
        let from = (fixed - Expr::constant(first)).rem(&Expr::constant(divisor), &self.facts);
        Some(match from.as_const() {
            Some(0) => Text::word(name, false),
            Some(from) => Text::word(format!("({})", shifted(&name, from, divisor)), false),
            None => {
                let from = self.expr(&from).cast(false).operand(super::Binding::Product);
                let text = format!(
                    "({name} >= {divisor} - {from} ? {name} - ({divisor} - {from}) : {name} + {from})"
                );
                Text::word(text, false)
            }
        })
    }

    /// Splits a dividend into the terms of [`Linear`]. `None` if it is not linear in the counter of the loop at this depth, or
    /// if other terms change in the loop.
    fn linear(&self, dividend: &Expr, depth: usize) -> Option<Linear> {
        let counter = &self.rounds[depth].counter;
        let (mut step, mut rest, mut fixed) = (Expr::default(), Expr::default(), Expr::default());
        for (monomial, coefficient) in dividend.terms() {
            let term = |m: &Monomial| super::sum::product(m).scale(coefficient);
            let own = monomial.iter().position(|atom| *atom == Atom::Symbol(counter.clone()));
            if let Some(own) = own {
                let mut others = monomial.clone();
                others.remove(own);
                step = step + term(&others);
            } else if self.is_fixed(monomial) {
                fixed = fixed + term(monomial);
            } else {
                rest = rest + term(monomial);
            }
        }
        let stays = |e: &Expr| e.symbols().iter().all(|symbol| self.stays(symbol, depth));
        (!step.is_zero() && stays(&step) && stays(&rest)).then_some(Linear { step, rest, fixed })
    }

    /// Reports whether a symbol is defined outside of the loop at this depth and never assigned again, and is not the number of
    /// the thread.
    fn stays(&self, symbol: &Symbol, depth: usize) -> bool {
        let outside = self.names.get(symbol).is_some_and(|name| name.depth <= depth);
        outside && *symbol != Symbol::Thread && !self.changing.contains(symbol)
    }
}

/// Reports whether the front end sees through an atom to a linear counter. It sees through remainders by divisors that are not
/// powers of two, which it rewrites as differences, and through integers as wide as an address of shared memory.
pub(super) fn is_linear(atom: &Atom) -> bool {
    match atom {
        Atom::Symbol(_) => true,
        Atom::Mod(_, by) => by.as_const().and_then(power_of_two).is_none(),
        Atom::Wrap(_, width) => width.bits >= 32,
        Atom::Div(..) | Atom::Min(..) | Atom::Max(..) | Atom::Xor(..) | Atom::And(..) => false,
    }
}

/// Returns the name of the copy of a counter. No name of the program equals it: after `hx_`, names of the program end with `_`.
fn hidden(counter: &str) -> String {
    format!("hx_{counter}")
}

/// Prints the remainder of `name + by` by the divisor, where `name` is already a remainder and `by` is less than the divisor.
fn shifted(name: &str, by: i64, divisor: i64) -> String {
    let (last, less) = (divisor - by, constant(divisor - by).text);
    match (by, last) {
        (1, _) => format!("{name} == {} ? 0 : {name} + 1", divisor - 1),
        (_, 1) => format!("{name} == 0 ? {by} : {name} - 1"),
        _ => format!("{name} >= {less} ? {name} - {less} : {name} + {by}"),
    }
}
