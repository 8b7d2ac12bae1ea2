use expect_test::{Expect, expect};

use super::{check, check_main};

const KERNELS: &str = r#"
kernel move2<BN = 16, BM = 32>(x: f32[n, m], y: mut f32[n, m])
    where m % 4 == 0
    grid [cdiv(n, BN), cdiv(m, BM)]
    threads 128
{
    let [bn, bm] = block_idx;
    let r = register_tensor(f32, [BN, BM]);
    copy(global_view(x[bn * BN.., bm * BM..], (BN, BM) : (m, 1)), r);
    copy(r, global_view(y[bn * BN.., bm * BM..], (BN, BM) : (m, 1)));
}
kernel strided<T: type, BN = 16, BM = 32>(x: T[n, m] : [ldx, 1], y: mut T[n, m] : [ldy, 1])
    grid [cdiv(n, BN), cdiv(m, BM)]
    threads 64
{
    let [bn, bm] = block_idx;
    let r = register_tensor(T, [BN, BM]);
    copy(global_view(x[bn * BN.., bm * BM..], (BN, BM) : (ldx, 1)), r);
    copy(r, global_view(y[bn * BN.., bm * BM..], (BN, BM) : (ldy, 1)));
}
kernel fixed<M>(x: f32[n, M], y: mut f32[16, M])
    grid [1]
    threads 32
{
    let r = register_tensor(f32, [16, M]);
    copy(global_view(x, (16, M) : (M, 1)), r);
    copy(r, global_view(y, (16, M) : (M, 1)));
}
kernel share(y: mut i32[32], parts: i32)
    grid [1]
    threads 32
{
    let r = register_tensor(i32, [32]);
    fill(r, 100 / parts);
    copy(r, y);
}
"#;

fn with_kernels(test: &str, want: Expect) {
    check(&format!("{KERNELS}{test}"), want);
}

