//! Drawn layouts, swizzles, relations and equations against the evaluator of its own. Each case is drawn from a seed, and a failure
//! names it.

use std::collections::BTreeSet;

use hx_layout::{Layout, eval_expr};

use crate::evaluator::{
    Bits, Draw, Points, Table, after, answer, holds, points, starts, strided, swizzled, text, tiles,
};

type Modes = Vec<(i64, i64)>;

/// The number of cases of each test.
const CASES: u64 = 400;

/// Draws a swizzle of up to 2 bits.
fn swizzle(draw: &mut Draw) -> Bits {
    let bits = draw.below(3) as u32;
    let distance = bits as i64 + draw.below(3);
    let shift = if draw.below(3) == 0 { -distance } else { distance };
    (bits, draw.below(3) as u32, shift as i32)
}

/// Draws a layout of two modes, compact in either order, most often without a gap between the modes.
fn modes(draw: &mut Draw, extents: &[i64]) -> Modes {
    let (m, n) = (draw.of(extents), draw.of(extents));
    let gap = draw.of(&[1, 1, 1, 2, 3]);
    match draw.below(2) {
        0 => vec![(m, 1), (n, m * gap)],
        _ => vec![(m, n * gap), (n, 1)],
    }
}

fn swizzle_text((bits, base, shift): Bits, offset: i64, modes: &[(i64, i64)]) -> String {
    format!("swizzle<{bits},{base},{shift}> ∘ {offset} ∘ {}", text(modes))
}

fn table(bits: Bits, offset: i64, modes: &[(i64, i64)]) -> Table {
    strided(modes).into_iter().map(|v| swizzled(bits, v + offset)).collect()
}

#[test]
fn divides_of_swizzled_layouts() {
    let mut divided = 0;
    for seed in 0..CASES {
        let mut draw = Draw::new(seed);
        let (bits, offset) = (swizzle(&mut draw), draw.below(3) * 8);
        let a = modes(&mut draw, &[2, 4, 6, 8]);
        let tile = [(draw.of(&[2, 4, 8]), draw.of(&[1, 1, 2, 3]))];
        let expression = format!("divide({}, {}:{})", swizzle_text(bits, offset, &a), tile[0].0, tile[0].1);
        let whole = table(bits, offset, &a);
        let Ok(got) = answer(&expression) else { continue };
        let places = tiles(&strided(&tile), whole.len() as i64).expect("the library found a rest");
        // A tile that does not divide the size runs past the end, which has no definition here.
        if places.iter().any(|&c| c >= whole.len() as i64) || places.len() != whole.len() {
            continue;
        }
        let want: Table = places.into_iter().map(|c| whole[c as usize]).collect();
        assert_eq!(got.table, want, "seed {seed}: {expression}");
        divided += 1;
    }
    assert!(divided > CASES / 3, "{divided}");
}

#[test]
fn products_of_swizzled_layouts() {
    let (mut repeated, mut refused) = (0, 0);
    for seed in 0..CASES {
        let mut draw = Draw::new(seed + 10_000);
        let (bits, offset) = (swizzle(&mut draw), draw.below(2) * 64);
        let a = modes(&mut draw, &[2, 4, 8, 16]);
        let (rows, columns) = (draw.of(&[1, 2, 3]), draw.of(&[1, 2, 4]));
        let b = [(rows, columns), (columns, 1)];
        let written = swizzle_text(bits, offset, &a);
        let expression = format!("blocked_product({written}, {})", text(&b));
        let Some(begin) = starts(&strided(&a), (rows * columns) as usize) else { continue };
        let atom = table(bits, offset, &a);
        let got = match answer(&expression) {
            Ok(got) => got,
            // The drawn copies are not at equal steps.
            Err(error) if error.contains("is not a layout") => continue,
            Err(error) => {
                // Refused: the swizzle does not act on some copy as on the atom, or it would not for another start.
                let period = 1i64 << (bits.0 + bits.1 + bits.2.unsigned_abs());
                assert!(begin.iter().any(|start| start % period != 0), "seed {seed}: {expression}: {error}");
                refused += 1;
                continue;
            }
        };
        let (m, n) = (a[0].0, a[1].0);
        let value = |i: i64, j: i64| {
            atom[(i % m + m * (j % n)) as usize] + begin[((i / m) * columns + j / n) as usize]
        };
        let places = (0..n * columns).flat_map(|j| (0..m * rows).map(move |i| (i, j)));
        let want: Table = places.map(|(i, j)| value(i, j)).collect();
        assert_eq!(got.table, want, "seed {seed}: {expression}");
        assert_eq!(got.sizes, [m * rows, n * columns], "seed {seed}: {expression}");
        let shaped = format!("tile_to_shape({written}, ({}, {}), (2, 1))", m * rows, n * columns);
        assert_eq!(answer(&shaped).map(|got| got.table), Ok(want), "seed {seed}: {shaped}");
        repeated += 1;
    }
    assert!(repeated > CASES / 4 && refused > CASES / 20, "{repeated} {refused}");
}

