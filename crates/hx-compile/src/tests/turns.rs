//! Turns: groups of a role that share memory one after the other.

use expect_test::{Expect, expect};
use hx_target::Target;

use super::{check_repairs, drawn};
use crate::{check_file, test_db::TestDb};

/// Checks a kernel whose two groups take turns with one buffer, after a change of its text. Then applies every fix, and no
/// error may be left.
fn check_turns(from: &str, to: &str, expected: Expect) {
    let text = "kernel shared_buffer<N = 256>(x: f32[m], y: mut f32[m]) grid [1] {
    let s = shared_tensor(f32, [N]);
    let turn = turns();
    warp_groups {
        consumer each 2 (g) {
            for i in 0..cdiv(m, 2 * N) {
                turn.take();
                copy(load(tile(x, [N])[.., 2 * i + g]), s);
                sync();
                copy(load(s), tile(y, [N])[.., 2 * i + g]);
                sync();
                turn.pass();
            }
        }
    }
}
";
    assert!(text.contains(from), "{from}");
    let text = text.replacen(from, to, 1);
    check_repairs(&text, expected);
}

#[test]
fn groups_that_take_turns_share_a_buffer() {
    check_turns("i in", "i in", expect![""]);
}

#[test]
fn a_group_alone_in_its_role_takes_every_turn() {
    check_turns("each 2 (g)", "each 1 (g)", expect![""]);
}

#[test]
fn a_turn_that_is_not_passed_keeps_the_next_group_waiting() {
    check_turns(
        "                turn.pass();\n",
        "",
        expect![[r#"
        HX0404 `turn.take()` group 1 of `consumer` waits for ever: group 0 of `consumer` does not pass `turn` on
          `turn.take()`: group 0 of `consumer` took its turn here
          note: this is so with `(m + 511) / 512` = 1
          fix: insert `turn.pass()`
    "#]],
    );
}

#[test]
fn a_turn_is_passed_only_by_the_group_that_took_it() {
    check_turns(
        "                turn.take();\n",
        "",
        expect![[r#"
            HX0413 `turn.pass()` `turn` is passed on before the next group has taken its last turn
              note: this is so with `(m + 511) / 512` = 1
              help: a group passes only the turn that it took: `turn.take()` before it
        "#]],
    );
}

#[test]
fn a_turn_is_passed_before_the_buffer_is_read() {
    check_turns(
        "                sync();\n                turn.pass();\n",
        "                turn.pass();\n                sync();\n",
        expect![""],
    );
    check_turns(
        "                copy(load(s), tile(y, [N])[.., 2 * i + g]);\n                sync();\n                turn.pass();\n",
        "                turn.pass();\n                copy(load(s), tile(y, [N])[.., 2 * i + g]);\n                sync();\n",
        expect![[r#"
            HX0401 `copy(load(tile(x, [N])[.., 2 * i + g]), s)` threads race on `s`: nothing orders the accesses
              `copy(load(tile(x, [N])[.., 2 * i + g]), s)`: `s` is written here
              `load(s)`: `s` is read here
              note: this is so with `(m + 511) / 512` = 1
              fix: move `turn.pass()` behind the use
        "#]],
    );
}

/// Two threads of a group hold each element of a small tile. Without a barrier behind the read, one may write while the other reads.
#[test]
fn a_turn_that_comes_round_orders_the_threads_of_a_group() {
    check_small("                sync();\n", expect![""]);
    check_small(
        "",
        expect![[r#"
            HX0401 `copy(all, s)` threads race on `s`: nothing orders the accesses
              `copy(all, s)`: thread 0 writes `s` here
              `load(s)`: thread 112 reads `s` here
              note: both touch `s[0]`
              fix: insert `sync()`
        "#]],
    );
}

/// Checks a kernel whose groups change 64 elements in turns. `between` stands behind the read.
fn check_small(between: &str, expected: Expect) {
    let text = format!(
        "kernel small<N = 64>(x: i32[m], y: mut i32[m]) grid [1] {{
    let s = shared_tensor(i32, [N]);
    let turn = turns();
    fill(s, 1);
    sync();
    warp_groups {{
        consumer each 2 (g) {{
            for i in 0..cdiv(m, 2 * N) {{
                let own = load(tile(x, [N])[.., 2 * i + g]);
                turn.take();
                let all = load(s) + own;
{between}                copy(all, s);
                turn.pass();
                copy(all, tile(y, [N])[.., 2 * i + g]);
            }}
        }}
    }}
}}
"
    );
    let (db, file) = TestDb::with_file(&text);
    expected.assert_eq(&drawn(&text, check_file(&db, file, Target::usual())));
}

#[test]
fn groups_that_do_not_take_turns_equally_often_wait_for_ever() {
    check_turns(
        "cdiv(m, 2 * N)",
        "cdiv(m, 2 * N) * (g + 1)",
        expect![[r#"
        HX0404 `turn.take()` group 1 of `consumer` waits for ever: group 0 of `consumer` does not pass `turn` on
          `turn.take()`: group 0 of `consumer` took its turn here
          note: this is so with `(m + 511) / 512` = 1
          help: every `turn.take()` needs a `turn.pass()` behind it
    "#]],
    );
}
