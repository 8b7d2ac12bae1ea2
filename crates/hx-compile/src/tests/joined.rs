//! Barriers of several roles: each mistake is told with its place, and every fix is applied.

use expect_test::{Expect, expect};

use super::check_repairs;

/// A role writes a tile for another one, which gives it back: neither waits longer than it must.
const HANDED: &str = "kernel handed<N = 256>(x: f32[m], y: mut f32[m]) grid [1] {
    let s = shared_tensor(f32, [N]);
    let (full, free) = (barrier(), barrier());
    warp_groups {
        producer {
            for i in 0..cdiv(m, N) {
                if i > 0 { free.sync(); }
                copy(load(tile(x, [N])[.., i]), s);
                full.arrive();
            }
        }
        consumer {
            for i in 0..cdiv(m, N) {
                full.sync();
                let v = load(s);
                if i + 1 < cdiv(m, N) { free.arrive(); }
                copy(v * v, tile(y, [N])[.., i]);
            }
        }
    }
}
";

/// Two groups exchange tiles.
const EXCHANGED: &str = "kernel exchanged<N = 128>(x: f32[m], y: mut f32[m]) grid [cdiv(m, 2 * N)] {
    let s = shared_tensor(f32, [N, 2]);
    let all = barrier();
    warp_groups {
        consumer each 2 (g) {
            let v = load(tile(x, [N])[.., 2 * block_idx + g]);
            copy(v, s[.., g]);
            all.sync();
            copy(v - load(s[.., 1 - g]), tile(y, [N])[.., 2 * block_idx + g]);
        }
    }
}
";

/// Checks a kernel after changes of its text. Then applies every fix, after which no error is left.
fn check_changed(text: &str, changes: &[(&str, &str)], expected: Expect) {
    let mut text = text.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    check_repairs(&text, expected);
}

/// The barriers are left out, or those of one role.
const DECLARED: (&str, &str) = ("    let (full, free) = (barrier(), barrier());\n", "");
const WRITES: (&str, &str) = ("                full.arrive();\n", "");
const GETS: (&str, &str) = ("                if i > 0 { free.sync(); }\n", "");
const READS: (&str, &str) = ("                full.sync();\n", "");
const GIVES: (&str, &str) = ("                if i + 1 < cdiv(m, N) { free.arrive(); }\n", "");

#[test]
fn roles_and_groups_meet_at_barriers() {
    check_changed(HANDED, &[], expect![""]);
    check_changed(EXCHANGED, &[], expect![""]);
}

