mod proofs;

use proptest::prelude::*;

use crate::{Atom, Expr, Facts, Symbol, Width};

fn dim(n: &str) -> Expr {
    Expr::dim(n)
}
fn var(n: &str) -> Expr {
    Expr::symbol(Symbol::Var(n.into(), 0))
}
fn c(x: i64) -> Expr {
    Expr::constant(x)
}

#[test]
fn products_and_sums_have_one_form() {
    let (m, n) = (dim("m"), dim("n"));
    assert_eq!((&(m.clone() + n.clone()) * &(m.clone() - n.clone())).to_string(), "m * m - n * n");
    assert_eq!(m.clone() + n.clone(), n + m);
}

#[test]
fn division_keeps_the_part_that_divides() {
    let facts = Facts::default();
    let e = dim("m").scale(64) + c(70);
    assert_eq!(e.div(&c(64), &facts).to_string(), "m + 1");
    assert_eq!(e.rem(&c(64), &facts).to_string(), "6");
}

#[test]
fn a_whole_number_of_tiles_is_the_dimension() {
    let mut facts = Facts::default();
    facts.divisible(Symbol::Dim("k".into()), 48);
    let tiles = dim("k").div(&c(48), &facts);
    assert_eq!(tiles.to_string(), "k / 48");
    assert_eq!((&tiles * &c(48)).simplify(&facts), dim("k"));
    assert_eq!(dim("k").ceil_div(&c(48), &facts), tiles);
}

#[test]
fn nested_divisions_join_only_if_their_divisor_fits() {
    let facts = Facts::default();
    assert_eq!(dim("m").div(&c(1 << 20), &facts).div(&c(1 << 20), &facts), dim("m").div(&c(1 << 40), &facts));
    let twice = dim("m").div(&c(1 << 40), &facts).div(&c(1 << 40), &facts);
    assert_eq!(twice.to_string(), "(m / 1099511627776) / 1099511627776");
}

#[test]
fn divisors_that_do_not_fit_are_forgotten() {
    let mut facts = Facts::default();
    facts.divisible(Symbol::Dim("k".into()), 16);
    facts.divisible(Symbol::Dim("k".into()), i64::MAX);
    assert_eq!(facts.divisor(&dim("k")), i64::MAX);
    let mut facts = Facts::default();
    facts.divisible(Symbol::Dim("k".into()), 1 << 40);
    assert_eq!(facts.divisor(&(&dim("k") * &dim("k"))), 1 << 40);
    assert_eq!(facts.divisor(&c(i64::MIN)), 1 << 62);
    assert_eq!(crate::gcd(i64::MIN, 0), 1 << 62);
}

#[test]
fn a_loop_over_whole_tiles_stays_inside() {
    let mut facts = Facts::default();
    facts.divisible(Symbol::Dim("k".into()), 16);
    let ki = var("ki");
    facts.at_most(Symbol::Var("ki".into(), 0), dim("k").div(&c(16), &facts) - c(1));
    assert!(facts.proves_lt(&(ki.scale(16) + c(15)), &dim("k")));
    assert!(!facts.proves_lt(&(ki.scale(16) + c(16)), &dim("k")));
}

#[test]
fn a_ragged_edge_is_not_proven() {
    let mut facts = Facts::default();
    facts.at_most(Symbol::BlockIdx(0), dim("m").ceil_div(&c(64), &facts) - c(1));
    let row = Expr::symbol(Symbol::BlockIdx(0)).scale(64) + c(63);
    assert!(!facts.proves_lt(&row, &dim("m")));
    facts.divisible(Symbol::Dim("m".into()), 64);
    facts.at_most(Symbol::BlockIdx(0), dim("m").ceil_div(&c(64), &facts) - c(1));
    assert!(facts.proves_lt(&row, &dim("m")));
}

#[test]
fn what_is_stated_of_two_expressions_is_used() {
    let mut facts = Facts::default();
    let blocks = dim("m").ceil_div(&c(8), &facts);
    facts.at_most(Symbol::BlockIdx(0), blocks.clone() - c(1));
    let block = Expr::symbol(Symbol::BlockIdx(0));
    assert!(!facts.proves_lt(&block, &dim("t")));
    facts.ordered(&blocks, &dim("t"));
    assert!(facts.proves_lt(&block, &dim("t")));
    assert!(!facts.proves_lt(&(block + c(1)), &dim("t")));
}

#[test]
fn text_reads_as_source() {
    let thread = Expr::symbol(Symbol::Thread);
    let lane = Expr::atom(Atom::Mod(thread.clone(), c(32)));
    let e = lane.scale(2) + thread.div(&c(32), &Facts::default()).scale(16) - c(3);
    assert_eq!(e.to_string(), "(thread / 32) * 16 + (thread % 32) * 2 - 3");
}

