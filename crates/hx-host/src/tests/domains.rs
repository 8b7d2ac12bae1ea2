//! Tests of the values of a `forall`: boundaries, draws, the names of cases and their reading, and choices in a changed domain.

use expect_test::{Expect, expect};
use hx_dtype::DType;

use crate::domain::{Choice, Dice, Domain};
use crate::value::Value;

fn ints(low: i64, high: i64) -> Domain {
    Domain::range(&Value::Int(low), &Value::Int(high), true).expect("a range")
}

fn floats(low: f64, high: f64, inclusive: bool) -> Domain {
    Domain::range(&Value::Float(low), &Value::Float(high), inclusive).expect("a range")
}

fn list(parts: Vec<Value>) -> Domain {
    Domain::of(&Value::List(parts.into())).expect("a list")
}

fn texts(domain: &Domain, choices: Vec<Choice>) -> String {
    choices.into_iter().map(|choice| domain.text(choice)).collect::<Vec<_>>().join(" ")
}

#[test]
fn boundaries_are_ends_and_neighbours_of_powers_of_two() {
    let check = |domain: Domain, want: Expect| want.assert_eq(&texts(&domain, domain.boundaries()));
    check(ints(1, 300), expect!["1 2 3 4 5 7 8 9 15 16 17 31 32 33 63 64 65 127 128 129 255 256 257 300"]);
    check(ints(-3, 3), expect!["-3 -2 -1 0 1 2 3"]);
    check(ints(70, 70), expect!["70"]);
    check(floats(-2.0, 1.5, false), expect!["-2.0 -1.0 0.0 1.0 1.4999999999999998"]);
    check(floats(0.5, 0.5, true), expect!["0.5 0.5"]);
    check(list(vec![Value::DType(DType::F16), Value::DType(DType::Bf16)]), expect!["f16 bf16"]);
}

#[test]
fn draws_stay_inside_and_reach_both_ends() {
    let mut dice = Dice::new(7);
    for domain in [ints(-2, 2), list(vec![Value::Int(5), Value::Int(6), Value::Int(7)])] {
        let mut seen: Vec<u64> = (0..200).filter_map(|_| domain.position(domain.draw(&mut dice))).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, (0..domain.count().expect("few values")).collect::<Vec<_>>());
    }
    let half_open = floats(0.0, f64::MIN_POSITIVE, false);
    assert!((0..200).all(|_| half_open.draw(&mut dice) != Choice::Float(f64::MIN_POSITIVE)));
    let all = ints(i64::MIN, i64::MAX);
    assert_ne!(all.draw(&mut dice), all.draw(&mut dice));
}

#[test]
fn names_are_read_back() {
    let tuple = |a: i64, b: &str| Value::Tuple(vec![Value::Int(a), Value::Str(b.into())].into());
    let lists = list(vec![tuple(1, "a, b"), tuple(1, "a"), Value::Bool(true), tuple(1, "a")]);
    let domains = [ints(-5, 300), floats(-1.0, 1.0, false), lists];
    for domain in &domains {
        for choice in domain.boundaries() {
            let text = domain.text(choice);
            assert_eq!(domain.read(&text), Some((choice, "")), "{text}");
            assert_eq!(domain.read(&format!("{text}, n = 3")), Some((choice, ", n = 3")), "{text}");
        }
    }
    expect![[r#"(1, "a, b") (1, "a") true (1, "a")#2"#]]
        .assert_eq(&texts(&domains[2], domains[2].boundaries()));
    for (domain, text) in [(0, "301"), (0, "x"), (0, ""), (1, "1.0"), (1, "nan"), (2, "false"), (2, "truely")]
    {
        assert_eq!(domains[domain].read(text), None, "{text}");
    }
}

#[test]
fn a_choice_moves_into_a_changed_domain() {
    assert_eq!(ints(1, 4).nearest(Choice::Int(9)), Choice::Int(4));
    assert_eq!(ints(5, 9).nearest(Choice::Int(2)), Choice::Int(5));
    assert_eq!(list(vec![Value::Int(1)]).nearest(Choice::At(3)), Choice::At(0));
    assert_eq!(floats(0.0, 2.0, true).nearest(Choice::Float(-1.0)), Choice::Float(0.0));
    assert_eq!(ints(1, 4).nearest(Choice::Float(2.0)), Choice::Int(1));
}

#[test]
fn domains_that_are_none() {
    let check = |found: crate::HostResult<Domain>, want: Expect| {
        want.assert_eq(&found.expect_err("an error").to_string());
    };
    let range = |a: Value, b: Value, inclusive| Domain::range(&a, &b, inclusive);
    check(
        range(Value::Int(4), Value::Int(4), false),
        expect![[r#"
        found the empty range `4..4`, expected at least one value
          help: `a..b` ends before `b`, `a..=b` includes it"#]],
    );
    check(
        range(Value::Int(4), Value::Int(3), true),
        expect![[r#"
        found the empty range `4..=3`, expected at least one value
          help: `a..b` ends before `b`, `a..=b` includes it"#]],
    );
    check(
        range(Value::Int(0), Value::Float(f64::INFINITY), false),
        expect!["found the range `0..inf`, expected finite ends"],
    );
    check(range(Value::Int(0), Value::Bool(true), false), expect!["found a bool, a number is needed"]);
    check(
        Domain::of(&Value::List(Vec::new().into())),
        expect!["found an empty list, expected at least one value"],
    );
    check(
        Domain::of(&Value::Int(3)),
        expect![[r#"
        found an integer, expected a range or a list of values
          help: `forall m in 1..=300, T in [f16, bf16]`"#]],
    );
}
