//! Reproduces, or improves on, the original system's results for constraints of shared memory and for bank conflicts.

use std::cell::OnceCell;
use std::rc::Rc;

use expect_test::expect;
use hx_dtype::DType;
use hx_layout::{Layout, Swizzle};
use hx_target::{SwizzleMode, Target};
use hx_tile::{OpId, TensorId, TileMode};

use super::conflicts::{Places, Requests, words_in_one_bank};
use super::constraint::Constraint;
use super::demanded::{self, Demanded, Demander, Party, disagreeing};
use super::mode::Mode;
use super::swizzle;
use crate::access::{Access, Run};

fn constraint(shape: &[i64], values: &str) -> Option<Constraint> {
    Constraint::of_values(shape, &Layout::literal(values))
}

/// Returns the constraint of one instruction's values, as text.
fn asks(shape: &[i64], values: &str) -> String {
    constraint(shape, values).map_or("refused".into(), |c| c.to_string())
}

#[test]
fn what_the_values_of_an_instruction_ask_for() {
    let cases: [(&[i64], &str, &str); 12] = [
        (&[32, 32], "8:32", "(32,(8,4)):(D,(1,D))"),
        (&[128, 128], "8:128", "(128,(8,16)):(D,(1,D))"),
        (&[128, 128], "(8,16):(128,8)", "((8,16),(8,16)):((D,8),(1,D))"),
        (&[64, 64], "8:1", "((8,8),64):((1,D),D)"),
        (&[64, 64], "16:4", "((4,16),64):((D,1),D)"),
        (&[64, 64], "(2,4):(64,128)", "(64,(8,8)):(D,(1,D))"),
        (&[64, 64], "(2,2,2):(64,8,512)", "((8,2,4),(2,4,2,4)):((D,2,D),(1,D,4,D))"),
        (&[64, 64], "(4,2):(64,1)", "((2,32),(4,16)):((4,D),(1,D))"),
        (&[96, 64], "8:96", "(96,(8,8)):(D,(1,D))"),
        (&[64, 64, 3], "8:64", "(64,(8,8),3):(D,(1,D),D)"),
        (&[48, 40], "8:48", "(48,(8,5)):(D,(1,D))"),
        // 16 does not divide 40 columns.
        (&[48, 40], "16:48", "refused"),
    ];
    for (shape, values, expected) in cases {
        assert_eq!(asks(shape, values), expected, "{shape:?} {values}");
    }
}

/// Builds a constraint from the extents and strides of each dimension; 0 is a free stride.
fn written(dims: &[&[(i64, i64)]]) -> Constraint {
    let mode = |&(extent, stride): &(i64, i64)| match stride {
        0 => Mode::free(extent),
        stride => Mode::known(extent, stride),
    };
    Constraint { dims: dims.iter().map(|modes| modes.iter().map(mode).collect()).collect(), swizzle: None }
}

#[test]
fn unification() {
    let first = written(&[&[(8, 1), (8, 0)], &[(64, 0)]]);
    let check = |other: Constraint, expected: &str| {
        let found = first.unify(&other).map_or("refused".into(), |c| c.to_string());
        assert_eq!(found, expected);
    };
    check(written(&[&[(16, 0), (4, 8)], &[(64, 0)]]), "((8,2,4),64):((1,D,8),D)");
    check(written(&[&[(64, 0)], &[(8, 1), (8, 0)]]), "refused");
    check(written(&[&[(16, 1), (4, 0)], &[(64, 0)]]), "((8,2,4),64):((1,8,D),D)");
    check(written(&[&[(2, 1), (32, 0)], &[(64, 0)]]), "((2,4,8),64):((1,2,D),D)");
    check(written(&[&[(64, 0)], &[(2, 8), (32, 0)]]), "((8,8),(2,32)):((1,D),(8,D))");
    // The original rejects this case, but a free mode may fill the gap at 8.
    check(written(&[&[(64, 0)], &[(4, 16), (16, 0)]]), "((8,8),(4,16)):((1,D),(16,D))");
    let six = written(&[&[(6, 1), (8, 0)], &[(64, 0)]]);
    let three = written(&[&[(3, 1), (16, 0)], &[(64, 0)]]);
    assert_eq!(six.unify(&three).unwrap().to_string(), "((3,2,8),64):((1,3,D),D)");
}