fn arb_expr() -> impl Strategy<Value = Expr> {
    let leaf =
        prop_oneof![(-20i64..20).prop_map(c), prop_oneof![Just("m"), Just("n"), Just("k")].prop_map(dim),];
    leaf.prop_recursive(4, 24, 2, |inner| {
        (inner.clone(), inner, 1i64..9, 0..6).prop_map(|(a, b, d, op)| {
            let facts = Facts::default();
            match op {
                0 => a + b,
                1 => a - b,
                2 => &a * &b,
                3 => a.div(&c(d), &facts),
                4 => a.rem(&c(d), &facts),
                _ => a.minimum(&b, &facts),
            }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The divisor, the range and the simplified forms of an expression hold for its value under all facts.
    #[test]
    fn facts_are_sound(e in arb_expr(), m in 0i64..6, n in 0i64..40, k in 0i64..40) {
        let mut facts = Facts::default();
        facts.divisible(Symbol::Dim("m".into()), 8);
        facts.at_most(Symbol::Dim("m".into()), c(40));
        facts.at_most(Symbol::Dim("n".into()), c(39));
        let env = |s: &Symbol| match s {
            Symbol::Dim(d) => Some(match d.as_str() { "m" => 8 * m, "n" => n, _ => k }),
            _ => None,
        };
        let Ok(value) = e.eval(&env) else { return Ok(()) };
        let divisor = facts.divisor(&e);
        prop_assert!(if divisor == 0 { value == 0 } else { value % divisor == 0 }, "{} of {}", divisor, e);
        let (lo, hi) = facts.range(&e);
        prop_assert!(lo.is_none_or(|lo| lo <= value), "{} >= {:?}", e, lo);
        prop_assert!(hi.is_none_or(|hi| value <= hi), "{} <= {:?}", e, hi);
        prop_assert_eq!(e.simplify(&facts).eval(&env).ok(), Some(value));
        prop_assert_eq!(e.div(&c(8), &facts).eval(&env).ok(), Some(value.div_euclid(8)));
        prop_assert_eq!(e.rem(&c(8), &facts).eval(&env).ok(), Some(value.rem_euclid(8)));
        if facts.proves_le(&e, &c(5)) { prop_assert!(value <= 5); }
    }
}

#[test]
fn what_wraps_is_no_unbounded_integer() {
    let i32 = Width { bits: 32, signed: true };
    let mut facts = Facts::default();
    let (x, y) = (Symbol::Scalar("x".into()), Symbol::Scalar("y".into()));
    for symbol in [&x, &y] {
        facts.at_least(symbol.clone(), i32.range().0);
        facts.at_most(symbol.clone(), c(i32.range().1));
    }
    let (x, y) = (Expr::symbol(x), Expr::symbol(y));
    let next = (x.clone() + c(1)).wrap(i32, &facts);
    assert_eq!(next.to_string(), "cast(x + 1, i32)");
    assert!(!facts.proves_lt(&x, &next) && !facts.proves_le(&x, &next));
    // The largest power of two that divides the product still divides the wrapped one, and the range is that of the type.
    let product = (&x.scale(24) * &y).wrap(i32, &facts);
    assert_eq!(facts.divisor(&product), 8);
    assert_eq!(facts.range(&product), (Some(i32.range().0), Some(i32.range().1)));
    // A sum that is known to fit its type is not wrapped.
    facts.at_most(Symbol::Scalar("x".into()), c(100));
    facts.at_least(Symbol::Scalar("x".into()), 0);
    assert_eq!((x.clone() + c(1)).wrap(i32, &facts).to_string(), "x + 1");
    assert_eq!(dim("n").wrap(i32, &facts), dim("n"));
    assert_eq!(c(300).wrap(Width { bits: 8, signed: true }, &facts), c(44));
    assert_eq!(c(-1).wrap(Width { bits: 8, signed: false }, &facts), c(255));
}

#[test]
fn a_divisor_that_may_be_0_is_not_cancelled() {
    let mut facts = Facts::default();
    let product = &dim("m") * &dim("n");
    assert_eq!(product.div(&dim("n"), &facts).to_string(), "(m * n) / n");
    // The quotient of two non-negative values is at most its dividend, also for the divisor 0.
    let mut short = facts.clone();
    short.at_most(Symbol::Dim("m".into()), c(100));
    assert_eq!(short.range(&dim("m").div(&dim("n"), &facts)), (Some(0), Some(100)));
    facts.at_least(Symbol::Dim("n".into()), 1);
    assert_eq!(product.div(&dim("n"), &facts).to_string(), "m");
    assert_eq!(product.rem(&dim("n"), &facts).to_string(), "0");
    assert_eq!((c(7).div(&c(0), &facts), c(7).rem(&c(0), &facts)), (c(0), c(0)));
    assert_eq!((c(7).div(&c(-2), &facts), c(7).rem(&c(-2), &facts)), (c(-4), c(-1)));
}

proptest! {
    /// The value of a quotient or remainder by a divisor of any sign, and of a wrapped number, lies in the range of its
    /// expression.
    #[test]
    fn ranges_hold_what_they_say(
        x in -40i64..40,
        y in -5i64..5,
        (low, high) in (-6i64..0, 0i64..6),
        bits in 1u32..9,
        signed: bool,
    ) {
        let width = Width { bits, signed };
        let y = y.clamp(low, high);
        let mut facts = Facts::default();
        let symbols = [Symbol::Scalar("x".into()), Symbol::Scalar("y".into())];
        facts.at_least(symbols[1].clone(), low);
        facts.at_most(symbols[1].clone(), c(high));
        let env = |s: &Symbol| Some(if *s == symbols[0] { x } else { y });
        let [a, b] = symbols.clone().map(Expr::symbol);
        let square = (&a * &a + b.clone()).wrap(width, &facts);
        prop_assert_eq!(square.eval(&env).unwrap(), width.wrap(x * x + y));
        prop_assert!(width.holds(width.wrap(x * x + y)));
        prop_assert_eq!((width.wrap(x) - x) % (1 << bits), 0);
        for whole in [a.div(&b, &facts), a.rem(&b, &facts), square] {
            let (lo, hi) = facts.range(&whole);
            let value = whole.eval(&env).unwrap_or(0);
            prop_assert!(lo.is_none_or(|lo| lo <= value) && hi.is_none_or(|hi| value <= hi), "{whole} = {value}: {lo:?}..{hi:?}");
        }
    }
}
