//! `hx bench` on machines without a GPU.

use expect_test::expect;

use super::{GOOD, check};

const BENCHES: (&str, &str) = (
    "b.hx",
    "kernel k(x: f32[n]) grid [1] threads 32 { }\n\
     bench \"one\" for n in [1, 2] { let x = ones(f32, n); measure bytes 4 * n { k(x) } baseline copy(x) }\n\
     bench \"two\" { print(1); }\n",
);

#[test]
fn benches_are_listed_anywhere() {
    check(
        &[BENCHES, GOOD],
        &["bench", "--list"],
        expect![[r#"
            exit 0
            b.hx::one[1]
            b.hx::one[2]
            b.hx::two
            --
        "#]],
    );
    check(
        &[BENCHES, GOOD],
        &["bench", "b.hx", "[2]", "--list"],
        expect![[r#"
            exit 0
            b.hx::one[2]
            --
        "#]],
    );
    check(
        &[BENCHES, GOOD],
        &["bench", "good.hx"],
        expect![[r#"
            exit 4
            --
            no bench matches
        "#]],
    );
}

#[test]
fn the_simulator_does_not_time() {
    check(
        &[BENCHES],
        &["bench", "--device", "sim"],
        expect![[r#"
            exit 3
            --
            device: simulator (sm_90a)
            error[HX0609]: benches need a GPU; the simulator does not time
              = help: `hx test` checks results on any machine; `hx doctor` shows what is missing
        "#]],
    );
}

#[test]
fn what_is_wrong_is_told_before_anything_is_timed() {
    check(
        &[BENCHES],
        &["bench", "--device", "sim", "--compare", "nothing.json"],
        expect![[r#"
            exit 1
            --
            error[HX0606]: cannot read `nothing.json`: No such file or directory (os error 2)
        "#]],
    );
    check(
        &[BENCHES, ("old.json", "{}")],
        &["bench", "--device", "sim", "--compare", "old.json"],
        expect![[r#"
            exit 1
            --
            error[HX0627]: `old.json` holds no results of `hx bench`: missing field `format` at line 1 column 2
        "#]],
    );
    check(
        &[BENCHES],
        &["bench", "--candidates", "--candidate", "2"],
        expect![[r#"
        exit 2
        --
        error: the argument '--candidates' cannot be used with '--candidate <N>'

        Usage: hx bench --candidates [PATHS|FILTER]...

        For more information, try '--help'.
    "#]],
    );
    check(
        &[BENCHES],
        &["bench", "--roof-tflops", "0"],
        expect![[r#"
            exit 2
            --
            error: invalid value '0' for '--roof-tflops <TFLOPS>': expected a positive number

            For more information, try '--help'.
        "#]],
    );
}
