//! Tests of layout values of the host, and of closures over slices.

use expect_test::expect;
use hx_hir::{Builtin, builtins};
use hx_layout::expr::FUNCTIONS;

use super::evaluation::check_main;

#[test]
fn layouts_are_computed_with() {
    check_main(
        r#"
        let a = (4, (2, 4)) : (8, (1, 2));
        print(a, a.shape, a.stride, a.size, a.rank, cosize(a), size(a));
        print(compose((4, 8) : (8, 1), 8 : 2), (4, 8) : (8, 1) ∘ (2, 2) : (1, 4), compose(a, (2, _)));
        print(complement(4 : 2, 32), complement(4 : 2, size: 24), coalesce((2, 4) : (1, 2)), coalesce(a, by: (1, 1)));
        print(inverse((2, 4) : (4, 1)), right_inverse(a), left_inverse(4 : 2));
        print(divide(16 : 1, 4 : 2), product(4 : 1, by: 2 : 1), zipped_divide((8, 8) : (8, 1), (2, 4)));
        let s = swizzle<3, 3, 3> ∘ (8, 64) : (64, 1);
        print(s, s((1, 0)), a(5), a((1, _)), swizzle<3, 3, 3>(64));
        print((warp: 4, lane: 8) : (32, 1), coalesce((warp: 4, lane: 8) : (8, 1)));
        print((2, 4) : (1, 2) == 8 : 1, a == a ∘ 32 : 1, 4 : 1 != 4 : 2, row_major((2, 3)), table(4 : 2));
        print(crd2idx((2, 3), (1, 2)), idx2crd((2, 3), 5), mode(a, 1), to_layout(linear((2, 4) : (4, 1))));
        "#,
        expect![[r#"
            (4,(2,4)):(8,(1,2)) (4, (2, 4)) (8, (1, 2)) 32 2 32 32
            (2,4):(16,1) (2,2):(8,1) (2,(2,4)):(8,(1,2))
            (2,4):(1,8) (2,3):(1,8) 8:1 (4,8):(8,1)
            (4,2):(2,1) (8,4):(4,1) (2,4):(4,1)
            (4,(2,2)):(2,(1,8)) (4,2):(1,4) ((2,4),(4,2)):((8,1),(16,4))
            swizzle<3, 3, 3> ∘ (8,64):(64,1) 72 9 (((2,4),):((1,2),), 8) 72
            (warp: 4, lane: 8):(32,1) (warp: 4, lane: 8):(8,1)
            true true true (2,3):(3,1) (0, 2, 4, 6)
            5 (1, 2) (2,4):(1,2) (2,4):(4,1)
        "#]],
    );
    check_main(
        "print(compose(4 : 2, (8, 2) : (1, 3)));",
        expect![[r#"
        (8,2):(2,6)
    "#]],
    );
    check_main(
        "print((4, 2) : 1);",
        expect![[r#"
        HX0614 at `(4, 2) : 1`: shape `(4,2)` and stride `1` differ in structure
    "#]],
    );
    check_main(
        "print(inverse(4 : 2));",
        expect![[r#"
            HX0614 at `inverse(4 : 2)`: `4:2` is not a permutation of 0..4: it reaches 0..1; `right_inverse` or `left_inverse` may do
        "#]],
    );
    check_main(
        "print(f16 ∘ 4 : 1);",
        expect![[r#"
            HX0614 at `f16 ∘ 4 : 1`: an element type is not part of a layout
        "#]],
    );
    check_main(
        "let x = 3; print(x(1));",
        expect![[r#"
            HX0614 at `x`: an integer is not a function
              help: functions and kernels are called by name
        "#]],
    );
    check_main(
        "print(swizzle<3, 3>);",
        expect![[r#"
        HX0614 at `swizzle<3, 3>`: `swizzle` takes 3 arguments, and 2 were given
    "#]],
    );
    check_main(
        "print(coalesce(4 : 1, 2, 3));",
        expect![[r#"
            HX0201 at `3`: expected 2, found 3 arguments
              `coalesce(l, by?)`
        "#]],
    );
}

#[test]
fn linear_layouts_and_relations_are_computed_with() {
    check_main(
        r#"
        let a = swizzle<1, 0, 1> ∘ (3, 8) : (8, 1);
        print(inverse(a), inverse(a) ∘ a == 24 : 1, a ∘ inverse(a) == 24 : 1, inverse(a)(a((2, 5))));
        print(inverse(swizzle<3, 3, 3> ∘ (8, 64) : (64, 1)), complement(swizzle<3, 0, 3> ∘ 8 : 1, 64));
        let l = linear((lane: [(0, 2), (0, 4), (1, 0)], register: [(0, 1)]), (row: 2, col: 8));
        print(l, l((5, 1)), to_layout(l));
        print(linear((x: [1, 3]), outs: (y: 4)), linear((x: [1, 2])), linear((4, 2) : (2, 1)));
        let r = from_isl("{ [i, j] -> [8i + j] : 0 <= i < 4 and 0 <= j < 8 }");
        print(to_layout(r), r((2, 3)), r == (4, 8) : (8, 1), inverse(r));
        print(isl((4, 2) : (2, 1)), from_isl(isl((4, 2) : (2, 1))) == (4, 2) : (2, 1));
        "#,
        expect![[r#"
            (8,3):(3,1) ∘ swizzle<1, 0, 1> true true 17
            swizzle<3, 0, -6> ∘ (64,8):(8,1) swizzle<3, 0, 3> ∘ 8:8
            linear((lane: [(0, 2), (0, 4), (1, 0)], register: [(0, 1)]), (row: 2, col: 8)) (1, 3) ((4,2),2):((4,1),2)
            linear((x: [1, 3]), (y: 4)) linear((x: [1, 2]), (index: 4)) linear((m0: [2, 4], m1: [1]), (index: 8))
            (4,8):(8,1) 19 true { [v0] -> [i, j] : v0 = 8*i + j and 0 <= i < 4 and 0 <= j < 8 }
            { [c] -> [i] : 0 <= c < 8 and i = 2*(c mod 4) + floor(c/4) } true
        "#]],
    );
    check_main(
        "print(to_layout(from_isl(\"{ [c] -> [c*c] : 0 <= c < 4 }\")));",
        expect![[r#"
            HX0614 at `to_layout(from_isl("{ [c] -> [c*c] : 0 <= c < 4 }"))`: no layout has this relation: the value at 3 is 9, and after the values before it a layout has 5
        "#]],
    );
    check_main(
        "print(linear(([1], [2]), (y: 4)));",
        expect![[r#"
            HX0614 at `linear(([1], [2]), (y: 4))`: every dimension has a name, as in `(lane: [1, 2], register: [4, 8])`
        "#]],
    );
}

#[test]
fn swizzled_layouts_are_tiled_and_relations_composed() {
    check_main(
        r#"
        let atom = swizzle<3, 3, 3> ∘ (8, 64) : (64, 1);
        print(tile_to_shape(atom, (16, 128)), tile_to_shape(atom, (16, 128), order: (2, 1)));
        print(divide(atom, 8), blocked_product(atom, (2, 2) : (1, 2)), recast(atom, 16, 8), atom.shape);
        let r = from_isl("{ [c] -> [i = 2c] : 0 <= c < 8 }");
        print(r ∘ r, image(r ∘ 4 : 1), complement(r, size: 10), is_injective(r), size(r));
        print(domain(r) == domain(8 : 1), union(r, 8 : 2) == r, intersection(r, 8 : 3), right_inverse(r));
        print(linear(8 : 1) ∘ linear(8 : 1), inverse(((4, 8), (2, 4)) : ((64, 1), (32, 8))));
        "#,
        expect![[r#"
            swizzle<3, 3, 3> ∘ (16,(64,2)):(64,(1,1024)) swizzle<3, 3, 3> ∘ ((8,2),(64,2)):((64,1024),(1,512))
            swizzle<3, 3, 3> ∘ (8,64):(64,1) swizzle<3, 3, 3> ∘ ((8,2),(64,2)):((64,512),(1,1024)) swizzle<3, 4, 3> ∘ (8,128):(128,1) (8, 64)
            { [c] -> [i] : 0 <= c < 8 and i = 2*(2*c) and 0 <= 2*c < 8 } { [i] : exists (c : 0 <= c < 4 and i = 2*c and 0 <= c < 8) } { [i] : exists (k : 0 <= k < 5 and i = 1 + 2*k) } true 8
            true true { [c] -> [i] : i = 2*c and 0 <= c < 8 and 0 <= c < 8 and i = 3*c } { [i] -> [c] : i = 2*c and 0 <= c < 8 }
            linear((m0: [1, 2, 4]), (index: 8)) ((8,4),(2,4)):((4,64),(32,1))
        "#]],
    );
    check_main(
        "print(product(swizzle<3, 0, 3> ∘ 8 : 1, 8));",
        expect![[r#"
        HX0614 at `product(swizzle<3, 0, 3> ∘ 8 : 1, 8)`: `swizzle<3, 0, 3> ∘ 8:1` cannot be repeated: its copies `8:8` do not begin at multiples of 64, and the swizzle moves with a copy only then; to swizzle the whole product, apply `swizzle<3, 0, 3>` to the product of `8:1`
    "#]],
    );
}

#[test]
fn closures_combine_slices() {
    check_main(
        r#"
        let x = reshape(arange(f32, 6), [2, 3]);
        let by = 10;
        print(reduce(x, axis: 1, op: |a, b| a * by + b), reduce(x, 0, |a, b| max(a, b)), reduce([3, 1, 2], 0, |a, b| a - b));
        print(scan(x, axis: 1, op: |a, b| a + b), scan(x, axis: -2, op: |a, b| a + b).shape);
        let (a, b) = scan((full(f32, [1, 4], 0.5), ones(f32, [1, 4])), axis: 1, op: |(a0, b0), (a1, b1)| (a0 * a1, b0 * a1 + b1));
        print(a, b);
        print(reduce((x, -x), axis: 0, op: |(a0, b0), (a1, b1)| (a0 + a1, min(b0, b1))));
        "#,
        expect![[r#"
            f64[2]
            [ 12.0, 345.0] f64[3]
            [3.0, 4.0, 5.0] 0
            f64[2, 3]
            [[ 0.0,  1.0,  3.0],
             [ 3.0,  7.0, 12.0]] (2, 3)
            f64[1, 4]
            [[   0.5,   0.25,  0.125, 0.0625]] f64[1, 4]
            [[  1.0,   1.5,  1.75, 1.875]]
            (f64[3], f64[3])
        "#]],
    );
    check_main(
        "print(reduce(ones(f32, 3), 0, |a, b| a + c));",
        expect![[r#"
            HX0101 at `c`: nothing in scope is called `c`
        "#]],
    );
    check_main(
        "print(reduce(ones(f32, 3), 0, |a, b| a + f16));",
        expect![[r#"
        HX0614 at `a + f16`: `+` is not defined on a float and an element type
    "#]],
    );
    check_main(
        "print(reduce(ones(f32, 3), 1, |a, b| a + b));",
        expect![[r#"
        HX0614 at `reduce(ones(f32, 3), 1, |a, b| a + b)`: axis 1 does not exist in a tensor of rank 1
    "#]],
    );
    check_main(
        "print(reduce(ones(f32, 3), 0, 1));",
        expect![[r#"
        HX0614 at `reduce(ones(f32, 3), 0, 1)`: found an integer, an operator is needed
          help: write it as a closure: `op: |a, b| a + b`
    "#]],
    );
    check_main(
        "print(reduce(ones(f32, [0, 3]), 0, |a, b| a + b));",
        expect![[r#"
        HX0615 at `reduce(ones(f32, [0, 3]), 0, |a, b| a + b)`: `reduce` along an axis without elements has no value
    "#]],
    );
    check_main(
        "print(reduce(ones(f32, 3), 0, |a| a));",
        expect![[r#"
        HX0614 at `a`: this closure takes 1 value, and is called with 2
    "#]],
    );
    check_main(
        "print(scan((ones(f32, 3), ones(f32, 2)), 0, |a, b| a));",
        expect![[r#"
        HX0615 at `scan((ones(f32, 3), ones(f32, 2)), 0, |a, b| a)`: tensors that move together have one shape: f32[3] and f32[2]
    "#]],
    );
    check_main(
        "print(scan((ones(f32, 3), ones(f32, 3)), 0, |(a, b), (c, d)| a + b + c + d));",
        expect![[r#"
        HX0614 at `(a, b)`: found a float, the pattern takes apart 2 values
    "#]],
    );
}

#[test]
fn functions_of_layouts_are_those_of_the_notation() {
    let of_layouts = |builtin: &Builtin| matches!(builtin, Builtin::Layout(_) | Builtin::HostLayout(_));
    for builtin in builtins().filter(of_layouts) {
        let found = FUNCTIONS.iter().find(|function| function.name == builtin.name());
        let doc = found.map(|function| function.doc.to_owned());
        // The language writes the numbers of a swizzle as compile-time arguments, `swizzle<3, 3, 3>`; the notation writes
        // `swizzle(3, 3, 3)`.
        assert_eq!(doc, Some(builtin.doc().replace('<', "(").replace('>', ")")), "{}", builtin.name());
    }
}
