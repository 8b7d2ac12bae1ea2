//! Tests the laws of the algebra on random layouts against enumeration.

use hx_layout::{IntTuple, Layout, LayoutError, LinearLayout, Swizzle, Tiler, equal_function, isl, prove};
use proptest::prelude::*;
use proptest::sample::select;

/// Generates a shape of at most a few hundred coordinates, nested up to three levels.
fn shape() -> impl Strategy<Value = IntTuple> {
    let leaf = prop_oneof![4 => 1..=6i64, 1 => select(vec![1i64, 8, 9, 12])].prop_map(IntTuple::Int);
    let nested =
        leaf.prop_recursive(3, 6, 3, |inner| prop::collection::vec(inner, 1..=3).prop_map(IntTuple::Tuple));
    nested.prop_filter("too large", |s| s.product().is_ok_and(|n| n <= 400))
}

/// Generates strides as layouts usually have them: compact in some order, scaled, zero, or arbitrary.
fn layout() -> impl Strategy<Value = Layout> {
    let strides = |n: usize| {
        (prop::collection::vec(0..40i64, n), 0..6u32, Just((0..n).collect::<Vec<_>>()).prop_shuffle())
    };
    shape()
        .prop_flat_map(move |s| {
            let n = s.leaves().len();
            (Just(s), strides(n))
        })
        .prop_map(|(shape, (noise, kind, order))| {
            let extents = shape.leaves();
            let mut strides = noise.clone();
            if kind > 0 {
                let mut unit = if kind == 1 { 2 } else { 1 };
                for &i in &order {
                    let gap = if kind == 2 { 1 + noise[i] % 3 } else { 1 };
                    strides[i] = if kind == 3 && noise[i] % 4 == 0 { 0 } else { unit * gap };
                    unit *= gap * if strides[i] == 0 { 1 } else { extents[i] };
                }
            }
            let stride = shape.map_leaves(|i, _| IntTuple::Int(strides[i]));
            Layout::new(shape, stride).expect("a small layout")
        })
}

/// Generates a layout whose extents are powers of two.
fn binary_layout() -> impl Strategy<Value = Layout> {
    (prop::collection::vec(0..3u32, 1..5), any::<bool>()).prop_flat_map(|(bits, gap)| {
        Just((0..bits.len()).collect::<Vec<_>>()).prop_shuffle().prop_map(move |order| {
            let mut modes = vec![(1, 0); bits.len()];
            let mut unit = if gap { 2 } else { 1 };
            for &i in &order {
                modes[i] = (1i64 << bits[i], unit);
                unit <<= bits[i];
            }
            Layout::flat(&modes).expect("a small layout")
        })
    })
}

fn table(layout: &Layout) -> Vec<i64> {
    layout.table().collect()
}

/// Reports whether the values at 0, 1, .. are those of a layout, by trying every ordered factorization of the count.
fn is_layout(values: &[i64], unit: usize) -> bool {
    let rest = values.len() / unit;
    if rest == 1 {
        return true;
    }
    (2..=rest).filter(|extent| rest.is_multiple_of(*extent)).any(|extent| {
        let stride = values[unit] - values[0];
        let adds_up = (0..unit * extent).all(|c| values[c] == values[c % unit] + (c / unit) as i64 * stride);
        adds_up && is_layout(values, unit * extent)
    })
}

/// Reports whether a layout whose shape refines that of `b` takes these values, by enumeration.
fn has_composition(b: &Layout, values: &[i64]) -> bool {
    let mut unit = 1usize;
    let mut sums = vec![0i64; values.len()];
    for &(extent, _) in b.leaves() {
        let own: Vec<i64> = (0..extent as usize).map(|j| values[j * unit]).collect();
        if own[0] != 0 || !is_layout(&own, 1) {
            return false;
        }
        for (c, sum) in sums.iter_mut().enumerate() {
            *sum += own[c / unit % extent as usize];
        }
        unit *= extent as usize;
    }
    sums == values
}

