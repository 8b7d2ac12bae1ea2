//! The roles of `warp_groups`.

use expect_test::expect;

use super::{check, text_of};
use crate::LaunchFacts;

/// Returns a kernel with these roles, with `body` in front of them.
fn roles(body: &str, roles: &str) -> String {
    format!(
        "kernel tasks<GROUPS = 2>(x: f32[m], y: mut f32[m]) grid [4] {{\n\
         {body}warp_groups {{\n{roles}\n}}\n}}\n"
    )
}

#[test]
fn operations_and_tensors_of_a_role_belong_to_its_threads() {
    check(
        &roles(
            "let i = 2 * block_idx;\n",
            "producer { sync(); }
consumer each GROUPS (g) {
    let s = shared_tensor(f32, [128]);
    copy(load(tile(x, [128])[.., i + g]), s);
    sync();
    copy(load(s), tile(y, [128])[.., i + g]);
}",
        ),
        expect![[r#"
            kernel tasks threads 384
              grid [4]
              param x: f32[m] : [1] align 16
              param y: mut f32[m] : [1] align 16
              fact m % 16 == 0
              scope 1: role of threads 0..128
              scope 2: 2 groups of threads 128..384
              shared s: f32[128, 2] in scope 2
              register x_tile: f32[128] in scope 2
              register s_tile: f32[128] in scope 2
              producer in scope 1
                #0 sync() in scope 1
              consumer in scope 2 for g
                #1 copy(x[block_idx.x * 256 + g * 128 + 0..128], x_tile) in scope 2
                #2 copy(x_tile, s[0..128, g]) in scope 2
                #3 sync() in scope 2
                #4 copy(s[0..128, g], s_tile) in scope 2
                #5 copy(s_tile, y[block_idx.x * 256 + g * 128 + 0..128]) in scope 2
        "#]],
    );
}

#[test]
fn a_role_of_one_group_needs_no_number() {
    check(
        &roles(
            "",
            "producer registers 232 {}
consumer each 1 (g) registers 240 {
    copy(load(tile(x, [128])[.., g]), tile(y, [128])[.., g]);
}",
        ),
        expect![[r#"
            kernel tasks threads 256
              grid [4]
              param x: f32[m] : [1] align 16
              param y: mut f32[m] : [1] align 16
              fact m % 16 == 0
              scope 1: role of threads 0..128
              scope 2: group of threads 128..256
              register x_tile: f32[128] in scope 2
              producer in scope 1, 232 registers
              consumer in scope 2, 240 registers
                #0 copy(x[0..128], x_tile) in scope 2
                #1 copy(x_tile, y[0..128]) in scope 2
        "#]],
    );
}

#[test]
fn registers_and_threads_have_bounds() {
    let wrong = [
        "producer registers 32 {}\nconsumer 2 registers 240 {}",
        "producer {}\nconsumer 2 registers 248 {}",
        "producer registers 20 {}\nconsumer 2 {}",
        "producer {}\nconsumer 0 {}",
        "producer 4 {}\nconsumer each 5 (g) { let h = g; }",
    ];
    let errors = wrong.map(|wrong| text_of(&roles("", wrong), &[], &LaunchFacts::all_16()));
    expect![[r#"
        error[HX0510]: found 1 · 32 + 2 · 240 = 512 registers for one thread of each group, expected at most 3 · 168 = 504
          consumer 2 registers 240 {}
                               ^^^
          producer registers 32 {}
                             -- this role takes 1 · 32
          note: a launch gives each of 384 threads 168 registers, and threads can only pass them on
          help: `registers 232` fits here
        error[HX0510]: found 1 · 24 + 2 · 248 = 520 registers for one thread of each group, expected at most 3 · 168 = 504
          consumer 2 registers 248 {}
                               ^^^
          note: a launch gives each of 384 threads 168 registers, and threads can only pass them on
          help: `registers 240` fits here
        error[HX0510]: found 20 registers, expected a multiple of 8 from 24 to 256
          producer registers 20 {}
                             ^^
        error[HX0506]: found 0 groups of 128 threads, expected 1 to 8
          consumer 0 {}
                   ^
        error[HX0502]: found 1152 threads with this role, expected at most 1024
          consumer each 5 (g) { let h = g; }
                        ^
    "#]].assert_eq(&errors.concat());
}

#[test]
fn other_threads_do_not_hold_a_tensor() {
    check(
        &roles(
            "let v = load(tile(x, [128])[.., 0]);\n",
            "producer {}
consumer {
    copy(v * 2.0, tile(y, [128])[.., 0]);
}",
        ),
        expect![[r#"
            error[HX0226]: found the register tensor `v` of the block in the statements of the role of threads 128..256
                  copy(v * 2.0, tile(y, [128])[.., 0]);
                       ^
              help: make it inside of the role, or pass its elements through a shared tensor
        "#]],
    );
}
