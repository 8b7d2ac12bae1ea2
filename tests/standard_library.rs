//! The standard library: the verifier accepts the layouts of every kernel, every test passes on the simulator, and every kernel
//! that the tests launch compiles for each architecture.

use hx_target::Target;

use crate::compiled::{every_instance, judged};
use crate::instances::{Launched, launched};
use crate::ledger::{Asked, CodeReport, Extent, outcomes};
use crate::support::{self, Sandbox};

#[test]
fn solutions_are_verified() {
    for target in support::GENERATIONS.map(Target::builtin) {
        let files = support::std_files(target);
        let mut args = vec!["check", "--verify", "--target", target.name()];
        args.extend(files.iter().map(String::as_str));
        let ran = Sandbox::new().run(&args);
        assert_eq!(ran.code, 0, "{}", ran.text());
        assert!(!ran.stderr.contains("warning"), "{}", ran.text());
    }
}

/// The results of tuning that come with the library are of its present texts, and each of their members can be built.
#[test]
fn results_of_tuning_are_of_these_texts() {
    let tuned = support::root().join("std/hx.tuned.toml");
    let results = std::fs::read_to_string(&tuned).expect("a text in UTF-8").matches("[[tuned]]").count();
    let tuned = format!("--tuned={}", tuned.to_str().expect("a path in UTF-8"));
    let ran = Sandbox::new().run(&["check", "std/gemm.hx", "--target", "sm_90a", &tuned]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.text().contains(&format!("checked {results} results of ")), "{}", ran.text());
    assert!(!ran.text().contains("stale"), "{}", ran.text());
}

#[test]
fn tests_pass() {
    let ran = Sandbox::new().run(&["test", "std", "--device", "sim"]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.ends_with(" passed, 0 failed, 0 skipped\n"), "{}", ran.text());
}

