//! `--costs` and `build.costs`: the costs that layouts and estimates follow.

use expect_test::{Expect, expect};

use crate::check;

const KERNEL: &str =
    "kernel twice(x: f32[m, k], y: mut f32[m, k]) grid [cdiv(m, 32), cdiv(k, 64)] threads 64 {
    let [bm, bk] = block_idx;
    let t = load(tile(x, [32, 64])[.., .., bm, bk]);
    copy(t + t, tile(y, [32, 64])[.., .., bm, bk]);
}
";

/// Prints what `hx layout why --candidates` says of its estimates: the last line of stderr.
fn caveat(files: &[(&str, &str)], args: &[&str], want: Expect) {
    let files: Vec<_> = files.iter().copied().chain([("k.hx", KERNEL)]).collect();
    check(&files, &[&["layout", "why", "k.hx", "twice", "--candidates"], args].concat(), want);
}

#[test]
fn an_estimate_says_whose_costs_it_follows() {
    caveat(
        &[],
        &[],
        expect![[r#"
        exit 0
        candidate     cycles   × best  choices
                0       1495     1.00  ld.global.v4.b32, st.global.v4.b32
                   t: register f32[32, 64] = ((16,4),(4,8)):((128,1),(32,4))
                1       1495     1.00  ld.global.v4.b32, st.global.v4.b32
                   t: register f32[32, 64] = ((8,8),(4,2,4)):((128,1),(32,1024,8))
        --
    "#]],
    );
    caveat(
        &[],
        &["--costs", "h100"],
        expect![[r#"
        exit 0
        candidate     cycles   × best  choices
                0       1495     1.00  ld.global.v4.b32, st.global.v4.b32
                   t: register f32[32, 64] = ((16,4),(4,8)):((128,1),(32,4))
                1       1495     1.00  ld.global.v4.b32, st.global.v4.b32
                   t: register f32[32, 64] = ((8,8),(4,2,4)):((128,1),(32,1024,8))
        --
    "#]],
    );
    caveat(
        &[],
        &["--target", "sm_89", "--costs", "rtx4090"],
        expect![[r#"
        exit 0
        candidate     cycles   × best  choices
                0       2191     1.00  ld.global.v4.b32, st.global.v4.b32
                   t: register f32[32, 64] = ((16,4),(4,8)):((128,1),(32,4))
                1       2191     1.00  ld.global.v4.b32, st.global.v4.b32
                   t: register f32[32, 64] = ((8,8),(4,2,4)):((128,1),(32,1024,8))
        --
        the estimates are by published figures of NVIDIA GeForce RTX 4090, not measured
    "#]],
    );
    caveat(
        &[],
        &["--target", "sm_80"],
        expect![[r#"
        exit 0
        candidate     cycles   × best  choices
                0       1495     1.00  ld.global.v4.b32, st.global.v4.b32
                   t: register f32[32, 64] = ((16,4),(4,8)):((128,1),(32,4))
                1       1495     1.00  ld.global.v4.b32, st.global.v4.b32
                   t: register f32[32, 64] = ((8,8),(4,2,4)):((128,1),(32,1024,8))
        --
        the estimates are by the costs of NVIDIA H200, a device of another architecture
    "#]],
    );
}

#[test]
fn a_project_names_its_costs() {
    let own = hx_target::COSTS_TEXT.replace("'measured'", "'published'").replace("NVIDIA H200", "My Board");
    caveat(
        &[("hx.toml", "[build]\ncosts = \"board.toml\"\n"), ("board.toml", &own)],
        &[],
        expect![[r#"
        exit 0
        candidate     cycles   × best  choices
                0       1495     1.00  ld.global.v4.b32, st.global.v4.b32
                   t: register f32[32, 64] = ((16,4),(4,8)):((128,1),(32,4))
                1       1495     1.00  ld.global.v4.b32, st.global.v4.b32
                   t: register f32[32, 64] = ((8,8),(4,2,4)):((128,1),(32,1024,8))
        --
        the estimates are by published figures of My Board, not measured
    "#]],
    );
    // A flag takes precedence.
    let project = ("hx.toml", "[build]\ncosts = \"a100\"\n");
    caveat(
        &[project],
        &["--costs", "h200"],
        expect![[r#"
        exit 0
        candidate     cycles   × best  choices
                0       1495     1.00  ld.global.v4.b32, st.global.v4.b32
                   t: register f32[32, 64] = ((16,4),(4,8)):((128,1),(32,4))
                1       1495     1.00  ld.global.v4.b32, st.global.v4.b32
                   t: register f32[32, 64] = ((8,8),(4,2,4)):((128,1),(32,1024,8))
        --
    "#]],
    );
}

#[test]
fn costs_that_are_not_there_or_malformed() {
    caveat(
        &[],
        &["--costs", "h300"],
        expect![[r#"
        exit 2
        --
        error: --costs: there is no file `h300`; built in are `h200`, `h100`, `a100`, `rtx4090`, `rtx5090`, `b200`

        For more information, try '--help'.
    "#]],
    );
    caveat(
        &[("c.toml", "barrier = 'soon'")],
        &["--costs", "c.toml"],
        expect![[r#"
        exit 2
        --
        error: --costs: `c.toml` is no file of costs: line 1: invalid type: string "soon", expected f64

        For more information, try '--help'.
    "#]],
    );
    caveat(
        &[("hx.toml", "[build]\ncosts = \"h300\"\n")],
        &[],
        expect![[r#"
        exit 1
        --
        error[HX0625]: there is no file `h300` in the project; built in are `h200`, `h100`, `a100`, `rtx4090`, `rtx5090`, `b200`
           ╭─[ hx.toml:2:9 ]
           │
         2 │ costs = "h300"
           │         ───┬──
           │            ╰──── here
        ───╯

    "#]],
    );
    caveat(
        &[("hx.toml", "[build]\ncosts = \"c.toml\"\n"), ("c.toml", "drain = 800.0\n")],
        &[],
        expect![[r#"
        exit 1
        --
        error[HX0625]: `c.toml` is no file of costs: line 1: missing field `device`
           ╭─[ hx.toml:2:9 ]
           │
         2 │ costs = "c.toml"
           │         ────┬───
           │             ╰───── here
        ───╯

    "#]],
    );
}
