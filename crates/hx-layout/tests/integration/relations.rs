//! Tests relations that are read: what this crate writes, what isl prints, and the layouts found for them. Also tests linear
//! layouts that are written with their bases.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use expect_test::{Expect, expect};
use hx_layout::expr::Value;
use hx_layout::isl::{self, Relation};
use hx_layout::{ComposedLayout, IntTuple, Layout, LinearLayout, Swizzle, equal_function, eval_expr};
use proptest::prelude::*;

fn check(text: &str, want: Expect) {
    let answer = eval_expr(text).map_or_else(|error| error.to_string(), |value| value.to_string());
    want.assert_eq(&answer);
}

fn vectors(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(file);
    std::fs::read_to_string(path).expect("a file of cases")
}

#[test]
fn relations_are_read() {
    check("{ [c] -> [i] : 0 <= c < 8 and i = 2*c }", expect!["{ [c] -> [i] : 0 <= c < 8 and i = 2*c }"]);
    check("to_layout({ [c] -> [2c] : 0 <= c <= 7 })", expect!["8:2"]);
    check(
        "to_layout(from_isl(\"{ [i, j] -> [o0] : o0 = 8i + j and 0 <= i < 4 and 0 <= j < 8 }\"))",
        expect!["(4,8):(8,1)"],
    );
    check("{ [i, j] -> [8i + j] : 0 <= i < 4 and 0 <= j < 8 }(2, 3)", expect!["19"]);
    check(
        "to_layout({ [c] -> [i] : exists (e0, e1: c = e0 + 4e1 and 0 <= e0 < 4 and 0 <= e1 < 2 and i = 2e0 + e1) })",
        expect!["(4,2):(2,1)"],
    );
    check("to_layout({ [c] -> [i = c mod 4] : 0 <= c < 8 })", expect!["(4,2):(1,0)"]);
    check("to_layout({ [c] -> [i = [c/4] + 2*(c - 4*floord(c, 4))] : 0 <= c < 8 })", expect!["(4,2):(2,1)"]);
    check("to_layout({ [c] -> [c] : 0 <= c < 4; [c] -> [c] : 4 <= c < 8 })", expect!["8:1"]);
    check("to_layout({ S[c] -> A[i] : (0 <= c < 4 or 4 <= c < 8) and i = 3c })", expect!["8:3"]);
    check(
        "to_layout({ [c] -> [i] : 0 <= c < 8 and (i = c and not_here = 1) })",
        expect!["variable `not_here` is not bound at byte 41"],
    );
    check("to_layout({ [c] -> [i] : 0 <= c < 4 and i = c + 3 })", expect!["swizzle<0, 0, 0> ∘ 3 ∘ 4:1"]);
    check(
        "to_layout(from_isl(isl(swizzle<2,1,3> ∘ (8,8):(8,1))))",
        expect!["swizzle<2, 1, 3> ∘ (8,8):(8,1)"],
    );
    check("from_isl(isl((4,8):(8,1))) == (4,8):(8,1)", expect!["true"]);
    check("{ [i, j] -> [8i + j] : 0 <= i < 4 and 0 <= j < 8 } == (4,8):(8,1)", expect!["true"]);
    check("{ [c] -> [i = 2c] : 0 <= c < 8 } == 8:3", expect!["false"]);
    check(
        "inverse({ [c] -> [i] : 0 <= c < 8 and i = 2*c })",
        expect!["{ [i] -> [c] : 0 <= c < 8 and i = 2*c }"],
    );
    check(
        "to_layout(inverse({ [i, j] -> [8i + j] : 0 <= i < 4 and 0 <= j < 8 }))",
        expect!["a layout has one output, and the relation has 2; `linear` reads relations with more"],
    );
    check("table({ [c] -> [i] : 0 <= c < 4 and i = 7*c*c })", expect!["(0, 7, 28, 63)"]);
    check(
        "linear({ [lane, reg] -> [row, col] : 0 <= lane < 4 and 0 <= reg < 2 and row = floor(lane/2) and col = 2*(lane mod 2) + reg })",
        expect!["linear((lane: [(0, 2), (1, 0)], reg: [(0, 1)]), (row: 2, col: 4))"],
    );
    check(
        "isl({ [c] -> [i] : -c + i = 2 and 0 <= c != 3 and c < 5 })",
        expect!["{ [c] -> [i] : -c + i = 2 and 0 <= c != 3 and c < 5 }"],
    );
}