/// The code of the library's kernels is as wide before Hopper: assertions on it name the instructions of both. (`sm_89` has those
/// of `sm_80`.)
#[test]
fn assertions_on_code_hold_before_hopper() {
    let beyond = support::root().join("tests/kernels/beyond.hx");
    let files = ["test", "std", beyond.to_str().expect("a path in UTF-8")];
    let names = ["moves 16 bytes", "tiles, steps and threads", "transposed operand"];
    let ran = Sandbox::new().run(&[&files[..], &names, &["--device", "sim", "--target", "sm_80"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.ends_with(" passed, 0 failed, 0 skipped\n"), "{}", ran.text());
}

/// Constructs that the library does not use, each compared with a reference.
#[test]
fn kernels_of_single_constructs_pass() {
    for folder in ["tests/kernels", "tests/kernels_sm_89", "tests/kernels_sm_90a"] {
        let folder = support::root().join(folder);
        let ran = Sandbox::new().run(&["test", folder.to_str().expect("a path in UTF-8"), "--device", "sim"]);
        assert_eq!(ran.code, 0, "{}", ran.text());
        assert!(ran.stdout.ends_with(" passed, 0 failed, 0 skipped\n"), "{}", ran.text());
    }
}

/// Before `sm_89` there are no products of 8-bit floats: every one is reported with its place.
#[test]
fn products_of_eight_bit_floats_are_refused_before_sm_89() {
    let folder = support::root().join("tests/kernels_sm_89");
    let folder = folder.to_str().expect("a path in UTF-8");
    let ran = Sandbox::new().run(&["check", folder, "--target", "sm_80", "--message-format", "short"]);
    assert_eq!(ran.code, 1, "{}", ran.text());
    let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("error[")).collect();
    assert!(errors.len() >= 2 && errors.iter().all(|e| e.contains("HX0302")), "{}", ran.text());
}

/// Clusters and roles begin with `sm_90a`, and the error names that target.
#[test]
fn clusters_and_roles_are_refused_before_sm_90a() {
    let folder = support::root().join("tests/kernels_sm_90a");
    let folder = folder.to_str().expect("a path in UTF-8");
    let ran = Sandbox::new().run(&["check", folder, "--target", "sm_89", "--message-format", "short"]);
    assert_eq!(ran.code, 1, "{}", ran.text());
    for word in ["`cluster`", "`warp_groups`"] {
        let mut refused = ran.stderr.lines().filter(|line| line.contains("error[HX0504]"));
        assert!(refused.any(|line| line.contains(word)), "{word}: {}", ran.text());
    }
    assert!(ran.text().contains("sm_90a"), "{}", ran.text());
}

/// Before `sm_90` copies signal no barriers in shared memory: every pipeline is refused with the first target that has them.
#[test]
fn pipelines_are_refused_before_sm_90() {
    let folder = support::root().join("tests/kernels_sm_90a");
    let file = folder.join("pipelines.hx");
    let file = file.to_str().expect("a path in UTF-8");
    for target in ["sm_80", "sm_89"] {
        let ran = Sandbox::new().run(&["check", file, "--target", target]);
        assert_eq!(ran.code, 1, "{}", ran.text());
        let refused = format!("error[HX0302]: {target} has no barriers in shared memory that copies signal");
        assert!(ran.stderr.contains(&refused), "{}", ran.text());
        assert!(ran.stderr.contains("there is one from sm_90 on"), "{}", ran.text());
    }
}

/// The gate of the machine code compiles the kernels for its own architecture. `HX_EVERY_INSTANCE=1` compiles the library for
/// each of the others; without it, one of them stands for both. A text that the [`crate::ledger`] knows is not compiled again.
#[test]
fn kernels_compile() {
    for target in support::GENERATIONS.map(Target::builtin).into_iter().filter(|target| *target != judged()) {
        // The library has the same texts on sm_89 as on sm_80, but for the products of `f8`, which `kernels_sm_89` has.
        let again = target == Target::builtin("sm_89") && !every_instance();
        let chosen = |found: &&Launched| !again || found.name.starts_with("kernels");
        let all: Vec<&Launched> = launched(target).iter().filter(chosen).collect();
        let asked = all.iter().map(|found| Asked { text: &found.text, target, extent: Extent::Resources });
        let asked: Vec<Asked<'_>> = asked.collect();
        let Some(outcomes) = outcomes("standard_library::kernels_compile", &asked) else { return };
        let refused =
            all.iter().zip(outcomes).filter_map(|(found, outcome)| Some((&found.name, outcome.err()?)));
        let refused: Vec<_> = refused.collect();
        assert!(refused.is_empty() && !all.is_empty(), "{target}: {refused:#?}");
    }
}

/// The machine code of each kernel at its benchmark size: 16-byte accesses, matrix instructions, and no spills.
#[test]
fn machine_code_is_wide_and_does_not_spill() {
    let wide = ["LDG.E.128", "STG.E.128"];
    let [hopper, before] = ["sm_90a", "sm_89"];
    let by_descriptor = ["LDGSTS.E.BYPASS.128", "HGMMA.64x128x16.F32", "STG.E.128"];
    let by_fragments = ["LDGSTS.E.BYPASS.128", "LDSM.16.M88.4", "HMMA.16816.F32", "STG.E.128"];
    let turned = ["LDG.E.128", "STSM.16.MT88.4", "LDS.128", "STG.E.128"];
    let staged = ["LDGSTS.E.BYPASS.128", "HGMMA.64x128x16.F32", "STSM.16.M88.4", "LDS.128", "STG.E.128"];
    let cases: [(&str, &str, &str, &str, &[&str]); 19] = [
        ("softmax", "softmax", "BN=8192", hopper, &wide),
        ("norm", "rmsnorm", "BN=8192", hopper, &wide),
        ("norm", "layernorm", "BN=8192", hopper, &wide),
        ("transpose", "transpose", "BM=64", hopper, &turned),
        ("gemv", "gemv", "BM=8", hopper, &["LDG.E.128"]),
        ("elementwise", "add", "B=2048", hopper, &wide),
        ("elementwise", "silu", "B=2048", hopper, &wide),
        ("rope", "rope", "D=128", hopper, &wide),
        ("cross_entropy", "cross_entropy", "BN=16384", hopper, &["LDG.E.128"]),
        ("cross_entropy", "cross_entropy_backward", "BN=2048", hopper, &wide),
        ("norm_backward", "rmsnorm_backward", "BN=8192", hopper, &wide),
        ("norm_backward", "layernorm_backward", "BN=8192", hopper, &wide),
        ("gemm_bias_act", "gemm_bias_act", "ACT=gelu", hopper, &by_descriptor),
        ("gemm_bias_act", "gemm_bias_act", "ACT=gelu", before, &by_fragments),
        ("mlp", "mlp", "W=128", hopper, &by_descriptor),
        ("mlp", "mlp", "W=128", before, &by_fragments),
        ("moe", "moe", "BM=128", hopper, &by_descriptor),
        ("matmul_pipelined", "matmul_pipelined", "BM=128", hopper, &staged),
        ("matmul_pipelined", "matmul_pipelined", "BM=128", before, &by_fragments),
    ];
    let texts = cases.map(|(file, kernel, set, target, _)| {
        let path = format!("std/{file}.hx");
        let args = ["check", &path, "--kernel", kernel, "--set", set, "--target", target, "--emit", "cuda"];
        let ran = Sandbox::new().run(&args);
        assert_eq!(ran.code, 0, "{}", ran.text());
        ran.stdout
    });
    let asked = cases.iter().zip(&texts).map(|((_, _, _, target, _), text)| {
        let target = Target::builtin(target);
        Asked { text, target, extent: Extent::Code }
    });
    let asked: Vec<Asked<'_>> = asked.collect();
    let test = "standard_library::machine_code_is_wide_and_does_not_spill";
    let Some(outcomes) = outcomes(test, &asked) else { return };
    for ((_, kernel, _, target, wanted), outcome) in cases.iter().zip(outcomes) {
        let CodeReport { opcodes, .. } =
            outcome.unwrap_or_else(|found| panic!("{kernel} for {target}: {found:?}"));
        for name in *wanted {
            assert!(opcodes.contains(*name), "{kernel} for {target}: no {name}");
        }
        let spills = opcodes.iter().find(|name| name.starts_with("LDL") || name.starts_with("STL"));
        assert_eq!(spills, None, "{kernel} for {target} spills");
    }
}
