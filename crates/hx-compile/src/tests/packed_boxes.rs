//! Copies of elements narrower than a byte by the copy unit: boxes of bytes, runs of whole blocks, and the reasons against both.

use expect_test::{Expect, expect};
use hx_hir::file_items;
use hx_target::Target;

use crate::{Emit, default_instance, emit, test_db::TestDb};

/// A kernel that brings tiles of a tensor through a pipeline, or stores tiles to it.
#[derive(Clone, Copy)]
struct Moved {
    /// The type of the elements.
    dtype: &'static str,
    /// The tensor's shape with its strides or its block.
    shape: &'static str,
    facts: &'static str,
    tile: [u32; 2],
    /// The indices of the part of the tensor that tiles are cut from.
    part: &'static str,
    stores: bool,
}

impl Default for Moved {
    fn default() -> Moved {
        let (shape, facts) = ("[m, n] : [l, 1]", "l % 32 == 0, n % 32 == 0");
        Moved { dtype: "u4", shape, facts, tile: [32, 64], part: "", stores: false }
    }
}

impl Moved {
    fn text(&self) -> String {
        let Moved { dtype, shape, facts, tile: [rows, columns], part, stores } = self;
        let (tile, tile_of_y) =
            (format!("tile(x{part}, [{rows}, {columns}])"), format!("tile(y, [{rows}, {columns}])"));
        let body = match stores {
            true => format!(
                "    copy(cast(load({tile_of_y}[.., .., i, j]), {dtype}), s[.., .., 0]);
    sync();
    copy_async(s[.., .., 0], {tile}[.., .., i, j]);
    wait_stores(0);
"
            ),
            false => format!(
                "    let pipe = pipeline(1);
    let k = pipe.acquire();
    copy_async({tile}[.., .., i, j], s[.., .., k], signal: pipe);
    let k = pipe.wait();
    copy(cast(load(s[.., .., k]), f32), {tile_of_y}[.., .., i, j]);
    pipe.release();
"
            ),
        };
        let [of_x, of_y] = if *stores { ["mut ", ""] } else { ["", "mut "] };
        format!(
            "kernel moved(x: {of_x}{dtype}{shape}, y: {of_y}f32[m, n])
    where {facts}
    grid [cdiv(m, {rows}), cdiv(n, {columns})]
    threads 128
{{
    let [i, j] = block_idx;
    let s = shared_tensor({dtype}, [{rows}, {columns}, 1]);
{body}}}
"
        )
    }
}

/// Compares, for each kernel, the map of its tensor, the copy, and the reason why the copy is made so.
fn check(all: &[Moved], expected: Expect) {
    let describe = |moved: &Moved| {
        let (db, file) = TestDb::with_file(&moved.text());
        let kernel = file_items(&db, file).kernels().next().expect("a kernel");
        let instance = default_instance(&db, kernel, Target::usual()).expect("an instance");
        let shown = |stage: Emit, words: &[&str]| {
            let text = match emit(&db, instance, stage) {
                Ok(text) => text,
                Err(stop) => return format!("  {stop:?}\n"),
            };
            let lines = text.lines().filter(|line| words.iter().any(|word| line.contains(word)));
            let lines = lines.filter(|line| !line.contains("//"));
            lines.map(|line| format!("  {}\n", line.trim())).collect::<String>()
        };
        let thread = shown(Emit::Thread, &["map of", "tma.", "bulk.", "cp.async"]);
        let reasons = shown(Emit::Layouts, &["not `tma", "not `bulk", "by one thread"]);
        let Moved { dtype, shape, part, .. } = moved;
        format!("{}\n{thread}{reasons}\n", format!("{dtype} x{shape} {part}").trim_end())
    };
    expected.assert_eq(&all.iter().map(describe).collect::<String>());
}