#[test]
fn relations_without_a_layout() {
    check(
        "to_layout({ [c] -> [i] : 0 <= c < 4 and 2c <= i <= 2c + 1 })",
        expect!["the relation is not a function: at 0 it has both 0 and 1"],
    );
    check(
        "to_layout({ [c] -> [i = 7*c*c] : 0 <= c < 4 })",
        expect![
            "no layout has this relation: the value at 3 is 63, and after the values before it a layout has 35"
        ],
    );
    check(
        "to_layout({ [c] -> [i] : i = 0 and 0 <= c < 5; [c] -> [i] : i = 1 and c = 5 })",
        expect![
            "no layout has this relation: the value at 5 is 1, and after the values before it a layout has 0"
        ],
    );
    check(
        "to_layout({ [c] -> [i] : i = c and (c = 0 or c = 2) })",
        expect!["the inputs do not fill the box (3): 1 has no value"],
    );
    check(
        "to_layout({ [i, j] -> [i] : 0 <= i <= j < 3 })",
        expect!["the inputs do not fill the box (3,3): (1,0) has no value"],
    );
    check(
        "to_layout({ [c] -> [c] : -1 <= c < 3 })",
        expect!["coordinates begin at 0, and the relation has -1"],
    );
    check("to_layout({ [c] -> [c] : 1 = 2 and 0 <= c < 4 })", expect!["the relation is empty"]);
    check(
        "to_layout({ [c] : 0 <= c < 4 })",
        expect!["a set is not a function of coordinates: it has no `->`"],
    );
    check(
        "to_layout({ [c] -> [c] : c >= 0 })",
        expect!["variable `c` has neither constant bounds nor an equation"],
    );
    check(
        "from_isl(\"[N] -> { [c] -> [c] : 0 <= c < N }\")",
        expect!["parameters stand for any number: write their values in the relation at byte 0"],
    );
    check(
        "{ [c] -> [c] : not (c = 3) }",
        expect!["`not` is not read: write comparisons, `and`, `or`, `exists` at byte 15"],
    );
    check("{ [c] -> [c] : 0 <= c < 4", expect!["`}` is missing after this"]);
    check("from_isl(4:1)", expect!["found a layout where a relation in quotes was expected"]);
    check(
        "linear({ [c] -> [i = c mod 3] : 0 <= c < 8 })",
        expect![
            "the function is not linear in the bits of its inputs: at 3 it is not the exclusive or of its values at the bits"
        ],
    );
    check(
        "linear({ [c] -> [c] : 0 <= c < 6 })",
        expect!["input `c` has 6 values, which is not a power of two"],
    );
}

#[test]
fn linear_layouts_are_written_with_their_bases() {
    check("linear((4,8):(8,1))", expect!["linear((m0: [8, 16], m1: [1, 2, 4]), (index: 32))"]);
    check(
        "linear((lane: [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], register: [(0, 1), (8, 0)]), (row: 16, col: 8))(5, 1)",
        expect!["(1, 3)"],
    );
    check(
        "to_layout(linear((lane: [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], register: [(0, 1), (8, 0)]), (row: 16, col: 8)))",
        expect!["((4,8),(2,2)):((32,1),(16,8))"],
    );
    check("linear((x: [1, 2, 4, 8 ]))", expect!["linear((x: [1, 2, 4, 8]), (index: 16))"]);
    check("linear((x: []), (y: 1))", expect!["linear((x: []), (y: 1))"]);
    check("linear([], [])", expect!["linear([], [])"]);
    check("linear((x: [3, 1]), (y: 4)) == inverse(linear((y: [2, 3]), (x: 4)))", expect!["true"]);
    check("right_inverse(linear((x: [1, 3, 2]), (y: 4)))", expect!["linear((y: [1, 3]), (x: 8))"]);
    check("linear((x: [4]), (y: 4))", expect!["value 4 does not fit dimension `y` of size 4"]);
    check("linear((x: [1]), (y: 3))", expect!["size 3 is not a power of two"]);
    check("linear((x: [(1, 2)]), (y: 4))", expect!["sizes differ: 2 where 1 was expected"]);
    check(
        "linear(([1], [2]), (y: 4))",
        expect!["every dimension has a name, as in `(lane: [1, 2], register: [4, 8])`"],
    );
    check(
        "linear((x: 4), (y: 4))",
        expect!["found an integer where the list of values of the bits of `x` was expected"],
    );
    check(
        "linear(4, (y: 4))",
        expect![
            "found an integer where a tuple of dimensions such as `(lane: [1, 2], register: [4, 8])` was expected"
        ],
    );
}

