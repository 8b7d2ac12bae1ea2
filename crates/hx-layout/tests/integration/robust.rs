//! No text and no numbers make the algebra panic or run without end.

use hx_layout::{ComposedLayout, Layout, Swizzle, Tiler, eval_expr, isl, prove};
use proptest::prelude::*;

/// Generates pieces of the notation in any order; much of it parses.
fn soup() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => proptest::sample::select(vec![
            "(", ")", ",", ":", "<", ">", "_", " ", ";", "=", "==", "∘", " o ", "Sw<1,2,3>", "swizzle<3, 3, 3>", "a", "x:",
            "compose(", "complement(", "coalesce(", "linear(", "table(", "slice(", "inverse(", "recast(", "divide(",
            "product(", "tile_to_shape(", "blocked_product(", "upcast(", "downcast(", "union(", "domain(", "image(", "is_injective(", " + ", " ∩ ", "M", "M*8", "{ [i] : 0 <= i < 6 }", "{ [x] -> [y] : y = x + 1 }", "isl(", "[", "]", "right_inverse(", "left_inverse(", "from_isl(", "to_layout(",
            "{ [c] -> [i] : 0 <= c < 8 and i = 2c }", "{", "}", "\"", "exists (", "floor(", "[c] -> [i] :", " and ", " or ", " mod ", "(4,8):(8,1)", "((2,2),8):((1,16),2)", "4:1", "6:0",
        ]).prop_map(String::from),
        2 => (-3..40i64).prop_map(|i| i.to_string()),
        1 => proptest::sample::select(vec![i64::MAX, i64::MIN, 1 << 62, 1 << 40]).prop_map(|i| i.to_string()),
        1 => any::<char>().prop_map(|c| c.to_string()),
    ];
    prop::collection::vec(word, 0..14).prop_map(|words| words.concat())
}

/// Generates numbers at the edge of the range.
fn huge() -> impl Strategy<Value = i64> {
    prop_oneof![
        0..9i64,
        (0..63u32, -2..3i64).prop_map(|(bits, off)| (1i64 << bits).saturating_add(off)),
        any::<i64>(),
    ]
}

fn huge_layout() -> impl Strategy<Value = Layout> {
    prop::collection::vec((huge(), huge()), 1..4)
        .prop_filter_map("no layout", |modes| Layout::flat(&modes).ok())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in soup()) {
        let _ = text.parse::<Layout>();
        let _ = text.parse::<Tiler>();
        let _ = text.parse::<hx_layout::Coord>();
        let _ = text.parse::<hx_layout::ComposedLayout>();
        let _ = eval_expr(&text).map(|v| v.to_string());
        let _ = prove::prove(&format!("{text} == {text}"));
        let _ = isl::Relation::parse(&text);
    }

}

proptest! {
    // Some of these cases enumerate up to the limit, so there are fewer of them.
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_numbers(a in huge_layout(), b in huge_layout(), n in huge(), c in huge()) {
        let _ = (a.cosize(), a.coalesce(), a.filter(), a.right_inverse(), a.left_inverse(), a.nullspace());
        let _ = (a.compose(&b), a.complement(n), a.upcast(n), a.downcast(n), a.recast(n, c), a.try_eval(c));
        let _ = (a.blocked_product(&b), a.raked_product(&b), a.max_common_layout(&b), a.is_injective());
        let tiler = Tiler::Layout(b.clone());
        let _ = (a.logical_divide(&tiler), a.zipped_divide(&tiler), a.logical_product(&tiler), a.flat_product(&tiler));
        let swizzle = Swizzle::new((n & 3) as u32, (c & 63) as u32, (n >> 2) as i32 % 64).unwrap_or(Swizzle::identity());
        let swizzled = ComposedLayout { swizzle, offset: c, layout: a.clone() };
        let _ = (swizzled.logical_divide(&tiler), swizzled.logical_product(&tiler), swizzled.blocked_product(&b));
        let _ = (swizzled.upcast(n), swizzled.downcast(n), swizzled.recast(n, c), a.inverse());
        let _ = (swizzled.tile_to_shape(b.shape(), None), a.tile_to_shape(b.shape(), Some(b.stride())));
        let _ = prove::prove(&format!("{a} ∘ {b} == {b}"));
        let _ = prove::prove(&format!("product({a}, M) == divide({b}, {a}) ∘ complement({b}, {}*M)", n.max(1)));
        let _ = (isl::layout_map(&a), hx_layout::LinearLayout::from_layout(&a));
        let _ = hx_layout::draw::Drawing::thread_value(&a, (n, c));
    }

    #[test]
    fn any_case(op in proptest::sample::select(vec!["composition", "complement", "slice", "from_tv", "invert", "isl"]), a in soup()) {
        let line = serde_json::json!({"id": "x", "op": op, "in": {"a": a, "b": a, "tv": a}, "out": {}, "check": ["table"]});
        let report = hx_judge::check(&line.to_string()).expect("a case");
        let _ = (report.to_string(), report.answers_jsonl(), report.answers_tsv());
    }
}
