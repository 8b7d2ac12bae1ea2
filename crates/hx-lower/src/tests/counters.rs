//! Counters, and the loops over them.

use expect_test::{Expect, expect};

use super::{check, text_of};
use crate::LaunchFacts;

/// Returns a kernel of two vectors and a counter's tensor with these statements.
fn kernel(header: &str, statements: &str) -> String {
    format!(
        "fn twice(x: f32[m], y: mut f32[m], work: counter) {{\n\
         for t in work {{ copy(load(tile(x, [128])[.., t]) * 2.0, tile(y, [128])[.., t]); }}\n}}\n\
         kernel tasks(x: f32[m], y: mut f32[m], c: mut i32[1], n: i32) {header} {{\n{statements}\n}}\n"
    )
}

/// Checks the errors of several kernels of one scope.
fn check_errors<const N: usize>(statements: [&str; N], expected: Expect) {
    let of = |statements| text_of(&kernel("grid [4] threads 128", statements), &[], &LaunchFacts::all_16());
    expected.assert_eq(&statements.map(of).concat());
}

#[test]
fn each_scope_loops_over_the_numbers() {
    check(
        &kernel(
            "grid [min(multiprocessors, cdiv(m, 128))]",
            "let work = counter(c, cdiv(m, 128));
warp_groups {
    producer { for t in work { if t % 2 == 0 { sync(); } } }
    consumer each 2 (g) { for i in work { twice_of(x, y, i); } }
}
}
fn twice_of(x: f32[m], y: mut f32[m], i: i64) {
    copy(load(x[i * 128..i * 128 + 128]) * 2.0, y[i * 128..i * 128 + 128]);",
        )
        .replace("kernel tasks", "kernel late")
        .replace("n: i32)", "n: i32) where m % 128 == 0"),
        expect![[r#"
            kernel late threads 384
              grid [min(multiprocessors, m / 128)]
              param x: f32[m] : [1] align 16
              param y: mut f32[m] : [1] align 16
              param c: mut i32[1] : [1] align 16
              param n: i32
              where m % 128 == 0
              where counter(c): m / 128 + min(multiprocessors, m / 128) <= 2147483647
              fact m % 128 == 0
              scope 1: role of threads 0..128
              scope 2: 2 groups of threads 128..384
              register x_tile: f32[128] in scope 2
              register value: f32[128] in scope 2
              counter work: 0..m / 128 from c
              producer in scope 1
                for t in work in scope 1
                  if t % 2 == 0
                    #0 sync() in scope 1
              consumer in scope 2 for g
                for i in work in scope 2
                  #1 copy(x[i * 128 + 0..128], x_tile) in scope 2
                  #2 value = (x_tile * 2.0) in scope 2
                  #3 copy(value, y[i * 128 + 0..128]) in scope 2
        "#]],
    );
}

#[test]
fn a_function_takes_a_counter() {
    check(
        &kernel("grid [4, 2] threads 128", "let work = counter(c, n);\ntwice(x, y, work);"),
        expect![[r#"
            kernel tasks threads 128
              grid [4, 2]
              param x: f32[m] : [1] align 16
              param y: mut f32[m] : [1] align 16
              param c: mut i32[1] : [1] align 16
              param n: i32
              where counter(c): max(0, n) + 8 <= 2147483647
              fact m % 16 == 0
              register x_tile: f32[128]
              register value: f32[128]
              counter work: 0..max(0, n) from c
              for t in work
                #0 copy(x[t * 128 + 0..128], x_tile)
                #1 value = (x_tile * 2.0)
                #2 copy(value, y[t * 128 + 0..128])
        "#]],
    );
}

#[test]
fn a_scope_loops_once_and_on_every_way() {
    check_errors(
        [
            "let work = counter(c, 9);\nfor i in 0..n { for t in work { sync(); } }",
            "let work = counter(c, 9);\nif m > 64 { twice(x, y, work); }",
            "let work = counter(c, 9);\nlet i = 0;\nwhile i < n { i += 1; for t in work { sync(); } }",
            "let work = counter(c, 9);\ntwice(x, y, work);\ntwice(x, y, work);",
            "let work = counter(c, 9);\nfor t in work { for u in work { sync(); } }",
            "for i in 0..n { let work = counter(c, 9); twice(x, y, work); }",
            "let work = counter(c, 9);\n#[unroll]\nfor t in work { sync(); }",
            "let work = counter(c, 9);\n#[peel]\nfor t in work { if t < 4 { sync(); } }",
        ],
        expect![[r#"
            error[HX0415]: found a loop over the counter `work` inside of another loop
              for i in 0..n { for t in work { sync(); } }
                                       ^^^^
              for i in 0..n { for t in work { sync(); } }
                       ---- this is the loop
              note: every scope that loops over a counter does so once: the others wait for it
            error[HX0415]: found a loop over the counter `work` inside of an `if`
              for t in work { copy(load(tile(x, [128])[.., t]) * 2.0, tile(y, [128])[.., t]); }
                       ^^^^
              if m > 64 { twice(x, y, work); }
                 ------ this is the `if`
              if m > 64 { twice(x, y, work); }
                          ----------------- called from here
              note: every scope that loops over a counter does so once: the others wait for it
            error[HX0415]: found a loop over the counter `work` inside of another loop
              while i < n { i += 1; for t in work { sync(); } }
                                             ^^^^
              while i < n { i += 1; for t in work { sync(); } }
                    ----- this is the loop
              note: every scope that loops over a counter does so once: the others wait for it
            error[HX0415]: found a second loop over the counter `work`
              for t in work { copy(load(tile(x, [128])[.., t]) * 2.0, tile(y, [128])[.., t]); }
                       ^^^^
              for t in work { copy(load(tile(x, [128])[.., t]) * 2.0, tile(y, [128])[.., t]); }
                       ---- these threads loop over it here already
              twice(x, y, work);
              ----------------- called from here
              note: the first loop takes all numbers
              help: a counter of another tensor hands out numbers again
            error[HX0415]: found a loop over the counter `work` inside of another loop
              for t in work { for u in work { sync(); } }
                                       ^^^^
              for t in work { for u in work { sync(); } }
                       ---- this is the loop
              note: every scope that loops over a counter does so once: the others wait for it
            error[HX0415]: found a counter made inside of a loop, an `if` or a role
              for i in 0..n { let work = counter(c, 9); twice(x, y, work); }
                                         ^^^^^^^^^^^^^
              help: make it before `warp_groups`, in the statements of the block
            error[HX0415]: found `#[unroll]` on a loop over a counter
              for t in work { sync(); }
                       ^^^^
              note: the rounds and their number are known only when the loop runs
            error[HX0415]: found `#[peel]` on a loop over a counter
              for t in work { if t < 4 { sync(); } }
                       ^^^^
              note: the rounds and their number are known only when the loop runs
        "#]],
    );
}

#[test]
fn roles_and_the_block_do_not_share_a_counter() {
    check(
        &kernel(
            "grid [4]",
            "let work = counter(c, 9);\nfor t in work { sync(); }\n\
             warp_groups {\n    producer { for t in work { sync(); } }\n    consumer {}\n}",
        ),
        expect![[r#"
            error[HX0415]: found a second loop over the counter `work`
                  producer { for t in work { sync(); } }
                                      ^^^^
              for t in work { sync(); }
                       ---- these threads loop over it here already
              note: the first loop takes all numbers
              help: a counter of another tensor hands out numbers again
        "#]],
    );
    check(
        &kernel(
            "grid [4]",
            "warp_groups {\n    producer { let work = counter(c, 9); twice(x, y, work); }\n}",
        ),
        expect![[r#"
            error[HX0415]: found a counter made inside of a loop, an `if` or a role
                  producer { let work = counter(c, 9); twice(x, y, work); }
                                        ^^^^^^^^^^^^^
              help: make it before `warp_groups`, in the statements of the block
        "#]],
    );
}

#[test]
fn only_its_counter_accesses_a_tensor() {
    check_errors(
        [
            "let work = counter(c, 9);\nlet other = counter(c, 8);\ntwice(x, y, work);",
            "let work = counter(c, 9);\nfor t in work { if t < c[0] { sync(); } }",
            "let work = counter(c, 9);\ncopy(load(tile(c, [1])[.., 0]), tile(c, [1])[.., 0]);\ntwice(x, y, work);",
            "let work = counter(c, 9);\nlet one = register_tensor(i32, [1]);\nfill(one, 1);\natomic_add(tile(c, [1])[.., 0], one);",
        ],
        expect![[r#"
            error[HX0415]: found a second counter of `c`
              let other = counter(c, 8);
                          ^^^^^^^^^^^^^
              let work = counter(c, 9);
                         ------------- the first one is made here
              help: each counter draws from a tensor of its own
            error[HX0214]: found an element of `c`, which the kernel may write, so it may differ between threads
              for t in work { if t < c[0] { sync(); } }
                                     ^^^^
            error[HX0415]: found another access to `c`, which a counter draws from
              copy(load(tile(c, [1])[.., 0]), tile(c, [1])[.., 0]);
                   ^^^^^^^^^^^^^^^^^^^^^^^^^
              let work = counter(c, 9);
                         ------------- the counter is made here
              note: other blocks draw from it at the same time
            error[HX0415]: found another access to `c`, which a counter draws from
              copy(load(tile(c, [1])[.., 0]), tile(c, [1])[.., 0]);
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              let work = counter(c, 9);
                         ------------- the counter is made here
              note: other blocks draw from it at the same time
            error[HX0415]: found another access to `c`, which a counter draws from
              atomic_add(tile(c, [1])[.., 0], one);
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              let work = counter(c, 9);
                         ------------- the counter is made here
              note: other blocks draw from it at the same time
        "#]],
    );
}

#[test]
fn all_blocks_know_the_count() {
    check_errors(
        [
            "let work = counter(c, block_idx);\ntwice(x, y, work);",
            "let k = 0;\nfor i in 0..n { k += i; }\nlet work = counter(c, k);\ntwice(x, y, work);",
            "let work = counter(c, 2147483644);\ntwice(x, y, work);",
            "let work = counter(x, 9);\ntwice(x, y, work);",
            "let s = shared_tensor(i32, [1]);\nlet work = counter(s, 9);\ntwice(x, y, work);",
            "let work = counter(c[0..1], grid_dim * multiprocessors);\ntwice(x, y, work);",
        ],
        expect![[r#"
            error[HX0209]: found a count that depends on `block_idx.x`, expected one that the launch decides
              let work = counter(c, block_idx);
                                    ^^^^^^^^^
              help: all blocks draw from one counter, so all must know the same count
            error[HX0209]: found a count that depends on `k`, expected one that the launch decides
              let work = counter(c, k);
                                    ^
              help: all blocks draw from one counter, so all must know the same count
            error[HX0216]: found 2147483648 draws, one for each number and each block, expected at most 2147483647
              let work = counter(c, 2147483644);
                         ^^^^^^^^^^^^^^^^^^^^^^
            error[HX0207]: `x` is written, but it is not marked `mut`
              let work = counter(x, 9);
                                 ^
              kernel tasks(x: f32[m], y: mut f32[m], c: mut i32[1], n: i32) grid [4] threads 128 {
                              ------ declared here
              fix: mark `x` as `mut` (`` → `mut `)
            error[HX0101]: nothing in scope is called `work`
              twice(x, y, work);
                          ^^^^
            kernel tasks threads 128
              grid [4]
              param x: f32[m] : [1] align 16
              param y: mut f32[m] : [1] align 16
              param c: mut i32[1] : [1] align 16
              param n: i32
              fact m % 16 == 0
            error[HX0215]: found a shared tensor, expected a global one for `counter`
              let work = counter(s, 9);
                                 ^
            error[HX0101]: nothing in scope is called `work`
              twice(x, y, work);
                          ^^^^
            kernel tasks threads 128
              grid [4]
              param x: f32[m] : [1] align 16
              param y: mut f32[m] : [1] align 16
              param c: mut i32[1] : [1] align 16
              param n: i32
              fact m % 16 == 0
            kernel tasks threads 128
              grid [4]
              param x: f32[m] : [1] align 16
              param y: mut f32[m] : [1] align 16
              param c: mut i32[1] : [1] align 16
              param n: i32
              where counter(c): multiprocessors * 4 + 4 <= 2147483647
              fact m % 16 == 0
              register x_tile: f32[128]
              register value: f32[128]
              counter work: 0..multiprocessors * 4 from c
              for t in work
                #0 copy(x[t * 128 + 0..128], x_tile)
                #1 value = (x_tile * 2.0)
                #2 copy(value, y[t * 128 + 0..128])
        "#]],
    );
}

#[test]
fn a_counter_is_no_value_of_run_time() {
    check_errors(
        [
            "let work = counter(c, 9);\nwork = counter(c, 8);",
            "let work = counter(c, 9);\ntwice(x, work, y);",
            "let work = counter(c, 9);\nlet t = work + 1;",
            "for t in 5 { sync(); }",
        ],
        expect![[r#"
            error[HX0207]: cannot assign to `work`: compile time fixes the counter that a name means
              work = counter(c, 8);
              ^^^^
              help: `let` makes a new name
            kernel tasks threads 128
              grid [4]
              param x: f32[m] : [1] align 16
              param y: mut f32[m] : [1] align 16
              param c: mut i32[1] : [1] align 16
              param n: i32
              fact m % 16 == 0
            error[HX0203]: expected a tensor, found a counter
              twice(x, work, y);
                       ^^^^
            kernel tasks threads 128
              grid [4]
              param x: f32[m] : [1] align 16
              param y: mut f32[m] : [1] align 16
              param c: mut i32[1] : [1] align 16
              param n: i32
              fact m % 16 == 0
            error[HX0218]: `+` has no meaning between a counter and an integer
              let t = work + 1;
                      ^^^^^^^^
            kernel tasks threads 128
              grid [4]
              param x: f32[m] : [1] align 16
              param y: mut f32[m] : [1] align 16
              param c: mut i32[1] : [1] align 16
              param n: i32
              fact m % 16 == 0
            error[HX0203]: expected a range `a..b` or a counter, found an integer
              for t in 5 { sync(); }
                       ^
            kernel tasks threads 128
              grid [4]
              param x: f32[m] : [1] align 16
              param y: mut f32[m] : [1] align 16
              param c: mut i32[1] : [1] align 16
              param n: i32
              fact m % 16 == 0
        "#]],
    );
}

#[test]
fn a_cluster_does_not_draw_together() {
    check(
        &kernel("grid [4] threads 128 cluster [2]", "let work = counter(c, 9);\ntwice(x, y, work);"),
        expect![[r#"
            error[HX0208]: a counter of a kernel with `cluster`, whose blocks would have to draw together, cannot be compiled yet
              let work = counter(c, 9);
                         ^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn no_numbers_and_no_statements_need_no_loop() {
    check(
        &kernel("grid [4] threads 128", "let work = counter(c, 0);\ntwice(x, y, work);\nsync();"),
        expect![[r#"
            kernel tasks threads 128
              grid [4]
              param x: f32[m] : [1] align 16
              param y: mut f32[m] : [1] align 16
              param c: mut i32[1] : [1] align 16
              param n: i32
              fact m % 16 == 0
              #0 sync()
        "#]],
    );
}
