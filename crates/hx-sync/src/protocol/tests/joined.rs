//! Barriers that several roles come to.

use expect_test::expect;

use super::{check_text, text_of};

/// A role that writes a tile for another one. Each waits for the other.
pub(in crate::protocol) const BOTH: &str = "\
barrier b
role write {
    for t in R {
        write s
        sync b
        sync b
    }
}
role use {
    for t in R {
        sync b
        read s
        sync b
    }
}
";

/// The roles of the program above, with one barrier for each direction. A role that hands the buffer on does not wait.
pub(in crate::protocol) const SPLIT: &str = "\
barrier full
barrier free
role write {
    for t in R {
        if 0 < t {
            sync free
        }
        write s
        arrive full
    }
}
role use {
    for t in R {
        sync full
        read s
        if t < R - 1 {
            arrive free
        }
    }
}
";

fn changed(text: &str, from: &str, to: &str) -> String {
    let changed = text.replacen(from, to, 1);
    assert_ne!(changed, text, "{from}");
    text_of(&changed)
}

#[test]
fn roles_order_their_accesses_at_a_barrier() {
    check_text(BOTH, expect![""]);
    check_text(SPLIT, expect![""]);
    check_text(&BOTH.replace("role use {", "each use 2 g {"), expect![""]);
    check_text(&BOTH.replace("role use {", "role use 2 {"), expect![""]);
}

#[test]
fn an_access_that_no_barrier_orders_is_a_race() {
    let without = BOTH.replace("        sync b\n", "");
    check_text(
        &without,
        expect![[r#"
            race: 4 `write s` and 9 `read s`, NoBarrier
              with R = 1
              fix: a barrier Around 4 `write s` and 9 `read s`, outside: [false, false]
        "#]],
    );
    expect![[r#"
        race: 9 `write s` and 15 `read s`, NoBarrier
          with R = 1
          fix: a barrier Between 9 `write s` and 15 `read s`, outside: [false, false]
    "#]]
    .assert_eq(&changed(
        SPLIT,
        "        write s\n        arrive full\n",
        "        arrive full\n        write s\n",
    ));
}

#[test]
fn every_group_comes_equally_often() {
    expect![[r#"
        stuck: `write` at 5 `sync b` wants b of `use`
          with R = 2
    "#]]
    .assert_eq(&changed(BOTH, "        read s\n        sync b\n", "        read s\n"));
    expect![[r#"
        never met: 16 `arrive free` by `write`
          with R = 1
    "#]]
    .assert_eq(&changed(
        SPLIT,
        "        if t < R - 1 {\n            arrive free\n        }\n",
        "        arrive free\n",
    ));
    expect![[r#"
        never met: 9 `arrive full` by `use`
          with R = 1
    "#]]
    .assert_eq(&changed(
        SPLIT,
        "        sync full\n",
        "        if 0 < t {\n            sync full\n        }\n",
    ));
}

#[test]
fn roles_come_to_several_barriers_in_one_order() {
    let text = "\
barrier a
barrier b
role one {
    sync a
    sync b
}
role two {
    sync b
    sync a
}
";
    check_text(
        text,
        expect![[r#"
        stuck: `one` at 4 `sync a` wants a of `two`
        stuck: `two` at 8 `sync b` wants b of `one`
    "#]],
    );
}

#[test]
fn a_group_that_arrives_again_knows_that_the_round_is_complete() {
    let free = "        if 0 < t {\n            sync free\n        }\n";
    expect![[r#"
        race: 5 `write s` and 12 `read s`, NoBarrier
          with R = 2
          fix: a barrier Behind 6 `arrive full` and 12 `read s`, outside: [false, false]
          and 1 more
    "#]]
    .assert_eq(&changed(
        &SPLIT.replace(free, ""),
        "        if t < R - 1 {\n            arrive free\n        }\n",
        "",
    ));
}
