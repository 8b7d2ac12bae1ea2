//! Roles that use the same shared memory.

use expect_test::{Expect, expect};
use hx_target::Target;

use super::drawn;
use crate::{check_file, test_db::TestDb};

fn check_roles(body: &str, expected: Expect) {
    let text = format!(
        "kernel shared_buffer(x: f32[256], y: mut f32[256]) grid [1] {{
    let s = shared_tensor(f32, [256]);
{body}}}
"
    );
    let (db, file) = TestDb::with_file(&text);
    expected.assert_eq(&drawn(&text, check_file(&db, file, Target::usual())));
}

#[test]
fn nothing_orders_two_roles() {
    check_roles(
        "    warp_groups {
        producer { copy(load(x), s); }
        consumer { copy(load(s), y); }
    }
",
        expect![[r#"
            HX0401 `load(s)` threads race on `s`: nothing orders the accesses
              `load(s)`: `s` is read here
              `copy(load(x), s)`: `s` is written here
              help: `sync()` waits for one role here, so it does not order two roles. A barrier of both does: `let ready = barrier();` before `warp_groups`, and `ready.sync()` in each role, behind the earlier use and before the later one. So does a stage of a pipeline: one role writes it between `pipe.acquire()` and `pipe.publish()`, the other reads it between `pipe.wait()` and `pipe.release()`
        "#]],
    );
}

#[test]
fn a_barrier_of_the_block_orders_what_stands_before_the_roles() {
    let body = "    copy(load(x), s);
    sync();
    warp_groups {
        producer {}
        consumer { copy(load(s), y); }
    }
";
    check_roles(body, expect![""]);
    check_roles(
        &body.replace("    sync();\n", ""),
        expect![[r#"
            HX0401 `load(s)` threads race on `s`: nothing orders the accesses
              `load(s)`: `s` is read here
              `copy(load(x), s)`: `s` is written here
              fix: insert `sync()`
        "#]],
    );
}
