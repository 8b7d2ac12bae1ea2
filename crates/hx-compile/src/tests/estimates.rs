//! Estimates: which resource bounds the loop of a kernel with roles.

use expect_test::{Expect, expect};
use hx_hir::file_items;
use hx_target::Target;

use crate::{default_instance, estimate_as_text, test_db::TestDb};

fn check(text: &str, expected: Expect) {
    let (db, file) = TestDb::with_file(text);
    let kernel = file_items(&db, file).kernels().next().expect("a kernel");
    let instance = default_instance(&db, kernel, Target::usual()).expect("no open parameters");
    let found = super::super::solved(&db, instance).as_ref();
    assert!(found.is_ok(), "{found:?}");
    expected.assert_eq(&estimate_as_text(&db, instance).unwrap_or_default());
}

/// Returns a product of tiles of `m` by `n`, whose stages have 64 columns.
fn product(m: u32, n: u32, wait: &str) -> String {
    let groups = m / 64;
    format!(
        "kernel product(a: f16[m, k], b: f16[n, k], c: mut f32[m, n]) grid [cdiv(m, {m}), cdiv(n, {n})] {{
    let [bm, bn] = block_idx;
    let (sa, sb) = (shared_tensor(f16, [{m}, 64, 4]), shared_tensor(f16, [{n}, 64, 4]));
    let pipe = pipeline(4);
    warp_groups {{
        producer {{
            for ki in 0..k / 64 {{
                let s = pipe.acquire();
                copy_async(tile(a, [{m}, 64])[.., .., bm, ki], sa[.., .., s], signal: pipe);
                copy_async(tile(b, [{n}, 64])[.., .., bn, ki], sb[.., .., s], signal: pipe);
            }}
        }}
        consumer {groups} {{
            let acc = register_tensor(f32, [{m}, {n}]);
            fill(acc, 0.0);
            for ki in 0..k / 64 {{
                let s = pipe.wait();
                gemm_async(acc, sa[.., .., s], sb[.., .., s]);
                {wait}
            }}
            gemm_wait(0);
            pipe.release();
            copy(acc, tile(c, [{m}, {n}])[.., .., bm, bn]);
        }}
    }}
}}
"
    )
}

const ONE_IN_FLIGHT: &str = "gemm_wait(1); pipe.release_previous();";

