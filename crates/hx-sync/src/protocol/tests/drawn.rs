//! Pipelines inside loops over counters.

use expect_test::expect;

use super::kernels::COOPERATIVE;
use super::{check_text, text_of};

/// Returns a kernel whose roles loop over a counter instead of a range.
fn drawn(kernel: &str) -> String {
    format!("counter c T\n{}", kernel.replace("for w in R {", "for w from c {"))
}

#[test]
fn a_kernel_over_a_counter_is_right() {
    let stores_by_slot = drawn(COOPERATIVE).replace("(w * 4 + j) % 2", "j % 2");
    check_text(&stores_by_slot, expect![""]);
}

/// The slots of a tile alternate with the numbers, which other blocks make uneven.
#[test]
fn slots_that_alternate_with_the_numbers_are_followed() {
    let uneven = drawn(COOPERATIVE).replace("(w * 4 + j) % 2", "(w * 3 + j) % 2");
    check_text(&uneven.replace("for j in 4", "for j in 3"), expect![[""]]);
}

#[test]
fn findings_are_those_of_a_loop_over_a_range() {
    for (right, wrong) in [
        ("            release_previous p\n", ""),
        ("            release_previous p\n", "            release p\n"),
        ("            wait p\n", ""),
        ("            acquire p\n", ""),
        ("            wait_stores 1\n", ""),
    ] {
        let kernel = COOPERATIVE.replace("(w * 4 + j) % 2", "j % 2");
        let broken = kernel.replacen(right, wrong, 1);
        assert_ne!(kernel, broken, "{right}");
        // The counter is line 1.
        let of_range = text_of(&format!("\n{broken}"));
        assert!(!of_range.is_empty(), "{right}");
        assert_eq!(text_of(&drawn(&broken)).replace("rounds of c", "R"), of_range, "{right}");
    }
}

#[test]
fn a_stage_that_is_not_given_back_hangs_with_more_rounds_than_stages() {
    let text = "\
counter c T
pipe p 2
role load {
    for t from c {
        acquire p
        fill s[p] 16
    }
}
role use {
    for t from c {
        wait p
        read s[p]
    }
}
";
    check_text(
        text,
        expect![[r#"
        stuck: `load` at 5 `acquire p` wants a release of p by `use`: 0 of 1
        stuck: `use` at 11 `wait p` wants a copy into p: stage 3 of 3
          with rounds of c = 3
          fix: release p after 12 `read s[p]`
    "#]],
    );
}

#[test]
fn conditions_on_the_numbers_are_the_same_in_all_scopes() {
    let text = |used: &str| {
        format!(
            "\
counter c T
pipe p 2
role load {{
    for t from c {{
        if t < 2 {{
            acquire p
            fill s[p] 16
        }}
    }}
}}
role use {{
    for t from c {{
        if {used} {{
            wait p
            read s[p]
            release p
        }}
    }}
}}
"
        )
    };
    check_text(&text("t < 2"), expect![""]);
    check_text(
        &text("t < 3"),
        expect![[r#"
        stuck: `use` at 14 `wait p` wants a copy into p: stage 1 of 0
          with rounds of c = 2
    "#]],
    );
    // Only the last number of the counter differs.
    let last = text("t < T - 1").replacen("if t < 2", "if t < T", 1);
    check_text(
        &last,
        expect![[r#"
        unwaited: 7 `fill s[p] 16` into p
          with rounds of c = 1
    "#]],
    );
}

#[test]
fn blocks_of_a_cluster_draw_different_numbers() {
    let text = "\
cluster 2
counter c T
pipe p 2
role load {
    for t from c {
        acquire p
        fill s[p] 16 multicast t
    }
    sync_cluster
}
role use {
    for t from c {
        wait p
        read s[p]
        release p
    }
    sync_cluster
}
";
    check_text(
        text,
        expect![[r#"
        divided: 7 `fill s[p] 16 multicast t`
          with rounds of c = 1
        gone: 7 `fill s[p] 16 multicast t`
          with rounds of c = 1
    "#]],
    );
}
