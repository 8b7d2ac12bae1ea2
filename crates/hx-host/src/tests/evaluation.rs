//! Tests of the evaluator: text in, printed lines or the error with its place out.

use expect_test::{Expect, expect};
use hx_base::{Db as _, Diagnostic, SourceFile};
use hx_hir::{Item, Sound, file_items, reached_errors};

use crate::device::{CodeAnswer, CodeQuestion, Device, LaunchError, LaunchReport, LaunchRequest};
use crate::error::{HostError, HostResult};
use crate::eval::{EvalError, Options, Session, Surroundings};
use crate::value::Value;

hx_base::test_database! {
    pub(super) struct TestDb: [hx_hir::Db]
}

pub(super) fn database(text: &str) -> (TestDb, SourceFile) {
    let mut db = TestDb::default();
    let file = SourceFile::workspace(&db, "test.hx", text);
    db.workspace().add_files(&mut db, [file]);
    (db, file)
}

/// A device that knows one kernel, `scale<BY>(x, y)`: y = x · BY.
pub(super) struct Scaler;

impl Device for Scaler {
    fn launch(&mut self, request: &LaunchRequest) -> Result<LaunchReport, LaunchError> {
        let [x, y] = &request.args[..] else {
            return Err(LaunchError::call(HostError::call("`scale` takes two arguments")));
        };
        if y.temporary {
            return Err(LaunchError::arg(1, HostError::call("the kernel writes `y`, which is a temporary")));
        }
        let by = request.generics.first().map_or(Ok(2.0), |(_, v)| v.float()).map_err(LaunchError::call)?;
        let run = || -> Result<(), HostError> {
            let mut dense = x.value.dense()?;
            dense.data =
                crate::Numbers::Float(dense.data.into_floats().into_iter().map(|v| v * by).collect());
            y.value.tensor()?.assign(&dense)
        };
        run().map_err(LaunchError::call)?;
        let printed = vec![format!("{} ran", request.kernel.name)];
        Ok(LaunchReport { printed, written: vec![1], ..LaunchReport::default() })
    }

    fn code(&mut self, question: &CodeQuestion) -> HostResult<CodeAnswer> {
        Ok(match question {
            CodeQuestion::Uses(name) => CodeAnswer::Bool(name == "fma"),
            CodeQuestion::Supports(name) => CodeAnswer::Bool(name == "fma"),
            CodeQuestion::Conflicts => CodeAnswer::Int(3),
            CodeQuestion::Redistributions => CodeAnswer::Int(1),
            CodeQuestion::Target => CodeAnswer::Name("sm_90a".to_owned()),
            CodeQuestion::BytesPerAccess(name) => {
                return Err(HostError::call(format!("there is no tensor `{name}`")));
            }
            CodeQuestion::Spills => CodeAnswer::Unknown("nobody counted".to_owned()),
        })
    }
}

pub(super) fn show_error(db: &TestDb, text: &str, error: &EvalError) -> String {
    show_diagnostics(text, &error.diagnostics(db))
}

fn show_diagnostics(text: &str, found: &[Diagnostic]) -> String {
    let mut out = String::new();
    for d in found {
        let place = &text[std::ops::Range::<usize>::from(d.primary.range)];
        out += &format!("{} at `{place}`: {}\n", d.code.id, d.message);
        d.notes.iter().for_each(|n| out += &format!("  {}\n", n.replace('\n', "\n  ")));
        d.help.iter().for_each(|h| out += &format!("  help: {h}\n"));
    }
    out
}

/// Runs the first test, bench or `main` of the text and checks its output.
fn check(text: &str, want: Expect) {
    let (db, file) = database(text);
    let wanted = |item: &&Item<'_>| matches!(item, Item::Test(_) | Item::Main(_) | Item::Bench(_));
    let item = *file_items(&db, file).items.iter().find(wanted).expect("something to run");
    let Some(item) = Sound::of(&db, item) else {
        return want.assert_eq(&show_diagnostics(text, reached_errors(&db, item)));
    };
    let mut lines: Vec<String> = Vec::new();
    let options = Options { args: vec!["one".to_owned(), "2".to_owned()], seed: 7, ..Options::default() };
    let mut device = Scaler;
    let mut session = Session::new(&db, &mut device, &mut lines, options);
    let result = (|| match session.cases(item)? {
        None => session.run(item, None).map(drop),
        Some(cases) => cases.into_iter().try_for_each(|case| session.run(item, Some(case)).map(drop)),
    })();
    let mut out: String = lines.iter().map(|l| format!("{l}\n")).collect();
    if let Err(error) = result {
        out += &show_error(&db, text, &error);
    }
    want.assert_eq(&out);
}

