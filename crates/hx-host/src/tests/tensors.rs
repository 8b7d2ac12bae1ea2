use expect_test::{Expect, expect};
use hx_dtype::DType;

use super::{counting, floats, ints, tensor};
use crate::index::Index;
use crate::random::{Seed, arange, eye, full, randn, uniform};
use crate::show::{Look, show_number, show_tensor, show_tensor_at};
use crate::tensor::{HostTensor, Tensor, encode_int, is_poison};

#[test]
fn views_share_memory() {
    let x = counting(DType::F16, &[4, 6]);
    let part = x.index(&[Index::Range(Some(1), Some(3)), Index::Range(Some(-2), None)]).expect("in range");
    assert_eq!(part.numbers().expect("floats").into_floats(), [10.0, 11.0, 16.0, 17.0]);
    assert!(!part.is_contiguous());
    assert_eq!(part.span(), 10..18);
    part.assign(&floats(&[], &[-1.0])).expect("broadcasts");
    let column = x.index(&[Index::Range(None, None), Index::At(-1)]).expect("in range");
    assert_eq!(column.numbers().expect("floats").into_floats(), [5.0, -1.0, -1.0, 23.0]);
    let t = x.transposed().expect("a matrix");
    assert_eq!((t.shape(), t.strides()), ([6, 4].as_slice(), [1, 6].as_slice()));
    assert_eq!(t.to_host().shape, [6, 4]);
    assert_eq!(x.index(&[Index::New, Index::At(0)]).expect("in range").shape(), [1, 6]);
}

#[test]
fn what_indices_cannot_say() {
    let x = counting(DType::I32, &[4, 6]);
    let fail =
        |indices: &[Index]| x.index(indices).map(|t| t.shape().to_vec()).expect_err("out of range").message;
    expect!["index 4 lies outside of dimension 0, whose extent is 4"].assert_eq(&fail(&[Index::At(4)]));
    expect!["index -5 lies outside of dimension 0, whose extent is 4"].assert_eq(&fail(&[Index::At(-5)]));
    expect!["the bound 7 lies outside of dimension 1, whose extent is 6"]
        .assert_eq(&fail(&[Index::At(0), Index::Range(None, Some(7))]));
    expect!["the range 3..1 of dimension 0 runs backwards"]
        .assert_eq(&fail(&[Index::Range(Some(3), Some(1))]));
    expect!["3 indices for a tensor of shape [4, 6]"].assert_eq(&fail(&[Index::At(0); 3]));
    let empty = x.index(&[Index::Range(Some(4), None)]).expect("an empty range");
    assert!(empty.is_empty() && empty.to_host().data.is_empty());
}

#[test]
fn sub_byte_tensors_are_packed_and_sliced() {
    let x = counting(DType::U4, &[3, 3]);
    assert_eq!(x.to_host().data, [0x10, 0x32, 0x54, 0x76, 0x08]);
    let row = x.index(&[Index::At(1)]).expect("in range");
    assert_eq!(row.to_host().data, [0x43, 0x05]);
    assert_eq!(
        row.span_bytes().expect_err("inside a byte").message,
        "a slice of u4 that starts inside a byte has no address"
    );
}

#[test]
fn casts_round_and_saturate() {
    let x = tensor(DType::F64, &[4], &[2049.0, 1e9, -3.5, f64::NAN]);
    let show = |t: &Tensor| show_tensor(t).replace('\n', " ");
    expect!["f16[4]  (1 nan, 1 inf) [2048.0,    inf,   -3.5,    nan]"]
        .assert_eq(&show(&x.cast(DType::F16).expect("casts")));
    expect!["i8[4] [127, 127,  -3,   0]"].assert_eq(&show(&x.cast(DType::I8).expect("casts")));
    assert_eq!(encode_int(DType::U64, -1), 0);
    assert_eq!(encode_int(DType::I64, i64::MIN), i64::MIN as u64);
    assert_eq!(encode_int(DType::I4, -100), 0x8);
    let x = tensor(DType::F64, &[6], &[0.25, -1.75, 5.0, -1e9, f64::NAN, 0.0]);
    expect!["f4e2m1[6] [ 0.0, -2.0,  4.0, -6.0,  6.0,  0.0]"]
        .assert_eq(&show(&x.cast(DType::F4E2m1).expect("casts")));
    expect!["f8e8m0[6]  (1 nan) [        0.25,          2.0,          8.0,  1.0737418e9,          nan, 5.877472e-39]"]
        .assert_eq(&show(&x.cast(DType::F8E8m0).expect("casts")));
}

