//! Tests inverses and complements of layouts that a swizzle follows: the laws on random layouts, and their text.

use std::collections::BTreeSet;
use std::path::Path;

use expect_test::{Expect, expect};
use hx_layout::expr::{self, Value};
use hx_layout::{AfterSwizzle, ComposedLayout, Layout, LayoutError, Swizzle, eval_expr};
use proptest::prelude::*;

fn check(text: &str, want: Expect) {
    let answer = eval_expr(text).map_or_else(|error| error.to_string(), |value| value.to_string());
    want.assert_eq(&answer);
}

#[test]
fn inverses() {
    // The layout keeps the bits of the swizzle together, so its inverse followed by another swizzle is the whole inverse.
    check("inverse(swizzle<3,3,3> ∘ (8,64):(64,1))", expect!["swizzle<3, 0, -6> ∘ (64,8):(8,1)"]);
    check("inverse(swizzle<3,0,-6> ∘ (64,8):(8,1))", expect!["swizzle<3, 3, 3> ∘ (8,64):(64,1)"]);
    check("inverse(swizzle<3,0,3> ∘ 64:1)", expect!["swizzle<3, 0, 3> ∘ 64:1"]);
    // The swizzle changes the bit of 8 in (8,3):(3,1), whose value 3 is no bit.
    check("inverse(swizzle<1,0,1> ∘ (3,8):(8,1))", expect!["(8,3):(3,1) ∘ swizzle<1, 0, 1>"]);
    check("inverse(inverse(swizzle<1,0,1> ∘ (3,8):(8,1)))", expect!["swizzle<1, 0, 1> ∘ (3,8):(8,1)"]);
    check("a = swizzle<1,0,1> ∘ (3,8):(8,1); inverse(a) ∘ a == 24:1", expect!["true"]);
    check("a = swizzle<1,0,1> ∘ (3,8):(8,1); a ∘ inverse(a) == 24:1", expect!["true"]);
    check("a = swizzle<3,3,3> ∘ (8,64):(64,1); inverse(a) ∘ a", expect!["(8,64):(1,8)"]);
    check("right_inverse(swizzle<1,0,2> ∘ 6:1)", expect!["swizzle<1, 0, 2> ∘ 6:1"]);
    check("table(right_inverse(swizzle<1,0,2> ∘ 5:1))", expect!["(0, 1, 2, 3)"]);
    check("left_inverse(swizzle<1,0,2> ∘ 3:2)", expect!["(2,3):(3,1) ∘ swizzle<1, 0, 2>"]);
    check("left_inverse(swizzle<1,0,2> ∘ 3:2)(5)", expect!["2"]);
    check("(8,3):(3,1) ∘ swizzle<1, 0, 1> == (8,3):(3,1) ∘ swizzle<1, 0, 1>", expect!["true"]);
    check("(8,3):(3,1) ∘ swizzle<1, 0, 1> == (8,3):(3,1)", expect!["false"]);
    check(
        "isl((8,3):(3,1) ∘ swizzle<1, 0, 1>)",
        expect![
            "{ [c] -> [i] : exists (x : 0 <= c < 24 and x = c + 1*((((floor(c/2) mod 2) + (c mod 2)) mod 2) - (c mod 2)) and i = 3*(x mod 8) + floor(x/8)) }"
        ],
    );
    check("size(swizzle<1,0,1> ∘ (3,8):(8,1))", expect!["24"]);
}