#[test]
fn a_missing_barrier_is_a_race_with_a_fix() {
    check_changed(
        HANDED,
        &[DECLARED, WRITES, GETS, READS, GIVES],
        expect![[r#"
        HX0401 `load(s)` threads race on `s`: nothing orders the accesses
          `load(s)`: `s` is read here
          `copy(load(tile(x, [N])[.., i]), s)`: `s` is written here
          note: this is so with `(m + 255) / 256` = 1
          fix: insert `let ready = barrier()`, and `ready.sync()` in both roles
    "#]],
    );
    check_changed(
        HANDED,
        &[GETS, GIVES, ("(full, free) = (barrier(), barrier())", "full = barrier()")],
        expect![[r#"
            HX0401 `load(s)` threads race on `s`: nothing orders the accesses
              `load(s)`: `s` is read here
              `copy(load(tile(x, [N])[.., i]), s)`: `s` is written here
              note: this is so with `(m + 255) / 256` = 2
              fix: insert `let ready = barrier()`, and `ready.sync()` in both roles
        "#]],
    );
    check_changed(
        EXCHANGED,
        &[("            all.sync();\n", ""), ("    let all = barrier();\n", "")],
        expect![[r#"
            HX0401 `copy(v, s[.., g])` threads race on `s`: nothing orders the accesses
              `copy(v, s[.., g])`: `s` is written here
              `load(s[.., 1 - g])`: `s` is read here
              fix: insert `let ready = barrier()`, and `ready.sync()` in all groups
        "#]],
    );
}

#[test]
fn an_access_on_the_wrong_side_of_a_barrier_is_a_race() {
    check_changed(
        HANDED,
        &[(
            "                full.sync();\n                let v = load(s);\n",
            "                let v = load(s);\n                full.sync();\n",
        )],
        expect![[r#"
            HX0401 `load(s)` threads race on `s`: nothing orders the accesses
              `load(s)`: `s` is read here
              `copy(load(tile(x, [N])[.., i]), s)`: `s` is written here
              note: this is so with `(m + 255) / 256` = 1
              fix: insert `let ready = barrier()`, and `ready.sync()` in both roles
        "#]],
    );
}

#[test]
fn a_barrier_of_one_role_is_none() {
    check_changed(
        HANDED,
        &[READS, GIVES],
        expect![[r#"
        HX0407 `free.sync()` only the role of threads 0..128 comes to `free`, expected several roles or groups
          help: come to it in another role, too: `free.sync()`, or `free.arrive()` if that role does not wait; `sync()` alone is a barrier of this role
        HX0407 `full.arrive()` only the role of threads 0..128 comes to `full`, expected several roles or groups
          help: come to it in another role, too: `full.sync()`, or `full.arrive()` if that role does not wait; `sync()` alone is a barrier of this role
    "#]],
    );
    check_changed(
        EXCHANGED,
        &[("each 2 (g)", "each 1 (g)")],
        expect![[r#"
        HX0407 `all.sync()` only the group of threads 0..128 comes to `all`, expected several roles or groups
          help: come to it in another role, too: `all.sync()`, or `all.arrive()` if that role does not wait; `sync()` alone is a barrier of this role
    "#]],
    );
}

#[test]
fn somebody_waits_at_a_barrier() {
    check_changed(
        HANDED,
        &[("full.sync()", "full.arrive()")],
        expect![[r#"
        HX0407 `full.arrive()` every role arrives at `full` and none waits there
          help: the role that needs what the others did waits for them: `full.sync()`
    "#]],
    );
}

#[test]
fn every_role_comes_in_every_round() {
    check_changed(
        HANDED,
        &[(GIVES.0, "                free.arrive();\n")],
        expect![[r#"
        HX0407 `free.arrive()` this arrival at `free` is never met: `producer` does not come
          note: at `free`: `producer` comes 0 times, `consumer` comes once
          note: this is so with `(m + 255) / 256` = 1
          help: every role that names `free` comes to it equally often: in loops of as many rounds, under the same conditions
    "#]],
    );
    check_changed(
        HANDED,
        &[(GETS.0, "                free.sync();\n")],
        expect![[r#"
        HX0404 `free.sync()` `producer` waits for ever: `consumer` does not come to `free`
          `full.sync()`: `consumer` waits here meanwhile
          note: at `free`: `producer` comes once, `consumer` comes 0 times
          note: this is so with `(m + 255) / 256` = 1
          help: every role that names `free` comes to it equally often: in loops of as many rounds, under the same conditions
    "#]],
    );
    check_changed(
        HANDED,
        &[("0..cdiv(m, N) {\n                full.sync", "1..cdiv(m, N) {\n                full.sync")],
        expect![[r#"
            HX0404 `free.sync()` `producer` waits for ever: `consumer` does not come to `free`
              note: at `free`: `producer` comes once, `consumer` comes 0 times
              note: this is so with `(m + 255) / 256` = 2, `((m + 255) / 256) - 1` = 1
              help: every role that names `free` comes to it equally often: in loops of as many rounds, under the same conditions
        "#]],
    );
    check_changed(
        EXCHANGED,
        &[("            all.sync();\n", "            if g == 0 { all.sync(); }\n")],
        expect![[r#"
            HX0404 `all.sync()` group 0 of `consumer` waits for ever: group 1 of `consumer` does not come to `all`
              note: at `all`: group 0 of `consumer` comes once, group 1 of `consumer` comes 0 times
              help: every role that names `all` comes to it equally often: in loops of as many rounds, under the same conditions
        "#]],
    );
}

#[test]
fn roles_come_to_barriers_in_one_order() {
    check_changed(
        HANDED,
        &[
            GETS,
            GIVES,
            ("full.arrive();\n", "full.sync();\n                free.sync();\n"),
            (
                "full.sync();\n                let v",
                "free.sync();\n                full.sync();\n                let v",
            ),
        ],
        expect![[r#"
            HX0404 `full.sync()` `producer` waits for ever: `consumer` does not come to `full`
              `free.sync()`: `consumer` waits here meanwhile
              note: this is so with `(m + 255) / 256` = 1
              help: roles that share several barriers come to them in one order
        "#]],
    );
}

#[test]
fn a_second_arrival_needs_a_complete_round() {
    check_changed(
        HANDED,
        &[
            GETS,
            GIVES,
            ("(full, free) = (barrier(), barrier())", "full = barrier()"),
            ("shared_tensor(f32, [N])", "shared_tensor(f32, [N, 8])"),
            ("cdiv(m, N) {", "8 {"),
            (", s);", ", s[.., i]);"),
            ("load(s)", "load(s[.., i])"),
        ],
        expect![[r#"
            HX0413 `full.arrive()` threads can come to `full` again before its last round is complete
              note: a barrier counts threads: it takes a second arrival of one thread for the arrival of another
              help: wait for the others before the next arrival: `full.sync()` instead of `full.arrive()`, or a second barrier at which they tell that they have passed the first
        "#]],
    );
}

#[test]
fn a_block_has_16_barriers() {
    let many: String = (0..14).map(|i| format!("    let b{i} = barrier();\n")).collect();
    let uses: String = (0..14).map(|i| format!("            b{i}.sync();\n")).collect();
    let uses = format!("{uses}            for i in");
    check_changed(
        HANDED,
        &[("    warp_groups", &format!("{many}    warp_groups")), ("            for i in", &uses)],
        expect![[r#"
            HX0511 `barrier()` found 19 named barriers, expected at most 16
              note: the block and the groups need 3, the turns 0, and `barrier()` 16
              help: a barrier may serve several hand-overs in one round, if the same roles come to it
        "#]],
    );
}

#[test]
fn a_barrier_joins_roles_and_not_the_block() {
    check_changed(
        EXCHANGED,
        &[("    warp_groups", "    all.sync();\n    warp_groups")],
        expect![[r#"
        HX0225 `all.sync()` found `sync` of a barrier in the statements of the block
          help: a barrier joins roles of `warp_groups`: `sync()` alone waits for all threads of the block
    "#]],
    );
    check_changed(
        "kernel k(x: f32[256], y: mut f32[256]) grid [1] threads 128 {\n    barrier();\n    copy(load(x), y);\n}\n",
        &[],
        expect![[r#"
            HX0221 `barrier()` nothing takes this value: a barrier
              help: the barrier of the block is `sync()`; one of several roles needs a name, `let ready = barrier();`
        "#]],
    );
    check_changed(
        EXCHANGED,
        &[("all.sync()", "all.wait()")],
        expect![[r#"
        HX0213 `wait` a barrier has nothing called `wait`
          help: it has `sync`, `arrive`
    "#]],
    );
    check_changed(
        EXCHANGED,
        &[("all.sync()", "sync(all)")],
        expect![[r#"
        HX0201 `all` expected 0, found 1 argument
          `all`: `sync` takes 0 arguments
          note: `sync()`
    "#]],
    );
}
