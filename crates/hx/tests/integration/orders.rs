//! `--orders` and `--order`: the orders of events in which the simulator runs a launch.

use expect_test::expect;

use super::hx;

/// Two roles add to one sum of floats, whose result depends on the order of the three additions.
const SUMS: &str = r#"
kernel sums(x: f32[128], y: mut f32[128]) grid [1] {
    warp_groups {
        producer {
            let large = load(x) * 1.0e8;
            atomic_add(y, large);
            atomic_add(y, -large);
        }
        consumer {
            atomic_add(y, load(x));
        }
    }
}

test "roles add to one sum" {
    let y = full(f32, [128], 0.0);
    sums(full(f32, [128], 1.0), y);
    assert_close(y, full(f32, [128], 1.0), rtol: 0.0, atol: 0.0);
}

main {
    let y = full(f32, [128], 0.0);
    sums(full(f32, [128], 1.0), y);
    print(y[0]);
}
"#;

/// Returns a folder with the file `sums.hx`.
fn sums() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("sums.hx"), SUMS).expect("writable");
    folder
}

#[test]
fn a_bug_of_some_orders_is_found_among_many() {
    let folder = sums();
    let test = |flags: &[&str]| {
        let output = hx(folder.path(), &[&["test", "sums.hx", "--device", "sim"], flags].concat());
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(test(&[]).0, Some(0));
    assert_eq!(test(&["--order", "0"]).0, Some(0));
    let (code, found) = test(&["--orders", "32"]);
    assert_eq!(code, Some(1));
    expect![[r#"
        device: simulator (sm_90a)
        error[HX0612]: 128 of 128 elements of f32[128] are not within rtol: 0, atol: 0 of the reference
            ╭─[ sums.hx:18:5 ]
            │
          5 │             let large = load(x) * 1.0e8;
            │                         ───┬───┬───────
            │                            ╰───────────── block [0] reads `x[0..128]`, value 1.0
            │                                │
            │                                ╰───────── `large` = 1e8
          6 │             atomic_add(y, large);
            │             ──────────┬─────────
            │                       ╰─────────── block [0] writes `y[0..128]`
          7 │             atomic_add(y, -large);
            │             ──────────┬──────┬───
            │                       ╰──────────── block [0] writes `y[0..128]`
            │                              │
            │                              ╰───── value -1e8
            │
         10 │             atomic_add(y, load(x));
            │             ───────────┬─────┬────
            │                        ╰──────────── block [0] writes `y[0..128]`
            │                              │
            │                              ╰────── block [0] reads `x[0..128]`
            │
         18 │     assert_close(y, full(f32, [128], 1.0), rtol: 0.0, atol: 0.0);
            │     ──────────────────────────────┬─────────────────────────────
            │                                   ╰─────────────────────────────── here
            │
            │ Note 1: first at [0]: got 0.0, expected 1.0
            │
            │ Note 2: worst at [0]: absolute 1.00, relative 1.00, 8.39e6 ulp of f32 (got 0.0, expected 1.0)
            │
            │ Note 3: wrong: every element
            │
            │ Note 4: all of them are 0
            │
            │ Note 5: [0] was written in block [0] by thread 0 (warp 0), from value 0 of the stored tile in its layout (128,1):(1,0); the lines show the values that led to it
        ────╯

          order: 1
          rerun: hx test 'sums.hx::roles add to one sum' --exact --device sim --seed 0 --order 1
          step:  hx step 'sums.hx::roles add to one sum' --exact --seed 0 --order 1

    "#]]
    .assert_eq(&found);
    // The printed command reproduces the failure.
    let alone = test(&["sums.hx::roles add to one sum", "--exact", "--seed", "0", "--order", "1"]);
    assert_eq!(alone, (code, found));
    // Both kinds of results occur among the drawn orders.
    let passed = (2..32).filter(|order: &u32| test(&["--order", &order.to_string()]).0 == Some(0)).count();
    assert!((1..30).contains(&passed), "{passed} of 30");
}

#[test]
fn a_program_runs_in_the_order_of_its_flag() {
    let folder = sums();
    let run = |order: &str| hx(folder.path(), &["run", "sums.hx", "--order", order]).stdout;
    expect!["1.0\n"].assert_eq(&String::from_utf8_lossy(&run("0")));
    expect!["0.0\n"].assert_eq(&String::from_utf8_lossy(&run("1")));
}

#[test]
fn orders_are_those_of_the_simulator() {
    let folder = sums();
    let refused = |verb: &str, flags: &[&str]| {
        let output = hx(folder.path(), &[&[verb, "sums.hx"], flags].concat());
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    expect![[r#"
        error: `--orders` needs the simulator, found `--device cuda`: leave `--device` out, or pass `--device sim`

        For more information, try '--help'.
    "#]]
    .assert_eq(&refused("test", &["--orders", "2", "--device", "cuda"]));
    expect![[r#"
        error: `--order` needs the simulator, found `--device cuda`: leave `--device` out, or pass `--device sim`

        For more information, try '--help'.
    "#]]
    .assert_eq(&refused("run", &["--order", "2", "--device", "cuda"]));
    assert!(refused("test", &["--orders", "0"]).contains("0 is not in 1.."));
    assert!(refused("test", &["--orders", "2", "--order", "1"]).contains("cannot be used with"));
}
