//! `hx layout`: values, drawings, proofs, reference cases, and reasons.

use expect_test::{Expect, expect};

use super::{check, hx};

fn eval(text: &str, want: Expect) {
    check(&[], &["layout", "eval", text], want);
}

#[test]
fn expressions_have_values() {
    let values = |texts: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        let value = |text: &&str| {
            let output = hx(folder.path(), &["layout", "eval", text]);
            assert!(output.status.success(), "{text}");
            format!("{text} = {}", String::from_utf8_lossy(&output.stdout))
        };
        texts.iter().map(value).collect::<String>()
    };
    expect![[r#"
        compose((4,8):(8,1), 8:2) = (2,4):(16,1)
        (4,8):(8,1) ∘ 8:2 = (2,4):(16,1)
        complement((2,2):(1,8), 32) = (4,2):(2,16)
        (lane: 4, reg: 2):(2,1) = (lane: 4, reg: 2):(2,1)
        swizzle<2,0,3> ∘ (4,4):(8,1) = swizzle<2, 0, 3> ∘ (4,4):(8,1)
        logical_divide((8,8):(1,8), <4:1, 2:4>) = ((4,2),(2,4)):((1,4),(32,8))
        t = (4,2):(2,1); inverse(t) = (2,4):(4,1)
        table((3,2):(2,1)) = (0, 2, 4, 1, 3, 5)
        slice((4,8):(8,1), (_,3)) = (layout: (4,):(8,), offset: 3)
        ((4,8):(8,1))(2, 3) = 19
        (4,8):(1,4) == 32:1 = true
        isl(4:2) = { [c] -> [i] : 0 <= c < 4 and i = 2*c }
        -7 = -7
    "#]]
    .assert_eq(&values(&[
        "compose((4,8):(8,1), 8:2)",
        "(4,8):(8,1) ∘ 8:2",
        "complement((2,2):(1,8), 32)",
        "(lane: 4, reg: 2):(2,1)",
        "swizzle<2,0,3> ∘ (4,4):(8,1)",
        "logical_divide((8,8):(1,8), <4:1, 2:4>)",
        "t = (4,2):(2,1); inverse(t)",
        "table((3,2):(2,1))",
        "slice((4,8):(8,1), (_,3))",
        "((4,8):(8,1))(2, 3)",
        "(4,8):(1,4) == 32:1",
        "isl(4:2)",
        "-7",
    ]));
}

#[test]
fn an_expression_without_a_value_shows_why_and_where() {
    eval(
        "compose((4,8):(8,1), 8:z)",
        expect![[r#"
        exit 1
        --
        error[HX0304]: `z` is not known
           ╭─[ expression:1:24 ]
           │
         1 │ compose((4,8):(8,1), 8:z)
           │                        ┬
           │                        ╰── here
        ───╯

    "#]],
    );
    eval(
        "complement((2,2):(1,1), 16)",
        expect![[r#"
            exit 1
            --
            error[HX0304]: `(2,2):(1,1)` takes a value twice
               ╭─[ expression:1:1 ]
               │
             1 │ complement((2,2):(1,1), 16)
               │ ─────────────┬─────────────
               │              ╰─────────────── here
            ───╯

        "#]],
    );
    eval(
        "",
        expect![[r#"
            exit 1
            --
            error[HX0304]: found the end where an expression was expected
               ╭─[ expression:1:1 ]
               │
             1 │
               │ │
               │ ╰─ here
            ───╯

        "#]],
    );
    check(
        &[],
        &["--message-format", "short", "layout", "eval", "comp(4:1)"],
        expect![[r#"
            exit 1
            --
            expression:1:1: error[HX0304]: there is no function `comp`; there is `compatible`
        "#]],
    );
}

#[test]
fn layouts_are_drawn() {
    check(
        &[],
        &["layout", "show", "(row: 4, col: (2,2)):(4,(1,2))"],
        expect![[r#"
        exit 0
        (row: 4, col: (2,2)):(4,(1,2))
             0  1    2  3
          ┌───────┬───────┐
        0 │  0  1 │  2  3 │
        1 │  4  5 │  6  7 │
        2 │  8  9 │ 10 11 │
        3 │ 12 13 │ 14 15 │
          └───────┴───────┘
        --
    "#]],
    );
    check(
        &[],
        &["layout", "show", "(thread: (2,4), value: 2):((8,1),4)", "--tile", "4,4"],
        expect![[r#"
        exit 0
        (thread: (2,4), value: 2):((8,1),4) over (4,4)
               0    1    2    3
          ┌─────────────────────┐
        0 │ T0V0 T0V1 T1V0 T1V1 │
        1 │ T2V0 T2V1 T3V0 T3V1 │
        2 │ T4V0 T4V1 T5V0 T5V1 │
        3 │ T6V0 T6V1 T7V0 T7V1 │
          └─────────────────────┘
        --
    "#]],
    );
    check(
        &[],
        &["layout", "show", "swizzle<1,1,2> ∘ (4,8):(8,1)", "--banks"],
        expect![[r#"
        exit 0
        banks of swizzle<1, 1, 2> ∘ (4,8):(8,1) in 16-bit elements
             0  1  2  3  4  5  6  7
          ┌─────────────────────────┐
        0 │  0  0  1  1  2  2  3  3 │
        1 │  5  5  4  4  7  7  6  6 │
        2 │  8  8  9  9 10 10 11 11 │
        3 │ 13 13 12 12 15 15 14 14 │
          └─────────────────────────┘
        --
    "#]],
    );
    check(
        &[],
        &["layout", "show", "(2,4):(4,1)", "--banks=64"],
        expect![[r#"
        exit 0
        banks of (2,4):(4,1) in 64-bit elements
             0  1  2  3
          ┌─────────────┐
        0 │  0  2  4  6 │
        1 │  8 10 12 14 │
          └─────────────┘
        --
    "#]],
    );
}

#[test]
fn what_cannot_be_drawn_is_told() {
    check(
        &[],
        &["--message-format", "short", "layout", "show", "swizzle<1,2,3>"],
        expect![[r#"
            exit 1
            --
            expression:1:1: error[HX0304]: found a swizzle where a layout was expected
        "#]],
    );
    check(
        &[],
        &["--message-format", "short", "layout", "show", "(4,2):(2,1)", "--tile", "2,2"],
        expect![[r#"
            exit 1
            --
            expression:1:1: error[HX0304]: coordinate `index 7` does not fit shape `(2,2)`
        "#]],
    );
    check(
        &[],
        &["--message-format", "short", "layout", "show", "swizzle<1,0,1> ∘ (2,2):(2,1)", "--tile", "2,2"],
        expect![[r#"
            exit 1
            --
            expression:1:1: error[HX0304]: a thread-value layout has neither a swizzle nor an offset
        "#]],
    );
    check(
        &[],
        &["layout", "show", "4:1", "--tile", "4"],
        expect![[r#"
        exit 2
        --
        error: invalid value '4' for '--tile <M,N>': expected two positive integers, as in 16,8

        For more information, try '--help'.
    "#]],
    );
    check(
        &[],
        &["layout", "show", "4:1", "--svg", "none/a.svg"],
        expect![[r#"
        exit 1
        --
        error[HX0627]: cannot write `none/a.svg`: there is no such folder
    "#]],
    );
}

#[test]
fn drawings_become_svg() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = hx(folder.path(), &["layout", "show", "(2,2):(2,1)", "--svg", "a.svg"]);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b""[..]));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "wrote a.svg\n");
    let written = std::fs::read_to_string(folder.path().join("a.svg")).expect("it is written");
    assert!(written.starts_with("<svg ") && written.ends_with("</svg>\n"), "{written}");
    let printed = hx(folder.path(), &["layout", "show", "(2,2):(2,1)", "--svg", "-"]);
    assert_eq!(String::from_utf8_lossy(&printed.stdout), written);
}

#[test]
fn equations_hold_or_not() {
    let prove = |text: &str, want: Expect| check(&[], &["layout", "prove", text], want);
    prove(
        "(4,8):(8,1) ∘ 8:2 == (2,4):(16,1)",
        expect![[r#"
        exit 0
        (2,4):(16,1) == (2,4):(16,1) holds
        --
    "#]],
    );
    prove(
        "(4,8):(8,1) ∘ 8:2 == 8:2",
        expect![[r#"
        exit 1
        (2,4):(16,1) == 8:2 does not hold: at 1 the left is 16, the right 2
        --
    "#]],
    );
    prove(
        "(M,K):(1,M) == (M*K):1",
        expect![[r#"
        exit 0
        (M,K):(1,M) == (M*K):1 holds for all values
        --
    "#]],
    );
    prove(
        "(M,K):(K,1) == (M*K):1",
        expect![[r#"
        exit 1
        (M,K):(K,1) == (M*K):1 does not hold: for K = 2, M = 2 at 1 the left is 2, the right 1
        --
    "#]],
    );
    check(
        &[],
        &["layout", "prove", "swizzle<1,0,1> ∘ 4:1 == (2,2):(1,3)", "--isl"],
        expect![[r#"
        exit 1
        swizzle<1, 0, 1> ∘ 4:1 == (2,2):(1,3) does not hold: at 3 the left is 2, the right 4
        left:  { [c] -> [i] : exists (x : 0 <= c < 4 and x = c and i = x + 1*((((floor(x/2) mod 2) + (x mod 2)) mod 2) - (x mod 2))) }
        right: { [c] -> [i] : 0 <= c < 4 and i = (c mod 2) + 3*floor(c/2) }
        --
    "#]],
    );
    check(
        &[],
        &["--message-format", "short", "layout", "prove", "4:1"],
        expect![[r#"
            exit 1
            --
            expression:1:1: error[HX0304]: `==` between two layouts was expected
        "#]],
    );
}

const CASES: &str = r#"{"id":"a","op":"composition","in":{"a":"(6,2):(8,2)","b":"(4,3):(3,1)"},"out":{"table":[0,24,2,26,8,32,10,34,16,40,18,42],"profile":"(4,3)"},"check":["table","profile"],"strict":true}
{"id":"b","op":"complement","in":{"a":"(2,2):(1,1)","cotarget":8},"error":"not_injective","strict":true}

{"id":"c","op":"measure","in":{"a":"4:2"},"out":{"size":5},"check":["value"],"strict":true}
{"id":"isl-d","op":"layout_map","in":{"layout":"4:2"},"out":{"kind":"map","isl":"{ [c] -> [i] : 0 <= c < 4 and i = 2*c }"},"check":["isl"],"strict":true}
"#;

#[test]
fn reference_cases_are_judged() {
    check(
        &[("cases.jsonl", CASES)],
        &["layout", "check", "cases.jsonl"],
        expect![[r#"
            exit 1
            c measure: value: `size` is 4, 5 was expected
            3 passed, 1 failed
            --
        "#]],
    );
    let good: String =
        CASES.lines().filter(|line| !line.contains(r#""c""#)).map(|l| format!("{l}\n")).collect();
    check(
        &[("cases.jsonl", &good)],
        &["layout", "check", "cases.jsonl"],
        expect![[r#"
        exit 0
        3 passed, 0 failed
        --
    "#]],
    );
    check(
        &[("cases.jsonl", "{}\n")],
        &["layout", "check", "cases.jsonl"],
        expect![[r#"
        exit 1
        --
        error[HX0627]: `cases.jsonl`, line 1: missing field `id` at line 1 column 2
    "#]],
    );
    check(
        &[],
        &["layout", "check", "cases.jsonl"],
        expect![[r#"
        exit 1
        --
        error[HX0606]: cannot open `cases.jsonl`: there is no such file
    "#]],
    );
}

#[test]
fn answers_are_written_for_other_judges() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("cases.jsonl"), CASES).expect("writable");
    let mut written = String::new();
    for name in ["answers.jsonl", "answers.tsv"] {
        hx(folder.path(), &["layout", "check", "cases.jsonl", "--answers", name]);
        written += &std::fs::read_to_string(folder.path().join(name)).expect("it is written");
        written += "--\n";
    }
    expect![[r#"
        {"id":"a","out":{"layout":"((2,2),3):((24,2),8)","size":12,"table":[0,24,2,26,8,32,10,34,16,40,18,42],"rank":2}}
        {"id":"b","error":"`(2,2):(1,1)` takes a value twice"}
        {"id":"c","out":{"size":4,"cosize":7,"rank":1,"depth":0}}
        {"id":"isl-d","out":{"kind":"map","isl":"{ [c] -> [i] : 0 <= c < 4 and i = 2*c }"}}
        --
        isl-d	{ [c] -> [i] : 0 <= c < 4 and i = 2*c }
        --
    "#]].assert_eq(&written);
}

#[test]
fn the_public_cases_pass() {
    let vectors = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors");
    let mut shown = String::new();
    for name in ["layout_public.jsonl", "linear_public.jsonl", "isl_public.jsonl"] {
        let output = hx(&vectors, &["layout", "check", name]);
        shown += &format!("{name}: exit {}, ", output.status.code().unwrap_or(-1));
        shown += String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default();
        shown.push('\n');
    }
    expect![[r#"
        layout_public.jsonl: exit 0, 622 passed, 0 failed
        linear_public.jsonl: exit 0, 160 passed, 0 failed
        isl_public.jsonl: exit 0, 68 passed, 0 failed
    "#]]
    .assert_eq(&shown);
}
