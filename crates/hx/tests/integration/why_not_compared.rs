//! `hx layout why --not`: widths, candidates, layouts and arguments, compared with those of the solution.

use expect_test::expect;

use crate::why_not::{GEMM, ask};

/// Loads of the fragments of a product, as in a kernel of Triton.
const FRAGMENTS: &str = "\
kernel mm<BM = 64, BN = 64, BK = 64>(a: f16[m, k], b: f16[k, n], c: mut f16[m, n]) grid [cdiv(m, BM), cdiv(n, BN)] threads 128 {
    let [bm, bn] = block_idx;
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for i in 0..cdiv(k, BK) {
        gemm(acc, load(tile(a, [BM, BK])[.., .., bm, i]), load(tile(b, [BK, BN])[.., .., i, bn]).T);
    }
    copy(cast(acc, f16), tile(c, [BM, BN])[.., .., bm, bn]);
}
";

#[test]
fn widths_are_compared() {
    ask(
        ("k.hx", FRAGMENTS),
        &["mm", "b", "--not", "16B"],
        expect![[r#"
            exit 0
            #3 copy_async(b[i * 64 + 0..64, block_idx.y * 64 + 0..64], b_tile[0..64, 0..64]): cp.async.cg.16, 16 B an access, no bank conflicts  at k.hx:6:59
              it moves 16 B at once: asks for `(64,(8,8)):(D,(1,D))`; the widest access
            --
        "#]],
    );
    ask(
        ("k.hx", FRAGMENTS),
        &["mm", "c", "--not", "128-bit"],
        expect![[r#"
            exit 0
            #11 copy(acc_f16_moved, c[block_idx.x * 64 + 0..64, block_idx.y * 64 + 0..64]): st.global.v4.b32, 16 B an access  at k.hx:8:5
              it moves 16 B at once: the widest access
            --
        "#]],
    );
    ask(
        ("k.hx", FRAGMENTS),
        &["mm", "c", "--not", "32B"],
        expect![[r#"
            exit 0
            an access of sm_90a moves 1, 2, 4, 8, 16 B, not 32; `32B swizzle` asks about the swizzle
            --
        "#]],
    );
    ask(
        ("k.hx", FRAGMENTS),
        &["mm", "--not", "wgmma"],
        expect![[r#"
            exit 0
            #9 gemm(acc, a_tile[0..64, 0..64], b_tile[0..64, 0..64] permuted [1, 0]): wgmma.m64n64k16.f32.f16, 1×1 across the block, 1×1×4 each  at k.hx:6:9
              it uses `wgmma.m64n64k16.f32.f16`: lowest estimated cost of the arrangements that fit: 1 along M, 1 along N; n = 64: fewest shared bytes (4096 B for 64×64 results)
            --
        "#]],
    );
    ask(
        ("k.hx", FRAGMENTS),
        &["mm", "a", "--not", "16B", "--dim", "k=1001"],
        expect![[r#"
        exit 0
        #1 copy(a[block_idx.x * 64 + 0..64, i * 64 + 0..64], a_tile): ld.global.b16, 2 B an access  at k.hx:6:19
          not 16 B: the stride `k` of `a` is not known to be even
        --
    "#]],
    );
}

#[test]
fn candidates_and_layouts_are_compared() {
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "--not", "1"],
        expect![[r#"
            exit 0
            candidate 0, chosen: #7 wgmma.m64n256k16.f32.bf16 2×1; 4 stmatrix.x4
            candidate 1: #7 wgmma.m64n128k16.f32.bf16 2×1; 4 stmatrix.x4
              candidate 1 fits and costs the same, 286974 cycles of a block; of equal solutions, the first found is kept
                cycles that differ: shared memory 172032 → 204800, issue slots 6800 → 8848
            --
        "#]],
    );
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "--not", "candidate 999"],
        expect![[r#"
        exit 0
        there is no candidate 999: the kernel has 8, counted from 0; `--candidates` lists them
        --
    "#]],
    );
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "sa", "--not", "(128,64,4):(64,1,8192)"],
        expect![[r#"
            exit 0
            sa: shared bf16[128, 64, 4] = swizzle<3, 3, 3> ∘ (128,64,4):(64,1,8192), 65536 B at 0
              128 B swizzle: `tma.load` of `a` and `wgmma.m64n256k16.f32.bf16` of `acc` agree on `(128,64,4):(64,1,8192)` (#1, #7)
              `(128,64,4):(64,1,8192)` fits and costs more: 426816 cycles of a block instead of 286974 (× 1.49)
                cycles that differ: shared memory 172032 → 401408
                #5 copy(sa[0..128, 0..64, s], sa_tile): ldmatrix.x4, 16 B an access, bank conflicts: 1024 wavefronts instead of 128: 277760 cycles, besides
                registers of a thread about 152 → 168 of 232
            --
        "#]],
    );
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "sa", "--not", "(128,64):(64,1)"],
        expect![[r#"
        exit 0
        sa: shared bf16[128, 64, 4] = swizzle<3, 3, 3> ∘ (128,64,4):(64,1,8192), 65536 B at 0
          128 B swizzle: `tma.load` of `a` and `wgmma.m64n256k16.f32.bf16` of `acc` agree on `(128,64,4):(64,1,8192)` (#1, #7)
          not `(128,64):(64,1)`: the layout `(128,64):(64,1)` pinned to `sa` of shape [128, 64, 4] does not fit: its modes have the extents [128, 64]
            pinned here
        --
    "#]],
    );
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "--not", "(128,64):(64,1)"],
        expect![[r#"
        exit 2
        --
        error: a layout is that of one tensor: name a register or shared tensor before `--not`

        For more information, try '--help'.
    "#]],
    );
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "--not", "BM=96"],
        expect![[r#"
            exit 0
            `BM` is a compile-time parameter: the launch decides, not the compiler; here it is 128
              BM = 128, this one: 286974 cycles of a block, 229440 of 232448 B of shared memory, about 152 of 232 registers
              BM = 96: 547714 cycles of a block, 204864 of 232448 B of shared memory, about 376 of 240 registers
              the grids differ, so blocks do different work: `--dim` of `m`, `k`, `n` compares launches
            --
        "#]],
    );
    ask(
        ("gemm.hx", GEMM),
        &["gemm", "--not", "BN=128", "--dim", "m=4096", "--dim", "n=4096", "--dim", "k=4096"],
        expect![[r#"
            exit 0
            `BN` is a compile-time parameter: the launch decides, not the compiler; here it is 256
              BN = 256, this one: 340267 cycles of the launch, 171.9 µs, bound by threads and waits, 229440 of 232448 B of shared memory, about 152 of 232 registers
              BN = 128: 374193 cycles of the launch, 189.0 µs, bound by threads and waits, 163904 of 232448 B of shared memory, about 88 of 232 registers
            --
        "#]],
    );
}
