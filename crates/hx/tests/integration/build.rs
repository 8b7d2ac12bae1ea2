//! `hx build`. CUDA text needs no compiler; machine code is built only if the machine has one.

use std::path::Path;

use expect_test::{Expect, expect};

use super::{check, hx};

const KERNELS: (&str, &str) = (
    "k.hx",
    "kernel twice<B = 64, T: type = f16>(x: T[m, n] : [ldx, 1], y: mut T[m, n], by: f32)\n\
     \x20   where n % B == 0 && m < 1000\n\
     \x20   grid [n / B, m]\n\
     \x20   threads 32\n\
     {\n\
     \x20   let [b, row] = block_idx;\n\
     \x20   let r = register_tensor(T, [1, B]);\n\
     \x20   copy(tile(x, [1, B])[.., .., row, b], r);\n\
     \x20   copy(r + r, tile(y, [1, B])[.., .., row, b]);\n\
     }\n\
     kernel nothing(x: f32[n]) grid [1] threads 32 { }\n",
);

/// Builds in a folder with the kernels, and compares one output file without the toolchain's version.
fn built(args: &[&str], file: &str, want: &Expect) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(KERNELS.0), KERNELS.1).expect("writable");
    let output = hx(folder.path(), args);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    let text = std::fs::read_to_string(folder.path().join(file)).expect("it was built");
    let version = format!("\"hx\": \"{}\"", env!("CARGO_PKG_VERSION"));
    want.assert_eq(&text.replace(&version, "\"hx\": \"VERSION\""));
}