#[test]
fn inverses_that_do_not_exist() {
    check(
        "inverse(swizzle<1,0,2> ∘ 5:1)",
        expect![
            "`swizzle<1, 0, 2> ∘ 5:1` is not a permutation of 0..5: the swizzle takes 4 to 5; `right_inverse` or `left_inverse` may do"
        ],
    );
    check(
        "inverse(swizzle<1,0,2> ∘ 8:2)",
        expect![
            "`8:2` is not a permutation of 0..8: it reaches 0..1; `right_inverse` or `left_inverse` may do"
        ],
    );
    check(
        "inverse(swizzle<1,0,2> ∘ 4 ∘ 8:1)",
        expect![
            "a right inverse is defined for layouts without an offset, and `swizzle<1, 0, 2> ∘ 4 ∘ 8:1` has the offset 4"
        ],
    );
    check(
        "inverse(5:1 ∘ swizzle<1, 0, 2>)",
        expect!["`5:1 ∘ swizzle<1, 0, 2>` is not a permutation: it has no value at 4"],
    );
}

#[test]
fn complements() {
    // The copies of the tile begin above all bits of the swizzle.
    check("complement(swizzle<3,3,3> ∘ (8,64):(64,1), 2048)", expect!["4:512"]);
    // The complement takes bits that the swizzle reads, so the copies begin at swizzled values of the complement.
    check("complement(swizzle<3,0,3> ∘ 8:1, 64)", expect!["swizzle<3, 0, 3> ∘ 8:8"]);
    // The swizzle changes bits of the complement by bits of the layout: the copies are exclusive ors with 0 to 7.
    check("complement(swizzle<3,0,3> ∘ 8:8, 64)", expect!["8:1"]);
    check("complement(swizzle<1,0,2> ∘ 3:1)", expect!["1:0"]);
    check(
        "complement(swizzle<1,0,2> ∘ 5:1)",
        expect![
            "`swizzle<1, 0, 2> ∘ 5:1` has no complement: the layout and its copies fill 0..5, and the swizzle takes 4 beyond, to 5"
        ],
    );
    check(
        "complement(swizzle<1,0,2> ∘ 3:1, 12)",
        expect![
            "`swizzle<1, 0, 2> ∘ 3:1` has no complement: values of the layout and of its complement `4:3` both have bit 0, so the copies are neither sums nor exclusive ors"
        ],
    );
    check(
        "complement(swizzle<1,0,2> ∘ 1 ∘ 8:1)",
        expect![
            "a complement is defined for layouts without an offset, and `swizzle<1, 0, 2> ∘ 1 ∘ 8:1` has the offset 1"
        ],
    );
}

#[test]
fn swizzles_between_layouts() {
    check("(64,8):(8,1) ∘ swizzle<3,3,3>", expect!["swizzle<3, 0, -6> ∘ (64,8):(8,1)"]);
    check("swizzle<2,0,2> ∘ (swizzle<2,0,2> ∘ 16:1)", expect!["16:1"]);
    check("(4,4):(4,1) ∘ (swizzle<1,1,2> ∘ 16:1)", expect!["swizzle<1, 1, -2> ∘ (4,4):(4,1)"]);
    check(
        "(8,3):(3,1) ∘ (swizzle<1,0,1> ∘ 24:1)",
        expect![
            "`(8,3):(3,1)` moves the bits of `swizzle<1, 0, 1>` apart, so no swizzle follows their composition"
        ],
    );
    check(
        "swizzle<1,0,1> ∘ (swizzle<1,0,2> ∘ 8:1)",
        expect![
            "`swizzle<1, 0, 1>` after `swizzle<1, 0, 2>` is not a swizzle; `linear` of the operands may do"
        ],
    );
}

