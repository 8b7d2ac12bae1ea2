use super::*;

/// Compares the findings for a file with that text, each as `line: message`.
fn check_text(path: &str, text: &str, expected: &[&str]) {
    let found: Vec<String> = check(path, text)
        .into_iter()
        .map(|finding| format!("{}: {}", finding.line, finding.message))
        .collect();
    assert_eq!(found, expected, "{path}");
}

fn names(line: &str, expected: &[&str]) {
    assert_eq!(instruction_names(line), expected, "{line}");
}

#[test]
fn instruction_names_in_any_spelling() {
    names("emit(\"mma.sync.aligned\")", &["mma"]);
    names("fn emit_mma_m16n8k16()", &["mma"]);
    names("struct MmaShape; struct HopperWGMMA;", &["Mma", "WGMMA"]);
    names("a cp.async copy, cp_async, CpAsync, cpasync", &["cp.async", "cp_async", "CpAsync", "cpasync"]);
    names("cp.async.bulk.tensor", &["cp.async"]);
    names("ldmatrix4 and Stmatrix", &["ldmatrix4", "Stmatrix"]);
    names("tcgen05.ld", &["tcgen05"]);
}

#[test]
fn words_that_only_look_like_it() {
    names("a comma, a summary, a command; gamma_mmap", &[]);
    names("the cp is async", &[]);
    names("", &[]);
    names("größe_mm", &[]);
}

#[test]
fn where_instructions_have_their_place() {
    let text = "// like ldmatrix\n";
    let refused = &["1: the instruction name `ldmatrix` belongs to hx-target"];
    check_text("crates/hx-synth/src/lib.rs", text, refused);
    check_text("crates/hx-synth/README.md", text, refused);
    check_text("crates/hx-synth/src/testsuite.rs", text, refused);
    for path in [
        "crates/hx-target/src/lib.rs",
        "crates/hx-target/catalogue/sm_80.toml",
        "crates/hx-synth/tests/integration/main.rs",
        "crates/hx-synth/src/solve/tests.rs",
        "crates/hx-synth/src/tests/solve.rs",
        "tests/road/main.rs",
        "std/matmul.hx",
        "book/src/layouts.md",
        "README.md",
    ] {
        check_text(path, text, &[]);
    }
}

#[test]
fn targets_of_stages() {
    let text = "let limits = Target::usual().limits;\n";
    let refused = &["1: a stage works for the target that it is given: a comment says why not here"];
    check_text("crates/hx-synth/src/lib.rs", text, refused);
    check_text("crates/hx-synth/src/cost/wave.rs", text, refused);
    check_text("crates/hx-synth/src/lib.rs", &format!("// No constant depends on the target.\n{text}"), &[]);
    check_text(
        "crates/hx-synth/src/lib.rs",
        &format!("// Something else.\n{text}"),
        &["2: a stage works for the target that it is given: a comment says why not here"],
    );
    check_text("crates/hx-synth/src/lib.rs", &format!("#[cfg(test)]\nmod tests {{\n{text}}}\n"), &[]);
    for path in
        ["crates/hx-synth/src/tests/solve.rs", "crates/hx-repl/src/lib.rs", "crates/hx-target/src/lib.rs"]
    {
        check_text(path, text, &[]);
    }
}

#[test]
fn hosts_of_registries() {
    let host = ["crates", "io"].join(".");
    let message = format!("1: `{host}` is the host of a package registry");
    check_text("book/src/install.md", &format!("see https://{host}/crates/x"), &[&message]);
    check_text("book/src/install.md", &format!("see index.{host}."), &[&message]);
    check_text("book/src/install.md", &format!("see my{host} and {host}x"), &[]);
    check_text("Cargo.lock", &format!("registry+https://{host}-index"), &[]);
}

#[test]
fn long_files() {
    let long = "fn x() {}\n".repeat(701);
    check_text("crates/hx/src/main.rs", &long, &["0: 701 lines, the most is 700"]);
    check_text("crates/hx/src/main.rs", &long[10..], &[]);
    check_text("book/src/long.md", &long, &[]);
    let generated = format!("// Written by `cargo xtask codegen` from a grammar.\n{long}");
    check_text("crates/hx-syntax/src/kind/generated.rs", &generated, &[]);
}

#[test]
fn attributes_without_a_place() {
    let text = "    #[ignore = \"slow\"]\n#[should_panic(expected = \"x\")]\n#[ignored]\n// #[ignore]\n";
    check_text(
        "crates/hx/tests/all.rs",
        text,
        &["1: a test with `ignore` shows nothing", "2: a test with `should_panic` shows nothing"],
    );
    let text = "#![allow(unsafe_code)]\n#[expect(unsafe_code, reason = \"x\")]\n#![deny(unsafe_code)]\n";
    let refused = "`unsafe` code belongs to hx-runtime";
    check_text("crates/hx-sim/src/lib.rs", text, &[&format!("1: {refused}"), &format!("2: {refused}")]);
    check_text("crates/hx-runtime/src/gpu.rs", text, &[]);
}
