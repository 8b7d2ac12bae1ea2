//! Sessions of `hx repl`: scripts through pipes are here, sessions in a terminal are in `terminal`.

mod latency;
mod orders;
mod redefinition;
#[cfg(unix)]
mod terminal;

use std::io::Write as _;
use std::process::Stdio;

use expect_test::{Expect, expect};

use crate::support::{Ran, Sandbox};

/// Runs a script on the simulator.
pub(crate) fn script(sandbox: &Sandbox, args: &[&str], text: &str) -> Ran {
    let args = [&["repl"], args].concat();
    let mut command = sandbox.command(&args, &[("HX_DEVICE", "sim")]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A script that ends early leaves the rest of its input unread, so this write may fail.
    let _ = stdin.write_all(text.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    Ran { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Compares the output and the exit code of a script.
fn check(args: &[&str], text: &str, expect: Expect) {
    let ran = script(&Sandbox::new(), args, text);
    let stderr = ran.stderr.lines().map(|line| format!("! {line}\n")).collect::<String>();
    expect.assert_eq(&format!("{}{stderr}exit code {}\n", ran.stdout, ran.code));
}

#[test]
fn values_are_shown_and_names_last() {
    check(
        &[],
        "let a = arange(i32, 4)\n\
         a\n\
         _ + 1\n\
         let (x, y) = (3, \"why\"); x * 2\n\
         y\n\
         x = 10; x += 1\n\
         x\n\
         [1.0 / 0.0, -inf, 0.0 / 0.0, 1.0]\n\
         _ ; \n\
         for i in 0..2 {\n    print(i, x)\n}\n",
        expect![[r#"
            i32[4] on host
            [0, 1, 2, 3]
            i64[4] on host
            [1, 2, 3, 4]
            6
            "why"
            11
            [inf, -inf, nan, 1.0]
            0 11
            1 11
            exit code 0
        "#]],
    );
}

#[test]
fn kernels_run_where_they_are_defined() {
    check(
        &[],
        "use std::matmul::matmul\n\
         /// Twice as much.\n\
         kernel double(a: f32[m], c: mut f32[m]) grid [cdiv(m, 128)] threads 128 {\n\
             let x = load(tile(a, [128])[.., block_idx]);\n\
         \n\
             copy(x + x, tile(c, [128])[.., block_idx]);\n\
         }\n\
         let (u, v) = (uniform(f32, [200], seed: 3), empty(f32, [200]))\n\
         double(u, v)\n\
         assert_close(v, u + u, ulp: 1)\n\
         let (a, b, c) = (randn(f16, [64, 64]), randn(f16, [64, 64]), empty(f16, [64, 64]))\n\
         matmul(a, b, c)\n\
         assert_close(c, a @ b.T, ulp: 4)\n\
         c.sum() == c.sum()\n",
        expect![[r#"
            true
            ! device: simulator (sm_90a)
            exit code 0
        "#]],
    );
}

#[test]
fn a_script_ends_at_its_first_failure() {
    let text = "let a = 1\nlet b = a + nope\nprint(a)\n";
    check(
        &[],
        text,
        expect![[r#"
        ! error[HX0101]: nothing in scope is called `nope`
        !    ╭─[ cell 2:1:13 ]
        !    │
        !  1 │ let b = a + nope
        !    │             ──┬─
        !    │               ╰─── here
        ! ───╯
        exit code 1
    "#]],
    );
    check(
        &["--keep-going"],
        text,
        expect![[r#"
        1
        ! error[HX0101]: nothing in scope is called `nope`
        !    ╭─[ cell 2:1:13 ]
        !    │
        !  1 │ let b = a + nope
        !    │             ──┬─
        !    │               ╰─── here
        ! ───╯
        exit code 1
    "#]],
    );
    check(
        &[],
        "kernel k(\n",
        expect![[r#"
        ! error[HX0001]: found the end of the text where `)` for the `(` opened before was expected
        !    ╭─[ cell 1:1:10 ]
        !    │
        !  1 │ kernel k(
        !    │          │
        !    │          ╰─ here
        ! ───╯
        exit code 1
    "#]],
    );
    check(
        &[],
        "let a = 1 )\n",
        expect![[r#"
        ! error[HX0001]: found `)` where `;` was expected
        !    ╭─[ cell 1:1:11 ]
        !    │
        !  1 │ let a = 1 )
        !    │           ┬
        !    │           ╰── here
        ! ───╯
        exit code 1
    "#]],
    );
}

/// A failed entry leaves no bindings, and undoes its writes.
#[test]
fn a_failed_entry_changes_nothing() {
    check(
        &["--keep-going"],
        "let a = arange(i32, 3)\n\
         let n = 1\n\
         let m = 2; a[0] = 7; n = 5; assert(n == 6)\n\
         n\n\
         a\n\
         m\n",
        expect![[r#"
            1
            i32[3] on host
            [0, 1, 2]
            ! error[HX0612]: `n == 6` does not hold
            !    ╭─[ cell 3:1:36 ]
            !    │
            !  1 │ let m = 2; a[0] = 7; n = 5; assert(n == 6)
            !    │                                    ───┬──
            !    │                                       ╰──── here
            !    │
            !    │ Note 1: left: 5
            !    │
            !    │ Note 2: right: 6
            ! ───╯
            ! error[HX0101]: nothing in scope is called `m`
            !    ╭─[ cell 5:1:1 ]
            !    │
            !  1 │ m
            !    │ ┬
            !    │ ╰── here
            ! ───╯
            exit code 1
        "#]],
    );
}

/// No code that reaches an error runs: not through a module, a function that a kernel calls, a constant, or a definition that was
/// valid until a redefinition. Other code still runs.
#[test]
fn nothing_with_an_error_is_run() {
    let kernel = |name: &str, value: &str| {
        format!(
            "kernel {name}(y: mut f32[m]) grid [1] threads 32 {{\n    let t = load(tile(y, [32])[.., 0]);\n    copy(t + {value}, tile(y, [32])[.., 0]);\n}}\n"
        )
    };
    let sandbox = Sandbox::new();
    let module = format!(
        "fn good(x: f32) -> f32 {{\n    x\n}}\nfn bad(x: f32) -> f32 {{\n    x + missing\n}}\nconst ONE = 1;\nconst BAD: f32 = missing;\n{}{}{}",
        kernel("calls_good", "good(1.0)"),
        kernel("calls_bad", "bad(1.0)"),
        kernel("uses_constant", "BAD"),
    );
    sandbox.write("module.hx", module.as_bytes());
    let ran = script(
        &sandbox,
        &["--keep-going", "--message-format", "short"],
        &format!(
            "use module::calls_good;\nuse module::calls_bad;\nuse module::uses_constant;\nuse module::BAD;\nuse module::bad;\n\
             let y = zeros(f32, [32]);\n\
             calls_good(y)\ny[0]\ncalls_bad(y)\nuses_constant(y)\nprint(BAD)\n\
             {}own(y)\n\
             fn step(x: f32) -> f32 {{ x }}\n{}steps(y)\ny[0]\n\
             fn step(x: f32, z: f32) -> f32 {{ x + z }}\nsteps(y)\n\
             const N = 32;\n{}counts(y)\ny[0]\nconst N = (32, 1);\ncounts(y)\n\
             fn round(x: f32) -> f32 {{ round(x) }}\n\
             y[0]\n",
            kernel("own", "bad(1.0)"),
            kernel("steps", "step(1.0)"),
            kernel("counts", "cast(N / 32, f32)"),
        ),
    );
    ran.check(expect![[r#"
        exit 1
        --- stdout
        1.0
        2.0
        4.0
        5.0
        --- stderr
        device: simulator (sm_90a)
        cell 9:1:1: error[HX0101]: `calls_bad` cannot be used, because of an error in `module.hx`
        cell 9:1:1: error[HX0101]: `uses_constant` cannot be used, because of an error in `module.hx`
        cell 9:1:7: error[HX0101]: `BAD` cannot be used, because of an error in `module.hx`
        cell 9:3:14: error[HX0101]: `bad` cannot be used, because of an error in `module.hx`
        cell 9:1:1: error[HX0101]: nothing in scope is called `own`
        cell 14:3:14: error[HX0222]: `step` lacks the argument `z`
        `steps` keeps the definition from before, as the new one does not fit
        cell 20:3:19: error[HX0218]: `/` has no meaning between a tuple of 2 and an integer
        `counts` keeps the definition from before, as the new one does not fit
        cell 21:1:27: error[HX0108]: `round` calls itself
    "#]]);
}

#[test]
fn commands_answer() {
    check(
        &["--keep-going"],
        ":type 1 + 1\n\
         let a = zeros(f16, [4, 8])\n\
         :type a.T\n\
         :type nope\n\
         ?a\n\
         ?arange\n\
         ?matmul\n\
         use std::matmul::matmul\n\
         ?matmul\n\
         :type matmul\n\
         ?bf16\n\
         :layout (2,4):(4,1)\n\
         let l = swizzle<1, 0, 2> ∘ ((2,4):(4,1))\n\
         :layout l\n\
         :layuot l\n\
         :device\n\
         :device cdua\n\
         :target sm_80\n\
         :set\n\
         :set sede 4\n\
         :set precision 0\n\
         :set precision 3\n\
         [1.0/3.0, 100.0]\n\
         let thirds = full(f32, [2], 1.0/3.0)\n\
         thirds\n\
         :set precision\n\
         :set precision full\n\
         thirds\n\
         :set seed 4\n\
         :set timeout 2.5\n\
         :set\n\
         :reset\n\
         a\n\
         :quit\n\
         print(1)\n",
        expect![[r#"
            integer
            f16[8, 4] on host, strides [1, 8]
            a: f16[4, 8] on host
            arange(dtype, shape)

            The numbers 0, 1, 2, … in row-major order.

            in `test`, `bench`, `main` and the session
            kernel matmul<BM = 64, BN = 64, BK = 16>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
                where k % BK == 0
                grid [cdiv(m, BM), cdiv(n, BN)]
                threads 128

            c[m, n] = a[m, k] · b[n, k]ᵀ, one output tile per block (Fig. 15 of the CGO paper).

            128 threads · 12 KiB shared · about 48 registers (estimated)

            sm_90a, assuming `BK = 16`, `BM = 64`, `BN = 64`, all dimensions and strides multiples of 16

            `std/matmul.hx`
            kernel matmul<BM = 64, BN = 64, BK = 16>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
                where k % BK == 0
                grid [cdiv(m, BM), cdiv(n, BN)]
                threads 128
            bf16

            a floating-point number of 16 bits
            (2,4):(4,1)
               0 1 2 3
            0  0 1 2 3
            1  4 5 6 7
            swizzle<1, 0, 2> ∘ (2,4):(4,1)
               0 1 2 3
            0  0 1 2 3
            1  5 4 7 6
            device: simulator (sm_90a)
            device: simulator (sm_80)
            memory     4 GiB
            precision  full
            seed       0
            timeout    off
            [0.3333333333333333, 100.0]
            f32[2] on host
            [0.333, 0.333]
            3
            f32[2] on host
            [0.33333334, 0.33333334]
            memory     4 GiB
            precision  full
            seed       4
            timeout    2.5 s
            ! error[HX0101]: nothing in scope is called `nope`
            !    ╭─[ entry:1:1 ]
            !    │
            !  1 │ nope
            !    │ ──┬─
            !    │   ╰─── here
            ! ───╯
            ! error: nothing in scope is called `matmul`
            ! error: there is no command `:layuot`; perhaps `:layout` is meant
            ! error: found the device `cdua`, expected `auto`, `sim`, `cuda`, `cuda:N` or `cuda:all`
            ! error: there is no such setting as `sede 4`; perhaps `seed VALUE` is meant
            ! error: found the precision `0`, expected a number of digits from 1 to 17, or `full`
            ! every cell, value and loaded file is forgotten
            ! error[HX0101]: nothing in scope is called `a`
            !    ╭─[ cell 8:1:1 ]
            !    │
            !  1 │ a
            !    │ ┬
            !    │ ╰── here
            ! ───╯
            exit code 1
        "#]],
    );
}

#[test]
fn layouts_of_kernels_are_drawn_and_explained() {
    check(
        &["--keep-going"],
        ":why rc\n\
         kernel double(a: f32[m], c: mut f32[m]) grid [cdiv(m, 128)] threads 32 {\n\
             let x = load(tile(a, [128])[.., block_idx]);\n\
             copy(x + x, tile(c, [128])[.., block_idx]);\n\
         }\n\
         :layout double\n\
         :layout x\n\
         :why double.x\n\
         :why double.y\n\
         :emit tile\n\
         :emit tiel double\n",
        expect![[r#"
            x: register f32[128] = (32,4):(4,1)
                coalesced along dimension 0 of `a` (#0)
            value: register f32[128] = (32,4):(4,1)
                elementwise: as its operand (#1)
            shared memory: 0 B
            x: register f32[128] = (32,4):(4,1)
                   0     1     2     3     4     5     6     7     8     9    10    11    12    13    14    15
            0   T0V0  T0V1  T0V2  T0V3  T1V0  T1V1  T1V2  T1V3  T2V0  T2V1  T2V2  T2V3  T3V0  T3V1  T3V2  T3V3
            1   T4V0  T4V1  T4V2  T4V3  T5V0  T5V1  T5V2  T5V3  T6V0  T6V1  T6V2  T6V3  T7V0  T7V1  T7V2  T7V3
            2   T8V0  T8V1  T8V2  T8V3  T9V0  T9V1  T9V2  T9V3 T10V0 T10V1 T10V2 T10V3 T11V0 T11V1 T11V2 T11V3
            3  T12V0 T12V1 T12V2 T12V3 T13V0 T13V1 T13V2 T13V3 T14V0 T14V1 T14V2 T14V3 T15V0 T15V1 T15V2 T15V3
            4  T16V0 T16V1 T16V2 T16V3 T17V0 T17V1 T17V2 T17V3 T18V0 T18V1 T18V2 T18V3 T19V0 T19V1 T19V2 T19V3
            5  T20V0 T20V1 T20V2 T20V3 T21V0 T21V1 T21V2 T21V3 T22V0 T22V1 T22V2 T22V3 T23V0 T23V1 T23V2 T23V3
            6  T24V0 T24V1 T24V2 T24V3 T25V0 T25V1 T25V2 T25V3 T26V0 T26V1 T26V2 T26V3 T27V0 T27V1 T27V2 T27V3
            7  T28V0 T28V1 T28V2 T28V3 T29V0 T29V1 T29V2 T29V3 T30V0 T30V1 T30V2 T30V3 T31V0 T31V1 T31V2 T31V3
            kernel double: 32 threads, sm_90a
            assuming that all dimensions and strides are multiples of 16

            x: register f32[128] = (32,4):(4,1)
              #0 copy(a[block_idx.x * 128 + 0..128], x): ld.global.v4.b32, 16 B an access  at cell 1:2:9
                  the widest access
              #1 value = (x + x): elementwise  at cell 1:3:6
                  4 elements of each thread
              because: coalesced along dimension 0 of `a` (#0)
                #0 copy(a[block_idx.x * 128 + 0..128], x)
            kernel double threads 32
              grid [(m + 127) / 128]
              param a: f32[m] : [1] align 16
              param c: mut f32[m] : [1] align 16
              fact m % 16 == 0
              register x: f32[128]
              register value: f32[128]
              #0 copy(a[block_idx.x * 128 + 0..128], x)
              #1 value = (x + x)
              #2 copy(value, c[block_idx.x * 128 + 0..128])
            ! error: no kernel is called `rc`; there is none yet
            ! error: `double` has no register or shared tensor `y`; it has `x`, `value`
            ! error: there is no stage `tiel`; perhaps `tile` is meant
            exit code 1
        "#]],
    );
}

/// A session has no flags, so the message asks for the parameter after the kernel's name.
#[test]
fn a_kernel_without_a_default_instance_asks_for_its_parameter() {
    check(
        &["--keep-going"],
        "kernel fill_all<N>(y: mut f32[m]) grid [1] threads 32 {\n\
             let r = register_tensor(f32, [N]);\n\
             fill(r, 1.0);\n\
             copy(r, tile(y, [N])[.., 0]);\n\
         }\n\
         :layout r\n\
         :layout fill_all N=64\n",
        expect![[r#"
            r: register f32[64] = (32,2):(2,1)
                coalesced along dimension 0 of `y` (#1)
            shared memory: 0 B
            ! error: `fill_all` needs a value for `N`: write `N=...` behind the name
            exit code 1
        "#]],
    );
}

/// In a file `_` has no meaning, so a saved session gives the value a name.
#[test]
fn the_last_value_is_saved_with_a_name() {
    let sandbox = Sandbox::new();
    let text =
        "let last = 3\n40 + 2\n_ + last\n_ * 2 + _\nlet t = (_, last)\nint(\"7\")\n(_) + 1\n:save s.hx\n";
    let ran = script(&sandbox, &[], text);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let saved = std::fs::read_to_string(sandbox.path("s.hx")).expect("it was written");
    expect![[r#"
        main {
            let last = 3;
            let last2 = 40 + 2;
            print(last2);
            let last3 = last2 + last;
            print(last3);
            print(last3 * 2 + last3);
            let t = (_, last);
            let last4 = int("7");
            print((last4) + 1);
        }
    "#]]
    .assert_eq(&saved);
    let again = sandbox.run_with(&["run", "s.hx"], &[("HX_DEVICE", "sim")]);
    assert_eq!((again.code, again.stdout.lines().last()), (0, Some("8")), "{}", again.stderr);
}

/// A saved session is a file that `hx run` runs, and that can be loaded again.
#[test]
fn sessions_are_saved_and_files_loaded() {
    let sandbox = Sandbox::new();
    let text = "const N = 3\nlet a = arange(i32, 4)\na + N\nconst N = 4\nlet b = a * N\nprint(b.sum())\n:save s.hx\n:save s.hx\n";
    let ran = script(&sandbox, &[], text);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let saved = std::fs::read_to_string(sandbox.path("s.hx")).expect("it was written");
    expect![[r#"
        const N = 4;

        main {
            let a = arange(i32, 4);
            print(a + N);
            let b = a * N;
            print(b.sum());
        }
    "#]]
    .assert_eq(&saved);
    let ran = sandbox.run_with(&["run", "s.hx"], &[("HX_DEVICE", "sim")]);
    assert_eq!((ran.code, ran.stdout.lines().last()), (0, Some("24")), "{}", ran.stderr);

    // A name from a loaded file is imported with a `use`, if a path leads to the file.
    sandbox.write("lib.hx", b"const SIDE = 6;\nfn unused(x: f32) -> f32 { x }\n");
    let ran = script(&sandbox, &[], ":load lib.hx\nlet c = SIDE * 2\nprint(c)\n:save with.hx\n");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let saved = std::fs::read_to_string(sandbox.path("with.hx")).expect("it was written");
    assert!(saved.starts_with("use lib::SIDE;\n"), "{saved}");
    let ran = sandbox.run_with(&["run", "with.hx"], &[("HX_DEVICE", "sim")]);
    assert_eq!((ran.code, ran.stdout.lines().last()), (0, Some("12")), "{}", ran.stderr);

    // The imports of a loaded file are imported as well, whichever folder the session is saved in.
    sandbox.write("lib.hx", b"const SIDE = 6;\nconst TOP = 2;\n");
    sandbox.write(
        "deep/within/k.hx",
        b"use lib::{SIDE, TOP as UPPER};\nuse std::math::LOG2E;\nconst AREA = SIDE * SIDE;\n",
    );
    sandbox.write("other/keep.txt", b"");
    let text = ":load deep/within/k.hx\nprint(AREA + SIDE + UPPER)\n:save near.hx\n:save other/far.hx\n:save deep/within/beside.hx\n";
    let ran = script(&sandbox, &[], text);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for (path, module) in
        [("near.hx", "deep::within::k"), ("other/far.hx", "deep::within::k"), ("deep/within/beside.hx", "k")]
    {
        let saved = std::fs::read_to_string(sandbox.path(path)).expect("it was written");
        assert!(saved.contains(&format!("use {module}::AREA;\n")), "{path}: {saved}");
        assert!(saved.contains("use lib::{SIDE, TOP as UPPER};\n"), "{path}: {saved}");
        let ran = sandbox.run_with(&["run", path], &[("HX_DEVICE", "sim")]);
        assert_eq!((ran.code, ran.stdout.lines().last()), (0, Some("44")), "{path}: {}", ran.stderr);
    }
    // If two loaded files define a name, the one that was loaded last counts.
    sandbox.write("again.hx", b"const SIDE = 7;\n");
    let ran = script(&sandbox, &[], ":load lib.hx\n:load again.hx\nprint(SIDE)\n:save last.hx\n");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = sandbox.run_with(&["run", "last.hx"], &[("HX_DEVICE", "sim")]);
    assert_eq!((ran.code, ran.stdout.lines().last()), (0, Some("7")), "{}", ran.stderr);
    // No `use` can name a folder whose name is not an identifier: the command reports this, and the file lacks the name.
    sandbox.write("my-lib/k.hx", b"const SIDE = 8;\n");
    let ran = script(&sandbox, &[], ":load my-lib/k.hx\nprint(SIDE)\n:save lacks.hx\n");
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("which has `SIDE`: save beside it"), "{}", ran.stderr);

    sandbox.write("k.hx", b"const ROWS = 7;\ntest \"seven\" { assert(ROWS == 7); }\n");
    sandbox.write("bad.hx", b"const ROWS = ;\n");
    let ran = script(
        &sandbox,
        &["--keep-going"],
        ":load k.hx\nROWS\n:run seven\nconst N = ROWS + 1\nN\n:load bad.hx\n:load nowhere.hx\n:reload\nuse k::ROWS\nROWS\n",
    );
    expect![[r#"
        7
        k.hx::seven
        8
        7
        ---
        loaded `ROWS`
        error[HX0001]: found `;` where an expression was expected
           ╭─[ bad.hx:1:14 ]
           │
         1 │ const ROWS = ;
           │              ┬
           │              ╰── here
        ───╯
        nothing was loaded
        error[HX0606]: cannot open `nowhere.hx`: no such file or folder
        nothing has changed
    "#]]
    .assert_eq(&format!("{}---\n{}", without_times(&ran.stdout), ran.stderr));
}

/// Removes the times of tests from lines.
fn without_times(text: &str) -> String {
    let line = |line: &str| line.split(" ... ok (").next().unwrap_or_default().to_owned() + "\n";
    text.lines().map(line).collect()
}

/// The time limit stops a kernel that never ends, and the session continues.
#[test]
fn an_endless_kernel_is_stopped() {
    let ran = script(
        &Sandbox::new(),
        &["--keep-going", "--timeout", "2"],
        "let a = 41\n\
         kernel spin(c: mut f32[m]) grid [1] threads 32 {\n\
             let i = 0.0;\n\
             let r = register_tensor(f32, [4096]);\n\
             fill(r, 1.0);\n\
             while i >= 0.0 { i = i + 1.0; r = r * 1.5; }\n\
             copy(r, tile(c, [4096])[.., 0]);\n\
         }\n\
         let o = empty(f32, [4096])\n\
         spin(o)\n\
         a + 1\n",
    );
    expect![[r#"
        42
        ---
        error[HX0613]: `spin` did not end within the time limit
           ╭─[ cell 4:1:1 ]
           │
         1 │ spin(o)
           │ ───┬───
           │    ╰───── here
           │
           │ Help: `--timeout SECONDS` changes the limit
        ───╯
    "#]]
    .assert_eq(&format!("{}---\n{}", ran.stdout, ran.stderr));
}

/// Diagnostics have the usual formats: one line each, or objects on stdout, where remarks are left out.
#[test]
fn message_formats() {
    let text = "1 + 1\n:load nowhere.hx\nlet n: i8 = missing\n";
    check(
        &["--keep-going", "--message-format", "short"],
        text,
        expect![[r#"
            2
            ! error[HX0606]: cannot open `nowhere.hx`: no such file or folder
            ! cell 2:1:13: error[HX0101]: nothing in scope is called `missing`
            exit code 1
        "#]],
    );
    let sandbox = Sandbox::new();
    sandbox.write("k.hx", b"const ROWS = 7;\n");
    let ran = script(&sandbox, &["--keep-going", "--message-format=json"], &format!(":load k.hx\n{text}"));
    let mut found = String::new();
    for line in ran.stdout.lines() {
        let Ok(object) = serde_json::from_str::<serde_json::Value>(line) else { panic!("{line}") };
        let at = &object["spans"][0];
        let (line_at, column) = (&at["start"]["line"], &at["start"]["column"]);
        found += &match object["code"].as_str() {
            Some(code) => format!("{code} {} {line_at}:{column} {}\n", at["path"], object["message"]),
            None => format!("{line}\n"),
        };
    }
    expect![[r#"
        2
        HX0606 null null:null "cannot open `nowhere.hx`: no such file or folder"
        HX0101 "cell 2" 1:13 "nothing in scope is called `missing`"
    "#]]
    .assert_eq(&found);
    assert_eq!((ran.stderr.as_str(), ran.code), ("", 1));
}
