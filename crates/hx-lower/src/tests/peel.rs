//! Loops with `#[peel]`.

use expect_test::{Expect, expect};

use super::{check, check_instance, text_of};
use crate::{CtValue, LaunchFacts};

fn kernel(stmts: &str) -> String {
    format!(
        "kernel probe<LATE = false>(c: mut f32[m], first: i32, w: f32[k], at: i64[k]) grid [1] threads 32 {{
            let x = register_tensor(f32, [8]);
            {stmts}
        }}"
    )
}

/// Lowers the statements, and shows those of the kernel that follow the register tensor; or the errors.
fn check_body(stmts: &str, expect: Expect) {
    let text = text_of(&kernel(stmts), &[], &LaunchFacts::all_16());
    let body = text.split_once("register x: f32[8]").map(|(_, body)| body.replace("\n  ", "\n"));
    expect.assert_eq(body.as_deref().unwrap_or(&text).trim_start());
}

#[test]
fn a_loop_is_split_where_its_condition_changes() {
    check_body(
        "#[peel]
        for j in 1..k {
            fill(x, 1.0);
            if j < m / 64 { fill(x, 2.0); } else { fill(x, 3.0); }
            fill(x, 4.0);
        }",
        expect![[r#"
              for j in 1..max(1, min(k, m / 64))
                #0 fill(x, 1.0)
                #1 fill(x, 2.0)
                #2 fill(x, 4.0)
              for j in max(1, min(k, m / 64))..k
                #3 fill(x, 1.0)
                #4 fill(x, 3.0)
                #5 fill(x, 4.0)
        "#]],
    );
}

#[test]
fn a_multiple_of_the_counter_and_two_conditions() {
    check_body(
        "#[peel]
        for j in 0..cdiv(k, 32) {
            if (j + 1) * 32 > k || j >= m { fill(x, 2.0); }
        }
        #[peel]
        for j in 0..k {
            if j < m && j < 8 { fill(x, 2.0); }
        }",
        expect![[r#"
            for j in min(m, k / 32)..(k + 31) / 32
              #0 fill(x, 2.0)
            for j in 0..min(k, min(8, m))
              #1 fill(x, 2.0)
        "#]],
    );
}

#[test]
fn the_first_and_the_last_round() {
    check_body(
        "#[peel]
        for j in 0..k { if j == 0 { fill(x, 1.0); } else { x = x + 1.0; } }
        #[peel]
        for j in 0..k { if j + 1 != k { fill(x, 1.0); } }",
        expect![[r#"
            for j in 0..min(1, k)
              #0 fill(x, 1.0)
            for j in min(1, k)..k
              #1 x = (x + 1.0)
            for j in 0..max(0, k - 1)
              #2 fill(x, 1.0)
        "#]],
    );
}

/// A second `if` with the same bound is decided, in an inner loop as well; one with another bound is tested.
#[test]
fn conditions_of_one_bound_are_decided_together() {
    check_body(
        "#[peel]
        for j in 0..k {
            if j < first { fill(x, 1.0); }
            for i in 0..m {
                if first <= j { fill(x, 2.0); }
                if j + 3 < m { fill(x, 3.0); }
            }
        }",
        expect![[r#"
              for j in 0..max(0, min(k, first))
                #0 fill(x, 1.0)
                for i in 0..m
                  if j + 3 < m
                    #1 fill(x, 3.0)
              for j in max(0, min(k, first))..k
                for i in 0..m
                  #2 fill(x, 2.0)
                  if j + 3 < m
                    #3 fill(x, 3.0)
        "#]],
    );
}

#[test]
fn a_peeled_loop_in_a_peeled_loop() {
    check_body(
        "#[peel]
        for j in 0..k {
            #[peel]
            for i in 0..m {
                if i < 4 { fill(x, 1.0); }
                if j < 2 { fill(x, 2.0); }
            }
        }",
        expect![[r#"
              for j in 0..min(2, k)
                for i in 0..min(4, m)
                  #0 fill(x, 1.0)
                  #1 fill(x, 2.0)
                for i in min(4, m)..m
                  #2 fill(x, 2.0)
              for j in min(2, k)..k
                for i in 0..min(4, m)
                  #3 fill(x, 1.0)
        "#]],
    );
}

/// Both halves assign to the same variable, and the second one starts from the value of the first.
#[test]
fn numbers_go_on_from_half_to_half() {
    check_body(
        "let n = 0;
        #[peel]
        for j in 0..k {
            if j < first { n += 2; }
            fill(x, 1.0);
        }
        if n > 4 { fill(x, 2.0); }",
        expect![[r#"
              let n = 0
              for j in 0..max(0, min(k, first))
                n = n + 2
                #0 fill(x, 1.0)
              for j in max(0, min(k, first))..k
                #1 fill(x, 1.0)
              if 4 < n
                #2 fill(x, 2.0)
        "#]],
    );
}

#[test]
fn a_condition_that_is_decided_splits_nothing() {
    let text = kernel("#[peel] for j in 0..k { if LATE && j < m { fill(x, 1.0); } fill(x, 2.0); }");
    check(
        &text,
        expect![[r#"
        kernel probe threads 32
          grid [1]
          param c: mut f32[m] : [1] align 16
          param first: i32
          param w: f32[k] : [1] align 16
          param at: i64[k] : [1] align 16
          fact k % 16 == 0
          fact m % 16 == 0
          register x: f32[8]
          for j in 0..k
            #0 fill(x, 2.0)
    "#]],
    );
    check_instance(
        &text,
        &[("LATE", CtValue::Bool(true))],
        &LaunchFacts::all_16(),
        expect![[r#"
        kernel probe threads 32
          grid [1]
          param c: mut f32[m] : [1] align 16
          param first: i32
          param w: f32[k] : [1] align 16
          param at: i64[k] : [1] align 16
          fact k % 16 == 0
          fact m % 16 == 0
          register x: f32[8]
          for j in 0..min(k, m)
            #0 fill(x, 1.0)
            #1 fill(x, 2.0)
          for j in min(k, m)..k
            #2 fill(x, 2.0)
    "#]],
    );
}

#[test]
fn nothing_to_peel() {
    check_body(
        "#[peel] for j in 0..k { fill(x, cast(j, f32)); }",
        expect![[r#"
        error[HX0227]: found `#[peel]` on a loop without an `if` that changes once as `j` grows
                      #[peel] for j in 0..k { fill(x, cast(j, f32)); }
                                       ^^^^
          help: compare `j` with a number that the loop does not change, as in `if j < first`
    "#]],
    );
    check_body(
        "#[peel] for j in 0..k { if j % 2 == 0 { fill(x, 1.0); } }",
        expect![[r#"
        error[HX0227]: found `#[peel]` on a loop without an `if` that changes once as `j` grows
                      #[peel] for j in 0..k { if j % 2 == 0 { fill(x, 1.0); } }
                                       ^^^^
                      #[peel] for j in 0..k { if j % 2 == 0 { fill(x, 1.0); } }
                                                 ---------- this condition may change more than once, or its bound is made in the loop
          help: compare `j` with a number that the loop does not change, as in `if j < first`
    "#]],
    );
    check_body(
        "let n = 0;
        #[peel]
        for j in 0..k {
            if j < n { fill(x, 1.0); }
            n = n + 2;
        }",
        expect![[r#"
            error[HX0227]: found `#[peel]` on a loop without an `if` that changes once as `j` grows
                      for j in 0..k {
                               ^^^^
                          if j < n { fill(x, 1.0); }
                             ----- this condition may change more than once, or its bound is made in the loop
              help: compare `j` with a number that the loop does not change, as in `if j < first`
        "#]],
    );
    check_body(
        "#[peel] for j in 0..k { if j < at[j] { fill(x, 1.0); } }",
        expect![[r#"
        error[HX0227]: found `#[peel]` on a loop without an `if` that changes once as `j` grows
                      #[peel] for j in 0..k { if j < at[j] { fill(x, 1.0); } }
                                       ^^^^
                      #[peel] for j in 0..k { if j < at[j] { fill(x, 1.0); } }
                                                 --------- this condition may change more than once, or its bound is made in the loop
          help: compare `j` with a number that the loop does not change, as in `if j < first`
    "#]],
    );
}
