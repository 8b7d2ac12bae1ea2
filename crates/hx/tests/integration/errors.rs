//! No command runs or builds an item that has an error, or that uses an item with one.

use expect_test::{Expect, expect};

use super::check;

/// A kernel without errors, and one with an error in its body.
const KERNELS: (&str, &str) = (
    "k.hx",
    "kernel good(y: mut f32[m]) grid [1] threads 32 {
    let v = register_tensor(f32, [64]);
    fill(v, 1.0);
    copy(v, tile(y, [64])[.., 0]);
}
kernel bad(x: f32[m], y: mut f32[m]) grid [1] threads 32 {
    let v = load(tile(x, [64])[.., 0]);
    tile(x, [64])[.., 0] = v;
    copy(v, tile(y, [64])[.., 0]);
}
test \"good\" { let y = zeros(f32, [64]); good(y); assert_eq(y, ones(f32, [64])); }
test \"bad\" { let x = ones(f32, [64]); let y = zeros(f32, [64]); bad(x, y); assert_eq(y, x); }
bench \"bad\" { let x = ones(f32, [64]); let y = zeros(f32, [64]); measure { bad(x, y) } }
main { print(\"begun\"); let x = ones(f32, [64]); let y = zeros(f32, [64]); bad(x, y); print(y[0..2]); }
",
);

/// A file that uses both kernels.
const USER: (&str, &str) = (
    "u.hx",
    "use k::bad;
use k::good;
test \"good\" { let y = zeros(f32, [64]); good(y); }
test \"bad\" { let x = ones(f32, [64]); let y = zeros(f32, [64]); bad(x, y); }
main { print(\"begun\"); let x = ones(f32, [64]); let y = zeros(f32, [64]); bad(x, y); }
",
);

fn refused(files: &[(&str, &str)], args: &[&str], want: Expect) {
    check(files, &[args, &["--message-format", "short"]].concat(), want);
}

#[test]
fn a_kernel_with_an_error_does_not_run() {
    refused(
        &[KERNELS],
        &["run", "k.hx", "--device", "sim"],
        expect![[r#"
            exit 1
            --
            device: simulator (sm_90a)
            k.hx:8:5: error[HX0207]: cannot assign to `tile(x, [64])[.., 0]`: only register tensors, their parts and numbers bound by `let` can be assigned
            1 error
        "#]],
    );
    refused(
        &[KERNELS],
        &["test", "k.hx", "--device", "sim"],
        expect![[r#"
            exit 1
            test k.hx::bad ... FAILED (it has errors)
            test k.hx::good ... ok
            1 passed, 1 failed, 0 skipped
            --
            k.hx:8:5: error[HX0207]: cannot assign to `tile(x, [64])[.., 0]`: only register tensors, their parts and numbers bound by `let` can be assigned
            device: simulator (sm_90a)
        "#]],
    );
    refused(
        &[KERNELS],
        &["bench", "k.hx", "--no-run"],
        expect![[r#"
            exit 1
            --
            k.hx:8:5: error[HX0207]: cannot assign to `tile(x, [64])[.., 0]`: only register tensors, their parts and numbers bound by `let` can be assigned
        "#]],
    );
}

#[test]
fn a_kernel_with_an_error_is_not_built() {
    refused(
        &[KERNELS],
        &["build", "k.hx", "--kernel", "bad", "--emit", "cuda", "-o", "o"],
        expect![[r#"
            exit 1
            --
            k.hx:8:5: error[HX0207]: cannot assign to `tile(x, [64])[.., 0]`: only register tensors, their parts and numbers bound by `let` can be assigned
        "#]],
    );
    refused(
        &[KERNELS],
        &["check", "k.hx", "--kernel", "bad", "--emit", "tile"],
        expect![[r#"
            exit 1
            --
            k.hx:8:5: error[HX0207]: cannot assign to `tile(x, [64])[.., 0]`: only register tensors, their parts and numbers bound by `let` can be assigned
        "#]],
    );
    refused(
        &[KERNELS],
        &["check", "k.hx", "--kernel", "bad", "--emit", "cuda"],
        expect![[r#"
            exit 1
            --
            k.hx:8:5: error[HX0207]: cannot assign to `tile(x, [64])[.., 0]`: only register tensors, their parts and numbers bound by `let` can be assigned
        "#]],
    );
}

#[test]
fn an_error_in_another_file_is_told_with_its_place() {
    let files = [KERNELS, USER];
    refused(
        &files,
        &["check", "u.hx"],
        expect![[r#"
            exit 1
            --
            k.hx:8:5: error[HX0207]: cannot assign to `tile(x, [64])[.., 0]`: only register tensors, their parts and numbers bound by `let` can be assigned
            u.hx:4:65: error[HX0207]: `bad` cannot be used, because of an error in `k.hx`
            2 errors
        "#]],
    );
    refused(
        &files,
        &["run", "u.hx", "--device", "sim"],
        expect![[r#"
            exit 1
            --
            device: simulator (sm_90a)
            k.hx:8:5: error[HX0207]: cannot assign to `tile(x, [64])[.., 0]`: only register tensors, their parts and numbers bound by `let` can be assigned
            u.hx:4:65: error[HX0207]: `bad` cannot be used, because of an error in `k.hx`
            2 errors
        "#]],
    );
    refused(
        &files,
        &["test", "u.hx", "--device", "sim"],
        expect![[r#"
            exit 1
            test u.hx::bad ... FAILED (it has errors)
            test u.hx::good ... ok
            1 passed, 1 failed, 0 skipped
            --
            k.hx:8:5: error[HX0207]: cannot assign to `tile(x, [64])[.., 0]`: only register tensors, their parts and numbers bound by `let` can be assigned
            u.hx:4:65: error[HX0207]: `bad` cannot be used, because of an error in `k.hx`
            device: simulator (sm_90a)
        "#]],
    );
}

/// Errors in items that `main` does not use do not stop it. They are reported at the end and make the exit code bad.
#[test]
fn what_main_does_not_use_may_be_wrong() {
    let text = "kernel bad(x: f32[m]) grid [1] threads 32 { fill(x, q); }\nmain { print(1); }\n";
    refused(
        &[("m.hx", text)],
        &["run", "m.hx", "--device", "sim"],
        expect![[r#"
        exit 1
        1
        --
        device: simulator (sm_90a)
        m.hx:1:50: error[HX0207]: `x` is written, but it is not marked `mut`
        m.hx:1:53: error[HX0101]: nothing in scope is called `q`
        2 errors
    "#]],
    );
}

/// The compiler puts a barrier for `sum` between the write and the read. The text itself has none.
const RACE: (&str, &str) = (
    "r.hx",
    "kernel k(x: f32[32, 32], y: mut f32[32, 32], z: mut f32[1, 32]) grid [1] threads 64 {
    let s = shared_tensor(f32, [32, 32]);
    let v = load(x);
    copy(v, s);
    copy(sum(v, axis: 0), z);
    copy(load(s.T), y);
}
test \"race\" for n in [1, 2] {
    let x = randn(f32, [32, 32], seed: n); let y = zeros(f32, [32, 32]); let z = zeros(f32, [1, 32]);
    k(x, y, z);
    assert_eq(y, x.T);
}
main { let x = zeros(f32, [32, 32]); let y = zeros(f32, [32, 32]); let z = zeros(f32, [1, 32]); k(x, y, z); }
",
);

#[test]
fn launches_run_the_checks_that_check_runs() {
    refused(
        &[RACE],
        &["check", "r.hx"],
        expect![[r#"
        exit 1
        --
        r.hx:6:10: error[HX0401]: threads race on `s`: nothing orders the accesses
        1 error
    "#]],
    );
    refused(
        &[RACE],
        &["test", "r.hx", "--device", "sim"],
        expect![[r#"
            exit 1
            test r.hx::race[1] ... FAILED
            test r.hx::race[2] ... FAILED
            0 passed, 2 failed, 0 skipped
            --
            device: simulator (sm_90a)
            r.hx:6:10: error[HX0401]: threads race on `s`: nothing orders the accesses
              rerun: hx test 'r.hx::race[1]' --exact --device sim --seed 0
              step:  hx step 'r.hx::race[1]' --exact --seed 0

              HX0401 at r.hx:6:10, as in r.hx::race[1]
              rerun: hx test 'r.hx::race[2]' --exact --device sim --seed 0
              step:  hx step 'r.hx::race[2]' --exact --seed 0

        "#]],
    );
    refused(
        &[RACE],
        &["run", "r.hx", "--device", "sim"],
        expect![[r#"
        exit 1
        --
        device: simulator (sm_90a)
        r.hx:6:10: error[HX0401]: threads race on `s`: nothing orders the accesses
        1 error
    "#]],
    );
}

/// Every launch of an instance fails with the same error, but the error is shown once.
#[test]
fn errors_of_an_instance_are_told_once() {
    let more = "test \"again\" {
    let x = zeros(f32, [32, 32]); let y = zeros(f32, [32, 32]); let z = zeros(f32, [1, 32]); k(x, y, z);
    print(y);
}
";
    let text = format!("{}{more}", RACE.1);
    check(
        &[(RACE.0, &text)],
        &["test", "r.hx", "--device", "sim"],
        expect![[r#"
            exit 1
            test r.hx::race[1] ... FAILED
            test r.hx::race[2] ... FAILED
            test r.hx::again ... FAILED
            0 passed, 3 failed, 0 skipped
            --
            device: simulator (sm_90a)
            error[HX0401]: threads race on `s`: nothing orders the accesses
                ╭─[ r.hx:6:10 ]
                │
              4 │     copy(v, s);
                │     ─────┬────
                │          ╰────── thread 32 writes `s` here
                │
              6 │     copy(load(s.T), y);
                │          ────┬────
                │              ╰────── thread 1 reads `s` here
                │
             10 │     k(x, y, z);
                │     ─────┬────
                │          ╰────── in this launch
                │
                │ Help: insert `sync()`
                │       6 +     sync();
                │
                │ Note: both touch `s[4, 0]`
            ────╯

              rerun: hx test 'r.hx::race[1]' --exact --device sim --seed 0
              step:  hx step 'r.hx::race[1]' --exact --seed 0

              HX0401 at r.hx:6:10, as in r.hx::race[1]
              rerun: hx test 'r.hx::race[2]' --exact --device sim --seed 0
              step:  hx step 'r.hx::race[2]' --exact --seed 0

              HX0401 at r.hx:6:10, as in r.hx::race[1]
              rerun: hx test 'r.hx::again' --exact --device sim --seed 0
              step:  hx step 'r.hx::again' --exact --seed 0

        "#]],
    );
}
