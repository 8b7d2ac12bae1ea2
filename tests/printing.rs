//! `print` and `assert` in kernels, from outside: the same text in every run, diagnostics at the assertions, code for every
//! architecture.
//!
//! On a GPU the same file prints the same text; its first lines contain the command that compares the two.

use expect_test::expect;

use crate::support::{self, Sandbox};

fn file() -> String {
    support::root().join("tests/gpu/print.hx").display().to_string()
}

#[test]
fn what_is_printed_is_the_same_every_time() {
    let run = || Sandbox::new().run(&["run", &file(), "--device", "sim", "--message-format", "short"]);
    let (once, again) = (run(), run());
    assert_eq!((&once.stdout, &once.stderr), (&again.stdout, &again.stderr));
    let starting = |start: &str| -> String {
        let lines = once.stdout.lines().filter(|line| line.starts_with(start));
        lines.map(|line| format!("{line}\n")).collect()
    };
    expect![[r#"
        until block [0]: left = 3
        until block [0]: left = 1
        until block [2]: left = 7
        until block [2]: left = 5
        until block [2]: left = 3
        until block [2]: left = 1
        until block [3]: left = 1
    "#]]
    .assert_eq(&starting("until"));
    expect![[r#"
        product block [0, 0]: s = f32[32, 16]
        product block [0, 0]: s[8..16, 8..16].T = f32[8, 8]
        product block [0, 0]: sum(acc, axis: 1) = f32[32, 1]
        product block [0, 0]: cast(acc, bf16) = bf16[32, 16]
        product block [0, 1]: after ki = 0
        product block [0, 1]: acc = f32[32, 16]
        product block [0, 1]: after ki = 1
        product block [0, 1]: acc = f32[32, 16]
    "#]]
    .assert_eq(&starting("product"));
    expect!["crowd: 32 more prints were dropped, for want of room; `if` around a print picks a block"]
        .assert_eq(once.stdout.lines().last().unwrap_or_default());
    expect![[r#"
        device: simulator (sm_90a)
        $ROOT/tests/gpu/print.hx:73:16: error[HX0612]: an element is too large
        $ROOT/tests/gpu/print.hx:74:16: error[HX0612]: `sum(r, axis: 1) < limit * 16.0` does not hold
        $ROOT/tests/gpu/print.hx:77:12: error[HX0612]: three blocks are too many
        3 errors
    "#]]
    .assert_eq(&once.stderr);
}

/// Returns a folder with the file `k.hx`: a kernel with these statements after its product.
fn kernel(statements: &str) -> Sandbox {
    let text = format!(
        "kernel k(a: f16[m, k], b: f16[n, k], c: mut f32[m, n]) grid [1] threads 64 {{
            let (ra, rb) = (load(tile(a, [32, 16])[.., .., 0, 0]), load(tile(b, [16, 16])[.., .., 0, 0]));
            let acc = register_tensor(f32, [32, 16]);
            fill(acc, 0.0);
            gemm(acc, ra, rb);
            {statements}
            copy(acc, tile(c, [32, 16])[.., .., 0, 0]);
        }}"
    );
    Sandbox::with("k.hx", &text)
}

#[test]
fn prints_leave_layouts_as_they_are_and_show_in_every_stage() {
    let emit = |sandbox: &Sandbox, stage: &str| {
        let ran = sandbox.run(&["check", "k.hx", "--emit", stage]);
        assert_eq!(ran.code, 0, "{}", ran.text());
        ran.stdout
    };
    let (plain, printing) =
        (kernel(""), kernel("print(\"done\", acc); assert(sum(acc, axis: 1) < 9.0, \"small\");"));
    let layouts: Vec<String> = emit(&plain, "layouts").lines().map(str::to_owned).collect();
    let own = emit(&printing, "layouts");
    let tensor = |line: &&String| line.contains(": register");
    for line in layouts.iter().filter(tensor) {
        assert!(own.lines().any(|l| l == line), "{line}\n{own}");
    }
    assert!(!emit(&plain, "cuda").contains("hx_log"));
    let shown = |stage: &str, around: &str, count: usize| -> String {
        let text = emit(&printing, stage);
        let lines = text.lines().skip_while(|line| !line.contains(around)).take(count);
        lines.map(|line| format!("{}\n", line.trim_start())).collect()
    };
    expect![[r##"
        #4 print("done", acc)
        #5 reduced = reduce(acc, axis: 1, +)
        #6 shown = (reduced < 9.0)
        #7 assert(shown, "small")
    "##]]
    .assert_eq(&shown("tile", "print(", 4));
    expect![[r#"
        // #4 print("done", acc)
        print "done" f32[32, 16]
        let row = (thread / 32) * 16 + ((thread / 4) % 8)
        let col = (thread % 4) * 2
        for l in 0..2 unroll
        for j in 0..2 unroll
        for i in 0..2 unroll
        [col + i + j * 128 + l * 8 + row * 16] <- acc[i + j * 2 + l * 4 + {0}]
    "#]]
    .assert_eq(&shown("thread", "// #4", 8));
}

#[test]
fn results_are_those_without_prints() {
    let ran = Sandbox::new().run(&["test", &file(), "--device", "sim"]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.ends_with("\n8 passed, 0 failed, 0 skipped\n"), "{}", ran.text());
    for target in support::GENERATIONS {
        let ran = Sandbox::new().run(&["check", &file(), "--verify", "--target", target]);
        assert_eq!(ran.code, 0, "{}", ran.text());
    }
}

#[test]
fn printing_kernels_compile() {
    if support::compiler("printing::printing_kernels_compile").is_none() {
        return;
    }
    let found = hx_worker::toolkit::find_nvrtc(&support::search_env()).expect("it was found before");
    let nvrtc = found.library.to_str().expect("a path in UTF-8");
    for target in support::GENERATIONS {
        let args = ["test", &file(), "--no-run", "--target", target, "--nvrtc", nvrtc];
        let ran = Sandbox::new().run(&args);
        assert_eq!(ran.code, 0, "{}", ran.text());
        assert!(ran.stdout.ends_with("\n0 passed, 0 failed, 8 skipped\n"), "{}", ran.text());
    }
}

/// The text of each group is in the order of time, those of the roles follow that of the block.
#[test]
fn roles_print_and_assert() {
    let text = "kernel k(x: f16[m], y: mut f16[m]) grid [2] {
    print(\"block\", block_idx);
    warp_groups {
        producer {
            let t = load(tile(x, [128])[.., 0]);
            print(\"sum\", sum(t, axis: 0), block_idx);
            copy(t, tile(y, [128])[.., 0]);
        }
        consumer each 2 (g) {
            for i in 0..2 { print(\"round\", i, \"of\", g); }
            assert(g < 1, \"one group is enough\");
            copy(load(tile(x, [64])[.., 2 + g]), tile(y, [64])[.., 2 + g]);
        }
    }
}
main {
    let (x, y) = (ones(f16, [256]), empty(f16, [256]));
    k(x, y);
}
";
    let ran =
        Sandbox::with("k.hx", text).run(&["run", "k.hx", "--device", "sim", "--message-format", "short"]);
    let (stdout, stderr) = (&ran.stdout, &ran.stderr);
    expect![[r#"
        k block [0]: block block_idx = 0
        k block [0]: sum sum(t, axis: 0) = f16[1]
        [128.0]
        k block [0]: block_idx = 0
        k block [0]: round i = 0
        k block [0]: of g = 0
        k block [0]: round i = 1
        k block [0]: of g = 0
        k block [0]: round i = 0
        k block [0]: of g = 1
        k block [0]: round i = 1
        k block [0]: of g = 1
        k block [1]: block block_idx = 1
        k block [1]: sum sum(t, axis: 0) = f16[1]
        [128.0]
        k block [1]: block_idx = 1
        k block [1]: round i = 0
        k block [1]: of g = 0
        k block [1]: round i = 1
        k block [1]: of g = 0
        k block [1]: round i = 0
        k block [1]: of g = 1
        k block [1]: round i = 1
        k block [1]: of g = 1
        device: simulator (sm_90a)
        k.hx:11:20: error[HX0612]: one group is enough
        1 error
    "#]]
    .assert_eq(&format!("{stdout}{stderr}"));
}
