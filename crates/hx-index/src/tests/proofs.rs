use proptest::prelude::*;

use super::{c, dim, var};
use crate::{CmpOp, Cond, Expr, Facts, Symbol};

fn scalar(name: &str) -> Expr {
    Expr::symbol(Symbol::Scalar(name.into()))
}

fn block() -> Expr {
    Expr::symbol(Symbol::BlockIdx(0))
}

/// Returns the facts of a kernel that runs in `blocks` blocks along the first axis.
fn grid(blocks: &Expr) -> Facts {
    let mut facts = Facts::default();
    facts.at_most(Symbol::BlockIdx(0), blocks.clone() - c(1));
    facts.occupied(blocks);
    facts
}

#[test]
fn clamped_indices_stay_inside() {
    let mut facts = Facts::default();
    facts.at_least(Symbol::Dim("n".into()), 1);
    let last = dim("n") - c(1);
    let low = scalar("i").minimum(&last, &facts);
    let clamped = low.maximum(&c(0), &facts);
    assert!(facts.proves_lt(&low, &dim("n")));
    assert!(!facts.proves_le(&c(0), &low));
    assert!(facts.proves_le(&c(0), &clamped) && facts.proves_lt(&clamped, &dim("n")));
    assert!(!facts.proves_lt(&clamped, &last));
}

#[test]
fn numbers_that_stay_in_their_type_do_not_wrap() {
    let i32 = crate::Width { bits: 32, signed: true };
    let mut facts = Facts::default();
    let k = Symbol::Scalar("k".into());
    facts.at_least(k.clone(), i32.range().0);
    facts.at_most(k, Expr::constant(i32.range().1));
    let last = (scalar("k") - c(1)).wrap(i32, &facts);
    let clamped = scalar("i").minimum(&last, &facts).maximum(&c(0), &facts);
    assert!(!facts.proves_lt(&clamped, &scalar("k")));
    // `k` may be the least `i32`, and then `k - 1` wraps to the greatest one.
    facts.holds(&Cond::Cmp(CmpOp::Le, scalar("k"), dim("n")));
    assert!(!facts.proves_lt(&clamped, &dim("n")));
    facts.holds(&Cond::Cmp(CmpOp::Lt, c(0), scalar("k")));
    assert!(facts.proves_lt(&clamped, &scalar("k")) && facts.proves_lt(&clamped, &dim("n")));
    assert!(facts.proves_le(&c(0), &clamped));
}

#[test]
fn quotients_and_remainders_number_a_grid() {
    let facts = grid(&(&dim("b") * &dim("h")));
    let (q, r) = (block().div(&dim("h"), &facts), block().rem(&dim("h"), &facts));
    assert!(facts.proves_lt(&q, &dim("b")) && facts.proves_lt(&r, &dim("h")));
    assert!(facts.proves_le(&c(0), &q) && facts.proves_le(&c(0), &r));
    assert!(!facts.proves_lt(&q, &(dim("b") - c(1))) && !facts.proves_lt(&r, &dim("b")));
}

#[test]
fn heads_share_a_group_if_the_groups_are_whole() {
    let mut facts = grid(&dim("q"));
    facts.at_least(Symbol::Dim("k".into()), 1);
    let head = block().div(&dim("q").div(&dim("k"), &facts), &facts);
    assert!(!facts.proves_lt(&head, &dim("k")));
    facts.exact(&dim("q"), &dim("k"));
    assert!(facts.proves_lt(&head, &dim("k")));
}

#[test]
fn an_equality_holds_in_both_directions() {
    let mut facts = Facts::default();
    let tiles = dim("k").ceil_div(&c(128), &facts);
    facts.equal(&dim("g"), &tiles);
    facts.equal(&dim("h"), &(dim("g") + c(1)));
    facts.at_most(Symbol::BlockIdx(0), dim("k").ceil_div(&c(64), &facts) - c(1));
    assert!(facts.proves_lt(&block().div(&c(2), &facts), &dim("g")));
    assert!(facts.proves_le(&tiles, &dim("g")) && facts.proves_le(&dim("g"), &tiles));
    assert!(facts.proves_lt(&dim("g"), &dim("h")) && facts.proves_le(&dim("h"), &(tiles + c(1))));
    assert!(!facts.proves_lt(&block(), &dim("g")));
}

/// If `g` is equal to an expression, counters and blocks below `g` are proven to be below the expression.
#[test]
fn an_equal_number_bounds_a_counter() {
    let none = Facts::default();
    for value in [dim("k").ceil_div(&c(32), &none), dim("k") + c(1), dim("k").scale(2), &dim("k") * &dim("n")]
    {
        let mut facts = grid(&dim("g"));
        facts.equal(&dim("g"), &value);
        facts.at_most(Symbol::Var("i".into(), 0), dim("g") - c(1));
        assert!(facts.proves_lt(&var("i"), &dim("g")) && facts.proves_lt(&var("i"), &value), "{value}");
        assert!(facts.proves_lt(&block(), &dim("g")) && facts.proves_lt(&block(), &value), "{value}");
        assert!(!facts.proves_lt(&var("i"), &(value - c(1))));
    }
}