fn distinct(mut values: Vec<i64>) -> bool {
    values.sort_unstable();
    values.windows(2).all(|w| w[0] != w[1])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_round_trips(a in layout()) {
        prop_assert_eq!(a.to_string().parse::<Layout>(), Ok(a));
    }

    #[test]
    fn coalesce_keeps_the_function(a in layout(), b in layout()) {
        let c = a.coalesce();
        prop_assert_eq!(table(&c), table(&a));
        prop_assert_eq!(c.coalesce(), c.clone());
        prop_assert_eq!(equal_function(&a, &b), table(&a) == table(&b));
        prop_assert!(equal_function(&a, &c));
    }

    #[test]
    fn filter_keeps_the_image(a in layout()) {
        let image = |l: &Layout| l.table().collect::<std::collections::BTreeSet<_>>();
        prop_assert_eq!(image(&a.filter()), image(&a));
    }

    #[test]
    fn composition_is_composition_of_functions(a in layout(), b in layout()) {
        let values: Vec<i64> = b.table().map(|c| a.try_eval(c).expect("small")).collect();
        match a.compose(&b) {
            Ok(r) => {
                prop_assert_eq!(table(&r), values, "{}", r);
                prop_assert!(b.shape().compatible(r.shape()));
            }
            Err(e) => {
                prop_assert!(matches!(e, LayoutError::NotALayout { .. }), "{}", e);
                prop_assert!(!has_composition(&b, &values), "{}", e);
            }
        }
    }

    #[test]
    fn composition_is_found_along_one_mode(a in layout(), extent in 1..30i64, stride in 0..60i64) {
        let b = Layout::flat(&[(extent, stride)]).expect("small");
        let values: Vec<i64> = b.table().map(|c| a.try_eval(c).expect("small")).collect();
        match a.compose(&b) {
            Ok(r) => prop_assert_eq!(table(&r), values),
            Err(_) => prop_assert!(!is_layout(&values, 1)),
        }
    }

    #[test]
    fn complement_is_disjoint_and_complete(a in layout(), cotarget in 1..500i64) {
        match a.complement(cotarget) {
            Ok(r) => {
                let starts = table(&r);
                prop_assert!(starts.windows(2).all(|w| w[0] < w[1]));
                let mut sums: Vec<i64> = a.filter().table().flat_map(|x| starts.iter().map(move |y| x + y)).collect();
                sums.sort_unstable();
                prop_assert_eq!(&sums, &(0..sums.len() as i64).collect::<Vec<_>>());
                prop_assert!(sums.len() as i64 >= cotarget);
            }
            Err(LayoutError::NotInjective(_)) => prop_assert!(!distinct(table(&a.filter()))),
            Err(LayoutError::NoComplement { .. }) => prop_assert!(distinct(table(&a.filter()))),
            Err(e) => prop_assert!(false, "{}", e),
        }
    }

    #[test]
    fn inverses_invert(a in layout()) {
        let r = a.right_inverse();
        for i in 0..r.size() {
            prop_assert!((0..a.size()).contains(&r.eval(i)));
            prop_assert_eq!(a.eval(r.eval(i)), i);
        }
        match a.left_inverse() {
            Ok(l) => for c in 0..a.size() {
                let back = l.eval(a.eval(c));
                prop_assert_eq!(a.eval(back), a.eval(c));
                prop_assert!(back == c || !distinct(table(&a)));
            },
            Err(LayoutError::NotInjective(_)) => prop_assert!(!distinct(table(&a.filter()))),
            Err(e) => prop_assert!(matches!(e, LayoutError::NoInverse { .. }), "{}", e),
        }
    }

    #[test]
    fn injectivity(a in layout()) {
        prop_assert_eq!(a.is_injective(), Ok(distinct(table(&a))));
    }

    #[test]
    fn nullspace_goes_to_zero(a in layout()) {
        let r = a.nullspace();
        prop_assert!(distinct(table(&r)));
        prop_assert!(r.table().all(|c| a.eval(c) == 0));
    }

    #[test]
    fn divide_is_by_definition(a in layout(), t in layout()) {
        let tiler = Tiler::Layout(t.clone());
        let Ok(divided) = a.logical_divide(&tiler) else { return Ok(()) };
        let rest = t.complement(a.size()).expect("it was divided by it");
        let (tile_mode, rest_mode) = (divided.mode(0), divided.mode(1));
        prop_assert!(t.shape().compatible(tile_mode.shape()));
        for x in 0..t.size() {
            for y in 0..rest.size() {
                let want = a.try_eval(t.eval(x) + rest.eval(y)).expect("small");
                prop_assert_eq!(tile_mode.eval(x) + rest_mode.eval(y), want);
            }
        }
        prop_assert_eq!(table(&a.zipped_divide(&tiler).expect("as above")), table(&divided));
    }

    #[test]
    fn gathered_divides_are_the_logical_one(a in layout(), extents in prop::collection::vec(1..4i64, 1..3)) {
        let tiler = Tiler::extents(&extents).expect("extents");
        let Ok(logical) = a.logical_divide(&tiler) else { return Ok(()) };
        let zipped = a.zipped_divide(&tiler).expect("as above");
        let modes: Vec<Layout> = logical.modes();
        let (tiled, others) = modes.split_at(extents.len());
        let part = |i: usize| tiled.iter().map(|m| m.mode(i)).collect::<Vec<_>>();
        let rest: Vec<Layout> = part(1).into_iter().chain(others.iter().cloned()).collect();
        let want = Layout::concat(&[Layout::concat(&part(0)).unwrap(), Layout::concat(&rest).unwrap()]).unwrap();
        prop_assert_eq!(&zipped, &want);
        prop_assert_eq!(table(&a.tiled_divide(&tiler).unwrap()), table(&want));
        prop_assert_eq!(table(&a.flat_divide(&tiler).unwrap()), table(&want));
    }

    #[test]
    fn product_is_by_definition(a in layout(), t in layout()) {
        let Ok(product) = a.logical_product(&Tiler::Layout(t.clone())) else { return Ok(()) };
        let starts = a.complement(a.size() * t.cosize()).expect("it was multiplied by it");
        let (block, copies) = (product.mode(0), product.mode(1));
        prop_assert_eq!(&block, &a);
        for y in 0..t.size() {
            prop_assert_eq!(copies.eval(y), starts.eval(t.eval(y)));
        }
        // The blocked and raked forms hold the same pairs, mode beside mode.
        if let (Ok(blocked), Ok(raked)) = (a.blocked_product(&t), a.raked_product(&t)) {
            let sorted = |l: &Layout| { let mut v = table(l); v.sort_unstable(); v };
            prop_assert_eq!(sorted(&blocked), sorted(&product));
            prop_assert_eq!(sorted(&raked), sorted(&product));
        }
    }

    #[test]
    fn downcast_is_undone_by_upcast(a in layout(), n in 1..9i64) {
        let down = a.downcast(n).expect("small");
        let up = down.upcast(n).expect("every stride is 1 or a multiple");
        prop_assert_eq!(table(&up), table(&a));
    }

    #[test]
    fn common_layouts_are_common(a in layout(), b in layout()) {
        let r = a.max_common_layout(&b).expect("a short search");
        for i in 0..r.size() {
            prop_assert_eq!((a.eval(r.eval(i)), b.eval(r.eval(i))), (i, i));
        }
        let own = a.max_common_layout(&a).expect("a short search");
        prop_assert!(own.size() >= a.right_inverse().size());
    }

    #[test]
    fn swizzles_undo_themselves(bits in 0..4u32, base in 0..5u32, shift in -6..=6i32, x in 0..1i64 << 20) {
        let Ok(s) = Swizzle::new(bits, base, shift) else {
            prop_assert!(shift.unsigned_abs() < bits);
            return Ok(());
        };
        prop_assert_eq!(s.apply(s.apply(x)), x);
        let bit = |b: u32| (x >> b) & 1;
        let (up, down) = (shift.max(0) as u32, (-shift).max(0) as u32);
        let want = (0..bits).fold(x, |y, i| y ^ (bit(base + up + i) << (base + down + i)));
        prop_assert_eq!(s.apply(x), want);
        prop_assert_eq!(s.to_string().parse::<Swizzle>(), Ok(s));
        prop_assert_eq!(s.source_form().parse::<Swizzle>(), Ok(s));
    }

    #[test]
    fn relations_are_the_graph(a in layout()) {
        let points = isl::Relation::parse(&isl::layout_map(&a)).expect("our text").points().expect("bounded");
        let graph = (0..a.size()).map(|c| vec![c, a.eval(c)]).collect();
        prop_assert_eq!(points, graph);
    }

    #[test]
    fn linear_layouts_are_the_function(a in binary_layout()) {
        let l = LinearLayout::from_layout(&a).expect("disjoint powers of two");
        prop_assert_eq!(l.table().map(|v| v as i64).collect::<Vec<_>>(), table(&a));
        let back = l.to_layout().expect("it came from one");
        prop_assert!(equal_function(&a, &back));
        let by_mode = LinearLayout::from_layout_by_mode(&a).expect("the same");
        prop_assert!(equal_function(&a, &by_mode.to_layout().expect("the same")));
    }

    #[test]
    fn linear_operations(columns in prop::collection::vec(0..16i64, 1..7), more in prop::collection::vec(0..8i64, 4)) {
        let one = |name: &str, v: &[i64], out: &str, size: i64| {
            LinearLayout::new(vec![(name.into(), v.iter().map(|&x| vec![x]).collect())], vec![(out.into(), size)])
                .expect("in range")
        };
        let (l, m) = (one("x", &columns, "y", 16), one("y", &more, "z", 8));
        let both = l.compose(&m).expect("names match");
        prop_assert!((0..1u64 << columns.len()).all(|x| both.apply_flat(x) == m.apply_flat(l.apply_flat(x))));
        match l.pseudoinvert() {
            Ok(r) => for y in 0..16 {
                let smallest = (0..1u64 << columns.len()).find(|&x| l.apply_flat(x) == y);
                prop_assert_eq!(Some(r.apply_flat(y)), smallest);
            },
            Err(_) => prop_assert!((0..16).any(|y| l.table().all(|v| v != y))),
        }
        let product = l.product(&m).expect("no name in common on one side");
        prop_assert_eq!(product.divide_left(&l).and_then(|c| l.product(&c).ok()), Some(product.clone()));
        prop_assert_eq!(product.divide_right(&m).and_then(|c| c.product(&m).ok()), Some(product.clone()));
        if let Ok(c) = l.invert_and_compose(&l.reshape_ins(&[("w", 1 << columns.len())]).expect("same size")) {
            prop_assert!((0..1u64 << columns.len()).all(|x| l.apply_flat(c.apply_flat(x)) == l.apply_flat(x)));
        }
    }

    #[test]
    fn symbolic_proofs_hold_for_values(
        a in prop::collection::vec((0..5usize, 0..9usize), 1..4),
        b in prop::collection::vec((0..5usize, 0..9usize), 1..3),
        m in 1..6i64,
        n in 1..6i64,
    ) {
        // An equation that is proven with names must hold with numbers.
        const TERMS: [(&str, [i64; 3]); 9] = [
            ("2", [2, 0, 0]), ("M", [1, 1, 0]), ("N", [1, 0, 1]), ("2*N", [2, 0, 1]), ("M*N", [1, 1, 1]), ("1", [1, 0, 0]),
            ("0", [0, 0, 0]), ("M*N*2", [2, 1, 1]), ("4", [4, 0, 0]),
        ];
        let text = |modes: &[(usize, usize)]| {
            let list = |of: fn(&(usize, usize)) -> usize| {
                let terms: Vec<&str> = modes.iter().map(|mode| TERMS[of(mode)].0).collect();
                format!("({},)", terms.join(","))
            };
            format!("{}:{}", list(|mode| mode.0), list(|mode| mode.1))
        };
        let at = |i: usize| {
            let [factor, p, q] = TERMS[i].1;
            factor * m.pow(p as u32) * n.pow(q as u32)
        };
        let concrete = |modes: &[(usize, usize)]| {
            Layout::flat(&modes.iter().map(|mode| (at(mode.0), at(mode.1))).collect::<Vec<_>>()).expect("small")
        };
        let whole = format!("{} ∘ {} == {}", text(&a), text(&b), text(&b));
        if prove::prove(&whole).is_ok_and(|proof| proof.holds()) {
            let (a, b) = (concrete(&a), concrete(&b));
            prop_assert!(b.table().all(|c| a.try_eval(c) == Ok(c)), "{}", whole);
        }
        if let Ok(proof) = prove::prove(&format!("{} == {}", text(&a), text(&b)))
            && proof.holds()
        {
            prop_assert!(equal_function(&concrete(&a), &concrete(&b)));
        }
    }
}
