//! Functions as arguments: of kernels, of other functions, and in the text of a command.

use expect_test::{Expect, expect};
use hx_hir::testing::TestDb;
use hx_hir::{Sound, file_items};

use super::{check, program_of};
use crate::{CtArgs, LaunchFacts, WrittenArg};

/// Functions, and a kernel that takes two.
const MAP: &str = "
const NUMBER = 3;
fn identity(x: f32) -> f32 { x }
fn half(x: f32) -> f32 { x * 0.5 }
fn two(x: f32, y: f32) -> f32 { x + y }
fn whole(x: register f32[N]) -> f32[N] { x - max(x, axis: 0) }
fn numbers(x: i32) -> i32 { x }
fn twice<F: fn = identity>(x: f32) -> f32 { F(F(x)) }
fn applied(x: register f32[N], f: fn) -> f32[N] { f(x) }
kernel map<F: fn = identity, G: fn = half, B = 128>(x: f32[m], y: mut f32[m]) grid [cdiv(m, B)] threads 128 {
    let t = load(tile(x, [B])[.., block_idx]);
    copy(applied(F(t), G), tile(y, [B])[.., block_idx]);
}
";

/// Lowers the kernel with arguments that are written as text.
fn check_written(args: &[(&str, &str)], expected: Expect) {
    let (db, file) = TestDb::with_file(MAP);
    let resolve = |text: &str| text.parse::<WrittenArg>()?.resolve(&db, file);
    let args: Result<CtArgs, String> =
        args.iter().map(|(name, text)| Ok(((*name).into(), resolve(text)?))).collect();
    let kernel = file_items(&db, file).kernels().next().and_then(|kernel| Sound::of(&db, kernel));
    let kernel = kernel.expect("the kernel has no errors");
    let actual = args.map(|args| program_of(&db, kernel, &args, &LaunchFacts::all_16()));
    expected.assert_eq(&actual.unwrap_or_else(|reason| reason));
}

