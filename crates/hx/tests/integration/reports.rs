//! `hx run --report` and `hx test --report`: the counters of the simulator beside the lines of a kernel.

use expect_test::expect;

use super::{check, hx};

const SCALE: (&str, &str) = (
    "r.hx",
    r#"kernel scale(x: f32[n], y: mut f32[n])
    grid [cdiv(n, 512)]
    threads 128
{
    let [b] = block_idx;
    let r = register_tensor(f32, [512]);
    copy(global_view(x[b * 512..], (512) : (1)), r);
    copy(r * 2.0, global_view(y[b * 512..], (512) : (1)));
}
test "twice" for n in [512, 1024] {
    let (x, y) = (ones(f32, n), empty(f32, n));
    scale(x, y);
    scale(y, x);
    assert_eq(x.sum(), 4 * n);
}
main { let x = ones(f32, 1024); let y = empty(f32, 1024); scale(x, y); print(y.sum()); }
"#,
);

#[test]
fn each_launch_of_a_program() {
    check(
        &[SCALE],
        &["run", "r.hx", "--report"],
        expect![[r#"
            exit 0
            launch 1 of r.hx::scale<> on sm_90a: 2 blocks of 128 threads, 0 barriers, about 730 cycles a block
                                    issued   bytes   sectors     unit  share
            r.hx, kernel scale
            1 │ kernel scale(x: f32[n], y: mut f32[n])
              ⋮
            6 │     let r = register_tensor(f32, [512]);
            7 │     copy(global_view(x[b * 512..], (512) : (1)), r);
              #0 ld.global.v4.b32        8  4096 B  128 1.0x    L2 6%    94%
            8 │     copy(r * 2.0, global_view(y[b * 512..], (512) : (1)));
              #1 value = (r * 2.0)      32                    math 1%     1%
              #2 st.global.v4.b32        8  4096 B  128 1.0x    L2 6%     6%
                 in all                 48  8192 B  256 1.0x
            2048.0
            --
            device: simulator (sm_90a)
        "#]],
    );
}

#[test]
fn the_launches_of_a_test_add_up() {
    check(
        &[SCALE],
        &["test", "r.hx::twice[1024]", "--report"],
        expect![[r#"
            exit 0
            test r.hx::twice[1024] ... ok
            2 launches of r.hx::scale<> on sm_90a: 4 blocks of 128 threads, 0 barriers, about 730 cycles a block
                                    issued     bytes   sectors     unit  share
            r.hx, kernel scale
            1 │ kernel scale(x: f32[n], y: mut f32[n])
              ⋮
            6 │     let r = register_tensor(f32, [512]);
            7 │     copy(global_view(x[b * 512..], (512) : (1)), r);
              #0 ld.global.v4.b32       16    8192 B  256 1.0x    L2 6%    94%
            8 │     copy(r * 2.0, global_view(y[b * 512..], (512) : (1)));
              #1 value = (r * 2.0)      64                      math 1%     1%
              #2 st.global.v4.b32       16    8192 B  256 1.0x    L2 6%     6%
                 in all                 96  16.0 KiB  512 1.0x

            1 passed, 0 failed, 0 skipped
            --
            device: simulator (sm_90a)
        "#]],
    );
}

#[test]
fn a_report_needs_the_simulator() {
    check(
        &[SCALE],
        &["run", "r.hx", "--report", "--device", "cuda"],
        expect![[r#"
        exit 2
        --
        error: `--report` needs the simulator, found `--device cuda`: leave `--device` out, or pass `--device sim`

        For more information, try '--help'.
    "#]],
    );
    check(
        &[SCALE],
        &["test", "r.hx", "--report", "--device", "cuda"],
        expect![[r#"
        exit 2
        --
        error: `--report` needs the simulator, found `--device cuda`: leave `--device` out, or pass `--device sim`

        For more information, try '--help'.
    "#]],
    );
    check(
        &[SCALE],
        &["test", "r.hx", "--report", "--no-run"],
        expect![[r#"
        exit 2
        --
        error: the argument '--report' cannot be used with '--no-run'

        Usage: hx test --report <PATHS|FILTER>...

        For more information, try '--help'.
    "#]],
    );
}

/// Returns the objects of the lines that a program reads.
fn objects(args: &[&str]) -> Vec<serde_json::Value> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(SCALE.0), SCALE.1).expect("writable");
    let output = hx(folder.path(), args);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(serde_json::Value::is_object)
        .collect()
}

#[test]
fn programs_read_the_counters() {
    let run = objects(&["run", "r.hx", "--report", "--message-format", "json"]);
    let test = objects(&["test", "r.hx::twice[1024]", "--report", "--format", "json"]);
    let (launch, kernels) = (&run[0], &test[0]["kernels"]);
    assert_eq!((&launch["type"], &launch["launch"]), (&"report".into(), &1.into()));
    assert_eq!(kernels.as_array().map(Vec::len), Some(1));
    assert_eq!(kernels[0]["launches"], 2);
    for name in ["instructions", "bytes", "requests", "sectors", "written_sectors"] {
        let (once, twice) = (launch["total"][name].as_u64(), kernels[0]["total"][name].as_u64());
        assert_eq!(once.map(|n| 2 * n), twice, "{name}");
    }
    assert_eq!(launch["operations"][0]["sectors"], 128);
    let without = objects(&["test", "r.hx::twice[1024]", "--format", "json"]);
    assert!(without[0].get("kernels").is_none());
}

#[test]
fn a_junit_file_has_the_report_as_output() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(SCALE.0), SCALE.1).expect("writable");
    let args = ["test", "r.hx::twice[512]", "--report", "--format", "junit"];
    let text = String::from_utf8_lossy(&hx(folder.path(), &args).stdout).into_owned();
    let output = text.split_once("<system-out>").and_then(|(_, rest)| rest.split_once("</system-out>"));
    let first = output.and_then(|(output, _)| output.lines().next());
    assert!(first.is_some_and(|line| line.starts_with("2 launches of r.hx::scale")), "{text}");
}