#[test]
fn two_statements_make_one_proof() {
    let mut facts = Facts::default();
    facts.holds(&Cond::Cmp(CmpOp::Lt, scalar("i"), dim("n")));
    facts.holds(&Cond::Cmp(CmpOp::Le, dim("n"), scalar("m")));
    assert!(facts.proves_lt(&scalar("i"), &scalar("m")));
    assert!(facts.proves_lt(&scalar("i").scale(3), &(scalar("m").scale(3) - c(2))));
    assert!(!facts.proves_lt(&scalar("i"), &(scalar("m") - c(1))));
    facts.forget_symbol(&Symbol::Scalar("i".into()));
    assert!(!facts.proves_lt(&scalar("i"), &scalar("m")));
}

/// A loop from `s` to `n - 1` may have no round. Its counter then has no value, so the counter does not prove `s < n`.
#[test]
fn a_counter_does_not_order_the_bounds_of_its_loop() {
    let mut facts = Facts::default();
    let counter = Symbol::Var("i".into(), 0);
    facts.at_least(counter.clone(), 0);
    facts.at_most(counter.clone(), dim("n") - c(1));
    facts.ordered_where_defined(&scalar("s"), &var("i"));
    assert!(
        facts.proves_le(&scalar("s"), &var("i"))
            && facts.proves_lt(&(var("i") + scalar("s")), &dim("n").scale(2))
    );
    assert!(!facts.proves_lt(&scalar("s"), &dim("n")));
}

/// Proofs simplify statements about minima, and this must not use the same statements, which would not end.
#[test]
fn a_statement_about_a_minimum_ends() {
    let mut facts = Facts::default();
    let low = dim("m").minimum(&dim("n"), &facts);
    facts.ordered(&low, &dim("k"));
    facts.ordered(&dim("k"), &low.maximum(&scalar("i"), &Facts::default()));
    assert!(facts.proves_le(&low, &dim("k")));
    assert!(!facts.proves_le(&dim("m"), &dim("k")));
}

/// Expressions over dimensions, scalars and a counter.
fn arb_expr() -> impl Strategy<Value = Expr> {
    let symbols = prop_oneof![
        Just("m").prop_map(dim),
        Just("n").prop_map(dim),
        Just("s").prop_map(scalar),
        Just("t").prop_map(scalar),
        Just("i").prop_map(var),
    ];
    let leaf = prop_oneof![1 => (-9i64..9).prop_map(c), 3 => symbols];
    leaf.prop_recursive(3, 12, 2, |inner| {
        (inner.clone(), inner, 1i64..9, 0..9).prop_map(|(a, b, d, op)| {
            let facts = Facts::default();
            match op {
                0 | 1 => a + b,
                2 => a - b,
                3 => &a * &b,
                4 => a.div(&c(d), &facts),
                5 => a.rem(&c(d), &facts),
                6 => a.div(&b, &facts),
                7 => a.minimum(&b, &facts),
                _ => a.maximum(&b, &facts),
            }
        })
    })
}

