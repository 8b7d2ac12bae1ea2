use expect_test::expect;

use super::{check, check_types, kernel};

#[test]
fn views_and_tiles() {
    check_types(
        "let [bm, bk] = block_idx;
        let ga = global_view(a[bm * BM.., ..], (BM, BK, k / BK) : (k, 1, BK));
        let one = ga[.., .., bk];
        let tiles = tile(c, [BM, BK]);
        let row = tiles[.., .., bm];
        let turned = tiles.T;
        let order = permute(tiles, [2, 0, 3, 1]);
        let extra = one[.., new, ..];
        let part = c[2..10, bk];",
        expect![[r#"
            bm: int = block_idx.x
            bk: int = block_idx.y
            ga: global f16[BM, BK, k / BK]
            one: global f16[BM, BK]
            tiles: global mut f16[BM, BK, (m + BM - 1) / BM, (k + BK - 1) / BK]
            row: global mut f16[BM, BK, (k + BK - 1) / BK]
            turned: global mut f16[BM, BK, (k + BK - 1) / BK, (m + BM - 1) / BM]
            order: global mut f16[(m + BM - 1) / BM, BM, (k + BK - 1) / BK, BK]
            extra: global f16[BM, 1, BK]
            part: global mut f16[8]
        "#]],
    );
}

#[test]
fn tensors_and_operators() {
    check_types(
        "let x = register_tensor(f32, [BM, 16]);
        let y = cast(x, f16);
        let z = x * 2.0 + s;
        let w = max(x, axis: 1);
        let b = x < w;
        let p = where(b, x, -inf);
        let i = index(x, 0) + 3;
        let sh = shared_tensor(u4, [BM, BK]);
        let l = load(tile(a, [BM, BK])[.., .., 0, 0]);
        let n = exp2(-x);",
        expect![[r#"
            x: register f32[BM, 16]
            y: register f16[BM, 16]
            z: register f32[BM, 16]
            w: register f32[BM, 1]
            b: register bool[BM, 16]
            p: register f32[BM, 16]
            i: register i32[BM, 16]
            sh: shared mut u4[BM, BK]
            l: register f16[BM, BK]
            n: register f32[BM, 16]
        "#]],
    );
}

#[test]
fn numbers() {
    check_types(
        "let d = (m + BM - 1) / BM;
        let q = cdiv(m, 64) * 64;
        let lit = 7 % 4;
        let f = 1.5 * 2;
        let t = if BM == 64 { m } else { k };
        let e0 = e[3];
        let l = (BM, 8) : (8, 1);
        let pair = (d, 2.0);",
        expect![[r#"
            d: int = (m + BM - 1) / BM
            q: int = ((m + 63) / 64) * 64
            lit: int = 3
            f: float
            t: int
            e0: int
            l: layout
            pair: (int = (m + BM - 1) / BM, float)
        "#]],
    );
}

/// The type of a tuple states those of its parts, for the values of a tuple and of a call.
#[test]
fn types_of_the_parts_of_a_pattern() {
    check(
        &format!(
            "fn two(c: f32) -> (f32, bool) {{ (c, c > 1.0) }}\n{}",
            kernel(
                "let (_p, (_q, _r)): (u8, (i8, u8)) = (1, (200, 200));\nlet (_s, _t): (u8, f32) = two(1.0);"
            )
        ),
        expect![[r#"
            error[HX0216]: found 200, which `i8` cannot hold
              let (_p, (_q, _r)): (u8, (i8, u8)) = (1, (200, 200));
                                                        ^^^
            error[HX0203]: found a floating-point number, expected an integer
              let (_s, _t): (u8, f32) = two(1.0);
                                        ^^^^^^^^
            error[HX0203]: found a truth value, expected a floating-point number
              let (_s, _t): (u8, f32) = two(1.0);
                                        ^^^^^^^^
        "#]],
    );
}
