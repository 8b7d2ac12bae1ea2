//! Operations that move values between threads, or that take parts of tensors.

use expect_test::expect;

use super::check;
use super::programs::kernel;

#[test]
fn rearranging_is_a_tensor_of_its_own() {
    check(
        &kernel(
            "let x = register_tensor(f16, [8, 4]);
            fill(x, 1.0);
            let y = rearrange(x, auto);
            let z = rearrange(x, (32, 1) : (1, 0));
            copy(rearrange(cast(y, f32), auto), shared_tensor(f32, [8, 4]));
            copy(z, tile(c, [8, 4])[.., .., bm, bk]);",
        ),
        expect![[r#"
            kernel probe threads 128
              grid [(m + 63) / 64, k / 16]
              param a: f16[m, k] : [k, 1] align 16
              param c: mut f16[m, k] : [k, 1] align 16
              fact k % 16 == 0
              fact m % 16 == 0
              register x: f16[8, 4]
              register y: f16[8, 4]
              register z: f16[8, 4] layout (32,1):(1,0)
              register y_f32: f32[8, 4]
              register y_f32_rearranged: f32[8, 4]
              shared shared: f32[8, 4]
              #0 fill(x, 1.0)
              #1 y = rearrange(x)
              #2 z = rearrange(x)
              #3 y_f32 = cast(y, f32)
              #4 y_f32_rearranged = rearrange(y_f32)
              #5 copy(y_f32_rearranged, shared[0..8, 0..4])
              #6 copy(z, c[block_idx.x * 8 + 0..8, block_idx.y * 4 + 0..4])
        "#]],
    );
}

#[test]
fn parts_scans_and_numbers() {
    check(
        "kernel probe(a: f32[m, 64], rows: i32[m], w: f32[n], c: mut f32[m, 64], t: mut f32[m])
         where n >= 1
         grid [cdiv(m, 32)] threads 64 {
            let x = load(tile(gather(a, tile(rows, [32])[.., block_idx]), [32, 64])[.., .., 0, 0]);
            let last = x[31.., ..];
            let (p, s) = scan((x, x.T.T), axis: 1, op: |(a0, b0), (a1, b1)| (a0 * a1, b0 * a1 + b1));
            let top = cast(1.0, f32);
            while scalar(max(max(x, axis: 0), axis: 1)) > top { top = top * 2.0 + w[0]; }
            #[unroll]
            for i in 0..2 { s = s + p[.., 32 * i..32 * i + 1] * last; }
            copy(if n > 4 { s * top } else { s }, tile(c, [32, 64])[.., .., block_idx, 0]);
            atomic_add(tile(t, [32])[.., block_idx], sum(s, axis: 1)[.., 0]);
        }",
        expect![[r#"
            kernel probe threads 64
              grid [(m + 31) / 32]
              param a: f32[m, 64] : [64, 1] align 16
              param rows: i32[m] : [1] align 16
              param w: f32[n] : [1] align 16
              param c: mut f32[m, 64] : [64, 1] align 16
              param t: mut f32[m] : [1] align 16
              where n >= 1
              fact m % 16 == 0
              fact n % 16 == 0
              register x: f32[32, 64]
              register x_part: f32[1, 64]
              register scanned: f32[32, 64]
              register scanned_1: f32[32, 64]
              register reduced: f32[1, 64]
              register reduced_1: f32[1, 1]
              register reduced_1_all: f32[1, 1] layout (64,1):(0,0)
              register reduced_2: f32[1, 64]
              register reduced_3: f32[1, 1]
              register reduced_3_all: f32[1, 1] layout (64,1):(0,0)
              register scanned_part: f32[32, 1]
              register scanned_part_1: f32[32, 1]
              register picked: f32[32, 64]
              register reduced_4: f32[32, 1]
              register reduced_4_part: f32[32]
              #0 copy(a[0..32, 0..64] rows rows[block_idx.x * 32..], x)
              #1 x_part = x[31..32, ..]
              #2 (scanned, scanned_1) = scan((x, x), axis: 1, (a0 * b0), ((a1 * b0) + b1))
              let top = 1.0
              #3 reduced = reduce(x, axis: 0, max)
              #4 reduced_1 = reduce(reduced, axis: 1, max)
              #5 reduced_1_all = reduced_1[.., ..]
              #6 reduced_1_value = scalar(reduced_1_all)
              let decided = (top < reduced_1_value)
              let again = ((decided) != (0))
              while again != 0
                let w_value = w[0]
                top = ((top * 2.0) + w_value)
                #7 reduced_2 = reduce(x, axis: 0, max)
                #8 reduced_3 = reduce(reduced_2, axis: 1, max)
                #9 reduced_3_all = reduced_3[.., ..]
                #10 reduced_3_value = scalar(reduced_3_all)
                let decided = (top < reduced_3_value)
                again = ((decided) != (0))
              #11 scanned_part = scanned[.., 0..1]
              #12 scanned_1 = (scanned_1 + (scanned_part * x_part))
              #13 scanned_part_1 = scanned[.., 32..33]
              #14 scanned_1 = (scanned_1 + (scanned_part_1 * x_part))
              if 4 < n
                #15 picked = (scanned_1 * top)
              else
                #16 picked = cast(scanned_1, f32)
              #17 copy(picked, c[block_idx.x * 32 + 0..32, 0..64])
              #18 reduced_4 = reduce(scanned_1, axis: 1, +)
              #19 reduced_4_part = reduced_4[.., 0]
              #20 atomic_add(t[block_idx.x * 32 + 0..32], reduced_4_part)
        "#]],
    );
}

#[test]
fn index_tensors_pick_elements_and_atomic_accesses_return_them() {
    check(
        "kernel probe(x: f32[m, n], i: i32[64], h: mut i32[4, n], s: mut f32[m])
         grid [1] threads 64 {
            let at = load(i);
            let t = load(gather(x, at, index(at, 0)));
            copy(t, scatter(s, at * 2));
            let old = atomic_max(scatter(h[3, 5..], at), at);
            atomic_add(scatter(h[2, ..], old), at);
            let c = shared_tensor(i32, [64]);
            atomic_store(c, at, order: \"release\");
            atomic_cas(c, at, old, scope: \"cluster\");
            let now = atomic_load(c, order: \"acquire\");
            copy(now, h[0, 0..64]);
        }",
        expect![[r#"
            kernel probe threads 64
              grid [1]
              param x: f32[m, n] : [n, 1] align 16
              param i: i32[64] : [1] align 16
              param h: mut i32[4, n] : [n, 1] align 16
              param s: mut f32[m] : [1] align 16
              fact m % 16 == 0
              fact n % 16 == 0
              register at: i32[64]
              register value: i32[64]
              register t: f32[64]
              register value_1: i32[64]
              register old: i32[64]
              shared c: i32[64]
              register old_2: i32[64]
              register now: i32[64]
              #0 copy(i[0..64], at)
              #1 value = index(0)
              #2 copy(x[at, value], t)
              #3 value_1 = (at * (2))
              #4 copy(t, s[value_1])
              #5 old = atomic_max(h[3, 5 + at], at)
              #6 atomic_add(h[2, old], at)
              #7 sync()
              #8 atomic_store(c[0..64], at, order: release)
              #9 old_2 = atomic_cas(c[0..64], at, old, scope: cluster)
              #10 now = atomic_load(c[0..64], order: acquire)
              #11 sync()
              #12 copy(now, h[0, 0..64])
        "#]],
    );
}

/// The help asks for no `where` clause, because none makes a number of the launch a constant.
#[test]
fn an_index_of_registers_is_a_constant() {
    check(
        "kernel probe(a: f16[4, 64], i: i32, c: mut f16[64]) grid [1] threads 32 {
            let t = load(a);
            copy(t[i], c);
            copy(t[i..i + 1][0], c);
            for j in 0..c[0] { copy(t[j], c); }
            #[unroll]
            for j in 0..4 { copy(t[j], c); }
        }",
        expect![[r#"
            error[HX0219]: found `i`, which is known only at run time, as an index of a register tensor
                          copy(t[i], c);
                                 ^
              help: `#[unroll]` makes the counter of a loop with constant bounds a constant
            error[HX0219]: found `i`, which is known only at run time, as an index of a register tensor
                          copy(t[i..i + 1][0], c);
                                 ^^^^^^^^
              help: `#[unroll]` makes the counter of a loop with constant bounds a constant
            error[HX0214]: found an element of `c`, which the kernel may write, so it may differ between threads
                          for j in 0..c[0] { copy(t[j], c); }
                                      ^^^^
        "#]],
    );
}

/// Steps of a tile past the end of a part stay in the tensor, so the view has an end of its own.
#[test]
fn a_tile_of_a_part_ends_with_the_part() {
    check(
        "
kernel f(x: f16[m, n], y: mut f16[m, n], starts: i32[e]) where e >= 2 grid [cdiv(m, 16)] threads 32 {
    let (first, end) = (max(0, starts[0]), starts[1]);
    let t = load(tile(x[first..end], [16, 64])[.., .., block_idx, 0]);
    copy(t, tile(y[8..40], [16, 64])[.., .., block_idx, 0]);
    let u = load(tile(tile(x[8..50], [4, 64])[.., .., .., 0][.., .., 1..9], [4, 64, 3])[.., .., .., 0, 0, 1]);
    copy(u[.., .., 0], tile(y, [4, 64])[.., .., block_idx, 0]);
}
",
        expect![[r#"
            kernel f threads 32
              grid [m / 16]
              param x: f16[m, n] : [n, 1] align 16
              param y: mut f16[m, n] : [n, 1] align 16
              param starts: i32[e] : [1] align 16
              where e >= 2
              fact e % 16 == 0
              fact m % 16 == 0
              fact n % 16 == 0
              register t: f16[16, 64]
              register u: f16[4, 64, 3]
              register u_part: f16[4, 64]
              let starts_value = starts[0]
              let starts_value = starts[1]
              #0 copy(x[block_idx.x * 16 + max(0, starts_value) + 0..16, 0..64] below starts_value in dimension 0, t)
              #1 copy(t, y[block_idx.x * 16 + 8 + 0..16, 0..64] below 40 in dimension 0)
              #2 copy(x[24 + 0..4 + 0..3 by 4, 0..64] permuted [0, 1, 0] below 50 in dimension 0 below 44 in dimension 0, u)
              #3 u_part = u[.., .., 0]
              #4 copy(u_part, y[block_idx.x * 4 + 0..4, 0..64])
        "#]],
    );
}

#[test]
fn the_order_of_launches_is_an_order_of_operations() {
    check(
        &kernel(
            "allow_next();
            wait_for_previous();
            copy(load(tile(a, [8, 16])[.., .., bm, bk]), tile(c, [8, 16])[.., .., bm, bk]);",
        ),
        expect![[r#"
            kernel probe threads 128
              grid [(m + 63) / 64, k / 16]
              param a: f16[m, k] : [k, 1] align 16
              param c: mut f16[m, k] : [k, 1] align 16
              fact k % 16 == 0
              fact m % 16 == 0
              register a_tile: f16[8, 16]
              #0 allow_next()
              #1 wait_for_previous()
              #2 copy(a[block_idx.x * 8 + 0..8, block_idx.y * 16 + 0..16], a_tile)
              #3 copy(a_tile, c[block_idx.x * 8 + 0..8, block_idx.y * 16 + 0..16])
        "#]],
    );
}

#[test]
fn copies_between_memories_are_whole() {
    check(
        "kernel f(x: f32[m, 100], y: mut f16[m, 100]) grid [4] threads 128 {
            let s = shared_tensor(f32, [100, 100]);
            let h = shared_tensor(f16, [100, 100]);
            copy(x[block_idx * 100.., ..][0..100, ..], s);
            copy(cast(s, f16), h);
            copy(h.T, permute(y[block_idx * 100.., ..][0..100, ..], [1, 0]));
            copy(s[0..50, ..], s[50..100, ..]);
        }",
        expect![[r#"
            kernel f threads 128
              grid [4]
              param x: f32[m, 100] : [100, 1] align 16
              param y: mut f16[m, 100] : [100, 1] align 16
              fact m % 16 == 0
              shared s: f32[100, 100]
              shared h: f16[100, 100]
              register x_tile: f32[100, 100]
              register s_tile: f32[100, 100]
              register s_tile_f16: f16[100, 100]
              register h_tile: f16[100, 100]
              register s_tile_1: f32[50, 100]
              #0 copy(x[block_idx.x * 100 + 0..100, 0..100], x_tile)
              #1 copy(x_tile, s[0..100, 0..100])
              #2 copy(s[0..100, 0..100], s_tile)
              #3 s_tile_f16 = cast(s_tile, f16)
              #4 copy(s_tile_f16, h[0..100, 0..100])
              #5 copy(h[0..100, 0..100] permuted [1, 0], h_tile)
              #6 copy(h_tile, y[block_idx.x * 100 + 0..100, 0..100] permuted [1, 0])
              #7 copy(s[0..50, 0..100], s_tile_1)
              #8 copy(s_tile_1, s[50 + 0..50, 0..100])
        "#]],
    );
}

#[test]
fn hints_follow_each_part_of_an_access() {
    check(
        &kernel(
            "let s = shared_tensor(f16, [8, 16]);
            copy_async(tile(a, [8, 16])[.., .., bm, bk], s, l2: \"evict_first\");
            commit();
            wait(0);
            sync();
            copy(s, tile(c, [8, 16])[.., .., bm, bk], l1: \"evict_last\", l2: \"evict_last\");
            copy(cast(tile(a, [8, 16])[.., .., bm, bk], f32), shared_tensor(f32, [8, 16]), l1: \"no_allocate\");
            copy(tile(a, [8, 16])[.., .., bm, bk], tile(c, [8, 16])[.., .., bm, bk], l2: \"evict_first\");
            copy_async(s, tile(c, [8, 16])[.., .., bm, bk], l2: \"evict_last\");",
        ),
        expect![[r#"
            kernel probe threads 128
              grid [(m + 63) / 64, k / 16]
              param a: f16[m, k] : [k, 1] align 16
              param c: mut f16[m, k] : [k, 1] align 16
              fact k % 16 == 0
              fact m % 16 == 0
              shared s: f16[8, 16]
              register s_tile: f16[8, 16]
              shared shared: f32[8, 16]
              register a_tile: f16[8, 16]
              register a_tile_f32: f32[8, 16]
              register a_tile_1: f16[8, 16]
              #0 copy_async(a[block_idx.x * 8 + 0..8, block_idx.y * 16 + 0..16], s[0..8, 0..16], l2: "evict_first")
              #1 commit()
              #2 wait(0)
              #3 sync()
              #4 copy(s[0..8, 0..16], s_tile)
              #5 copy(s_tile, c[block_idx.x * 8 + 0..8, block_idx.y * 16 + 0..16], l1: "evict_last", l2: "evict_last")
              #6 copy(a[block_idx.x * 8 + 0..8, block_idx.y * 16 + 0..16], a_tile, l1: "no_allocate")
              #7 a_tile_f32 = cast(a_tile, f32)
              #8 copy(a_tile_f32, shared[0..8, 0..16])
              #9 copy(a[block_idx.x * 8 + 0..8, block_idx.y * 16 + 0..16], a_tile_1, l2: "evict_first")
              #10 copy(a_tile_1, c[block_idx.x * 8 + 0..8, block_idx.y * 16 + 0..16], l2: "evict_first")
              #11 copy_async(s[0..8, 0..16], c[block_idx.x * 8 + 0..8, block_idx.y * 16 + 0..16], l2: "evict_last")
        "#]],
    );
}
