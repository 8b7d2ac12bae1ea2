//! Builds and tests of kernels whose pipelines were not checked.

use expect_test::expect;

use super::check;

/// No launch takes the first branch.
const TWICE: (&str, &str) = (
    "k.hx",
    "kernel twice(x: f32[m], y: mut f32[m]) grid [1] {
    let s = shared_tensor(f32, [256, 2]);
    let pipe = pipeline(2);
    warp_groups {
        producer {
            for i in 0..cdiv(m, 256) {
                let k = pipe.acquire();
                copy_async(tile(x, [256])[.., i], s[.., k], signal: pipe);
            }
        }
        consumer {
            for i in 0..cdiv(m, 256) {
                let k = pipe.wait();
                copy(load(s[.., k]) * 2.0, tile(y, [256])[.., i]);
                if m * m == 2 {
                    sync();
                } else {
                    pipe.release();
                }
            }
        }
    }
}
test \"twice\" {
    let x = randn(f32, [1024], seed: 1);
    let y = zeros(f32, [1024]);
    twice(x, y);
    assert_eq(y, x * 2.0);
}
",
);

#[test]
fn a_build_says_so() {
    check(
        &[TWICE],
        &["build", "k.hx", "--emit", "cuda", "-o", "k"],
        expect![[r#"
        exit 0
        --
        warning[HX0419]: the pipelines of this kernel were not checked: no launch was found in which `m * m == 2` holds
            ╭─[ k.hx:12:13 ]
            │
         12 │ ╭─▶             for i in 0..cdiv(m, 256) {
            ┆ ┆
         20 │ ├─▶             }
            │ │
            │ ╰─────────────────── here
            │
            │     Note: a fault in them would be seen by the simulator, in a launch that shows it
        ────╯

        built `twice`: k.cu and k.json
        assumed of every launch: `m` multiples of 16; `x`, `y` aligned to 16 bytes; `--facts` says what else to rely on
    "#]],
    );
}

#[test]
fn a_test_says_so() {
    check(
        &[TWICE],
        &["test", "k.hx", "--device", "sim"],
        expect![[r#"
        exit 0
        test k.hx::twice ... ok
        1 passed, 0 failed, 0 skipped
        --
        device: simulator (sm_90a)
        warning[HX0419]: the pipelines of this kernel were not checked: no launch was found in which `m * m == 2` holds
            ╭─[ k.hx:12:13 ]
            │
         12 │ ╭─▶             for i in 0..cdiv(m, 256) {
            ┆ ┆
         20 │ ├─▶             }
            │ │
            │ ╰─────────────────── here
            │
            │     Note: a fault in them would be seen by the simulator, in a launch that shows it
        ────╯

    "#]],
    );
}
