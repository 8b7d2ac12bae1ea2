//! Completion and signature help.

use expect_test::{Expect, expect};

use super::with_cursor;

const HEAD: &str = "use std::math::LOG2E;\nfn twice(x: f32) -> f32 { x * 2.0 }\nkernel k<BM = 64, T: type = f16>(a: T[m, n], c: mut T[m, n]) grid [1] threads 128 {\n    let [bm] = block_idx;\n";

/// Formats the entries at the cursor that are wanted, each as `LABEL | DETAIL`.
fn entries(text: &str, wanted: impl Fn(&crate::Completion) -> bool) -> String {
    let (db, file, at) = with_cursor(text);
    let found = crate::completions(&db, file, at).expect("nothing is written");
    found.iter().filter(|c| wanted(c)).map(|c| format!("{} | {}\n", c.label, c.detail)).collect()
}

fn check(text: &str, most: usize, expected: Expect) {
    let all = entries(text, |_| true);
    let first: String = all.lines().take(most).map(|line| format!("{line}\n")).collect();
    expected.assert_eq(&first);
}

/// Compares the text around the cursor after an entry is accepted.
fn check_accepted(text: &str, label: &str, expected: Expect) {
    let (db, file, at) = with_cursor(text);
    let found = crate::completions(&db, file, at).expect("nothing is written");
    let Some(entry) = found.iter().find(|c| c.label == label) else { panic!("no entry {label}: {found:#?}") };
    let mut edits = entry.also.clone();
    edits.push(hx_base::Edit { file, range: entry.range, text: entry.insert.clone() });
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.range.start()));
    let old = file.text(&db).to_owned();
    let mut new = old.clone();
    for edit in edits {
        new.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text);
    }
    let changed = new.lines().filter(|line| !old.lines().any(|known| known == *line));
    expected.assert_eq(&changed.map(|line| format!("{}\n", line.trim())).collect::<String>());
}

