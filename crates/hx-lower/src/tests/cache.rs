//! Errors of cache hints and prefetches.

use expect_test::expect;

use super::check;
use super::programs::kernel;

#[test]
fn hints_without_a_cache_are_refused() {
    check(
        &kernel(
            "let s = shared_tensor(f16, [8, 16]);
            copy_async(tile(a, [8, 16])[.., .., bm, bk], s, l1: \"no_allocate\");
            copy_async(tile(a, [8, 16])[.., .., bm, bk], s, l2: \"no_allocate\");
            let t = load(s, l2: \"evict_first\");
            copy(t, s, l1: \"no_allocate\");
            copy(cast(t, f32), shared_tensor(f32, [8, 16]), l2: \"evict_last\");
            copy(t, tile(c, [8, 16])[.., .., bm, bk], l1: 1);",
        ),
        expect![[r#"
            error[HX0218]: found `l1` of a `copy_async`, which takes no hint for L1
                          copy_async(tile(a, [8, 16])[.., .., bm, bk], s, l1: "no_allocate");
                                                                              ^^^^^^^^^^^^^
              help: boxes and accesses of 16 B go past L1 by themselves; `copy` and `load` take the hint
            error[HX0218]: found the hint for L2 `"no_allocate"`, expected one of `"evict_first"`, `"evict_last"`
                          copy_async(tile(a, [8, 16])[.., .., bm, bk], s, l2: "no_allocate");
                                                                              ^^^^^^^^^^^^^
            error[HX0218]: found `l2` of a `load` of shared memory, expected an access to global memory
                          let t = load(s, l2: "evict_first");
                                              ^^^^^^^^^^^^^
              help: only accesses to global memory go through the caches
            error[HX0203]: expected a string, found an integer
                          copy(t, tile(c, [8, 16])[.., .., bm, bk], l1: 1);
                                                                        ^
        "#]],
    );
    check(
        "kernel probe(c: mut f32[m, 64]) grid [cdiv(m, 64)] threads 128 {
            let s = shared_tensor(f32, [64, 64]);
            copy_async(s, global_view(c[block_idx * 64 - 1.., ..], (64, 64) : (64, 1)), add: true, l2: \"evict_last\");
        }",
        expect![[r#"
            error[HX0218]: found a cache hint of a sum that is added from registers, because the tile begins before `c` in the first block and round, at `block_idx.x * 64 - 1`
                          copy_async(s, global_view(c[block_idx * 64 - 1.., ..], (64, 64) : (64, 1)), add: true, l2: "evict_last");
                                                                                                                     ^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn only_tiles_of_global_memory_are_fetched() {
    check(
        "kernel probe(a: f16[m, k], w: u8[n, k] : (16, 16) : (1, 16), rows: i32[m], c: mut f16[m, k]) grid [1] threads 128 {
            prefetch(load(tile(a, [16, 16])[.., .., 0, 0]));
            prefetch(shared_tensor(f16, [16]));
            prefetch(tile(w, [16, 16])[.., .., 0, 0]);
            prefetch(tile(gather(a, tile(rows, [16])[.., 0]), [16, 16])[.., .., 0, 0]);
            prefetch(tile(a, [m, 16])[.., .., 0, 0]);
            prefetch(3);
        }",
        expect![[r#"
            error[HX0215]: found a register tensor, expected a global one for `prefetch`
                          prefetch(load(tile(a, [16, 16])[.., .., 0, 0]));
                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            error[HX0215]: found a shared tensor, expected a global one for `prefetch`
                          prefetch(shared_tensor(f16, [16]));
                                   ^^^^^^^^^^^^^^^^^^^^^^^^
            error[HX0209]: expected a compile-time value, found `m`, which is known only at launch
                          prefetch(tile(a, [m, 16])[.., .., 0, 0]);
                                            ^
              help: numbers, constants and compile-time parameters are known at compile time
            error[HX0203]: expected a tensor, found an integer
                          prefetch(3);
                                   ^
            error[HX0208]: `prefetch` of a packed tensor cannot be compiled yet
                          prefetch(tile(w, [16, 16])[.., .., 0, 0]);
                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            error[HX0208]: `prefetch` of gathered elements cannot be compiled yet
                          prefetch(tile(gather(a, tile(rows, [16])[.., 0]), [16, 16])[.., .., 0, 0]);
                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        "#]],
    );
}