#[test]
fn fresh_memory_shows() {
    for dtype in DType::ALL {
        let fresh = Tensor::from_host(HostTensor::poisoned(dtype, &[5]).expect("small"));
        let has_pattern = dtype.bits() >= 8 && dtype != DType::F8E8m0;
        assert!(fresh.bits().iter().all(|&b| is_poison(dtype, b) == has_pattern), "{dtype}");
        if dtype.is_float() && dtype != DType::F4E2m1 {
            assert!(fresh.numbers().expect("floats").into_floats().iter().all(|x| x.is_nan()), "{dtype}");
            assert!(!is_poison(dtype, dtype.encode(f64::NAN)), "{dtype}");
        }
    }
    expect!["f16[2]  (2 never written)\n[nan, nan]"]
        .assert_eq(&show_tensor(&Tensor::from_host(HostTensor::poisoned(DType::F16, &[2]).expect("small"))));
}

#[test]
fn seeds_name_tensors() {
    let seed = |seed, stream| Seed { seed, stream };
    let first = |s: Seed| {
        let x = Tensor::from_host(randn(DType::F64, &[3], s).expect("floats"));
        x.numbers()
            .expect("floats")
            .into_floats()
            .iter()
            .map(|&v| show_number(DType::F64, v))
            .collect::<Vec<_>>()
            .join(" ")
    };
    expect!["-0.864999983 -1.49681024 0.701376449"].assert_eq(&first(seed(1, 0)));
    expect!["1.12969861 -1.41060616 -0.0731556274"].assert_eq(&first(seed(1, 1)));
    expect!["-0.132351066 0.731825378 -0.203526503"].assert_eq(&first(seed(2, 0)));
    // The element type affects the numbers only through rounding.
    let wide = Tensor::from_host(randn(DType::F64, &[100], seed(3, 0)).expect("floats"));
    let narrow = randn(DType::Bf16, &[100], seed(3, 0)).expect("floats");
    assert_eq!(wide.cast(DType::Bf16).expect("casts").to_host(), narrow);
    let values = wide.numbers().expect("floats").into_floats();
    let mean = values.iter().sum::<f64>() / 100.0;
    assert!(mean.abs() < 0.3, "{mean}");
}

/// A drawn number may round to `high`, which is excluded; it becomes the number below. Of `f4` up to half of the numbers would.
#[test]
fn uniform_numbers_are_below_their_bound() {
    for dtype in DType::ALL.into_iter().filter(|d| d.is_float()) {
        for (low, high) in [(0.0, 1.0), (-1.0, 1.0), (-2.0, -1.0), (0.5, 1.5), (1.0, 1.5)] {
            if dtype.is_scale() && low < 0.0 {
                continue;
            }
            let x = uniform(dtype, &[2000], low, high, Seed { seed: 0, stream: 0 }).expect("bounds");
            let values = Tensor::from_host(x).numbers().expect("floats").into_floats();
            let (least, most) = values.iter().fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(*x), b.max(*x)));
            assert!(low <= least && most < high, "{dtype}: {least} to {most} for {low} to {high}");
        }
    }
}

