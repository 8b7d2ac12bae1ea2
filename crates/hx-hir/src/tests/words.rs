//! Tests of words and habits of other languages: the messages, and the fixes that they offer.

use expect_test::expect;

use super::check;

#[test]
fn words_of_cutlass_lead_to_ours() {
    check(
        "kernel k(x: f32[64], y: mut f32[64]) grid [1] {
    let s = shared_tensor(f32, [64, 2]);
    let pipe = pipeline(2);
    warp_groups {
        producer {
            let i = pipe.producer_acquire();
            copy_async(x, s[.., i], signal: pipe);
            pipe.producer_commit();
            if elect_one() {}
        }
        consumer {
            setmaxnreg(240);
            let i = pipe.consumer_wait();
            copy(s[.., i], y);
            warpgroup_wait<0>();
            pipe.consumer_release();
            bar_sync(1, 128);
        }
    }
}",
        expect![[r#"
            error[HX0213]: a pipeline has nothing called `producer_acquire`
                          let i = pipe.producer_acquire();
                                       ^^^^^^^^^^^^^^^^
              help: it is called `acquire` here
              fix: replace it by `acquire` (`producer_acquire` → `acquire`)
            error[HX0213]: a pipeline has nothing called `producer_commit`
                          pipe.producer_commit();
                               ^^^^^^^^^^^^^^^
              help: copies with `signal: pipe` complete a stage by themselves, and `pipe.publish();` hands on what the threads of the role wrote
            error[HX0101]: nothing in scope is called `elect_one`
                          if elect_one() {}
                             ^^^^^^^^^
              help: a copy to shared memory is made by one thread without being told so; all threads of a role run its statements
            error[HX0101]: nothing in scope is called `setmaxnreg`
                          setmaxnreg(240);
                          ^^^^^^^^^^
              help: the registers of a role stand in its header: `producer registers 40 { … }`
            error[HX0213]: a pipeline has nothing called `consumer_wait`
                          let i = pipe.consumer_wait();
                                       ^^^^^^^^^^^^^
              help: it is called `wait` here
              fix: replace it by `wait` (`consumer_wait` → `wait`)
            error[HX0101]: nothing in scope is called `warpgroup_wait`
                          warpgroup_wait<0>();
                          ^^^^^^^^^^^^^^
              help: `gemm_wait(n)` waits until at most `n` products are in flight
            error[HX0213]: a pipeline has nothing called `consumer_release`
                          pipe.consumer_release();
                               ^^^^^^^^^^^^^^^^
              help: it is called `release` here
              fix: replace it by `release` (`consumer_release` → `release`)
            error[HX0101]: nothing in scope is called `bar_sync`
                          bar_sync(1, 128);
                          ^^^^^^^^
              help: `let ready = barrier();` before `warp_groups`, then `ready.sync()` or `ready.arrive()` in its roles; `sync()` alone waits for the role that it stands in
        "#]],
    );
}

#[test]
fn functions_that_are_missing_have_a_formula_or_a_place() {
    let names = [
        "silu",
        "gelu",
        "topk",
        "cumsum",
        "device_print",
        "static_assert",
        "rand",
        "reverse",
        "asinh",
        "hypot",
    ];
    let calls: String = names.iter().map(|name| format!("    let _v = {name}(t);\n")).collect();
    check(
        &format!("kernel k(x: f32[64]) grid [1] threads 32 {{\n    let t = load(x);\n{calls}}}"),
        expect![[r#"
            error[HX0101]: nothing in scope is called `silu`
                  let _v = silu(t);
                           ^^^^
              help: activations are in the library: `use std::activations::silu;`
            error[HX0101]: nothing in scope is called `gelu`
                  let _v = gelu(t);
                           ^^^^
              help: activations are in the library: `use std::activations::gelu;`
            error[HX0101]: nothing in scope is called `topk`
                  let _v = topk(t);
                           ^^^^
              help: `use std::sort::sort_network;` sorts rows of a shared tensor, and `std::sort` has kernels for the largest elements of rows
            error[HX0104]: `cumsum` has no meaning in device code
                  let _v = cumsum(t);
                           ^^^^^^
              help: it belongs in `test`, `bench` and `main`
              help: the running sum is `scan(t, 0, |a, b| a + b)`
            error[HX0101]: nothing in scope is called `device_print`
                  let _v = device_print(t);
                           ^^^^^^^^^^^^
              help: it is called `print` here
              fix: replace it by `print` (`device_print` → `print`)
            error[HX0101]: nothing in scope is called `static_assert`
                  let _v = static_assert(t);
                           ^^^^^^^^^^^^^
              help: `assert(c)` fails at compile time if the condition is known there
              fix: replace it by `assert` (`static_assert` → `assert`)
            error[HX0101]: nothing in scope is called `rand`
                  let _v = rand(t);
                           ^^^^
              help: random numbers come from a counter: `use std::random::philox;`, `uniform_of(word)`
            error[HX0101]: nothing in scope is called `reverse`
                  let _v = reverse(t);
                           ^^^^^^^
              help: `flip(t, axis: 0)`
            error[HX0101]: nothing in scope is called `asinh`
                  let _v = asinh(t);
                           ^^^^^
            error[HX0101]: nothing in scope is called `hypot`
                  let _v = hypot(t);
                           ^^^^^
              help: `sqrt(x * x + y * y)`
        "#]],
    );
}

#[test]
fn an_element_of_memory_is_written_by_a_tile() {
    check(
        "kernel k(x: f32[m, 64], y: mut f32[m], c: mut i32[8, 8]) grid [m] threads 32 {
    let t = load(tile(x, [1, 64])[0, .., block_idx, 0]);
    y[block_idx] = sum(t, axis: 0);
    y[block_idx] += sum(t, axis: 0);
    c[1, 2] = 3;
    let s = shared_tensor(f32, [64]);
    s[3] = sum(t, axis: 0);
}",
        expect![[r#"
            error[HX0207]: cannot assign to `y[block_idx]`: an element of memory is written by a tile of one element
                  y[block_idx] = sum(t, axis: 0);
                  ^^^^^^^^^^^^
              fix: copy the tile (`y[block_idx] = sum(t, axis: 0)` → `copy(sum(t, axis: 0), tile(y, [1])[.., block_idx])`)
            error[HX0207]: cannot assign to `y[block_idx]`: an element of memory is written by a tile of one element
                  y[block_idx] += sum(t, axis: 0);
                  ^^^^^^^^^^^^
              help: `atomic_add(tile(y, [1])[.., block_idx], sum(t, axis: 0))` adds to it, in any order of the threads and blocks
            error[HX0207]: cannot assign to `c[1, 2]`: an element of memory is written by a tile of one element
                  c[1, 2] = 3;
                  ^^^^^^^
              help: `fill` a register tensor of one element with the number, and `copy` it to `tile(c, [1, 1])[.., .., 1, 2]`
            error[HX0207]: cannot assign to `s[3]`: an element of memory is written by a tile of one element
                  s[3] = sum(t, axis: 0);
                  ^^^^
              fix: copy the tile (`s[3] = sum(t, axis: 0)` → `copy(sum(t, axis: 0), s[3..3 + 1])`)
        "#]],
    );
}

#[test]
fn compile_time_arguments_stand_before_the_others() {
    check(
        "kernel k<B = 128, S = 2>(x: f32[n]) grid [1] threads 32 { let _b = B + S + block_idx; let _x = tile(x, [32]); }
test \"a\" {
    let x = zeros(f32, [4]);
    k(x, B: 256);
    k<S = 3>(B: 256, x);
    k(B: 256);
}",
        expect![[r#"
            error[HX0202]: `B` is a compile-time parameter of `k`, expected an argument
                  k(x, B: 256);
                       ^
              fix: give it before the arguments: `<B = 256>` (`` → `<B = 256>`, `, B: 256` → ``)
            error[HX0202]: `B` is a compile-time parameter of `k`, expected an argument
                  k<S = 3>(B: 256, x);
                           ^
              fix: give it before the arguments: `<B = 256>` (`` → `, B = 256`, `B: 256, ` → ``)
            error[HX0202]: `B` is a compile-time parameter of `k`, expected an argument
                  k(B: 256);
                    ^
              fix: give it before the arguments: `<B = 256>` (`` → `<B = 256>`, `B: 256` → ``)
        "#]],
    );
}

#[test]
fn calls_of_types_are_conversions() {
    check(
        "kernel k(x: f16[64], y: mut f32[64]) grid [1] threads 32 {
    copy(f32(load(x)), y);
    copy(float(load(x)), y);
    fill(load(x), float(\"-inf\"));
}",
        expect![[r#"
            error[HX0105]: expected a function, found `f32`, which is an element type
                  copy(f32(load(x)), y);
                       ^^^
              fix: convert it with `cast(…, f32)` (`f32(load(x))` → `cast(load(x), f32)`)
            error[HX0104]: `float` has no meaning in device code
                  copy(float(load(x)), y);
                       ^^^^^
              help: it belongs in `test`, `bench` and `main`
              help: a conversion is written `cast(load(x), f32)`
            error[HX0104]: `float` has no meaning in device code
                  fill(load(x), float("-inf"));
                                ^^^^^
              help: it belongs in `test`, `bench` and `main`
              help: infinity is written `inf`, and its negative `-inf`
        "#]],
    );
}

#[test]
fn the_operand_in_registers_is_the_one_to_convert() {
    check(
        "kernel k(a: f16[64, 64], b: bf16[64, 64], c: mut f32[64, 64]) grid [1] threads 128 {
    let (sa, sb) = (shared_tensor(f16, [64, 64]), shared_tensor(bf16, [64, 64]));
    let acc = register_tensor(f32, [64, 64]);
    gemm(acc, register_tensor(f32, [64, 64]), sa);
    gemm(acc, sa, register_tensor(f32, [64, 64]));
    gemm(acc, sa, sb);
    gemm(acc, register_tensor(f32, [64, 64]), register_tensor(f16, [64, 64]));
    let _wide = load(a) + acc;
    let _same = load(a) + load(b);
    copy(load(a), c);
}",
        expect![[r#"
            error[HX0204]: expected `f32`, found elements of type `f16`
                  gemm(acc, register_tensor(f32, [64, 64]), sa);
                                                            ^^ this is `f16`
                  gemm(acc, register_tensor(f32, [64, 64]), sa);
                            ------------------------------ this is `f32`
              fix: convert it with `cast(…, f16)` (`register_tensor(f32, [64, 64])` → `cast(register_tensor(f32, [64, 64]), f16)`)
            error[HX0204]: expected `f16`, found elements of type `f32`
                  gemm(acc, sa, register_tensor(f32, [64, 64]));
                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this is `f32`
                  gemm(acc, sa, register_tensor(f32, [64, 64]));
                            -- this is `f16`
              fix: convert it with `cast(…, f16)` (`register_tensor(f32, [64, 64])` → `cast(register_tensor(f32, [64, 64]), f16)`)
            error[HX0204]: expected `f16`, found elements of type `bf16`
                  gemm(acc, sa, sb);
                                ^^ this is `bf16`
                  gemm(acc, sa, sb);
                            -- this is `f16`
              help: make both tensors with one element type: converting an operand in shared memory moves it through registers
            error[HX0204]: expected `f32`, found elements of type `f16`
                  gemm(acc, register_tensor(f32, [64, 64]), register_tensor(f16, [64, 64]));
                                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this is `f16`
                  gemm(acc, register_tensor(f32, [64, 64]), register_tensor(f16, [64, 64]));
                            ------------------------------ this is `f32`
              fix: convert it with `cast(…, f16)` (`register_tensor(f32, [64, 64])` → `cast(register_tensor(f32, [64, 64]), f16)`)
            error[HX0204]: expected `f16`, found elements of type `f32`
                  let _wide = load(a) + acc;
                                        ^^^ this is `f32`
                  let _wide = load(a) + acc;
                              ------- this is `f16`
              fix: convert it with `cast(…, f32)` (`load(a)` → `cast(load(a), f32)`)
            error[HX0204]: expected `f16`, found elements of type `bf16`
                  let _same = load(a) + load(b);
                                        ^^^^^^^ this is `bf16`
                  let _same = load(a) + load(b);
                              ------- this is `f16`
              fix: convert it with `cast(…, f16)` (`load(b)` → `cast(load(b), f16)`)
            error[HX0204]: expected `f32`, found elements of type `f16`
                  copy(load(a), c);
                       ^^^^^^^ this is `f16`
                  copy(load(a), c);
                                - this is `f32`
              fix: convert it with `cast(…, f32)` (`load(a)` → `cast(load(a), f32)`)
        "#]],
    );
}
