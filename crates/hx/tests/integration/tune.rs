//! `hx tune` on machines without a GPU, and the tuned file on the simulator.

use expect_test::expect;

use super::check;

const KERNEL: (&str, &str) = (
    "a.hx",
    "kernel twice<B = 128, T: type = f16>(x: T[n], y: mut T[n], by: f32)
    where B % 32 == 0
    tune B in [48, 64, 128, 256]
    grid [cdiv(n, B)]
    threads 32
{
    let r = register_tensor(T, [B]);
    copy(tile(x, [B])[.., block_idx], r);
    copy(cast(cast(r, f32) * by, T), tile(y, [B])[.., block_idx]);
}
kernel plain(x: f16[n]) grid [1] threads 32 { }
main {
    let x = ones(f16, [256]);
    let y = empty(f16, [256]);
    twice(x, y, 2.0);
    print(y.sum());
}
test \"twice\" { let x = ones(f16, [256]); let y = empty(f16, [256]); twice(x, y, 2.0); assert_eq(y, x * 2); }
",
);

#[test]
fn candidates_are_listed_without_a_gpu() {
    check(
        &[KERNEL],
        &["tune", "a.hx", "twice", "--shapes", "n=4096,by=2.0", "--dry-run", "--device", "sim"],
        expect![[r#"
            exit 0
            twice for n = 4096, T = f16
              4 combinations: 1 break `B % 32 == 0`, 3 legal
              B = 256                  0.35 µs  bound by threads and waits
              B = 64                   0.35 µs  bound by issue slots
              B = 128 (defaults)       0.36 µs  bound by issue slots
            --
            device: simulator (sm_90a)
        "#]],
    );
    check(
        &[KERNEL],
        &["tune", "a.hx", "twice", "--shapes", "n=4096,by=2.0", "--device", "sim"],
        expect![[r#"
            exit 3
            --
            device: simulator (sm_90a)
            error[HX0609]: tuning needs a GPU; the simulator does not time
              = help: `--dry-run` ranks the candidates by their estimates on any machine
        "#]],
    );
}

#[test]
fn members_of_a_family_are_candidates() {
    let kernels = (
        "f.hx",
        "kernel wide<B = 64>(x: f32[n], y: mut f32[n]) grid [cdiv(n, B)] threads 32 {
    copy(load(tile(x, [B])[.., block_idx]), tile(y, [B])[.., block_idx]);
}
#[family(add<B = 128>, wide<B = 256>)]
kernel add<B = 64, C = 1>(x: f32[n], y: mut f32[n]) tune B in [32, 64] grid [cdiv(n, B)] threads 32 {
    copy(load(tile(x, [B])[.., block_idx]) * C, tile(y, [B])[.., block_idx]);
}
",
    );
    let dry = ["tune", "f.hx", "add", "--shapes", "n=4096", "--dry-run", "--device", "sim"];
    check(
        &[kernels],
        &dry,
        expect![[r#"
        exit 0
        add for n = 4096
          2 combinations: 2 legal; 2 members of its family fit
          add<B = 128>            0.35 µs
          B = 32                  0.36 µs  bound by issue slots
          B = 64 (defaults)       0.36 µs  bound by issue slots
          wide<B = 256>           0.36 µs
        --
        device: simulator (sm_90a)
    "#]],
    );
    check(
        &[kernels],
        &[&dry[..], &["--members"]].concat(),
        expect![[r#"
        exit 0
        add for n = 4096
          no values of the clause; 2 members of its family fit
          add<B = 128>        0.35 µs
          wide<B = 256>       0.36 µs
        --
        device: simulator (sm_90a)
    "#]],
    );
    let wide = ["tune", "f.hx", "wide", "--shapes", "n=4096", "--dry-run", "--members", "--device", "sim"];
    check(
        &[kernels],
        &wide,
        expect![[r#"
        exit 1
        --
        device: simulator (sm_90a)
        error[HX0614]: `wide` has no family with a member that fits n = 4096, B = 64
          = help: without `--members`, the values of the clause are measured
    "#]],
    );
}

#[test]
fn a_shape_must_fit_the_kernel() {
    let refused = |kernel: &str, shape: &str, want| {
        check(&[KERNEL], &["tune", "a.hx", kernel, "--shapes", shape, "--dry-run", "--device", "sim"], want);
    };
    refused(
        "twice",
        "n=4096",
        expect![[r#"
        exit 2
        --
        device: simulator (sm_90a)
        error: the shape lacks a value for `by` of `twice`

        For more information, try '--help'.
    "#]],
    );
    refused(
        "twice",
        "n=4096,by=2,m=3",
        expect![[r#"
        exit 2
        --
        device: simulator (sm_90a)
        error: `twice` has no dimension or parameter `m`; it has `B`, `T`, `n`, `by`

        For more information, try '--help'.
    "#]],
    );
    refused(
        "twice",
        "n=0,by=2",
        expect![[r#"
        exit 2
        --
        device: simulator (sm_90a)
        error: found `n=0`, the dimension `n` is a positive integer

        For more information, try '--help'.
    "#]],
    );
    refused(
        "twice",
        "n=64,by=2,B=32",
        expect![[r#"
        exit 2
        --
        device: simulator (sm_90a)
        error: `B = 32` is not among the values of the `tune` clause

        For more information, try '--help'.
    "#]],
    );
    refused(
        "twice",
        "n=64,n=65",
        expect![[r#"
        exit 2
        --
        error: --shapes n=64,n=65: `n` is given twice

        For more information, try '--help'.
    "#]],
    );
    refused(
        "plain",
        "n=64",
        expect![[r#"
        exit 1
        --
        device: simulator (sm_90a)
        error[HX0614]: `plain` has no `tune` clause: nothing says what to try
          = help: `tune BM in [64, 128], STAGES in 2..=4` after the parameters names values to try
    "#]],
    );
    refused(
        "twise",
        "n=64",
        expect![[r#"
        exit 2
        --
        device: simulator (sm_90a)
        error: `a.hx` has no kernel `twise`; perhaps `twice` is meant

        For more information, try '--help'.
    "#]],
    );
}

const TUNED: &str = "format = 1

[[tuned]]
kernel = \"a.hx::twice\"
shape = { n = \"129..=256\", T = \"f16\" }
arguments = { B = 256 }
device = \"NVIDIA H200\"
target = \"sm_90a\"
median_us = 1.5
text = \"0000000000000000\"
hx = \"0.1.0\"
";

#[test]
fn a_stale_result_is_named_where_results_are_asked_for() {
    let files = [KERNEL, ("hx.tuned.toml", TUNED)];
    check(
        &files,
        &["run", "a.hx", "--device", "sim"],
        expect![[r#"
            exit 0
            512.0
            --
            device: simulator (sm_90a)
        "#]],
    );
    check(
        &files,
        &["run", "a.hx", "--device", "sim", "--tuned"],
        expect![[r#"
            exit 0
            512.0
            --
            device: simulator (sm_90a)
            the result for `twice` at hx.tuned.toml:3 is stale and not used, because the kernel's text has changed: `hx tune` renews it
        "#]],
    );
    check(
        &files,
        &["check", "a.hx", "--tuned"],
        expect![[r#"
            exit 0
            --
            the result for `twice` at hx.tuned.toml:3 is stale: the kernel's text has changed
            checked 0 results of hx.tuned.toml
            checked 1 file for sm_90a: no errors
        "#]],
    );
    check(
        &files,
        &["build", "a.hx", "--kernel", "twice", "--shape", "n=256", "--emit", "cuda", "-o", "out"],
        expect![[r#"
            exit 0
            --
            the result for `twice` at hx.tuned.toml:3 is stale and not used, because the kernel's text has changed: `hx tune` renews it
            built `twice`: out.cu and out.json
            assumed of every launch: `n` multiples of 16; `x`, `y` aligned to 16 bytes; `--facts` says what else to rely on
        "#]],
    );
    check(
        &[KERNEL],
        &["check", "a.hx", "--tuned"],
        expect![[r#"
        exit 1
        --
        error[HX0606]: there is no file `DIR/hx.tuned.toml`
          = help: `hx tune FILE KERNEL --shapes …` writes one
    "#]],
    );
}

#[test]
fn errors_in_the_tuned_file_have_places() {
    let wrong = TUNED.replace("arguments", "argumentz");
    check(
        &[KERNEL, ("hx.tuned.toml", &wrong)],
        &["test", "a.hx", "--device", "sim", "--tuned"],
        expect![[r#"
        exit 1
        --
        error[HX0625]: this result lacks the key `arguments`
           ╭─[ hx.tuned.toml:3:1 ]
           │
         3 │ [[tuned]]
           │ ────┬────
           │     ╰────── here
        ───╯

        error[HX0625]: found the key `argumentz`, which means nothing
           ╭─[ hx.tuned.toml:6:1 ]
           │
         6 │ argumentz = { B = 256 }
           │ ────┬────
           │     ╰────── here
           │
           │ Help: perhaps `arguments` is meant
        ───╯

    "#]],
    );
}
