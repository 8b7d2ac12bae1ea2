//! A remedy is the smallest change that orders the accesses, at the place where the order is missing, whatever else another
//! change would order.

use expect_test::expect;

use super::sync::check_turned;

/// Returns a ring of two stages whose last stage is used after the loop. `s` plays no part.
fn double_buffer(wait: &str, last_wait: &str) -> String {
    format!(
        "    let ring = shared_tensor(f32, [256, 2]);
    let gz = tile(x, [256]);
    copy(gx, r);
    copy(r, s);
    copy_async(gz[.., 0], ring[.., 0]);
    commit();
    for k in 0..cdiv(m, 256) {{
        copy_async(gz[.., k + 1], ring[.., (k + 1) % 2]);
        commit();
{wait}        sync();
        copy(ring[.., k % 2], t);
        copy(t, gy);
        sync();
    }}
{last_wait}    sync();
    copy(ring[.., cdiv(m, 256) % 2], t);
    copy(t, gy);
"
    )
}

#[test]
fn each_wait_that_is_missing_is_told_at_its_own_place() {
    check_turned(&double_buffer("        wait(1);\n", "    wait(0);\n"), expect![[""]]);
    check_turned(
        &double_buffer("        wait(1);\n", ""),
        expect![[r#"
        HX0403 `copy(ring[.., cdiv(m, 256) % 2], t)` `ring` is read before anything waited for the copy into it
          `copy(ring[.., cdiv(m, 256) % 2], t)`: thread 0 reads `ring` here
          `copy_async(gz[.., k + 1], ring[.., (k + 1) % 2])`: thread 0 writes `ring` here
          note: both touch `ring[0, 0]`
          note: this is so where an index that is known at run time only is 0
          fix: insert `wait(0)`
    "#]],
    );
    check_turned(
        &double_buffer("", ""),
        expect![[r#"
        HX0403 `copy(ring[.., k % 2], t)` `ring` is read before anything waited for the copy into it
          `copy(ring[.., k % 2], t)`: thread 0 reads `ring` here
          `copy_async(gz[.., 0], ring[.., 0])`: thread 0 writes `ring` here
          `copy_async(gz[.., k + 1], ring[.., (k + 1) % 2])`: `ring` is written here likewise
          note: both touch `ring[0, 0]`
          note: 3 more pairs of accesses to `ring` will be ordered by the same
          fix: insert `wait(1)`
        HX0403 `copy(ring[.., cdiv(m, 256) % 2], t)` `ring` is read before anything waited for the copy into it
          `copy(ring[.., cdiv(m, 256) % 2], t)`: thread 0 reads `ring` here
          `copy_async(gz[.., k + 1], ring[.., (k + 1) % 2])`: thread 0 writes `ring` here
          note: both touch `ring[0, 0]`
          note: this is so where an index that is known at run time only is 0
          fix: insert `wait(0)`
    "#]],
    );
    check_turned(
        &double_buffer("        wait(2);\n", ""),
        expect![[r#"
            HX0403 `copy(ring[.., k % 2], t)` `ring` is read before anything waited for the copy into it
              `copy(ring[.., k % 2], t)`: thread 0 reads `ring` here
              `copy_async(gz[.., 0], ring[.., 0])`: thread 0 writes `ring` here
              `copy_async(gz[.., k + 1], ring[.., (k + 1) % 2])`: `ring` is written here likewise
              note: both touch `ring[0, 0]`
              note: 3 more pairs of accesses to `ring` will be ordered by the same
              fix: wait until at most 1 group is in flight
            HX0403 `copy(ring[.., cdiv(m, 256) % 2], t)` `ring` is read before anything waited for the copy into it
              `copy(ring[.., cdiv(m, 256) % 2], t)`: thread 0 reads `ring` here
              `copy_async(gz[.., k + 1], ring[.., (k + 1) % 2])`: thread 0 writes `ring` here
              note: both touch `ring[0, 0]`
              note: this is so where an index that is known at run time only is 0
              fix: insert `wait(0)`
        "#]],
    );
}

#[test]
fn a_wait_for_one_group_stays_one_for_that() {
    let body = |first: &str, second: &str| {
        format!(
            "    let a = shared_tensor(f32, [256]);
    let b = shared_tensor(f32, [256]);
    copy(gx, r);
    copy(r, s);
    copy_async(gx, a);
    commit();
    copy_async(gx, b);
    commit();
    {first};
    sync();
    copy(a, t);
    copy(t, gy);
    {second}sync();
    copy(b, t);
    copy(t, gy);
"
        )
    };
    check_turned(&body("wait(1)", "wait(0);\n    "), expect![[""]]);
    check_turned(
        &body("wait(2)", "wait(1);\n    "),
        expect![[r#"
            HX0403 `copy(a, t)` `a` is read before anything waited for the copy into it
              `copy(a, t)`: thread 0 reads `a` here
              `copy_async(gx, a)`: thread 0 writes `a` here
              note: both touch `a[0]`
              fix: wait until at most 1 group is in flight
            HX0403 `copy(b, t)` `b` is read before anything waited for the copy into it
              `copy(b, t)`: thread 0 reads `b` here
              `copy_async(gx, b)`: thread 0 writes `b` here
              note: both touch `b[0]`
              fix: wait until at most 0 groups are in flight
        "#]],
    );
    check_turned(
        &body("wait(1)", ""),
        expect![[r#"
        HX0403 `copy(b, t)` `b` is read before anything waited for the copy into it
          `copy(b, t)`: thread 0 reads `b` here
          `copy_async(gx, b)`: thread 0 writes `b` here
          note: both touch `b[0]`
          fix: insert `wait(0)`
    "#]],
    );
}

/// Only a launch knows how many groups a loop closes. No remedy goes into a loop that has nothing to do with the hazard.
#[test]
fn groups_of_a_loop_of_unknown_length_are_not_counted_on() {
    check_turned(
        "    copy_async(gx, s);
    commit();
    for k in 0..cdiv(m, 256) {
        commit();
        wait(2);
        sync();
    }
    copy(s, t);
    copy(t, gy);
",
        expect![[r#"
            HX0106 `r` nothing uses `r`
              fix: rename it to `_r`
            HX0106 `k` nothing uses `k`
              fix: rename it to `_k`
            HX0403 `copy(s, t)` `s` is read before anything waited for the copy into it
              `copy(s, t)`: thread 0 reads `s` here
              `copy_async(gx, s)`: thread 0 writes `s` here
              note: both touch `s[0]`
              note: this is so where a loop whose length a launch decides has one round
              fix: insert `wait(1)`, `sync()`
        "#]],
    );
    check_turned(
        "    let a = shared_tensor(f32, [256]);
    copy_async(gx, a);
    for k in 0..cdiv(m, 256) {
        copy(gx, r);
        sync();
        copy(r, s);
        sync();
        copy(s, t);
        copy(t, gy);
    }
    copy(a, t);
    copy(t, gy);
",
        expect![[r#"
            HX0106 `k` nothing uses `k`
              fix: rename it to `_k`
            HX0403 `copy(a, t)` `a` is read before anything waited for the copy into it
              `copy(a, t)`: thread 0 reads `a` here
              `copy_async(gx, a)`: thread 0 writes `a` here
              note: both touch `a[0]`
              fix: insert `commit()`, `wait(0)`, `sync()`
        "#]],
    );
}