#[test]
fn recasts_of_swizzled_layouts() {
    let (mut recast, mut refused) = (0, 0);
    for seed in 0..CASES {
        let mut draw = Draw::new(seed + 20_000);
        let (bits, n) = (swizzle(&mut draw), draw.of(&[2, 4]));
        let (rows, columns) = (draw.of(&[1, 2, 3, 8]), draw.of(&[4, 8, 16]));
        let (a, offset) = ([(rows, columns), (columns, 1)], draw.of(&[0, 0, 4, 16, 3]));
        let written = swizzle_text(bits, offset, &a);
        let narrow = table(bits, offset, &a);
        let at = |i: i64, j: i64| narrow[(i + rows * j) as usize];
        let cells = |columns: i64| (0..columns).flat_map(move |j| (0..rows).map(move |i| (i, j)));
        let finer: Table = cells(n * columns).map(|(i, j)| n * at(i, j / n) + j % n).collect();
        let down = format!("downcast({written}, {n})");
        assert_eq!(answer(&down).map(|got| got.table), Ok(finer), "seed {seed}: {down}");
        let up = format!("upcast({written}, {n})");
        let whole =
            |i: i64, j: i64| at(i, n * j) % n == 0 && (1..n).all(|h| at(i, n * j + h) == at(i, n * j) + h);
        match answer(&up) {
            Ok(got) => {
                assert!(cells(columns / n).all(|(i, j)| whole(i, j)), "seed {seed}: {up}");
                let wide: Table = cells(columns / n).map(|(i, j)| at(i, n * j) / n).collect();
                assert_eq!(got.table, wide, "seed {seed}: {up}");
                recast += 1;
            }
            Err(error) => {
                let inside = bits.0 > 0 && 1i64 << bits.1 < n;
                assert!(inside || offset % n != 0, "seed {seed}: {up}: {error}");
                refused += 1;
            }
        }
    }
    assert!(recast > CASES / 3 && refused > CASES / 20, "{recast} {refused}");
}

/// A drawn relation: its text and its points.
struct Drawn {
    text: String,
    points: Points,
}

/// Draws a relation of one input and one output, a union of one or two functions, one of which may have several values.
fn relation(draw: &mut Draw) -> Drawn {
    let (mut texts, mut points) = (Vec::new(), Points::new());
    for _ in 0..=draw.below(2) {
        let (low, size, modulus) = (draw.below(3), 2 + draw.below(8), 2 + draw.below(9));
        let (factor, offset) = (draw.below(5), draw.below(4));
        let more = draw.below(4) / 3;
        texts.push(format!(
            "[x] -> [y] : exists (e : {low} <= x < {} and 0 <= e <= {more} and y = ({factor}*x + {offset}) mod {modulus} + e)",
            low + size
        ));
        for x in low..low + size {
            points.extend((0..=more).map(|e| vec![x, (factor * x + offset) % modulus + e]));
        }
    }
    Drawn { text: format!("{{ {} }}", texts.join("; ")), points }
}

