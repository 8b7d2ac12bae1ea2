//! Missing parts of the machine, and errors in the command line.

use std::io::Read as _;
use std::process::Stdio;

use expect_test::expect;

use super::{MATMUL, check};
use crate::support::{self, Sandbox};

#[test]
fn no_cuda_compiler() {
    let sandbox = Sandbox::with("a.hx", MATMUL);
    let run =
        |args: &[&str]| sandbox.run_with(&[&["check", "a.hx"], args].concat(), &[("HX_NVRTC", "/nowhere")]);
    run(&["--emit", "ptx"]).check(expect![[r#"
        exit 3
        --- stderr
        error[HX0608]: the CUDA compiler (NVRTC) is not available: HX_NVRTC is `/nowhere`, which does not exist
    "#]]);
    run(&["--emit", "sass", "--message-format", "short"]).check(expect![[r#"
        exit 3
        --- stderr
        error[HX0608]: the CUDA compiler (NVRTC) is not available: HX_NVRTC is `/nowhere`, which does not exist
    "#]]);
    // A plain check does not need the missing part.
    run(&[]).check(expect![[r#"
        exit 0
        --- stderr
        checked 1 file for sm_90a: no errors
    "#]]);
    let args = ["test", "a.hx", "[64, 64, 16]", "--no-run"];
    sandbox.run_with(&args, &[("HX_NVRTC", "/nowhere")]).check(expect![[r#"
        exit 3
        --- stderr
        error[HX0608]: the CUDA compiler (NVRTC) is not available: HX_NVRTC is `/nowhere`, which does not exist
    "#]]);
}

/// `CUDA_VISIBLE_DEVICES=-1` hides the GPUs, so that the outputs are the same on a machine with a driver.
#[test]
fn no_gpu() {
    let sandbox = Sandbox::with("a.hx", MATMUL);
    let hidden = [("CUDA_VISIBLE_DEVICES", "-1")];
    for args in [
        &["test", "a.hx", "--device", "cuda"][..],
        &["test", "a.hx", "--device", "cuda:all"],
        &["test", "a.hx", "--require-gpu"],
    ] {
        let ran = sandbox.run_with(args, &hidden);
        assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{}", ran.text());
        assert!(ran.stderr.contains("error[HX0609]: "), "{}", ran.text());
    }
    let ran = sandbox.run_with(&["test", "a.hx", "[64, 64, 16]"], &hidden);
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stderr.starts_with("device: simulator (sm_90a), as "), "{}", ran.text());
}

/// Only commands that spread their work take all GPUs.
#[test]
fn all_gpus_are_not_one_device() {
    let sandbox = Sandbox::with("a.hx", MATMUL);
    for args in [&["run", "a.hx"][..], &["bench", "a.hx"], &["calibrate"], &["repl"]] {
        let ran = sandbox.run_with(args, &[("HX_DEVICE", "cuda:all")]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.text());
        assert!(
            ran.stderr.contains("`cuda:all` spreads the work of `hx test` and `hx tune`"),
            "{}",
            ran.text()
        );
    }
    let ran = sandbox.run(&["test", "a.hx", "--device", "cuda:all", "--order", "1"]);
    assert!(ran.code == 2 && ran.stderr.contains("`--order` needs the simulator"), "{}", ran.text());
}

#[test]
fn a_cache_that_cannot_be_written() {
    if support::compiler("bad_input::environment::a_cache_that_cannot_be_written").is_none() {
        return;
    }
    let sandbox = Sandbox::with("a.hx", MATMUL);
    let nvrtc = support::search_env();
    let nvrtc = hx_worker::toolkit::find_nvrtc(&nvrtc).expect("it was found before").library;
    let nvrtc = nvrtc.to_str().expect("a path in UTF-8");
    let variables = [("HX_CACHE_DIR", "a.hx/cache"), ("HX_NVRTC", nvrtc)];
    let mut ran = sandbox.run_with(&["test", "a.hx", "[64, 64, 16]", "--no-run"], &variables);
    ran.stderr = without_hashes(&ran.stderr);
    ran.check(expect![[r#"
        exit 0
        --- stdout
        test a.hx::matmul agrees with the reference[64, 64, 16] ... skipped (compiled, not run)
        0 passed, 0 failed, 1 skipped
        --- stderr
        device: none, compiling for sm_90a
        warning[HX0611]: kernel cache `a.hx/cache/HASH/HASH.kernel`: cannot be written: Not a directory (os error 20)
        warning[HX0611]: `a.hx/cache/tests/HASH.json` cannot be written: Not a directory (os error 20)
    "#]]);
    let ran = sandbox.run_with(&["check", "a.hx", "--emit", "ptx"], &variables);
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.contains(".visible .entry matmul("), "{}", ran.text());
    expect![[r#"
        warning[HX0611]: kernel cache `a.hx/cache/HASH/HASH.kernel`: cannot be written: Not a directory (os error 20)
    "#]].assert_eq(&without_hashes(&ran.stderr));
}

/// Replaces hashes in names of cache files, because they depend on every byte of the generated text.
fn without_hashes(text: &str) -> String {
    let is_hash = |part: &str| part.chars().all(|c| c.is_ascii_hexdigit());
    let part = |part: &str| match part.rsplit_once('.') {
        None if part.len() == 2 && is_hash(part) => "HASH".to_owned(),
        Some((name, ending)) if name.len() >= 16 && is_hash(name) => format!("HASH.{ending}"),
        _ => part.to_owned(),
    };
    let line = |line: &str| {
        line.split('`')
            .map(|quoted| quoted.split('/').map(part).collect::<Vec<_>>().join("/"))
            .collect::<Vec<_>>()
            .join("`")
    };
    text.lines().map(|l| line(l) + "\n").collect()
}

#[test]
fn settings_that_mean_nothing() {
    let sandbox = Sandbox::with("a.hx", MATMUL);
    sandbox.run_with(&["check", "a.hx"], &[("HX_TARGET", "sm_75")]).check(expect![[r#"
        exit 2
        --- stderr
        error: HX_TARGET: unknown target `sm_75`; known are sm_80, sm_86, sm_87, sm_89, sm_90, sm_90a, sm_100, sm_100f, sm_100a, sm_103, sm_103a, sm_110, sm_110a, sm_120, sm_120f, sm_120a, sm_121, sm_121a; GPUs of compute capability 7.5, before Ampere, are not supported

        For more information, try '--help'.
    "#]]);
    sandbox.run_with(&["test", "a.hx"], &[("HX_DEVICE", "gpu")]).check(expect![[r#"
        exit 2
        --- stderr
        error: HX_DEVICE: found the device `gpu`, expected `auto`, `sim`, `cuda`, `cuda:N` or `cuda:all`

        For more information, try '--help'.
    "#]]);
}

#[test]
fn the_command_line() {
    check(
        MATMUL,
        &["check", "a.hx", "--emits", "tile"],
        expect![[r#"
        exit 2
        --- stderr
        error: unexpected argument '--emits' found

          tip: a similar argument exists: '--emit'

        Usage: hx check --emit <STAGE> <PATHS>...

        For more information, try '--help'.
    "#]],
    );
    check(
        MATMUL,
        &["chek", "a.hx"],
        expect![[r#"
        exit 2
        --- stderr
        error: unrecognized subcommand 'chek'

          tip: a similar subcommand exists: 'check'

        Usage: hx [OPTIONS] [COMMAND]

        For more information, try '--help'.
    "#]],
    );
    check(
        MATMUL,
        &["run"],
        expect![[r#"
        exit 2
        --- stderr
        error: the following required arguments were not provided:
          <FILE>

        Usage: hx run <FILE> [-- <ARGS>...]

        For more information, try '--help'.
    "#]],
    );
    check(
        MATMUL,
        &["check", "a.hx", "--emit", "wasm"],
        expect![[r#"
        exit 2
        --- stderr
        error: invalid value 'wasm' for '--emit <STAGE>'
          [possible values: tile, constraints, layouts, thread, cuda, ptx, sass]

        For more information, try '--help'.
    "#]],
    );
    check(
        MATMUL,
        &["check", "a.hx", "--emit", "tile", "--kernel", "matmull"],
        expect![[r#"
        exit 2
        --- stderr
        error: `a.hx` has no kernel `matmull`; perhaps `matmul` is meant

        For more information, try '--help'.
    "#]],
    );
    check(
        MATMUL,
        &["check", "a.hx", "--emit", "tile", "--set", "BMM=3"],
        expect![[r#"
        exit 2
        --- stderr
        error: `matmul` has no compile-time parameter `BMM`; perhaps `BM` is meant

        For more information, try '--help'.
    "#]],
    );
    check(
        MATMUL,
        &["check", "a.hx", "--emit", "tile", "--set", "BM=?"],
        expect![[r#"
            exit 2
            --- stderr
            error: --set BM=?: `?` is not a number, element type or layout (found `?` where an integer was expected at byte 0)

            For more information, try '--help'.
        "#]],
    );
    check(
        MATMUL,
        &["run", "a.hx", "--device", "tpu"],
        expect![[r#"
        exit 2
        --- stderr
        error: invalid value 'tpu' for '--device <DEVICE>': found the device `tpu`, expected `auto`, `sim`, `cuda`, `cuda:N` or `cuda:all`

        For more information, try '--help'.
    "#]],
    );
    check(
        MATMUL,
        &["run", "a.hx", "--timeout", "-1"],
        expect![[r#"
            exit 2
            --- stderr
            error: invalid value '-1' for '--timeout <SECONDS>': expected a positive number of seconds, at most 1e9

            For more information, try '--help'.
        "#]],
    );
    check(
        MATMUL,
        &["test", "a.hx", "--device", "cuda:x"],
        expect![[r#"
        exit 2
        --- stderr
        error: invalid value 'cuda:x' for '--device <DEVICE>': found the device `cuda:x`, expected `auto`, `sim`, `cuda`, `cuda:N` or `cuda:all`

        For more information, try '--help'.
    "#]],
    );
}

#[test]
fn an_unknown_code() {
    check(
        "",
        &["explain", "HX9999"],
        expect![[r#"
        exit 2
        --- stderr
        error: there is no code `HX9999`; `hx explain` lists all

        For more information, try '--help'.
    "#]],
    );
    check(
        "",
        &["explain", "shape-mismach"],
        expect![[r#"
        exit 2
        --- stderr
        error: there is no code `shape-mismach`; perhaps HX0205 (shape-mismatch) is meant; `hx explain` lists all

        For more information, try '--help'.
    "#]],
    );
}

#[test]
fn no_test_matches() {
    check(
        MATMUL,
        &["test", "a.hx", "conv"],
        expect![[r#"
        exit 4
        --- stdout
        0 passed, 0 failed, 0 skipped
        --- stderr
        no test matches
    "#]],
    );
    check(
        MATMUL,
        &["test", "a.hx", "conv", "--list"],
        expect![[r#"
        exit 4
    "#]],
    );
    check(
        MATMUL,
        &["test", "a.hx", "matmul", "--skip", "agrees"],
        expect![[r#"
        exit 4
        --- stdout
        0 passed, 0 failed, 0 skipped
        --- stderr
        no test matches
    "#]],
    );
}

#[test]
fn a_file_without_main() {
    check(
        MATMUL,
        &["run", "a.hx", "--device", "sim"],
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        error[HX0614]: the file has no `main { … }` to run
           ╭─[ a.hx:1:1 ]
           │
         1 │ /// c[m, n] = a[m, k] · b[n, k]ᵀ, one output tile per block (Fig. 15 of the CGO paper).
           │ ┬
           │ ╰── here
           │
           │ Help: `hx test` runs its tests, `hx check` checks its kernels
        ───╯

        1 error
    "#]],
    );
}

/// Runs `hx explain | head -1`.
#[test]
fn a_reader_that_goes_away() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["explain"], &[]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().expect("it is piped").read_to_string(&mut said).expect("it is text");
    let status = child.wait().expect("the command ends");
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
}