#[test]
fn linear_layouts_of_the_cases_read_back() {
    fn layouts(value: &serde_json::Value, found: &mut Vec<LinearLayout>) {
        if let Ok(layout) = serde_json::from_value::<LinearLayout>(value.clone()) {
            found.push(layout);
        } else if let Some(fields) = value.as_object() {
            fields.values().for_each(|value| layouts(value, found));
        }
    }
    let mut found = Vec::new();
    for line in vectors("linear_public.jsonl").lines() {
        layouts(&serde_json::from_str(line).expect("a case"), &mut found);
    }
    assert!(found.len() > 150, "{}", found.len());
    for layout in found {
        let text = layout.to_string();
        assert_eq!(eval_expr(&text), Ok(Value::Linear(layout)), "{text}");
    }
}

/// Returns the relation of each case, as the file writes it.
fn cases() -> BTreeMap<String, (hx_judge::Case, Relation)> {
    let cases = hx_judge::read_cases(&vectors("isl_public.jsonl")).expect("cases");
    let relation = |case: hx_judge::Case| {
        let text = case.out.as_ref()?.get("isl")?.as_str()?.to_string();
        let relation = Relation::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", case.id));
        Some((case.id.clone(), (case, relation)))
    };
    cases.into_iter().filter_map(relation).collect()
}

