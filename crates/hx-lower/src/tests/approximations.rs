//! Approximate arithmetic: which operators a rounding to 16 bits makes approximate.

use expect_test::{Expect, expect};
use hx_hir::testing::TestDb;
use hx_hir::{Sound, file_items};

use super::program_of;
use crate::{CtArgs, LaunchFacts};

/// Shows the elementwise operations of a kernel that loads `x` as f32 and `h` as f16, with these statements and attributes.
fn check(attributes: &str, statements: &str, expected: Expect) {
    let text = format!(
        "{attributes}
kernel k(a: f32[m], b: f16[m], y: mut f16[m], z: mut f32[m], q: mut bf16[m], s: mut f8e8m0[m])
    grid [cdiv(m, 128)] threads 128
{{
    let x = load(tile(a, [128])[.., block_idx]);
    let h = load(tile(b, [128])[.., block_idx]);
    {statements}
}}
"
    );
    let (db, file) = TestDb::with_file(&text);
    let kernel = file_items(&db, file).kernels().next().and_then(|kernel| Sound::of(&db, kernel));
    let kernel = kernel.expect("the kernel has no errors");
    let program = program_of(&db, kernel, &CtArgs::default(), &LaunchFacts::all_16());
    let computed =
        program.lines().map(str::trim).filter(|line| line.starts_with('#') && line.contains(" = "));
    let lines: Vec<&str> = computed.filter_map(|line| line.split_once(' ')).map(|(_, rest)| rest).collect();
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

/// Shows one value that is rounded to f16.
fn check_value(value: &str, expected: Expect) {
    check("", &format!("copy(cast({value}, f16), tile(y, [128])[.., block_idx]);"), expected);
}

#[test]
fn a_value_that_is_rounded_at_once() {
    check_value(
        "3.0 / x",
        expect![[r#"
        value = cast(div_approx(3.0, x), f16)
    "#]],
    );
    check_value(
        "tanh(x)",
        expect![[r#"
        value = cast(tanh_approx(x), f16)
    "#]],
    );
    check_value(
        "log(x)",
        expect![[r#"
        value = cast(log_approx(x), f16)
    "#]],
    );
}

#[test]
fn products_and_choices_stand_between() {
    check_value(
        "x * sigmoid(x)",
        expect![[r#"
        value = cast((x * sigmoid_approx(x)), f16)
    "#]],
    );
    check_value(
        "where(x > 0.0, sqrt(x), -exp(x)) / max(exp(x), 2.0)",
        expect![[r#"
        value = cast(div_approx(where((0.0 < x), sqrt_approx(x), -exp_approx(x)), max(exp_approx(x), 2.0)), f16)
    "#]],
    );
}

/// `tanh` is off by up to one unit of f16, and a product of it by more.
#[test]
fn products_of_tanh_are_exact_in_f16() {
    check_value(
        "x * tanh(x)",
        expect![[r#"
        value = cast((x * tanh(x)), f16)
    "#]],
    );
    check_value(
        "where(x > 0.0, -tanh(x), 1.0)",
        expect![[r#"
        value = cast(where((0.0 < x), -tanh_approx(x), 1.0), f16)
    "#]],
    );
    check(
        "",
        "copy(cast(x * tanh(x), bf16), tile(q, [128])[.., block_idx]);",
        expect![[r#"
        value = cast((x * tanh_approx(x)), bf16)
    "#]],
    );
    check(
        "",
        "copy(h * tanh(h), tile(y, [128])[.., block_idx]);",
        expect![[r#"
        value = (h * tanh_approx(h))
    "#]],
    );
}

/// A sum may cancel what the approximation got right; and conditions are no values.
#[test]
fn sums_and_conditions_are_exact() {
    check_value(
        "1.0 + tanh(x)",
        expect![[r#"
        value = cast((1.0 + tanh(x)), f16)
    "#]],
    );
    check_value(
        "where(exp(x) > 2.0, x, 1.0)",
        expect![[r#"
        value = cast(where((2.0 < exp(x)), x, 1.0), f16)
    "#]],
    );
    check_value(
        "exp(x) - exp(-x)",
        expect![[r#"
        value = cast((exp(x) - exp(-x)), f16)
    "#]],
    );
    check_value(
        "exp(x) + x",
        expect![[r#"
        value = cast((exp(x) + x), f16)
    "#]],
    );
}

/// Numbers of one sign cancel nothing.
#[test]
fn sums_of_numbers_that_are_never_negative() {
    check_value(
        "1.0 / (1.0 + exp(-x))",
        expect![[r#"
        value = cast(div_approx(1.0, (1.0 + exp_approx(-x))), f16)
    "#]],
    );
    check_value(
        "sqrt(x * x + max(x, 0.0) / 3.0)",
        expect![[r#"
        value = cast(sqrt_approx(((x * x) + div_approx(max(x, 0.0), 3.0))), f16)
    "#]],
    );
    check_value(
        "log(1.0 + exp(x))",
        expect![[r#"
        value = cast(log_approx((1.0 + exp(x))), f16)
    "#]],
    );
}

#[test]
fn powers_of_numbers_that_are_never_negative() {
    check_value(
        "pow(abs(x), 1.7)",
        expect![[r#"
        value = cast(pow_approx(abs(x), 1.7000000476837158), f16)
    "#]],
    );
    check_value(
        "pow(x, 1.7)",
        expect![[r#"
        value = cast(pow(x, 1.7000000476837158), f16)
    "#]],
    );
    check_value(
        "pow(abs(x), 65.0)",
        expect![[r#"
        value = cast(pow(abs(x), 65.0), f16)
    "#]],
    );
    check_value(
        "pow(abs(x), exp(x))",
        expect![[r#"
        value = cast(pow(abs(x), exp(x)), f16)
    "#]],
    );
}

/// The C++ compiler multiplies instead.
#[test]
fn divisions_by_powers_of_two_are_multiplications() {
    check_value(
        "x / 8.0",
        expect![[r#"
        value = cast((x / 8.0), f16)
    "#]],
    );
    check_value(
        "x / 10.0",
        expect![[r#"
        value = cast(div_approx(x, 10.0), f16)
    "#]],
    );
}

#[test]
fn operators_of_16_bits_round_their_own_results() {
    check(
        "",
        "copy(h / exp(h), tile(y, [128])[.., block_idx]);",
        expect![[r#"
        value = div_approx(h, exp_approx(h))
    "#]],
    );
    check(
        "",
        "copy(1.0 + cast(h / 3.0, f32), tile(z, [128])[.., block_idx]);",
        expect![[r#"
        value = (1.0 + cast(div_approx(h, 3.0), f32))
    "#]],
    );
}

/// The rounding may be another statement; all uses count.
#[test]
fn every_use_is_rounded() {
    let both = "copy(cast(t, f16), tile(y, [128])[.., block_idx]);";
    check(
        "",
        &format!("let t = sqrt(x);\n    {both}"),
        expect![[r#"
        t = sqrt_approx(x)
        t_f16 = cast(t, f16)
    "#]],
    );
    check(
        "",
        &format!("let t = sqrt(x);\n    {both}\n    copy(t, tile(z, [128])[.., block_idx]);"),
        expect![[r#"
            t = sqrt(x)
            t_f16 = cast(t, f16)
        "#]],
    );
    check(
        "",
        &format!(
            "let t = sqrt(x);\n    {both}\n    copy(cast(2.0 * t, bf16), tile(q, [128])[.., block_idx]);"
        ),
        expect![[r#"
            t = sqrt_approx(x)
            t_f16 = cast(t, f16)
            value = cast((2.0 * t), bf16)
        "#]],
    );
    check(
        "",
        "let t = exp(x);\n    copy(cast(t / sum(t, axis: 0), f16), tile(y, [128])[.., block_idx]);",
        expect![[r#"
            t = exp(x)
            reduced = reduce(t, axis: 0, +)
            value = cast(div_approx(t, reduced), f16)
        "#]],
    );
}

/// A value that a loop carries gathers errors.
#[test]
fn loops_carry_exact_values() {
    check(
        "",
        "let t = exp(x);
    for _ in 0..100 { t = sqrt(t); }
    copy(cast(t, f16), tile(y, [128])[.., block_idx]);",
        expect![[r#"
            t = exp(x)
            t = sqrt(t)
            t_f16 = cast(t, f16)
        "#]],
    );
}

/// A scale is rounded up to a power of two, so that a tiny error doubles it.
#[test]
fn scales_are_exact() {
    check(
        "",
        "copy(cast(x / 6.0, f8e8m0), tile(s, [128])[.., block_idx]);",
        expect![[r#"
        value = cast((x / 6.0), f8e8m0)
    "#]],
    );
}

#[test]
fn a_kernel_may_ask_for_exact_arithmetic() {
    check(
        "#[exact]",
        "copy(cast(3.0 / x, f16), tile(y, [128])[.., block_idx]);",
        expect![[r#"
        value = cast((3.0 / x), f16)
    "#]],
    );
}