pub(super) fn check_main(body: &str, want: Expect) {
    check(&format!("main {{\n{body}\n}}\n"), want);
}

#[test]
fn masks_are_joined_by_the_operators_of_kernels() {
    check_main(
        r#"
        let x = arange(f32, 5);
        let inside = x > 0.0 && x < 3.0;
        print(inside, !inside, x == 0.0 || x == 4.0);
        print(all(inside || true), true && any(inside), false && x[9]);
        "#,
        expect![[r#"
            bool[5]
            [false,  true,  true, false, false] bool[5]
            [ true, false, false,  true,  true] bool[5]
            [ true, false, false, false,  true]
            true true false
        "#]],
    );
    check_main(
        "let x = arange(i32, 2); print(x && x == 1);",
        expect![[r#"
        HX0614 at `x && x == 1`: `&&` needs bools
          help: compare first: `x != 0 && y != 0`
    "#]],
    );
}

#[test]
fn arithmetic_and_control() {
    check_main(
        r#"
        let (a, b) = (7, -2);
        print(a / b, a % b, a / 2.0, cdiv(a, 2));
        let total = 0;
        for i in 0..4 { if i % 2 == 1 { total += i; } else { total -= 1; } }
        print("total", total, if total > 1 && !false { "big" } else { "small" });
        let n = 3;
        while n > 0 { n = n - 1; }
        print(n, [1, 2, (3, "x")][2], args[0] + "!", int(args[1]) + 1, f16, 1.5e-9, inf);
        for (x, y) in [(1, 2), (3, 4)] { print(x * y); }
        "#,
        expect![[r#"
            -4 -1 3.5 4
            total 2 big
            0 (3, "x") one! 3 f16 1.5e-9 inf
            2
            12
        "#]],
    );
}

#[test]
fn tensors_are_numpys() {
    check_main(
        r#"
        let x = arange(f32, [2, 3]);
        print(x, x.T.shape, x.dtype, x[1, 2], x[.., 1..]);
        print(x.sum(axis: 1), sum(x), max(x, axis: 0), x.mean(), max(3, 4));
        let y = x @ x.T + 1;
        print(y, y.dtype);
        x[0, ..] = [9, 8, 7];
        x[1, 0] += 0.5;
        print(x, (x > 4.0).any(), cast(0.1, f16), where(x > 5, 1, 0));
        print(zeros(i32, 2), full(u8, [2], 3), [1, 2] * ones(f16, 2), abs(-3), exp2(3));
        for row in x { print(row.sum()); }
        print(x.reshape([3, -1]).shape, x.softmax(axis: 1).sum(axis: 1));
        print(arange(i32, 3).reshape([3, 1]).broadcast_to([2, 3, 2]), broadcast_to(arange(i32, 2), [2, 2]).sum());
        "#,
        expect![[r#"
            f32[2, 3]
            [[0.0, 1.0, 2.0],
             [3.0, 4.0, 5.0]] (3, 2) f32 5.0 f32[2, 2]
            [[1.0, 2.0],
             [4.0, 5.0]]
            f64[2]
            [ 3.0, 12.0] 15.0 f64[3]
            [3.0, 4.0, 5.0] 2.5 4
            f64[2, 2]
            [[ 6.0, 15.0],
             [15.0, 51.0]] f64
            f32[2, 3]
            [[9.0, 8.0, 7.0],
             [3.5, 4.0, 5.0]] true 0.0999755859375 i64[2, 3]
            [[1, 1, 1],
             [0, 0, 0]]
            i32[2]
            [0, 0] u8[2]
            [3, 3] f64[2]
            [1.0, 2.0] 3 8.0
            24.0
            12.5
            (3, 2) f64[2]
            [1.0, 1.0]
            i32[2, 3, 2]
            [[[0, 0],
              [1, 1],
              [2, 2]],

             [[0, 0],
              [1, 1],
              [2, 2]]] 2
        "#]],
    );
}

#[test]
fn every_built_in_of_the_host_is_evaluated_or_says_that_it_is_not() {
    let mut unknown = Vec::new();
    for builtin in hx_hir::builtins() {
        // These are values, or functions that only a baseline or a special form calls.
        let later = ["cublas::gemm", "swizzle", "auto", "infer", "args", "nan"];
        if !builtin.is_at(hx_hir::Place::Host) || later.contains(&builtin.name()) {
            continue;
        }
        let required = |p: &&hx_hir::BuiltinParam| p.need == hx_hir::Need::Required;
        let args = builtin.params().unwrap_or_default().iter().filter(required).map(|_| "0");
        let text = format!("main {{ {}({}); }}", builtin.name(), args.collect::<Vec<_>>().join(", "));
        let (db, file) = database(&text);
        let main = Item::Main(file_items(&db, file).main().expect("a main"));
        let main = Sound::of(&db, main).expect("nothing is known to be wrong before it runs");
        let (mut lines, mut device) = (Vec::new(), Scaler);
        let mut session = Session::new(&db, &mut device, &mut lines, Options::default());
        if let Err(error) = session.run(main, None)
            && ["not evaluated", "there is no function"].iter().any(|text| error.error.message.contains(text))
        {
            unknown.push(builtin.name());
        }
    }
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn reductions_and_functions_by_name() {
    check_main(
        r#"
        let x = reshape(arange(f32, 6), [2, 3]);
        print(sum(x, axis: 1, keepdims: true).shape, any(x > 4), all(x > 4), prod(x + 1), cumsum(x, axis: 1)[1]);
        print(pow(2, 3), erf(0.0), eye(i8, 2).sum(), isnan(inf - inf), max(x, axis: 0)[2], size(x), len("abc"));
        "#,
        expect![[r#"
            (2, 1) true false 720.0 f64[3]
            [ 3.0,  7.0, 12.0]
            8 0.0 2 true 5.0 6 3
        "#]],
    );
}

const KERNEL: &str = "kernel scale<BY = 2>(x: f32[n], y: mut f32[n]) grid [1] threads 32 { }\n";

#[test]
fn kernels_run_on_the_device() {
    let text = format!(
        r#"{KERNEL}
const FACTOR = 1 + 2;
test "scale" for (n, by) in [(2, 1), (3, FACTOR)] {{
    let x = ones(f32, n);
    let y = empty(f32, [n]);
    scale<BY = by>(x, y);
    print(y);
    assert_close(y, x * by, ulp: 0);
    assert_eq(y, [by, by]);
}}
"#
    );
    check(
        &text,
        expect![[r#"
            scale ran
            f32[2]
            [1.0, 1.0]
            scale ran
            f32[3]
            [3.0, 3.0, 3.0]
            HX0612 at `assert_eq(y, [by, by])`: the shapes differ: [3] and [2]
        "#]],
    );
}

#[test]
fn a_launch_that_is_refused_points_at_its_argument() {
    let with = |body: &str| format!("{KERNEL}main {{ let x = ones(f32, 4); {body} }}\n");
    check(
        &with("scale(x);"),
        expect![[r#"
            HX0222 at `scale(x)`: `scale` lacks the argument `y`
        "#]],
    );
    check(
        &with("scale(x, x + x);"),
        expect![[r#"
        HX0614 at `x + x`: the kernel writes `y`, which is a temporary
    "#]],
    );
    check(
        &with("scale<4>(x, x);"),
        expect![[r#"
            HX0202 at `4`: expected `NAME = value`, found a compile-time argument without a name
              help: the names belong to the call: `scale<BY = …>(…)`
        "#]],
    );
    check(
        &with("let y = scale;"),
        expect![[r#"
            HX0614 at `scale`: the kernel `scale` is only called, not a value
              help: a launch is a call, `scale(…)`: the kernel's header says in how many blocks
        "#]],
    );
}

#[test]
fn assertions_show_both_sides() {
    check_main(
        "let a = 2; assert(a == 2); assert(a * 2 < 3, \"too large\");",
        expect![[r#"
        HX0612 at `a * 2 < 3`: too large
          `a * 2 < 3` does not hold
          left: 4
          right: 3
    "#]],
    );
    check_main(
        "let (a, b) = (0, 3); assert(a == 0 && (b < 2 || b == 4));",
        expect![[r#"
        HX0612 at `a == 0 && (b < 2 || b == 4)`: `a == 0 && (b < 2 || b == 4)` does not hold
          `a == 0` is true: left 0, right 0
          `b < 2` is false: left 3, right 2
          `b == 4` is false: left 3, right 4
    "#]],
    );
    check_main(
        "let done = false; assert(1 < 2 && !(2 < 3) && done);",
        expect![[r#"
        HX0612 at `1 < 2 && !(2 < 3) && done`: `1 < 2 && !(2 < 3) && done` does not hold
          `1 < 2` is true: left 1, right 2
          `2 < 3` is true: left 2, right 3
    "#]],
    );
    check_main(
        "assert(zeros(f32, 2) == 0);",
        expect![[r#"
        HX0614 at `zeros(f32, 2) == 0`: the condition is a tensor bool[2], not one bool
          help: say which is meant: `(x == y).all()` or `.any()`
    "#]],
    );
    check_main(
        "assert_eq((1, \"a\"), (1, \"b\"));",
        expect![[r#"
        HX0612 at `assert_eq((1, "a"), (1, "b"))`: the values are not equal
          got (1, "a")
          expected (1, "b")
    "#]],
    );
}

#[test]
fn every_mistake_has_a_place() {
    check_main(
        "let x = 1 / 0;",
        expect![[r#"
        HX0614 at `1 / 0`: `1 / 0` divides by zero
    "#]],
    );
    check_main(
        "let x = ones(f32, [2, 3]); x @ x;",
        expect![[r#"
        HX0615 at `x @ x`: `@` cannot multiply shapes [2, 3] and [2, 3]
          the inner extents 3 and 2 differ
    "#]],
    );
    check_main(
        "print([1, 2][2]);",
        expect![[r#"
        HX0614 at `[1, 2][2]`: index 2 lies outside of a list of 2
    "#]],
    );
    check_main(
        "print(args[9]);",
        expect![[r#"
        HX0614 at `args[9]`: index 9 lies outside of a list of 2
    "#]],
    );
    check_main(
        "let (a, b) = (1, 2, 3);",
        expect![[r#"
        HX0614 at `(a, b)`: found a tuple of 3, the pattern takes apart 2 values
    "#]],
    );
    check_main(
        "randn(f16, [2], sed: 1);",
        expect![[r#"
            HX0202 at `sed`: `randn` has no parameter `sed`
              `randn(dtype, shape, seed: …)`
              help: `seed` is near in spelling
        "#]],
    );
    check_main(
        "zeros(f16);",
        expect![[r#"
            HX0222 at `zeros(f16)`: `zeros` lacks the argument `shape`
              `zeros(dtype, shape)`
        "#]],
    );
    check_main(
        "if 1 { }",
        expect![[r#"
        HX0614 at `1`: found an integer, a bool is needed
    "#]],
    );
    check_main(
        "print(\"a\" + 1);",
        expect![[r#"
        HX0614 at `"a" + 1`: `+` cannot join a string and an integer
          help: `print` shows several values, separated by spaces
    "#]],
    );
    check_main(
        "load(\"nowhere.npy\");",
        expect![[r#"
        HX0606 at `load("nowhere.npy")`: cannot read `nowhere.npy`: no such file
    "#]],
    );
    check_main(
        "nothing(1);",
        expect![[r#"
            HX0101 at `nothing`: nothing in scope is called `nothing`
        "#]],
    );
    check_main(
        "ones(f32, 2).nothing();",
        expect![[r#"
        HX0614 at `ones(f32, 2).nothing()`: a tensor f32[2] has no method `nothing`
    "#]],
    );
    check(
        "const A = B; const B = A; main { print(A); }",
        expect![[r#"
            HX0108 at `B`: `A` needs itself
            HX0108 at `A`: `B` needs itself
        "#]],
    );
    check(
        "bench \"b\" { measure flops 1 { } }",
        expect![[r#"
        HX0614 at `{ }`: kernels are timed by `hx bench` only
    "#]],
    );
}

#[test]
fn unseeded_tensors_follow_the_session() {
    check_main(
        "let a = randn(f32, 1); let b = randn(f32, 1); print(a[0] == b[0], a[0] == randn(f32, 1, seed: 7)[0]);",
        expect![[r#"
            false false
        "#]],
    );
}

#[test]
fn brief_values() {
    assert_eq!(Value::Tuple(vec![Value::Int(64), Value::Str("a".into())].into()).brief(), r#"(64, "a")"#);
    assert_eq!(Value::Tuple(vec![Value::Int(64)].into()).brief(), "(64,)");
}

#[test]
fn files_of_tensors() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("x.safetensors").display().to_string();
    check_main(
        &format!(
            r#"
        let path = "{path}";
        save(path, [("w", arange(bf16, [2, 3])), ("b", cast([0.5, 2], f8e4m3)), ("n", 7)]);
        let file = load(path);
        print(file.names, len(file), file["w"].sum(), file["n"], file["b"]);
        for (name, x) in file {{ print(name, x.dtype, x.shape); }}
        "#
        ),
        expect![[r#"
            ["n", "w", "b"] 3 15.0 7 f8e4m3[2]
            [0.5, 2.0]
            n i64 ()
            w bf16 (2, 3)
            b f8e4m3 (2,)
        "#]],
    );
    check_main(
        r#"save("x.safetensors", ones(f32, 2));"#,
        expect![[r#"
            HX0614 at `save("x.safetensors", ones(f32, 2))`: found a tensor f32[2], a list of names and tensors is needed
              help: `save("x.safetensors", [("w", w)])` writes `w` under its name
        "#]],
    );
    check_main(
        &format!("let f = load(\"{path}\"); print(f[0]);"),
        expect![[r#"
            HX0614 at `0`: found an integer, the name of a tensor is needed
        "#]],
    );
}

/// Collects the printed lines, and the reasons of assertions that were not checked.
#[derive(Default)]
struct Unjudged(Vec<String>);

impl Surroundings for Unjudged {
    fn print(&mut self, line: &str) {
        self.0.push(format!("printed {line}"));
    }

    fn unjudged(&mut self, reason: &str) {
        self.0.push(format!("not judged: {reason}"));
    }
}

#[test]
fn what_nobody_knows_is_neither_true_nor_false() {
    let text = r#"
        main {
            print(uses("fma"), uses("mul"), conflicts(), target());
            assert(spills() == 0);
            assert(uses("fma") && spills() > 0, "whatever");
            assert_eq(spills(), 1);
            assert(uses("mul") && spills() == 0);
        }
    "#;
    let (db, file) = database(text);
    let main = Item::Main(file_items(&db, file).main().expect("a main"));
    let main = Sound::of(&db, main).expect("no errors");
    let (mut seen, mut device) = (Unjudged::default(), Scaler);
    let mut session = Session::new(&db, &mut device, &mut seen, Options::default());
    let error = session.run(main, None).expect_err("the last assertion fails without it");
    seen.0.push(show_error(&db, text, &error));
    expect![[r#"
        printed true false 3 sm_90a
        not judged: `spills` is not known: nobody counted
        not judged: `spills` is not known: nobody counted
        not judged: `spills` is not known: nobody counted
        HX0612 at `uses("mul") && spills() == 0`: `uses("mul") && spills() == 0` does not hold
          `uses("mul")` is false
    "#]]
    .assert_eq(&seen.0.join("\n"));
    check_main(
        "let n = spills();",
        expect![[r#"
        HX0630 at `spills()`: `spills` is not known: nobody counted
          help: in an `assert` this is a skip that is counted, and no failure
    "#]],
    );
    check_main(
        "assert(bytes_per_access(\"x\") == 16);",
        expect![[r#"
        HX0614 at `bytes_per_access("x")`: there is no tensor `x`
    "#]],
    );
    check_main(
        "uses();",
        expect![[r#"
            HX0222 at `uses()`: `uses` lacks the argument `instruction`
              `uses(instruction)`
        "#]],
    );
}

#[test]
fn long_chains_of_constants_have_values() {
    let chain: String = (1..1000).rev().map(|i| format!("const B{i} = B{} + 1;\n", i - 1)).collect();
    let doubled: String = (1..60).map(|i| format!("const A{i} = A{} + A{};\n", i - 1, i - 1)).collect();
    check(
        &format!("{chain}const B0 = 1;\nconst A0 = 1;\n{doubled}main {{ print(B999, A59); }}"),
        expect![[r#"
            1000 576460752303423488
        "#]],
    );
}

#[test]
fn twice_the_constants_are_twice_the_work() {
    // The program names every constant, and each constant names the two that follow it.
    let work = |n: usize| {
        let line = |i: usize| format!("const A{i} = A{} + 0 * A{};\n", i + 2, i + 1);
        let items = (0..n).map(line).collect::<String>();
        let names: String = (0..n).map(|i| format!("print(A{i});\n")).collect();
        let text = format!("{items}const A{n} = 1;\nconst A{} = 2;\nmain {{ {names} }}", n + 1);
        let (db, file) = database(&text);
        let main = Item::Main(file_items(&db, file).main().expect("a main"));
        let main = Sound::of(&db, main).expect("no errors");
        let (mut lines, mut device) = (Vec::new(), Scaler);
        let mut session = Session::new(&db, &mut device, &mut lines, Options::default());
        db.log.take();
        db.log.take_checks();
        assert!(session.run(main, None).is_ok());
        [db.log.take().len(), db.log.take_checks()]
    };
    for (half, whole) in work(400).into_iter().zip(work(800)) {
        assert!(whole * 10 <= half * 22, "{half} for 400 constants, {whole} for 800");
    }
}
