//! Orders that a kernel of an earlier cell infers.

use expect_test::expect;

use super::check;

#[test]
fn a_cell_packs_for_the_kernel_of_an_earlier_one() {
    check(
        &[],
        "kernel widened<W: layout = infer>(w: u4[64, 64] : W, y: mut f16[64, 64]) grid [1] threads 128 { copy(cast(load(w), f16), y); }
let w = uniform(u4, [64, 64], low: 0, high: 16);
let y = empty(f16, [64, 64]);
widened(pack(w, widened), y);
assert_eq(y, w);
widened(w, y);
",
        expect![[r#"
            ! device: simulator (sm_90a)
            ! error[HX0641]: the argument for `w` lies in row-major order, and `widened` reads it in blocks `((16,4),(2,4,8)):((256,8),(4,1,32))`
            !    ╭─[ cell 6:1:9 ]
            !    │
            !  1 │ widened(w, y);
            !    │         ┬
            !    │         ╰── here
            !    │
            !    ├─[ cell 1:1:38 ]
            !    │
            !  1 │ kernel widened<W: layout = infer>(w: u4[64, 64] : W, y: mut f16[64, 64]) grid [1] threads 128 { copy(cast(load(w), f16), y); }
            !    │                                      ───────┬──────
            !    │                                             ╰──────── declared here
            !    │
            !    │ Help: `pack(w, widened)` makes a tensor in this order
            ! ───╯
            exit code 1
        "#]],
    );
}
