use expect_test::{Expect, expect};

use super::{floats, ints};
use crate::arith::{Binary, Unary, binary, floor_rem, select, unary};
use crate::dense::{Dense, Numbers};
use crate::error::HostResult;
use crate::reduce::{Reduction, cumsum, reduce};

fn check(result: HostResult<Dense>, want: Expect) {
    let text = match result {
        Ok(Dense { shape, data }) => format!("{shape:?} {data:?}"),
        Err(e) => format!("{}: {e}", e.code.id),
    };
    want.assert_eq(&text);
}

/// Computes a product that is never stopped.
fn matmul(a: &Dense, b: &Dense) -> HostResult<Dense> {
    crate::matmul::matmul(a, b)
}

#[test]
fn broadcasting_follows_numpy() {
    let (column, row) = (floats(&[2, 1], &[10.0, 20.0]), floats(&[3], &[1.0, 2.0, 3.0]));
    check(binary(Binary::Add, &column, &row), expect!["[2, 3] Float([11.0, 12.0, 13.0, 21.0, 22.0, 23.0])"]);
    check(
        binary(Binary::Mul, &row, &floats(&[2], &[1.0, 2.0])),
        expect!["HX0615: shapes [3] and [2] do not broadcast in `*`"],
    );
    check(binary(Binary::Lt, &column, &floats(&[], &[15.0])), expect!["[2, 1] Bool([true, false])"]);
}

#[test]
fn integers_stay_integers_and_floor() {
    let (a, b) = (ints(&[], &[-7]), ints(&[], &[2]));
    check(binary(Binary::Div, &a, &b), expect!["[] Int([-4])"]);
    check(binary(Binary::Rem, &a, &b), expect!["[] Int([1])"]);
    check(binary(Binary::Div, &ints(&[1], &[-7]), &b), expect!["[1] Int([-4])"]);
    check(binary(Binary::Div, &a, &ints(&[], &[0])), expect!["HX0614: `-7 / 0` divides by zero"]);
    check(
        binary(Binary::Add, &ints(&[], &[i64::MAX]), &b),
        expect!["HX0614: `9223372036854775807 + 2` overflows i64"],
    );
    check(binary(Binary::Pow, &b, &ints(&[], &[10])), expect!["[] Int([1024])"]);
    check(binary(Binary::Pow, &b, &ints(&[], &[-1])), expect!["[] Float([0.5])"]);
    assert_eq!(floor_rem(-1.0, 3.0), 2.0);
    assert_eq!(floor_rem(1.0, -3.0), -2.0);
}

#[test]
fn functions_and_selection() {
    check(unary(Unary::Exp2, &ints(&[2], &[3, -1])), expect!["[2] Float([8.0, 0.5])"]);
    check(unary(Unary::Abs, &ints(&[2], &[3, -1])), expect!["[2] Int([3, 1])"]);
    check(unary(Unary::Round, &floats(&[3], &[0.5, 1.5, -2.5])), expect!["[3] Float([0.0, 2.0, -2.0])"]);
    check(unary(Unary::IsNan, &floats(&[2], &[f64::NAN, 1.0])), expect!["[2] Bool([true, false])"]);
    let mask = Dense { shape: vec![2], data: Numbers::Bool(vec![true, false]) };
    check(select(&mask, &ints(&[], &[1]), &floats(&[2], &[8.0, 9.0])), expect!["[2] Float([1.0, 9.0])"]);
}

