//! The matmul of the language's first page, from its text through every stage: tile program, layouts, thread program, simulator,
//! CUDA text, machine code. This file computes the reference product in f64 itself. The verifier, which shares no code with the
//! solver, checks the layouts.

use std::collections::BTreeMap;

use half::{bf16, f16};
use hx_compile::{
    CtArgs, CtValue, Instance, LaunchFacts, cuda_source, solved, thread_program, tile_program, violations,
};
use hx_hir::{Name, file_items};
use hx_index::Symbol;
use hx_sim::{Argument, Config, Report};
use hx_target::Target;
use hx_tile::Choice;
use hx_worker::{CompileJob, disassemble};
use hx_workspace::Database;

use crate::ledger::{Asked, CodeReport, Extent, outcomes};
use crate::support::{self, LIMITS, Random};

/// The text of the shipped matmul.
const TEXT: &str = include_str!("../std/matmul.hx");

/// A way to compile and launch the kernel.
struct Case {
    name: &'static str,
    /// BM, BN, BK.
    tile: [i64; 3],
    threads: u32,
    /// The element type is bf16 instead of f16.
    bf16: bool,
    /// `b` is `[n, k]` with the strides `[1, ldb]`.
    transposed: bool,
    /// The usual one if it is not named.
    target: Option<&'static str>,
    /// m, n, k of each launch.
    sizes: &'static [[i64; 3]],
}

impl Case {
    const fn new(name: &'static str, sizes: &'static [[i64; 3]]) -> Case {
        let tile = [64, 64, 16];
        Case { name, tile, threads: 128, bf16: false, transposed: false, target: None, sizes }
    }
}

impl Case {
    fn target(&self) -> Target {
        self.target.map_or_else(Target::usual, Target::builtin)
    }
}

/// All cases. Each has its own test below, and one more test compiles all of them with the CUDA compiler.
const CASES: &[Case] = &[
    Case::new("tile_64_64_16", &[[64, 64, 16], [128, 192, 64], [64, 64, 0]]),
    Case {
        tile: [96, 80, 48],
        ..Case::new("tile_96_80_48", &[[96, 80, 48], [192, 160, 96], [100, 72, 144]])
    },
    Case { threads: 96, ..Case::new("with_96_threads", &[[64, 64, 16], [128, 96, 48], [100, 72, 32]]) },
    Case {
        tile: [96, 80, 48],
        threads: 96,
        ..Case::new("tile_96_80_48_with_96_threads", &[[96, 80, 48], [97, 81, 96]])
    },
    Case::new(
        "ragged",
        &[[100, 72, 48], [65, 63, 16], [1, 1, 16], [33, 7, 32], [130, 66, 80], [127, 200, 16]],
    ),
    Case { bf16: true, ..Case::new("in_bf16", &[[64, 64, 16], [100, 72, 48], [65, 63, 32]]) },
    Case { transposed: true, ..Case::new("transposed_b", &[[64, 64, 16], [100, 72, 48], [65, 63, 32]]) },
    Case { target: Some("sm_80"), ..Case::new("for_sm_80", &[[64, 64, 16], [100, 72, 48]]) },
];

/// Returns the text of a case: the shipped kernel with the header of the case.
fn text_of(case: &Case) -> String {
    let mut text = TEXT.to_owned();
    let mut replace = |from: &str, to: &str| {
        assert!(text.contains(from), "std/matmul.hx no longer has `{from}`");
        text = text.replace(from, to);
    };
    if case.threads != 128 {
        replace("threads 128", &format!("threads {}", case.threads));
    }
    if case.transposed {
        replace("b: f16[n, k]", "b: f16[n, k] : [1, ldb]");
        replace("(BN, BK, k / BK) : (k, 1, BK)", "(BN, BK, k / BK) : (1, ldb, BK * ldb)");
    }
    if case.bf16 {
        replace("f16", "bf16");
    }
    text
}

/// Runs `run` with a database that has the text, and the instance that a launch of this size uses.
fn with_instance<T>(case: &Case, size: [i64; 3], run: impl FnOnce(&Database, Instance<'_>) -> T) -> T {
    let mut db = Database::default();
    let file = db.set_overlay("road.hx", &text_of(case));
    let kernel = file_items(&db, file).kernels().next().expect("the file has a kernel");
    let parameters = ["BM", "BN", "BK"].into_iter().map(Name::new);
    let args: CtArgs = parameters.zip(case.tile.map(CtValue::Int)).collect();
    let dims = symbols(case, size).into_iter();
    let dims = dims.map(|(name, value)| (Name::new(name), LaunchFacts::divisor_of(value))).collect();
    let facts = LaunchFacts { dims, ..LaunchFacts::all_16() };
    run(&db, Instance::chosen(&db, kernel, args, case.target(), facts))
}

/// Returns the symbols that a launch binds.
fn symbols(case: &Case, [m, n, k]: [i64; 3]) -> BTreeMap<&'static str, i64> {
    let mut symbols = BTreeMap::from([("m", m), ("n", n), ("k", k)]);
    if case.transposed {
        symbols.insert("ldb", n);
    }
    symbols
}

