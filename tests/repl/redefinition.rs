//! Redefinitions at the prompt: which definitions use the new one.

use expect_test::expect;

use super::{check, script};
use crate::support::Sandbox;

/// A redefinition enters exactly the definitions that depend on it again.
#[test]
fn redefinition_reaches_what_depends_on_it() {
    check(
        &["--keep-going"],
        "fn scaled(x: f32) -> f32 { x * 2.0 }\n\
         kernel k(c: mut f32[m]) grid [1] threads 32 {\n\
             let r = register_tensor(f32, [32]);\n\
             fill(r, 1.0);\n\
             copy(scaled(r), tile(c, [32])[.., 0]);\n\
         }\n\
         kernel other(c: mut f32[m]) grid [1] threads 32 {\n\
             let r = register_tensor(f32, [32]);\n\
             fill(r, 7.0);\n\
             copy(r, tile(c, [32])[.., 0]);\n\
         }\n\
         test \"first\" { let c = empty(f32, [32]); k(c); assert(c[0] == 2.0); }\n\
         let c = empty(f32, [32])\n\
         k(c)\n\
         c[0]\n\
         fn scaled(x: f32) -> f32 { x * 3.0 }\n\
         k(c)\n\
         c[0]\n\
         other(c)\n\
         c[0]\n\
         :run first\n\
         fn scaled(x: f32, y: f32) -> f32 { x * y }\n\
         k(c)\n\
         c[0]\n",
        expect![[r#"
            2.0
            3.0
            7.0
            cell 9::first ... FAILED
            3.0
            ! device: simulator (sm_90a)
            ! `k`, test "first" use the new definition
            ! error[HX0612]: `c[0] == 2.0` does not hold
            !    ╭─[ cell 9:7:55 ]
            !    │
            !  3 │ fill(r, 1.0);
            !    │ ──────┬─────
            !    │       ╰─────── `r` = 1.0
            !  4 │ copy(scaled(r), tile(c, [32])[.., 0]);
            !    │ ─────────┬────────┬──────────────────
            !    │          ╰───────────────────────────── value 3.0
            !    │                   │
            !    │                   ╰──────────────────── block [0] writes `c[0..32]`
            !    │
            !  7 │ test "first" { let c = empty(f32, [32]); k(c); assert(c[0] == 2.0); }
            !    │                                                       ─────┬─────
            !    │                                                            ╰─────── here
            !    │
            !    │ Note 1: left: 3.0
            !    │
            !    │ Note 2: right: 2.0
            !    │
            !    │ Note 3: `c[0]` was written in block [0] by thread 0 (warp 0), from value 0 of the stored tile in its layout (32,1):(1,0); the lines show the values that led to it
            ! ───╯
            ! error[HX0222]: `scaled` lacks the argument `y`
            !    ╭─[ cell 15:4:6 ]
            !    │
            !  4 │ copy(scaled(r), tile(c, [32])[.., 0]);
            !    │      ────┬────
            !    │          ╰────── here
            ! ───╯
            ! `k`, test "first" keep the definition from before, as the new one does not fit
            exit code 1
        "#]],
    );
}

/// Definitions of a loaded file keep the meanings of that file. A remark names them and the way out.
#[test]
fn a_redefinition_names_the_loaded_definitions_that_keep_the_old_one() {
    let sandbox = Sandbox::new();
    let kernel = |name: &str, value: &str| {
        format!(
            "kernel {name}(y: mut f32[m]) grid [1] threads 32 {{\n    let t = load(tile(y, [32])[.., 0]);\n    copy({value}, tile(y, [32])[.., 0]);\n}}\n"
        )
    };
    let module = format!(
        "fn step(x: f32) -> f32 {{\n    x + 1.0\n}}\nfn twice(x: f32) -> f32 {{\n    step(step(x))\n}}\n{}{}",
        kernel("steps", "twice(t)"),
        kernel("other", "t")
    );
    sandbox.write("lib.hx", module.as_bytes());
    let again = kernel("steps", "step(t)");
    let ran = script(
        &sandbox,
        &[],
        &format!(
            ":load lib.hx\nlet y = zeros(f32, [32])\nfn step(x: f32) -> f32 {{ x + 10.0 }}\nsteps(y); y[0]\n\
             {again}steps(y); y[0]\nfn step(x: f32) -> f32 {{ x + 100.0 }}\nsteps(y); y[0]\n\
             fn other(x: f32) -> f32 {{ x }}\n"
        ),
    );
    ran.check(expect![[r#"
        exit 0
        --- stdout
        2.0
        12.0
        112.0
        --- stderr
        loaded `step`, `twice`, `steps`, `other`
        `steps`, `twice` keep `step` of `lib.hx`, because files see no entries: change the file and enter `:reload`, or enter them here
        device: simulator (sm_90a)
        `steps` uses the new definition
    "#]]);
}
