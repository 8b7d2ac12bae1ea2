//! Compares the layout algebra with that of the original Hexcute implementation, row by row. Answers are compared as functions,
//! because that implementation chooses strides of modes of size 1 arbitrarily. In a few cases our answer is better; the tests
//! say why.

use hx_layout::{IntTuple, Layout, LayoutError, Tiler, equal_function};

fn l(text: &str) -> Layout {
    Layout::literal(text)
}

#[track_caller]
fn same(found: Result<Layout, LayoutError>, want: &str) {
    let found = found.unwrap_or_else(|error| panic!("{want} was wanted: {error}"));
    assert!(equal_function(&found, &l(want)), "{found} where {want} was expected");
}

/// Checks a tile and a rest as functions.
#[track_caller]
fn same_halves(found: Result<Layout, LayoutError>, want: [&str; 2]) {
    let found = found.unwrap_or_else(|error| panic!("{want:?} was wanted: {error}"));
    assert_eq!(found.rank(), 2, "{found}");
    same(Ok(found.mode(0)), want[0]);
    same(Ok(found.mode(1)), want[1]);
}

#[test]
fn coalesce() {
    for (a, want) in [
        ("(2,4,6):(1,2,8)", "48:1"),
        ("(2,1,6):(1,7,2)", "12:1"),
        ("(2,1,3):(2,4,4)", "6:2"),
        ("((2,2),(2,2)):((1,4),(8,32))", "(2,4,2):(1,4,32)"),
        ("(2,1,6):(1,6,2)", "12:1"),
        ("(2,1,6):(1,7,8)", "(2,6):(1,8)"),
        ("(2,1,3):(2,0,4)", "6:2"),
        ("(2,4):(1,2)", "8:1"),
    ] {
        // The fewest modes of a function are unique, so here texts are compared.
        assert_eq!(l(a).coalesce().to_string(), want, "{a}");
    }
}

#[test]
fn composition() {
    for (a, b, want) in [
        ("4:2", "4:1", "4:2"),
        ("4:2", "2:2", "2:4"),
        ("12:2", "(4,3):(3,1)", "(4,3):(6,2)"),
        ("12:1", "(2,3):(2,4)", "(2,3):(2,4)"),
        ("(4,3):(1,4)", "(6,2):(2,1)", "(6,2):(2,1)"),
        ("(4,3):(3,1)", "12:1", "(4,3):(3,1)"),
        ("(4,3):(3,1)", "6:2", "(2,3):(6,1)"),
        ("(4,3):(3,1)", "(6,2):(2,1)", "((2,3),2):((6,1),3)"),
        ("(8,8):(8,1)", "((2,2,2),(2,2,2)):((1,16,4),(8,2,32))", "((2,2,2),(2,2,2)):((8,2,32),(1,16,4))"),
        ("(4,2):(1,16)", "(4,2):(2,1)", "((2,2),2):((2,16),1)"),
        ("(2,2):(2,1)", "(2,2):(2,1)", "(2,2):(1,2)"),
        ("(4,8,2):(2,8,1)", "(2,2,2):(1,8,2)", "(2,2,2):(2,16,4)"),
        ("(4,8,2):(2,8,1)", "(4,2,2):(2,8,1)", "(4,2,2):(4,16,2)"),
        ("(4,3):(3,1)", "8:1", "(4,2):(3,1)"),
        ("(4,3,1):(3,1,0)", "24:1", "(4,3,2):(3,1,0)"),
    ] {
        same(l(a).compose(&l(b)), want);
    }
}

/// The original refuses a composition if neither of 48 and 32 divides the other. The first 32 coordinates never leave the first
/// mode, so the composition is a layout nevertheless. If the composition is not a layout, ours refuses it as well.
#[test]
fn composition_is_refused_only_where_no_layout_is_it() {
    let a = l("(48,24,5):(1,128,3072)");
    same(a.compose(&l("32:1")), "32:1");
    assert!((0..32).all(|c| a.eval(c) == c));
    // Past 48 the index jumps to 128, and 48 does not divide 64.
    assert_eq!((a.eval(47), a.eval(48)), (47, 128));
    assert!(matches!(a.compose(&l("64:1")), Err(LayoutError::NotALayout { .. })));
}

