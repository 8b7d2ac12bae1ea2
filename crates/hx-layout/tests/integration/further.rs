//! Sixty and more expressions against an evaluator of its own: swizzled divides, products and recasts, relations, linear layouts
//! by position, equations with names, and inverses.

use std::collections::BTreeSet;

use expect_test::expect;
use hx_layout::eval_expr;

use crate::evaluator::{
    Bits, Points, Table, after, answer, holds, points, starts, strided, swizzled, text, tiles,
};

/// Compares the table of an expression with values by definition.
#[track_caller]
fn same(expression: &str, want: &[i64]) {
    let got = answer(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
    assert_eq!(got.table, want, "{expression}");
}

/// As [`same`], with the sizes of the top-level modes of the answer.
#[track_caller]
fn same_modes(expression: &str, want: &[i64], sizes: &[i64]) {
    same(expression, want);
    assert_eq!(answer(expression).expect("just evaluated").sizes, sizes, "{expression}");
}

/// Compares the points of an expression with those by definition.
#[track_caller]
fn same_points(expression: &str, want: impl IntoIterator<Item = Vec<i64>>) {
    let got = points(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
    assert_eq!(got, want.into_iter().collect::<Points>(), "{expression}");
}

#[track_caller]
fn fails(expression: &str, reason: &str) {
    let error = eval_expr(expression).map(|value| value.to_string()).expect_err(expression).to_string();
    assert!(error.contains(reason), "{expression}: {error}");
}

/// The text of a swizzled layout, with its swizzle, offset and modes.
type Swizzled = (&'static str, Bits, i64, &'static [(i64, i64)]);

const SWIZZLED: &[Swizzled] = &[
    ("swizzle<3,3,3> ∘ (8,64):(64,1)", (3, 3, 3), 0, &[(8, 64), (64, 1)]),
    ("swizzle<2,1,3> ∘ (8,8):(8,1)", (2, 1, 3), 0, &[(8, 8), (8, 1)]),
    ("swizzle<2,0,-3> ∘ (16,4):(1,16)", (2, 0, -3), 0, &[(16, 1), (4, 16)]),
    ("swizzle<1,2,1> ∘ 16 ∘ (4,4):(4,1)", (1, 2, 1), 16, &[(4, 4), (4, 1)]),
];

fn table(bits: Bits, offset: i64, modes: &[(i64, i64)]) -> Table {
    strided(modes).into_iter().map(|v| swizzled(bits, v + offset)).collect()
}

/// 19 expressions: the value at tile `x` and rest `y` is that of the layout at `t(x) + rest(y)`.
#[test]
fn divides_of_swizzled_layouts() {
    for &(a, bits, offset, modes) in SWIZZLED {
        let whole = table(bits, offset, modes);
        let size = whole.len() as i64;
        for (tiler, tile) in [("4", strided(&[(4, 1)])), ("4:2", strided(&[(4, 2)]))] {
            let want: Table =
                tiles(&tile, size).expect("a tile").iter().map(|&c| whole[c as usize]).collect();
            same_modes(&format!("divide({a}, {tiler})"), &want, &[4, size / 4]);
        }
        // By mode: tiles of 2 rows and of every second column of 4.
        let (rows, columns) = (modes[0].0, modes[1].0);
        let (by_row, by_column) =
            (tiles(&[0, 1], rows).expect("rows"), tiles(&[0, 2], columns).expect("columns"));
        let at = |row: i64, column: i64| whole[(row + rows * column) as usize];
        let logical: Table = by_column.iter().flat_map(|&j| by_row.iter().map(move |&i| at(i, j))).collect();
        same_modes(&format!("logical_divide({a}, <2, 2:2>)"), &logical, &[rows, columns]);
        let mut zipped = Table::new();
        for rest_column in by_column.chunks(2) {
            for rest_row in by_row.chunks(2) {
                zipped.extend(rest_column.iter().flat_map(|&j| rest_row.iter().map(move |&i| at(i, j))));
            }
        }
        same_modes(&format!("zipped_divide({a}, <2, 2:2>)"), &zipped, &[4, size / 4]);
    }
    // A slice: column 3, and every row.
    let whole = table((3, 3, 3), 0, &[(8, 64), (64, 1)]);
    same_modes("slice(swizzle<3,3,3> ∘ (8,64):(64,1), (_, 3))", &whole[24..32], &[8]);
    same_modes(
        "a = swizzle<3,3,3> ∘ (8,64):(64,1); a(3, _)",
        &whole.chunks(8).map(|c| c[3]).collect::<Table>(),
        &[64],
    );
    same_modes(
        "tiled_divide(swizzle<2,1,3> ∘ (8,8):(8,1), <2, 8>)",
        &answer("zipped_divide(swizzle<2,1,3> ∘ (8,8):(8,1), <2, 8>)").expect("zipped").table,
        &[16, 4, 1],
    );
}

/// 12 expressions: the value at `x` and copy `y` is that at `x` plus the start of the copy.
#[test]
fn products_of_swizzled_layouts() {
    for &(a, bits, offset, modes) in &SWIZZLED[..3] {
        let atom = table(bits, offset, modes);
        let (rows, columns) = (modes[0].0, modes[1].0);
        let begin = starts(&strided(modes), 12).expect("the atom has a complement");
        let copy = |start: i64| atom.iter().map(move |v| v + start);
        let want: Table = begin[..6].iter().flat_map(|&start| copy(start)).collect();
        same_modes(&format!("product({a}, 6)"), &want, &[atom.len() as i64, 6]);
        // The copies are numbered by (2,3):(3,1).
        let numbered = |i: i64, j: i64| begin[(3 * i + j) as usize];
        let at = |row: i64, column: i64, start: i64| atom[(row + rows * column) as usize] + start;
        let (mut blocked, mut raked) = (Table::new(), Table::new());
        for column in 0..3 * columns {
            for row in 0..2 * rows {
                let (i, j) = (row / rows, column / columns);
                blocked.push(at(row % rows, column % columns, numbered(i, j)));
                let (i, j) = (row % 2, column % 3);
                raked.push(at(row / 2, column / 3, numbered(i, j)));
            }
        }
        let sizes = [2 * rows, 3 * columns];
        same_modes(&format!("blocked_product({a}, (2,3):(3,1))"), &blocked, &sizes);
        same_modes(&format!("raked_product({a}, (2,3):(3,1))"), &raked, &sizes);
        // Blocks side by side along the columns first.
        let shape = format!("({}, {})", sizes[0], sizes[1]);
        same_modes(&format!("tile_to_shape({a}, {shape}, (2, 1))"), &blocked, &sizes);
    }
    fails("product(swizzle<3,0,3> ∘ 8:1, 8)", "do not begin at multiples of 64");
    fails("blocked_product(swizzle<3,3,3> ∘ (8,8):(8,1), (2,2):(1,2))", "do not begin at multiples of 512");
    fails("tile_to_shape(swizzle<2,1,3> ∘ (8,8):(8,1), (16, 12))", "8 coordinates, which do not divide 12");
    fails("tile_to_shape((8,8):(8,1), 64)", "the tile has 2 modes where at most 1 fit");
}

/// 10 expressions: wide element `(i, j)` holds the `n` narrow elements from `(i, n*j)` on, side by side.
#[test]
fn recasts_of_swizzled_layouts() {
    let cases: [(Bits, i64, i64, i64); 4] =
        [((3, 3, 3), 8, 64, 0), ((2, 4, 3), 4, 128, 128), ((1, 2, 1), 2, 16, 8), ((2, 3, -2), 8, 32, 0)];
    for (bits, rows, columns, offset) in cases {
        let modes = [(rows, columns), (columns, 1)];
        let a = format!("swizzle<{},{},{}> ∘ {offset} ∘ {}", bits.0, bits.1, bits.2, text(&modes));
        let narrow = table(bits, offset, &modes);
        let at = |i: i64, j: i64| narrow[(i + rows * j) as usize];
        let wide = (0..columns / 4).flat_map(|j| (0..rows).map(move |i| (i, j))).map(|(i, j)| {
            let first = at(i, 4 * j);
            assert!(first % 4 == 0 && (1..4).all(|h| at(i, 4 * j + h) == first + h), "{a} at {i}, {j}");
            first / 4
        });
        let wide: Table = wide.collect();
        same_modes(&format!("upcast({a}, 4)"), &wide, &[rows, columns / 4]);
        let finer: Table = (0..2 * columns)
            .flat_map(|j| (0..rows).map(move |i| (i, j)))
            .map(|(i, j)| 2 * at(i, j / 2) + j % 2)
            .collect();
        same_modes(&format!("recast({a}, 16, 8)"), &finer, &[rows, 2 * columns]);
    }
    let back = strided(&[(8, 64), (64, 1)]).into_iter().map(|v| swizzled((3, 3, 3), v)).collect::<Table>();
    same("recast(recast(swizzle<3,3,3> ∘ (8,64):(64,1), 16, 8), 8, 16)", &back);
    same("downcast(upcast(swizzle<3,3,3> ∘ (8,64):(64,1), 8), 8)", &back);
    fails("upcast(swizzle<3,0,3> ∘ (8,8):(8,1), 2)", "changes bit 0 of the index, inside a unit of 2");
    fails("upcast(swizzle<2,1,-3> ∘ (8,8):(8,1), 4)", "reads bit 1 of the index, inside a unit of 4");
    fails("recast(swizzle<3,3,3> ∘ (8,66):(66,1), 16, 48)", "the factor 3 is no power of two");
    fails("upcast(swizzle<1,2,1> ∘ 3 ∘ 8:1, 2)", "the offset 3 is no multiple of 2");
}

/// Returns the points of a function of integers `0..size`.
fn function(size: i64, f: impl Fn(i64) -> i64) -> Points {
    (0..size).map(|x| vec![x, f(x)]).collect()
}

/// 9 expressions.
#[test]
fn compositions_of_relations() {
    let twice = function(8, |c| 2 * c);
    let next = function(5, |x| x + 1);
    same_points(
        "{ [c] -> [i = 2c] : 0 <= c < 8 } ∘ { [x] -> [y = x + 1] : 0 <= x < 5 }",
        after((&twice, 1), (&next, 1)),
    );
    same_points(
        "compose({ [x] -> [x + 1] : 0 <= x < 5 }, { [c] -> [2c] : 0 <= c < 8 })",
        after((&next, 1), (&twice, 1)),
    );
    let strided_by_3 = function(4, |c| 3 * c);
    same_points("{ [c] -> [2c] : 0 <= c < 8 } ∘ 4:3", after((&twice, 1), (&strided_by_3, 1)));
    same_points("4:3 ∘ { [c] -> [2c] : 0 <= c < 8 }", after((&strided_by_3, 1), (&twice, 1)));
    // A relation that is no function: divisors.
    let divides: Points =
        (1..13).flat_map(|x| (1..13).filter(move |y| y % x == 0).map(move |y| vec![x, y])).collect();
    let text = "{ [x] -> [y] : 1 <= x < 13 and 1 <= y < 13 and y mod x = 0 }";
    same_points(&format!("{text} ∘ {text}"), after((&divides, 1), (&divides, 1)));
    let grid: Points = (0..4).flat_map(|i| (0..8).map(move |j| vec![i, j, 8 * i + j])).collect();
    let split: Points = (0..32).map(|x| vec![x, x % 4, x / 4]).collect();
    same_points(
        "(4,8):(8,1) ∘ { [x] -> [x mod 4, floor(x/4)] : 0 <= x < 32 }",
        after((&grid, 2), (&split, 1)),
    );
    same_points("swizzle<2,0,2> ∘ { [x] -> [x] : 0 <= x < 16 }", function(16, |x| swizzled((2, 0, 2), x)));
    same_points(
        "{ [x] -> [x - 3] : 0 <= x < 16 } ∘ (swizzle<1,0,2> ∘ 8:1)",
        function(8, |x| swizzled((1, 0, 2), x) - 3),
    );
    same_points("{ [x] -> [2x] : 0 <= x < 9 } ∘ { [i] : 2 <= i < 12 }", (2..9).map(|x| vec![2 * x]));
    fails("{ [i] : 0 <= i < 4 } ∘ 8:1", "a set cannot follow a relation");
    fails(
        "{ [i, j] -> [i] : 0 <= i < 4 and 0 <= j < 4 } ∘ 8:1",
        "with 2 inputs cannot follow one with 1 output",
    );
}

/// 12 expressions.
#[test]
fn sets_of_relations() {
    let even = "{ [c] -> [i = 2c] : 0 <= c < 5 }";
    let thirds = "{ [c] -> [i = 3c] : 0 <= c < 4 }";
    let (evens, multiples) = (function(5, |c| 2 * c), function(4, |c| 3 * c));
    same_points(&format!("{even} + {thirds}"), evens.union(&multiples).cloned());
    same_points(&format!("{even} ∪ 4:3"), evens.union(&multiples).cloned());
    same_points(&format!("{even} ∩ {thirds}"), evens.intersection(&multiples).cloned());
    same_points(&format!("image({even}) ∩ image(4:3)"), [vec![0], vec![6]]);
    same_points(
        "domain({ [i, j] -> [8i + j] : 0 <= i < 4 and 0 <= j < i })",
        [[1, 0], [2, 0], [2, 1], [3, 0], [3, 1], [3, 2]].map(Vec::from),
    );
    same_points("range(swizzle<1,2,1> ∘ 4:4)", [vec![0], vec![4], vec![12], vec![8]]);
    same_points(&format!("complement({even})"), [1, 3, 5, 7].map(|i| vec![i]));
    same_points(
        &format!("complement({even}, 12)"),
        (0..12).filter(|i| i % 2 == 1 || *i > 8).map(|i| vec![i]),
    );
    let square = |inside: bool| {
        let all = (0..3).flat_map(|i| (0..3).map(move |j| vec![i, j]));
        all.filter(move |p| (p[0] < 2 && p[1] <= p[0]) == inside).collect::<BTreeSet<_>>()
    };
    same_points("complement({ [i, j] : 0 <= i < 2 and 0 <= j <= i }, (3, 3))", square(false));
    same_points(
        "complement(complement({ [i, j] : 0 <= i < 2 and 0 <= j <= i }, (3, 3)), (3, 3))",
        square(true),
    );
    same_points("complement({ [i] : 0 <= i < 8 }, 8)", []);
    same_points("complement({ [c] -> [c] : false }, 4)", (0..4).map(|i| vec![i]));
    fails("complement({ [c] -> [c] : false })", "the relation is empty");
    fails("complement({ [c] -> [c - 3] : 0 <= c < 8 })", "has the output -3, below 0");
    fails("complement({ [c] -> [c*c] : 0 <= c < 500 })", "more than 256 runs");
    fails("complement({ [c] -> [c] : c >= 0 }, 8)", "neither constant bounds nor an equation");
    fails(
        "{ [c] -> [c] : 0 <= c < 4 } + { [c] : 0 <= c < 4 }",
        "1 input and 1 output, and a set of 1 dimension",
    );
    fails("4:1 + 3", "found an integer where a relation or a layout was expected");
}

/// 9 expressions.
#[test]
fn inverses_of_relations() {
    let fourth = "{ [c] -> [i = c mod 4] : 0 <= c < 8 }";
    same_points(&format!("inverse({fourth})"), (0..8).map(|c| vec![c % 4, c]));
    same_points(&format!("right_inverse({fourth})"), (0..4).map(|c| vec![c, c]));
    same_points(&format!("{fourth} ∘ right_inverse({fourth})"), (0..4).map(|i| vec![i, i]));
    same_points("left_inverse({ [c] -> [7*c*c] : 0 <= c < 6 })", (0..6).map(|c| vec![7 * c * c, c]));
    // Of the coordinates (x, y) with the sum s, the one that comes first: the least y.
    same_points(
        "right_inverse({ [x, y] -> [x + y] : 0 <= x < 3 and 0 <= y < 3 })",
        (0..5).map(|s| vec![s, s - (s - 2).max(0), (s - 2).max(0)]),
    );
    let says = |expression: &str| eval_expr(expression).map(|value| value.to_string());
    assert_eq!(says(&format!("size({fourth})")).as_deref(), Ok("8"));
    assert_eq!(says("size({ [i, j] : 0 <= i <= j < 5 })").as_deref(), Ok("15"));
    assert_eq!(says(&format!("is_injective({fourth})")).as_deref(), Ok("false"));
    assert_eq!(says("is_injective({ [c] -> [7*c*c] : 0 <= c < 6 })").as_deref(), Ok("true"));
    fails(&format!("left_inverse({fourth})"), "it takes both 0 and 4 to 0");
    fails(&format!("right_inverse(inverse({fourth}))"), "at 0 it has both 0 and 4");
    fails("is_injective({ [i] : 0 <= i < 4 })", "a set has no `->`");
}

/// 6 expressions: values by exclusive or of the values of bits.
#[test]
fn linear_layouts_by_position() {
    let xor = |bases: &[i64], x: i64| {
        bases.iter().enumerate().filter(|(b, _)| (x >> b) & 1 == 1).fold(0, |all, (_, v)| all ^ v)
    };
    let table = |expression: &str| eval_expr(&format!("table({expression})")).expect(expression).to_string();
    let list =
        |values: Vec<i64>| format!("({})", values.iter().map(i64::to_string).collect::<Vec<_>>().join(", "));
    let (first, second) = ([3, 1, 6], [2, 5, 4]);
    let want = list((0..8).map(|x| xor(&second, xor(&first, x))).collect());
    assert_eq!(table("linear((x: [2, 5, 4]), (y: 8)) ∘ linear((lane: [3, 1, 6]), (index: 8))"), want);
    assert_eq!(table("linear((i: [2, 5, 4]), (y: 8)) ∘ linear((i: [3, 1, 6]), (j: 8))"), want);
    assert_eq!(table("linear(8:1) ∘ linear(8:1)"), list((0..8).collect()));
    let says = |expression: &str| eval_expr(expression).map(|value| value.to_string());
    assert_eq!(says("linear({ [c] -> [i] : i = c and 0 <= c < 16 }) == linear(16:1)").as_deref(), Ok("true"));
    assert_eq!(
        says("linear((a: [1], b: [2]), (y: 4)) == linear((p: [1], q: [2]), (z: 4))").as_deref(),
        Ok("true")
    );
    assert_eq!(
        says("linear((a: [1], b: [2]), (y: 4)) == linear((b: [1], a: [2]), (y: 4))").as_deref(),
        Ok("false")
    );
    fails(
        "linear((a: [1], x: [1]), (y: 2)) ∘ linear((l: [(1, 0)]), (b: 2, a: 2))",
        "dimension `a` is at different positions in (b, a) and (a, x)",
    );
}

/// Returns a proof's verdict, and whether both sides agree for all small values of the two names.
fn verdict(
    equation: &str,
    left: impl Fn(i64, i64) -> Option<Table>,
    right: impl Fn(i64, i64) -> Option<Table>,
) -> (bool, bool) {
    let values = (1..7).flat_map(|m| (1..7).map(move |n| (m, n)));
    let agree = values.filter_map(|(m, n)| Some((left(m, n)?, right(m, n)?))).all(|(a, b)| a == b);
    (holds(equation), agree)
}

fn of(modes: &[(i64, i64)]) -> Option<Table> {
    Some(strided(modes))
}

/// 6 equations.
#[test]
fn products_and_complements_with_names() {
    let product = |a: Table, count: i64| {
        let begin = starts(&a, count as usize)?;
        Some(begin.iter().flat_map(|s| a.iter().map(move |v| v + s)).collect::<Table>())
    };
    let yes = (true, true);
    let case = verdict(
        "product((M,N):(1,M), 4:1) == (M,N,4):(1,M,M*N)",
        |m, n| product(strided(&[(m, 1), (n, m)]), 4),
        |m, n| of(&[(m, 1), (n, m), (4, m * n)]),
    );
    assert_eq!(case, yes);
    let case = verdict(
        "product((M,N):(N,1), M) == (M,N,M):(N,1,M*N)",
        |m, n| product(strided(&[(m, n), (n, 1)]), m),
        |m, n| of(&[(m, n), (n, 1), (m, m * n)]),
    );
    assert_eq!(case, yes);
    let case = verdict(
        "product(4:M, M) == (4,M):(M,1)",
        |m, _| product(strided(&[(4, m)]), m),
        |m, _| of(&[(4, m), (m, 1)]),
    );
    assert_eq!(case, yes);
    let case = verdict(
        "product(4:M, N) == (4,N):(M,1)",
        |m, n| product(strided(&[(4, m)]), n),
        |m, n| of(&[(4, m), (n, 1)]),
    );
    assert_eq!(case, (false, false));
    let case = verdict(
        "complement(4:M, 4*M*N) == (M,N):(1,4*M)",
        |m, n| starts(&strided(&[(4, m)]), (m * n) as usize),
        |m, n| of(&[(m, 1), (n, 4 * m)]),
    );
    assert_eq!(case, yes);
    let case = verdict(
        "complement((M,2):(2,4*M), 16*M) == (2,2,2):(1,2*M,8*M)",
        |m, _| starts(&strided(&[(m, 2), (2, 4 * m)]), 8),
        |m, _| of(&[(2, 1), (2, 2 * m), (2, 8 * m)]),
    );
    assert_eq!(case, yes);
}

/// 4 equations.
#[test]
fn divides_with_names() {
    let divide = |a: Table, tile: Table| {
        let places = tiles(&tile, a.len() as i64).filter(|places| places.len() == a.len())?;
        Some(places.into_iter().map(|c| a[c as usize]).collect::<Table>())
    };
    let yes = (true, true);
    let case = verdict(
        "divide(8*M:1, 8) == (8,M):(1,8)",
        |m, _| divide(strided(&[(8 * m, 1)]), strided(&[(8, 1)])),
        |m, _| of(&[(8, 1), (m, 8)]),
    );
    assert_eq!(case, yes);
    let case = verdict(
        "divide((8,M):(M,1), (2,M):(1,8)) == (2,M,4):(M,1,2*M)",
        |m, _| divide(strided(&[(8, m), (m, 1)]), strided(&[(2, 1), (m, 8)])),
        |m, _| of(&[(2, m), (m, 1), (4, 2 * m)]),
    );
    assert_eq!(case, yes);
    let case = verdict(
        "divide((M,N):(N,1), M) == (M,N):(N,2)",
        |m, n| divide(strided(&[(m, n), (n, 1)]), strided(&[(m, 1)])),
        |m, n| of(&[(m, n), (n, 2)]),
    );
    assert_eq!(case, (false, false));
    let case = verdict(
        "zipped_divide((M,2*N):(1,M), M*N) == (M,N,2):(1,M,M*N)",
        |m, n| divide(strided(&[(m, 1), (2 * n, m)]), strided(&[(m * n, 1)])),
        |m, n| of(&[(m, 1), (n, m), (2, m * n)]),
    );
    assert_eq!(case, yes);
}

/// Hexcute, figures 7, 17 and 18 and appendix C: `g ∘ q⁻¹` at row 17 and column 5 is 337.
#[test]
fn inverses_keep_the_profile() {
    let (q, g) = ("((4,8),(2,4)):((64,1),(32,8))", "((4,8),(2,2,2)):((32,1),(16,8,256))");
    let says = |expression: &str| eval_expr(expression).expect(expression).to_string();
    assert_eq!(says(&format!("inverse({q})")), "((8,4),(2,4)):((4,64),(32,1))");
    // A composition keeps a mode that it refines as a tuple; the paper writes the modes of a row side by side.
    assert_eq!(says(&format!("{g} ∘ inverse({q})")), "((8,(2,2)),(2,4)):((1,(8,256)),(16,32))");
    let of_the_paper = "((8,2,2),(2,4)):((1,8,256),(16,32))";
    assert_eq!(says(&format!("{g} ∘ inverse({q}) == {of_the_paper}")), "true");
    assert_eq!(says(&format!("({g} ∘ inverse({q}))(17, 5)")), "337");
    let values = strided(&[(4, 64), (8, 1), (2, 32), (4, 8)]);
    let mut want = vec![0; values.len()];
    values.iter().enumerate().for_each(|(c, &v)| want[v as usize] = c as i64);
    same_modes(&format!("inverse({q})"), &want, &[32, 8]);
    same_modes("inverse((32,8):(1,32))", &(0..256).collect::<Table>(), &[32, 8]);
    // The rows of the inverse would have 8 coordinates, which 4 rows do not hold: the inverse is flat.
    same_modes("inverse((4,8):(8,1))", &(0..32).map(|i| i / 8 + 4 * (i % 8)).collect::<Table>(), &[8, 4]);
}

/// The expressions that the papers use, as text.
#[test]
fn expressions_of_the_papers() {
    let expressions = [
        "divide(swizzle<3,3,3> ∘ (64,64):(64,1), (8, 16))",
        "zipped_divide(swizzle<3,3,3> ∘ (64,64):(64,1), <8, 16>)",
        "product(swizzle<3,3,3> ∘ (8,64):(64,1), 6)",
        "blocked_product(swizzle<3,3,3> ∘ (8,64):(64,1), (2,2):(1,2))",
        "tile_to_shape(swizzle<3,3,3> ∘ (8,64):(64,1), (64,128))",
        "recast(swizzle<3,3,3> ∘ (8,64):(64,1), 16, 8)",
        "upcast(swizzle<3,3,3> ∘ (8,64):(64,1), 8)",
        "downcast(swizzle<3,3,3> ∘ (8,64):(64,1), 4)",
        "{ [c] -> [i = 2c] : 0 <= c < 8 } ∘ { [x] -> [y = x + 1] : 0 <= x < 5 }",
        "compose({ [c] -> [i = 2c] : 0 <= c < 64 }, 8:2)",
        "complement({ [c] -> [i = 2c] : 0 <= c < 4 }, 12)",
        "right_inverse({ [c] -> [i = c mod 4] : 0 <= c < 8 })",
        "is_injective({ [c] -> [i = c mod 4] : 0 <= c < 8 })",
        "size({ [c] -> [i = c mod 4] : 0 <= c < 8 })",
        "image({ [c] -> [i = 2c] : 0 <= c < 8 })",
        "domain({ [c] -> [i = 2c] : 0 <= c < 8 })",
        "range(4:3)",
        "{ [c] -> [i = 2c] : 0 <= c < 8 } + { [c] -> [i = 3c] : 0 <= c < 8 }",
        "{ [c] -> [i = 2c] : 0 <= c < 8 } ∩ { [c] -> [i = 3c] : 0 <= c < 8 }",
        "linear(8:1) ∘ linear(8:1)",
        "linear({ [c] -> [i] : i = c and 0 <= c < 16 }) == linear(16:1)",
    ];
    let says =
        |expression: &&str| eval_expr(expression).map_or_else(|error| error.to_string(), |v| v.to_string());
    let answers: Vec<String> = expressions.iter().map(says).collect();
    expect![[r#"
        swizzle<3, 3, 3> ∘ ((8,8),(16,4)):((64,512),(1,16))
        swizzle<3, 3, 3> ∘ ((8,16),(8,4)):((64,1),(512,16))
        swizzle<3, 3, 3> ∘ ((8,64),6):((64,1),512)
        swizzle<3, 3, 3> ∘ ((8,2),(64,2)):((64,512),(1,1024))
        swizzle<3, 3, 3> ∘ (64,(64,2)):(64,(1,4096))
        swizzle<3, 4, 3> ∘ (8,128):(128,1)
        swizzle<3, 0, 3> ∘ (8,8):(8,1)
        swizzle<3, 5, 3> ∘ (8,256):(256,1)
        { [x] -> [i] : 0 <= x < 5 and i = 2*(x + 1) and 0 <= x + 1 < 8 }
        { [c] -> [i] : 0 <= c < 8 and i = 2*(2*c) and 0 <= 2*c < 64 }
        { [i] : exists (k : 0 <= k < 4 and i = 1 + 2*k); [i] : 8 <= i <= 11 }
        { [i] -> [c] : exists (k : 0 <= k < 4 and i = k and c = k) }
        false
        8
        { [i] : exists (c : i = 2*c and 0 <= c < 8) }
        { [c] : 0 <= c < 8 }
        { [i] : exists (c : 0 <= c < 4 and i = 3*c) }
        { [c] -> [i] : i = 2*c and 0 <= c < 8; [c] -> [i] : i = 3*c and 0 <= c < 8 }
        { [c] -> [i] : i = 2*c and 0 <= c < 8 and i = 3*c and 0 <= c < 8 }
        linear((m0: [1, 2, 4]), (index: 8))
        true
    "#]]
    .assert_eq(&(answers.join("\n") + "\n"));
}