/// The laws hold for every swizzled layout of the reference cases.
#[test]
fn swizzled_layouts_of_the_cases_are_inverted() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/layout_public.jsonl");
    let text = std::fs::read_to_string(path).expect("the file of cases");
    let cases =
        hx_judge::read_cases(&text).expect("cases").into_iter().filter(|case| case.op == "composed_eval");
    let (mut inverted, mut filled) = (0, 0);
    for case in cases {
        let a: ComposedLayout =
            case.input["a"].as_str().and_then(|a| a.parse().ok()).expect("a composed layout");
        if a.offset != 0 {
            assert!(matches!(a.right_inverse(), Err(LayoutError::Offset { .. })), "{}", case.id);
            continue;
        }
        let right = a.right_inverse().expect("no offset");
        for i in 0..right.size() {
            assert_eq!(right.try_eval(i).map(|c| a.eval(c)), Ok(i), "{}", case.id);
        }
        if let Ok(left) = a.left_inverse() {
            let repeats = a.layout.is_injective() == Ok(false);
            for c in 0..a.size() {
                let back = left.try_eval(a.eval(c)).expect("inside");
                assert!(back == c || repeats && a.eval(back) == a.eval(c), "{}", case.id);
            }
            inverted += 1;
        }
        if let Ok(starts) = a.complement(a.layout.cosize()) {
            let sums: BTreeSet<i64> = (0..a.size())
                .flat_map(|c| (0..starts.size()).map(move |j| (c, j)))
                .map(|(c, j)| a.eval(c) + starts.eval(j))
                .collect();
            let xors: BTreeSet<i64> = (0..a.size())
                .flat_map(|c| (0..starts.size()).map(move |j| (c, j)))
                .map(|(c, j)| a.eval(c) ^ starts.eval(j))
                .collect();
            let all: BTreeSet<i64> = (0..a.layout.filter().size() * starts.size()).collect();
            assert!(sums == all || xors == all, "{}", case.id);
            filled += 1;
        }
    }
    assert!(inverted > 0 && filled > 0, "{inverted} inverted, {filled} filled");
}

fn swizzle() -> impl Strategy<Value = Swizzle> {
    (0..4u32, 0..4u32, -5..=5i32)
        .prop_filter_map("no swizzle", |(bits, base, shift)| Swizzle::new(bits, base, shift).ok())
}

/// Generates layouts that are permutations, with a gap in the strides, or with a mode of stride 0.
fn layout() -> impl Strategy<Value = Layout> {
    let extents = prop::collection::vec(
        prop_oneof![3 => Just(2i64), 2 => Just(4), 1 => Just(8), 1 => Just(3), 1 => Just(5)],
        1..5,
    );
    (extents, 0..8usize).prop_flat_map(|(extents, gap)| {
        let order: Vec<usize> = (0..extents.len()).collect();
        Just(order).prop_shuffle().prop_map(move |order| {
            let (mut modes, mut unit) = (vec![(1, 0); extents.len()], 1);
            for (place, &i) in order.iter().enumerate() {
                unit *= if gap == place { 2 } else { 1 };
                modes[i] = (extents[i], unit);
                unit *= extents[i];
            }
            Layout::flat(&modes).expect("a small layout")
        })
    })
}

fn inverse(composed: &ComposedLayout) -> Result<Value, String> {
    expr::call("inverse", &[Value::Composed(composed.clone())])
}

