//! The place of `warp_groups`, and the numbers of its roles.

use expect_test::expect;

use super::check;

#[test]
fn a_function_takes_the_handles_of_a_kernel() {
    check(
        "fn f(_p: pipeline, _t: turns, _c: counter) {}
kernel right(c: mut i32[1]) grid [1] threads 128 {
    f(pipeline(2), turns(), counter(c, 4));
}
kernel wrong(c: mut i32[1]) grid [1] threads 128 {
    f(turns(), pipeline(2), c);
}
kernel fixed() grid [1] threads 128 {
    let order = turns();
    order = turns();
}
",
        expect![[r#"
            error[HX0203]: expected a pipeline, found turns
                  f(turns(), pipeline(2), c);
                    ^^^^^^^
            error[HX0203]: expected turns, found a pipeline
                  f(turns(), pipeline(2), c);
                             ^^^^^^^^^^^
            error[HX0207]: cannot assign to `order`: compile time fixes the turns that a name means
                  order = turns();
                  ^^^^^
              help: `let` makes a new name
        "#]],
    );
}

#[test]
fn roles_stand_at_the_end_of_a_kernel() {
    check(
        "kernel late(y: mut f32[m]) grid [1] {
    warp_groups { producer {} }
    sync();
}
",
        expect![[r#"
            error[HX0225]: found `warp_groups` before the last statement of the kernel
                  warp_groups { producer {} }
                  ^^^^^^^^^^^
              help: each role runs to the end of the kernel: move what follows into the roles, or before them
        "#]],
    );
    check(
        "kernel inside(y: mut f32[m]) grid [1] threads 128 {
    for i in 0..2 {
        warp_groups {}
    }
}
",
        expect![[r#"
            error[HX0220]: found `threads` in the header of a kernel with `warp_groups`
              kernel inside(y: mut f32[m]) grid [1] threads 128 {
                                                            ^^^
              help: leave it out: a block has 128 threads for each group of its roles
            warning[HX0106]: nothing uses `i`
                  for i in 0..2 {
                      ^
              fix: rename it to `_i` (`i` → `_i`)
            error[HX0225]: found `warp_groups` inside of another statement
                      warp_groups {}
                      ^^^^^^^^^^^
              help: it is the last statement of the kernel's body; a loop can stand in the body of each role
        "#]],
    );
    check(
        "kernel counted(y: mut f32[m]) grid [1] threads 128 {
    let n = 2;
    warp_groups {
        consumer n (g) { let h = g; }
    }
}
",
        expect![[r#"
            error[HX0220]: found `threads` in the header of a kernel with `warp_groups`
              kernel counted(y: mut f32[m]) grid [1] threads 128 {
                                                             ^^^
              help: leave it out: a block has 128 threads for each group of its roles
            error[HX0209]: expected a number that the header knows, found a local of the body
                      consumer n (g) { let h = g; }
                               ^
              help: numbers, constants and compile-time parameters are known when a block starts
            error[HX0225]: found a name for the number of a group in a role whose groups run together
                      consumer n (g) { let h = g; }
                                 ^^^
              help: `each` before the number of groups lets each group run the body for itself
            warning[HX0106]: nothing uses `h`
                      consumer n (g) { let h = g; }
                                           ^
              fix: rename it to `_h` (`h` → `_h`)
        "#]],
    );
}
