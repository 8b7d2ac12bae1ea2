//! Compares the text with the expression. Random expressions are printed and read back with the precedence and the types of C++.
//! They must keep their value, and no step may overflow `int` or `long long`.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

/// The symbols of the tests: name, type, the range that the printer knows, and the range of their actual values.
fn symbols() -> Vec<(Symbol, &'static str, bool, Range, Range)> {
    let (int, narrow) = ((Some(0), Some(i64::from(i32::MAX))), |lo, hi| (Some(lo), Some(hi)));
    vec![
        (Symbol::Dim("m".into()), "m", false, int, int),
        (Symbol::Dim("k".into()), "k", false, int, narrow(0, 5)),
        (Symbol::Thread, "thread", false, narrow(0, 127), narrow(0, 127)),
        (Symbol::BlockIdx(0), "block_x", false, narrow(0, (1 << 24) - 1), narrow(0, (1 << 24) - 1)),
        (Symbol::Var("i".into(), 0), "i", false, narrow(-7, 7), narrow(-7, 7)),
        (Symbol::Scalar("big".into()), "big", true, (None, None), narrow(-1 << 33, 1 << 33)),
    ]
}

fn printer() -> Printer {
    let mut printer = Printer::default();
    for (symbol, name, wide, range, _) in symbols() {
        printer.bound(&symbol, range);
        printer.name(symbol, name.into(), wide);
    }
    printer
}

/// A reader of C++ expressions. A value says whether its type is `long long`; an overflow is an error.
struct Reader<'a> {
    rest: &'a str,
    values: &'a [i64],
    /// Names and values of the running indices.
    indices: &'a [(String, i64)],
}

type Value = (i64, bool);