#[test]
fn large_tiles_are_bound_by_the_tensor_cores() {
    check(
        &product(128, 256, ONE_IN_FLIGHT),
        expect![[r#"
            estimated cycles
              a round of `pipe` (role of threads 128..384): the tensor cores bound it: 1024 of 1024 cycles
                tensor cores 1024 (100 %), shared memory 640 (62 %), L2 cache 826 (81 %), issue slots 8 (1 %)
                role of threads 0..128: 158
              role of threads 0..128: 16384 cycles, 2532 of them with instructions; about 24 of 24 registers
              role of threads 128..384: 21038 cycles, 4061 of them with instructions; about 152 of 240 registers
              a block: 21038 cycles, if loops of unknown length have 16 rounds
        "#]],
    );
}

/// A tile of 64 by 32 asks for 96 bytes of global memory for each cycle of the tensor cores.
#[test]
fn small_tiles_are_bound_by_the_cache() {
    check(
        &product(64, 32, ONE_IN_FLIGHT),
        expect![[r#"
            estimated cycles
              a round of `pipe` (role of threads 128..256): the L2 cache bounds it: 207 of 207 cycles
                tensor cores 64 (31 %), shared memory 96 (46 %), L2 cache 207 (100 %), issue slots 4 (2 %)
                role of threads 0..128: 158
              role of threads 0..128: 3304 cycles, 2532 of them with instructions; about 24 of 255 registers
              role of threads 128..256: 4721 cycles, 1501 of them with instructions; about 40 of 255 registers
              a block: 4921 cycles, if loops of unknown length have 16 rounds
        "#]],
    );
}

/// Each product waits for its own result.
#[test]
fn the_latency_of_a_product_is_exposed_if_nothing_else_is_in_flight() {
    check(
        &product(128, 256, "gemm_wait(0); pipe.release();"),
        expect![[r#"
            estimated cycles
              a round of `pipe` (role of threads 128..384): the tensor cores bound it: 1024 of 1153 cycles, 129 exposed at #8 gemm_wait(0)
                tensor cores 1024 (89 %), shared memory 640 (56 %), L2 cache 826 (72 %), issue slots 8 (1 %)
                role of threads 0..128: 158
              role of threads 0..128: 18444 cycles, 2532 of them with instructions; about 24 of 24 registers
              role of threads 128..384: 22975 cycles, 4061 of them with instructions; about 152 of 240 registers
              a block: 22975 cycles, if loops of unknown length have 16 rounds
        "#]],
    );
}

/// With `a` in place for all stages, a product of 32 columns reads more shared memory than it multiplies.
#[test]
fn narrow_products_are_bound_by_shared_memory() {
    check(
        "kernel product(a: f16[64, 128], b: f16[n, 128], c: mut f32[64, 32]) grid [1] {
    let (sa, sb) = (shared_tensor(f16, [64, 128]), shared_tensor(f16, [32, 128, 4]));
    let (once, pipe) = (pipeline(1), pipeline(4));
    warp_groups {
        producer {
            once.acquire();
            copy_async(tile(a, [64, 128])[.., .., 0, 0], sa, signal: once);
            for i in 0..n / 32 {
                let s = pipe.acquire();
                copy_async(tile(b, [32, 128])[.., .., i, 0], sb[.., .., s], signal: pipe);
            }
        }
        consumer {
            let acc = register_tensor(f32, [64, 32]);
            fill(acc, 0.0);
            once.wait();
            for i in 0..n / 32 {
                let s = pipe.wait();
                gemm_async(acc, sa, sb[.., .., s]);
                gemm_wait(1);
                pipe.release_previous();
            }
            gemm_wait(0);
            pipe.release();
            once.release();
            copy(acc, tile(c, [64, 32])[.., .., 0, 0]);
        }
    }
}
",
        expect![[r#"
            estimated cycles
              a round of `pipe` (role of threads 128..256): shared memory bounds it: 192 of 192 cycles
                tensor cores 128 (67 %), shared memory 192 (100 %), L2 cache 138 (72 %), issue slots 8 (4 %)
                role of threads 0..128: 158
              role of threads 0..128: 3230 cycles, 2690 of them with instructions; about 24 of 255 registers
              role of threads 128..256: 4943 cycles, 1554 of them with instructions; about 40 of 255 registers
              a block: 4943 cycles, if loops of unknown length have 16 rounds
              the launch: 1 block in 1 wave of 1, 4943 cycles
        "#]],
    );
}

/// Between two products, each thread computes more than the tensor cores do.
#[test]
fn a_role_that_computes_bounds_its_loop() {
    let softened = "gemm_wait(0); pipe.release(); acc = exp2(sin(acc));";
    check(
        &product(64, 128, softened),
        expect![[r#"
            estimated cycles
              a round of `pipe` (role of threads 128..256): the role of threads 128..256 bounds it: 3509 cycles, of which arithmetic 2612
                tensor cores 256 (7 %), shared memory 192 (5 %), L2 cache 413 (12 %), special functions 512 (15 %), arithmetic 2612 (74 %), issue slots 132 (4 %)
                role of threads 0..128: 158
              role of threads 0..128: 56137 cycles, 2532 of them with instructions; about 24 of 255 registers
              role of threads 128..256: 58345 cycles, 51994 of them with instructions; about 88 of 255 registers
              a block: 58345 cycles, if loops of unknown length have 16 rounds
        "#]],
    );
}

/// A kernel without pipelines has no estimate besides the sum.
#[test]
fn a_kernel_without_pipelines_has_none() {
    check(
        "kernel twice(x: f32[64], y: mut f32[64]) grid [1] threads 32 { copy(load(x) * 2.0, y); }\n",
        expect![[""]],
    );
}
