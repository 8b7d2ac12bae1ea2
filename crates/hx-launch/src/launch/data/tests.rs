//! The kernels of `data.cu`, compiled as C++ for the CPU (`on_cpu.cpp`), against the host's own generator and comparison. Without a C++
//! compiler the test says so and proves nothing; with `HX_REQUIRE_CXX` it fails then.

#![allow(clippy::disallowed_methods, reason = "the test compiles and runs a program in C++")]
#![allow(clippy::print_stdout, reason = "a skipped test says so")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hx_host::compare::difference;
use hx_host::random::Seed;
use hx_host::{HostTensor, Tensor};

use super::*;

/// Compiles the kernels. `None` without a compiler.
fn program(folder: &Path) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/launch");
    let program = folder.join("data");
    let mut compiler = Command::new("c++");
    compiler.args(["-std=c++20", "-O1", "-ffp-contract=off", "-w", "-o"]).arg(&program);
    compiler.arg(format!("-DDATA_TEXT=\"{}\"", here.join("data.cu").display()));
    match compiler.arg(here.join("data/on_cpu.cpp")).status() {
        Ok(status) => {
            assert!(status.success(), "the C++ compiler refused the text");
            Some(program)
        }
        Err(error) => {
            assert!(std::env::var_os("HX_REQUIRE_CXX").is_none(), "no C++ compiler: {error}");
            println!("skipped: the data kernels on the CPU: no C++ compiler ({error})");
            None
        }
    }
}

fn run(program: &Path, words: &[u64], bytes: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program was compiled");
    let mut input: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    input.extend(bytes);
    child.stdin.take().expect("it is piped").write_all(&input).expect("it reads everything");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{:?}", output.status);
    output.stdout
}

/// Makes a recipe with the kernels.
fn made(program: &Path, recipe: &Recipe) -> Vec<u8> {
    let plan = plan_words(recipe).expect("the kernels know the recipe");
    let is_normal = matches!(recipe.draw(), Draw::Normal { .. });
    let bytes = hx_dtype::packed_bytes(recipe.dtype(), recipe.len()) as u64;
    let blocks = if is_normal { recipe.len() as u64 / 2 * 4 / 3 / CANDIDATES + 2 } else { 2 };
    let head = [u64::from(is_normal), blocks, bytes];
    run(program, &[&head[..], &plan].concat(), &[])
}

/// Blocks of 8 × 16 elements whose digits are interleaved, like those of `std::w4a16`.
fn blocks() -> hx_layout::Layout {
    "((4,2),(2,8)):((2,1),(8,16))".parse().expect("a layout")
}

#[test]
fn the_device_makes_the_bits_of_the_host() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = program(folder.path()) else { return };
    let seed = Seed { seed: 0x1234_5678_9abc_def0, stream: 3 };
    let mut recipes = Vec::new();
    for dtype in DType::ALL {
        if dtype.is_float() {
            // Two threads would write one byte of a narrower type: the host draws it.
            if dtype.bits() >= 8 {
                recipes.push(("normal", Recipe::normal(dtype, &[4001], seed).expect("small")));
            }
            let low = if dtype.is_scale() { 0.0 } else { -0.3 };
            let unit = Recipe::uniform(dtype, &[1003], low, 1.7, seed).expect("small");
            recipes.push(("uniform", unit));
        } else if dtype.is_int() {
            let low = dtype.min_value().max(-1e6);
            let high = dtype.max_value().min(1e6) + 1.0;
            recipes.push(("uniform", Recipe::uniform(dtype, &[1003], low, high, seed).expect("small")));
        }
    }
    let single = Recipe::normal(DType::F32, &[3000], seed).expect("small");
    // Several threads would write one byte of a narrower type: the host makes such a tensor.
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.bits() >= 8) {
        let steps = [Each::Scale(60.0), Each::Convert(dtype)];
        let recipe = steps.iter().try_fold(single.clone(), |recipe, step| recipe.then(*step));
        recipes.push(("converted", recipe.expect("floats")));
        let steps = [Each::Scale(3e5), Each::Floor, Each::Convert(dtype)];
        let recipe = steps.iter().try_fold(single.clone(), |recipe, step| recipe.then(*step));
        recipes.push(("cut", recipe.expect("floats")));
    }
    for dtype in [DType::U4, DType::I4, DType::U8, DType::F16] {
        let high = if dtype.is_float() { 1.0 } else { dtype.max_value() + 1.0 };
        let plain = Recipe::uniform(dtype, &[24, 64], 0.0, high, seed).expect("small");
        recipes.push(("blocks", plain.in_blocks(&blocks()).expect("it fits").expect("a mixed radix")));
    }
    for (what, recipe) in recipes {
        assert!(made(&program, &recipe) == recipe.bytes(), "{what} {}", recipe.dtype());
    }
}

#[test]
fn the_device_finds_the_differences_of_the_host() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = program(folder.path()) else { return };
    let tensor =
        |dtype: DType, data: Vec<u8>| Tensor::from_host(HostTensor { dtype, shape: vec![700], data });
    let compared = [DType::F16, DType::Bf16, DType::F32, DType::F64, DType::F8E4m3, DType::F8E8m0];
    for dtype in compared.into_iter().chain([DType::I8, DType::I32]) {
        let draw = |seed: u64| {
            let seed = Seed { seed, stream: 0 };
            let values = Recipe::normal(DType::F32, &[700], seed).expect("small");
            let values = values.then(Each::Scale(40.0)).and_then(|recipe| recipe.then(Each::Convert(dtype)));
            values.expect("floats").bytes()
        };
        let (x, mut y) = (draw(1), draw(2));
        y[..300].copy_from_slice(&x[..300]);
        let want = difference(&tensor(dtype, x.clone()), &tensor(dtype, y.clone())).expect("numbers");
        let decoded = Tensor::numbers(&tensor(dtype, y.clone())).expect("small").into_floats();
        let scale = decoded.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let rms = scale * (decoded.iter().map(|v| (v / scale).powi(2)).sum::<f64>() / 700.0).sqrt();
        let (blocks, poison) = (3u64, hx_host::tensor::poison_bits(dtype).unwrap_or(u64::MAX));
        let words =
            [2, blocks, x.len() as u64, type_word(dtype), 700, poison, scale.to_bits(), rms.to_bits()];
        let out = floats(&run(&program, &words, &[x, y].concat()));
        let (surveyed, rest) = out.split_at(3 * blocks as usize);
        let (squares, found) = rest.split_at(2 * blocks as usize);
        let larger = |of: &[f64], each: usize, at: usize| of.chunks(each).map(|c| c[at]).fold(0.0, f64::max);
        assert_eq!(larger(surveyed, 3, 0), scale, "{dtype}");
        // The pattern of memory never written is an ordinary `i8`.
        let any = if dtype == DType::I8 { 1.0 } else { 0.0 };
        assert_eq!((larger(surveyed, 3, 1), larger(surveyed, 3, 2)), (any, 1.0), "{dtype}");
        assert_eq!(squares.chunks(2).map(|c| c[1]).sum::<f64>(), 700.0, "{dtype}");
        let sum = squares.chunks(2).map(|c| c[0]).sum::<f64>();
        assert!((scale * (sum / 700.0).sqrt() / rms - 1.0).abs() < 1e-12, "{dtype}");
        assert_eq!((larger(found, 2, 0), larger(found, 2, 1)), (want.absolute, want.ulps), "{dtype}");
    }
}