impl Reader<'_> {
    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest.trim_start().strip_prefix(token);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn binary(&mut self, level: usize) -> Result<Value, String> {
        // Loosest precedence first, as in C++.
        const LEVELS: [&[&str]; 5] = [&["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "/", "%"]];
        let Some(ops) = LEVELS.get(level) else { return self.prefix() };
        let mut left = self.binary(level + 1)?;
        while let Some(op) = ops.iter().find(|op| self.eat(op)) {
            let right = self.binary(level + 1)?;
            let (a, b) = (left.0, right.0);
            let exact = match *op {
                "^" => Some(a ^ b),
                "&" => Some(a & b),
                "<<" => a.checked_shl(b as u32),
                ">>" => a.checked_shr(b as u32),
                "+" => a.checked_add(b),
                "-" => a.checked_sub(b),
                "*" => a.checked_mul(b),
                "/" => a.checked_div(b),
                _ => a.checked_rem(b),
            };
            // A shift has the type of its left operand.
            let wide = left.1 || (right.1 && level != 2);
            left = checked(exact, wide)?;
        }
        Ok(left)
    }

    /// Reads a value, or a choice between two by a comparison.
    fn choice(&mut self) -> Result<Value, String> {
        let left = self.binary(0)?;
        let holds: fn(i64, i64) -> bool = if self.eat(">=") {
            |a, b| a >= b
        } else if self.eat("==") {
            |a, b| a == b
        } else {
            return Ok(left);
        };
        let right = self.binary(0)?;
        let (then, otherwise) = match self.eat("?") {
            true => (self.binary(0)?, if self.eat(":") { self.binary(0)? } else { return Err("`:`".into()) }),
            false => return Err("`?`".into()),
        };
        Ok(if holds(left.0, right.0) { then } else { otherwise })
    }

    fn prefix(&mut self) -> Result<Value, String> {
        if self.eat("-") {
            let (x, wide) = self.prefix()?;
            return checked(x.checked_neg(), wide);
        }
        if self.eat("(long long)") {
            return Ok((self.prefix()?.0, true));
        }
        if self.eat("(int)") {
            let x = self.prefix()?.0;
            return checked(Some(x), false);
        }
        if self.eat("(") {
            let inner = self.choice()?;
            return if self.eat(")") { Ok(inner) } else { Err(format!("`)` expected at `{}`", self.rest)) };
        }
        for function in
            ["hx_floor_div", "hx_floor_mod", "hx_div", "hx_mod", "min", "max", "hx_least", "hx_most"]
        {
            if self.eat(&format!("{function}(")) {
                let a = self.binary(0)?;
                let both = self.eat(",");
                let b = self.binary(0)?;
                if !both || !self.eat(")") || a.1 != b.1 {
                    return Err(format!("arguments of {function}"));
                }
                let value = match function {
                    "min" | "hx_least" => a.0.min(b.0),
                    "max" | "hx_most" => a.0.max(b.0),
                    // The tests use positive divisors only.
                    "hx_floor_div" | "hx_div" => a.0.div_euclid(b.0),
                    _ => a.0.rem_euclid(b.0),
                };
                return checked(Some(value), a.1);
            }
        }
        self.word()
    }

    fn word(&mut self) -> Result<Value, String> {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if let Some((_, value)) = self.indices.iter().find(|(name, _)| name == word) {
            return Ok((*value, false));
        }
        if let Some((_, wide, value)) =
            symbols().iter().zip(self.values).map(|(s, v)| (s.1, s.2, *v)).find(|s| s.0 == word)
        {
            return Ok((value, wide));
        }
        let (digits, wide) = word.strip_suffix("LL").map_or((word, false), |digits| (digits, true));
        let value = digits.parse().map_err(|_| format!("`{word}`"))?;
        checked(Some(value), wide)
    }
}

fn checked(value: Option<i64>, wide: bool) -> Result<Value, String> {
    match value {
        Some(x) if wide || i32::try_from(x).is_ok() => Ok((x, wide)),
        _ => Err(format!("overflow of {}: {value:?}", if wide { "long long" } else { "int" })),
    }
}

fn read(text: &str, values: &[i64]) -> Result<Value, String> {
    read_with(text, values, &[])
}

fn read_with(text: &str, values: &[i64], indices: &[(String, i64)]) -> Result<Value, String> {
    let mut reader = Reader { rest: text, values, indices };
    let value = reader.choice()?;
    if reader.rest.trim().is_empty() { Ok(value) } else { Err(format!("`{}` is left", reader.rest)) }
}

/// Generates pairs of expressions. The second of a pair is never negative.
fn exprs() -> impl Strategy<Value = (Expr, Expr)> {
    let facts = || {
        let mut printer = printer();
        std::mem::take(&mut printer.facts)
    };
    let symbol = |from: std::ops::Range<usize>| from.prop_map(|i| Expr::symbol(symbols()[i].0.clone()));
    let constant = |from: std::ops::Range<i64>| from.prop_map(Expr::constant);
    let any = prop_oneof![3 => symbol(0..6), 1 => constant(-40..40)];
    let nonnegative = prop_oneof![3 => symbol(0..4), 1 => constant(0..40)];
    let divisor = || prop_oneof![Just(1i64), Just(3), Just(8), Just(32), Just(96)];
    (any, nonnegative).prop_recursive(4, 24, 4, move |inner| {
        (inner.clone(), inner, divisor(), 0..9u8, -9..9i64).prop_map(move |((a, p), (b, q), d, op, c)| {
            let (facts, by) = (facts(), Expr::constant(d));
            let one_more = |e: &Expr| e.clone() + Expr::constant(1);
            let signed = match op {
                0 => a.clone() + b,
                1 => a.clone() - b.scale(c),
                2 => &a * &b,
                3 => a.div(&by, &facts),
                4 => a.rem(&by, &facts),
                5 => a.minimum(&b, &facts),
                6 => a.div(&one_more(&q), &facts),
                7 => a.rem(&one_more(&q), &facts),
                _ => p.clone() - a.clone(),
            };
            let nonnegative = match op {
                0 => p.clone() + q.clone(),
                1 => p.scale(c.abs()) + q.clone(),
                2 => &p * &q,
                3 => p.div(&by, &facts),
                4 => p.rem(&by, &facts),
                5 => p.maximum(&a, &facts),
                6 => p.xor(&q),
                7 => p.and(0x1c0),
                _ => a.rem(&by, &facts),
            };
            (signed, nonnegative)
        })
    })
}

fn values() -> impl Strategy<Value = Vec<i64>> {
    let one = |(_, _, _, _, (lo, hi)): (Symbol, &str, bool, Range, Range)| {
        let (lo, hi) = (lo.unwrap_or(0), hi.unwrap_or(0));
        prop_oneof![2 => lo..=hi, 1 => Just(lo), 1 => Just(hi)]
    };
    symbols().into_iter().map(one).collect::<Vec<_>>()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_text_has_the_value((signed, nonnegative) in exprs(), values in values(), unrolled in any::<bool>()) {
        for expr in [signed, nonnegative] {
            let env = |s: &Symbol| symbols().iter().position(|x| x.0 == *s).map(|i| values[i]);
            // Values of 2⁵¹ and more are skipped: in another order of its terms, the sum may exceed 64 bits.
            let Some(expected) = expr.eval(&env).ok().filter(|v| v.unsigned_abs() < 1 << 51) else { continue };
            let mut printer = printer();
            printer.unrolled.extend(unrolled.then(|| symbols()[4].0.clone()));
            let text = printer.expr(&expr);
            match read(&text.text, &values) {
                Ok((value, wide)) => {
                    prop_assert_eq!((value, wide), (expected, text.wide), "{} as `{}`", expr, text.text);
                }
                Err(e) if e.contains("long long") => {}
                Err(e) => prop_assert!(false, "{}: {} as `{}`", e, expr, text.text),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// `i` counts the rounds, from a start that the launch knows; `b` is the block and `u` the counter of an unrolled loop.
    #[test]
    fn a_running_index_is_the_remainder_in_every_round(
        divisor in prop_oneof![Just(3i64), Just(5), Just(6), Just(7), Just(12), Just(1000)],
        terms in prop::collection::vec((-9i64..9, -9i64..9, -40i64..40, -3i64..3, any::<bool>()), 1..4),
        (start, block, unrolled) in (-5i64..5, 0i64..50, 0i64..6),
    ) {
        let [i, b, u, base] = [("i", 0), ("b", 1), ("u", 2), ("base", 3)].map(|(name, n)| Symbol::Var(name.into(), n));
        let mut printer = Printer::default();
        printer.name(b.clone(), "block_x".into(), false);
        printer.bound(&b, (Some(0), Some(50)));
        printer.name(base.clone(), "k".into(), false);
        printer.bound(&base, (Some(-5), Some(5)));
        printer.enter_rounds(&i, &Expr::symbol(base.clone()));
        printer.name(i.clone(), "i".into(), false);
        printer.bound(&i, (Some(-5), Some(20)));
        printer.name(u.clone(), "thread".into(), false);
        printer.bound(&u, (Some(0), Some(6)));
        printer.unrolled.insert(u.clone());
        let [ei, eb, eu] = [&i, &b, &u].map(|s| Expr::symbol(s.clone()));
        let by = Expr::constant(divisor);
        let sum = terms.iter().enumerate().fold(Expr::default(), |sum, (n, (ci, cb, c, cu, by_block))| {
            let step = if *by_block { &ei * &eb } else { ei.clone() };
            let dividend = step.scale(*ci) + eb.scale(*cb) + Expr::constant(*c) + eu.scale(*cu);
            sum + dividend.rem(&by, &printer.facts).scale(n as i64 + 1)
        });
        let text = printer.expr(&sum).text;
        let Needed { heads, .. } = printer.leave_rounds("i");
        // The names of `symbols()`, in their order: m, k, thread, block_x, i, big.
        let values = |round: i64| [0, start, unrolled, block, round, 0];
        let value = |text: &str, round, indices: &[(String, i64)]| read_with(text, &values(round), indices);
        let begin = |head: &Head| Ok((head.name.clone(), value(&head.first, 0, &[])?.0));
        let mut indices = heads.iter().map(begin).collect::<Result<Vec<_>, String>>().expect(&text);
        for round in start..start + 15 {
            let env = |s: &Symbol| match s {
                s if *s == i => Some(round),
                s if *s == b => Some(block),
                s if *s == u => Some(unrolled),
                _ => None,
            };
            let expected = sum.eval(&env).expect("a value");
            prop_assert_eq!(value(&text, round, &indices), Ok((expected, false)), "{} with {:?}", text, heads);
            let next = |head: &Head| Ok((head.name.clone(), value(&head.next, round, &indices)?.0));
            indices = heads.iter().map(next).collect::<Result<Vec<_>, String>>().expect(&text);
        }
    }
}

#[test]
fn rings_that_are_no_power_of_two_have_a_running_index() {
    let mut printer = printer();
    let [thread, block, i] = [2, 3, 4].map(|s: usize| Expr::symbol(symbols()[s].0.clone()));
    printer.enter_rounds(&symbols()[4].0.clone(), &Expr::default());
    printer.name(symbols()[4].0.clone(), "i".into(), false);
    let facts = Facts::default();
    let c = Expr::constant;
    let rem = |e: Expr, by: i64| e.rem(&c(by), &facts);
    let mut check = |e: Expr, expected: Expect| expected.assert_eq(&printer.expr(&e).text);
    check(rem(i.clone() + c(2), 3).scale(4096), expect!["hx_i_mod_3 * 4096"]);
    check(rem(i.clone(), 3), expect!["(hx_i_mod_3 == 2 ? 0 : hx_i_mod_3 + 1)"]);
    check(rem(i.clone() + c(1), 3), expect!["(hx_i_mod_3 == 0 ? 2 : hx_i_mod_3 - 1)"]);
    check(rem(i.scale(2) + block, 5), expect!["hx_i_mod_5"]);
    // A power of two, and an index that differs between threads, are computed anew.
    check(rem(i.clone(), 4), expect!["i & 3"]);
    check(rem(i + thread, 3), expect!["hx_floor_mod(thread + i, 3)"]);
    // Only addresses of shared memory hide the counter.
    assert_eq!(
        printer.in_shared(&(Expr::symbol(symbols()[4].0.clone()).scale(64) + c(8))).text,
        "hx_i * 64 + 8"
    );
    let Needed { heads, hidden } = printer.leave_rounds("i");
    assert_eq!(hidden.as_deref(), Some("hx_i"));
    let line = |h: &Head| format!("{} = {}; {} = {}\n", h.name, h.first, h.name, h.next);
    expect![[r"
        hx_i_mod_3 = 2; hx_i_mod_3 = hx_i_mod_3 == 2 ? 0 : hx_i_mod_3 + 1
        hx_i_mod_5 = block_x % 5; hx_i_mod_5 = hx_i_mod_5 >= 3 ? hx_i_mod_5 - 3 : hx_i_mod_5 + 2
    "]]
    .assert_eq(&heads.iter().map(line).collect::<String>());
}

/// Only addresses of shared memory hide a local integer that loops count, and what is linear in it.
#[test]
fn integers_that_loops_count_are_hidden() {
    let mut printer = printer();
    let [thread, big] = [2, 5].map(|s: usize| Expr::symbol(symbols()[s].0.clone()));
    printer.counted.insert(symbols()[5].0.clone());
    let facts = Facts::default();
    let (three, four) = (Expr::constant(3), Expr::constant(4));
    let wrapped = Expr::atom(Atom::Wrap(big.clone(), Width { bits: 32, signed: true }));
    let mut check = |e: &Expr, counts, expected: Expect| {
        assert_eq!(printer.counts(e), counts, "{e}");
        expected.assert_eq(&printer.in_shared(e).text);
    };
    check(&big.scale(4096), true, expect!["hx_hidden(big) * 4096"]);
    check(&big.rem(&three, &facts), true, expect!["(int)hx_floor_mod(hx_hidden(big), 3LL)"]);
    check(&(big.rem(&four, &facts) + thread.clone()), false, expect!["thread + (int)(big & 3)"]);
    check(&big.div(&three, &facts), false, expect!["hx_floor_div(big, 3LL)"]);
    check(&wrapped, true, expect!["(int)((unsigned)hx_hidden(big))"]);
    check(&thread, false, expect!["thread"]);
    assert!(printer.helpers.contains(&Helper::Hidden));
    expect!["big * 4096"].assert_eq(&printer.expr(&big.scale(4096)).text);
}

fn check(e: Expr, expected: Expect) {
    expected.assert_eq(&printer().expr(&e).text);
}

#[test]
fn readable_and_no_wider_than_needed() {
    let facts = &printer().facts;
    let [m, k, thread, block, i, big] =
        [0, 1, 2, 3, 4, 5].map(|s: usize| Expr::symbol(symbols()[s].0.clone()));
    let c = Expr::constant;
    let row = block.scale(128) + thread.div(&c(4), facts);
    check(thread.div(&c(4), facts).rem(&c(8), facts) + i.scale(16), expect!["i * 16 + ((thread >> 2) & 7)"]);
    check(&row * &k + i.scale(8), expect!["(long long)k * (block_x * 128 + (thread >> 2)) + i * 8"]);
    check(&m * &k, expect!["(long long)k * m"]);
    check(m.clone() + c(1), expect!["(long long)m + 1"]);
    check(thread.clone() - c(1), expect!["thread - 1"]);
    check(c(5) - i.scale(3), expect!["-i * 3 + 5"]);
    check((i.clone() - c(1)).div(&c(3), facts), expect!["hx_floor_div(i + 2, 3) - 1"]);
    check((i.clone() - c(1)).rem(&c(4), facts), expect!["(i + 3) & 3"]);
    check(big.rem(&c(100), facts) + big.scale(2), expect!["big * 2 + (int)hx_floor_mod(big, 100LL)"]);
    check(m.minimum(&big, facts), expect!["min((long long)m, big)"]);
    check(c(1 << 40) + i.clone(), expect!["1099511627776LL + i"]);
}

#[test]
fn integers_of_a_width_are_computed_in_unsigned_arithmetic() {
    let [m, _, _, _, i, big] = [0, 1, 2, 3, 4, 5].map(|s: usize| Expr::symbol(symbols()[s].0.clone()));
    let wrap = |e: &Expr, bits, signed| Expr::atom(Atom::Wrap(e.clone(), Width { bits, signed }));
    let sum = &m * &big - i.scale(3) + Expr::constant(7);
    check(wrap(&sum, 32, true), expect!["(int)((unsigned)m * (unsigned)big + 7u - (unsigned)i * 3u)"]);
    check(wrap(&sum, 32, false), expect!["(long long)((unsigned)m * (unsigned)big + 7u - (unsigned)i * 3u)"]);
    check(
        wrap(&sum, 64, true),
        expect![
            "(long long)((unsigned long long)m * (unsigned long long)big + 7ULL - (unsigned long long)i * 3ULL)"
        ],
    );
    check(wrap(&sum, 16, true), expect!["(int)(short)((unsigned)m * (unsigned)big + 7u - (unsigned)i * 3u)"]);
    check(wrap(&-m.clone(), 8, false), expect!["(int)((0u - (unsigned)m) & 0xffu)"]);
    check(
        wrap(&sum, 4, true) + i,
        expect!["i + ((int)(((unsigned)m * (unsigned)big + 7u - (unsigned)i * 3u) << 28) >> 28)"],
    );
}

#[test]
fn a_divisor_that_may_be_0_is_guarded() {
    let facts = &printer().facts;
    let [m, k, _, block, i, big] = [0, 1, 2, 3, 4, 5].map(|s: usize| Expr::symbol(symbols()[s].0.clone()));
    check(m.div(&k, facts), expect!["hx_div(m, k)"]);
    check(m.rem(&k, facts), expect!["hx_mod(m, k)"]);
    check(big.div(&m, facts), expect!["hx_floor_div(big, (long long)m)"]);
    check(block.div(&(i + Expr::constant(1)), facts), expect!["(long long)hx_floor_div(block_x, i + 1)"]);
}

#[test]
fn what_loops_are_unrolled_to_comes_last_in_an_address() {
    let [_, k, thread, block, i, _] = [0, 1, 2, 3, 4, 5].map(|s: usize| Expr::symbol(symbols()[s].0.clone()));
    let mut printer = printer();
    printer.unrolled.insert(symbols()[4].0.clone());
    let mut check = |e: Expr, expected: Expect| expected.assert_eq(&printer.expr(&e).text);
    let row = &k * &(block.scale(128) + i.scale(16));
    check(
        row + thread.scale(4) + i.scale(8) + Expr::constant(4),
        expect!["(long long)k * (block_x * 128 + i * 16) + thread * 4 + (i * 8 + 4)"],
    );
    check(&k * &block - i.scale(8), expect!["(long long)k * block_x - i * 8"]);
    // A sum in `int` is no address, so it is not split.
    check(thread.scale(4) + i.scale(8) + Expr::constant(4), expect!["thread * 4 + i * 8 + 4"]);
}