#[test]
fn complement() {
    for (a, cotarget, want) in [
        ("4:1", 8, "2:4"),
        ("4:4", 17, "(4,2):(1,16)"),
        ("(2,4,8):(8,1,64)", 460, "(2,4):(4,16)"),
        ("(2,4,8):(8,1,0)", 460, "(2,29):(4,16)"),
        ("((2,2),(2,2)):((1,32),(8,4))", 46, "(2,2):(2,16)"),
        ("(4,2):(1,16)", 20, "4:4"),
        ("12:1", 128, "11:12"),
        ("12:2", 128, "(2,6):(1,24)"),
        ("4:2", 16, "(2,2):(1,8)"),
        ("(2,4):(1,4)", 14, "2:2"),
        ("(2,4,8):(8,1,0)", 12, "2:4"),
        ("((2,2),(2,2)):((1,4),(8,32))", 46, "(2,2):(2,16)"),
        ("12:1", 53, "5:12"),
        ("12:2", 53, "(2,3):(1,24)"),
        ("(3,6):(1,9)", 48, "3:3"),
        ("4:0", 8, "8:1"),
    ] {
        same(l(a).complement(cotarget), want);
    }
}

/// The original answers `2:4` and `3:3` here. These are not complements: the sums of indices and starts do not reach every
/// integer. No layout is a complement here. A complement must start a copy at each integer that no earlier copy reaches, because
/// nothing else can reach it. In both cases such a copy reaches an integer twice. A divide by such a tile would leave elements
/// out; ours refuses and says why.
#[test]
fn complement_is_refused_where_there_is_none() {
    for (a, cotarget, of_the_original, left_out, collision) in
        [("(4,2):(1,10)", 14, "2:4", vec![8, 9], (8, 10)), ("(3,6):(1,10)", 53, "3:3", vec![9, 19], (9, 10))]
    {
        let a = l(a);
        let error = a.complement(cotarget).expect_err("there is none");
        assert!(matches!(error, LayoutError::NoComplement { .. }), "{error}");
        let starts = l(of_the_original);
        let sums: Vec<i64> = starts.table().flat_map(|start| a.table().map(move |x| x + start)).collect();
        assert!(left_out.iter().all(|x| !sums.contains(x)), "{a}");
        assert_eq!(forced_collision(&a), Some(collision), "{a}");
    }
}

/// Returns the first start that a complement must have and whose copy reaches a sum a second time, with that sum.
fn forced_collision(a: &Layout) -> Option<(i64, i64)> {
    let mut reached = std::collections::BTreeSet::new();
    for start in 0..a.cosize() {
        if reached.contains(&start) {
            continue;
        }
        if let Some(twice) = a.table().map(|x| x + start).find(|sum| !reached.insert(*sum)) {
            return Some((start, twice));
        }
    }
    None
}

#[test]
fn left_inverse() {
    for (a, want) in [
        ("4:2", "(2,4):(4,1)"),
        ("(8,4):(4,1)", "(4,8):(8,1)"),
        ("(2,4,6):(4,1,8)", "(4,2,6):(2,1,8)"),
        ("(4,2):(1,16)", "(4,4,2):(1,8,4)"),
        ("(8,4):(1,8)", "32:1"),
    ] {
        same(l(a).left_inverse(), want);
    }
}

#[test]
fn right_inverse() {
    for (a, want) in [
        ("(8,4):(4,1)", "(4,8):(8,1)"),
        ("(2,4,6):(4,1,8)", "(4,2,6):(2,1,8)"),
        ("(4,2):(1,16)", "4:1"),
        ("(4,2):(1,5)", "4:1"),
        ("(4,2):(1,4)", "8:1"),
        ("4:2", "1:0"),
        ("(3,7):(0,0)", "1:0"),
    ] {
        same(Ok(l(a).right_inverse()), want);
    }
}

/// A stride of 0 stops the original's inverse at `1:0`. Ours agrees with the original's variant that skips such strides.
#[test]
fn right_inverse_passes_over_strides_of_0() {
    let a = l("(2,4,4,6):(4,1,0,8)");
    let inverse = a.right_inverse();
    same(Ok(inverse.clone()), "(4,2,6):(2,1,32)");
    assert!((0..48).all(|i| a.eval(inverse.eval(i)) == i));
}

#[test]
fn logical_divide() {
    for (a, tile, want) in [
        ("(4,8):(1,4)", "4:2", ["4:2", "(2,4):(1,8)"]),
        ("24:1", "4:2", ["4:2", "(2,3):(1,8)"]),
        ("(4,2,3):(2,1,8)", "4:2", ["(2,2):(4,1)", "(2,3):(2,8)"]),
    ] {
        same_halves(l(a).logical_divide(&Tiler::Layout(l(tile))), want);
    }
}

#[test]
fn logical_product() {
    for (a, copies, want) in [
        ("(2,2):(4,1)", "6:1", ["(2,2):(4,1)", "(2,3):(2,8)"]),
        ("4:1", "3:2", ["4:1", "3:8"]),
        ("(2,5):(5,1)", "(3,4):(1,3)", ["(2,5):(5,1)", "(3,4):(10,30)"]),
    ] {
        same_halves(l(a).logical_product(&Tiler::Layout(l(copies))), want);
    }
}