#[test]
fn swizzles_agree_or_no_layout_meets_both() {
    let free = constraint(&[64, 64], "8:64").unwrap();
    let under = |bits, base| {
        let swizzle = Swizzle::new(bits, base, 3).unwrap();
        free.unify(&Constraint::pinned(&[64, 64], swizzle)).unwrap()
    };
    let [plain, narrow, wide] = [under(0, 0), under(2, 3), under(3, 3)];
    assert_eq!(free.to_string(), "(64,(8,8)):(D,(1,D))");
    assert_eq!(plain.to_string(), "(64,(8,8)):(D,(1,D))");
    assert_eq!(wide.to_string(), "swizzle<3, 3, 3> ∘ (64,(8,8)):(D,(1,D))");
    let all = [&free, &plain, &narrow, &wide];
    for (i, one) in all.into_iter().enumerate() {
        for (j, other) in all.into_iter().enumerate() {
            let unified = one.unify(other);
            assert_eq!(unified, other.unify(one), "{one} and {other}");
            // Unification replaces a free swizzle; two demanded swizzles must be the same. The identity is a demand, too.
            let expected = match (i, j) {
                (0, _) => Some(other.clone()),
                (_, 0) => Some(one.clone()),
                _ => (i == j).then(|| one.clone()),
            };
            assert_eq!(unified, expected, "{one} and {other}");
            assert_eq!(one.implies(other), i == j || j == 0, "{one} and {other}");
        }
    }
}

/// A single free stride stays single when another access cuts its mode: the outer pieces follow the inner ones.
#[test]
fn a_single_stride_follows_where_it_is_cut() {
    let single = |extent| vec![Mode::known(8, 64), Mode::single(extent)];
    let constraint =
        |rows: Vec<Mode>| Constraint { dims: vec![rows, vec![Mode::known(64, 1)]], swizzle: None };
    let first = constraint(single(16));
    let check = |other: &[(i64, i64)], expected: &str| {
        let other = written(&[other, &[(64, 0)]]);
        let found = first.unify(&other);
        let text = found.as_ref().map_or("refused".into(), Constraint::to_string);
        assert_eq!(text, expected);
        assert_eq!(found, other.unify(&first));
        found
    };
    assert_eq!(first.to_string(), "((8,16),64):((64,S),1)");
    let cut = check(&[(16, 0), (8, 0)], "((8,2,8),64):((64,S,F),1)").expect("a constraint");
    assert_eq!(cut.merged(), first);
    // A known stride of any piece determines those of all.
    check(&[(8, 0), (2, 1024), (8, 0)], "((8,2,8),64):((64,1024,2048),1)");
    check(&[(16, 0), (8, 1024)], "((8,2,8),64):((64,512,1024),1)");
    check(&[(16, 0), (2, 0), (4, 4096)], "((8,2,2,4),64):((64,1024,2048,4096),1)");
    // The first stride of the single mode is no whole number; in the second case, two strides contradict each other.
    check(&[(16, 0), (8, 513)], "refused");
    check(&[(8, 0), (2, 1024), (8, 4096)], "refused");
    // A mode with a single stride is filled as one mode, also after another access cut it.
    for constraint in [&first, &cut] {
        let filled = super::materialize::candidates(constraint, &[false; 2], &[], 0);
        assert!(filled.contains(&Layout::literal("(128,64):(64,1)")), "{filled:?}");
    }
}

#[test]
fn stages_begin_with_blocks_of_a_demanded_swizzle() {
    let swizzle = Demanded::mode(SwizzleMode::Bytes128, DType::F16);
    let filled = |swizzle| {
        let dims = vec![vec![Mode::free(4)], vec![Mode::known(64, 1)], vec![Mode::free(3)]];
        let constraint = Constraint { dims, swizzle };
        super::materialize::candidates(&constraint, &[false, false, true], &[], 8)
    };
    assert!(filled(None).contains(&Layout::literal("(4,64,3):(64,1,256)")));
    // The block has 512 elements, and no layout is padded.
    assert_eq!(filled(swizzle)[0], Layout::literal("(4,64,3):(64,1,512)"));
    assert!(
        filled(swizzle)
            .iter()
            .all(|layout| layout.mode(2).eval(1) % 512 == 0 || layout.mode(2).eval(1) == 64)
    );
}

