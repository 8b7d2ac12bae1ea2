//! Sessions of `hx repl`: scripts through pipes.

use std::io::Write as _;
use std::process::Stdio;

use expect_test::{Expect, expect};

use crate::support::{Ran, Sandbox};

/// Runs a script on the simulator.
fn script(sandbox: &Sandbox, args: &[&str], text: &str) -> Ran {
    let args = [&["repl"], args].concat();
    let mut command = sandbox.command(&args, &[("HX_DEVICE", "sim")]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A script that ends early leaves the rest unread.
    let _ = stdin.write_all(text.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    Ran { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// What a script says and how it ends.
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

/// What a failed entry bound or wrote is not there afterwards.
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
