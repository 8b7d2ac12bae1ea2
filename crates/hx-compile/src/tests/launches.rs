//! Races that only some launches have: in the last rounds of a loop, in late rounds, or if data select the stage.

use expect_test::{Expect, expect};

use super::{check, sync::check_turned};

/// Returns a ring of two stages whose next stage is copied under a condition. `rest` closes its group and waits.
fn pipeline(rest: &str) -> String {
    format!(
        "    copy(gx, r);
    copy(r, s);
    let ring = shared_tensor(f32, [256, 2]);
    let gz = tile(x, [256]);
    copy_async(gz[.., 0], ring[.., 0]);
    commit();
    for k in 0..cdiv(m, 256) {{
        sync();
{rest}        sync();
        copy(ring[.., k % 2], t);
        copy(t, gy);
    }}
"
    )
}

#[test]
fn a_group_that_is_not_closed_in_the_last_round_is_missed() {
    check_turned(
        &pipeline(
            "        if k + 1 < cdiv(m, 256) {
            copy_async(gz[.., k + 1], ring[.., (k + 1) % 2]);
            commit();
        }
        wait(1);
",
        ),
        expect![[r#"
            HX0403 `copy(ring[.., k % 2], t)` `ring` is read before anything waited for the copy into it
              `copy(ring[.., k % 2], t)`: thread 0 reads `ring` here
              `copy_async(gz[.., k + 1], ring[.., (k + 1) % 2])`: thread 0 writes `ring` here
              note: both touch `ring[0, 1]`
              note: this is so in the last rounds of a loop whose length a launch decides
              note: another pair of accesses to `ring` will be ordered by the same
              fix: `commit()` after the condition: where it fails, the group is empty
        "#]],
    );
}

#[test]
fn a_pipeline_that_waits_for_all_in_its_last_round_is_right() {
    check_turned(
        &pipeline(
            "        if k + 1 < cdiv(m, 256) {
            copy_async(gz[.., k + 1], ring[.., (k + 1) % 2]);
            commit();
            wait(1);
        } else {
            wait(0);
        }
",
        ),
        expect![[""]],
    );
    check_turned(
        &pipeline(
            "        if k + 1 < cdiv(m, 256) {
            copy_async(gz[.., k + 1], ring[.., (k + 1) % 2]);
        }
        commit();
        wait(1);
",
        ),
        expect![[""]],
    );
}