#[test]
fn accesses_that_demand_other_swizzles_are_named() {
    let under = |mode| Demanded::mode(mode, DType::F16);
    let [wide, narrow, none] = [SwizzleMode::Bytes128, SwizzleMode::Bytes64, SwizzleMode::Plain].map(under);
    let party = |op, accepts: &[Option<Demanded>]| {
        let instructions = if op == 1 { vec!["product.a"] } else { vec!["load.boxes", "load.run"] };
        Party::of(Demander::Access(OpId(op), instructions), accepts.iter().copied())
    };
    assert_eq!(party(0, &[None, wide]), None);
    let parties: Vec<Party> = [party(0, &[wide, narrow]), party(1, &[wide]), party(2, &[narrow, none])]
        .into_iter()
        .flatten()
        .collect();
    assert_eq!(disagreeing(&parties[..2]), None);
    let pair = disagreeing(&parties).expect("the last two disagree");
    let failure = demanded::conflict("sa", TensorId(4), pair);
    let parts = failure.parts.iter().map(|part| format!("{:?}: {}", part.op.map(|op| op.0), part.text));
    let lines = std::iter::once(failure.message.clone())
        .chain(parts)
        .chain(failure.help.iter().map(|help| help.text.clone()));
    expect![[r#"
        no swizzle of the shared tensor `sa` serves all of its accesses
        Some(1): this access by `product.a` demands the 128 B swizzle
        Some(2): this access by `load.boxes` or `load.run` demands the 64 B swizzle or no swizzle
        give each of the two accesses a shared tensor of its own, and copy `sa` to both"#]]
    .assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn gaps_are_filled() {
    let gap = written(&[&[(8, 1), (8, 0)], &[(4, 16), (16, 0)]]);
    let filled = super::materialize::candidates(&gap, &[false; 3], &[], 0);
    let whole = |layout: &&Layout| layout.is_injective().unwrap() && layout.cosize() == 64 * 64;
    assert!(filled.iter().any(|layout| whole(&layout)), "{filled:?}");
}

#[test]
fn free_strides_start_after_the_known_ones() {
    let known = written(&[&[(8, 1), (2, 0), (4, 8)], &[(64, 0)]]);
    let filled = super::materialize::candidates(&known, &[false; 3], &[], 0);
    assert!(filled.contains(&Layout::literal("((8,2,4),64):((1,32,8),64)")), "{filled:?}");
}

/// Returns the degree of the conflict in the first phase: the most words of one bank.
fn degree(
    layout: &str,
    swizzle: Option<(u32, u32, i32)>,
    lanes: &dyn Fn(i64) -> i64,
    bytes: u32,
    bits: u32,
) -> u64 {
    let layout = Layout::literal(layout);
    let swizzle = swizzle.map_or(Swizzle::identity(), |(b, m, s)| Swizzle::new(b, m, s).unwrap());
    let phase = (128 / bytes).min(32);
    let offsets: Vec<i64> = (0..i64::from(phase)).map(|lane| layout.eval(lanes(lane))).collect();
    words_in_one_bank(Target::usual().limits(), &offsets, swizzle, bytes, bits)
}

const SWIZZLES: [Option<(u32, u32, i32)>; 6] =
    [None, Some((1, 3, 3)), Some((2, 3, 3)), Some((3, 3, 3)), Some((3, 3, 4)), Some((2, 3, 4))];

#[test]
fn bank_conflicts_of_the_first_phase() {
    let row = |rows: i64| move |lane: i64| lane % rows;
    // Rows of eight elements, one for each lane.
    let check = |layout: &str, expected: [u64; 6]| {
        let found = SWIZZLES.map(|s| degree(layout, s, &row(128), 16, 16));
        assert_eq!(found, expected, "{layout}");
    };
    check("(128,32):(32,1)", [4, 2, 1, 1, 2, 2]);
    check("(128,64):(64,1)", [8, 4, 2, 1, 2, 2]);
    check("(128,128):(128,1)", [8, 8, 4, 2, 1, 2]);
    // Transposed: the lanes walk the other dimension.
    let found = SWIZZLES.map(|s| degree("(128,32):(1,128)", s, &|lane| lane * 128, 16, 16));
    assert_eq!(found, [8, 8, 4, 2, 1, 2]);
    // Threads that each load a row need the same as matrix loads.
    check("(64,64):(64,1)", [8, 4, 2, 1, 2, 2]);
    // Asynchronous copies of whole rows never conflict: four threads along 32 columns, or eight along 64.
    for (layout, threads) in [("(128,32):(32,1)", "(4,32):(1024,1)"), ("(128,64):(64,1)", "(8,16):(1024,1)")]
    {
        let threads = Layout::literal(threads);
        let found = SWIZZLES.map(|s| degree(layout, s, &|lane| threads.eval(lane), 16, 16));
        assert_eq!(found, [1; 6], "{layout}");
    }
    // Each lane has a pair of the accumulator's elements: 8 rows, 4 pairs.
    let pair = |lane: i64| lane / 4 + 64 * (lane % 4 * 2);
    let found = SWIZZLES.map(|s| degree("(64,64):(64,1)", s, &pair, 4, 16));
    assert_eq!(found, [8, 4, 2, 1, 2, 2]);
    // The lanes read a column of f32 elements.
    let found = SWIZZLES.map(|s| degree("(32,32):(32,1)", s, &row(32), 4, 32));
    assert_eq!(found, [32, 16, 8, 8, 8, 8]);
    assert_eq!(degree("(32,32):(32,1)", Some((5, 0, 5)), &row(32), 4, 32), 1);
}

/// Returns the swizzles that the original tries for instructions of 8 elements whose phase spans `span` elements: bits, base and
/// shift.
fn tried_by_the_original(span: i64) -> Vec<(u32, u32, i32)> {
    let top = span.ilog2() + 1;
    let shifts =
        |bits: u32, base: u32| (1..=top.saturating_sub(bits + base)).map(move |s| (bits, base, s as i32));
    (1..top).flat_map(|bits| (3..top).flat_map(move |base| shifts(bits, base))).collect()
}

/// Returns the requests of a warp for rows of 8 elements of 16 bits of a tensor with this layout: one row for each thread, `step`
/// apart.
fn row_requests(layout: &Layout, shape: [i64; 2], step: [i64; 2], run_along: usize) -> Requests {
    let row = Target::usual()
        .rows()
        .copies
        .iter()
        .find(|row| row.name == "ld.shared.v4.b32")
        .expect("there is one");
    let access = Access {
        row,
        limits: Target::usual().limits(),
        tile: shape.to_vec(),
        thread: vec![TileMode::new(32, step.to_vec())],
        run: Run::plain(run_along, 8),
        values: vec![(8, 1)],
        issue: vec![],
        phases: OnceCell::new(),
        busy: OnceCell::new(),
    };
    let place = |at: &[i64], out: &mut [i64]| {
        out.copy_from_slice(at);
        true
    };
    Requests::new(&Places::of(&access, 32, true, 2, &place), layout, 16)
}

/// The original tries 35, 56 and 84 swizzles; some have no effect, and some have overlapping bits. Our search tries only those
/// that move banks, and its result is at least as good as the original's best.
#[test]
fn no_swizzle_of_the_original_is_better() {
    for (span, count) in [(256, 35), (512, 56), (1024, 84)] {
        let tried = tried_by_the_original(span);
        assert_eq!((tried.len(), tried[0]), (count, (1, 3, 1)));
        // Eight lanes whose rows are `span / 8` elements apart, in row-major and in transposed order.
        let columns = span / 8;
        for (layout, step, run_along) in [
            (format!("(128,{columns}):({columns},1)"), [1, 0], 1),
            (format!("({columns},128):(1,{columns})"), [0, 1], 0),
        ] {
            let layout = Layout::literal(&layout);
            let shape = if run_along == 1 { [128, columns] } else { [columns, 128] };
            let requests = row_requests(&layout, shape, step, run_along);
            let swizzles =
                tried.iter().filter_map(|(bits, base, shift)| Swizzle::new(*bits, *base, *shift).ok());
            let least = swizzles.map(|s| requests.count(s).wavefronts).min().expect("there are some");
            let cost = swizzle::AccessCost::new([0.0, 0.0, 1.0], || Rc::new(requests.clone()));
            let served = [swizzle::Served { costs: vec![cost], trips: 1.0 }];
            let budget = swizzle::SwizzleBudget::default();
            let ours =
                swizzle::best(Target::usual().limits(), &layout, &served, 8, 16, f64::INFINITY, &budget)
                    .expect("there is one");
            assert!(requests.count(ours).wavefronts <= least, "{layout}: {ours}");
            assert_eq!(requests.count(ours).wavefronts, requests.ideal(), "{layout}: {ours}");
        }
    }
}