#[test]
fn launches_move_data() {
    with_kernels(
        r#"
test "move" for (n, m) in [(16, 32), (20, 36), (1, 4), (0, 4)] {
    let x = randn(f32, [n, m]);
    let y = empty(f32, [n, m]);
    move2(x, y);
    assert_eq(x, y);
}
test "other tiles" { let x = randn(f32, [20, 36]); let y = empty(f32, [20, 36]); move2<BN = 8, BM = 64>(y: y, x: x); assert_eq(x, y); }
test "a part of a tensor is written in place" {
    let x = ones(f32, [8, 8]);
    let y = zeros(f32, [16, 16]);
    move2(x, y[8.., ..8]);
    assert_eq(y.sum(), 64);
    assert_eq(y[8.., ..8], x);
}
"#,
        expect![[r#"
            t.hx::move[16, 32]: passed
            t.hx::move[20, 36]: passed
            t.hx::move[1, 4]: passed
            t.hx::move[0, 4]: passed
            t.hx::other tiles: passed
            t.hx::a part of a tensor is written in place: passed
        "#]],
    );
}

#[test]
fn element_types_and_dimensions_are_inferred() {
    with_kernels(
        r#"
test "strided" for t in [f16, i32, u8] {
    let x = cast(arange(i32, [64, 64]), t);
    let y = zeros(t, [64, 100]);
    strided(x[.., ..32], y[.., 8..40]);
    assert_eq(x[.., ..32], y[.., 8..40]);
    assert((y[.., 40..] == 0).all());
}
test "whole dimension" { let x = randn(f32, [20, 64]); let y = empty(f32, [16, 64]); fixed(x, y); assert_eq(x[..16, ..], y); }
"#,
        expect![[r#"
            t.hx::strided[f16]: passed
            t.hx::strided[i32]: passed
            t.hx::strided[u8]: passed
            t.hx::whole dimension: passed
        "#]],
    );
}

/// Checks a test body in which one launch fails; `x` and `y` are 16×16.
fn refused(body: &str, want: Expect) {
    let head = "let x = ones(f32, [16, 16]); let y = empty(f32, [16, 16]);";
    // The assertion uses both tensors, so that no warning about unused names appears.
    with_kernels(&format!("test \"t\" {{ {head} {body} assert(x.rank + y.rank == 4); }}"), want);
}

#[test]
fn arguments_must_fit_the_header() {
    refused(
        "move2(x);",
        expect![[r#"
            HX0222 `move2(x)`: `move2` lacks the argument `y`
            t.hx::t: broken
        "#]],
    );
    refused(
        "move2(x, y, y);",
        expect![[r#"
            HX0201 `y`: expected 2, found 3 arguments
            t.hx::t: broken
        "#]],
    );
    refused(
        "move2(x, z: y);",
        expect![[r#"
            HX0202 `z`: `move2` has no parameter `z`
              help: it has `x`, `y`
            t.hx::t: broken
        "#]],
    );
    refused(
        "move2(x, x: y);",
        expect![[r#"
            HX0222 `move2(x, x: y)`: `move2` lacks the argument `y`
            HX0212 `x`: an argument is given twice
              at `x`: given here first
            t.hx::t: broken
        "#]],
    );
    refused(
        "move2(x[0], y);",
        expect![[r#"
        t.hx::t: failed
        HX0602 `x[0]`: found rank 1 in f32[16], the parameter `x` has rank 2
          at `f32[n, m]`: declared here
    "#]],
    );
    refused(
        "move2(cast(x, f16), y);",
        expect![[r#"
        t.hx::t: failed
        HX0603 `cast(x, f16)`: found f16 elements, the parameter `x` has f32
          at `f32[n, m]`: declared here
          help: `cast(x, f32)` converts, with rounding where needed
    "#]],
    );
    refused(
        "move2(1.5, y);",
        expect![[r#"
            t.hx::t: failed
            HX0603 `1.5`: found a float, the parameter `x` is a tensor
              at `f32[n, m]`: declared here
        "#]],
    );
    refused(
        "move2(ones(f32, [16, 20]), y);",
        expect![[r#"
            t.hx::t: failed
            HX0604 `y`: dimension 1 of `y` is 16, but `m` is 20 in `x`
              at `m`: `m` = 20 here
              at `m`: `m` = 16 here
        "#]],
    );
    refused(
        "move2(x, x + 1.0);",
        expect![[r#"
            t.hx::t: failed
            HX0603 `x + 1.0`: found f64 elements, the parameter `y` has f32
              at `mut f32[n, m]`: declared here
              help: `cast(x, f32)` converts, with rounding where needed
        "#]],
    );
    refused(
        "move2(x, zeros(f32, [16, 16]));",
        expect![[r#"
            t.hx::t: failed
            HX0614 `zeros(f32, [16, 16])`: the kernel writes `y`, and this value is held by no variable
              at `mut f32[n, m]`: `mut` here
              help: give it a name with `let` first, or the result is lost
        "#]],
    );
    refused(
        "move2(x[0..2], x[1..3]);",
        expect![[r#"
            t.hx::t: failed
            HX0605 `x[1..3]`: the arguments for `x` and `y` share memory, and the kernel writes `y`
              at `mut f32[n, m]`: `mut` here
              note: not known to be an update in place: they are different parts of one tensor, or the kernel writes both
              help: `x.copy()` makes a tensor of its own
        "#]],
    );
    refused(
        "strided(x.T, y);",
        expect![[r#"
        t.hx::t: failed
        HX0604 `x.T`: the stride of dimension 1 of `x` is 16, and must be 1
          at `1`: declared here
    "#]],
    );
    refused(
        "fixed(x, y[..8, ..]);",
        expect![[r#"
        t.hx::t: failed
        HX0604 `y[..8, ..]`: dimension 0 of `y` is 8, and must be 16
          at `16`: declared here
    "#]],
    );
}

#[test]
fn interleaved_parts_do_not_overlap() {
    with_kernels(
        r#"
test "halves" {
    let x = arange(f32, [16, 32]);
    move2(x[.., ..16], x[.., 16..]);
    assert_eq(x[.., ..16], x[.., 16..]);
}
"#,
        expect![[r#"
            t.hx::halves: passed
        "#]],
    );
}

#[test]
fn compile_time_arguments_must_fit_too() {
    refused(
        "move2<BQ = 3>(x, y);",
        expect![[r#"
            HX0202 `BQ`: `move2` has no compile-time parameter `BQ`
              help: it has `BN`, `BM`
            t.hx::t: broken
        "#]],
    );
    refused(
        "move2<BN = \"a\">(x, y);",
        expect![[r#"
            t.hx::t: failed
            HX0614 `"a"`: a string is not a compile-time value
        "#]],
    );
    refused(
        "fixed<M = 32>(x, y);",
        expect![[r#"
        t.hx::t: failed
        HX0604 `x`: dimension 1 of `x` is 16, but `M` is 32
          at `M`: declared here
    "#]],
    );
}

#[test]
fn where_clauses_show_their_values() {
    with_kernels(
        "test \"t\" { let y = empty(f32, [4, 6]); move2(ones(f32, [4, 6]), y); }",
        expect![[r#"
            t.hx::t: failed
            HX0601 `move2(ones(f32, [4, 6]), y)`: `m % 4 == 0` does not hold with m = 6
              at `m % 4 == 0`: `move2` relies on this
              note: the left side is 2, the right side is 0
        "#]],
    );
}

#[test]
fn a_grid_that_is_none_shows_where_it_comes_from() {
    let text = |axes: &str, n: &str| {
        format!(
            "kernel part<BM = 16>(y: mut f32[m], n: i32) grid [{axes}] threads 32 {{
    let r = register_tensor(f32, [BM]);
    fill(r, 1.0);
    copy(r, tile(y, [BM])[.., 0]);
}}
test \"t\" {{ let y = empty(f32, [16]); part(y, {n}); }}
"
        )
    };
    check(
        &text("n / BM - 4", "32"),
        expect![[r#"
            t.hx::t: failed
            HX0631 `part(y, 32)`: the grid has -2 blocks along axis 0 with n = 32, BM = 16, expected 0 or more
              at `n / BM - 4`: the number of blocks is written here
        "#]],
    );
    check(
        &text("1, n", "70000"),
        expect![[r#"
            t.hx::t: failed
            HX0631 `part(y, 70000)`: the grid has 70000 blocks along axis 1 with n = 70000, expected at most 65535
              at `n`: the number of blocks is written here
        "#]],
    );
    check(
        &text("n, n - 3", "3"),
        expect![[r#"
        t.hx::t: passed
    "#]],
    );
}

#[test]
fn faults_of_kernels_have_their_own_places() {
    with_kernels(
        "test \"t\" { let y = empty(i32, [32]); share(y, 0); }",
        expect![[r#"
            t.hx::t: failed
            HX0634 `100 / parts`: division by zero in `100 / parts`
              at `share(y, 0)`: in this launch
              note: seen in block [0, 0, 0]
              help: the result would be 0; a `where` clause of the kernel can demand another divisor
        "#]],
    );
}

#[test]
fn errors_of_a_kernel_show_where_it_is_launched() {
    check(
        "kernel k(x: mut f32[32]) grid [1] threads 32 { copy(q, x); }\n\
         kernel l(x: mut f32[32]) grid [1] threads 32 { fill(x, ); }\n\
         test \"a\" { let x = ones(f32, 32); k(x); }\ntest \"b\" { let x = ones(f32, 32); l(x); }\ntest \"c\" { }",
        expect![[r#"
            HX0101 `q`: nothing in scope is called `q`
            HX0222 `fill(x, )`: `fill` lacks the argument `x`
              note: `fill(t, x)`
            t.hx::a: broken
            t.hx::b: broken
            t.hx::c: passed
        "#]],
    );
}

#[test]
fn main_runs_with_arguments() {
    check_main(
        &format!(
            "{KERNELS} main {{ let n = int(args[0]); let y = empty(f32, [n, 4]); move2(ones(f32, [n, 4]), y); print(y); }}"
        ),
        &["2"],
        expect![[r#"
            f32[2, 4]
            [[1.0, 1.0, 1.0, 1.0],
             [1.0, 1.0, 1.0, 1.0]]
            finished
        "#]],
    );
    check_main(
        "test \"t\" { }",
        &[],
        expect![[r#"
        refused
        HX0614 ``: the file has no `main { … }` to run
          help: `hx test` runs its tests, `hx check` checks its kernels
    "#]],
    );
    check_main(
        "main { print(1); print(args[0]); }",
        &[],
        expect![[r#"
        1
        failed
        HX0614 `args[0]`: index 0 lies outside of a list of 0
    "#]],
    );
}

#[test]
fn a_layout_may_be_left_to_the_compiler() {
    check(
        r#"
kernel moved<W: layout = auto, L: layout = auto>(x: f32[n, m] : W, y: mut f32[n, m] : auto)
    grid [1]
    threads 128
{
    let r = register_tensor(f32, [32, 32]);
    copy(global_view(x, (32, 32) : (m, 1)), r);
    let s = shared_tensor(f32, [32, 32], layout: L);
    copy(r, s);
    sync();
    let t = register_tensor(f32, [32, 32]);
    copy(s, t);
    copy(t, global_view(y, (32, 32) : (m, 1)));
}
test "auto" {
    let x = randn(f32, [32, 32]);
    let y = empty(f32, [32, 32]);
    moved(x, y);
    assert_eq(x, y);
    moved<W = auto, L = blocked_product((4, 8) : (1, 4), (8, 4) : (1, 8))>(x, y);
    assert_eq(x, y);
    moved<L = (32, 32) : (33, 1)>(x.T, y);
    assert_eq(x.T, y);
}
test "a block" { let x = zeros(f32, [32, 32]); let y = empty(f32, [32, 32]); moved<W = (8, 8) : (8, 1)>(x, y); }
test "swizzled" { let x = zeros(f32, [32, 32]); let y = empty(f32, [32, 32]); moved<L = swizzle<3, 2, 3> ∘ (32, 32) : (32, 1)>(x, y); }
"#,
        expect![[r#"
            t.hx::auto: passed
            t.hx::a block: failed
            HX0210 `(32, 32) : (m, 1)`: `x` lies in memory in blocks, which strides do not describe
              at `moved<W = (8, 8) : (8, 1)>(x, y)`: in this launch
              help: `tile(x, …)` and indices work on any layout
            t.hx::swizzled: failed
            HX0614 `swizzle<3, 2, 3> ∘ (32, 32) : (32, 1)`: a composed layout is not a compile-time argument yet, only a layout `shape : stride` is
        "#]],
    );
}

/// Each number and each block is one draw, and a counter has 31 bits.
#[test]
fn draws_must_fit() {
    check(
        r#"
kernel drawn(y: mut f32[m], c: mut i32[1], n: i32)
    grid [m]
    threads 32
{
    let work = counter(c, n);
    for t in work {
        if t < m {
            fill_row(y, t);
        }
    }
}
fn fill_row(y: mut f32[m], t: i64) {
    let one = register_tensor(f32, [1]);
    fill(one, 1.0);
    copy(one, tile(y, [1])[.., t]);
}
test "they fit" { let (y, c) = (empty(f32, [4]), zeros(i32, [1])); drawn(y, c, 9); assert_eq(y, ones(f32, [4])); assert(c[0] == 0); }
test "too many" { let (y, c) = (empty(f32, [4]), zeros(i32, [1])); drawn(y, c, 2147483644); }
test "not 0 before" { let (y, c) = (empty(f32, [4]), ones(i32, [1])); drawn(y, c, 9); }
test "of another shape" { let (y, c) = (empty(f32, [4]), zeros(i32, [2])); drawn(y, c, 9); }
"#,
        expect![[r#"
            t.hx::they fit: passed
            t.hx::too many: failed
            HX0601 `drawn(y, c, 2147483644)`: `counter(c): max(0, n) + m <= 2147483647` does not hold with n = 2147483644, m = 4
              note: the left side is 2147483648, the right side is 2147483647
            t.hx::not 0 before: failed
            HX0601 `counter(c, n)`: the counter `work` is 1 before the launch, expected 0
              at `drawn(y, c, 9)`: in this launch
              help: pass `zeros(i32, [1])`: a launch that ends leaves 0, one that fails may leave another number
            t.hx::of another shape: failed
            HX0604 `c`: dimension 0 of `c` is 2, and must be 1
              at `1`: declared here
        "#]],
    );
}

#[test]
fn blocks_must_fit() {
    check(
        r#"
kernel moved<W: layout = auto>(x: u4[n, m] : W, y: mut u4[n, m])
    grid [cdiv(n, 8)]
    threads 32
{
    let b = block_idx;
    copy(load(tile(x, [8, 32])[.., .., b, 0]), tile(y, [8, 32])[.., .., b, 0]);
}
test "they fit" {
    let x = uniform(u4, [16, 32], low: 0, high: 16);
    let y = empty(u4, [16, 32]);
    moved<W = (4, 32) : (32, 1)>(pack(x, (4, 32) : (32, 1)), y);
    assert_eq(x, y);
}
test "rows left over" { let x = zeros(u4, [18, 32]); let y = empty(u4, [18, 32]); moved<W = (4, 32) : (32, 1)>(x, y); }
test "places left over" { let x = zeros(u4, [16, 32]); let y = empty(u4, [16, 32]); moved<W = (4, 32) : (64, 1)>(x, y); }
test "another rank" { let x = zeros(u4, [16, 32]); let y = empty(u4, [16, 32]); moved<W = 4 : 1>(x, y); }
test "packed wrongly" { let x = zeros(u4, [18, 32]); pack(x, (4, 32) : (32, 1)); }
"#,
        expect![[r#"
            t.hx::they fit: passed
            t.hx::rows left over: failed
            HX0601 `moved<W = (4, 32) : (32, 1)>(x, y)`: `n % 4 == 0` does not hold with n = 18
              note: the left side is 2, the right side is 0
            t.hx::places left over: failed
            HX0304 `W`: the block `(4,32):(64,1)` has 128 elements in 224 places, expected each in one of its own and none left over
              at `moved<W = (4, 32) : (64, 1)>(x, y)`: in this launch
            t.hx::another rank: failed
            HX0206 `W`: found the layout `4:1` of rank 1, expected rank 2: a mode for each dimension
              at `moved<W = 4 : 1>(x, y)`: in this launch
            t.hx::packed wrongly: failed
            HX0615 `pack(x, (4, 32) : (32, 1))`: dimension 0 is 18, no multiple of 4, that of the block `(4,32):(32,1)`
              help: pad the tensor with zeros first
        "#]],
    );
}

/// A row of packed elements may end in the middle of a byte. The diagnostic suggests the requirement that excludes this.
#[test]
fn a_launch_that_parts_a_byte_is_told_what_to_require() {
    check(
        "kernel widened(w: u4[n, k], y: mut f16[n, k])
    grid [cdiv(n, 16), cdiv(k, 32)]
    threads 32
{
    let [i, j] = block_idx;
    copy(cast(load(tile(w, [16, 32])[.., .., i, j]), f16), tile(y, [16, 32])[.., .., i, j]);
}
test \"widened\" {
    let w = cast(full(f32, [16, 31], 3.0), u4);
    let y = empty(f16, [16, 31]);
    widened(w, y);
}
",
        expect![[r#"
            t.hx::widened: failed
            HX0302 `load(tile(w, [16, 32])[.., .., i, j])`: no instruction of sm_90a loads single elements of type `u4` from global memory
              at `widened(w, y)`: in this launch
              note: bytes are moved whole, 2 neighbours from a multiple of 2 on: the stride `k` of `w` is not known to be even
        "#]],
    );
}

/// A byte holds 8 elements of `i1`, so the note asks for multiples of 8.
#[test]
fn eight_truth_bits_are_asked_for_where_a_byte_has_eight() {
    check(
        "kernel same(x: i1[n], y: mut i1[n]) grid [1] threads 32 {
    copy(load(tile(x, [256])[.., 0]), tile(y, [256])[.., 0]);
}
kernel rows(x: i1[m, n], y: mut i1[m, n]) grid [1] threads 32 {
    copy(load(tile(x, [8, 32])[.., .., 0, 0]), tile(y, [8, 32])[.., .., 0, 0]);
}
test \"edge\" {
    let y = empty(i1, [30]);
    same(cast(full(i8, [30], 0), i1), y);
}
test \"stride\" {
    let y = empty(i1, [8, 31]);
    rows(cast(full(i8, [8, 31], 0), i1), y);
}
",
        expect![[r#"
            t.hx::edge: failed
            HX0302 `copy(load(tile(x, [256])[.., 0]), tile(y, [256])[.., 0])`: no instruction of sm_90a stores single elements of type `i1` to global memory
              at `same(cast(full(i8, [30], 0), i1), y)`: in this launch
              note: bytes are moved whole, 8 neighbours from a multiple of 8 on: the edge `n` of `y` is known to be divisible by 2 only
            t.hx::stride: failed
            HX0302 `copy(load(tile(x, [8, 32])[.., .., 0, 0]), tile(y, [8, 32])[.., .., 0, 0])`: no instruction of sm_90a stores single elements of type `i1` to global memory
              at `rows(cast(full(i8, [8, 31], 0), i1), y)`: in this launch
              note: bytes are moved whole, 8 neighbours from a multiple of 8 on: the stride `n` of `y` is not known to be divisible by 8
        "#]],
    );
}

#[test]
fn divisions_by_zero_are_reported_at_their_place() {
    check(
        r#"
kernel tiles(x: i32[n], d: i32, y: mut i32[n]) grid [1] threads 32 { copy(load(x[..32]) / d, y[..32]); }
kernel element(x: i32[n], d: i32[n], y: mut i32[n]) grid [1] threads 32 { copy(load(x[..32]) % load(d[..32]), y[..32]); }
kernel chosen(x: i32[n], d: i32[n], y: mut i32[n]) grid [1] threads 32 {
    let r = load(d[..32]);
    copy(where(r == 0, 0, load(x[..32]) / r), y[..32]);
}
kernel number(x: f32[n], d: i32, y: mut f32[n]) grid [1] threads 32 {
    let i = 7 % d;
    copy(load(tile(x, [32])[.., i]), tile(y, [32])[.., 0]);
}
kernel far(x: f32[n], y: mut f32[n], m: i64) where n == 32 grid [1] threads 32 {
    for i in m - 1..m { copy(load(x[..32]), y[..32]); if i * i > 5 { fill(y[..32], 1.0); } }
}
test "a number" { let y = empty(i32, [32]); tiles(zeros(i32, [32]), 0, y); }
test "an element" { let y = empty(i32, [32]); element(zeros(i32, [32]), cast(arange(i32, 32) - 3, i32), y); }
test "where nobody chooses it" { let y = empty(i32, [32]); chosen(full(i32, [32], 7), zeros(i32, [32]), y); assert_eq(y, zeros(i32, [32])); }
test "an index" { let y = empty(f32, [32]); number(zeros(f32, [32]), 0, y); }
test "too far" { let y = empty(f32, [32]); far(zeros(f32, [32]), y, 9223372036854775807); }
"#,
        expect![[r#"
            t.hx::a number: failed
            HX0634 `load(x[..32]) / d`: an integer of type `i32` is divided by 0
              at `tiles(zeros(i32, [32]), 0, y)`: in this launch
              note: seen in thread 0 of block [0, 0, 0]
              help: choose another divisor where it is 0: `where(d == 0, 1, d)`; beyond the end of a tensor a tile holds 0, or what `pad:` of its view says
            t.hx::an element: failed
            HX0634 `load(x[..32]) % load(d[..32])`: an integer of type `i32` is divided by 0
              at `element(zeros(i32, [32]), cast(arange(i32, 32) - 3, i32), y)`: in this launch
              note: seen in thread 3 of block [0, 0, 0]
              help: choose another divisor where it is 0: `where(d == 0, 1, d)`; beyond the end of a tensor a tile holds 0, or what `pad:` of its view says
            t.hx::where nobody chooses it: passed
            t.hx::an index: failed
            HX0634 `number`: division by zero in `7 % d`
              at `number(zeros(f32, [32]), 0, y)`: in this launch
              note: seen in block [0, 0, 0]
              help: the result would be 0; a `where` clause of the kernel can demand another divisor
            t.hx::too far: failed
            HX0635 `far`: integer overflow in `i * i`
              at `far(zeros(f32, [32]), y, 9223372036854775807)`: in this launch
              note: seen in block [0, 0, 0]
        "#]],
    );
}

#[test]
fn tensors_without_elements() {
    check(
        r#"
kernel rows(x: f32[m, n], y: mut f32[m, n]) grid [m] threads 32 {
    copy(load(tile(x, [1, 32])[.., .., block_idx, 0]), tile(y, [1, 32])[.., .., block_idx, 0]);
}
kernel strided(x: f32[m, n] : [s, 1], y: mut f32[m, n] : [t, 1]) grid [cdiv(m, 8)] threads 32 {
    copy(load(tile(x, [8, 32])[.., .., block_idx, 0]), tile(y, [8, 32])[.., .., block_idx, 0]);
}
kernel product(a: f16[m, k], b: f16[n, k], c: mut f32[m, n]) grid [cdiv(m, 32), cdiv(n, 32)] threads 64 {
    let [bm, bn] = block_idx;
    let acc = register_tensor(f32, [32, 32]);
    fill(acc, 0.0);
    for i in 0..cdiv(k, 32) {
        gemm(acc, load(tile(a, [32, 32])[.., .., bm, i]), load(tile(b, [32, 32])[.., .., bn, i]));
    }
    copy(acc, tile(c, [32, 32])[.., .., bm, bn]);
}
kernel deep(x: f32[a, b, c], y: mut f32[a]) grid [cdiv(a, 4)] threads 32 {
    let acc = register_tensor(f32, [4, 1, 1]);
    fill(acc, 0.0);
    for i in 0..b { acc = acc + sum(load(tile(x, [4, 1, 32])[.., .., .., block_idx, i, 0]), axis: 2); }
    copy(acc[.., 0, 0], tile(y, [4])[.., block_idx]);
}
test "rows" for (m, n) in [(5, 0), (0, 5), (0, 0), (1, 0)] { let y = empty(f32, [m, n]); rows(zeros(f32, [m, n]), y); assert_eq(y, zeros(f32, [m, n])); }
test "strided" for (m, n) in [(5, 0), (0, 5), (0, 0)] { let y = empty(f32, [m, n]); strided(zeros(f32, [m, n]), y); strided(zeros(f32, [m + 2, n + 3])[..m, ..n], y); }
test "a part without columns" { let x = randn(f32, [5, 8]); let y = empty(f32, [5, 0]); rows(x[.., 3..3], y); rows(x[.., 8..], y); }
test "product" for (m, n, k) in [(33, 20, 0), (0, 32, 32), (32, 0, 8), (0, 0, 0)] {
    let [a, b] = [randn(f16, [m, k], seed: 1), randn(f16, [n, k], seed: 2)];
    let c = empty(f32, [m, n]);
    product(a, b, c);
    assert_close(c, a @ b.T, rtol: 1e-3, atol: 1e-3);
    assert_eq(c, zeros(f32, [m, n]));
}
test "deep" for (a, b, c) in [(5, 0, 3), (5, 3, 0), (0, 3, 3), (5, 0, 0)] { let y = empty(f32, [a]); deep(zeros(f32, [a, b, c]), y); assert_eq(y, zeros(f32, [a])); }
"#,
        expect![[r#"
            t.hx::rows[5, 0]: passed
            t.hx::rows[0, 5]: passed
            t.hx::rows[0, 0]: passed
            t.hx::rows[1, 0]: passed
            t.hx::strided[5, 0]: passed
            t.hx::strided[0, 5]: passed
            t.hx::strided[0, 0]: passed
            t.hx::a part without columns: passed
            t.hx::product[33, 20, 0]: passed
            t.hx::product[0, 32, 32]: passed
            t.hx::product[32, 0, 8]: passed
            t.hx::product[0, 0, 0]: passed
            t.hx::deep[5, 0, 3]: passed
            t.hx::deep[5, 3, 0]: passed
            t.hx::deep[0, 3, 3]: passed
            t.hx::deep[5, 0, 0]: passed
        "#]],
    );
}

/// The number of rounds is read from a tensor. The check before the launch therefore follows the protocol for several numbers.
#[test]
fn the_help_for_a_copy_in_flight_names_the_wait_of_its_pipeline() {
    check(
        r#"
kernel early(x: f32[m], count: i32[1], y: mut f32[m]) where m % 4 == 0 grid [1] threads 64 {
    let s = shared_tensor(f32, [256, 2]);
    let (pipe, rounds) = (pipeline(2), scalar(load(count)));
    for i in 0..rounds {
        let k = pipe.acquire();
        copy_async(tile(x, [256])[.., i], s[.., k], signal: pipe);
        copy(load(s[.., k]), tile(y, [256])[.., i]);
        pipe.wait();
        pipe.release();
    }
}
test "early" {
    let x = randn(f32, [512], seed: 1);
    let y = empty(f32, [512]);
    early(x, full(i32, [1], 2), y);
}
"#,
        expect![[r#"
            t.hx::early: failed
            HX0401 `load(s[.., k])`: a stage of `pipe` is read before a wait for its copies
              at `copy_async(tile(x, [256])[.., i], s[.., k], signal: pipe)`: `s` is filled here
              at `early(x, full(i32, [1], 2), y)`: in this launch
              note: this is so with `data` = 1
              help: `pipe.wait()` returns the stage whose copies have arrived
        "#]],
    );
}