#[test]
fn a_kernel_calls_the_functions_of_its_instance() {
    check(
        MAP,
        expect![[r#"
        kernel map threads 128
          grid [(m + 127) / 128]
          param x: f32[m] : [1] align 16
          param y: mut f32[m] : [1] align 16
          fact m % 16 == 0
          register t: f32[128]
          register value: f32[128]
          #0 copy(x[block_idx.x * 128 + 0..128], t)
          #1 value = (t * 0.5)
          #2 copy(value, y[block_idx.x * 128 + 0..128])
    "#]],
    );
    check_written(
        &[("F", "whole"), ("G", "identity")],
        expect![[r#"
        kernel map threads 128
          grid [(m + 127) / 128]
          param x: f32[m] : [1] align 16
          param y: mut f32[m] : [1] align 16
          fact m % 16 == 0
          register t: f32[128]
          register reduced: f32[1]
          register value: f32[128]
          #0 copy(x[block_idx.x * 128 + 0..128], t)
          #1 reduced = reduce(t, axis: 0, max)
          #2 value = (t - reduced)
          #3 copy(value, y[block_idx.x * 128 + 0..128])
    "#]],
    );
    check_written(
        &[("F", "twice"), ("G", " half ")],
        expect![[r#"
        kernel map threads 128
          grid [(m + 127) / 128]
          param x: f32[m] : [1] align 16
          param y: mut f32[m] : [1] align 16
          fact m % 16 == 0
          register t: f32[128]
          register value: f32[128]
          #0 copy(x[block_idx.x * 128 + 0..128], t)
          #1 value = (t * 0.5)
          #2 copy(value, y[block_idx.x * 128 + 0..128])
    "#]],
    );
}

/// Only an instance knows its functions, so their calls are checked for the instance.
#[test]
fn functions_that_do_not_fit_are_errors_of_the_instance() {
    check_written(
        &[("F", "two")],
        expect![[r#"
        error[HX0222]: `two` lacks the argument `y`
              copy(applied(F(t), G), tile(y, [B])[.., block_idx]);
                           ^^^^
    "#]],
    );
    check_written(
        &[("F", "numbers")],
        expect![[r#"
            error[HX0204]: expected `i32`, found elements of type `f32` for `x`
                  copy(applied(F(t), G), tile(y, [B])[.., block_idx]);
                                 ^
              fn numbers(x: i32) -> i32 { x }
                 ------- the function is here
        "#]],
    );
    check_written(
        &[("F", "128")],
        expect![[r#"
            error[HX0203]: found an integer for `F`, expected a function
              kernel map<F: fn = identity, G: fn = half, B = 128>(x: f32[m], y: mut f32[m]) grid [cdiv(m, B)] threads 128 {
                         ^
        "#]],
    );
    check_written(
        &[("B", "half")],
        expect![[r#"
        error[HX0203]: found the function `half` for `B`
          kernel map<F: fn = identity, G: fn = half, B = 128>(x: f32[m], y: mut f32[m]) grid [cdiv(m, B)] threads 128 {
                                                     ^
          help: a parameter that takes functions says so: `B: fn`
    "#]],
    );
    check_written(&[("F", "NUMBER")], expect!["`NUMBER` is a `const`, expected a `fn`"]);
    check_written(
        &[("F", "halff")],
        expect![
            "`halff` is not a number, element type or layout, and no `fn` of this name is in `a.hx`; perhaps `half` is meant"
        ],
    );
    check_written(
        &[("F", "3half")],
        expect![
            "`3half` is not a number, element type or layout (found `h` where `:` was expected at byte 1)"
        ],
    );
}

#[test]
fn a_function_that_is_passed_to_itself_does_not_end() {
    check(
        &MAP.replace("    copy(", "    let t = twice<F = twice>(t);\n    copy("),
        expect![[r#"
            error[HX0108]: `twice` is passed to itself, and calls itself here
              fn twice<F: fn = identity>(x: f32) -> f32 { F(F(x)) }
                                                          ^
                  let t = twice<F = twice>(t);
                          ------------------- called from here
              help: a `fn` is inlined where it is called, so it cannot call itself
        "#]],
    );
}

/// A default may choose a function by a compile-time parameter, and a local may name one.
#[test]
fn functions_are_chosen_at_compile_time() {
    let text = MAP
        .replace("<F: fn = identity, G", "<SMALL = true, F: fn = if SMALL { half } else { identity }, G")
        .replace("applied(F(t), G)", "{ let f = F; f(t) }");
    check(
        &text,
        expect![[r#"
        kernel map threads 128
          grid [(m + 127) / 128]
          param x: f32[m] : [1] align 16
          param y: mut f32[m] : [1] align 16
          fact m % 16 == 0
          register t: f32[128]
          register value: f32[128]
          #0 copy(x[block_idx.x * 128 + 0..128], t)
          #1 value = (t * 0.5)
          #2 copy(value, y[block_idx.x * 128 + 0..128])
    "#]],
    );
    let (db, file) = TestDb::with_file(&text);
    let kernel = file_items(&db, file).kernels().next().expect("there is one");
    let types = hx_hir::signature_types(&db, kernel.into());
    let types: Vec<String> = types.generics.iter().map(ToString::to_string).collect();
    expect!["bool · fn · fn · int = B"].assert_eq(&types.join(" · "));
}

/// A condition on functions is decided at compile time: for `identity`, the kernel has no computation.
#[test]
fn functions_are_compared_at_compile_time() {
    let text =
        MAP.replace("applied(F(t), G)", "if G == identity { t } else if F != G { F(t) } else { G(t) }");
    let program = |f: &str, g: &str| {
        let (db, file) = TestDb::with_file(&text);
        let resolve = |text: &str| text.parse::<WrittenArg>().and_then(|arg| arg.resolve(&db, file));
        let args = [("F", f), ("G", g)].map(|(name, text)| (name.into(), resolve(text).expect("a function")));
        let kernel = file_items(&db, file).kernels().next().and_then(|kernel| Sound::of(&db, kernel));
        let kernel = kernel.expect("the kernel has no errors");
        let all = program_of(&db, kernel, &args.into_iter().collect(), &LaunchFacts::all_16());
        all.lines().map(str::trim).filter(|line| line.starts_with('#')).collect::<Vec<_>>().join("\n")
    };
    expect![[r#"
          #0 copy(x[block_idx.x * 128 + 0..128], t)
          #1 copy(t, y[block_idx.x * 128 + 0..128])"#]]
    .assert_eq(&program("half", "identity"));
    expect![[r#"
          #0 copy(x[block_idx.x * 128 + 0..128], t)
          #1 value = (t * 0.5)
          #2 copy(value, y[block_idx.x * 128 + 0..128])"#]]
    .assert_eq(&program("half", "half"));
    expect![[r#"
          #0 copy(x[block_idx.x * 128 + 0..128], t)
          #1 copy(t, y[block_idx.x * 128 + 0..128])"#]]
    .assert_eq(&program("identity", "half"));
}

/// Coordinates take no registers before their elements are used; other arguments are tensors.
#[test]
fn a_function_of_numbers_gets_coordinates_as_they_are() {
    check(
        "
fn biased(x: f32, i: i32, j: i32) -> f32 { x + cast(i - j, f32) }
fn sloped(x: f32, i: f32) -> f32 { x * i }
kernel f(x: f32[m, n], y: mut f32[m, n], from: i32) grid [1] threads 32 {
    let t = load(tile(x, [16, 16])[.., .., 0, 0]);
    t = biased(t, index(t, 0) + from, index(t, 1));
    t = sloped(t * 2.0, cast(index(t, 1), f32));
    copy(t, tile(y, [16, 16])[.., .., 0, 0]);
}
",
        expect![[r#"
            kernel f threads 32
              grid [1]
              param x: f32[m, n] : [n, 1] align 16
              param y: mut f32[m, n] : [n, 1] align 16
              param from: i32
              fact m % 16 == 0
              fact n % 16 == 0
              register t: f32[16, 16]
              register value: f32[16, 16]
              #0 copy(x[0..16, 0..16], t)
              #1 t = (t + cast(((index(0) + (from)) - index(1)), f32))
              #2 value = (t * 2.0)
              #3 t = (value * cast(index(1), f32))
              #4 copy(t, y[0..16, 0..16])
        "#]],
    );
    check(
        "
fn biased(x: f32, i: i64) -> f32 { x + cast(i, f32) }
kernel f(x: f32[m, n], y: mut f32[m, n]) grid [1] threads 32 {
    let t = load(tile(x, [16, 16])[.., .., 0, 0]);
    copy(biased(t, index(t, 0)), tile(y, [16, 16])[.., .., 0, 0]);
}
",
        expect![[r#"
            error[HX0204]: expected `i64`, found elements of type `i32` for `i`
                  copy(biased(t, index(t, 0)), tile(y, [16, 16])[.., .., 0, 0]);
                                 ^^^^^^^^^^^
              fn biased(x: f32, i: i64) -> f32 { x + cast(i, f32) }
                 ------ the function is here
        "#]],
    );
}

#[test]
fn a_function_writes_a_tensor_that_keeps_the_result() {
    check(
        "fn double(t: register mut i32[N]) { t *= 2; }
        fn doubled(t: register mut i32[N]) -> i32[N] { t *= 2; t }
        kernel f(x: i32[32], y: mut i32[32]) grid [1] threads 32 {
            let v = load(x);
            let i = index(v, 0);
            double(v);
            double(i);
            double(index(v, 0));
            double(load(x));
            double(v + v);
            copy(v + i + doubled(index(v, 0)) + doubled(load(x)), y);
        }",
        expect![[r#"
            error[HX0207]: cannot write to this expression: nothing keeps the result of `t`
                          double(index(v, 0));
                                 ^^^^^^^^^^^
              help: bind it before the call: `let t = …;`
            error[HX0207]: cannot write to this expression: nothing keeps the result of `t`
                          double(load(x));
                                 ^^^^^^^
              help: bind it before the call: `let t = …;`
            error[HX0207]: cannot write to this expression: nothing keeps the result of `t`
                          double(v + v);
                                 ^^^^^
              help: bind it before the call: `let t = …;`
        "#]],
    );
}

/// A function of the library needs its path outside of the files that use it.
#[test]
fn a_function_of_the_library_has_a_path() {
    let (mut db, file) = TestDb::with_file("kernel k<F: fn>(x: f32[m]) grid [1] threads 32 {}\n");
    db.add("std/shapes/waves.hx", "fn soft(x: f32) -> f32 { x }\n");
    let resolved = |text: &str| text.parse::<WrittenArg>().and_then(|arg| arg.resolve(&db, file));
    assert!(resolved("std::shapes::waves::soft").is_ok());
    expect![
        "`soft` is not a number, element type or layout, and no `fn` of this name is in `a.hx`; perhaps `std::shapes::waves::soft` is meant"
    ]
    .assert_eq(&resolved("soft").expect_err("the file does not use it"));
}

#[test]
fn a_scan_may_begin_at_the_last_element() {
    let kernel = |statements: &str| {
        format!(
            "kernel f(x: f32[8, 32], y: mut f32[8, 32], flag: bool) grid [1] threads 32 {{
            let t = load(x);\n{statements}\n}}"
        )
    };
    check(
        &kernel(
            "copy(scan(t, axis: 1, op: |a, b| a + b, reverse: true), y);
            copy(scan(t, axis: 0, op: |a, b| max(a, b), reverse: false), y);",
        ),
        expect![[r#"
            kernel f threads 32
              grid [1]
              param x: f32[8, 32] : [32, 1] align 16
              param y: mut f32[8, 32] : [32, 1] align 16
              param flag: bool
              register t: f32[8, 32]
              register scanned: f32[8, 32]
              register scanned_1: f32[8, 32]
              #0 copy(x[0..8, 0..32], t)
              #1 scanned = scan(t, axis: 1, (a + b), reverse)
              #2 copy(scanned, y[0..8, 0..32])
              #3 scanned_1 = scan(t, axis: 0, max(a, b))
              #4 copy(scanned_1, y[0..8, 0..32])
        "#]],
    );
    check(
        &kernel("copy(scan(t, axis: 1, op: |a, b| a + b, reverse: flag), y);"),
        expect![[r#"
        error[HX0209]: `reverse` is `decided != 0`, which is known only at run time
          copy(scan(t, axis: 1, op: |a, b| a + b, reverse: flag), y);
                                                           ^^^^
    "#]],
    );
}

/// Lowers a kernel with these statements behind functions that promise something of their results.
fn check_promised(statements: &str, expected: Expect) {
    let functions = "fn place(i: i64, n: i64) -> i64 where n > 0, 0 <= result, result < n { i % n }
fn picked(i: i64, n: i64) -> i64 where 0 <= result, result < n { i }
fn root(x: f32) -> f32 where result >= 0.0 { sqrt(x) }
";
    let header = "kernel f(x: f32[n], at: i32[g], y: mut f32[64]) where n > 0 grid [g] threads 32";
    check(&format!("{functions}{header} {{\n{statements}\n}}\n"), expected);
}

#[test]
fn promises_that_are_proven_leave_nothing() {
    check_promised(
        "let t = register_tensor(f32, [64]);\nfill(t, x[place(block_idx, n)]);\ncopy(t, y);",
        expect![[r#"
            kernel f threads 32
              grid [g]
              param x: f32[n] : [1] align 16
              param at: i32[g] : [1] align 16
              param y: mut f32[64] : [1] align 16
              where n > 0
              fact g % 16 == 0
              fact n % 16 == 0
              register t: f32[64]
              let x_value = x[block_idx.x % n]
              #0 t = x_value
              #1 copy(t, y[0..64])
        "#]],
    );
}

#[test]
fn promises_that_are_checked_prove_what_follows() {
    check_promised(
        "let t = register_tensor(f32, [64]);\nfill(t, x[picked(cast(at[block_idx], i64), n)]);\ncopy(t, y);",
        expect![[r#"
            kernel f threads 32
              grid [g]
              param x: f32[n] : [1] align 16
              param at: i32[g] : [1] align 16
              param y: mut f32[64] : [1] align 16
              where n > 0
              fact g % 16 == 0
              fact n % 16 == 0
              register t: f32[64]
              register shown: bool[1]
              register shown_1: i64[1]
              register result: i64[1]
              register shown_2: bool[1]
              register result_1: i64[1]
              register n: i64[1]
              let at_value = at[block_idx.x]
              #0 shown = ((0) <= (at_value))
              #1 shown_1 = (0)
              #2 result = (at_value)
              #3 assert(shown, "the result of `picked` is not what its `where` promises")
              #4 shown_2 = ((at_value) < (n))
              #5 result_1 = (at_value)
              #6 n = (n)
              #7 assert(shown_2, "the result of `picked` is not what its `where` promises")
              let picked = 0.0
              if 0 <= at_value && at_value < n
                let x_value = x[at_value]
                picked = x_value
              else
                picked = 0.0
              #8 t = picked
              #9 copy(t, y[0..64])
        "#]],
    );
    check_promised(
        "copy(root(load(tile(x, [64])[.., 0])), y);",
        expect![[r#"
        kernel f threads 32
          grid [g]
          param x: f32[n] : [1] align 16
          param at: i32[g] : [1] align 16
          param y: mut f32[64] : [1] align 16
          where n > 0
          fact g % 16 == 0
          fact n % 16 == 0
          register x_tile: f32[64]
          register shown: bool[64]
          register value: f32[64]
          #0 copy(x[0..64], x_tile)
          #1 shown = (0.0 <= sqrt(x_tile))
          #2 assert(shown, "the result of `root` is not what its `where` promises")
          #3 value = sqrt(x_tile)
          #4 copy(value, y[0..64])
    "#]],
    );
}

#[test]
fn promises_that_do_not_hold() {
    check_promised(
        "let t = register_tensor(f32, [64]);\nfill(t, x[picked(n, n)]);\ncopy(t, y);",
        expect![[r#"
            error[HX0217]: the result of `picked` is not what its `where` promises
              fn picked(i: i64, n: i64) -> i64 where 0 <= result, result < n { i }
                                                                  ^^^^^^^^^^
              fill(t, x[picked(n, n)]);
                        ------------ called from here
              note: left: n
              note: right: n
        "#]],
    );
    // The clause about the argument is not a promise: the call has to keep it.
    check_promised(
        "let t = register_tensor(f32, [64]);\nfill(t, x[place(1, n - 1)]);\ncopy(t, y);",
        expect![[r#"
            error[HX0217]: `n > 0` is not known to hold here: it is `0 < n - 1`
              fn place(i: i64, n: i64) -> i64 where n > 0, 0 <= result, result < n { i % n }
                                                    ^^^^^
              fill(t, x[place(1, n - 1)]);
                        --------------- called from here
        "#]],
    );
}