/// Element types of 16 bits, converted by a package that the compiler does not use.
struct Half {
    bf16: bool,
}

impl Half {
    fn encode(&self, x: f64) -> u16 {
        if self.bf16 { bf16::from_f64(x).to_bits() } else { f16::from_f64(x).to_bits() }
    }

    fn decode(&self, bits: u16) -> f64 {
        if self.bf16 { bf16::from_bits(bits).to_f64() } else { f16::from_bits(bits).to_f64() }
    }

    /// Returns the spacing of numbers around x, at least the spacing around 1.
    fn ulp(&self, x: f64) -> f64 {
        let digits = if self.bf16 { 7 } else { 10 };
        2f64.powi(x.abs().max(1.0).log2().floor() as i32 - digits)
    }
}

/// Runs every launch of a case on the simulator and compares every element.
#[expect(clippy::print_stderr, reason = "the harness shows it where a test fails")]
fn check(name: &str) {
    let case = CASES.iter().find(|case| case.name == name).expect("the case is listed");
    for &size in case.sizes {
        with_instance(case, size, |db, instance| {
            let seed = support::seed();
            eprintln!("{name} {size:?}, HX_TEST_SEED={seed}");
            assert_eq!(violations(db, instance), &[], "the verifier rejects the layouts");
            launch(case, size, seed, db, instance);
        });
    }
}

