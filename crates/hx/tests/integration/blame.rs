//! Failed comparisons name the operation, the block and the thread, and the regions and values that led to the first wrong element.

use expect_test::{Expect, expect};

use super::hx;

/// Compares the report of a failed test, from the drawing's first line to its last.
fn check(text: &str, want: Expect) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.hx"), text).expect("writable");
    let output = hx(folder.path(), &["test", "k.hx", "--device", "sim"]);
    let report = String::from_utf8_lossy(&output.stderr);
    let lines = report.lines().skip_while(|line| !line.starts_with("error"));
    let drawing: Vec<&str> = lines.take_while(|line| !line.is_empty()).map(str::trim_end).collect();
    want.assert_eq(&format!("{}\n", drawing.join("\n")));
}

/// Returns a file with a kernel that should double `a`, and its test at 100 × 72.
fn double(grid: &str, body: &str) -> String {
    format!(
        "kernel double<B = 64>(a: f16[m, n], c: mut f16[m, n])
    grid {grid}
    threads 128
{{
    let [bm, bn] = block_idx;
    {body}
}}

test \"double\" {{
    let a = randn(f16, [100, 72], seed: 1);
    let c = empty(f16, [100, 72]);
    double(a, c);
    assert_close(c, a * 2.0, ulp: 1);
}}
"
    )
}

