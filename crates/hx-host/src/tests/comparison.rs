use expect_test::{Expect, expect};
use hx_dtype::DType;

use super::{counting, tensor};
use crate::compare::{Mismatch, Tolerance, assert_close, assert_equal};
use crate::index::Index;
use crate::pattern::describe;
use crate::tensor::{HostTensor, Tensor};

fn ulp(n: f64) -> Tolerance {
    Tolerance { ulp: Some(n), ..Tolerance::default() }
}

fn check(x: &Tensor, y: &Tensor, tolerance: Tolerance, want: Expect) {
    let text = assert_close(x, y, tolerance).map_or_else(|e| e.error.to_string(), |()| "close".to_owned());
    want.assert_eq(&text);
}

#[test]
fn ulps_are_of_the_result_type_at_the_size_of_the_reference() {
    // An f16 ulp at 1 is 2^-10. The small element is judged at the rms of the reference, which is about 0.87.
    let y = tensor(DType::F64, &[4], &[1.0, -1.0, 1.0, 1e-4]);
    let x = tensor(DType::F16, &[4], &[1.0 + 1.0 / 1024.0, -1.0, 1.0, 1e-4 + 2e-4]);
    check(&x, &y, ulp(1.0), expect!["close"]);
    check(
        &x,
        &y,
        ulp(0.5),
        expect![[r#"
            1 of 4 elements of f16[4] are not within ulp: 0.5 of the reference
              first at [0]: got 1.0009766, expected 1.0
              worst at [0]: absolute 9.77e-4, relative 9.77e-4, 1.00 ulp of f16 (got 1.0009766, expected 1.0)
              wrong: one element"#]],
    );
    check(&x, &y, Tolerance { rtol: Some(1e-3), atol: Some(1e-3), ulp: None }, expect!["close"]);
    check(
        &x,
        &y,
        Tolerance::default(),
        expect![[r#"
            `assert_close` needs a tolerance
              help: `ulp: 4` allows four units in the last place of the result's type"#]],
    );
    check(&x, &y, ulp(-1.0), expect!["`ulp` is a tolerance and cannot be negative or NaN"]);
}

#[test]
fn failures_tell_the_pattern() {
    let y = counting(DType::F64, &[8, 6]);
    let x = Tensor::from_host(HostTensor::poisoned(DType::F16, &[8, 6]).expect("small"));
    let inside = x.index(&[Index::Range(None, Some(6))]).expect("in range");
    inside.assign(&counting(DType::F64, &[6, 6]).dense().expect("floats")).expect("fits");
    check(
        &x,
        &y,
        ulp(1.0),
        expect![[r#"
            12 of 48 elements of f16[8, 6] are not within ulp: 1 of the reference
              first at [6, 0]: got unwritten memory, expected 36.0
              wrong: rows 6..8, the last 2
              all of them are unwritten memory"#]],
    );
    let square = counting(DType::F16, &[8, 8]);
    let transposed = square.transposed().expect("a matrix").cast(DType::F64).expect("casts");
    check(
        &square,
        &transposed,
        ulp(1.0),
        expect![[r#"
            56 of 64 elements of f16[8, 8] are not within ulp: 1 of the reference
              first at [0, 1]: got 1.0, expected 8.0
              worst at [0, 7]: absolute 49.00, relative 0.88, 1568 ulp of f16 (got 7.0, expected 56.0)
              wrong: scattered over 88% of the tensor
              the result agrees with the reference transposed"#]],
    );
    let twice = tensor(DType::F32, &[4], &[2.0, 4.0, -6.0, 8.0]);
    check(
        &twice,
        &tensor(DType::F64, &[4], &[1.0, 2.0, -3.0, 4.0]),
        ulp(4.0),
        expect![[r#"
            4 of 4 elements of f32[4] are not within ulp: 4 of the reference
              first at [0]: got 2.0, expected 1.0
              worst at [2]: absolute 3.00, relative 1.00, 1.26e7 ulp of f32 (got -6.0, expected -3.0)
              wrong: every element
              all of them are 2 times the reference"#]],
    );
}

#[test]
fn moved_and_reordered_elements_are_recognized() {
    let y = tensor(DType::F32, &[4, 5], &(0..20).map(|i| f64::from(i * i % 17)).collect::<Vec<_>>());
    let of = |from: &dyn Fn(usize, usize) -> f64| {
        let all: Vec<f64> = (0..20).map(|i| from(i / 5, i % 5)).collect();
        tensor(DType::F32, &[4, 5], &all)
    };
    let at = |i: usize, j: usize| ((5 * i + j) * (5 * i + j) % 17) as f64;
    let hint = |x: &Tensor| {
        let error = assert_equal(x, &y).expect_err("differs").error.to_string();
        error.lines().last().unwrap_or_default().trim().to_owned()
    };
    // The first row has nothing above it, so the kernel read zeros.
    let above = |i: usize, j: usize| if i == 0 { 0.0 } else { at(i - 1, j) };
    assert_eq!(hint(&of(&above)), "element [i0, i1] agrees with the reference at [i0 - 1, i1]");
    let behind = |i: usize, j: usize| if j == 4 { 0.0 } else { at(i, j + 1) };
    assert_eq!(hint(&of(&behind)), "element [i0, i1] agrees with the reference at [i0, i1 + 1]");
    // The 5×4 transposed reference, with its elements in the order of memory read as 4×5.
    let reordered = |i: usize, j: usize| at((5 * i + j) % 4, (5 * i + j) / 4);
    assert_eq!(hint(&of(&reordered)), "the result agrees with the reference transposed");
}

#[test]
fn nan_and_infinity() {
    let x = tensor(DType::F16, &[3], &[f64::NAN, f64::INFINITY, 1.0]);
    check(&x, &x, ulp(0.0), expect!["close"]);
    check(
        &x,
        &tensor(DType::F64, &[3], &[f64::NAN, 1e5, f64::NAN]),
        ulp(1e9),
        expect![[r#"
            2 of 3 elements of f16[3] are not within ulp: 1000000000 of the reference
              first at [1]: got inf, expected 100000.0
              worst at [1]: absolute inf, relative inf, inf ulp of f16 (got inf, expected 100000.0)
              wrong: elements 1..3, the last 2
              1 of them overflowed: the reference exceeds 65504.0, the largest f16"#]],
    );
}

#[test]
fn shapes_must_agree() {
    let (x, y) = (counting(DType::F16, &[2, 3]), counting(DType::F64, &[3, 2]));
    check(&x, &y, ulp(1.0), expect!["the shapes differ: [2, 3] and [3, 2]"]);
    check(
        &tensor(DType::F16, &[2, 2], &[1.0; 4]),
        &tensor(DType::F64, &[], &[1.0]),
        ulp(0.0),
        expect!["close"],
    );
}

#[test]
fn equality() {
    let x = counting(DType::I32, &[2, 8]);
    assert!(assert_equal(&x, &counting(DType::F64, &[2, 8])).is_ok());
    let y = Tensor::from_host(x.to_host());
    y.index(&[Index::Range(None, None), crate::index::Index::At(3)])
        .and_then(|column| column.assign(&super::ints(&[], &[0])))
        .expect("in range");
    expect![[r#"
        2 of 16 elements of i32[2, 8] are not equal
          first at [0, 3]: got 3, expected 0
          wrong: column 3"#]]
    .assert_eq(&assert_equal(&x, &y).expect_err("differs").error.to_string());
}

#[test]
fn patterns_in_words() {
    let words = |shape: &[usize], wrong: &dyn Fn(usize, usize) -> bool| {
        let mask: Vec<bool> = (0..shape[0] * shape[1]).map(|i| wrong(i / shape[1], i % shape[1])).collect();
        describe(shape, &mask)
    };
    let shape = [16, 64];
    assert_eq!(words(&shape, &|_, _| true), "every element");
    assert_eq!(words(&shape, &|i, j| i == 3 && j == 4), "one element");
    assert_eq!(words(&shape, &|i, _| i == 3), "row 3");
    assert_eq!(words(&shape, &|_, j| j == 63), "column 63, the last");
    assert_eq!(words(&shape, &|_, j| j % 2 == 0), "every second column");
    assert_eq!(words(&shape, &|_, j| j % 8 == 5), "every 8th column from 5");
    assert_eq!(words(&shape, &|_, j| j % 16 >= 8), "columns 8..16 of every 16");
    assert_eq!(
        words(&shape, &|i, j| i >= 8 && j >= 56),
        "rows 8..16, the last 8 in columns 56..64, the last 8"
    );
    assert_eq!(words(&shape, &|i, j| i >= 8 || j >= 56), "rows from 8 on and columns from 56 on");
    assert_eq!(words(&shape, &|i, _| [1, 2, 9].contains(&i)), "rows 1, 2, 9");
    assert_eq!(words(&shape, &|i, j| i < 4 && (i + j) % 4 == 0), "scattered over 25% of rows 0..4");
}

/// Integers beyond 2^53 are not rounded in the comparison or in the message.
#[test]
fn large_integers_are_compared_exactly() {
    let of = |dtype: DType, bits: &[u64]| {
        let data = bits.iter().flat_map(|b| b.to_le_bytes()).collect();
        Tensor::from_host(HostTensor { dtype, shape: vec![bits.len()], data })
    };
    let large = of(DType::U64, &[u64::MAX, 1 << 63, 0]);
    assert_equal(&large, &large).unwrap();
    check(&large, &large, Tolerance { atol: Some(0.0), ..Tolerance::default() }, expect!["close"]);
    let below = of(DType::U64, &[u64::MAX - 1, 1 << 63, 0]);
    let show = |e: Result<(), Mismatch>| e.map_or_else(|e| e.error.to_string(), |()| "equal".to_owned());
    expect![[r#"
        1 of 3 elements of u64[3] are not equal
          first at [0]: got 18446744073709551615, expected 18446744073709551614
          wrong: one element"#]]
    .assert_eq(&show(assert_equal(&large, &below)));
    check(
        &large,
        &below,
        Tolerance { atol: Some(0.5), ..Tolerance::default() },
        expect![[r#"
        1 of 3 elements of u64[3] are not within atol: 0.5 of the reference
          first at [0]: got 18446744073709551615, expected 18446744073709551614
          worst at [0]: absolute 1.00, relative 5.42e-20, 1.00 ulp of u64 (got 18446744073709551615, expected 18446744073709551614)
          wrong: one element"#]],
    );
    check(&large, &below, Tolerance { atol: Some(1.0), ..Tolerance::default() }, expect!["close"]);
    // The bits 0xffff_ffff_ffff_ffff are -1 as `i64`, so elements with equal bits differ.
    expect![[r#"
        2 of 3 elements of u64[3] are not equal
          first at [0]: got 18446744073709551615, expected -1
          wrong: elements 0..2"#]]
    .assert_eq(&show(assert_equal(&large, &of(DType::I64, &[u64::MAX, 1 << 63, 0]))));
    let odd = of(DType::I64, &[(1 << 53) + 1]);
    expect![[r#"
        1 of 1 elements of i64[1] are not equal
          first at [0]: got 9007199254740993, expected 9007199254740992
          wrong: every element"#]]
    .assert_eq(&show(assert_equal(&odd, &of(DType::I64, &[1 << 53]))));
    check(
        &odd,
        &of(DType::I64, &[1 << 53]),
        Tolerance { atol: Some(0.5), ..Tolerance::default() },
        expect![[r#"
            1 of 1 elements of i64[1] are not within atol: 0.5 of the reference
              first at [0]: got 9007199254740993, expected 9007199254740992
              worst at [0]: absolute 1.00, relative 1.11e-16, 1.00 ulp of i64 (got 9007199254740993, expected 9007199254740992)
              wrong: every element"#]],
    );
}

/// The lower half of a 16×16 tile is wrong, and nothing wrote the corner of 8×4 elements.
#[test]
fn scattered_elements_are_drawn() {
    let y = counting(DType::F32, &[40, 100]);
    let x = Tensor::from_host(HostTensor::poisoned(DType::F32, &[40, 100]).expect("small"));
    let assign = |rows: [i64; 2], columns: [i64; 2], value: Option<f64>| {
        let ranges = [rows, columns].map(|[from, to]| Index::Range(Some(from), Some(to)));
        let part = x.index(&ranges).expect("inside");
        let right = y.index(&ranges).and_then(|part| part.dense()).expect("inside");
        part.assign(&value.map_or(right, |value| super::floats(&[], &[value]))).expect("fits");
    };
    assign([0, 32], [0, 100], None);
    assign([32, 40], [0, 96], None);
    assign([8, 16], [16, 32], Some(-1.0));
    let error = assert_equal(&x, &y).expect_err("differs").error;
    expect![[r#"
        first at [8, 16]: got -1.0, expected 816.0
        wrong: scattered over 50% of rows 8..40, not all in columns 16..100, not all
        32 of them are unwritten memory
        each character is 4 rows by 4 columns: · right, █ wrong, ○ unwritten memory
        ·························
        ·························
        ····████·················
        ····████·················
        ·························
        ·························
        ·························
        ·························
        ························○
        ························○"#]]
    .assert_eq(&error.notes.join("\n"));
}
