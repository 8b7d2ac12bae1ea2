//! Copies in boxes from source: what a stage signals, which copies have no boxes, and stores.

use expect_test::{Expect, expect};
use hx_hir::file_items;
use hx_target::Target;

use super::drawn;
use crate::{Emit, check_file, default_instance, emit, test_db::TestDb};

fn check(text: &str, target: Target, expected: Expect) {
    let (db, file) = TestDb::with_file(text);
    expected.assert_eq(&drawn(text, check_file(&db, file, target)));
}

/// Returns a ring whose stages have a part of `a`, with rows of 64 numbers, and a part of `b`, with rows of `columns` numbers.
/// `parts` copies the two.
fn ring(columns: u32, parts: &str) -> String {
    format!(
        "kernel ring<B = 64>(a: f32[n, B], b: f32[n, {columns}], y: mut f32[n, B])
    grid [1]
    threads 64
{{
    let (sa, sb) = (shared_tensor(f32, [16, B, 2]), shared_tensor(f32, [16, B, 2]));
    let (ga, gb) = (tile(a, [16, B])[.., .., .., 0], tile(b, [16, B])[.., .., .., 0]);
    let pipe = pipeline(2);
    for i in 0..cdiv(n, 16) {{
        let s = pipe.acquire();
{parts}        let s = pipe.wait();
        copy(load(sa[.., .., s]) + load(sb[.., .., s]), tile(y, [16, B])[.., .., i, 0]);
        pipe.release();
    }}
}}
"
    )
}

const BOTH: &str = "        copy_async(ga[.., .., i], sa[.., .., s], signal: pipe);
        copy_async(gb[.., .., i], sb[.., .., s], signal: pipe);
";

/// Compares what the ring does to fill a stage.
fn check_stage(text: &str, expected: Expect) {
    let (db, file) = TestDb::with_file(text);
    let kernel = file_items(&db, file).kernels().next().expect("a kernel");
    let instance = default_instance(&db, kernel, Target::usual()).expect("an instance");
    let text = emit(&db, instance, Emit::Thread).expect("a thread program");
    let words = ["map of", "expect", "tma", "bulk.", "cp.async", "arrive", "fence"];
    let shown = text.lines().filter(|line| words.iter().any(|word| line.contains(word)));
    let shown = shown.filter(|line| !line.contains("//"));
    expected.assert_eq(&shown.map(|line| format!("{}\n", line.trim())).collect::<String>());
}

