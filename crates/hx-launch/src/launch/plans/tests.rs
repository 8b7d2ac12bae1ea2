//! Calls of kernels, and for each whether it had a plan. Values that a plan computes are compared with those of a binding.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use expect_test::{Expect, expect};
use hx_base::SourceFile;
use hx_base::interrupt::Until;
use hx_dtype::DType;
use hx_hir::{Item, Name, item_named};
use hx_host::device::{LaunchArg, LaunchError, LaunchRequest};
use hx_host::{Tensor, Value};
use hx_target::Target;
use hx_workspace::Database;

use super::super::form::Numbers;
use super::super::recipe::DirectParam;
use super::{Found, Plans, Values};
use crate::{Launcher, Machine, Texts};

/// Parses an argument: `f32[5, 200]`, `f32[5, 200 : 256, 1]` with strides, `7`, `true` or `0.5`.
fn argument(text: &str) -> Value {
    let Some((dtype, rest)) = text.split_once('[') else {
        let whole = text.parse().map(Value::Int);
        let any = whole.or_else(|_| text.parse().map(Value::Bool));
        return any.unwrap_or_else(|_| Value::Float(text.parse().expect("a number")));
    };
    let list =
        |text: &str| text.split(',').map(|n| n.trim().parse().expect("a size")).collect::<Vec<usize>>();
    let rest = rest.trim_end_matches(']');
    let (shape, strides) =
        rest.split_once(':').map_or((rest, None), |(shape, strides)| (shape, Some(strides)));
    let shape = list(shape);
    let packed = |axis: usize| shape[axis + 1..].iter().product::<usize>();
    let strides = strides.map_or_else(|| (0..shape.len()).map(packed).collect(), list);
    Value::Tensor(Tensor::elsewhere(DType::parse(dtype).expect("a type"), shape, strides))
}

/// Returns the key of a call's form: the types and ranks.
fn key(request: &LaunchRequest) -> Vec<u64> {
    let of = |arg: &LaunchArg| match &arg.value {
        Value::Tensor(tensor) => [1, tensor.dtype() as u64, tensor.shape().len() as u64],
        Value::Int(_) => [2, 0, 0],
        Value::Bool(_) => [3, 0, 0],
        _ => [4, 0, 0],
    };
    request.args.iter().flat_map(of).collect()
}

fn shown(values: &Values) -> String {
    let param = |param: &DirectParam| match param {
        DirectParam::Value(bytes) => {
            bytes.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte)).to_string()
        }
        DirectParam::Map { map, .. } => format!("map {:?}:{:?}", map.dims, map.strides),
        DirectParam::Tensor { .. } | DirectParam::Scalar { .. } => "_".to_owned(),
        DirectParam::Log(_) => "log".to_owned(),
    };
    let params: Vec<String> = values.params.iter().map(param).collect();
    format!("grid {:?}, {}", values.grid, params.join(" "))
}

fn reason(error: LaunchError) -> String {
    match error {
        LaunchError::Refused { error, .. } => error.message,
        LaunchError::Found(found) => found[0].message.clone(),
        LaunchError::After { error, .. } => reason(*error),
    }
}

fn check(text: &str, calls: &str, expected: &Expect) {
    expected.assert_eq(&told(text, calls));
}

/// Calls the only kernel of a text. Each line of `calls` has the arguments of a call, between `|`.
fn told(text: &str, calls: &str) -> String {
    let mut db = Database::default();
    let file = db.set_overlay("test.hx", text);
    let name = text.split("kernel ").nth(1).and_then(|rest| rest.split(['<', '(']).next()).expect("a kernel");
    told_of(&db, (file, name), calls)
}