#[test]
fn relations_that_isl_prints_are_read() {
    let cases = cases();
    let (mut same, mut open) = (0, BTreeSet::new());
    for line in vectors("isl_printed.tsv").lines() {
        let mut fields = line.split('\t');
        let (Some(id), Some(direction), Some(text)) = (fields.next(), fields.next(), fields.next()) else {
            panic!("{line}");
        };
        let want = &cases[id].1;
        let want = if direction == "reverse" { want.inverse() } else { want.clone() };
        let got = Relation::parse(text).unwrap_or_else(|e| panic!("{id}: {e}: {text}"));
        assert_eq!(got.arity(), want.arity(), "{text}");
        let again = Relation::parse(&got.to_string());
        assert_eq!(again.as_ref().map(|r| r.to_string()), Ok(got.to_string()));
        match got.points() {
            Ok(points) => {
                assert_eq!(points, want.points().expect("the case's own text"), "{id}: {text}");
                assert_eq!(again.expect("just read").points(), Ok(points));
                same += 1;
            }
            // isl eliminates bounds that follow from others. Such a relation is read, and stays a relation.
            Err(isl::RelationError::Unbounded(_)) => {
                open.insert((id.to_string(), direction.to_string()));
            }
            Err(error) => panic!("{id}: {error}: {text}"),
        }
    }
    expect![[r#"118 listed, open: {("isl-p-0002", "same"), ("isl-p-0005", "same"), ("isl-p-0008", "same"), ("isl-p-0013", "same"), ("isl-p-0024", "reverse"), ("isl-p-0024", "same"), ("isl-p-0025", "reverse"), ("isl-p-0025", "same"), ("isl-p-0048", "same"), ("isl-p-0066", "reverse"), ("isl-p-0066", "same")}"#]].assert_eq(&format!("{same} listed, open: {open:?}"));
}

#[test]
fn layouts_are_found_for_the_relations_of_the_cases() {
    let mut found = BTreeMap::new();
    for (id, (case, relation)) in cases() {
        let layout = match case.op.as_str() {
            "layout_map" | "composition" | "complement" | "logical_divide" | "logical_product"
            | "index_map" => relation.to_layout(),
            "swizzle" | "composed_map" => relation.to_layout(),
            "linear_map" => {
                let linear = relation.to_linear().unwrap_or_else(|e| panic!("{id}: {e}"));
                let again = Relation::parse(&isl::linear_map(&linear)).expect("our text");
                assert_eq!(again.points(), relation.points(), "{id}");
                *found.entry(case.op).or_insert(0) += 1;
                continue;
            }
            _ => continue,
        };
        let layout = layout.unwrap_or_else(|e| panic!("{id}: {e}"));
        let again = match case.op.as_str() {
            "index_map" => isl::index_map(&layout.layout),
            _ => isl::composed_map(&layout),
        };
        let again = Relation::parse(&again).expect("our text").points();
        if case.op == "index_map" {
            // A mode of several steps may have become one, so the coordinates are compared as integers.
            let values =
                |points: isl::Points| points.into_iter().map(|p| p[p.len() - 1]).collect::<BTreeSet<_>>();
            assert_eq!(again.map(values), relation.points().map(values), "{id}");
        } else {
            assert_eq!(again, relation.points(), "{id}");
        }
        *found.entry(case.op).or_insert(0) += 1;
    }
    expect![[r#"{"complement": 7, "composed_map": 3, "composition": 10, "index_map": 7, "layout_map": 8, "linear_map": 8, "logical_divide": 3, "logical_product": 2, "swizzle": 4}"#]].assert_eq(&format!("{found:?}"));
}

fn layout() -> impl Strategy<Value = Layout> {
    prop::collection::vec((1..6i64, 0..20i64), 1..4).prop_map(|modes| Layout::flat(&modes).expect("small"))
}

fn swizzle() -> impl Strategy<Value = Swizzle> {
    (0..3u32, 0..3u32, -4..=4i32)
        .prop_filter_map("no swizzle", |(bits, base, shift)| Swizzle::new(bits, base, shift).ok())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn layouts_read_back(a in layout()) {
        let read = |text: String| Relation::parse(&text).expect("our text");
        let back = read(isl::layout_map(&a)).to_layout().expect("a layout");
        prop_assert_eq!(&back.swizzle, &Swizzle::identity());
        prop_assert!(equal_function(&back.layout, &a), "{}", back.layout);
        let back = read(isl::index_map(&a)).to_layout().expect("a layout");
        prop_assert!(equal_function(&back.layout, &a), "{}", back.layout);
        prop_assert_eq!(back.layout.rank(), a.leaves().len());
        // The reverse is read as well, and its reverse is the layout.
        let reverse = read(isl::inverse(&a));
        prop_assert_eq!(reverse.inverse().points(), read(isl::layout_map(&a)).points());
        prop_assert_eq!(read(reverse.to_string()).points(), reverse.points());
        let coordinates = read(isl::coord_map(a.shape()).expect("a shape"));
        for c in 0..a.size() {
            let want = IntTuple::flat(&coordinates.values_at(&[c]).expect("listed")[0]);
            prop_assert_eq!(a.shape().index_to_coord(c).map(|c| c.leaves()), Ok(want.leaves()));
        }
    }

    #[test]
    fn swizzled_layouts_read_back(s in swizzle(), a in layout(), offset in 0..9i64) {
        let composed = ComposedLayout { swizzle: s, offset, layout: a };
        let back = Relation::parse(&isl::composed_map(&composed)).expect("our text").to_layout().expect("a layout");
        for c in 0..composed.size() {
            prop_assert_eq!(back.eval(c), composed.eval(c), "{:?} for {:?}", back, composed);
        }
    }

    #[test]
    fn linear_layouts_read_back(
        lanes in prop::collection::vec((0..4i64, 0..8i64), 0..4),
        registers in prop::collection::vec((0..4i64, 0..8i64), 0..3),
    ) {
        let vectors = |v: &[(i64, i64)]| v.iter().map(|&(row, col)| vec![row, col]).collect();
        let ins = vec![("lane".to_string(), vectors(&lanes)), ("register".to_string(), vectors(&registers))];
        let linear = LinearLayout::new(ins, vec![("row".into(), 4), ("col".into(), 8)]).expect("in range");
        prop_assert_eq!(eval_expr(&linear.to_string()), Ok(Value::Linear(linear.clone())));
        let relation = Relation::parse(&isl::linear_map(&linear)).expect("our text");
        let back = relation.to_linear().expect("linear");
        // The relation has no names and no sizes of outputs.
        prop_assert_eq!(Relation::parse(&isl::linear_map(&back)).expect("our text").points(), relation.points());
        prop_assert_eq!(back.in_bits(), linear.in_bits());
    }
}