#[test]
fn nothing_wrote_the_edges() {
    let body = "copy(load(tile(a, [B, B])[.., .., bm, bn]) * 2.0, tile(c, [B, B])[.., .., bm, bn]);";
    check(
        &double("[m / B, n / B]", body),
        expect![[r#"
            error[HX0612]: 3104 of 7200 elements of f16[100, 72] are not within ulp: 1 of the reference
                ╭─[ k.hx:13:5 ]
                │
              2 │     grid [m / B, n / B]
                │          ───────┬──────
                │                 ╰──────── the grid is [1, 1]
                │
              5 │     let [bm, bn] = block_idx;
                │                    ────┬────
                │                        ╰────── gives `bm`, `bn`
              6 │     copy(load(tile(a, [B, B])[.., .., bm, bn]) * 2.0, tile(c, [B, B])[.., .., bm, bn]);
                │     ─────────────────────────────────────────┬────────────────────────────────────────
                │                                              ╰────────────────────────────────────────── the only block writes `c[0..64, 0..64]`
                │
             13 │     assert_close(c, a * 2.0, ulp: 1);
                │     ────────────────┬───────────────
                │                     ╰───────────────── here
                │
                │ Note 1: first at [0, 64]: got unwritten memory, expected 0.220825195
                │
                │ Note 2: wrong: rows from 64 on and columns from 64 on
                │
                │ Note 3: all of them are unwritten memory
                │
                │ Note 4: nothing wrote [0, 64]: the only block wrote `c[0..64, 0..64]`
            ────╯
        "#]],
    );
}

#[test]
fn a_grid_has_no_blocks() {
    let body = "copy(load(tile(a, [B, B])[.., .., bm, bn]) * 2.0, tile(c, [B, B])[.., .., bm, bn]);";
    check(
        &double("[m / 256, n / B]", body),
        expect![[r#"
            error[HX0612]: 7200 of 7200 elements of f16[100, 72] are not within ulp: 1 of the reference
                ╭─[ k.hx:13:5 ]
                │
              2 │     grid [m / 256, n / B]
                │          ────────┬───────
                │                  ╰───────── the grid is [0, 1]
                │
             13 │     assert_close(c, a * 2.0, ulp: 1);
                │     ────────────────┬───────────────
                │                     ╰───────────────── here
                │
                │ Note 1: first at [0, 0]: got unwritten memory, expected -1.73046875
                │
                │ Note 2: wrong: every element
                │
                │ Note 3: all of them are unwritten memory
                │
                │ Note 4: nothing wrote [0, 0]: the grid has no blocks
            ────╯
        "#]],
    );
}

#[test]
fn the_block_reads_another_tile() {
    let body = "copy(load(tile(a, [B, B])[.., .., bm, 0]) * 2.0, tile(c, [B, B])[.., .., bm, bn]);";
    check(
        &double("[cdiv(m, B), cdiv(n, B)]", body),
        expect![[r#"
            error[HX0612]: 800 of 7200 elements of f16[100, 72] are not within ulp: 1 of the reference
                ╭─[ k.hx:13:5 ]
                │
              5 │     let [bm, bn] = block_idx;
                │                    ────┬────
                │                        ╰────── `bm` = 0, `bn` = 1
              6 │     copy(load(tile(a, [B, B])[.., .., bm, 0]) * 2.0, tile(c, [B, B])[.., .., bm, bn]);
                │     ───────────────────────┬──┬─────────────┬────────────────────────────────────────
                │                            ╰─────────────────────────────────────────────────────────── block [0, 1] reads `a[0..64, 0..64]`, value -0.8652344
                │                               │             │
                │                               ╰──────────────────────────────────────────────────────── value -1.7304688
                │                                             │
                │                                             ╰────────────────────────────────────────── block [0, 1] writes `c[0..64, 64..72]`
                │
             13 │     assert_close(c, a * 2.0, ulp: 1);
                │     ────────────────┬───────────────
                │                     ╰───────────────── here
                │
                │ Note 1: first at [0, 64]: got -1.7304688, expected 0.220825195
                │
                │ Note 2: worst at [48, 70]: absolute 9.36, relative 3.03, 4791 ulp of f16 (got 6.2734375, expected -3.08398438)
                │
                │ Note 3: wrong: columns 64..72, the last 8
                │
                │ Note 4: [0, 64] was written in block [0, 1] by thread 0 (warp 0), from value 0 of the stored tile in its layout ((8,16),(8,4)):((512,1),(64,16)); the lines show the values that led to it
                │
                │ Note 5: the wrong elements are those that blocks [0, 1] and [1, 1] wrote
            ────╯
        "#]],
    );
}

#[test]
fn the_host_computed_the_tensor() {
    let body = "copy(load(tile(a, [B, B])[.., .., bm, 0]) * 2.0, tile(c, [B, B])[.., .., bm, bn]);";
    let text = double("[cdiv(m, B), cdiv(n, B)]", body).replace("assert_close(c,", "assert_close(c + 0.0,");
    check(
        &text,
        expect![[r#"
        error[HX0612]: 800 of 7200 elements of f64[100, 72] are not within ulp: 1 of the reference
            ╭─[ k.hx:13:5 ]
            │
         13 │     assert_close(c + 0.0, a * 2.0, ulp: 1);
            │     ───────────────────┬──────────────────
            │                        ╰──────────────────── here
            │
            │ Note 1: first at [0, 64]: got -1.73046875, expected 0.220825195
            │
            │ Note 2: worst at [48, 70]: absolute 9.36, relative 3.03, 2.11e16 ulp of f64 (got 6.2734375, expected -3.08398438)
            │
            │ Note 3: wrong: columns 64..72, the last 8
        ────╯
    "#]],
    );
}

#[test]
fn a_product_leaves_out_tiles() {
    let text = r#"
kernel product<BM = 64, BN = 64, BK = 16>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
    where k % BK == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for ki in 0..k / BK {
        let ra = load(tile(a, [BM, BK])[.., .., bm, ki]);
        let rb = load(tile(b, [BN, BK])[.., .., bn, 0]);
        gemm(acc, ra, rb);
    }
    let sc = shared_tensor(f16, [BM, BN]);
    copy(cast(acc * 0.5, f16), sc);
    sync();
    copy(load(sc), tile(c, [BM, BN])[.., .., bm, bn]);
}

test "product" {
    let a = ones(f16, [100, 48]);
    let b = ones(f16, [72, 48]);
    b[.., 16..] = zeros(f16, [72, 32]);
    let c = empty(f16, [100, 72]);
    product(a, b, c);
    assert_close(c, a @ b.T * 0.5, rtol: 1e-2);
}
"#;
    check(
        text,
        expect![[r#"
            error[HX0612]: 7200 of 7200 elements of f16[100, 72] are not within rtol: 0.01 of the reference
                ╭─[ k.hx:27:5 ]
                │
              7 │     let [bm, bn] = block_idx;
                │                    ────┬────
                │                        ╰────── `bm` = 0, `bn` = 0
                │
              9 │     fill(acc, 0.0);
                │     ───────┬──────
                │            ╰──────── `acc` = 0.0
             10 │     for ki in 0..k / BK {
                │               ────┬────
                │                   ╰────── `ki` in 0..3
             11 │         let ra = load(tile(a, [BM, BK])[.., .., bm, ki]);
                │                  ───────────────────┬───────────────────
                │                                     ╰───────────────────── block [0, 0] reads `a[0..64, 0..16]`, `a[0..64, 16..32]`, `a[0..64, 32..48]`
             12 │         let rb = load(tile(b, [BN, BK])[.., .., bn, 0]);
                │                  ───────────────────┬──────────────────
                │                                     ╰──────────────────── block [0, 0] reads `b[0..64, 0..16]`
             13 │         gemm(acc, ra, rb);
                │         ────────┬────────
                │                 ╰────────── `acc` = 16.0, 32.0, 48.0
                │
             16 │     copy(cast(acc * 0.5, f16), sc);
                │          ──────────┬─────────
                │                    ╰─────────── value 24.0
                │
             18 │     copy(load(sc), tile(c, [BM, BN])[.., .., bm, bn]);
                │     ─────────┬──────────────┬────────────────────────
                │              ╰───────────────────────────────────────── value 24.0
                │                             │
                │                             ╰────────────────────────── block [0, 0] writes `c[0..64, 0..64]`
                │
             27 │     assert_close(c, a @ b.T * 0.5, rtol: 1e-2);
                │     ─────────────────────┬────────────────────
                │                          ╰────────────────────── here
                │
                │ Note 1: first at [0, 0]: got 24.0, expected 8.0
                │
                │ Note 2: worst at [0, 0]: absolute 16.00, relative 2.00, 2048 ulp of f16 (got 24.0, expected 8.0)
                │
                │ Note 3: wrong: every element
                │
                │ Note 4: all of them are 3 times the reference
                │
                │ Note 5: [0, 0] was written in block [0, 0] by thread 0 (warp 0), from value 0 of the stored tile in its layout ((8,16),(8,4)):((512,1),(64,16)); the lines show the values that led to it
            ────╯
        "#]],
    );
}

/// A bulk copy stores the tile, so no thread's registers hold the element. The report names the thread that issued the copy.
#[test]
fn a_bulk_copy_wrote_the_element() {
    let text = r#"
kernel double<B = 64>(a: f16[m, n], c: mut f16[m, n])
    grid [cdiv(m, B), cdiv(n, B)]
    threads 128
{
    let [bm, bn] = block_idx;
    let sc = shared_tensor(f16, [B, B]);
    copy(load(tile(a, [B, B])[.., .., bm, bn]) * 3.0, sc);
    sync();
    copy_async(sc, tile(c, [B, B])[.., .., bm, bn]);
    wait_stores(0);
}

test "double" {
    let a = ones(f16, [100, 72]);
    let c = empty(f16, [100, 72]);
    double(a, c);
    assert_close(c, a * 2.0, ulp: 1);
}
"#;
    check(
        text,
        expect![[r#"
            error[HX0612]: 7200 of 7200 elements of f16[100, 72] are not within ulp: 1 of the reference
                ╭─[ k.hx:18:5 ]
                │
              6 │     let [bm, bn] = block_idx;
                │                    ────┬────
                │                        ╰────── `bm` = 0, `bn` = 0
                │
              8 │     copy(load(tile(a, [B, B])[.., .., bm, bn]) * 3.0, sc);
                │          ──────────────────┬──┬─────────────────────
                │                            ╰────────────────────────── block [0, 0] reads `a[0..64, 0..64]`, value 1.0
                │                               │
                │                               ╰─────────────────────── value 3.0
                │
             10 │     copy_async(sc, tile(c, [B, B])[.., .., bm, bn]);
                │     ───────────────────────┬───────────────────────
                │                            ╰───────────────────────── block [0, 0] writes `c[0..64, 0..64]`
                │
             18 │     assert_close(c, a * 2.0, ulp: 1);
                │     ────────────────┬───────────────
                │                     ╰───────────────── here
                │
                │ Note 1: first at [0, 0]: got 3.0, expected 2.0
                │
                │ Note 2: worst at [0, 0]: absolute 1.00, relative 0.50, 512 ulp of f16 (got 3.0, expected 2.0)
                │
                │ Note 3: wrong: every element
                │
                │ Note 4: all of them are 1.5 times the reference
                │
                │ Note 5: [0, 0] was written in block [0, 0], by a copy that thread 0 issued
            ────╯
        "#]],
    );
}

/// Both launches write `c` in place. The report shows the contents before the second launch, which the final contents do not tell.
#[test]
fn the_last_launch_in_place_is_blamed() {
    let text = r#"
kernel add(c: mut f32[n], x: f32)
    grid [cdiv(n, 32)]
    threads 32
{
    let [b] = block_idx;
    let t = tile(c, [32])[.., b];
    copy(load(t) + x, t);
}

test "twice" {
    let c = zeros(f32, [48]);
    add(c, 1.0);
    add(c, 2.5);
    assert_eq(c, ones(f32, [48]) * 3.0);
}
"#;
    check(
        text,
        expect![[r#"
            error[HX0612]: 48 of 48 elements of f32[48] are not equal
                ╭─[ k.hx:15:5 ]
                │
              6 │     let [b] = block_idx;
                │               ────┬────
                │                   ╰────── `b` = 0
              7 │     let t = tile(c, [32])[.., b];
                │             ──────────┬─────────
                │                       ╰─────────── gives `t`
              8 │     copy(load(t) + x, t);
                │     ────────┬─┬─────────
                │             ╰───────────── block [0] reads `c[0..32]`, value 1.0
                │               │
                │               ╰─────────── value 3.5
                │               │
                │               ╰─────────── block [0] writes `c[0..32]`
                │
             15 │     assert_eq(c, ones(f32, [48]) * 3.0);
                │     ─────────────────┬─────────────────
                │                      ╰─────────────────── here
                │
                │ Note 1: first at [0]: got 3.5, expected 3.0
                │
                │ Note 2: wrong: every element
                │
                │ Note 3: [0] was written in block [0] by thread 0 (warp 0), from value 0 of the stored tile in its layout (32,1):(1,0); the lines show the values that led to it
            ────╯
        "#]],
    );
}

/// `max(x, 0.0)` must not drop the NaN that fills unwritten memory: the report says that unwritten memory was stored.
#[test]
fn a_kernel_stores_what_nothing_wrote() {
    check(
        "kernel relu(x: f32[m], y: mut f32[m]) grid [1] threads 32 {
    copy(max(load(tile(x, [64])[.., 0]), 0.0), tile(y, [64])[.., 0]);
}

test \"relu\" {
    let (x, y) = (empty(f32, [64]), empty(f32, [64]));
    relu(x, y);
    assert_eq(y, zeros(f32, [64]));
}
",
        expect![[r#"
            error[HX0612]: 64 of 64 elements of f32[64] are not equal
               ╭─[ k.hx:8:5 ]
               │
             2 │     copy(max(load(tile(x, [64])[.., 0]), 0.0), tile(y, [64])[.., 0]);
               │     ──────────────────────┬┬────────┬───────────────────────────────
               │                           ╰─────────────────────────────────────────── block [0] reads `x[0..64]`, value nan
               │                            │        │
               │                            ╰────────────────────────────────────────── value nan
               │                                     │
               │                                     ╰───────────────────────────────── block [0] writes `y[0..64]`
               │
             8 │     assert_eq(y, zeros(f32, [64]));
               │     ───────────────┬──────────────
               │                    ╰──────────────── here
               │
               │ Note 1: first at [0]: got unwritten memory, expected 0.0
               │
               │ Note 2: wrong: every element
               │
               │ Note 3: all of them are unwritten memory
               │
               │ Note 4: [0] was written in block [0] by thread 0 (warp 0), from value 0 of the stored tile in its layout (32,2):(2,1); the lines show the values that led to it
            ───╯
        "#]],
    );
}

/// The halves of a register come from two tensors, so the solver moves one of them. The values of the moved tensor are told, too.
#[test]
fn values_of_a_moved_tensor_are_told() {
    check(
        "kernel pairs(x: u32[m, n], y: mut f16[m, k]) grid [1] threads 64 {
    let t = reshape(cast(load(tile(x, [8, 64])[.., .., 0, 0]), f16), [8, 64, 1]);
    copy(reshape(concat(t, t, axis: 2), [8, 128]), tile(y, [8, 128])[.., .., 0, 0]);
}
test \"pairs\" {
    let x = full(u32, [1, 8], 5);
    let y = empty(f16, [1, 16]);
    pairs(x, y);
    assert_eq(y, full(f16, [1, 16], 3));
}
",
        expect![[r#"
            error[HX0612]: 16 of 16 elements of f16[1, 16] are not equal
               ╭─[ k.hx:9:5 ]
               │
             2 │     let t = reshape(cast(load(tile(x, [8, 64])[.., .., 0, 0]), f16), [8, 64, 1]);
               │                          ──────────────────┬─────────────────
               │                                            ╰─────────────────── block [0] reads `x[0, 0..8]`
             3 │     copy(reshape(concat(t, t, axis: 2), [8, 128]), tile(y, [8, 128])[.., .., 0, 0]);
               │     ───────────────────────┬───────────────┬───────────────────────────────────────
               │                            ╰───────────────────────────────────────────────────────── value 5.0
               │                                            │
               │                                            ╰───────────────────────────────────────── block [0] writes `y[0, 0..16]`, value 5.0
               │
             9 │     assert_eq(y, full(f16, [1, 16], 3));
               │     ─────────────────┬─────────────────
               │                      ╰─────────────────── here
               │
               │ Note 1: first at [0, 0]: got 5.0, expected 3.0
               │
               │ Note 2: wrong: every element
               │
               │ Note 3: [0, 0] was written in block [0] by thread 0 (warp 0), from value 0 of the stored tile in its layout ((16,4),(8,2)):((64,1),(8,4)); the lines show the values that led to it
            ───╯
        "#]],
    );
}