#[test]
fn bits_are_those_of_64_bits_in_twos_complement() {
    let (x, y) = (ints(&[2], &[12, -1]), ints(&[2], &[10, 3]));
    check(binary(Binary::BitAnd, &x, &y), expect!["[2] Int([8, 3])"]);
    check(binary(Binary::BitOr, &x, &y), expect!["[2] Int([14, -1])"]);
    check(binary(Binary::BitXor, &x, &y), expect!["[2] Int([6, -4])"]);
    check(binary(Binary::Shl, &x, &y), expect!["[2] Int([12288, -8])"]);
    check(binary(Binary::Shr, &x, &ints(&[], &[70])), expect!["[2] Int([0, -1])"]);
    check(
        binary(Binary::Shl, &x, &ints(&[], &[62])),
        expect![[r#"
            HX0614: `12 << 62` overflows i64
              help: mask what is to be lost first: `(x & mask) << n`"#]],
    );
    check(
        binary(Binary::BitXor, &x, &floats(&[2], &[2.0, 2.0])),
        expect![[r#"
            HX0614: `^` needs integers or bools
              help: a power is written `pow(x, y)`; `bitcast(x, u32)` gives the bits of an `f32`"#]],
    );
}

#[test]
fn masks_are_joined_element_by_element() {
    let mask =
        |shape: &[usize], bits: &[bool]| Dense { shape: shape.to_vec(), data: Numbers::Bool(bits.to_vec()) };
    let (column, row) = (mask(&[2, 1], &[true, false]), mask(&[2], &[true, false]));
    check(binary(Binary::And, &column, &row), expect!["[2, 2] Bool([true, false, false, false])"]);
    check(binary(Binary::Or, &column, &row), expect!["[2, 2] Bool([true, true, true, false])"]);
    check(
        binary(Binary::Or, &row, &mask(&[3], &[true; 3])),
        expect!["HX0615: shapes [2] and [3] do not broadcast in `||`"],
    );
    check(
        binary(Binary::And, &row, &ints(&[2], &[1, 0])),
        expect![[r#"
        HX0614: `&&` needs bools
          help: compare first: `x != 0 && y != 0`"#]],
    );
}

#[test]
fn reductions() {
    let x = floats(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 9.0]);
    check(reduce(Reduction::Sum, &x, None, false), expect!["[] Float([24.0])"]);
    check(reduce(Reduction::Sum, &x, Some(&[0]), false), expect!["[3] Float([5.0, 7.0, 12.0])"]);
    check(reduce(Reduction::Max, &x, Some(&[1]), true), expect!["[2, 1] Float([3.0, 9.0])"]);
    check(reduce(Reduction::Mean, &x, Some(&[0, 1]), false), expect!["[] Float([4.0])"]);
    check(reduce(Reduction::Min, &floats(&[2], &[f64::NAN, 1.0]), None, false), expect!["[] Float([NaN])"]);
    check(
        reduce(Reduction::Max, &floats(&[0, 2], &[]), Some(&[0]), false),
        expect!["HX0615: `max` of no elements: the shape is [0, 2]"],
    );
    check(reduce(Reduction::Sum, &floats(&[0, 2], &[]), Some(&[0]), false), expect!["[2] Float([0.0, 0.0])"]);
    check(cumsum(&x, 1), expect!["[2, 3] Float([1.0, 3.0, 6.0, 4.0, 9.0, 18.0])"]);
}

#[test]
fn products_agree_with_the_definition() {
    for [m, n, k] in [[1, 1, 1], [3, 5, 7], [65, 66, 513], [4, 4, 0], [0, 3, 2], [33, 1, 1030]] {
        let fill = |count: usize, step: usize| {
            (0..count).map(|i| ((i * step) % 17) as f64 - 8.0).collect::<Vec<_>>()
        };
        let (a, b) = (fill(m * k, 7), fill(k * n, 5));
        let got = matmul(&floats(&[m, k], &a), &floats(&[k, n], &b)).expect("fits");
        let dot = |i: usize, j: usize| (0..k).map(|p| a[i * k + p] * b[p * n + j]).sum::<f64>();
        let want: Vec<f64> = (0..m * n).map(|ij| dot(ij / n, ij % n)).collect();
        assert_eq!(got, floats(&[m, n], &want), "{m} {n} {k}");
    }
}

#[test]
fn products_of_vectors_and_batches() {
    let v = floats(&[2], &[1.0, 2.0]);
    let m = floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    check(matmul(&v, &v), expect!["[] Float([5.0])"]);
    check(matmul(&m, &v), expect!["[2] Float([5.0, 11.0])"]);
    check(matmul(&v, &m), expect!["[2] Float([7.0, 10.0])"]);
    let batch = ints(&[2, 1, 2], &[1, 2, 3, 4]);
    check(matmul(&batch, &ints(&[2, 1], &[1, 1])), expect!["[2, 1, 1] Int([3, 7])"]);
    check(
        matmul(&m, &floats(&[3, 2], &[0.0; 6])),
        expect![[r#"
            HX0615: `@` cannot multiply shapes [2, 2] and [3, 2]
              the inner extents 2 and 3 differ"#]],
    );
}
