//! `hx layout why --not`: questions about alternatives, as users of CUTLASS ask them, each answered within one screen.

use expect_test::{Expect, expect};

use crate::check;

pub(crate) const GEMM: &str = include_str!("../../../../std/gemm.hx");
const GEMM_SPLIT: &str = include_str!("../../../../std/gemm_split.hx");
const MATMUL: &str = include_str!("../../../../std/matmul.hx");

/// The most lines of an answer.
const SCREEN: usize = 50;

/// Asks a question about a file, and checks that the answer fits a screen.
pub(crate) fn ask(file: (&str, &str), args: &[&str], want: Expect) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(file.0), file.1).expect("writable");
    let output = crate::hx(folder.path(), &[&["layout", "why", file.0], args].concat());
    let lines = String::from_utf8_lossy(&output.stdout).lines().count();
    assert!(lines <= SCREEN, "{lines} lines");
    check(&[file], &[&["layout", "why", file.0], args].concat(), want);
}

/// A product of Hopper in its usual form, with operands of this type and B of these modes.
fn product(dtype: &str, sizes: &str, b: &str) -> String {
    let (b_param, b_tile, b_shared, b_view) = match b {
        "transposed" => ("k, n", "[BK, BN])[.., .., .., bn]", "[BK, BN, STAGES]", ".T"),
        _ => ("n, k", "[BN, BK])[.., .., bn, ..]", "[BN, BK, STAGES]", ""),
    };
    format!(
        "\
kernel product<{sizes}, STAGES = 4>(a: {dtype}[m, k], b: {dtype}[{b_param}], c: mut f16[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
{{
    let [bm, bn] = block_idx;
    let ga = tile(a, [BM, BK])[.., .., bm, ..];
    let gb = tile(b, {b_tile};
    let sa = shared_tensor({dtype}, [BM, BK, STAGES]);
    let sb = shared_tensor({dtype}, {b_shared});
    let pipe = pipeline(STAGES);
    warp_groups {{
        producer {{
            for ki in 0..cdiv(k, BK) {{
                let s = pipe.acquire();
                copy_async(ga[.., .., ki], sa[.., .., s], signal: pipe);
                copy_async(gb[.., .., ki], sb[.., .., s], signal: pipe);
            }}
        }}
        consumer 2 {{
            let acc = register_tensor(f32, [BM, BN]);
            fill(acc, 0.0);
            for _ in 0..cdiv(k, BK) {{
                let s = pipe.wait();
                gemm_async(acc, sa[.., .., s], sb[.., .., s]{b_view});
                gemm_wait(1);
                pipe.release_previous();
            }}
            gemm_wait(0);
            pipe.release();
            copy(cast(acc, f16), tile(c, [BM, BN])[.., .., bm, bn]);
        }}
    }}
}}
"
    )
}

/// Each rule that keeps the instruction of a group of warps from a product is named with its numbers.
#[test]
fn a_rule_keeps_an_instruction_from_a_product() {
    let of = |dtype: &str, sizes: &str, b: &str, want: Expect| {
        ask(("k.hx", &product(dtype, sizes, b)), &["product", "acc", "--not", "wgmma"], want);
    };
    of(
        "f16",
        "BM = 96, BN = 128, BK = 64",
        "",
        expect![[r#"
        exit 0
        #7 gemm_async(acc, sa_tile, sb_tile): mma.m16n8k16.f32.f16, 2×4 across the role, 3×4×4 each  at k.hx:23:17
          not `wgmma.m64n128k16.f32.f16`: `BM = 96` is no multiple of 64
        --
    "#]],
    );
    of(
        "f16",
        "BM = 128, BN = 100, BK = 64",
        "",
        expect![[r#"
        exit 0
        #7 gemm_async(acc, sa_tile, sb_tile): mma.m16n8k16.f32.f16, 4×2 across the role, 2×7×4 each  at k.hx:23:17
          not `wgmma.m64n8k16.f32.f16`: `BN = 100` is no multiple of 8
        --
    "#]],
    );
    of(
        "f16",
        "BM = 128, BN = 128, BK = 8",
        "",
        expect![[r#"
        exit 0
        #7 gemm_async(acc, sa_tile, sb_tile): mma.m16n8k8.f32.f16, 2×4 across the role, 4×4×1 each  at k.hx:23:17
          not `wgmma.m64n128k16.f32.f16`: `BK = 8` is no multiple of 16
        --
    "#]],
    );
    of(
        "f32",
        "BM = 128, BN = 128, BK = 32",
        "",
        expect![[r#"
        exit 0
        #7 gemm_async(acc, sa_tile, sb_tile): fma.f32, 16×16 across the role, 8×8×32 each  at k.hx:23:17
          not `wgmma.m64n128k16.f32.f16`: f32 operands, and it takes f16, bf16, tf32, f8e4m3 or f8e5m2 into f32
        --
    "#]],
    );
    of(
        "f8e4m3",
        "BM = 128, BN = 128, BK = 64",
        "transposed",
        expect![[r#"
        exit 0
        #7 gemm_async(acc, sa_tile, sb_tile): mma.m16n8k32.f32.f8e4m3, 2×4 across the role, 4×4×2 each  at k.hx:23:17
          not `wgmma.m64n128k32.f32.f8e4m3`: f8e4m3 `sb` is contiguous along N, and it reads f8e4m3 along K
            it is filled by a copy of 4 neighbours or more: #2 copy_async(b[ki * 64 + 0..64, block_idx.y * 128 + 0..128], sb[0..64, 0..128, s], signal: pipe): tma.load in boxes of 128×64  at k.hx:15:17
        --
    "#]],
    );
    of(
        "f16",
        "BM = 128, BN = 128, BK = 64",
        "transposed",
        expect![[r#"
        exit 0
        #7 gemm_async(acc, sa[0..128, 0..64, s], sb[0..64, 0..128, s] permuted [1, 0]): wgmma.m64n128k16.f32.f16, 2×1 across the role, 1×1×4 each  at k.hx:23:17
          it uses `wgmma.m64n128k16.f32.f16`: lowest estimated cost of the arrangements that fit: 2 along M, 1 along N; n = 128: fewest shared bytes (6144 B for 64×128 results)
        --
    "#]],
    );
}

#[test]
fn another_instruction_of_a_product_costs_more() {
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "acc", "--not", "mma"],
        expect![[r#"
            exit 0
            #7 gemm_async(acc, sa[0..128, 0..64, s], sb[0..256, 0..64, s]): wgmma.m64n256k16.f32.bf16, 2×1 across the role, 1×1×4 each  at gemm.hx:42:9
              `mma` fits and costs more: 773030 cycles of a block instead of 286974 (× 2.69)
                cycles that differ: tensor cores 262144 → 393871, shared memory 172032 → 270336, issue slots 6800 → 86672
                #6 copy(sb[0..256, 0..64, s], sb_tile): ldmatrix.x4, 16 B an access, no bank conflicts: 171264 cycles, besides
                #5 copy(sa[0..128, 0..64, s], sa_tile): ldmatrix.x4, 16 B an access, no bank conflicts: 163840 cycles, besides
                #7 gemm_async(acc, sa_tile, sb_tile): mma.m16n8k16.f32.bf16, 2×4 across the role, 4×8×4 each: 262144 → 400015 cycles
                registers of a thread about 152 → 280 of 232
            --
        "#]],
    );
    ask(
        ("matmul.hx", MATMUL),
        &["matmul", "rc", "--not", "wgmma"],
        expect![[r#"
            exit 0
            #9 gemm(rc, ra[0..64, 0..16], rb[0..64, 0..16]): wgmma.m64n64k16.f32.f16, 1×1 across the block, 1×1×1 each  at matmul.hx:18:9
              it uses `wgmma.m64n64k16.f32.f16`: lowest estimated cost of the arrangements that fit: 1 along M, 1 along N; n = 64: fewest shared bytes (4096 B for 64×64 results)
            --
        "#]],
    );
    ask(
        ("matmul.hx", MATMUL),
        &["matmul", "--not", "mma.sync", "--target", "sm_80"],
        expect![[r#"
            exit 0
            #9 gemm(rc, ra_tile, rb_tile): mma.m16n8k16.f32.f16, 2×2 across the block, 2×4×1 each  at matmul.hx:18:9
              it uses `mma.m16n8k16.f32.f16`: lowest estimated cost of the arrangements that fit: 2 along M, 2 along N
            --
        "#]],
    );
    ask(
        ("matmul.hx", MATMUL),
        &["matmul", "--not", "wgmma", "--target", "sm_80"],
        expect![[r#"
        exit 0
        sm_80 has no `wgmma`; `sm_90a` has it
        --
    "#]],
    );
}

#[test]
fn stages_take_shared_memory() {
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "--not", "stages"],
        expect![[r#"
            exit 0
            `pipe` has 4 stages, `STAGES`: the launch decides, not the compiler
              STAGES = 4, this one: 286974 cycles of a block, 229440 of 232448 B of shared memory, about 152 of 232 registers
              STAGES = 3: 286974 cycles of a block, 180272 of 232448 B of shared memory, about 152 of 232 registers
              STAGES = 5: no: the block needs 278608 B of shared memory, and sm_90a has 232448 B
              the cycles of a block are those of full pipelines: `--dim` of `m`, `k`, `n` shows the delays that more stages cover
            --
        "#]],
    );
    let dims = ["--dim", "m=4096", "--dim", "n=4096", "--dim", "k=4096"];
    ask(
        ("gemm.hx", GEMM),
        &[&["gemm", "--not", "2 stages"], dims.as_slice()].concat(),
        expect![[r#"
            exit 0
            `pipe` has 4 stages, `STAGES`: the launch decides, not the compiler
              STAGES = 4, this one: 340267 cycles of the launch, 171.9 µs, bound by threads and waits, 229440 of 232448 B of shared memory, about 152 of 232 registers
              STAGES = 2: 514817 cycles of the launch, 260.0 µs, bound by threads and waits, 131104 of 232448 B of shared memory, about 152 of 232 registers
            --
        "#]],
    );
    ask(
        ("matmul.hx", MATMUL),
        &["matmul", "--not", "stages"],
        expect![[r#"
        exit 0
        `matmul` has no pipeline, so nothing has stages: `pipeline(N)` and `copy_async(…, signal: …)` make one
        --
    "#]],
    );
}

#[test]
fn boxes_follow_from_the_swizzle() {
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "sa", "--not", "box"],
        expect![[r#"
            exit 0
            #1 copy_async(a[bm * 128 + 0..128, ki * 64 + 0..64], sa[0..128, 0..64, s], signal: pipe): tma.load in boxes of 64×128  at gemm.hx:22:9
              1 box of 64×128: asks for `128B swizzle ∘ (128,64,4):(64,1,D)`; whole boxes by one thread
              2 boxes of 32×128 under the 64 B swizzle fits and costs the same, 286974 cycles of a block; of equal swizzles, the widest is kept
              4 boxes of 16×128 under the 32 B swizzle fits and costs the same, 286974 cycles of a block; of equal swizzles, the widest is kept
              8 boxes of 8×128 under no swizzle fits and costs the same, 286974 cycles of a block; of equal swizzles, the widest is kept
            --
        "#]],
    );
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "sa", "--not", "box 64x64"],
        expect![[r#"
            exit 0
            #1 copy_async(a[bm * 128 + 0..128, ki * 64 + 0..64], sa[0..128, 0..64, s], signal: pipe): tma.load in boxes of 64×128  at gemm.hx:22:9
              1 box of 64×128: asks for `128B swizzle ∘ (128,64,4):(64,1,D)`; whole boxes by one thread
              not `64×64`: a box has rows of 8, 16, 32, 64 elements of 16 bits, as wide as its swizzle, or whole rows without one; along other dimensions it is as long as the tile, up to 256
                boxes of 64×64 would be 2 copies of the same bytes instead of 1
            --
        "#]],
    );
    let plain = product("f16", "BM = 128, BN = 128, BK = 64", "");
    ask(
        ("k.hx", &plain),
        &["product", "c", "--not", "box"],
        expect![[r#"
            exit 0
            #13 copy(acc_f16_moved, c[block_idx.x * 128 + 0..128, block_idx.y * 128 + 0..128]): st.global.v4.b32, 16 B an access  at k.hx:29:13
              not boxes: the statement stores registers; only `copy_async` from a shared tensor goes without them
            --
        "#]],
    );
}

#[test]
fn swizzles_are_compared() {
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "sa", "--not", "swizzle"],
        expect![[r#"
            exit 0
            sa: shared bf16[128, 64, 4] = swizzle<3, 3, 3> ∘ (128,64,4):(64,1,8192), 65536 B at 0
              128 B swizzle: `tma.load` of `a` and `wgmma.m64n256k16.f32.bf16` of `acc` agree on `(128,64,4):(64,1,8192)` (#1, #7)
              the 64 B swizzle fits and costs the same, 286974 cycles of a block; of equal swizzles, the widest is kept
              the 32 B swizzle fits and costs the same, 286974 cycles of a block; of equal swizzles, the widest is kept
              no swizzle fits and costs the same, 286974 cycles of a block; of equal swizzles, the widest is kept
            --
        "#]],
    );
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "slots", "--not", "SW64"],
        expect![[r#"
            exit 0
            slots: shared bf16[128, 64, 2] = swizzle<3, 3, 3> ∘ (128,64,2):(64,1,8192), 32768 B at 196608
              128 B swizzle: `stmatrix.x4` of `acc_part_bf16`, `tma.store` of `c`, `stmatrix.x4` of `acc_part_1_bf16`, `stmatrix.x4` of `acc_part_2_bf16` and `stmatrix.x4` of `acc_part_3_bf16` agree on `(128,64,2):(64,1,8192)` (#16, #18, #23, #25, #30, #32, #37, #39)
              the 64 B swizzle fits and costs more: 290350 cycles of a block instead of 286974 (× 1.01)
            --
        "#]],
    );
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "sb", "--not", "swizzle<3, 3, 3>"],
        expect![[r#"
        exit 0
        sb: shared bf16[256, 64, 4] = swizzle<3, 3, 3> ∘ (256,64,4):(64,1,16384), 131072 B at 65536
          128 B swizzle: `tma.load` of `b` and `wgmma.m64n256k16.f32.bf16` of `acc` agree on `(256,64,4):(64,1,16384)` (#2, #7)
          it has the 128 B swizzle
        --
    "#]],
    );
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "acc", "--not", "no swizzle"],
        expect![[r#"
        exit 2
        --
        error: `acc` is not in shared memory, and only `sa`, `sb`, `slots` have a swizzle

        For more information, try '--help'.
    "#]],
    );
}

#[test]
fn arrangements_of_warps_are_compared() {
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "acc", "--not", "warps"],
        expect![[r#"
            exit 0
            #7 gemm_async(acc, sa[0..128, 0..64, s], sb[0..256, 0..64, s]): wgmma.m64n256k16.f32.bf16, 2×1 across the role, 1×1×4 each  at gemm.hx:42:9
              `warps: [8, 1]` of 8 in the role: lowest estimated cost of the arrangements that fit: 2 along M, 1 along N; n = 256: fewest shared bytes (10240 B for 64×256 results)
              `warps: [1, 8]` fits and costs more: 855974 cycles of a block instead of 286974 (× 2.98), mma.m16n8k16.f32.bf16
              `warps: [2, 4]` fits and costs more: 773030 cycles of a block instead of 286974 (× 2.69), mma.m16n8k16.f32.bf16
              `warps: [4, 2]` fits and costs more: 292558 cycles of a block instead of 286974 (× 1.02), wgmma.m64n32k16.f32.bf16
            --
        "#]],
    );
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "acc", "--not", "warps [3, 2]"],
        expect![[r#"
            exit 0
            #7 gemm_async(acc, sa[0..128, 0..64, s], sb[0..256, 0..64, s]): wgmma.m64n256k16.f32.bf16, 2×1 across the role, 1×1×4 each  at gemm.hx:42:9
              `warps: [8, 1]` of 8 in the role: lowest estimated cost of the arrangements that fit: 2 along M, 1 along N; n = 256: fewest shared bytes (10240 B for 64×256 results)
              not `warps: [3, 2]`: `warps: [3, 2]` are 6 warps, which do not divide the role's 8
            --
        "#]],
    );
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "acc", "--not", "4x2"],
        expect![[r#"
            exit 0
            #7 gemm_async(acc, sa[0..128, 0..64, s], sb[0..256, 0..64, s]): wgmma.m64n256k16.f32.bf16, 2×1 across the role, 1×1×4 each  at gemm.hx:42:9
              `warps: [8, 1]` of 8 in the role: lowest estimated cost of the arrangements that fit: 2 along M, 1 along N; n = 256: fewest shared bytes (10240 B for 64×256 results)
              `warps: [4, 2]` fits and costs more: 292558 cycles of a block instead of 286974 (× 1.02)
                cycles that differ: shared memory 172032 → 204800, issue slots 6800 → 25232
                #5 copy(sa[0..128, 0..64, s], sa_tile): ldmatrix.x4, 16 B an access, no bank conflicts: 89344 cycles, besides
                registers of a thread about 152 → 184 of 232
            --
        "#]],
    );
}

#[test]
fn a_split_is_a_decision_of_the_text() {
    ask(
        ("gemm_split.hx", GEMM_SPLIT),
        &["gemm_split", "--not", "split"],
        expect![[r#"
            exit 0
            `SPLIT = 2` splits the work: the launch decides, not the compiler
              SPLIT = 2, this one: 211407 cycles of a block, 229480 of 232448 B of shared memory, about 88 of 232 registers
              SPLIT = 1: 154115 cycles of a block, 229472 of 232448 B of shared memory, about 88 of 232 registers
              SPLIT = 4: 221903 cycles of a block, 229496 of 232448 B of shared memory, about 88 of 232 registers
              the grids differ, so blocks do different work: `--dim` of `m`, `k`, `n` compares launches
            --
        "#]],
    );
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "--not", "split", "--dim", "m=256", "--dim", "n=512"],
        expect![[r#"
        exit 0
        nothing of `gemm` splits a sum over blocks: the compiler never does, because the order of a sum changes its result
          a split pays if blocks are few: this launch has 4 for 132 multiprocessors
          the text may split it: a grid axis over parts of K, and `atomic_add` or `cluster_sum`, as `std::gemm_split` and `std::gemm_splitk` do
        --
    "#]],
    );
}

#[test]
fn copies_say_why_they_are_not_other_instructions() {
    let plain = product("f16", "BM = 128, BN = 128, BK = 64", "");
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "sa", "--not", "ldmatrix"],
        expect![[r#"
            exit 0
            #7 gemm_async(acc, sa[0..128, 0..64, s], sb[0..256, 0..64, s]): wgmma.m64n256k16.f32.bf16, 2×1 across the role, 1×1×4 each  at gemm.hx:42:9
              not `ldmatrix`: the product reads the operand from shared memory itself, so nothing loads it
            --
        "#]],
    );
    let m96 = product("f16", "BM = 96, BN = 128, BK = 64", "");
    ask(
        ("k.hx", &m96),
        &["product", "sa", "--not", "ldmatrix.x2"],
        expect![[r#"
            exit 0
            #5 copy(sa[0..96, 0..64, s], sa_tile): ldmatrix.x4, 16 B an access, no bank conflicts  at k.hx:23:33
              `ldmatrix.x2` fits and costs more: 28293 cycles of a block instead of 26757 (× 1.06)
                cycles that differ: issue slots 2292 → 2676
                #5 copy(sa[0..96, 0..64, s], sa_tile): ldmatrix.x2, 16 B an access, no bank conflicts: 7680 → 9216 cycles
            --
        "#]],
    );
    ask(
        ("k.hx", &plain),
        &["product", "b", "--not", "cp.async"],
        expect![[r#"
            exit 0
            #2 copy_async(b[block_idx.y * 128 + 0..128, ki * 64 + 0..64], sb[0..128, 0..64, s], signal: pipe): tma.load in boxes of 64×128  at k.hx:15:17
              `cp.async` fits and costs more: 13386 cycles of a block instead of 12331 (× 1.09)
                cycles that differ: shared memory 6656 → 8704, L2 cache 9494 → 10550, issue slots 280 → 404
                #2 copy_async(b[block_idx.y * 128 + 0..128, ki * 64 + 0..64], sb[0..128, 0..64, s], signal: pipe): cp.async.cg.16, 16 B an access, no bank conflicts: 4406 → 5461 cycles
            --
        "#]],
    );
    ask(
        ("k.hx", &plain),
        &["product", "b", "--not", "TMA", "--set", "BK=100"],
        expect![[r#"
        exit 0
        #2 copy_async(b[block_idx.y * 128 + 0..128, ki * 100 + 0..100], sb[0..128, 0..100, s], signal: pipe): cp.async.ca.8, 8 B an access, no bank conflicts  at k.hx:15:17
          not `tma.load`: the rows of the tile begin at `ki * 100` in `b`, which is known to be a multiple of 200 B only, not of 16 B
        --
    "#]],
    );
    ask(
        ("k.hx", &plain),
        &["product", "c", "--not", "tma.store"],
        expect![[r#"
            exit 0
            #13 copy(acc_f16_moved, c[block_idx.x * 128 + 0..128, block_idx.y * 128 + 0..128]): st.global.v4.b32, 16 B an access  at k.hx:29:13
              not `tma.store`: the statement stores registers; only `copy_async` from a shared tensor goes without them
            --
        "#]],
    );
    let rows = "\
kernel rows(x: f16[m, n], y: mut f16[m, n]) grid [m] threads 32 {
    let s = shared_tensor(f16, [1, 256]);
    copy_async(tile(x, [1, 256])[.., .., block_idx, 0], s);
    wait(0);
    sync();
    copy(s, tile(y, [1, 256])[.., .., block_idx, 0]);
}
";
    ask(
        ("k.hx", rows),
        &["rows", "s", "--not", "tma.load"],
        expect![[r#"
        exit 0
        #0 copy_async(x[block_idx.x + 0..1, 0..256], s[0..1, 0..256]): cp.async.cg.16, 16 B an access, no bank conflicts  at k.hx:3:5
          not `tma.load`: this copy joins a group, and bulk copies signal a pipeline: `copy_async(…, signal: pipe)` in a stage of a `pipeline`
        --
    "#]],
    );
}

/// An unknown word lists the kinds of questions, with examples of the kernel.
#[test]
fn unknown_words_list_what_can_be_asked() {
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "--not", "wgma"],
        expect![[r#"
            exit 2
            --
            error: `wgma` names nothing that a solution decides; perhaps `wgmma` is meant; questions are about
              an instruction     --not wgmma  --not mma  --not tma.load  --not ldmatrix  --not stmatrix
              an access width    --not 16B
              a swizzle          --not swizzle  --not "64B swizzle"
              a box              --not box
              warps              --not warps  --not "warps [4, 2]"
              a stage count      --not stages  --not "5 stages"
              a split of K       --not split
              a parameter        --not BK=128  --not BM=256
              a candidate        --not 1
              a layout           sa --not "(128,64,4):(64,1,8192)"

            For more information, try '--help'.
        "#]],
    );
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "sc", "--not", "wgmma"],
        expect![[r#"
        exit 2
        --
        error: `gemm` has no tensor `sc`; perhaps `sa` is meant

        For more information, try '--help'.
    "#]],
    );
    let add = "\
kernel add(x: f16[n], y: mut f16[n]) grid [cdiv(n, 2048)] threads 128 {
    let t = load(tile(x, [2048])[.., block_idx]);
    copy(t + t, tile(y, [2048])[.., block_idx]);
}
";
    ask(
        ("k.hx", add),
        &["add", "--not", "bank conflicts"],
        expect![[r#"
        exit 2
        --
        error: `bank conflicts` names nothing that a solution decides; questions are about
          an instruction     --not ld.global.v2.b32
          an access width    --not 16B
          a candidate        --not 1
          a layout           t --not "(128,(8,2)):(8,(1,1024))"

        For more information, try '--help'.
    "#]],
    );
    ask(
        ("k.hx", add),
        &["add", "--not", "mma"],
        expect![[r#"
        exit 0
        `mma` multiplies matrices, and `add` has no `gemm`
        --
    "#]],
    );
    ask(
        ("k.hx", add),
        &["add", "t", "--not", "ldmatrix"],
        expect![[r#"
        exit 0
        `ldmatrix` moves shared to register memory, and no operation of `t` does
        --
    "#]],
    );
    ask(
        ("k.hx", add),
        &["add", "--not", "swizzle"],
        expect![[r#"
        exit 2
        --
        error: `add` has no shared tensor, and only those have a swizzle

        For more information, try '--help'.
    "#]],
    );
    ask(
        ("k.hx", add),
        &["add", "--not", "stages"],
        expect![[r#"
        exit 0
        `add` has no pipeline, so nothing has stages: `pipeline(N)` and `copy_async(…, signal: …)` make one
        --
    "#]],
    );
}
