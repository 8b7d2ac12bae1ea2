//! Ranges of variables in loops, and facts that an assignment ends.

use expect_test::{Expect, expect};

use super::check;

/// Lowers statements of a kernel with a shared tensor of three rows, and shows the errors.
fn check_body(stmts: &str, expect: Expect) {
    check(
        &format!(
            "kernel probe<N = 3>(t: f32[n], k: i32, e: i8, y: mut f32[n]) where n >= 1 grid [1] threads 32 {{
                let s = shared_tensor(f32, [3, 32]);
                {stmts}
                let missing = s[n, ..];
            }}"
        ),
        expect,
    );
}

#[test]
fn rings_that_stay_inside() {
    check_body(
        "let a = 0;
        for i in 0..n {
            let x = s[a, ..];
            a = a + 1;
            if a == N { a = 0; }
        }
        let b = 2;
        while b < n {
            for j in 0..n {
                if b >= 3 { b = 0; }
                let x = s[b, ..];
                b += 1;
            }
        }
        let c = 0;
        for i in 0..n {
            for j in 0..n { c = (c + 1) % N; }
            let x = s[c, ..];
        }
        let d = 2;
        for i in 0..n {
            let x = s[d, ..];
            if d == 0 { d = 2; } else { d = d - 1; }
        }
        let f: i8 = 0;
        for i in 0..n {
            let x = s[f, ..];
            f = min(f + 1, 2);
        }
        let (g, h) = (0, 1);
        for i in 0..n {
            let next = if g == 2 { 0 } else { g + 1 };
            h = g;
            g = next;
            let x = s[h, ..];
            let z = s[g, ..];
        }",
        expect![[r#"
            error[HX0210]: cannot prove that this stays inside of its part of `s`
                              let missing = s[n, ..];
                                              ^ the index `n` may be `3` or more
              help: state it in the header: `where n < 3`
        "#]],
    );
}

#[test]
fn rings_that_leave() {
    check_body(
        "let a = 0;
        for i in 0..n {
            let x = s[a, ..];
            a = a + 1;
            if a == 4 { a = 0; }
        }
        let b = 0;
        for i in 0..n {
            b = b + 1;
            let x = s[b, ..];
            if b == N { b = 0; }
        }
        let c = 0;
        for i in 0..n {
            let x = s[c, ..];
            if k > 0 { c = c + 1; }
        }
        let d: i8 = 0;
        for i in 0..n {
            let x = s[(d + 1) / 64, ..];
            d = min(max(d + 2, 0), 127);
        }
        let f = 5;
        for i in 0..n {
            f = f % 3;
        }
        let x = s[f, ..];",
        expect![[r#"
            error[HX0210]: cannot prove that this stays inside of its part of `s`
                          let x = s[a, ..];
                                    ^ the index `a` may be `3` or more
              help: `if a < 3 { … }` around it provides the proof
            error[HX0210]: cannot prove that this stays inside of its part of `s`
                          let x = s[b, ..];
                                    ^ the index `b` may be `3` or more
              help: `if b < 3 { … }` around it provides the proof
            error[HX0210]: cannot prove that this stays inside of its part of `s`
                          let x = s[c, ..];
                                    ^ the index `c` may be `3` or more
              help: `if c < 3 { … }` around it provides the proof
            error[HX0210]: cannot prove that this stays inside of its part of `s`
                          let x = s[(d + 1) / 64, ..];
                                    ^^^^^^^^^^^^ `cast(d + 1, i8) / 64` may be negative
              help: `if 0 <= cast(d + 1, i8) / 64 { … }` around it provides the proof
            error[HX0210]: cannot prove that this stays inside of its part of `s`
                      let x = s[f, ..];
                                ^ the index `f` may be `3` or more
              help: `if f < 3 { … }` around it provides the proof
            error[HX0210]: cannot prove that this stays inside of its part of `s`
                              let missing = s[n, ..];
                                              ^ the index `n` may be `3` or more
              help: state it in the header: `where n < 3`
        "#]],
    );
}

#[test]
fn an_assignment_ends_what_a_condition_said() {
    check_body(
        "let i = 0;
        while i < n {
            let a = t[i];
            i = i + 1;
            let b = t[i - 1];
            let c = t[i];
        }
        let j = 0;
        for r in 0..n {
            if j < n {
                let d = t[j];
                if k > 0 { j = j + 1; }
                let f = t[j];
            }
        }
        let m = 0;
        if k > 0 { m = 1; } else { m = 2; }
        let g = s[m, ..];
        if k > 1 { m = 7; }
        let h = s[m, ..];
        let p = if k < n { k } else { n - 1 };
        let q = t[max(p, 0)] + t[if k < 0 { 0 } else { min(k, n - 1) }];
        let r = t[p];",
        expect![[r#"
            error[HX0210]: cannot prove that this element of `t` exists
                          let c = t[i];
                                  ^^^^ not proven: `i < n`
                          let c = t[i];
                                  - `t` has the shape `[n]`
              help: `if i < n { … }` around it provides the proof
              help: `… else 0.0` after the index guards the read: an element outside is `0.0`
              fix: guard the read with `else 0.0` (`` → ` else 0.0`)
            error[HX0210]: cannot prove that this element of `t` exists
                              let f = t[j];
                                      ^^^^ not proven: `j < n`
                              let f = t[j];
                                      - `t` has the shape `[n]`
              help: `if j < n { … }` around it provides the proof
              help: `… else 0.0` after the index guards the read: an element outside is `0.0`
              fix: guard the read with `else 0.0` (`` → ` else 0.0`)
            error[HX0210]: cannot prove that this stays inside of its part of `s`
                      let h = s[m, ..];
                                ^ the index `m` may be `3` or more
              help: `if m < 3 { … }` around it provides the proof
            error[HX0210]: cannot prove that this element of `t` exists
                      let q = t[max(p, 0)] + t[if k < 0 { 0 } else { min(k, n - 1) }];
                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ not proven: `picked < n`
                      let q = t[max(p, 0)] + t[if k < 0 { 0 } else { min(k, n - 1) }];
                                             - `t` has the shape `[n]`
              help: `if picked < n { … }` around it provides the proof
              help: `… else 0.0` after the index guards the read: an element outside is `0.0`
              fix: guard the read with `else 0.0` (`` → ` else 0.0`)
            error[HX0210]: cannot prove that this element of `t` exists
                      let r = t[p];
                              ^^^^ not proven: `0 <= picked`
                      let r = t[p];
                              - `t` has the shape `[n]`
              help: `if 0 <= picked { … }` around it provides the proof
              help: `… else 0.0` after the index guards the read: an element outside is `0.0`
              fix: guard the read with `else 0.0` (`` → ` else 0.0`)
            error[HX0210]: cannot prove that this stays inside of its part of `s`
                              let missing = s[n, ..];
                                              ^ the index `n` may be `3` or more
              help: state it in the header: `where n < 3`
        "#]],
    );
}

#[test]
fn an_assertion_holds_in_its_block() {
    check_body(
        "if k > 1 {
            assert(k < n && k < 3);
            let a = t[k];
            let b = s[k, ..];
        }
        let c = t[k];",
        expect![[r#"
            error[HX0210]: cannot prove that this element of `t` exists
                      let c = t[k];
                              ^^^^ not proven: `0 <= k` and `k < n`
                      let c = t[k];
                              - `t` has the shape `[n]`
              help: state it in the header: `where 0 <= k, k < n`
              help: `… else 0.0` after the index guards the read: an element outside is `0.0`
              fix: guard the read with `else 0.0` (`` → ` else 0.0`)
            error[HX0210]: cannot prove that this stays inside of its part of `s`
                              let missing = s[n, ..];
                                              ^ the index `n` may be `3` or more
              help: state it in the header: `where n < 3`
        "#]],
    );
}