#[test]
fn a_stage_expects_the_bytes_of_its_boxes() {
    check_stage(
        &ring(64, BOTH),
        expect![[r#"
            map of a: [64, n] : [256] B box [64, 16] swizzle none
            map of b: [64, n] : [256] B box [64, 16] swizzle none
            expect 8192 bytes at pipe full[s]
            tma.load sa[s * 1024] <- a{0, i * 16} signals pipe full[s]
            tma.load sb[s * 1024] <- b{0, i * 16} signals pipe full[s]
            fence proxy
            arrive pipe empty[pipe_back] by each warp
        "#]],
    );
    check_stage(
        &ring(65, BOTH),
        expect![[r#"
            map of a: [64, n] : [256] B box [64, 16] swizzle none
            expect 4096 bytes at pipe full[s]
            tma.load sa[s * 1024] <- a{0, i * 16} signals pipe full[s]
            cp.async.ca.4 sb[col + i * 64 + s * 1024] <- b[col + i * 1040 + i * 65]
            arrive pipe full[s] by copies of each thread
            fence proxy
            arrive pipe empty[pipe_back] by each warp
        "#]],
    );
    let halves = "        #[unroll]
        for h in 0..2 {
            copy_async(tile(a, [8, B])[.., .., 2 * i + h, 0], sa[8 * h..8 * h + 8, .., s], signal: pipe);
        }
        copy_async(gb[.., .., i], sb[.., .., s], signal: pipe);
";
    check_stage(
        &ring(64, halves),
        expect![[r#"
            map of a: [64, n] : [256] B box [64, 8] swizzle none
            map of b: [64, n] : [256] B box [64, 16] swizzle none
            expect 8192 bytes at pipe full[s]
            tma.load sa[h * 512 + s * 1024] <- a{0, h * 8 + i * 16} signals pipe full[s]
            tma.load sb[s * 1024] <- b{0, i * 16} signals pipe full[s]
            fence proxy
            arrive pipe empty[pipe_back] by each warp
        "#]],
    );
}

/// Rows of 132 bytes have no boxes, but eight of them are a run. A tile of twelve may pass the end of a tensor of 16 rows.
#[test]
fn a_stage_expects_the_bytes_of_its_runs() {
    let rows = |height: u32| {
        format!(
            "kernel rows(x: f32[n, 33], y: mut f32[n, 33]) grid [1] threads 64 {{
    let (s, pipe) = (shared_tensor(f32, [{height}, 33, 2]), pipeline(2));
    for i in 0..cdiv(n, {height}) {{
        let k = pipe.acquire();
        copy_async(tile(x, [{height}, 33])[.., .., i, 0], s[.., .., k], signal: pipe);
        let k = pipe.wait();
        copy(load(s[.., .., k]), tile(y, [{height}, 33])[.., .., i, 0]);
        pipe.release();
    }}
}}
"
        )
    };
    check_stage(
        &rows(8),
        expect![[r#"
            expect 1056 bytes at pipe full[k]
            bulk.load s[k * 264] <- x[i * 264]+264 signals pipe full[k]
            fence proxy
            arrive pipe empty[pipe_back] by each warp
        "#]],
    );
    check_stage(
        &rows(12),
        expect![[r#"
        cp.async.ca.4 s[col + i * 68 + k * 34] <- x[col + i * 396 + i * 33] if col < 33 inside i * 12 + i < n && col < 33
        arrive pipe full[k] by copies of each thread
        arrive pipe empty[pipe_back] by each warp
    "#]],
    );
}

#[test]
fn copies_that_differ_between_the_ways_through_a_stage_are_refused() {
    let one = "        if i > 0 {
            copy_async(ga[.., .., i], sa[.., .., s], signal: pipe);
        }
        copy_async(gb[.., .., i], sb[.., .., s], signal: pipe);
";
    check(
        &ring(64, one),
        Target::usual(),
        expect![[r#"
            HX0408 `copy_async(ga[.., .., i], sa[.., .., s], signal: pipe)` a copy that signals `pipe` stands under a condition, so the bytes of a stage are not constant
              `pipe.acquire()`: the stage is acquired here
              help: copy always, and let bounds make the tile empty; or acquire the stage there as well
        "#]],
    );
    let many = "        for h in 0..n {
            copy_async(ga[.., .., i], sa[.., .., s], signal: pipe);
        }
        copy_async(gb[.., .., i], sb[.., .., s], signal: pipe);
";
    check(
        &ring(64, many),
        Target::usual(),
        expect![[r#"
            HX0106 `h` nothing uses `h`
              fix: rename it to `_h`
            HX0408 `copy_async(ga[.., .., i], sa[.., .., s], signal: pipe)` a copy that signals `pipe` stands in a loop whose number of rounds a launch decides, so the bytes of a stage are not constant
              `pipe.acquire()`: the stage is acquired here
              help: copy always, and let bounds make the tile empty; or acquire the stage there as well
        "#]],
    );
}

/// Threads write the tensor that the stages come from, so no box is read from it.
#[test]
fn a_tensor_that_the_kernel_writes_is_copied_by_threads() {
    let text = ring(64, BOTH).replace("b: f32", "b: mut f32").replace("tile(y,", "tile(b,");
    check_stage(
        &text,
        expect![[r#"
            map of a: [64, n] : [256] B box [64, 16] swizzle none
            expect 4096 bytes at pipe full[s]
            tma.load sa[s * 1024] <- a{0, i * 16} signals pipe full[s]
            cp.async.cg.16 sb[col + i * 256 + row * 64 + s * 1024] <- b[col + i * 1024 + i * 256 + row * 64]
            arrive pipe full[s] by copies of each thread
            fence proxy
            arrive pipe empty[pipe_back] by each warp
        "#]],
    );
}

/// Returns a kernel that stores tiles of `y`, whose rows have `columns` numbers.
fn stored(columns: &str) -> String {
    format!(
        "kernel stored(x: f16[m, {columns}], y: mut f16[m, {columns}])
    grid [cdiv(m, 64)]
    threads 128
{{
    let s = shared_tensor(f16, [64, 32]);
    copy(load(tile(x, [64, 32])[.., .., block_idx, 0]), s);
    sync();
    copy_async(s, tile(y, [64, 32])[.., .., block_idx, 0]);
}}
"
    )
}

#[test]
fn a_store_needs_a_newer_target_and_rows_of_16_bytes() {
    check(&stored("n"), Target::usual(), expect![[r#""#]]);
    check(
        &stored("n"),
        Target::builtin("sm_80"),
        expect![[r#"
        HX0504 `copy_async(s, tile(y, [64, 32])[.., .., block_idx, 0])` found `copy_async` to global memory, which `sm_80` does not have
          help: `--target sm_90a` has asynchronous stores from shared memory; older targets do not
    "#]],
    );
    check(
        &stored("36"),
        Target::usual(),
        expect![[r#"
            HX0302 `copy_async(s, tile(y, [64, 32])[.., .., block_idx, 0])` `tma.store` does not store `s` in boxes
              `copy_async(s, tile(y, [64, 32])[.., .., block_idx, 0])`: `copy_async`
              help: stride `36` of `y` is 72 B, no multiple of 16 B
              help: `copy` goes through registers and takes any tile
        "#]],
    );
}