#[test]
fn fresh_tensors() {
    let x = Tensor::from_host(
        uniform(DType::U4, &[1000], 0.0, 16.0, Seed { seed: 0, stream: 0 }).expect("bounds"),
    );
    let values = x.numbers().expect("ints").into_ints().expect("ints");
    assert!((0..16).all(|v| values.contains(&v)));
    assert_eq!(full(DType::U4, &[3], 5.0).expect("small").data, [0x55, 0x55]);
    assert_eq!(full(DType::F16, &[2], 1.0).expect("small").data, [0, 0x3c, 0, 0x3c]);
    assert_eq!(arange(DType::I32, 2, 5).expect("small").data, [2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0]);
    assert_eq!(Tensor::from_host(eye(DType::I8, 2, 3).expect("small")).to_host().data, [1, 0, 0, 0, 1, 0]);
    let scales = uniform(DType::F8E8m0, &[1], -1.0, 1.0, Seed { seed: 0, stream: 0 }).expect_err("negative");
    expect!["found the bounds -1 and 1, and `f8e8m0` holds positive numbers"].assert_eq(&scales.message);
    expect![
        "`randn` makes floats, and u4 is none\n  help: `uniform(u4, shape, low: 0, high: 10)` makes integers"
    ]
    .assert_eq(&randn(DType::U4, &[1], Seed { seed: 0, stream: 0 }).expect_err("no float").to_string());
    let huge = HostTensor::poisoned(DType::F64, &[usize::MAX, 2]).expect_err("too large");
    expect!["a tensor of shape [18446744073709551615, 2] is too large for this machine"]
        .assert_eq(&huge.message);
}

#[test]
fn numbers_print_short() {
    let show = |dtype, x| show_number(dtype, x);
    assert_eq!(show(DType::F16, DType::F16.round(0.1)), "0.1");
    assert_eq!(show(DType::F16, 1.0), "1.0");
    assert_eq!(show(DType::F32, f64::from(1.0f32 / 3.0)), "0.33333334");
    assert_eq!(show(DType::F64, 1.0 / 3.0), "0.333333333");
    assert_eq!(show(DType::F64, 1e300), "1e300");
    assert_eq!(show(DType::F64, -1.5e-9), "-1.5e-9");
    assert_eq!(show(DType::F64, 123456.0), "123456.0");
    assert_eq!(show(DType::I8, -3.0), "-3");
}