/// No check guards a launch of built code, so the assumed facts are printed, unless the user requested them.
#[test]
fn what_is_assumed_of_launches_is_said() {
    let build = ["build", "k.hx", "--kernel", "twice", "--emit", "cuda", "-o", "k"];
    check(
        &[KERNELS],
        &build,
        expect![[r#"
        exit 0
        --
        built `twice`: k.cu and k.json
        assumed of every launch: `ldx`, `m`, `n` multiples of 16; `x`, `y` aligned to 16 bytes; `--facts` says what else to rely on
    "#]],
    );
    check(
        &[KERNELS],
        &[&build[..], &["--facts", "n%8"]].concat(),
        expect![[r#"
        exit 0
        --
        built `twice`: k.cu and k.json
    "#]],
    );
}

#[test]
fn the_launch_is_described_for_other_programs() {
    built(
        &["build", "k.hx", "--kernel", "twice", "--set", "B=128", "--emit", "cuda", "-o", "out/twice"],
        "out/twice.json",
        &expect![[r#"
            {
              "format": 1,
              "hx": "VERSION",
              "kernel": "twice",
              "symbol": "twice",
              "target": "sm_90a",
              "kind": "cuda",
              "code": "twice.cu",
              "arguments": {
                "B": "128",
                "T": "f16"
              },
              "params": [
                {
                  "kind": "tensor",
                  "name": "x",
                  "dtype": "f16",
                  "mutable": false,
                  "shape": [
                    "m",
                    "n"
                  ],
                  "stride": [
                    "ldx",
                    "1"
                  ],
                  "align": 16
                },
                {
                  "kind": "tensor",
                  "name": "y",
                  "dtype": "f16",
                  "mutable": true,
                  "shape": [
                    "m",
                    "n"
                  ],
                  "stride": [
                    "n",
                    "1"
                  ],
                  "align": 16
                },
                {
                  "kind": "scalar",
                  "name": "by",
                  "dtype": "f32"
                },
                {
                  "kind": "symbol",
                  "name": "m",
                  "dtype": "i32"
                },
                {
                  "kind": "symbol",
                  "name": "n",
                  "dtype": "i32"
                },
                {
                  "kind": "symbol",
                  "name": "ldx",
                  "dtype": "i32"
                }
              ],
              "grid": [
                "n // 128",
                "m",
                "1"
              ],
              "cluster": [
                1,
                1,
                1
              ],
              "threads": 32,
              "shared_bytes": 0,
              "waits_for_previous": false,
              "requires": [
                {
                  "text": "n % B == 0 && m < 1000",
                  "python": "n % 128 == 0 and m < 1000"
                }
              ],
              "facts": {
                "dims": {
                  "ldx": 16,
                  "m": 16,
                  "n": 16
                }
              },
              "resources": null
            }
        "#]],
    );
}

#[test]
fn facts_are_what_the_launch_keeps() {
    built(
        &["build", "k.hx", "--kernel", "nothing", "--facts", "n%8,x@4", "--emit", "cuda", "-o", "n.cu"],
        "n.json",
        &expect![[r#"
            {
              "format": 1,
              "hx": "VERSION",
              "kernel": "nothing",
              "symbol": "nothing",
              "target": "sm_90a",
              "kind": "cuda",
              "code": "n.cu",
              "arguments": {},
              "params": [
                {
                  "kind": "tensor",
                  "name": "x",
                  "dtype": "f32",
                  "mutable": false,
                  "shape": [
                    "n"
                  ],
                  "stride": [
                    "1"
                  ],
                  "align": 4
                },
                {
                  "kind": "symbol",
                  "name": "n",
                  "dtype": "i32"
                }
              ],
              "grid": [
                "1",
                "1",
                "1"
              ],
              "cluster": [
                1,
                1,
                1
              ],
              "threads": 32,
              "shared_bytes": 0,
              "waits_for_previous": false,
              "requires": [],
              "facts": {
                "dims": {
                  "n": 8
                }
              },
              "resources": null
            }
        "#]],
    );
}

#[test]
fn mistakes_in_what_is_asked_for() {
    check(
        &[KERNELS],
        &["build", "k.hx", "-o", "k"],
        expect![[r#"
            exit 2
            --
            error: `k.hx` has `twice`, `nothing`; `--kernel NAME` says which

            For more information, try '--help'.
        "#]],
    );
    check(
        &[KERNELS],
        &["build", "k.hx", "--kernel", "twize", "-o", "k"],
        expect![[r#"
            exit 2
            --
            error: `k.hx` has no kernel `twize`; perhaps `twice` is meant

            For more information, try '--help'.
        "#]],
    );
    check(
        &[KERNELS],
        &["build", "k.hx", "--kernel", "twice", "--facts", "ld%8", "-o", "k"],
        expect![[r#"
            exit 2
            --
            error: the launch has no dimension or stride `ld`; perhaps `ldx` is meant

            For more information, try '--help'.
        "#]],
    );
    check(
        &[KERNELS],
        &["build", "k.hx", "--kernel", "twice", "--facts", "n%3", "-o", "k"],
        expect![[r#"
            exit 2
            --
            error: --facts: found `3` in `n%3`, expected 1, 2, 4, 8 or 16

            For more information, try '--help'.
        "#]],
    );
    check(
        &[KERNELS],
        &["build", "k.hx", "--kernel", "twice", "--facts", "x@1", "-o", "k"],
        expect![[r#"
        exit 2
        --
        error: found `x@1`, but elements of `f16` begin at multiples of 2 bytes

        For more information, try '--help'.
    "#]],
    );
    check(
        &[KERNELS],
        &["build", "k.hx", "--kernel", "twice", "--set", "C=3", "-o", "k"],
        expect![[r#"
            exit 2
            --
            error: `twice` has no compile-time parameter `C`

            For more information, try '--help'.
        "#]],
    );
    check(
        &[KERNELS],
        &["build", "k.hx", "--kernel", "nothing", "--emit", "cuda", "-o", "k.json"],
        expect![[r#"
            exit 2
            --
            error: the description of the launch ends in `.json`, the code needs another name

            For more information, try '--help'.
        "#]],
    );
    check(
        &[("bad.hx", "kernel k(x: f32[n]) grid [1] threads 32 { fil(x, 0.0); }")],
        &["build", "bad.hx", "--emit", "cuda", "-o", "k"],
        expect![[r#"
            exit 1
            --
            error[HX0101]: nothing in scope is called `fil`
               ╭─[ bad.hx:1:43 ]
               │
             1 │ kernel k(x: f32[n]) grid [1] threads 32 { fil(x, 0.0); }
               │                                           ─┬─
               │                                            ╰─── here
               │
               │ Help 1: `fill` is near in spelling
               │
               │ Help 2: replace it by `fill`
               │         1 - kernel k(x: f32[n]) grid [1] threads 32 { fil(x, 0.0); }
               │         1 + kernel k(x: f32[n]) grid [1] threads 32 { fill(x, 0.0); }
            ───╯

        "#]],
    );
}

#[test]
fn machine_code_is_an_elf_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let written = |name: &str| folder.path().join(name);
    std::fs::write(written(KERNELS.0), KERNELS.1).expect("writable");
    let output = hx(folder.path(), &["build", "k.hx", "--kernel", "twice", "-o", "twice"]);
    if output.status.code() == Some(3) {
        assert!(std::env::var_os("HX_REQUIRE_NVRTC").is_none_or(|v| v != "1"), "there is no CUDA compiler");
        skipped("machine_code_is_an_elf_file");
        return;
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains(" registers (ptxas)"), "{errors}");
    let read = |path: &Path| std::fs::read(path).expect("it was built");
    assert!(read(&written("twice.cubin")).starts_with(b"\x7fELF"));
    let launch: serde_json::Value = serde_json::from_slice(&read(&written("twice.json"))).expect("JSON");
    assert_eq!(launch["resources"]["spill_store_bytes"], 0);
    let output = hx(folder.path(), &["build", "k.hx", "--kernel", "twice", "--emit", "ptx", "-o", "twice"]);
    assert!(output.status.success());
    let text = String::from_utf8(read(&written("twice.ptx"))).expect("text");
    assert!(text.contains(".entry twice("), "{text}");
}

/// The assembler reads the text that the source writes, so its findings are there.
#[test]
fn findings_of_the_assembler_are_at_the_ptx() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "#[ptx(\"lg2.approx.f32 {result}, {x};\")]\n\
        fn logarithm(x: f32) -> f32 { log2(x) }\n\
        #[ptx(\"{{ .reg .f32 t;\\n rcp.approx.b99 t, {x};\\n mov.f32 {result}, t; }}\")]\n\
        fn reciprocal(x: f32) -> f32 { 1.0 / x }\n\
        kernel k(x: f32[32], y: mut f32[32]) grid [1] threads 32 {\n\
        \x20   copy(reciprocal(logarithm(load(x))), y);\n\
        }\n";
    std::fs::write(folder.path().join("k.hx"), text).expect("writable");
    let output = hx(folder.path(), &["build", "k.hx", "-o", "k", "--message-format", "short"]);
    if output.status.code() == Some(3) {
        assert!(std::env::var_os("HX_REQUIRE_NVRTC").is_none_or(|v| v != "1"), "there is no CUDA compiler");
        skipped("findings_of_the_assembler_are_at_the_ptx");
        return;
    }
    expect![[r#"
        k.hx:3:7: error[HX0233]: the assembler of the CUDA compiler refuses this text: Unknown modifier '.b99'
        k.hx:3:7: error[HX0233]: the assembler of the CUDA compiler refuses this text: Unexpected instruction types specified for 'rcp'
    "#]]
    .assert_eq(&String::from_utf8_lossy(&output.stderr));
}

/// Reports a skipped test on stderr directly, because the test harness captures and hides normal output.
fn skipped(test: &str) {
    use std::io::Write as _;
    writeln!(std::io::stderr(), "skipped: {test}: there is no CUDA compiler").expect("stderr is open");
}

/// A kernel with a family of three members.
const FAMILY: &str = "#[family(moved<B = 1024>, moved<B = 64>, rows)]
kernel moved<B = 128>(x: f32[n], y: mut f32[n]) where n % B == 0 grid [n / B] threads 32 {
    copy(load(tile(x, [B])[.., block_idx]), tile(y, [B])[.., block_idx]);
}
kernel rows(x: f32[n], y: mut f32[n]) grid [1] threads 32 {
    for i in 0..cdiv(n, 32) { copy(load(tile(x, [32])[.., i]), tile(y, [32])[.., i]); }
}
";

/// Builds a kernel of [`FAMILY`], and compares what is said.
fn of_family(more: &[&str], want: Expect) {
    check(&[("k.hx", FAMILY)], &[&["build", "k.hx", "-o", "k"], more].concat(), want);
}

/// Without a result of `hx tune`, the cost model chooses the member for a shape.
#[test]
fn a_shape_is_of_a_member() {
    let moved = ["--emit", "cuda", "--kernel", "moved", "--shape"];
    of_family(
        &[moved.as_slice(), &["n=2048"]].concat(),
        expect![[r#"
        exit 0
        --
        no result of `moved` in std/hx.tuned.toml fits this shape
        `moved` runs as `moved<B = 64>`, 0.4 µs by the cost model, the fastest of 3 members of its family that fit; next is `moved<B = 1024>`, 0.4 µs
        built `moved`: k.cu and k.json
        assumed of every launch: `n` multiples of 16; `x`, `y` aligned to 16 bytes; `--facts` says what else to rely on
    "#]],
    );
    // The code of a shape must be able to run it.
    of_family(
        &[moved.as_slice(), &["n=100"]].concat(),
        expect![[r#"
        exit 2
        --
        no result of `moved` in std/hx.tuned.toml fits this shape
        `moved` runs as `rows`, 1.4 µs by the cost model, the one member of its family that fits
        error: `n=100` of `--shape` is no multiple of 16, which the code assumes: `--facts` says what else it may rely on, `none` at worst

        For more information, try '--help'.
    "#]],
    );
    of_family(
        &[moved.as_slice(), &["n=100", "--facts", "n%4", "--no-tuned"]].concat(),
        expect![[r#"
        exit 0
        --
        `moved` runs as `rows`, 1.4 µs by the cost model, the one member of its family that fits
        built `rows`: k.cu and k.json
    "#]],
    );
    of_family(
        &["--kernel", "rows", "--shape", "n=64", "--no-tuned"],
        expect![[r#"
        exit 2
        --
        error: `--shape` takes what `hx tune` found, so `--no-tuned` leaves nothing to take

        For more information, try '--help'.
    "#]],
    );
}

/// A launcher that chooses needs a family, and the values of all its dimensions.
#[test]
fn a_range_of_shapes_is_of_a_family() {
    let c = ["--emit", "c", "--kernel", "moved", "--shapes"];
    of_family(
        &["--kernel", "moved", "--shapes", "n=64"],
        expect![[r#"
        exit 2
        --
        error: `--shapes` builds a function in C that chooses: add `--emit c`

        For more information, try '--help'.
    "#]],
    );
    of_family(
        &[c.as_slice(), &["n=64..32"]].concat(),
        expect![[r#"
        exit 2
        --
        error: --shapes: found `n=64..32`, expected `m=4096` or `m=1..=4096`

        For more information, try '--help'.
    "#]],
    );
    of_family(
        &[c.as_slice(), &["m=64"]].concat(),
        expect![[r#"
        exit 2
        --
        error: `moved` has no dimension `m`; it has `n`

        For more information, try '--help'.
    "#]],
    );
    of_family(
        &[c.as_slice(), &["n=64", "--set", "B=64"]].concat(),
        expect![[r#"
        exit 2
        --
        error: `B` decides between the members of `moved`: leave it out, or leave out `--shapes`

        For more information, try '--help'.
    "#]],
    );
    of_family(
        &["--emit", "c", "--kernel", "rows", "--shapes", "n=64"],
        expect![[r#"
        exit 2
        --
        error: `rows` has no family to choose from; `#[family(…)]` before a kernel lists one

        For more information, try '--help'.
    "#]],
    );
}
