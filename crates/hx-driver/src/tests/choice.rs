//! The choice of a call, as a hover on it shows it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use expect_test::{Expect, expect};
use hx_base::interrupt::Until;
use hx_base::testing::MemorySystem;
use hx_base::{SourceFile, TextSize};
use hx_hir::file_items;
use hx_launch::text_hash;
use hx_target::Target;
use hx_workspace::{Database, TUNED_NAME};

use super::open;
use crate::choice_at;

const KERNELS: &str = r#"
#[family(whole<B = 1024>, whole<B = 64>, rows)]
kernel whole<B = 128>(x: f32[n], y: mut f32[n]) where n % B == 0 grid [n / B] threads 32 {
    copy(load(tile(x, [B])[.., block_idx]), tile(y, [B])[.., block_idx]);
}
kernel rows(x: f32[n], y: mut f32[n]) grid [1] threads 32 {
    for i in 0..cdiv(n, 32) {
        copy(load(tile(x, [32])[.., i]), tile(y, [32])[.., i]);
    }
}
"#;

/// Compares the text of the choice of the call at `whole(` in a test of these cases.
fn check(test: &str, want: Expect) {
    let source = format!("{KERNELS}{test}");
    let (db, file) = open(&source);
    want.assert_eq(&text_at(&db, file, &source));
}

/// Returns the text of the choice of the call at `whole(`.
fn text_at(db: &Database, file: SourceFile, source: &str) -> String {
    let at = source.find("whole(x").map(|at| TextSize::new(at as u32 + 2));
    let until = Until { stop: &AtomicBool::new(false), deadline: None };
    let found = at.and_then(|at| choice_at(db, file, at, Target::usual(), until));
    found.map_or("none\n".to_owned(), |found| found.text(Target::usual()))
}

#[test]
fn a_call_has_the_choice_of_each_case() {
    check(
        "test \"t\" for n in [2048, 96] {
            let x = randn(f32, [n]);
            let y = empty(f32, [n]);
            if n > 0 { whole(x, y); }
            assert_eq(y, x @ x);
        }",
        expect![[r#"
            `f32[2048]`, `f32[2048]`: `whole` runs as `whole<B = 64>`, 0.4 µs by the cost model, the fastest of 3 members of its family that fit; next is `whole<B = 1024>`, 0.4 µs

            | member | µs | |
            |---|--:|--:|
            | `whole<B = 64>` | 0.4 | 1.00 |
            | `whole<B = 1024>` | 0.4 | 1.18 |
            | `rows` | 22.0 | 62.50 |

            `f32[96]`, `f32[96]`: `whole` runs as `rows`, 1.0 µs by the cost model, the one member of its family that fits
        "#]],
    );
}

#[test]
fn a_launch_before_the_call_does_not_run() {
    check(
        "test \"t\" {
            let (x, y) = (zeros(f32, [64]), zeros(f32, [64]));
            rows(x, y);
            assert(sum(y) == 1.0);
            whole(x, y);
        }",
        expect![[r#"
            `f32[64]`, `f32[64]`: `whole` runs as `whole<B = 64>`, 0.3 µs by the cost model, the fastest of 2 members of its family that fit; next is `rows`, 0.7 µs

            | member | µs | |
            |---|--:|--:|
            | `whole<B = 64>` | 0.3 | 1.00 |
            | `rows` | 0.7 | 2.00 |

            1 does not fit
        "#]],
    );
}

#[test]
fn a_call_that_pins_or_depends_on_results_has_no_choice() {
    check(
        "test \"t\" { let x = zeros(f32, [64]); let y = empty(f32, [64]); rows(x, y); whole<B = 64>(x, y); }",
        expect![[r#"
        none
    "#]],
    );
    check(
        "test \"t\" {
            let x = ones(f32, [64]);
            let y = zeros(f32, [64]);
            rows(x, y);
            if sum(y) > 1.0 { whole(x, y); }
        }",
        expect![[r#"
            none
        "#]],
    );
}

#[test]
fn a_call_knows_the_result_for_its_shape() {
    let source = format!(
        "{KERNELS}test \"t\" {{ let (x, y) = (randn(f32, [2048]), empty(f32, [2048])); whole(x, y); }}\n"
    );
    let (alone, file) = open(&source);
    let rows = file_items(&alone, file).kernels().find(|kernel| kernel.name(&alone) == "rows");
    let hash = rows.map(|rows| text_hash(&alone, rows)).expect("the kernel is there");
    let result = |device: &str, n: i64| {
        format!(
            "[[tuned]]\nkernel = \"t.hx::whole\"\nmember = \"rows\"\nshape = {{ n = {n} }}\narguments = {{}}\n\
             device = \"{device}\"\ntarget = \"sm_90a\"\nmedian_us = 1.0\ntext = \"{hash}\"\nhx = \"0\"\n"
        )
    };
    let told = |toml: &str| {
        let mut db =
            Database::new(Arc::new(MemorySystem::new([("t.hx", source.as_str()), (TUNED_NAME, toml)])));
        let file = db.open("t.hx").expect("the file is there").files[0];
        let text = text_at(&db, file, &source);
        text.split("\n\n").next().unwrap_or_default().to_owned()
    };
    let both = format!("format = 1\n{}{}{}", result("H200", 2048), result("H100", 2048), result("H100", 96));
    expect![[r#"
        `f32[2048]`, `f32[2048]`: `whole` runs as `whole<B = 64>`, 0.4 µs by the cost model, the fastest of 3 members of its family that fit; next is `whole<B = 1024>`, 0.4 µs  
        `whole` runs as `rows` by hx.tuned.toml:12, tuned for n = 2048 on H100  
        `whole` runs as `rows` by hx.tuned.toml:2, tuned for n = 2048 on H200"#]]
    .assert_eq(&told(&both));
    expect![[r#"
        `f32[2048]`, `f32[2048]`: `whole` runs as `whole<B = 64>`, 0.4 µs by the cost model, the fastest of 3 members of its family that fit; next is `whole<B = 1024>`, 0.4 µs  
        hx.tuned.toml has errors: `hx check --tuned` says which"#]]
    .assert_eq(&told("format = 1\nnumbers = 3\n"));
}