#[test]
fn relations() {
    for seed in 0..CASES {
        let mut draw = Draw::new(seed + 30_000);
        let (a, b) = (relation(&mut draw), relation(&mut draw));
        let check = |expression: String, want: Points| {
            assert_eq!(points(&expression), Ok(want), "seed {seed}: {expression}");
        };
        let (first, second) = (&a.text, &b.text);
        check(format!("{second} ∘ {first}"), after((&b.points, 1), (&a.points, 1)));
        check(format!("{first} ∪ {second}"), a.points.union(&b.points).cloned().collect());
        check(format!("{first} ∩ {second}"), a.points.intersection(&b.points).cloned().collect());
        let column = |i: usize| a.points.iter().map(|p| vec![p[i]]).collect::<Points>();
        check(format!("domain({first})"), column(0));
        check(format!("image({first})"), column(1));
        check(format!("inverse({first})"), a.points.iter().map(|p| vec![p[1], p[0]]).collect());
        let size = 12 + draw.below(4);
        let left = (0..size).map(|i| vec![i]).filter(|point| !column(1).contains(point));
        check(format!("complement({first}, {size})"), left.collect());
        let says = |expression: String| eval_expr(&expression).map(|value| value.to_string());
        assert_eq!(says(format!("size({first})")), Ok(a.points.len().to_string()), "seed {seed}");
        let injective = column(1).len() == a.points.len();
        assert_eq!(says(format!("is_injective({first})")), Ok(injective.to_string()), "seed {seed}: {first}");
        let is_function = column(0).len() == a.points.len();
        let least = |y: &Vec<i64>| a.points.iter().filter(|p| p[1] == y[0]).map(|p| p[0]).min();
        match points(&format!("right_inverse({first})")) {
            Ok(found) => {
                let want = column(1).iter().filter_map(|y| Some(vec![y[0], least(y)?])).collect::<Points>();
                assert!(is_function, "seed {seed}: {first}");
                assert_eq!(found, want, "seed {seed}: {first}");
            }
            Err(error) => assert!(!is_function, "seed {seed}: {first}: {error}"),
        }
        assert_eq!(points(&format!("left_inverse({first})")).is_ok(), injective, "seed {seed}: {first}");
    }
}

#[test]
fn linear_layouts_by_position() {
    for seed in 0..CASES {
        let mut draw = Draw::new(seed + 40_000);
        let mut bases = |count: usize| (0..count).map(|_| (draw.below(4), draw.below(8))).collect::<Vec<_>>();
        let (first, rows, columns) = (bases(4), bases(2), bases(3));
        let list = |bases: &[(i64, i64)]| {
            bases.iter().map(|(row, col)| format!("({row}, {col})")).collect::<Vec<_>>().join(", ")
        };
        let xor = |bases: &[(i64, i64)], x: i64| {
            let set = bases.iter().enumerate().filter(|(b, _)| (x >> b) & 1 == 1);
            set.fold((0, 0), |all, (_, v)| (all.0 ^ v.0, all.1 ^ v.1))
        };
        let inner = format!("linear((lane: [{}]), (row: 4, col: 8))", list(&first));
        let outer = format!("linear((y: [{}], x: [{}]), (i: 4, j: 8))", list(&rows), list(&columns));
        let at = |x: i64| {
            let (row, col) = xor(&first, x);
            let (a, b) = (xor(&rows, row), xor(&columns, col));
            (a.0 ^ b.0) + 4 * (a.1 ^ b.1)
        };
        let want = (0..16).map(|x| at(x).to_string()).collect::<Vec<_>>().join(", ");
        let expression = format!("table({outer} ∘ {inner})");
        let got = eval_expr(&expression).map(|value| value.to_string());
        assert_eq!(got, Ok(format!("({want})")), "seed {seed}: {expression}");
        let renamed = inner.replace("lane", "thread").replace("row", "m");
        let same = eval_expr(&format!("{inner} == {renamed}")).map(|value| value.to_string());
        assert_eq!(same.as_deref(), Ok("true"), "seed {seed}: {inner}");
    }
}

