//! Builds and tests of kernels whose pipelines were not checked.

use expect_test::expect;

use super::hx;

/// `m * m == 2` holds for no integer, so no launch takes the branch without a `release`.
const TWICE: &str = "\
kernel twice(x: f32[m], y: mut f32[m]) grid [1] {
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
";

/// Returns the warning of a command, without spaces at the ends of lines.
fn warning(args: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.hx"), TWICE).expect("writable");
    let output = hx(folder.path(), args);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines = said.lines().skip_while(|line| !line.starts_with("warning"));
    let lines = lines.take_while(|line| !line.is_empty());
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn a_build_and_a_test_say_so() {
    let built = warning(&["build", "k.hx", "--emit", "cuda", "-o", "k"]);
    expect![[r#"
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
    "#]].assert_eq(&built);
    assert_eq!(warning(&["test", "k.hx", "--device", "sim"]), built);
}