/// States facts that are true for the values in `env`. Each fact is built from two expressions, and a false one is left out.
fn true_facts(stated: &[(u8, Expr, Expr)], env: &dyn Fn(&Symbol) -> Option<i64>) -> Facts {
    let mut facts = Facts::default();
    for (kind, a, b) in stated {
        let (Ok(x), Ok(y)) = (a.eval(env), b.eval(env)) else { continue };
        let of_launch = |e: &Expr| !e.symbols().iter().any(|s| matches!(s, Symbol::Var(..)));
        match kind {
            0 if of_launch(b) && env(&Symbol::Var("i".into(), 0)).is_some_and(|i| (0..=y).contains(&i)) => {
                facts.at_most(Symbol::Var("i".into(), 0), b.clone());
            }
            1 if x <= y => facts.ordered(a, b),
            2 => {
                // The distance of the two values is added to `b`, so that the equality is true.
                facts.equal(a, &(b.clone() + c(x - y)));
            }
            3 if y != 0 && x.rem_euclid(y) == 0 => facts.exact(a, b),
            4 if x >= 1 => facts.occupied(a),
            5 => {
                let cond = if x < y {
                    Cond::Cmp(CmpOp::Lt, a.clone(), b.clone())
                } else {
                    Cond::Cmp(CmpOp::Le, b.clone(), a.clone())
                };
                facts.holds(&cond);
            }
            _ => {}
        }
    }
    facts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// A proof never claims a bound that is false for values that satisfy the facts.
    #[test]
    fn proofs_are_sound(
        stated in prop::collection::vec((0u8..6, arb_expr(), arb_expr()), 0..5),
        (a, b, slack) in (arb_expr(), arb_expr(), -3i64..4),
        (m, n, s, t, i) in (0i64..12, 0i64..12, -8i64..9, -8i64..9, -4i64..12),
    ) {
        let env = |symbol: &Symbol| Some(match symbol {
            Symbol::Dim(d) => if d == "m" { m } else { n },
            Symbol::Scalar(d) => if d == "s" { s } else { t },
            _ => i,
        });
        let facts = true_facts(&stated, &env);
        let mut goals = vec![(a.clone(), b.clone()), (a.clone(), a.clone() + c(slack))];
        // Inequalities near the stated facts have a proof more often.
        for (_, x, y) in &stated {
            goals.extend([(x.clone(), y.clone() + c(slack)), (a.minimum(x, &facts), y.clone()), (x.clone() + a.clone(), y.clone() + b.clone())]);
        }
        for (low, high) in goals {
            let (Ok(x), Ok(y)) = (low.eval(&env), high.eval(&env)) else { continue };
            prop_assert!(x <= y || !facts.proves_le(&low, &high), "{low} <= {high} under {facts:?}");
            prop_assert!(x < y || !facts.proves_lt(&low, &high), "{low} < {high} under {facts:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Values that refute an inequality satisfy all facts, so a sum of statements, which is at least 0, is never refuted.
    #[test]
    fn what_follows_is_not_refuted(
        stated in prop::collection::vec((0u8..6, arb_expr(), arb_expr()), 0..5),
        times in prop::collection::vec(0i64..4, 5),
        slack in 0i64..4,
        (m, n, s, t, i) in (0i64..12, 0i64..12, -8i64..9, -8i64..9, 0i64..12),
    ) {
        let env = |symbol: &Symbol| Some(match symbol {
            Symbol::Dim(d) => if d == "m" { m } else { n },
            Symbol::Scalar(d) => if d == "s" { s } else { t },
            _ => i,
        });
        let facts = true_facts(&stated, &env);
        let statements: Vec<Expr> = facts.statements().map(|e| facts.with_definitions(e)).collect();
        let sum = statements.iter().zip(times).fold(c(slack), |sum, (e, n)| sum + e.scale(n));
        prop_assert!(!crate::refute::is_refuted(&facts, statements.iter(), &sum), "{sum} under {facts:?}");
    }
}

#[test]
fn what_does_not_follow_is_refuted() {
    let mut facts = Facts::default();
    facts.divisible(Symbol::Dim("n".into()), 8);
    facts.at_most(Symbol::BlockIdx(0), dim("n").div(&c(8), &facts) - c(1));
    let stated = [scalar("t") - dim("n").scale(2), dim("n") - c(64)];
    let refuted = |e: &Expr| crate::refute::is_refuted(&facts, stated.iter(), e);
    assert!(!refuted(&(dim("n") - block().scale(8) - c(8))));
    assert!(refuted(&(dim("n") - block().scale(8) - c(9))));
    assert!(!refuted(&(scalar("t") - c(128))) && refuted(&(scalar("t") - c(129))));
    assert!(
        !refuted(&(dim("n").rem(&c(8), &Facts::default()))) && refuted(&(scalar("t") - dim("n").scale(3)))
    );
}

#[test]
fn symbols_that_bound_each_other_refute_nothing() {
    let mut facts = Facts::default();
    facts.at_most(Symbol::Var("i".into(), 0), dim("n"));
    facts.at_most(Symbol::Dim("n".into()), var("i"));
    assert!(!crate::refute::is_refuted(&facts, std::iter::empty(), &(var("i") - dim("n") - c(1))));
}

/// That the product of two scalars is at least 1 does not prove that either is positive: both may be negative.
#[test]
fn blocks_bound_only_factors_that_are_not_negative() {
    let facts = grid(&(&scalar("s") * &scalar("t")));
    assert!(!facts.proves_lt(&c(0), &scalar("s")));
    let facts = grid(&dim("m").ceil_div(&c(64), &Facts::default()));
    assert!(facts.proves_lt(&c(0), &dim("m")));
}

#[test]
fn numbers_at_the_ends_of_64_bits_prove_nothing() {
    let mut facts = Facts::default();
    facts.ordered(&dim("n"), &c(i64::MIN));
    let product = &scalar("i") * &dim("m").scale(i64::MIN);
    for e in [product.clone() + dim("n"), product.clone() - c(1), scalar("i") + c(i64::MIN)] {
        assert!(!facts.proves_le(&e, &scalar("j")) && !facts.proves_lt(&scalar("j"), &e));
    }
}