/// Two unknown lengths bound one loop. Each gets its share of the rounds.
#[test]
fn a_loop_over_two_parts_is_followed_into_both() {
    check_turned(
        "    copy(gx, r);
    let first = cdiv(m, 256);
    for k in 0..first + cdiv(m, 512) {
        copy(r, s);
        if k < first {
            sync();
        }
        copy(s, t);
        copy(t, gy);
        sync();
    }
",
        expect![[r#"
            HX0401 `copy(s, t)` threads race on `s`: nothing orders the accesses
              `copy(s, t)`: thread 1 reads `s` here
              `copy(r, s)`: thread 0 writes `s` here
              note: both touch `s[1]`
              note: this is so in the last rounds of a loop whose length a launch decides
              fix: insert `sync()`
        "#]],
    );
}

#[test]
fn a_barrier_that_is_missing_late_is_missed() {
    let body = |rounds: &str, condition: &str| {
        format!(
            "    copy(gx, r);
    for k in 0..{rounds} {{
        copy(r, s);
        if {condition} {{
            sync();
        }}
        copy(s, t);
        copy(t, gy);
        sync();
    }}
"
        )
    };
    for (rounds, condition) in [("64", "k != 40"), ("m / 256", "k < 40")] {
        check_turned(
            &body(rounds, condition),
            expect![[r#"
                HX0401 `copy(s, t)` threads race on `s`: nothing orders the accesses
                  `copy(s, t)`: thread 1 reads `s` here
                  `copy(r, s)`: thread 0 writes `s` here
                  note: both touch `s[1]`
                  fix: insert `sync()`
            "#]],
        );
    }
    check_turned(
        &body("1000", "k < 999"),
        expect![[r#"
        HX0401 `copy(s, t)` threads race on `s`: nothing orders the accesses
          `copy(s, t)`: thread 1 reads `s` here
          `copy(r, s)`: thread 0 writes `s` here
          note: both touch `s[1]`
          fix: insert `sync()`
    "#]],
    );
    check_turned(&body("1000", "k < 1000"), expect![[""]]);
}

/// Checks a kernel that reads from `stage_of` which of the two stages of `ring` it uses.
fn check_staged(body: &str, expected: Expect) {
    let text = format!(
        "kernel k(x: f32[256], stage_of: i32[4], rounds: i32, y: mut f32[256]) grid [1] threads 64 {{
    let r = load(x);
    let t = register_tensor(f32, [256], layout: (64, 4) : (1, 64));
    let ring = shared_tensor(f32, [256, 2]);
{body}}}
"
    );
    check(&text, expected);
}

#[test]
fn an_index_that_data_decide_may_be_any() {
    check_staged(
        "    copy(r, ring[.., 1]);
    copy(ring[.., stage_of[0] % 2], t);
    copy(t, y);
",
        expect![[r#"
            HX0401 `copy(ring[.., stage_of[0] % 2], t)` threads race on `ring`: nothing orders the accesses
              `copy(ring[.., stage_of[0] % 2], t)`: thread 1 reads `ring` here
              `copy(r, ring[.., 1])`: thread 0 writes `ring` here
              note: both touch `ring[1, 1]`
              note: this is so where an index that is known at run time only is 1
              fix: insert `sync()`
        "#]],
    );
    check_staged(
        "    copy(r, ring[.., 1]);
    sync();
    copy(ring[.., stage_of[0] % 2], t);
    copy(t, y);
",
        expect![""],
    );
}

/// An index stands for the same stage wherever it is used.
#[test]
fn two_stages_beside_each_other_are_never_one() {
    check_staged(
        "    let first = stage_of[0];
    copy(r, ring[.., first % 2]);
    for k in 0..rounds {
        sync();
        copy(r, ring[.., (first + k + 1) % 2]);
        copy(ring[.., (first + k) % 2], t);
        copy(t, y);
    }
",
        expect![""],
    );
    check_staged(
        "    for k in stage_of[0]..stage_of[1] {
        sync();
        copy(r, ring[.., (k + 1) % 2]);
        copy(ring[.., k % 2], t);
        copy(t, y);
    }
",
        expect![""],
    );
    check_staged(
        "    let stage = stage_of[0];
    for _ in 0..rounds {
        sync();
        copy(r, ring[.., stage % 2]);
        stage = stage + 1;
        copy(ring[.., stage % 2], t);
        copy(t, y);
    }
",
        expect![[""]],
    );
}

/// Returns a round of a ring: it fills the stage from `gx` and reads it in the layout of `t`.
fn turn(indent: &str, stage: &str) -> String {
    let lines = [
        "copy(gx, r);".to_owned(),
        format!("copy(r, ring[.., {stage}]);"),
        "sync();".to_owned(),
        format!("copy(ring[.., {stage}], t);"),
        "copy(t, gy);".to_owned(),
    ];
    lines.iter().map(|line| format!("{indent}{line}\n")).collect()
}

/// Checks a body with a ring of this many stages. A statement before the body uses `s`.
fn check_ring(stages: u32, body: &str, expected: Expect) {
    let ring =
        format!("    let ring = shared_tensor(f32, [256, {stages}]);\n    copy(gx, r);\n    copy(r, s);\n");
    check_turned(&format!("{ring}{body}"), expected);
}

/// If the number of rounds is odd, the first round of the next loop fills the stage that the last round reads.
#[test]
fn an_inner_loop_may_end_in_any_stage() {
    let round = turn("            ", "j % 2");
    check_ring(
        2,
        &format!("    for _ in 0..m / 64 {{\n        for j in 0..m / 128 {{\n{round}        }}\n    }}\n"),
        expect![[r#"
            HX0401 `copy(r, ring[.., j % 2])` threads race on `ring`: nothing orders the accesses
              `copy(r, ring[.., j % 2])`: thread 0 writes `ring` here
              `copy(ring[.., j % 2], t)`: thread 1 reads `ring` here
              note: both touch `ring[1, 0]`
              note: this is so where a loop whose length a launch decides has one round
              fix: insert `sync()`
        "#]],
    );
    // Both loops have the same length.
    check_ring(
        2,
        &format!("    for _ in 0..m / 64 {{\n        for j in 0..m / 64 {{\n{round}        }}\n    }}\n"),
        expect![[r#"
            HX0401 `copy(r, ring[.., j % 2])` threads race on `ring`: nothing orders the accesses
              `copy(r, ring[.., j % 2])`: thread 0 writes `ring` here
              `copy(ring[.., j % 2], t)`: thread 1 reads `ring` here
              note: both touch `ring[1, 0]`
              note: this is so where a loop whose length a launch decides has 3 rounds
              fix: insert `sync()`
        "#]],
    );
    let round = turn("            ", "j % 3");
    check_ring(
        3,
        &format!(
            "    for _ in 0..cdiv(m, 64) {{\n        for j in 0..cdiv(m, 128) {{\n{round}        }}\n    }}\n"
        ),
        expect![[r#"
            HX0401 `copy(r, ring[.., j % 3])` threads race on `ring`: nothing orders the accesses
              `copy(r, ring[.., j % 3])`: thread 0 writes `ring` here
              `copy(ring[.., j % 3], t)`: thread 1 reads `ring` here
              note: both touch `ring[1, 0]`
              note: this is so where a loop whose length a launch decides has 0 rounds
              fix: insert `sync()`
        "#]],
    );
    // With a barrier after the inner loop, it may end in any stage.
    check_ring(
        3,
        &format!(
            "    for _ in 0..m / 64 {{\n        for j in 0..m / 128 {{\n{round}        }}\n        sync();\n    }}\n"
        ),
        expect![[""]],
    );
}

#[test]
fn a_loop_may_end_in_the_stage_that_the_next_one_begins_with() {
    let round = turn("        ", "j % 2");
    let once = format!("    for j in 0..m / 64 {{\n{round}    }}\n");
    check_ring(
        2,
        &format!("{once}{once}"),
        expect![[r#"
        HX0401 `copy(r, ring[.., j % 2])` threads race on `ring`: nothing orders the accesses
          `copy(r, ring[.., j % 2])`: thread 0 writes `ring` here
          `copy(ring[.., j % 2], t)`: thread 1 reads `ring` here
          note: both touch `ring[1, 0]`
          note: this is so where a loop whose length a launch decides has one round
          fix: insert `sync()`
    "#]],
    );
    check_ring(2, &format!("{once}    sync();\n{once}"), expect![[""]]);
    // A statement after the loop that uses another tensor does not depend on the loop's stages.
    check_ring(2, &format!("{once}    copy(s, r);\n    copy(r, gy);\n"), expect![[""]]);
}

#[test]
fn a_counter_that_runs_on_may_skip_a_stage() {
    let round = turn("            ", "c % 2");
    let nested = |skip: &str| {
        format!(
            "    let c = 0;
    for _ in 0..m / 64 {{
        for _ in 0..m / 128 {{
{round}            c = c + 1;
        }}
{skip}    }}
"
        )
    };
    check_ring(2, &nested(""), expect![[""]]);
    check_ring(
        2,
        &nested("        if m / 128 == 3 { c = c + 1; }\n"),
        expect![[r#"
        HX0401 `copy(r, ring[.., c % 2])` threads race on `ring`: nothing orders the accesses
          `copy(r, ring[.., c % 2])`: thread 0 writes `ring` here
          `copy(ring[.., c % 2], t)`: thread 1 reads `ring` here
          note: both touch `ring[1, 0]`
          note: this is so where a loop whose length a launch decides has 3 rounds and where an index that is known at run time only is 0
          fix: insert `sync()`
    "#]],
    );
}

#[test]
fn a_loop_with_a_condition_may_end_in_any_stage() {
    let round = turn("        ", "j % 2");
    let while_ = format!("    let j = 0;\n    while j < m / 64 {{\n{round}        j = j + 1;\n    }}\n");
    let after = turn("    ", "0");
    check_ring(
        2,
        &format!("{while_}{after}"),
        expect![[r#"
        HX0401 `copy(r, ring[.., 0])` threads race on `ring`: nothing orders the accesses
          `copy(r, ring[.., 0])`: thread 0 writes `ring` here
          `copy(ring[.., j % 2], t)`: thread 1 reads `ring` here
          note: both touch `ring[1, 0]`
          note: this is so where a loop whose length a launch decides has one round
          fix: insert `sync()`
    "#]],
    );
    check_ring(2, &format!("{while_}    sync();\n{after}"), expect![[""]]);
}

/// A statement under such a condition in one round does not race with a statement under it in another round.
#[test]
fn a_counter_is_equal_to_a_number_in_one_round() {
    let body = |first: &str, then: &str| {
        format!(
            "    copy(gx, r);
    for j in 0..m / 64 {{
        if {first} {{
            copy(r, s);
        }}
        sync();
        if {then} {{
            copy(s, t);
            copy(t, gy);
        }}
    }}
"
        )
    };
    check_turned(&body("j == m / 128", "j == m / 128"), expect![[""]]);
    check_turned(&body("m / 128 == j + 1", "j + 1 == m / 128"), expect![[""]]);
    // The reads are in many earlier rounds, or in the round before the write.
    for then in ["j <= m / 128", "j == m / 128 - 1"] {
        check_turned(
            &body("j == m / 128", then),
            expect![[r#"
                HX0401 `copy(r, s)` threads race on `s`: nothing orders the accesses
                  `copy(r, s)`: thread 0 writes `s` here
                  `copy(s, t)`: thread 1 reads `s` here
                  note: both touch `s[1]`
                  fix: insert `sync()`
            "#]],
        );
    }
}

/// Without its `commit()` a stage of the prologue becomes part of the loop's first group.
#[test]
fn a_commit_that_is_missing_is_named() {
    let body = |first: &str, then: &str| {
        format!(
            "    let ring = shared_tensor(f32, [256, 3]);
    let gz = tile(x, [256]);
    copy(gx, r);
    copy(r, s);
    for k in 0..2 {{
        copy_async(gz[.., k], ring[.., k]);
{first}    }}
    for k in 0..cdiv(m, 256) {{
        wait(1);
        sync();
        copy(ring[.., k % 3], t);
        copy(t, gy);
        copy_async(gz[.., k + 2], ring[.., (k + 2) % 3]);
{then}    }}
    wait(0);
"
        )
    };
    let commit = "        commit();\n";
    check_turned(
        &body("", commit),
        expect![[r#"
            HX0403 `copy(ring[.., k % 3], t)` `ring` is read before anything waited for the copy into it
              `copy(ring[.., k % 3], t)`: thread 0 reads `ring` here
              `copy_async(gz[.., k], ring[.., k])`: thread 0 writes `ring` here
              `copy_async(gz[.., k + 2], ring[.., (k + 2) % 3])`: `ring` is written here likewise
              note: both touch `ring[0, 0]`
              note: another pair of accesses to `ring` will be ordered by the same
              fix: `commit()` after the copies: it closes their group
        "#]],
    );
    check_turned(
        &body(commit, ""),
        expect![[r#"
            HX0403 `copy(ring[.., k % 3], t)` `ring` is read before anything waited for the copy into it
              `copy(ring[.., k % 3], t)`: thread 0 reads `ring` here
              `copy_async(gz[.., k], ring[.., k])`: thread 0 writes `ring` here
              `copy_async(gz[.., k + 2], ring[.., (k + 2) % 3])`: `ring` is written here likewise
              note: both touch `ring[0, 1]`
              note: 3 more pairs of accesses to `ring` will be ordered by the same
              fix: `commit()` after the copies: it closes their group
        "#]],
    );
    check_turned(&body(commit, commit), expect![[""]]);
}