fn told_of(db: &Database, (file, name): (SourceFile, &str), calls: &str) -> String {
    let kernel = item_named(db, file, Name::new(name)).map(|item: Item<'_>| item.key(db)).expect("a kernel");
    let machine = Machine::TextOnly(Texts::new(Target::builtin("sm_90a")));
    let stop = AtomicBool::new(false);
    let launcher = Launcher::new(db, &machine, Until { stop: &stop, deadline: None });
    let mut plans: Plans<String, (String, Values)> = Plans::default();
    let mut out = String::new();
    for line in calls.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let args = line.split('|').map(|text| LaunchArg {
            name: None,
            value: argument(text.trim()),
            temporary: false,
        });
        let request = LaunchRequest {
            kernel: kernel.clone(),
            generics: Vec::new(),
            args: args.collect(),
            candidate: None,
        };
        let numbers = Numbers::of(&request);
        let (key, given, align) = (key(&request), numbers.given(), vec![16; request.args.len()]);
        let prepared = launcher.prepared(&request, &align);
        let told = match (plans.find(&key, &given), prepared) {
            (Found::Ready(known), Ok(prepared)) => {
                assert_eq!(*known, (prepared.instance.to_string(), prepared.values), "{line}");
                "ready".to_owned()
            }
            (Found::Plan(plan, values), Ok(prepared)) => {
                assert_eq!((&*plan, &values), (&prepared.instance.to_string(), &prepared.values), "{line}");
                let told = format!("plan: {}", shown(&values));
                plans.keep(&key, &given, Arc::new((prepared.instance.to_string(), values)));
                told
            }
            (Found::Nothing, Ok(prepared)) => {
                let told = format!("made: {}", shown(&prepared.values));
                let plan = Arc::new(prepared.instance.to_string());
                plans.insert(&key, (prepared.form, &prepared.read, prepared.recipe), plan);
                plans.keep(&key, &given, Arc::new((prepared.instance.to_string(), prepared.values)));
                told
            }
            (Found::Nothing, Err(error)) => format!("refused: {}", reason(error)),
            (found, Err(error)) => panic!("{line}: {found:?}, but {}", reason(error)),
        };
        let _ = writeln!(out, "{line} => {told}");
    }
    out
}

