//! Stages that threads write and publish.

use std::collections::BTreeSet;

use expect_test::expect;
use hx_tile::OpId;

use super::super::ordered_in;
use super::text::{Parsed, parse};
use super::{check_text, text_of};

/// A role that writes stages for another one.
const HANDED: &str = "\
pipe p 2
role write {
    for t in R {
        acquire p
        write s[p]
        publish p
    }
}
role use {
    for t in R {
        wait p
        read s[p]
        release p
    }
}
";

#[test]
fn a_stage_that_threads_write_is_handed_on() {
    check_text(HANDED, expect![""]);
    let changed = |from: &str, to: &str| {
        let text = HANDED.replacen(from, to, 1);
        assert_ne!(text, HANDED, "{from}");
        text_of(&text)
    };
    expect![[r#"
        race: 6 `write s[p]` and 12 `read s[p]`, AfterPublish(OpId(5))
          with R = 1
          fix: 5 `publish p` behind 6 `write s[p]`
    "#]]
    .assert_eq(&changed(
        "        write s[p]\n        publish p\n",
        "        publish p\n        write s[p]\n",
    ));
    expect![[r#"
        stuck: `write` at 4 `acquire p` wants a release of p by `use`: 0 of 1
        stuck: `use` at 11 `wait p` wants a copy into p: stage 3 of 3
          with R = 3
          fix: release p after 12 `read s[p]`
    "#]]
    .assert_eq(&changed("        release p\n", ""));
    expect![[r#"
        race: 5 `write s[p]` and 11 `read s[t % 2]`, BeforeWait
          with R = 1
    "#]]
    .assert_eq(&changed("        wait p\n        read s[p]\n", "        read s[t % 2]\n        wait p\n"));
    expect![[r#"
        race: 4 `write s[t % 2]` and 12 `read s[p]`, BeforeRelease
          with R = 3
    "#]]
    .assert_eq(&changed(
        "        acquire p\n        write s[p]\n",
        "        write s[t % 2]\n        acquire p\n",
    ));
}

#[test]
fn roles_fill_a_stage_together_or_in_turns() {
    let second = "\
role other {
    for t in R {
        acquire p
        fill q[p] 16
    }
}
role use {";
    let together =
        HANDED.replacen("role use {", second, 1).replacen("read s[p]", "read s[p]\n        read q[p]", 1);
    check_text(&together, expect![""]);
    // The second role fills one stage less.
    let fewer = together.replacen("role other {\n    for t in R {", "role other {\n    for t in R - 1 {", 1);
    check_text(
        &fewer,
        expect![[r#"
            stuck: `use` at 17 `wait p` wants a copy into p: stage 1 of 0
              with R = 1, R - 1 = 0
        "#]],
    );
    // Stages that are filled in turns belong to one role each.
    let doubled = together.replacen("        fill q[p] 16\n", "        fill q[p] 16\n        skip p 0\n", 1);
    check_text(
        &doubled,
        expect![[r#"
        doubled: 11 `acquire p` of p, also by 4 `acquire p`
          with R = 1
    "#]],
    );
}

/// Two roles that exchange tiles: each writes a part of its own tensor, and reads it again when the other has answered.
const EXCHANGED: &str = "\
pipe a 1
pipe b 1
role left {
    for t in R {
        acquire a
        write s[a]
        publish a
        wait b
        read s[0]
        release b
    }
}
role right {
    for t in R {
        wait a
        read s[a]
        release a
        acquire b
        write q[b]
        publish b
    }
}
";

/// A tile that goes to another role and comes back orders the accesses of a role.
#[test]
fn an_answer_orders_the_accesses_of_a_role() {
    // Reports whether the write and the read of `s` by the first role, on these lines, are ordered.
    let ordered = |text: &str, write: u32, read: u32| {
        let Parsed { protocol, launchable, .. } = parse(text);
        let pair = (OpId(write), OpId(read));
        ordered_in(&protocol, &launchable, &BTreeSet::from([pair]), &|| ()) == BTreeSet::from([pair])
    };
    check_text(EXCHANGED, expect![""]);
    assert!(ordered(EXCHANGED, 6, 9));
    // The answer comes without the question.
    let unasked = EXCHANGED.replacen(
        "        wait b\n        read s[0]\n",
        "        read t[0]\n        read s[0]\n",
        1,
    );
    assert!(!ordered(&unasked, 6, 9));
    // Two groups make the accesses together. A barrier orders the read of one before the next write of the other.
    let groups = |text: &str| {
        let text = text.replacen("role left {", "role left 2 {", 1);
        text.replacen("        acquire a\n", "        acquire a\n        sync\n", 1)
    };
    let without_barrier = groups(EXCHANGED).replacen("        sync\n", "        read t[0]\n", 1);
    assert!(ordered(&groups(EXCHANGED), 7, 10));
    assert!(!ordered(&groups(&unasked), 7, 10));
    assert!(!ordered(&without_barrier, 7, 10));
}