#[test]
fn what_is_in_scope_comes_first() {
    check(
        &format!("{HEAD}    let r = load(a);\n    {{ let inner = 1; }}\n    $0\n}}\n"),
        9,
        expect![[r#"
        bm | int = block_idx.x
        r | 
        BM | BM = 64
        T | T: type = f16
        a | a: T[m, n]
        c | c: mut T[m, n]
        m | dimension
        n | dimension
        LOG2E | 
    "#]],
    );
    check(
        &format!("{HEAD}    let late = $0;\n    let later = 1;\n}}\n"),
        3,
        expect![[r#"
        bm | int = block_idx.x
        BM | BM = 64
        T | T: type = f16
    "#]],
    );
}

#[test]
fn a_where_knows_the_result() {
    check(
        "fn f(n: i64) -> i64 where $0 { n }\n",
        2,
        expect![[r#"
        n | n: i64
        result | int
    "#]],
    );
    check(
        "fn f(n: i64) -> i64 where n > 0 { $0 }\n",
        2,
        expect![[r#"
        n | n: i64
        abs | abs(x)
    "#]],
    );
    check(
        "kernel f(x: f16[n]) where $0 grid [1] threads 32 {}\n",
        2,
        expect![[r#"
        blocks_per_sm | 
        cluster | 
    "#]],
    );
}

#[test]
fn values_that_fit_an_argument_come_first() {
    let first = |call: &str, most: usize, expected: Expect| {
        let made =
            "let r = register_tensor(f32, [64]);\n    let rate = 0.5;\n    let form = (8, 8) : (8, 1);";
        check(&format!("{HEAD}    {made}\n    {call};\n}}\n"), most, expected);
    };
    // A tensor in any memory.
    first(
        "copy($0)",
        4,
        expect![[r#"
        a | a: T[m, n]
        c | c: mut T[m, n]
        r | register f32[64]
        bm | int = block_idx.x
    "#]],
    );
    // A view of global memory.
    first(
        "tile($0)",
        3,
        expect![[r#"
        a | a: T[m, n]
        c | c: mut T[m, n]
        bm | int = block_idx.x
    "#]],
    );
    // An element type.
    first(
        "cast(r, $0)",
        3,
        expect![[r#"
        T | T: type = f16
        bf16 | 
        bool | 
    "#]],
    );
    // A number, for a parameter and for a label.
    first(
        "twice($0)",
        6,
        expect![[r#"
        BM | BM = 64
        bm | int = block_idx.x
        m | dimension
        n | dimension
        r | register f32[64]
        rate | float
    "#]],
    );
    first(
        "sum(r, axis: $0)",
        6,
        expect![[r#"
            BM | BM = 64
            bm | int = block_idx.x
            m | dimension
            n | dimension
            rate | float
            form | layout
        "#]],
    );
    first(
        "register_tensor(f32, [64], layout: $0)",
        2,
        expect![[r#"
            form | layout
            bm | int = block_idx.x
        "#]],
    );
    // Inside a part of an argument, the class of the argument does not change the order.
    first(
        "register_tensor(f32, [$0])",
        3,
        expect![[r#"
        layout: | argument of `register_tensor`
        bm | int = block_idx.x
        form | layout
    "#]],
    );
}

#[test]
fn loops_closures_and_cases_bind() {
    check(
        &format!("{HEAD}    for ki in 0..4 {{ $0 }}\n}}\n"),
        2,
        expect![[r#"
        bm | int = block_idx.x
        ki | int = ki
    "#]],
    );
    check(
        "test \"t\" for (m, n) in [(1, 2)] { $0 }\n",
        2,
        expect![[r#"
        m | 
        n | 
    "#]],
    );
}

#[test]
fn members_and_paths() {
    check(
        &format!("{HEAD}    a.$0\n}}\n"),
        3,
        expect![[r#"
        T | the last two modes swapped
    "#]],
    );
    check(&format!("{HEAD}    bm.$0\n}}\n"), 3, expect![[""]]);
    check(
        &format!("{HEAD}    let full = barrier();\n    full.$0\n}}\n"),
        3,
        expect![[r#"
        arrive | .arrive()
        sync | .sync()
    "#]],
    );
    // A method is the host's function, even if kernels have a function of that name.
    let methods = entries("main {\n    let x = ones(f32, [2]);\n    x.$0\n}\n", |c| {
        matches!(c.label.as_str(), "copy" | "max" | "sum" | "exp")
    });
    assert_eq!(
        methods,
        "copy | copy()\nexp | exp()\nmax | max(b?, axis: …, keepdims: …)\nsum | sum(axis: …, keepdims: …)\n"
    );
    let modules = entries("use std::mat$0\n", |c| matches!(c.label.as_str(), "math" | "matmul"));
    assert_eq!(modules, "math | \nmatmul | \n");
    check(
        "use std::math::$0\n",
        99,
        expect![[r#"
            LN2 | 
            LOG2E | 
            SQRT_HALF | 
            div_approx | div_approx(a: f32, b: f32) -> f32
            pow_approx | pow_approx(x: f32, y: f32) -> f32
            recip_approx | recip_approx(x: f32) -> f32
            sigmoid_approx | sigmoid_approx(x: f32) -> f32
        "#]],
    );
    check(
        "use $0\n",
        3,
        expect![[r#"
        std | the standard library
    "#]],
    );
    check(
        &format!("{HEAD}    let x = std::math::$0\n}}\n"),
        3,
        expect![[r#"
        LN2 | 
        LOG2E | 
        SQRT_HALF | 
    "#]],
    );
}

#[test]
fn arguments_by_name() {
    check(
        "test \"t\" { let a = randn(f16, [1], $0) }\n",
        1,
        expect![[r#"
        seed: | argument of `randn`
    "#]],
    );
    check(
        &format!("{HEAD} }}\ntest \"t\" {{ k<$0 }}\n"),
        2,
        expect![[r#"
        BM | BM = 64
        T | T: type = f16
    "#]],
    );
    check(
        &format!("{HEAD} }}\ntest \"t\" {{ k<BM = 32, $0>(a, c) }}\n"),
        1,
        expect![[r#"
        T | T: type = f16
    "#]],
    );
}

#[test]
fn types_attributes_and_items() {
    check(
        "fn f<N = 4, T: type = f16>(x: $0) { }\n",
        4,
        expect![[r#"
        N | 
        T | 
        bf16 | 
        bool | 
    "#]],
    );
    check(
        &format!("{HEAD}    #[$0\n    for i in 0..2 {{ }}\n}}\n"),
        9,
        expect![[r#"
            accept | accept the performance notes of one code, with a reason
            peel | split the loop where an `if` on its counter changes
            unroll | unroll the loop
        "#]],
    );
    check(
        "#[$0]\nfn f(x: f32) -> f32;\n",
        9,
        expect![[r#"
            accept | accept the performance notes of one code, with a reason
            exact | keep the kernel's arithmetic exact where results are rounded to 16 bits
            family | list the kernels among which a launch chooses
            ptx | the function is this PTX, and its body the meaning
        "#]],
    );
    check(
        "#[ptx(\"abs.f32 {result}, {x};\", $0)]\nfn f(x: f32) -> f32;\n",
        9,
        expect![[r#"
        volatile | the text reads a special register, so every call runs it
    "#]],
    );
    check(
        "$0",
        99,
        expect![[r#"
            bench | a bench that counts its work
            const | a constant
            fn | a tile function
            kernel | a kernel
            main | what `hx run` executes
            test | a test with cases
            test forall | a test over drawn values, which shrinks a failure to the smallest
            use | names of another file
        "#]],
    );
    check(
        "kernel k(a: f16[m])\n    $0\n{ }\n",
        4,
        expect![[r#"
            a | a: f16[m]
            blocks_per_sm | 
            cluster | 
            grid | 
        "#]],
    );
}

#[test]
fn accepting_writes_calls_and_imports() {
    check_accepted(
        &format!("{HEAD}    cop$0\n}}\n"),
        "copy",
        expect![[r#"
        copy(${1:src}, ${2:dst})$0
    "#]],
    );
    check_accepted(
        &format!("{HEAD}    cop$0(a, c);\n}}\n"),
        "copy",
        expect![[r#"
        copy(a, c);
    "#]],
    );
    check_accepted(
        "//! docs\n\n/// A test.\ntest \"t\" { softm$0 }\n",
        "softmax",
        expect![[r#"
        test "t" { softmax(${1:t})$0 }
    "#]],
    );
    check_accepted(
        "use std::math::LOG2E;\n\nfn f(x: f32) -> f32 { sil$0 }\n",
        "silu",
        expect![[r#"
            use std::activations::silu;
            fn f(x: f32) -> f32 { silu(${1:x})$0 }
        "#]],
    );
}

#[test]
fn nothing_in_comments_and_strings() {
    check("// a $0comment\n", 1, expect![[""]]);
    check("test \"t$0\" { }\n", 1, expect![[""]]);
}

fn check_signature(text: &str, expected: Expect) {
    let (db, file, at) = with_cursor(text);
    let help = crate::signature_help(&db, file, at).expect("nothing is written");
    let text = help.map_or("nothing".to_owned(), |help| {
        let active = help.active.map_or("none", |i| &help.label[help.params[i]]);
        format!("{}\n{active}\n{}", help.label, help.docs.unwrap_or_default())
    });
    expected.assert_eq(&text);
}

#[test]
fn signatures_after_positional_arguments() {
    let active = |call: &str| {
        let text = format!("{HEAD}    {call}\n}}\n");
        let (db, file, at) = with_cursor(&text);
        let help = crate::signature_help(&db, file, at).expect("nothing is written");
        help.map_or("nothing".to_owned(), |help| {
            let active = help.active.map_or("none", |i| &help.label[help.params[i]]);
            format!("{call} {} {active}\n", help.label)
        })
    };
    let calls = [
        "copy(a, a, $0",
        "copy(a, a, $0)",
        "gemm(a, a, $0",
        "gemm(a, a, a, $0",
        "gemm(a, a, a, $0)",
        "gemm(a, a, a, warps: [1, 2], $0)",
        "gemm(a, warps: [1, 2], $0)",
        "gemm(a, warps: [1, 2], a, $0)",
        "let s = sum(a, $0",
        "let s = sum(a, axis: 0, $0)",
        "let s = shared_tensor(f16, [8, 8], $0",
        "let s = shared_tensor(f16, [8, 8], $0)",
        "let s = tile(a, [8, 8], $0",
    ];
    expect![[r#"
        copy(a, a, $0 copy(src, dst, l1: …, l2: …, by: …) l1: …
        copy(a, a, $0) copy(src, dst, l1: …, l2: …, by: …) l1: …
        gemm(a, a, $0 gemm(c, a, b, warps: …, by: …) b
        gemm(a, a, a, $0 gemm(c, a, b, warps: …, by: …) warps: …
        gemm(a, a, a, $0) gemm(c, a, b, warps: …, by: …) warps: …
        gemm(a, a, a, warps: [1, 2], $0) gemm(c, a, b, warps: …, by: …) by: …
        gemm(a, warps: [1, 2], $0) gemm(c, a, b, warps: …, by: …) a
        gemm(a, warps: [1, 2], a, $0) gemm(c, a, b, warps: …, by: …) b
        let s = sum(a, $0 sum(t, axis: …, cluster: …, to: …, scatter: …) axis: …
        let s = sum(a, axis: 0, $0) sum(t, axis: …, cluster: …, to: …, scatter: …) cluster: …
        let s = shared_tensor(f16, [8, 8], $0 shared_tensor(dtype, shape, layout: …) layout: …
        let s = shared_tensor(f16, [8, 8], $0) shared_tensor(dtype, shape, layout: …) layout: …
        let s = tile(a, [8, 8], $0 tile(t, shape, pad: …) pad: …
    "#]]
    .assert_eq(&calls.map(active).concat());
}

#[test]
fn signatures_follow_the_arguments() {
    check_signature(
        &format!("{HEAD}    copy(a, $0\n}}\n"),
        expect![[r#"
            copy(src, dst, l1: …, l2: …, by: …)
            dst
            Moves a tile between any two memories. `l1:` and `l2:` are hints for the caches of global memory; `by:` names the instruction."#]],
    );
    check_signature(
        &format!("{HEAD}    gemm(a, a, a, warps: $0[1, 2]);\n}}\n"),
        expect![[r#"
            gemm(c, a, b, warps: …, by: …)
            warps: …
            `c[M, N] += a[M, K] · b[N, K]ᵀ`, for each index of a third mode; complete on return. `by:` names the instruction."#]],
    );
    check_signature(
        &format!("{HEAD} }}\ntest \"t\" {{ k($0) }}\n"),
        expect![[r#"
        k<BM = 64, T: type = f16>(a: T[m, n], c: mut T[m, n])
        a: T[m, n]
    "#]],
    );
    check_signature(
        &format!("{HEAD}    copy(cast(a, $0), c);\n}}\n"),
        expect![[r#"
        cast(t, dtype)
        dtype
        Elementwise conversion, rounding to nearest into floats and toward zero into integers."#]],
    );
    check_signature(&format!("{HEAD}    copy(a, c)$0;\n}}\n"), expect!["nothing"]);
}