/// A monomial `factor * M^m * N^n` as its three numbers.
type Monomial = (i64, u32, u32);

fn written((factor, m, n): Monomial) -> String {
    let names = std::iter::repeat_n("M", m as usize).chain(std::iter::repeat_n("N", n as usize));
    std::iter::once(factor.to_string()).chain(names.map(String::from)).collect::<Vec<_>>().join("*")
}

fn times(a: Monomial, b: Monomial) -> Monomial {
    (a.0 * b.0, a.1 + b.1, a.2 + b.2)
}

fn named(modes: &[(Monomial, Monomial)]) -> String {
    let list = |part: fn(&(Monomial, Monomial)) -> Monomial| {
        modes.iter().map(|mode| written(part(mode))).collect::<Vec<_>>().join(",") + ","
    };
    format!("({}):({})", list(|mode| mode.0), list(|mode| mode.1))
}

fn numbers(modes: &[(Monomial, Monomial)], m: i64, n: i64) -> Modes {
    let value = |(factor, a, b): Monomial| factor * m.pow(a) * n.pow(b);
    modes.iter().map(|&(extent, stride)| (value(extent), value(stride))).collect()
}

/// A function with its operands and the layout that it is compared with; the second operand of a complement is its size.
struct Equated {
    function: &'static str,
    a: Vec<(Monomial, Monomial)>,
    b: Vec<(Monomial, Monomial)>,
    want: Vec<(Monomial, Monomial)>,
}

/// Draws a divide, product or complement and its result, in one case of four with a wrong stride.
fn equated(draw: &mut Draw) -> Equated {
    let extent = |draw: &mut Draw| draw.of(&[(1, 1, 0), (1, 0, 1), (2, 1, 0), (2, 0, 0), (3, 0, 0)]);
    let one: Monomial = (1, 0, 0);
    let (p, q, count) = (extent(draw), extent(draw), extent(draw));
    // Between the modes is a gap of this many steps.
    let gap = draw.of(&[one, one, (2, 0, 0), (1, 1, 0)]);
    let spaced = vec![(p, one), (q, times(p, gap))];
    let filled = times(times(p, gap), q);
    let (function, a, b, mut want) = match draw.below(6) {
        0 => ("divide", vec![(filled, one)], vec![(p, gap)], vec![(p, gap), (gap, one), (q, times(p, gap))]),
        1 => ("divide", vec![(p, q), (q, one)], vec![(p, one)], vec![(p, q), (q, one)]),
        2 => (
            "product",
            vec![(p, q), (q, one)],
            vec![(count, one)],
            vec![(p, q), (q, one), (count, times(p, q))],
        ),
        3 => {
            let copies = [(gap, p), (count, filled)];
            ("product", spaced.clone(), vec![(times(gap, count), one)], [spaced, copies.to_vec()].concat())
        }
        4 => ("complement", spaced, vec![(times(filled, count), one)], vec![(gap, p), (count, filled)]),
        _ => ("complement", vec![(p, gap)], Vec::new(), vec![(gap, one)]),
    };
    if draw.below(4) == 0 {
        want[0].1 = times(want[0].1, (2, 0, 0));
    }
    Equated { function, a, b, want }
}

impl Equated {
    fn equation(&self) -> String {
        let second = match (self.function, self.b.as_slice()) {
            (_, []) => String::new(),
            ("complement", [size]) => format!(", {}", written(size.0)),
            (_, b) => format!(", {}", named(b)),
        };
        format!("{}({}{second}) == {}", self.function, named(&self.a), named(&self.want))
    }

