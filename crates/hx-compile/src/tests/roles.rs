//! Roles that use the same shared memory.

use expect_test::{Expect, expect};
use hx_target::Arch;

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
    expected.assert_eq(&drawn(&text, check_file(&db, file, Arch::Sm90a)));
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
              help: `sync()` waits for one role here, so it does not order two roles. A stage of a pipeline does: one role fills it by `copy_async(…, signal: pipe)`, the other reads it behind `pipe.wait()`. Tensors that threads fill can be filled before `warp_groups`
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

/// The warps of a role give a stage back one by one, so they need not meet before. A barrier between a write and a read of other
/// threads of the role is needed.
#[test]
fn barriers_of_a_role_that_order_nothing() {
    check_roles(
        "    let pipe = pipeline(1);
    warp_groups {
        producer {
            let _stage = pipe.acquire();
            copy_async(x, s, signal: pipe);
        }
        consumer {
            let own = shared_tensor(f32, [16, 16]);
            let _stage = pipe.wait();
            let v = load(s);
            sync();
            pipe.release();
            copy(reshape(v, [16, 16]), own);
            sync();
            copy(reshape(load(own.T), [256]), y);
        }
    }
",
        expect![[r#"
            HX0402 `sync()` this barrier orders nothing
              note: no write to a shared tensor and other use of it have only this barrier between them
              fix: remove it
        "#]],
    );
}