#[test]
fn tensors_print_abbreviated() {
    expect![[r#"
        f16[10, 12]
        [[  0.0,   1.0,   2.0, …,   9.0,  10.0,  11.0],
         [ 12.0,  13.0,  14.0, …,  21.0,  22.0,  23.0],
         [ 24.0,  25.0,  26.0, …,  33.0,  34.0,  35.0],
         …,
         [ 84.0,  85.0,  86.0, …,  93.0,  94.0,  95.0],
         [ 96.0,  97.0,  98.0, …, 105.0, 106.0, 107.0],
         [108.0, 109.0, 110.0, …, 117.0, 118.0, 119.0]]"#]]
    .assert_eq(&show_tensor(&counting(DType::F16, &[10, 12])));
    expect![[r#"
        i64[2, 1, 2]
        [[[0, 1]],

         [[2, 3]]]"#]]
    .assert_eq(&show_tensor(&Tensor::from_dense(ints(&[2, 1, 2], &[0, 1, 2, 3]))));
    expect!["f64[0, 3] []"].assert_eq(&show_tensor(&tensor(DType::F64, &[0, 3], &[])));
    expect!["true"].assert_eq(&show_tensor(&tensor(DType::Bool, &[], &[1.0])));
}

/// Rounded numbers are aligned at their points, and rows have as many columns as fit.
#[test]
fn tensors_fit_a_terminal() {
    let check = |tensor: &Tensor, width: usize, digits: usize, expect: Expect| {
        let text = show_tensor_at(tensor, "", Look { width: Some(width), digits: Some(digits) });
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        expect.assert_eq(&format!("{text}\n"));
    };
    let x = tensor(DType::F32, &[2, 3], &[1.0 / 3.0, -1234.567, 1e-9, 99999.6, f64::NAN, 2.5]);
    check(
        &x,
        80,
        5,
        expect![[r#"
        f32[2, 3]  (1 nan)
        [[    0.33333, -1234.6    ,     1e-9   ],
         [    1e5    ,         nan,     2.5    ]]
    "#]],
    );
    check(
        &x,
        80,
        2,
        expect![[r#"
        f32[2, 3]  (1 nan)
        [[ 0.33 , -1.2e3,  1e-9 ],
         [ 1e5  ,    nan,  2.5  ]]
    "#]],
    );
    let many = |shape: &[usize]| {
        let count: usize = shape.iter().product();
        tensor(DType::F64, shape, &(0..count).map(|i| (i as f64).sqrt()).collect::<Vec<_>>())
    };
    check(
        &many(&[4, 40]),
        60,
        5,
        expect![[r#"
        f64[4, 40]
        [[ 0.0   ,  1.0   ,  1.4142, …,  6.0828,  6.1644,  6.245 ],
         [ 6.3246,  6.4031,  6.4807, …,  8.775 ,  8.8318,  8.8882],
         [ 8.9443,  9.0   ,  9.0554, …, 10.817 , 10.863 , 10.909 ],
         [10.954 , 11.0   , 11.045 , …, 12.53  , 12.57  , 12.61  ]]
    "#]],
    );
    check(
        &many(&[100, 8]),
        80,
        4,
        expect![[r#"
        f64[100, 8]
        [[ 0.0  ,  1.0  ,  1.414,  1.732,  2.0  ,  2.236,  2.449,  2.646],
         [ 2.828,  3.0  ,  3.162,  3.317,  3.464,  3.606,  3.742,  3.873],
         [ 4.0  ,  4.123,  4.243,  4.359,  4.472,  4.583,  4.69 ,  4.796],
         …,
         [27.86 , 27.87 , 27.89 , 27.91 , 27.93 , 27.95 , 27.96 , 27.98 ],
         [28.0  , 28.02 , 28.04 , 28.05 , 28.07 , 28.09 , 28.11 , 28.12 ],
         [28.14 , 28.16 , 28.18 , 28.2  , 28.21 , 28.23 , 28.25 , 28.27 ]]
    "#]],
    );
    check(
        &many(&[2, 2, 20]),
        30,
        4,
        expect![[r#"
        f64[2, 2, 20]
        [[[0.0  , 1.0  , …, 4.359],
          [4.472, 4.583, …, 6.245]],

         [[6.325, 6.403, …, 7.681],
          [7.746, 7.81 , …, 8.888]]]
    "#]],
    );
    // A short row is broken into lines, a long one is abbreviated.
    check(
        &many(&[20]),
        60,
        5,
        expect![[r#"
        f64[20]
        [0.0   , 1.0   , 1.4142, 1.7321, 2.0   , 2.2361, 2.4495,
         2.6458, 2.8284, 3.0   , 3.1623, 3.3166, 3.4641, 3.6056,
         3.7417, 3.873 , 4.0   , 4.1231, 4.2426, 4.3589]
    "#]],
    );
    check(
        &many(&[2000]),
        60,
        5,
        expect![[r#"
        f64[2000]
        [ 0.0   ,  1.0   ,  1.4142, …, 44.688 , 44.699 , 44.71  ]
    "#]],
    );
    check(
        &counting(DType::I32, &[30]),
        60,
        5,
        expect![[r#"
        i32[30]
        [ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14,
         15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]
    "#]],
    );
}

#[test]
fn views_that_repeat_elements() {
    let repeats = |shape: &[usize], strides: &[usize]| {
        Tensor::elsewhere(DType::F32, shape.to_vec(), strides.to_vec()).repeats()
    };
    assert!(!repeats(&[4, 6], &[6, 1]) && !repeats(&[6, 4], &[1, 6]) && !repeats(&[4, 6], &[8, 1]));
    assert!(!repeats(&[1, 6], &[0, 1]) && !repeats(&[0, 6], &[0, 1]) && !repeats(&[], &[]));
    assert!(repeats(&[4, 6], &[0, 1]) && repeats(&[4, 6], &[5, 1]) && repeats(&[3, 3], &[2, 1]));
    // The strides interleave, and no element is met twice: 0, 2, 4 and 3, 5, 7.
    assert!(!repeats(&[2, 3], &[3, 2]) && repeats(&[3, 4], &[3, 2]));
}