#[test]
fn rows_of_whole_bytes_move_in_boxes_of_bytes() {
    let usual = Moved::default();
    check(
        &[
            usual,
            Moved { dtype: "f4e2m1", tile: [16, 256], ..usual },
            // A row of 1024 elements is four rows of 128 bytes.
            Moved { dtype: "i4", tile: [8, 1024], ..usual },
            Moved { dtype: "u2", tile: [32, 256], facts: "l % 64 == 0, n % 64 == 0", ..usual },
            Moved { stores: true, ..usual },
            // Part of the rows, whose end the tensor does not have.
            Moved { part: "[0..min(m, 70), ..]", ..usual },
        ],
        expect![[r#"
            u4 x[m, n] : [l, 1]
              map of x: [n / 2, m] : [l / 2] B box [32, 32] swizzle 32B
              tma.load s[0] <- x{block_idx.y * 32, block_idx.x * 32} signals pipe full[0]
              asks for `32B swizzle ∘ (32,64,1):(64,1,D)`; whole boxes by one thread

            f4e2m1 x[m, n] : [l, 1]
              map of x: [n / 2, m] : [l / 2] B box [128, 16] swizzle 128B
              tma.load s[0] <- x{block_idx.y * 128, block_idx.x * 16} signals pipe full[0]
              asks for `128B swizzle ∘ (16,256,1):(256,1,D)`; whole boxes by one thread

            i4 x[m, n] : [l, 1]
              map of x: [n / 2, m] : [l / 2] B box [128, 8] swizzle 128B
              tma.load s[0] <- x{block_idx.y * 512, block_idx.x * 8} signals pipe full[0]
              tma.load s[2048] <- x{block_idx.y * 512 + 128, block_idx.x * 8} signals pipe full[0]
              tma.load s[4096] <- x{block_idx.y * 512 + 256, block_idx.x * 8} signals pipe full[0]
              tma.load s[6144] <- x{block_idx.y * 512 + 384, block_idx.x * 8} signals pipe full[0]
              asks for `128B swizzle ∘ (8,(256,4),1):(256,(1,D),D)`; whole boxes by one thread

            u2 x[m, n] : [l, 1]
              map of x: [n / 4, m] : [l / 4] B box [64, 32] swizzle 64B
              tma.load s[0] <- x{block_idx.y * 64, block_idx.x * 32} signals pipe full[0]
              asks for `64B swizzle ∘ (32,256,1):(256,1,D)`; whole boxes by one thread

            u4 x[m, n] : [l, 1]
              map of x: [n / 2, m] : [l / 2] B box [32, 32] swizzle 32B
              tma.store x{block_idx.y * 32, block_idx.x * 32} <- s[0]
              asks for `32B swizzle ∘ (32,64,1):(64,1,D)`; whole boxes by one thread

            u4 x[m, n] : [l, 1] [0..min(m, 70), ..]
              map of x: [n / 2, 1073741824, m * 4, 2147483648] : [l / 2, l / 2, -(l / 2) + 17179869184] B box [32, 32, 1, 1] swizzle 32B
              tma.load s[0] <- x{block_idx.y * 32, block_idx.x * 32 - min(70, m) + 1073741824, min(70, m), 1073741824} signals pipe full[0]
              asks for `32B swizzle ∘ (32,64,1):(64,1,D)`; whole boxes by one thread

        "#]],
    );
}

#[test]
fn rows_that_begin_or_end_elsewhere_say_why() {
    let usual = Moved::default();
    check(
        &[
            Moved { facts: "n % 32 == 0", ..usual },
            Moved { facts: "l % 32 == 0, n % 8 == 0", part: "[.., 8..]", ..usual },
            Moved { tile: [32, 16], ..usual },
        ],
        expect![[r#"
            u4 x[m, n] : [l, 1]
              cp.async.ca.8 s[col + row * 64] <- x[l * block_idx.x * 32 + l * row + block_idx.y * 64 + col] inside block_idx.x * 32 + row < m && block_idx.y * 64 + col < n
              not `tma.load`: stride `l` of `x` is known to be a multiple of 8 B only, not of 16 B; asks for `(32,(16,4),1):(D,(1,D),D)`; each thread holds 16 elements in a row

            u4 x[m, n] : [l, 1] [.., 8..]
              cp.async.ca.4 s[col + i * 1024 + row * 64] <- x[l * block_idx.x * 32 + l * i * 16 + l * row + block_idx.y * 64 + col + 8] inside block_idx.x * 32 + i * 16 + row < m && block_idx.y * 64 + col + 8 < n
              not `tma.load`: the rows of the tile begin at `block_idx.y * 64 + 8` in `x`, which is known to be a multiple of 4 B only, not of 16 B; asks for `(32,(8,8),1):(D,(1,D),D)`; each thread holds 8 elements in a row

            u4 x[m, n] : [l, 1]
              cp.async.ca.4 s[col + row * 16] <- x[l * block_idx.x * 32 + l * row + block_idx.y * 16 + col] if col < 16 inside block_idx.x * 32 + row < m && block_idx.y * 16 + col < n
              not `tma.load`: the rows of the tile begin at `block_idx.y * 16` in `x`, which is known to be a multiple of 8 B only, not of 16 B; asks for `(32,(8,2),1):(D,(1,D),D)`; `cp.async.ca.8` fits too and costs more; 64 of 128 threads copy

        "#]],
    );
}

#[test]
fn whole_blocks_are_runs() {
    let usual =
        Moved { shape: "[m, n] : (8, 32) : (32, 1)", facts: "m % 32 == 0, n % 64 == 0", ..Moved::default() };
    check(
        &[
            usual,
            Moved { shape: "[m, n] : ((4, 4), (2, 8)) : ((2, 64), (1, 8))", ..usual },
            Moved { dtype: "u8", shape: "[m, n] : ((2, 16), 64) : ((1, 128), 2)", ..usual },
            Moved { stores: true, ..usual },
            Moved { facts: "n % 64 == 0", ..usual },
            Moved { tile: [4, 64], ..usual },
            Moved { shape: "[m, n] : (2, 8) : (8, 1)", tile: [32, 64], ..usual },
            Moved { shape: "[m, n] : (4, 4) : (4, 1)", tile: [8, 64], ..usual },
        ],
        expect![[r#"
            u4 x[m, n] : (8, 32) : (32, 1)
              bulk.load s[0] <- x[n * block_idx.x * 32 + block_idx.y * 512]+256 signals pipe full[0]
              bulk.load s[512] <- x[n * 8 + n * block_idx.x * 32 + block_idx.y * 512]+256 signals pipe full[0]
              bulk.load s[1024] <- x[n * 16 + n * block_idx.x * 32 + block_idx.y * 512]+256 signals pipe full[0]
              bulk.load s[1536] <- x[n * 24 + n * block_idx.x * 32 + block_idx.y * 512]+256 signals pipe full[0]
              bulk.load s[256] <- x[n * block_idx.x * 32 + block_idx.y * 512 + 256]+256 signals pipe full[0]
              bulk.load s[768] <- x[n * 8 + n * block_idx.x * 32 + block_idx.y * 512 + 256]+256 signals pipe full[0]
              bulk.load s[1280] <- x[n * 16 + n * block_idx.x * 32 + block_idx.y * 512 + 256]+256 signals pipe full[0]
              bulk.load s[1792] <- x[n * 24 + n * block_idx.x * 32 + block_idx.y * 512 + 256]+256 signals pipe full[0]
              not `tma.load`: the elements of `x` lie in blocks, of which no box is made; asks for `((8,4),(32,2),1):((32,D),(1,D),D)`; 8 runs of 256 contiguous elements by one thread, without a tensor map

            u4 x[m, n] : ((4, 4), (2, 8)) : ((2, 64), (1, 8))
              bulk.load s[0] <- x[n * block_idx.x * 32 + block_idx.y * 1024]+256 signals pipe full[0]
              bulk.load s[1024] <- x[n * 16 + n * block_idx.x * 32 + block_idx.y * 1024]+256 signals pipe full[0]
              bulk.load s[256] <- x[n * block_idx.x * 32 + block_idx.y * 1024 + 256]+256 signals pipe full[0]
              bulk.load s[1280] <- x[n * 16 + n * block_idx.x * 32 + block_idx.y * 1024 + 256]+256 signals pipe full[0]
              bulk.load s[512] <- x[n * block_idx.x * 32 + block_idx.y * 1024 + 512]+256 signals pipe full[0]
              bulk.load s[1536] <- x[n * 16 + n * block_idx.x * 32 + block_idx.y * 1024 + 512]+256 signals pipe full[0]
              bulk.load s[768] <- x[n * block_idx.x * 32 + block_idx.y * 1024 + 768]+256 signals pipe full[0]
              bulk.load s[1792] <- x[n * 16 + n * block_idx.x * 32 + block_idx.y * 1024 + 768]+256 signals pipe full[0]
              not `tma.load`: the elements of `x` lie in blocks, of which no box is made; asks for `((4,4,2),(2,8,4),1):((2,64,D),(1,8,D),D)`; 8 runs of 256 contiguous elements by one thread, without a tensor map

            u8 x[m, n] : ((2, 16), 64) : ((1, 128), 2)
              bulk.load s[0] <- x[n * block_idx.x * 32 + block_idx.y * 2048]+2048 signals pipe full[0]
              not `tma.load`: the elements of `x` lie in blocks, of which no box is made; asks for `((2,16),64,1):((1,128),2,D)`; 1 run of 2048 contiguous elements by one thread, without a tensor map

            u4 x[m, n] : (8, 32) : (32, 1)
              bulk.store x[n * block_idx.x * 32 + block_idx.y * 512]+256 <- s[0]
              bulk.store x[n * 8 + n * block_idx.x * 32 + block_idx.y * 512]+256 <- s[512]
              bulk.store x[n * 16 + n * block_idx.x * 32 + block_idx.y * 512]+256 <- s[1024]
              bulk.store x[n * 24 + n * block_idx.x * 32 + block_idx.y * 512]+256 <- s[1536]
              bulk.store x[n * block_idx.x * 32 + block_idx.y * 512 + 256]+256 <- s[256]
              bulk.store x[n * 8 + n * block_idx.x * 32 + block_idx.y * 512 + 256]+256 <- s[768]
              bulk.store x[n * 16 + n * block_idx.x * 32 + block_idx.y * 512 + 256]+256 <- s[1280]
              bulk.store x[n * 24 + n * block_idx.x * 32 + block_idx.y * 512 + 256]+256 <- s[1792]
              not `tma.store`: the elements of `x` lie in blocks, of which no box is made; asks for `((8,4),(32,2),1):((32,D),(1,D),D)`; 8 runs of 256 contiguous elements by one thread, without a tensor map

            u4 x[m, n] : (8, 32) : (32, 1)
              cp.async.ca.8 s[col + row * 64] <- x[n * block_idx.x * 32 + n * (row / 8) * 8 + block_idx.y * 512 + (col / 32) * 256 + (col % 32) + (row % 8) * 32] inside block_idx.x * 32 + row < m
              not `tma.load`: the elements of `x` lie in blocks, of which no box is made; not `bulk.load`: the tile may pass the end `m` of dimension 0 of `x`; asks for `(32,(16,4),1):(D,(1,D),D)`; `cp.async.cg.16` fits too and costs more

            u4 x[m, n] : (8, 32) : (32, 1)
              cp.async.ca.8 s[col + row * 64] <- x[n * ((block_idx.x * 4 + row) / 8) * 8 + block_idx.y * 512 + (col / 32) * 256 + ((block_idx.x * 4 + row) % 8) * 32 + (col % 32)] if col < 64 inside block_idx.y * 64 + col < n
              not `tma.load`: the elements of `x` lie in blocks, of which no box is made; not `bulk.load`: a tile of 4 does not consist of whole blocks of 8 along dimension 0 of `x`; asks for `(4,(16,4),1):(D,(1,D),D)`; `cp.async.cg.16` fits too and costs more; 16 of 128 threads copy

            u4 x[m, n] : (2, 8) : (8, 1)
              cp.async.ca.8 s[(col / 8) * 16 + (row / 2) * 128] <- x[n * block_idx.x * 32 + n * row + block_idx.y * 128 + col * 2]
              not `tma.load`: the elements of `x` lie in blocks, of which no box is made; not `bulk.load`: the tile of `x` is made of 128 runs, more than 64; asks for `((2,16),(8,8),1):((8,D),(1,D),D)`; each thread holds 16 elements in a row

            u4 x[m, n] : (4, 4) : (4, 1)
              cp.async.ca.8 s[(col / 4) * 16 + (row / 4) * 256] <- x[n * block_idx.x * 8 + n * row + block_idx.y * 256 + col * 4] if col < 64 inside block_idx.y * 64 + col < n
              not `tma.load`: the elements of `x` lie in blocks, of which no box is made; not `bulk.load`: a run of `x` has 8 B, no multiple of 16 B; asks for `((4,2),(4,16),1):((4,D),(1,D),D)`; each thread holds 16 elements in a row; 32 of 128 threads copy

        "#]],
    );
}