#[test]
fn a_shape_with_the_same_divisors_has_a_plan() {
    check(
        "kernel copied(x: f32[n], y: mut f32[n]) grid [cdiv(n, 128)] threads 128 {
            copy(load(tile(x, [128])[.., block_idx]), tile(y, [128])[.., block_idx]);
        }",
        "f32[128] | f32[128]
         f32[4096] | f32[4096]
         f32[128] | f32[128]
         f32[100] | f32[100]
         f32[36] | f32[36]
         f32[0] | f32[0]
         f32[36] | f32[37]
         f32[72 : 2] | f32[72]",
        &expect![[r#"
            f32[128] | f32[128] => made: grid [1, 1, 1], _ _ 128
            f32[4096] | f32[4096] => plan: grid [32, 1, 1], _ _ 4096
            f32[128] | f32[128] => ready
            f32[100] | f32[100] => made: grid [1, 1, 1], _ _ 100
            f32[36] | f32[36] => plan: grid [1, 1, 1], _ _ 36
            f32[0] | f32[0] => plan: grid [0, 1, 1], _ _ 0
            f32[36] | f32[37] => refused: dimension 0 of `y` is 37, but `n` is 36 in `x`
            f32[72 : 2] | f32[72] => refused: the argument for `x` has the strides [2] for the shape [72], `copied` takes it packed in row-major order
        "#]],
    );
}

#[test]
fn a_whole_number_is_a_value() {
    check(
        "kernel scaled(x: f32[n], y: mut f32[n], by: i32) where by >= 0 grid [cdiv(n, 128) + by] threads 128 {
            if block_idx * 128 < n {
                copy(load(tile(x, [128])[.., block_idx]), tile(y, [128])[.., block_idx]);
            }
        }",
        "f32[128] | f32[128] | 3
         f32[128] | f32[128] | 4
         f32[128] | f32[128] | 4
         f32[128] | f32[128] | -1
         f32[128] | f32[128] | 3000000000
         f32[128] | f32[128] | 2147483647
         f32[128] | f32[128] | 1",
        &expect![[r#"
            f32[128] | f32[128] | 3 => made: grid [4, 1, 1], _ _ _ 128
            f32[128] | f32[128] | 4 => plan: grid [5, 1, 1], _ _ _ 128
            f32[128] | f32[128] | 4 => ready
            f32[128] | f32[128] | -1 => refused: `by >= 0` does not hold with by = -1
            f32[128] | f32[128] | 3000000000 => refused: found 3000000000, which does not fit, the parameter `by` is of type i32
            f32[128] | f32[128] | 2147483647 => refused: the grid has 2147483648 blocks along axis 0 with n = 128, by = 2147483647, expected at most 2147483647
            f32[128] | f32[128] | 1 => plan: grid [2, 1, 1], _ _ _ 128
        "#]],
    );
    check(
        "kernel shifted(x: f32[n], y: mut f32[n], by: i32) grid [cdiv(n, 128)] threads 128 {
            copy(load(tile(x, [128])[.., block_idx]) + cast(by, f32), tile(y, [128])[.., block_idx]);
        }",
        "f32[128] | f32[128] | 3
         f32[128] | f32[128] | -4
         f32[128] | f32[128] | 3000000000
         f32[128] | f32[128] | 0.5",
        &expect![[r#"
            f32[128] | f32[128] | 3 => made: grid [1, 1, 1], _ _ _ 128
            f32[128] | f32[128] | -4 => ready
            f32[128] | f32[128] | 3000000000 => refused: found 3000000000, which does not fit, the parameter `by` is of type i32
            f32[128] | f32[128] | 0.5 => refused: found a float, the parameter `by` is of type i32
        "#]],
    );
}

#[test]
fn strides_count_by_their_divisors_and_by_being_one() {
    check(
        "kernel rows(x: f32[m, n] : [a, b], y: mut f32[m, n] : [ld, 1]) grid [m] threads 32 {
            for i in 0..cdiv(n, 32) {
                copy(load(tile(x, [1, 32])[.., .., block_idx, i]), tile(y, [1, 32])[.., .., block_idx, i]);
            }
        }",
        "f32[4, 64] | f32[4, 64]
         f32[8, 96 : 128, 1] | f32[8, 96]
         f32[8, 96 : 1, 8] | f32[8, 96]
         f32[8, 96 : 1, 24] | f32[8, 96]
         f32[1, 96 : 7, 1] | f32[1, 96]
         f32[1, 64 : 5, 1] | f32[1, 64]
         f32[8, 96 : 128, 2] | f32[8, 96]
         f32[8, 96] | f32[8, 96 : 0, 1]
         f32[8, 96] | f32[8, 96 : 95, 1]
         f32[8, 96] | f32[8, 96 : 96, 2]
         f32[8, 96] | f32[8, 97 : 112, 1]
         f32[16, 96 : 2147483648, 1] | f32[16, 96]",
        &expect![[r#"
            f32[4, 64] | f32[4, 64] => made: grid [4, 1, 1], _ _ 4 64 64 64
            f32[8, 96 : 128, 1] | f32[8, 96] => made: grid [8, 1, 1], _ _ 8 96 128 96
            f32[8, 96 : 1, 8] | f32[8, 96] => made: grid [8, 1, 1], _ _ 8 96 8 96
            f32[8, 96 : 1, 24] | f32[8, 96] => plan: grid [8, 1, 1], _ _ 8 96 24 96
            f32[1, 96 : 7, 1] | f32[1, 96] => made: grid [1, 1, 1], _ _ 1 96 96 96
            f32[1, 64 : 5, 1] | f32[1, 64] => plan: grid [1, 1, 1], _ _ 1 64 64 64
            f32[8, 96 : 128, 2] | f32[8, 96] => made: grid [8, 1, 1], _ _ 8 96 128 2 96
            f32[8, 96] | f32[8, 96 : 0, 1] => refused: the argument for `y` repeats elements, and the kernel writes `y`
            f32[8, 96] | f32[8, 96 : 95, 1] => refused: the argument for `y` repeats elements, and the kernel writes `y`
            f32[8, 96] | f32[8, 96 : 96, 2] => refused: the stride of dimension 1 of `y` is 2, and must be 1
            f32[8, 96] | f32[8, 97 : 112, 1] => refused: dimension 1 of `y` is 97, but `n` is 96 in `x`
            f32[16, 96 : 2147483648, 1] | f32[16, 96] => refused: the stride of dimension 0 of `x` is 2147483648, and a kernel counts in 32 bits
        "#]],
    );
}

/// The stride of a dimension with one element or none need not be the one that the header states. That of a longer dimension must.
#[test]
fn literal_strides_are_checked_for_each_call() {
    check(
        "kernel copied(x: f32[m, n] : [ld, 1], y: mut f32[m, n]) grid [cdiv(m, 16)] threads 128 {
            copy(load(tile(x, [16, 16])[.., .., block_idx, 0]), tile(y, [16, 16])[.., .., block_idx, 0]);
        }",
        "f32[16, 1 : 112, 7] | f32[16, 1]
         f32[32, 1 : 112, 9] | f32[32, 1]
         f32[16, 3 : 112, 7] | f32[16, 3]
         f32[16, 0 : 64, 4] | f32[16, 0]
         f32[16, 16 : 64, 4] | f32[16, 16]
         f32[16, 16 : 64, 1] | f32[16, 16]",
        &expect![[r#"
            f32[16, 1 : 112, 7] | f32[16, 1] => made: grid [1, 1, 1], _ _ 16 1 112
            f32[32, 1 : 112, 9] | f32[32, 1] => plan: grid [2, 1, 1], _ _ 32 1 112
            f32[16, 3 : 112, 7] | f32[16, 3] => refused: the stride of dimension 1 of `x` is 7, and must be 1
            f32[16, 0 : 64, 4] | f32[16, 0] => made: grid [1, 1, 1], _ _ 16 0 1024
            f32[16, 16 : 64, 4] | f32[16, 16] => refused: the stride of dimension 1 of `x` is 4, and must be 1
            f32[16, 16 : 64, 1] | f32[16, 16] => plan: grid [1, 1, 1], _ _ 16 16 64
        "#]],
    );
}

/// Elements of a written tensor whose strides do not nest, and still meet nowhere.
#[test]
fn strides_that_do_not_nest_are_planned_for_one_launch() {
    check(
        "kernel filled(y: mut f32[m, n] : [a, b]) grid [1] threads 32 {
            let t = register_tensor(f32, [4, 4]);
            fill(t, 1.0);
            copy(t, tile(y, [4, 4])[.., .., 0, 0]);
        }",
        "f32[3, 2 : 2, 3]
         f32[3, 2 : 2, 3]
         f32[3, 2 : 2, 2]",
        &expect![[r#"
            f32[3, 2 : 2, 3] => made: grid [1, 1, 1], _ 3 2 2 3
            f32[3, 2 : 2, 3] => ready
            f32[3, 2 : 2, 2] => refused: the argument for `y` repeats elements, and the kernel writes `y`
        "#]],
    );
}

#[test]
fn literals_and_compile_time_extents_are_facts() {
    check(
        "kernel heads<D>(x: f32[h, n, D], y: mut f32[h * n, D], z: f32[2]) where n % 2 == 0 grid [h * n] threads 32 {
            let zeros = register_tensor(f32, [1, D]);
            fill(zeros, 0.0);
            copy(zeros, tile(y, [1, D])[.., .., block_idx, 0]);
        }",
        "f32[2, 16, 32] | f32[32, 32] | f32[2]
         f32[4, 32, 32] | f32[128, 32] | f32[2]
         f32[4, 32, 64] | f32[128, 64] | f32[2]
         f32[6, 16, 64] | f32[96, 64] | f32[2]
         f32[2, 16, 64] | f32[32, 64] | f32[2]
         f32[2, 16, 64] | f32[48, 64] | f32[2]
         f32[2, 17, 64] | f32[34, 64] | f32[2]
         f32[2, 3, 64] | f32[6, 64] | f32[2]
         f32[2, 16, 32] | f32[32, 64] | f32[2]
         f32[2, 16, 32] | f32[32, 32] | f32[3]",
        &expect![[r#"
            f32[2, 16, 32] | f32[32, 32] | f32[2] => made: grid [32, 1, 1], _ _ _ 2 16
            f32[4, 32, 32] | f32[128, 32] | f32[2] => made: grid [128, 1, 1], _ _ _ 4 32
            f32[4, 32, 64] | f32[128, 64] | f32[2] => made: grid [128, 1, 1], _ _ _ 4 32
            f32[6, 16, 64] | f32[96, 64] | f32[2] => made: grid [96, 1, 1], _ _ _ 6 16
            f32[2, 16, 64] | f32[32, 64] | f32[2] => plan: grid [32, 1, 1], _ _ _ 2 16
            f32[2, 16, 64] | f32[48, 64] | f32[2] => refused: dimension 0 of `y` is 48, and must be `h * n`, which is 32
            f32[2, 17, 64] | f32[34, 64] | f32[2] => refused: `n % 2 == 0` does not hold with n = 17
            f32[2, 3, 64] | f32[6, 64] | f32[2] => refused: `n % 2 == 0` does not hold with n = 3
            f32[2, 16, 32] | f32[32, 64] | f32[2] => refused: dimension 1 of `y` is 64, but `D` is 32
            f32[2, 16, 32] | f32[32, 32] | f32[3] => refused: dimension 0 of `z` is 3, and must be 2
        "#]],
    );
}

#[test]
fn tensor_maps_are_computed_anew() {
    check(
        "kernel product<BM = 128, BN = 64, BK = 64, STAGES = 2>(a: f16[m, k], b: f16[n, k] : [ld, 1], c: mut f32[m, n])
            grid [cdiv(m, BM), cdiv(n, BN)]
        {
            let [bm, bn] = block_idx;
            let sa = shared_tensor(f16, [BM, BK, STAGES]);
            let sb = shared_tensor(f16, [BN, BK, STAGES]);
            let pipe = pipeline(STAGES);
            warp_groups {
                producer {
                    for ki in 0..cdiv(k, BK) {
                        let i = pipe.acquire();
                        copy_async(tile(a, [BM, BK])[.., .., bm, ki], sa[.., .., i], signal: pipe);
                        copy_async(tile(b, [BN, BK])[.., .., bn, ki], sb[.., .., i], signal: pipe);
                    }
                }
                consumer 2 {
                    let acc = register_tensor(f32, [BM, BN]);
                    fill(acc, 0.0);
                    for _ki in 0..cdiv(k, BK) {
                        let i = pipe.wait();
                        gemm(acc, load(sa[.., .., i]), sb[.., .., i]);
                        gemm_wait(0);
                        pipe.release();
                    }
                    copy(acc, tile(c, [BM, BN])[.., .., bm, bn]);
                }
            }
        }",
        "f16[128, 64] | f16[64, 64] | f32[128, 64]
         f16[256, 128] | f16[192, 128 : 256, 1] | f32[256, 192]
         f16[256, 128] | f16[192, 128 : 256, 1] | f32[256, 192]
         f16[256, 0] | f16[192, 0] | f32[256, 192]
         f16[256, 72] | f16[192, 72] | f32[256, 192]
         f16[256, 72] | f16[192, 73] | f32[256, 192]",
        &expect![[r#"
            f16[128, 64] | f16[64, 64] | f32[128, 64] => made: grid [1, 1, 1], _ _ _ 128 64 64 64 map [64, 128]:[128] map [64, 64]:[128]
            f16[256, 128] | f16[192, 128 : 256, 1] | f32[256, 192] => plan: grid [2, 3, 1], _ _ _ 256 128 192 256 map [128, 256]:[256] map [128, 192]:[512]
            f16[256, 128] | f16[192, 128 : 256, 1] | f32[256, 192] => ready
            f16[256, 0] | f16[192, 0] | f32[256, 192] => plan: grid [2, 3, 1], _ _ _ 256 0 192 16 map [0, 256]:[0] map [0, 192]:[32]
            f16[256, 72] | f16[192, 72] | f32[256, 192] => made: grid [2, 3, 1], _ _ _ 256 72 192 72 map [72, 256]:[144] map [72, 192]:[144]
            f16[256, 72] | f16[192, 73] | f32[256, 192] => refused: dimension 1 of `b` is 73, but `k` is 72 in `a`
        "#]],
    );
}

#[test]
fn a_family_or_a_log_keeps_the_numbers() {
    check(
        "kernel told(x: f32[n]) grid [cdiv(n, 32)] threads 32 {
            print(\"first\", load(tile(x, [32])[.., block_idx]));
        }",
        "f32[64]
         f32[64]
         f32[128]
         f32[64]",
        &expect![[r#"
            f32[64] => made: grid [2, 1, 1], _ 64 log
            f32[64] => ready
            f32[128] => made: grid [4, 1, 1], _ 128 log
            f32[64] => ready
        "#]],
    );
    check(
        "#[family(moved<B = 256>, moved<B = 64>)]
        kernel moved<B: int = 128>(x: f32[n], y: mut f32[n]) where n % B == 0 grid [n / B] threads 32 {
            copy(load(tile(x, [B])[.., block_idx]), tile(y, [B])[.., block_idx]);
        }",
        "f32[256] | f32[256]
         f32[512] | f32[512]
         f32[256] | f32[256]",
        &expect![[r#"
            f32[256] | f32[256] => made: grid [4, 1, 1], _ _ 256
            f32[512] | f32[512] => made: grid [8, 1, 1], _ _ 512
            f32[256] | f32[256] => ready
        "#]],
    );
}

/// Launches that are planned for their numbers alone are kept beside each other.
#[test]
fn launches_with_numbers_in_turn_are_kept() {
    check(
        "#[family(copied<B = 128>, copied<B = 256>)]
        kernel copied<B = 64>(x: f32[n], y: mut f32[n], by: i32) grid [cdiv(n, B) + by] threads 128 {
            if block_idx * B < n {
                copy(load(tile(x, [B])[.., block_idx]), tile(y, [B])[.., block_idx]);
            }
        }",
        "f32[128] | f32[128] | 3
         f32[128] | f32[128] | 4
         f32[128] | f32[128] | 3
         f32[128] | f32[128] | 4",
        &expect![[r#"
            f32[128] | f32[128] | 3 => made: grid [4, 1, 1], _ _ _ 128
            f32[128] | f32[128] | 4 => made: grid [5, 1, 1], _ _ _ 128
            f32[128] | f32[128] | 3 => ready
            f32[128] | f32[128] | 4 => ready
        "#]],
    );
}

#[test]
fn a_plan_of_random_shapes_has_the_instance_and_the_values_of_a_binding() {
    let mut state = 7u64;
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let mut calls = String::new();
    for _ in 0..200 {
        let [m, n] =
            [[0, 1, 2, 3, 8, 16, 48, 100], [1, 4, 16, 24, 31, 32, 64, 96]].map(|all| all[below(8) as usize]);
        let [more, wide] = [below(3) * 8, 1 + below(2)];
        let strides =
            if below(4) == 0 { format!("1, {}", m.max(1)) } else { format!("{}, {wide}", n * wide + more) };
        let _ = writeln!(calls, "f32[{m}, {n} : {strides}] | f32[{m}, {n} : {}, 1] | {}", n + more, below(5));
    }
    let text = "kernel rows(x: f32[m, n] : [a, b], y: mut f32[m, n] : [ld, 1], by: i32) where by < 4 grid [m * by] threads 32 {
        for i in 0..cdiv(n, 32) {
            if block_idx < m {
                copy(load(tile(x, [1, 32])[.., .., block_idx, i]), tile(y, [1, 32])[.., .., block_idx, i]);
            }
        }
    }";
    let told = told(text, &calls);
    let count = |word: &str| told.lines().filter(|line| line.contains(word)).count();
    let counts = format!(
        "{} made, {} by a plan, {} ready, {} refused",
        count("made"),
        count("plan"),
        count("ready"),
        count("refused")
    );
    expect!["71 made, 88 by a plan, 4 ready, 37 refused"].assert_eq(&counts);
}

#[test]
fn the_oldest_of_too_many_is_dropped() {
    let mut kept = super::Bounded::new(2);
    for (key, value) in [(1, "a"), (2, "b"), (1, "c"), (3, "d")] {
        kept.insert(&[key], value);
    }
    assert_eq!([1, 2, 3].map(|key| kept.get(&[key]).copied()), [None, Some("b"), Some("d")]);
}

/// Calls a kernel of the standard library.
fn check_std(path: &str, name: &str, calls: &str, expected: &Expect) {
    let db = Database::default();
    let file = db.file(path).expect("a file");
    expected.assert_eq(&told_of(&db, (file, name), calls));
}

#[test]
fn kernels_of_the_standard_library() {
    check_std(
        "std/attention_varlen.hx",
        "attention_varlen",
        "f16[300, 8, 128] | f16[300, 2, 128] | f16[300, 2, 128] | f16[300, 8, 128] | i32[4] | i32[4] | 130 | 0.5
         f16[316, 8, 128] | f16[332, 2, 128] | f16[332, 2, 128] | f16[316, 8, 128] | i32[12] | i32[12] | 260 | 0.5
         f16[316, 8, 128] | f16[332, 2, 128] | f16[332, 2, 128] | f16[316, 8, 128] | i32[12] | i32[12] | 7 | 0.5
         f16[316, 8, 128] | f16[332, 6, 128] | f16[332, 6, 128] | f16[316, 8, 128] | i32[12] | i32[12] | 7 | 0.5
         f16[316, 8, 64] | f16[332, 2, 64] | f16[332, 2, 64] | f16[316, 8, 64] | i32[12] | i32[12] | 7 | 0.5",
        &expect![[r#"
            f16[300, 8, 128] | f16[300, 2, 128] | f16[300, 2, 128] | f16[300, 8, 128] | i32[4] | i32[4] | 130 | 0.5 => made: grid [2, 8, 3], _ _ _ _ _ _ _ _ 300 8 300 2 4 map [128, 8, 1073741824, 1200, 2147483648]:[256, 2048, 2048, 34359736320] map [128, 2, 1073741824, 1200, 2147483648]:[256, 512, 512, 34359737856] map [128, 2, 1073741824, 1200, 2147483648]:[256, 512, 512, 34359737856] map [128, 8, 1073741824, 1200, 2147483648]:[256, 2048, 2048, 34359736320]
            f16[316, 8, 128] | f16[332, 2, 128] | f16[332, 2, 128] | f16[316, 8, 128] | i32[12] | i32[12] | 260 | 0.5 => plan: grid [3, 8, 11], _ _ _ _ _ _ _ _ 316 8 332 2 12 map [128, 8, 1073741824, 1264, 2147483648]:[256, 2048, 2048, 34359736320] map [128, 2, 1073741824, 1328, 2147483648]:[256, 512, 512, 34359737856] map [128, 2, 1073741824, 1328, 2147483648]:[256, 512, 512, 34359737856] map [128, 8, 1073741824, 1264, 2147483648]:[256, 2048, 2048, 34359736320]
            f16[316, 8, 128] | f16[332, 2, 128] | f16[332, 2, 128] | f16[316, 8, 128] | i32[12] | i32[12] | 7 | 0.5 => plan: grid [1, 8, 11], _ _ _ _ _ _ _ _ 316 8 332 2 12 map [128, 8, 1073741824, 1264, 2147483648]:[256, 2048, 2048, 34359736320] map [128, 2, 1073741824, 1328, 2147483648]:[256, 512, 512, 34359737856] map [128, 2, 1073741824, 1328, 2147483648]:[256, 512, 512, 34359737856] map [128, 8, 1073741824, 1264, 2147483648]:[256, 2048, 2048, 34359736320]
            f16[316, 8, 128] | f16[332, 6, 128] | f16[332, 6, 128] | f16[316, 8, 128] | i32[12] | i32[12] | 7 | 0.5 => refused: `h % hk == 0` does not hold with h = 8, hk = 6
            f16[316, 8, 64] | f16[332, 2, 64] | f16[332, 2, 64] | f16[316, 8, 64] | i32[12] | i32[12] | 7 | 0.5 => made: grid [1, 8, 11], _ _ _ _ _ _ _ _ 316 8 332 2 12 map [64, 8, 1073741824, 1264, 2147483648]:[128, 1024, 1024, 34359737344] map [64, 2, 1073741824, 1328, 2147483648]:[128, 256, 256, 34359738112] map [64, 2, 1073741824, 1328, 2147483648]:[128, 256, 256, 34359738112] map [64, 8, 1073741824, 1264, 2147483648]:[128, 1024, 1024, 34359737344]
        "#]],
    );
    check_std(
        "std/rope.hx",
        "rope",
        "bf16[32, 4, 128] | f32[32, 64] | f32[32, 64] | bf16[32, 4, 128]
         bf16[48, 12, 128] | f32[48, 64] | f32[48, 64] | bf16[48, 12, 128]
         bf16[48, 12, 128] | f32[48, 80] | f32[48, 80] | bf16[48, 12, 128]",
        &expect![[r#"
            bf16[32, 4, 128] | f32[32, 64] | f32[32, 64] | bf16[32, 4, 128] => made: grid [4, 1, 1], _ _ _ _ 32 4 64
            bf16[48, 12, 128] | f32[48, 64] | f32[48, 64] | bf16[48, 12, 128] => plan: grid [6, 3, 1], _ _ _ _ 48 12 64
            bf16[48, 12, 128] | f32[48, 80] | f32[48, 80] | bf16[48, 12, 128] => refused: `half == D / 2` does not hold with half = 80, D = 128
        "#]],
    );
    check_std(
        "std/moe.hx",
        "moe",
        "f16[100, 128] | f16[4, 256, 128] | i32[64] | u32[4] | f16[64, 256]
         f16[20, 192] | f16[4, 512, 192] | i32[192] | u32[12] | f16[192, 512]
         f16[20, 192] | f16[4, 512, 192] | i32[192] | u32[13] | f16[192, 512]",
        &expect![[r#"
            f16[100, 128] | f16[4, 256, 128] | i32[64] | u32[4] | f16[64, 256] => made: grid [4, 2, 1], _ _ _ _ _ 100 128 4 256 64
            f16[20, 192] | f16[4, 512, 192] | i32[192] | u32[12] | f16[192, 512] => plan: grid [12, 4, 1], _ _ _ _ _ 20 192 4 512 192
            f16[20, 192] | f16[4, 512, 192] | i32[192] | u32[13] | f16[192, 512] => refused: dimension 0 of `expert_of` is 13, and must be `rows / 16`, which is 12
        "#]],
    );
    check_std(
        "std/random.hx",
        "dropout",
        "f16[64] | f16[64] | 0.5 | 1
         f16[4096] | f16[4096] | 0.5 | 4294967295
         f16[4096] | f16[4096] | 0.5 | 4294967296
         f16[4096] | f16[4096] | 0.5 | -1",
        &expect![[r#"
            f16[64] | f16[64] | 0.5 | 1 => made: grid [1, 1, 1], _ _ _ _ 64
            f16[4096] | f16[4096] | 0.5 | 4294967295 => plan: grid [2, 1, 1], _ _ _ _ 4096
            f16[4096] | f16[4096] | 0.5 | 4294967296 => refused: found 4294967296, which does not fit, the parameter `seed` is of type u32
            f16[4096] | f16[4096] | 0.5 | -1 => refused: found -1, which does not fit, the parameter `seed` is of type u32
        "#]],
    );
}