/// Returns the value at a coordinate, if there is one.
fn at(value: &Value, i: i64) -> Option<i64> {
    match expr::apply(value, &[Value::Int(i)]) {
        Ok(Value::Int(c)) => Some(c),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_first_beyond_is_by_definition(s in swizzle(), n in 0..700i64) {
        let want = (0..).find(|&i| s.apply(i) >= n);
        prop_assert_eq!(Some(s.first_beyond(n)), want);
        prop_assert_eq!(s.first_beyond(n) == n, (0..n).all(|i| s.apply(i) < n));
    }

    #[test]
    fn inverses_undo_layouts(s in swizzle(), l in layout()) {
        let a = ComposedLayout::swizzled(s, l.clone());
        let right = a.right_inverse().expect("no offset");
        for i in 0..right.size() {
            prop_assert_eq!(a.eval(right.try_eval(i).expect("inside")), i);
        }
        let left = a.left_inverse().expect("the strides divide each other");
        for c in 0..a.size() {
            prop_assert_eq!(left.try_eval(a.eval(c)), Ok(c));
        }
        let image: BTreeSet<i64> = (0..a.size()).map(|c| a.eval(c)).collect();
        let permutes = image == (0..a.size()).collect();
        match inverse(&a) {
            Err(error) => prop_assert!(!permutes, "{}", error),
            Ok(inverse) => {
                prop_assert!(permutes);
                for c in 0..a.size() {
                    prop_assert_eq!(at(&inverse, a.eval(c)), Some(c));
                }
                let text = inverse.to_string();
                prop_assert_eq!(eval_expr(&text).map(|read| read.to_string()).map_err(|e| e.to_string()), Ok(text));
                let back = expr::call("inverse", &[inverse]).expect("the inverse of an inverse");
                for c in 0..a.size() {
                    prop_assert_eq!(at(&back, c), Some(a.eval(c)));
                }
            }
        }
    }

    #[test]
    fn a_carried_swizzle_is_the_same_function(s in swizzle(), l in layout()) {
        let after = AfterSwizzle { layout: l, swizzle: s };
        if let Some(carried) = after.carried() {
            prop_assert_eq!(carried.size(), after.size());
            for c in 0..after.size() {
                prop_assert_eq!(Ok(carried.eval(c)), after.try_eval(c));
            }
        }
    }

    #[test]
    fn complements_are_disjoint_and_cover(s in swizzle(), l in layout(), cotarget in 1..600i64) {
        let a = ComposedLayout::swizzled(s, l.clone());
        let Ok(plain) = l.complement(cotarget) else { return Ok(()) };
        let size = l.size() * plain.size();
        match a.complement(cotarget) {
            Ok(r) => {
                let starts: Vec<i64> = (0..r.size()).map(|j| r.eval(j)).collect();
                let values: Vec<i64> = (0..a.size()).map(|c| a.eval(c)).collect();
                let copies = |join: fn(i64, i64) -> i64| -> BTreeSet<i64> {
                    values.iter().flat_map(|&x| starts.iter().map(move |&y| join(x, y))).collect()
                };
                let all: BTreeSet<i64> = (0..size).collect();
                prop_assert!(copies(|x, y| x + y) == all || copies(|x, y| x ^ y) == all, "{:?}", r);
                prop_assert_eq!(r.size() * a.size(), size);
                let image: BTreeSet<i64> = (0..a.size()).map(|c| a.eval(c)).collect();
                prop_assert_eq!(starts.iter().filter(|y| image.contains(y)).collect::<Vec<_>>(), vec![&0]);
            }
            Err(LayoutError::NoSwizzledComplement { .. }) => {
                // With powers of two, values of the layout and its complement share no bit: only the swizzle can leave.
                let binary = l.leaves().iter().all(|m| m.0.unsigned_abs().is_power_of_two());
                prop_assert!(!binary || s.first_beyond(size) != size);
            }
            Err(other) => prop_assert!(false, "{}", other),
        }
    }

    #[test]
    fn compositions_are_compositions_of_functions(s in swizzle(), t in swizzle(), a in layout(), b in layout()) {
        let a_values: Vec<Value> = vec![
            Value::Composed(ComposedLayout::swizzled(s, a.clone())),
            Value::Layout(a.clone().into()),
            Value::AfterSwizzle(AfterSwizzle { layout: a.clone(), swizzle: s }),
        ];
        let b_values: Vec<Value> = vec![
            Value::Composed(ComposedLayout::swizzled(t, b.clone())),
            Value::Layout(b.clone().into()),
            Value::AfterSwizzle(AfterSwizzle { layout: b.clone(), swizzle: t }),
            Value::Swizzle(t),
        ];
        for outer in &a_values {
            for inner in &b_values {
                let Ok(both) = expr::compose(outer, inner) else { continue };
                for c in 0..b.size().min(a.size()) {
                    let (Some(middle), Some(found)) = (at(inner, c), at(&both, c)) else { continue };
                    if let Some(want) = at(outer, middle) {
                        prop_assert_eq!(found, want, "{} after {} at {}", outer, inner, c);
                    }
                }
            }
        }
    }
}
