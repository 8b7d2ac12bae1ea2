use expect_test::expect;

use super::check;

#[test]
fn what_is_printed_and_asserted_becomes_register_tensors() {
    check(
        "fn positive(x: register f16[M, N]) { assert(x > 0.0, \"not positive\"); }
        kernel f<BM = 8>(a: f16[m, k], s: f32, c: mut f16[m, k]) grid [cdiv(m, BM), 2] threads 32 {
            let [bm, bk] = block_idx;
            let x = load(tile(a, [BM, 4])[.., .., bm, bk]);
            let sh = shared_tensor(f16, [8, 4]);
            print(\"first\", x, x * x);
            for i in 0..k / 4 { print(i, block_idx, s, i < 2); }
            print(\"reached\", \"here\");
            print();
            print(tile(a, [4, 4])[.., .., 0, 0], \"shared\", sh, \"as\", f16);
            assert(BM == 8);
            assert(bm * BM + BM <= m, \"ragged\");
            assert(s > 0.0);
            positive(x);
            let mask = x < 1.0;
            assert(mask);
            let near = index(x, 0) < 4;
            print(near);
        }",
        expect![[r#"
            kernel f threads 32
              grid [m / 8, 2]
              param a: f16[m, k] : [k, 1] align 16
              param s: f32
              param c: mut f16[m, k] : [k, 1] align 16
              fact k % 16 == 0
              fact m % 16 == 0
              register x: f16[8, 4]
              shared sh: f16[8, 4]
              register shown: f16[8, 4]
              register i: i64[1]
              register block_idx: i64[2]
              register s_1: f32[1]
              register shown_1: bool[1]
              register a_tile: f16[4, 4]
              register sh_tile: f16[8, 4]
              register shown_2: bool[1]
              register s_2: f32[1]
              register shown_3: f32[1]
              register shown_4: bool[8, 4]
              register mask: bool[8, 4]
              register near: bool[8, 4]
              #0 copy(a[block_idx.x * 8 + 0..8, block_idx.y * 4 + 0..4], x)
              #1 print("first", x)
              #2 shown = (x * x)
              #3 print(shown)
              for i in 0..k / 4
                #4 i = (i)
                #5 print(i)
                #6 block_idx = where((index(0) == (0)), (block_idx.x), (block_idx.y))
                #7 print(block_idx)
                #8 s_1 = s
                #9 print(s_1)
                #10 shown_1 = ((i) < (2))
                #11 print(shown_1)
              #12 print("reached here")
              #13 print()
              #14 copy(a[0..4, 0..4], a_tile)
              #15 print(a_tile)
              #16 copy(sh[0..8, 0..4], sh_tile)
              #17 print("shared", sh_tile)
              #18 print("as f16")
              #19 shown_2 = (0.0 < s)
              #20 s_2 = s
              #21 shown_3 = 0.0
              #22 assert(shown_2)
              #23 shown_4 = (0.0 < x)
              #24 assert(shown_4, "not positive")
              #25 mask = (x < 1.0)
              #26 assert(mask)
              #27 near = (index(0) < (4))
              #28 print(near)
        "#]],
    );
}

#[test]
fn assertions_known_at_compile_time_cost_nothing_or_fail() {
    check(
        "kernel f<B = 8>(c: mut f32[m]) grid [1] threads 32 where m % 4 == 0 {
            assert(B % 8 == 0, \"whole\");
            assert(m % 4 == 0);
            assert(B > 8, \"large blocks only\");
        }",
        expect![[r#"
            error[HX0217]: the assertion does not hold for this instance: large blocks only
                          assert(B > 8, "large blocks only");
                                 ^^^^^
              note: left: 8
              note: right: 8
        "#]],
    );
}
