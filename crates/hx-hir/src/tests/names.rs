use expect_test::expect;

use super::{check, check_files, kernel};
use crate::testing::TestDb;

#[test]
fn an_unknown_name_gets_its_nearest_neighbour() {
    check(
        &kernel("let r = regster_tensor(f16, [BM, BK]);\nfill(r, zero);"),
        expect![[r#"
        error[HX0101]: nothing in scope is called `regster_tensor`
          let r = regster_tensor(f16, [BM, BK]);
                  ^^^^^^^^^^^^^^
          help: `register_tensor` is near in spelling
          fix: replace it by `register_tensor` (`regster_tensor` → `register_tensor`)
        error[HX0101]: nothing in scope is called `zero`
          fill(r, zero);
                  ^^^^
    "#]],
    );
    check(
        "const BYTES = TILE * 2;\n",
        expect![[r#"
            error[HX0101]: nothing in scope is called `TILE`
              const BYTES = TILE * 2;
                            ^^^^
        "#]],
    );
    check(
        "kernel f(c: mut f61[m]) grid [1] threads 32 {}\n",
        expect![[r#"
        error[HX0101]: no type is called `f61`
          kernel f(c: mut f61[m]) grid [1] threads 32 {}
                          ^^^
    "#]],
    );
}

#[test]
fn names_end_with_their_block() {
    check(
        &kernel("for i in 0..2 { let x = i; fill(load(a[x..x + 1, ..]), 0.0); }\nlet y = x;"),
        expect![[r#"
            error[HX0209]: expected a compile-time value, found `k`, which is known only at launch
              for i in 0..2 { let x = i; fill(load(a[x..x + 1, ..]), 0.0); }
                                                   ^^^^^^^^^^^^^^^
              help: numbers, constants and compile-time parameters are known at compile time
            warning[HX0106]: nothing uses `y`
              let y = x;
                  ^
              fix: rename it to `_y` (`y` → `_y`)
            error[HX0101]: nothing in scope is called `x`
              let y = x;
                      ^
        "#]],
    );
}

#[test]
fn a_shape_binds_what_stands_alone() {
    check("kernel f(w: f16[n, k / 2], x: f16[k]) grid [n] threads 32 {}\n", expect![[""]]);
    check(
        "kernel f(w: f16[n, k / 2]) grid [n] threads 32 {}\n",
        expect![[r#"
        error[HX0101]: nothing in scope is called `k`
          kernel f(w: f16[n, k / 2]) grid [n] threads 32 {}
                             ^
          note: a dimension is bound where its name stands alone in a parameter's shape
    "#]],
    );
    check(
        "const N = 8;\nkernel f(w: f16[N]) grid [n] threads 32 {}\n",
        expect![[r#"
        error[HX0101]: nothing in scope is called `n`
          kernel f(w: f16[N]) grid [n] threads 32 {}
                                    ^
          note: a dimension is bound where its name stands alone in a parameter's shape
          help: `N` is near in spelling
          fix: replace it by `N` (`n` → `N`)
    "#]],
    );
}

#[test]
fn a_function_names_its_result_in_its_where() {
    check("fn f(n: i64) -> (i64, i64) where 0 <= result[0], result[1] < n { (0, n - 1) }\n", expect![[""]]);
    // A parameter hides the result, and the body has no such name.
    check("fn f(n: i64, result: i64) -> i64 where result < n { n - result }\n", expect![[""]]);
    check(
        "fn f(n: i64) -> i64 where result < n { result }\n",
        expect![[r#"
        error[HX0101]: nothing in scope is called `result`
          fn f(n: i64) -> i64 where result < n { result }
                                                 ^^^^^^
    "#]],
    );
    check(
        "fn f(n: i64) where result < n {}\n",
        expect![[r#"
        error[HX0101]: nothing in scope is called `result`
          fn f(n: i64) where result < n {}
                             ^^^^^^
          help: only the `where` of a `fn` that declares the type of its result can say what holds of it
    "#]],
    );
    check(
        "kernel f(x: f16[n]) where result < n grid [1] threads 32 {}\n",
        expect![[r#"
        error[HX0101]: nothing in scope is called `result`
          kernel f(x: f16[n]) where result < n grid [1] threads 32 {}
                                    ^^^^^^
          help: only the `where` of a `fn` that declares the type of its result can say what holds of it
    "#]],
    );
    check(
        "fn f(n: i64) -> (i64, i64) where result < n { (n, n) }\n",
        expect![[r#"
        error[HX0218]: `<` has no meaning between a tuple of 2 and an integer
          fn f(n: i64) -> (i64, i64) where result < n { (n, n) }
                                           ^^^^^^^^^^
    "#]],
    );
}

#[test]
fn definitions_are_unique() {
    check(
        "const T = 1;\nconst T = 2;\nkernel f<m = 1>(a: f16[m], a: f16[m]) grid [1] threads 32 {}\n",
        expect![[r#"
            error[HX0102]: `T` is defined twice
              const T = 2;
                    ^
              const T = 1;
                    - first defined here
            error[HX0102]: `a` is defined twice
              kernel f<m = 1>(a: f16[m], a: f16[m]) grid [1] threads 32 {}
                                         ^
              kernel f<m = 1>(a: f16[m], a: f16[m]) grid [1] threads 32 {}
                              - first defined here
        "#]],
    );
}

#[test]
fn imports_lead_somewhere() {
    let library = ("std/gemm.hx", "const TILE = 64;\nfn id(x: f32) -> f32 { x }\n");
    check_files(
        &[
            library,
            (
                "a.hx",
                "use std::gemm::{TILE as T, nothing};\nuse std::gem;\nuse std::gemm;\nconst A = T + gemm::TILE + std::gemm::TILE;\n",
            ),
        ],
        expect![[r#"
            error[HX0103]: `std::gemm::nothing` leads to no file and no item
              use std::gemm::{TILE as T, nothing};
                                         ^^^^^^^
              help: `std::gemm` has `TILE`, `id`
            error[HX0103]: `std::gem` leads to no file and no item
              use std::gem;
                  ^^^^^^^^
              help: `std::gemm` is near in spelling
              fix: replace it by `std::gemm` (`std::gem` → `std::gemm`)
        "#]],
    );
}

#[test]
fn imports_that_lead_nowhere_show_what_is_near() {
    let library = ("std/gemm.hx", "const TILE = 64;\nfn id(x: f32) -> f32 { x }\n");
    let sibling = ("kernels/tools.hx", "fn twice(x: f32) -> f32 { x * 2.0 }\n");
    check_files(
        &[
            library,
            sibling,
            (
                "kernels/a.hx",
                "use std::gemm::TILES;\nuse std::gem::TILE;\nuse std::{gemm::idd};\nuse tols::twice;\nuse std::gem::other;\nuse std::far;\n",
            ),
        ],
        expect![[r#"
            error[HX0103]: `std::gemm::TILES` leads to no file and no item
              kernels/a.hx: use std::gemm::TILES;
                                ^^^^^^^^^^^^^^^^
              help: `std::gemm::TILE` is near in spelling
              fix: replace it by `std::gemm::TILE` (`std::gemm::TILES` → `std::gemm::TILE`)
            error[HX0103]: `std::gem::TILE` leads to no file and no item
              kernels/a.hx: use std::gem::TILE;
                                ^^^^^^^^^^^^^^
              help: `std::gemm::TILE` is near in spelling
              fix: replace it by `std::gemm::TILE` (`std::gem::TILE` → `std::gemm::TILE`)
            error[HX0103]: `std::gemm::idd` leads to no file and no item
              kernels/a.hx: use std::{gemm::idd};
                                      ^^^^^^^^^
              help: `std::gemm::id` is near in spelling
            error[HX0103]: `tols::twice` leads to no file and no item
              kernels/a.hx: use tols::twice;
                                ^^^^^^^^^^^
              help: `tools::twice` is near in spelling
              fix: replace it by `tools::twice` (`tols::twice` → `tools::twice`)
            error[HX0103]: `std::gem::other` leads to no file and no item
              kernels/a.hx: use std::gem::other;
                                ^^^^^^^^^^^^^^^
              help: there is a file `std::gemm`
            error[HX0103]: `std::far` leads to no file and no item
              kernels/a.hx: use std::far;
                                ^^^^^^^^
              help: `std` has `gemm`
        "#]],
    );
}

#[test]
fn imports_that_nothing_uses_are_removed() {
    let library = ("std/gemm.hx", "const TILE = 64;\nconst WIDE = 128;\nfn id(x: f32) -> f32 { x }\n");
    check_files(
        &[
            library,
            (
                "a.hx",
                "use std::gemm::{TILE, WIDE as W, id};\nuse std::gemm;\nuse std::gemm::{id as _same};\nconst A = W;\n",
            ),
        ],
        expect![[r#"
            warning[HX0106]: nothing uses `TILE`
              use std::gemm::{TILE, WIDE as W, id};
                              ^^^^
              fix: remove it (`TILE, ` → ``)
            warning[HX0106]: nothing uses `id`
              use std::gemm::{TILE, WIDE as W, id};
                                               ^^
              fix: remove it (`, id` → ``)
            warning[HX0106]: nothing uses `gemm`
              use std::gemm;
                  ^^^^^^^^^
              fix: remove it (`use std::gemm;
            ` → ``)
        "#]],
    );
}

#[test]
fn what_is_marked_mut_is_written() {
    check(
        "fn add(x: register f32[M], s: shared mut f32[M]) { copy(x, s); }
fn show(s: shared mut f32[M]) { print(load(s)); }
kernel k(a: mut f32[m], b: mut f32[m], c: mut f32[m], unused: mut f32[m]) grid [1] threads 32 {
    let t = load(tile(a, [32])[.., 0]);
    let s = shared_tensor(f32, [32]);
    add(t, s);
    let v = tile(b, [32]);
    copy(t, v[.., 0]);
    atomic_add(tile(c, [32])[.., 0], t);
}
",
        expect![[r#"
            warning[HX0110]: nothing writes `s`, which is marked `mut`
              fn show(s: shared mut f32[M]) { print(load(s)); }
                                ^^^
              fix: remove `mut` (`mut ` → ``)
            warning[HX0110]: nothing writes `a`, which is marked `mut`
              kernel k(a: mut f32[m], b: mut f32[m], c: mut f32[m], unused: mut f32[m]) grid [1] threads 32 {
                          ^^^
              fix: remove `mut` (`mut ` → ``)
        "#]],
    );
    // The item has another error, so the faulty part may be the write.
    check(
        "kernel k(a: mut f32[m]) grid [1] threads 32 { copy(load(tile(a, [32])[.., 0]), b); }\n",
        expect![[r#"
        error[HX0101]: nothing in scope is called `b`
          kernel k(a: mut f32[m]) grid [1] threads 32 { copy(load(tile(a, [32])[.., 0]), b); }
                                                                                         ^
    "#]],
    );
}

#[test]
fn words_of_other_languages_are_explained() {
    check(
        &kernel(
            "let t = register_tensor(float16, [64]);\nfor i in range(4) { fill(t, 0.0); }\n__syncthreads();\nlet z = zeros(f16, [4]);\nlet p = tl.program_id(0);\nlet x = block_idx.x;",
        ),
        expect![[r#"
            error[HX0101]: nothing in scope is called `float16`
              let t = register_tensor(float16, [64]);
                                      ^^^^^^^
              help: it is called `f16` here
              fix: replace it by `f16` (`float16` → `f16`)
            warning[HX0106]: nothing uses `i`
              for i in range(4) { fill(t, 0.0); }
                  ^
              fix: rename it to `_i` (`i` → `_i`)
            error[HX0101]: nothing in scope is called `range`
              for i in range(4) { fill(t, 0.0); }
                       ^^^^^
              help: a range is written `0..n`
            error[HX0101]: nothing in scope is called `__syncthreads`
              __syncthreads();
              ^^^^^^^^^^^^^
              help: the barrier of the block is `sync()`
              fix: replace it by `sync` (`__syncthreads` → `sync`)
            warning[HX0106]: nothing uses `z`
              let z = zeros(f16, [4]);
                  ^
              fix: rename it to `_z` (`z` → `_z`)
            error[HX0104]: `zeros` has no meaning in device code
              let z = zeros(f16, [4]);
                      ^^^^^
              help: it belongs in `test`, `bench` and `main`
              help: a tensor of one number is `register_tensor(f32, [64])` and a `fill` of it
            warning[HX0106]: nothing uses `p`
              let p = tl.program_id(0);
                  ^
              fix: rename it to `_p` (`p` → `_p`)
            error[HX0101]: nothing in scope is called `tl`
              let p = tl.program_id(0);
                      ^^
              help: functions need no prefix: `load(view)`, `exp2(t)`, `block_idx`
            warning[HX0106]: nothing uses `x`
              let x = block_idx.x;
                  ^
              fix: rename it to `_x` (`x` → `_x`)
            error[HX0213]: an array of 2 has nothing called `x`
              let x = block_idx.x;
                                ^
              help: with one axis in the `grid`, `block_idx` is the number; `let [i, j] = block_idx;` takes several apart
        "#]],
    );
    check(
        "fn f(x: float) -> half { x }\n",
        expect![[r#"
        error[HX0101]: no type is called `float`
          fn f(x: float) -> half { x }
                  ^^^^^
          help: it is called `f32` here
          fix: replace it by `f32` (`float` → `f32`)
        error[HX0101]: no type is called `half`
          fn f(x: float) -> half { x }
                            ^^^^
          help: it is called `f16` here
          fix: replace it by `f16` (`half` → `f16`)
    "#]],
    );
}

#[test]
fn host_and_device_have_their_own_names() {
    check(
        &kernel("let x = randn(f16, [32]);\nfill(x, 1.0);"),
        expect![[r#"
            error[HX0104]: `randn` has no meaning in device code
              let x = randn(f16, [32]);
                      ^^^^^
              help: it belongs in `test`, `bench` and `main`
              help: random numbers come from a counter: `use std::random::philox;`, `uniform_of(word)`
        "#]],
    );
    check(
        "test \"t\" { let r = register_tensor(f16, [2]); print(r); }\n",
        expect![[r#"
        error[HX0104]: `register_tensor` has no meaning in host code
          test "t" { let r = register_tensor(f16, [2]); print(r); }
                             ^^^^^^^^^^^^^^^
          help: it belongs in `kernel` and `fn`
    "#]],
    );
}

#[test]
fn a_signature_cannot_need_itself() {
    check(
        "fn flip(x: f32[flip(4)]) -> f32 { 1.0 }\n",
        expect![[r#"
        warning[HX0106]: nothing uses `x`
          fn flip(x: f32[flip(4)]) -> f32 { 1.0 }
                  ^
          fix: rename it to `_x` (`x` → `_x`)
        error[HX0108]: `flip` needs itself
          fn flip(x: f32[flip(4)]) -> f32 { 1.0 }
                         ^^^^
    "#]],
    );
    check(
        "fn f(x: f32[g(4)]) -> f32 { 1.0 }\nfn g(x: f32[f(4)]) -> f32 { 1.0 }\nkernel k(x: f32[f(2)]) grid [1] threads 32 { }\n",
        expect![[r#"
            warning[HX0106]: nothing uses `x`
              fn f(x: f32[g(4)]) -> f32 { 1.0 }
                   ^
              fix: rename it to `_x` (`x` → `_x`)
            error[HX0108]: `g` needs itself
              fn f(x: f32[g(4)]) -> f32 { 1.0 }
                          ^
            warning[HX0106]: nothing uses `x`
              fn g(x: f32[f(4)]) -> f32 { 1.0 }
                   ^
              fix: rename it to `_x` (`x` → `_x`)
            error[HX0108]: `f` needs itself
              fn g(x: f32[f(4)]) -> f32 { 1.0 }
                          ^
        "#]],
    );
}

#[test]
fn a_result_type_cannot_need_itself() {
    check(
        "fn f(x: f32) -> f32[{\n    f(x)\n}] { x }\n",
        expect![[r#"
        error[HX0108]: `f` needs itself
              f(x)
              ^
    "#]],
    );
}

#[test]
fn a_constant_cannot_need_itself() {
    check(
        "const A = B + 1;\nconst B = A + 1;\n",
        expect![[r#"
        error[HX0108]: `A` needs itself
          const A = B + 1;
                    ^
        error[HX0108]: `B` needs itself
          const B = A + 1;
                    ^
    "#]],
    );
}

#[test]
fn a_function_cannot_call_itself() {
    // No item calls these functions: a circle is reported at its own text.
    check(
        "fn f(n: i32) -> i32 {\n    f(n - 1)\n}\n",
        expect![[r#"
            error[HX0108]: `f` calls itself
                  f(n - 1)
                  ^
              help: a `fn` is inlined where it is called, so it cannot call itself: a loop can repeat its work
        "#]],
    );
    check(
        "fn f(n: i32) -> i32 {\n    g(n)\n}\nfn g(n: i32) -> i32 {\n    h(n) + h(1)\n}\nfn h(n: i32) -> i32 {\n    f(n)\n}\n\
         fn outside(n: i32) -> i32 {\n    f(n)\n}\n",
        expect![[r#"
            error[HX0108]: `f` calls itself by way of `g`, `h`
                  g(n)
                  ^ `f` calls `g` here
                  h(n) + h(1)
                  - `g` calls `h` here
                  f(n)
                  - `h` calls `f` here
              help: a `fn` is inlined where it is called, so it cannot call itself: a loop can repeat its work
            error[HX0108]: `g` calls itself by way of `h`, `f`
                  h(n) + h(1)
                  ^ `g` calls `h` here
                  f(n)
                  - `h` calls `f` here
                  g(n)
                  - `f` calls `g` here
              help: a `fn` is inlined where it is called, so it cannot call itself: a loop can repeat its work
            error[HX0108]: `g` calls itself by way of `h`, `f`
                  h(n) + h(1)
                         ^ `g` calls `h` here
                  f(n)
                  - `h` calls `f` here
                  g(n)
                  - `f` calls `g` here
              help: a `fn` is inlined where it is called, so it cannot call itself: a loop can repeat its work
            error[HX0108]: `h` calls itself by way of `f`, `g`
                  f(n)
                  ^ `h` calls `f` here
                  g(n)
                  - `f` calls `g` here
                  h(n) + h(1)
                  - `g` calls `h` here
              help: a `fn` is inlined where it is called, so it cannot call itself: a loop can repeat its work
        "#]],
    );
    check_files(
        &[
            ("b.hx", "use a::f;\nfn g(n: i32) -> i32 {\n    f(n)\n}\n"),
            ("a.hx", "use b::g;\nfn f(n: i32) -> i32 {\n    g(n)\n}\n"),
        ],
        expect![[r#"
            error[HX0108]: `f` calls itself by way of `g`
                  g(n)
                  ^ `f` calls `g` here
              b.hx:     f(n)
                        - `g` calls `f` here
              help: a `fn` is inlined where it is called, so it cannot call itself: a loop can repeat its work
            error[HX0108]: `g` cannot be used, because of an error in `b.hx`
                  g(n)
                  ^
              b.hx:     f(n)
                        - `g` calls itself by way of `f`
        "#]],
    );
    // A circle through a signature, and a circle through a constant, which reports it.
    check(
        "fn f(x: f32[g(4)]) -> i32 {\n    1\n}\nfn g(n: i32) -> i32 {\n    f(n)\n}\n",
        expect![[r#"
            warning[HX0106]: nothing uses `x`
              fn f(x: f32[g(4)]) -> i32 {
                   ^
              fix: rename it to `_x` (`x` → `_x`)
            error[HX0108]: `f` calls itself by way of `g`
              fn f(x: f32[g(4)]) -> i32 {
                          ^ `f` calls `g` here
                  f(n)
                  - `g` calls `f` here
              help: a `fn` is inlined where it is called, so it cannot call itself: a loop can repeat its work
            error[HX0108]: `g` calls itself by way of `f`
                  f(n)
                  ^ `g` calls `f` here
              fn f(x: f32[g(4)]) -> i32 {
                          - `f` calls `g` here
              help: a `fn` is inlined where it is called, so it cannot call itself: a loop can repeat its work
            error[HX0203]: expected a tensor, found an integer
                  f(n)
                    ^
        "#]],
    );
    check(
        "const A = f(1);\nfn f(n: i32) -> i32 {\n    n + A\n}\n",
        expect![[r#"
            error[HX0108]: `A` needs itself
                  n + A
                      ^
        "#]],
    );
    // A function that is called twice is not on a circle.
    check("fn f(n: i32) -> i32 {\n    g(n) + g(g(n))\n}\nfn g(n: i32) -> i32 {\n    n\n}\n", expect![[""]]);
}

/// A large circle is reported without a search of all its functions.
#[test]
fn a_large_circle_is_told_in_time() {
    let count = 1000;
    let text: String =
        (0..count).map(|i| format!("fn f{i}(n: i32) -> i32 {{\n    f{}(n)\n}}\n", (i + 1) % count)).collect();
    let (db, file) = TestDb::with_file(&text);
    let found = crate::file_diagnostics(&db, file);
    assert_eq!(found.len(), count);
    assert!(found.iter().all(|found| found.code.id == "HX0108"), "{found:?}");
}

#[test]
fn attributes_are_known() {
    check(
        &format!(
            "#[inline]\n#[exact(1)]\n{}#[exact]\nfn f(x: f32) -> f32 {{ x }}\n",
            kernel("#[unrol]\nfor i in 0..2 { sync(); }\n#[unroll]\nsync();\n#[peel]\nsync();")
        ),
        expect![[r#"
            error[HX0107]: no attribute here is called `inline`
              #[inline]
                ^^^^^^
            error[HX0107]: `#[exact]` takes nothing in parentheses
              #[exact(1)]
                ^^^^^
            error[HX0107]: no attribute here is called `unrol`
              #[unrol]
                ^^^^^
            warning[HX0106]: nothing uses `i`
              for i in 0..2 { sync(); }
                  ^
              fix: rename it to `_i` (`i` → `_i`)
            error[HX0107]: found `#[unroll]` on a statement that is no `for`
              #[unroll]
                ^^^^^^
            error[HX0107]: found `#[peel]` on a statement that is no `for`
              #[peel]
                ^^^^
            error[HX0107]: no attribute here is called `exact`
              #[exact]
                ^^^^^
        "#]],
    );
}

#[test]
fn host_items_have_no_attributes() {
    check(
        "#[skip]\ntest \"t\" {}\n#[slow]\nbench \"b\" {}\n#[exact]\nmain {}\n",
        expect![[r#"
        error[HX0107]: no attribute here is called `skip`
          #[skip]
            ^^^^
        error[HX0107]: no attribute here is called `slow`
          #[slow]
            ^^^^
        error[HX0107]: no attribute here is called `exact`
          #[exact]
            ^^^^^
    "#]],
    );
}

#[test]
fn what_nothing_uses_is_said() {
    check(
        &kernel("let [x, _] = block_idx;\nlet _y = 1;"),
        expect![[r#"
        warning[HX0106]: nothing uses `x`
          let [x, _] = block_idx;
               ^
          fix: rename it to `_x` (`x` → `_x`)
    "#]],
    );
    check(
        "fn first(x: register f32[M], y: register f32[M]) -> f32[M] { x }\n",
        expect![[r#"
        warning[HX0106]: nothing uses `y`
          fn first(x: register f32[M], y: register f32[M]) -> f32[M] { x }
                                       ^
          fix: rename it to `_y` (`y` → `_y`)
    "#]],
    );
}

/// A name that a file defines, binds or imports hides the built-in of the same name. A method always means the built-in.
#[test]
fn a_definition_hides_the_built_in_of_its_name() {
    check(
        "kernel softmax(x: f32[m, n], y: mut f32[m, n]) grid [1] threads 32 { copy(load(tile(x, [1, 32])[.., .., 0, 0]), tile(y, [1, 32])[.., .., 0, 0]); }
kernel max(y: mut f32[m]) grid [1] threads 32 { fill(y, max(1.0, 2.0)); }
fn exp(x: f32) -> f32 { x }
kernel k(y: mut f32[m]) grid [1] threads 32 { fill(y, exp(1.0, 2.0)); let copy = 3; copy(y, y); }
test \"t\" {
    let x = zeros(f32, [4, 32]);
    let y = zeros(f32, [4, 32]);
    softmax(x, y);
    print(softmax(x, axis: 1), x.softmax(axis: 1));
}
",
        expect![[r#"
            error[HX0104]: the kernel `max` is launched from device code
              kernel max(y: mut f32[m]) grid [1] threads 32 { fill(y, max(1.0, 2.0)); }
                                                                      ^^^
              note: the kernel `max` hides the built-in `max`: give it another name to use both
              help: kernels are launched in `test`, `bench` and `main`; a tile function is a `fn`
            error[HX0201]: expected 1, found 2 arguments
              kernel k(y: mut f32[m]) grid [1] threads 32 { fill(y, exp(1.0, 2.0)); let copy = 3; copy(y, y); }
                                                                             ^^^ `exp` takes 1 argument
              note: the fn `exp` hides the built-in `exp`: give it another name to use both
            error[HX0105]: expected a function, found `copy`, which is an integer
              kernel k(y: mut f32[m]) grid [1] threads 32 { fill(y, exp(1.0, 2.0)); let copy = 3; copy(y, y); }
                                                                                                  ^^^^
              note: the local `copy` hides the built-in `copy`: give it another name to use both
            error[HX0202]: `softmax` has no parameter `axis`
                  print(softmax(x, axis: 1), x.softmax(axis: 1));
                                   ^^^^
              note: the kernel `softmax` hides the built-in `softmax`: give it another name to use both
              help: it has `x`, `y`
        "#]],
    );
}