/// Grouping `n` elements is a divide by the first `n` coordinates.
#[test]
fn groups_of_elements() {
    let group = |a: &str, n: i64| l(a).logical_divide(&Tiler::extent(n).unwrap());
    same_halves(group("(4,8):(32,1)", 8), ["(4,2):(32,1)", "4:2"]);
    same_halves(group("(12,2):(1,12)", 4), ["4:1", "(3,2):(4,12)"]);
    same_halves(group("(6,4):(1,6)", 12), ["(6,2):(1,6)", "2:12"]);
    // The original cannot split this layout, because 4 does not divide 6. Both modes form one run of 24.
    same_halves(group("(6,4):(1,6)", 4), ["4:1", "6:4"]);
    // If the run ends at 6, there is no split.
    assert!(group("(6,4):(1,7)", 4).is_err());
    // First two coordinates, which are one element; then two elements, each of which has two coordinates.
    let repeated = l("((2,2),8):((0,1),2)");
    same_halves(group("((2,2),8):((0,1),2)", 2), ["2:0", "(2,8):(1,2)"]);
    let coordinates = 2 * repeated.nullspace().size();
    same_halves(group("((2,2),8):((0,1),2)", coordinates), ["(2,2):(0,1)", "8:2"]);
}

/// Two shapes of the same coordinates have a common refinement. Composing both layouts with it gives them the same modes.
#[test]
fn common_shape() {
    let shape: IntTuple = "(4,4,2,2,4)".parse().unwrap();
    let refined = Layout::column_major(shape).unwrap();
    for (a, want) in [
        ("(4,8,8):(1,16,256)", "(4,4,2,2,4):(1,16,64,256,512)"),
        ("(16,4,4):(1,32,512)", "(4,4,2,2,4):(1,4,32,64,512)"),
    ] {
        assert_eq!(l(a).compose(&refined).unwrap().to_string(), want, "{a}");
    }
}

#[test]
fn longest_common_vector() {
    for (a, b, want) in [
        ("(8,16):(1,8)", "(8,16):(1,8)", 128),
        ("(8,16):(1,8)", "(8,16):(1,16)", 8),
        ("(4,4):(1,8)", "(4,4):(1,4)", 4),
        ("(2,8):(8,1)", "(8,2):(1,8)", 1),
    ] {
        assert_eq!(l(a).max_common_vector(&l(b)), Ok(want), "{a} {b}");
    }
}

/// Returns the row and column of an index in a column-major tile of `rows` rows.
fn place(index: i64, rows: i64) -> (i64, i64) {
    (index % rows, index / rows)
}

/// `q` is the register layout after a matrix load; `g` is a thread-value layout over 16×32, which says where the tile's elements
/// come from.
#[test]
fn matrix_load_of_the_paper() {
    let q = l("((4,8),(2,4)):((64,1),(32,8))");
    same(q.left_inverse(), "((8,4),(2,4)):((4,64),(32,1))");
    let g = l("((4,8),(2,2,2)):((32,1),(16,8,256))");
    let through = g.compose(&q.left_inverse().unwrap()).unwrap();
    same(Ok(through.clone()), "((8,2,2),(2,4)):((1,8,256),(16,32))");
    // Row 17 and column 5 of the 32×8 elements that one instruction moves.
    let index = through.eval(17 + 32 * 5);
    assert_eq!((index, place(index, 16)), (337, (1, 21)));
}

#[test]
fn thread_value_layout_and_memory_of_the_paper() {
    let f = l("((2,4),(2,2)):((8,1),(4,16))");
    let held = f.eval_coord(&"(2,3)".parse().unwrap()).unwrap();
    assert_eq!((held, place(held, 4)), (21, (1, 5)));
    let memory = l("((2,2),8):((1,16),2)");
    assert_eq!(memory.eval_coord(&"(2,4)".parse().unwrap()), Ok(24));
}

/// Tests the bits that a swizzle reads, the bits that it changes, and the images of some numbers.
#[test]
fn swizzles() {
    let swizzle = |bits, base, shift| hx_layout::Swizzle::new(bits, base, shift).unwrap();
    assert_eq!(swizzle(3, 3, 3).source_mask(), 0b111_000_000);
    assert_eq!(swizzle(3, 3, 3).target_mask(), 0b111_000);
    for (of, pairs) in [
        (swizzle(3, 3, 3), &[(64, 72), (72, 64), (128, 144), (200, 208), (511, 455), (1000, 976)][..]),
        (swizzle(2, 3, 3), &[(511, 487), (1000, 1008)]),
        (swizzle(1, 3, 3), &[(128, 128), (200, 192)]),
        (swizzle(3, 4, 3), &[(64, 64), (200, 216), (1000, 920)]),
        (swizzle(2, 3, 5), &[(511, 503)]),
    ] {
        for &(x, want) in pairs {
            assert_eq!(of.apply(x), want, "{of} at {x}");
        }
    }
}