    /// Returns the function by definition; `None` if these numbers have none.
    fn defined(&self, m: i64, n: i64) -> Option<Table> {
        let (own, b) = (strided(&numbers(&self.a, m, n)), numbers(&self.b, m, n));
        match (self.function, b.as_slice()) {
            ("divide", _) => {
                let places =
                    tiles(&strided(&b), own.len() as i64).filter(|places| places.len() == own.len())?;
                Some(places.into_iter().map(|c| own[c as usize]).collect())
            }
            ("product", _) => {
                let copies = strided(&b);
                let begin = starts(&own, *copies.iter().max()? as usize + 1)?;
                let copy = |&c: &i64| own.iter().map(|v| v + begin[c as usize]).collect::<Vec<_>>();
                Some(copies.iter().flat_map(copy).collect())
            }
            // Up to a multiple of what `a` fills.
            (_, [size]) => starts(&own, size.0 as usize / own.len()),
            // Up to the cosize: one copy for each step between two values.
            _ => starts(&own, if own.len() == 1 { 1 } else { own[1] as usize }),
        }
    }
}

/// Equations that hold for all values agree by definition for small ones, and those that the definition refutes do not hold.
#[test]
fn equations_with_names() {
    let (mut proven, mut refuted) = (0, 0);
    for seed in 0..CASES {
        let equated = equated(&mut Draw::new(seed + 50_000));
        let equation = equated.equation();
        if !equation.contains(['M', 'N']) {
            continue;
        }
        let mut values = (1..5).flat_map(|m| (1..5).map(move |n| (m, n)));
        let differs = values.any(|(m, n)| {
            equated.defined(m, n).is_some_and(|left| left != strided(&numbers(&equated.want, m, n)))
        });
        match holds(&equation) {
            true => {
                assert!(!differs, "seed {seed}: {equation}");
                proven += 1;
            }
            false => refuted += u64::from(differs),
        }
    }
    assert!(proven > CASES / 4 && refuted > CASES / 8, "{proven} {refuted}");
}

#[test]
fn inverses_keep_the_profile() {
    let mut profiled = 0;
    for seed in 0..CASES {
        let mut draw = Draw::new(seed + 60_000);
        let extents: Vec<i64> = (0..4).map(|_| draw.of(&[1, 2, 3, 4, 8])).collect();
        let mut order = vec![0, 1, 2, 3];
        (1..4).rev().for_each(|i| order.swap(i, draw.below(i as i64 + 1) as usize));
        let mut strides = [0; 4];
        let mut unit = 1;
        for i in order {
            strides[i] = unit;
            unit *= extents[i];
        }
        let nested = |part: &[i64]| format!("(({},{}),({},{}))", part[0], part[1], part[2], part[3]);
        let q = format!("{}:{}", nested(&extents), nested(&strides));
        let got =
            answer(&format!("inverse({q})")).unwrap_or_else(|error| panic!("seed {seed}: {q}: {error}"));
        let values = strided(&extents.iter().copied().zip(strides).collect::<Vec<_>>());
        let mut want = vec![0; values.len()];
        values.iter().enumerate().for_each(|(c, &v)| want[v as usize] = c as i64);
        assert_eq!(got.table, want, "seed {seed}: {q}");
        // The sizes are those of `q` if a prefix of the modes in order of stride makes the first.
        let sizes = [extents[0] * extents[1], extents[2] * extents[3]];
        let mut by_stride: Modes = strides.iter().copied().zip(extents.iter().copied()).collect();
        by_stride.retain(|mode| mode.1 > 1);
        by_stride.sort_unstable();
        let prefix = by_stride.iter().scan(1, |size, mode| {
            *size *= mode.1;
            Some(*size)
        });
        if sizes[0] == 1 || prefix.collect::<BTreeSet<_>>().contains(&sizes[0]) {
            assert_eq!(got.sizes, sizes, "seed {seed}: {q}");
            profiled += 1;
        }
        let layout: Layout = q.parse().expect("a layout");
        assert_eq!(
            layout.inverse().map(|inverse| inverse.to_string()),
            eval_expr(&format!("inverse({q})")).map(|v| v.to_string()).map_err(|_| unreachable!())
        );
    }
    assert!(profiled > CASES / 4, "{profiled}");
}