fn launch(case: &Case, size: [i64; 3], seed: u64, db: &Database, instance: Instance<'_>) {
    let [m, n, k] = size;
    let half = Half { bf16: case.bf16 };
    let mut random = Random::new(seed);
    let mut matrix = |rows: i64, columns: i64| -> Vec<u16> {
        (0..rows * columns).map(|_| half.encode(random.normal())).collect()
    };
    let (a, b) = (matrix(m, k), matrix(n, k));
    // Fill with NaN, so that an element that is never written fails the comparison.
    let poison = vec![0x7fff_u16; (m * n) as usize];
    let b_stride = if case.transposed { [1, n] } else { [k, 1] };
    let tensor = |data: &[u16], shape: [i64; 2], stride: [i64; 2]| Argument::Tensor {
        bytes: data.iter().flat_map(|bits| bits.to_le_bytes()).collect(),
        shape: shape.to_vec(),
        stride: stride.to_vec(),
        base_align: 16,
    };
    let mut arguments =
        [tensor(&a, [m, k], [k, 1]), tensor(&b, [n, k], b_stride), tensor(&poison, [m, n], [n, 1])];
    let symbols =
        symbols(case, size).into_iter().map(|(name, value)| (Symbol::Dim(name.into()), value)).collect();
    let program = thread_program(db, instance).as_ref().expect("the kernel has a thread program");
    let report = hx_sim::run(program, &symbols, &mut arguments, &Config::default()).expect("the kernel runs");
    check_conflicts(db, instance, &report, (k / case.tile[2]) as u64);

    let Argument::Tensor { bytes, .. } = &arguments[2] else { unreachable!("it is a tensor") };
    for i in 0..m {
        for j in 0..n {
            let product = |x: i64| {
                let (at_a, at_b) = (i * k + x, j * b_stride[0] + x * b_stride[1]);
                half.decode(a[at_a as usize]) * half.decode(b[at_b as usize])
            };
            let want: f64 = (0..k).map(product).sum();
            let at = ((i * n + j) * 2) as usize;
            let got = half.decode(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
            // The bound is half an ulp for the final rounding, plus a margin for sums in f32.
            let bound = 0.51 * half.ulp(want);
            assert!((got - want).abs() <= bound, "c[{i}, {j}] is {got}, the product is {want}");
        }
    }
}

/// Checks that the solver's bank conflicts equal the simulator's counts.
fn check_conflicts(db: &Database, instance: Instance<'_>, report: &Report, rounds: u64) {
    let found = solved(db, instance).as_ref().expect("the kernel has layouts");
    let (program, solution) = (&found.program, &found.solution);
    let runs: BTreeMap<_, _> =
        program.ops(rounds as f64).into_iter().map(|(op, runs)| (op.id, runs as u64)).collect();
    for (op, choice) in &solution.choices {
        let Choice::Copy(copy) = choice else { continue };
        let Some(said) = copy.conflicts else { continue };
        let counted = report.ops.get(op).copied().unwrap_or_default();
        let blocks = report.blocks * runs[op];
        assert_eq!(
            (counted.wavefronts, counted.ideal_wavefronts),
            (said.wavefronts * blocks, said.ideal * blocks),
            "wavefronts of operation #{} in {blocks} blocks",
            op.0
        );
    }
}

#[test]
fn tile_64_64_16() {
    check("tile_64_64_16");
}

#[test]
fn tile_96_80_48() {
    check("tile_96_80_48");
}

#[test]
fn with_96_threads() {
    check("with_96_threads");
}

#[test]
fn tile_96_80_48_with_96_threads() {
    check("tile_96_80_48_with_96_threads");
}

#[test]
fn ragged() {
    check("ragged");
}

#[test]
fn in_bf16() {
    check("in_bf16");
}

#[test]
fn transposed_b() {
    check("transposed_b");
}

#[test]
fn for_sm_80() {
    check("for_sm_80");
}

/// The CUDA compiler accepts every text without a warning.
#[test]
fn compiled_by_nvrtc() {
    let texts = CASES.iter().flat_map(|case| {
        case.sizes.iter().map(move |size| (case, size, with_instance(case, *size, cuda_text)))
    });
    let texts: Vec<_> = texts.collect();
    let asked =
        texts.iter().map(|(case, _, text)| Asked { text, target: case.target(), extent: Extent::Resources });
    let Some(outcomes) = outcomes("road::compiled_by_nvrtc", &asked.collect::<Vec<_>>()) else { return };
    for ((case, size, _), outcome) in texts.iter().zip(outcomes) {
        let CodeReport { stack, spilled, warnings, .. } =
            outcome.unwrap_or_else(|found| panic!("{} {size:?}: {found:?}", case.name));
        assert_eq!((stack, spilled, warnings), (0, 0, 0), "{} {size:?}", case.name);
    }
}

fn cuda_text(db: &Database, instance: Instance<'_>) -> String {
    cuda_source(db, instance).as_ref().expect("the kernel has CUDA text").text.clone()
}

/// The machine code uses the tensor cores, and 16-byte accesses where the layouts say so.
#[test]
fn machine_code() {
    let Some((compiler, mut worker)) = support::compiler("road::machine_code") else { return };
    let text = with_instance(&CASES[0], [64, 64, 16], cuda_text);
    let job = CompileJob::new(text, "road.cu", Target::usual().name.as_str());
    let compiled = compiler.compile(&mut worker, &job, &LIMITS).expect("the text compiles").compiled;
    let sass = match disassemble(&support::search_env(), &compiled.code, &LIMITS) {
        Ok(listing) => listing.text(),
        Err(absence) => return support::skip("road::machine_code", &absence.to_string(), "HX_REQUIRE_NVRTC"),
    };
    let count = |name: &str| sass.lines().filter(|line| line.contains(name)).count();
    // 64 · 64 · 16 multiplications on 4 warps, which execute one instruction together.
    assert_eq!(count("HGMMA.64x64x16.F32 "), 1, "{sass}");
    // 8192 bytes on 128 threads, with 16 bytes for each access.
    assert_eq!([count("STSM.16.M88.4 "), count("LDS.128 "), count("STG.E.128 ")], [4, 4, 4], "{sass}");
    assert_eq!([count(" STL"), count(" LDL")], [0, 0], "{sass}");
}

/// The tile program of the default instance has the operations of the paper's figure, in their order. The tiles of a round go through
/// shared memory, where the products read them.
#[test]
fn the_tile_program_is_the_figure() {
    with_instance(&CASES[0], [64, 64, 16], |db, instance| {
        let lowered = tile_program(db, instance).as_ref().expect("the kernel has a tile program");
        let names: Vec<String> = lowered
            .program
            .ops(1.0)
            .into_iter()
            .map(|(op, _)| hx_tile::op_text(&lowered.program, op))
            .collect();
        let round = ["sync", "copy_async", "copy_async", "commit", "wait", "sync", "gemm"];
        let behind = ["rc_f16 = cast", "copy", "sync", "copy", "copy"];
        let starts: Vec<&str> = std::iter::once("fill").chain(round).chain(behind).collect();
        assert_eq!(names.len(), starts.len(), "{names:#?}");
        assert!(names.iter().zip(starts).all(|(name, start)| name.starts_with(start)), "{names:#?}");
    });
}
