//! Reads that are proven inside of their tensor, reads with a guard, and views that overlap.

use expect_test::expect;

use super::check;

#[test]
fn a_guarded_read_is_a_branch() {
    check(
        "kernel f(t: i32[m, n], x: f16[m], i: i32, y: mut f32[32]) where n >= 4 grid [1] threads 32 {
            let a = t[i, 2] else -1;
            let b = x[a] else 0.5;
            let c = x[7] else (x[6] else 1.0);
            if i >= 0 && i < m { let d = t[i, 3] else 0; }
        }",
        expect![[r#"
            kernel f threads 32
              grid [1]
              param t: i32[m, n] : [n, 1] align 16
              param x: f16[m] : [1] align 16
              param i: i32
              param y: mut f32[32] : [1] align 16
              where n >= 4
              fact m % 16 == 0
              fact n % 16 == 0
              let picked = 0
              if 0 <= i && i < m
                let t_value = t[i, 2]
                picked = t_value
              else
                picked = -1
              let picked = 0.0
              if 0 <= picked && picked < m
                let x_value = x[picked]
                picked = x_value
              else
                picked = 0.5
              let picked = 0.0
              if 7 < m
                let x_value = x[7]
                picked = x_value
              else
                let picked = 0.0
                if 6 < m
                  let x_value = x[6]
                  picked = x_value
                else
                  picked = 1.0
                picked = picked
              if 0 <= i && i < m
                let t_value = t[i, 3]
        "#]],
    );
}

#[test]
fn a_read_without_a_proof_offers_a_guard() {
    check(
        "kernel f(t: i32[m, n], x: f16[m], f: bool[n], i: i32, y: mut f32[32]) where i >= 0 grid [4] threads 32 {
            let a = t[i, 2];
            let b = x[block_idx];
            let c = f[a];
            let d = t[..4, i] else 0;
            let e = t[i] else 0;
            let g = y[i] else 0.0;
            let h = x[i] else 1;
            let j = t[i, i] else 0.5;
            let k = block_idx[i] else 0;
        }",
        expect![[r#"
            error[HX0218]: `[…]` has no meaning for an integer
                          let k = block_idx[i] else 0;
                                  ^^^^^^^^^^^^
            error[HX0210]: cannot prove that this element of `t` exists
                          let a = t[i, 2];
                                  ^^^^^^^ not proven: `i < m` and `2 < n`
                          let a = t[i, 2];
                                  - `t` has the shape `[m, n]`
              help: state it in the header: `where i < m, 2 < n`
              help: `… else 0` after the index guards the read: an element outside is `0`
              fix: guard the read with `else 0` (`` → ` else 0`)
            error[HX0210]: cannot prove that this element of `x` exists
                          let b = x[block_idx];
                                  ^^^^^^^^^^^^ not proven: `block_idx.x < m`
                          let b = x[block_idx];
                                  - `x` has the shape `[m]`
              help: `if block_idx.x < m { … }` around it provides the proof
              help: `… else 0.0` after the index guards the read: an element outside is `0.0`
              fix: guard the read with `else 0.0` (`` → ` else 0.0`)
            error[HX0203]: expected an integer, found a range as an index before `else`
                          let d = t[..4, i] else 0;
                                    ^^^
              help: `else` guards the read of one element; `pad:` of `tile` and `global_view` is the value of a view outside of its tensor
            error[HX0206]: found 1 index before `else`, expected 2: one for each mode
                          let e = t[i] else 0;
                                  ^^^^
                          let e = t[i] else 0;
                                  - has the shape `[m, n]`
            error[HX0214]: found an element of `y`, which the kernel may write, so it may differ between threads
                          let g = y[i] else 0.0;
                                  ^^^^
            error[HX0203]: expected a number of type `i32`, found a floating-point number
                          let j = t[i, i] else 0.5;
                                               ^^^
        "#]],
    );
}

#[test]
fn windows_are_only_read() {
    check(
        "kernel f(x: f32[m], y: mut f32[m], z: mut f32[m, n], s: i32) grid [1] threads 32 {
            let t = load(global_view(x[4 - 1..], (32, 4) : (1, 2)));
            copy(t, global_view(y, (32, 4) : (1, 32)));
            copy(t, global_view(y, (32, 4) : (4, 1)));
            copy(t, global_view(y[200..], (32, 4) : (-4, 1)));
            copy(t, global_view(z, (32, 4) : (n, 1)));
            copy(t, global_view(y, (32, 4) : (1, 31)));
            copy(t, global_view(y, (32, 4) : (2, 3)));
            copy(t, global_view(y, (32, 4) : (0, 1)));
            copy_async(t, global_view(y, (32, 4) : (3, 1)));
        }",
        expect![[r#"
            error[HX0229]: this view of `y` may hold an element twice, so it may only be read
                          copy(t, global_view(y, (32, 4) : (1, 31)));
                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ not proven to be distinct: the steps `32 : 1` and `4 : 31` along dimension 0
              help: a stride that is at least the reach of the other modes of its dimension keeps elements apart; `atomic_add` adds to elements that overlap
            error[HX0229]: this view of `y` may hold an element twice, so it may only be read
                          copy(t, global_view(y, (32, 4) : (2, 3)));
                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ not proven to be distinct: the steps `32 : 2` and `4 : 3` along dimension 0
              help: a stride that is at least the reach of the other modes of its dimension keeps elements apart; `atomic_add` adds to elements that overlap
            error[HX0229]: this view of `y` may hold an element twice, so it may only be read
                          copy(t, global_view(y, (32, 4) : (0, 1)));
                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ not proven to be distinct: the steps `32 : 0` along dimension 0
              help: a stride that is at least the reach of the other modes of its dimension keeps elements apart; `atomic_add` adds to elements that overlap
            error[HX0218]: expected one from global to shared memory or back, found `copy_async` from register to global memory
                          copy_async(t, global_view(y, (32, 4) : (3, 1)));
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              help: `copy` and `load` move values to and from registers, and wait for them
        "#]],
    );
}

/// A branch may not be taken, and a loop may have no round. Proofs about values inside must not order the bounds of the values
/// after it.
#[test]
fn a_value_that_may_not_exist_proves_nothing() {
    check(
        "kernel probe(t: i32[n], k: i32, y: mut i32[1]) grid [1] threads 32 {
            let (i, s) = (0, 0);
            for _ in 0..k {
                if i < n { let a = i; s = s + t[a]; i = i + 2; }
                i = i + 1;
            }
            for j in k..n { s = s + t[j] else 0; }
            let r = register_tensor(i32, [1]);
            fill(r, t[0]);
        }",
        expect![[r#"
            error[HX0210]: cannot prove that this element of `t` exists
                          fill(r, t[0]);
                                  ^^^^ not proven: `0 < n`
                          fill(r, t[0]);
                                  - `t` has the shape `[n]`
              help: state it in the header: `where 0 < n`
              help: `… else 0` after the index guards the read: an element outside is `0`
              fix: guard the read with `else 0` (`` → ` else 0`)
        "#]],
    );
}

#[test]
fn clamped_indices_are_inside_if_the_extent_is_asserted() {
    check(
        "kernel f(x: f32[n], g: i32[m], y: mut f32[m], k: i32) where k <= n, n > 0 grid [m] threads 32 {
            let (a, b) = (x[max(0, min(g[block_idx], n - 1))], x[min(max(g[block_idx], 0), n - 1)]);
            assert(k > 0);
            let c = x[max(0, min(g[block_idx], k - 1))];
            let t = register_tensor(f32, [1]);
            fill(t, 0.0);
            if k > 0 { fill(t, x[max(0, min(g[block_idx], k - 1))]); }
            copy(t * (a + b + c), tile(y, [1])[.., block_idx]);
        }",
        expect![[r#"
            kernel f threads 32
              grid [m]
              param x: f32[n] : [1] align 16
              param g: i32[m] : [1] align 16
              param y: mut f32[m] : [1] align 16
              param k: i32
              where k <= n
              where n > 0
              fact m % 16 == 0
              fact n % 16 == 0
              register shown: bool[1]
              register k_1: i32[1]
              register shown_1: i64[1]
              register t: f32[1]
              register value: f32[1]
              let g_value = g[block_idx.x]
              let x_value = x[max(0, min(n - 1, g_value))]
              let g_value = g[block_idx.x]
              let x_value = x[min(n - 1, max(0, g_value))]
              #0 shown = ((0) < (k))
              #1 k_1 = (k)
              #2 shown_1 = (0)
              #3 assert(shown)
              let g_value = g[block_idx.x]
              let picked = 0.0
              if max(0, min(g_value, cast(k - 1, i32))) < n
                let x_value = x[max(0, min(g_value, cast(k - 1, i32)))]
                picked = x_value
              else
                picked = 0.0
              #4 fill(t, 0.0)
              if 0 < k
                let g_value = g[block_idx.x]
                let x_value = x[max(0, min(g_value, cast(k - 1, i32)))]
                #5 t = x_value
              #6 value = (t * ((x_value + x_value) + picked))
              #7 copy(value, y[block_idx.x + 0..1])
        "#]],
    );
}
