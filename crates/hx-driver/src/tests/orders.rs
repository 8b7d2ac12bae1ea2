//! Launches with packed tensors, and the orders that kernels infer for them.

use expect_test::expect;

use super::check;

/// A tensor carries the order in which it was packed. An inferred order takes no other one, a declared order also memory that was not packed.
#[test]
fn orders_of_packed_tensors() {
    check(
        r#"
kernel moved<T: type = u4, W: layout = infer>(x: T[n, k] : W, y: mut f16[n, k]) where n % 64 == 0, k % 64 == 0 grid [n / 64] threads 128 {
    copy(cast(load(tile(x, [64, 64])[.., .., block_idx, 0]), f16), tile(y, [64, 64])[.., .., block_idx, 0]);
}
kernel plain(x: u4[n, k], y: mut u4[n, k]) grid [1] threads 32 {
    copy(load(tile(x, [64, 64])[.., .., 0, 0]), tile(y, [64, 64])[.., .., 0, 0]);
}
kernel both<A: layout = infer, B: layout = infer>(a: u4[64, 64] : A, b: u4[64, 64] : B, y: mut u4[64, 64]) grid [1] threads 128 {
    copy(where(load(a) > load(b), load(a), load(b)), y);
}
test "packed" { let x = uniform(u4, [64, 64], low: 0, high: 16); let y = empty(f16, [64, 64]); moved(pack(x, moved), y); assert_eq(x, y); }
test "not packed" { let x = zeros(u4, [64, 64]); let y = empty(f16, [64, 64]); moved(x, y); }
test "another block" { let x = zeros(u4, [64, 64]); let y = empty(f16, [64, 64]); moved(pack(x, (64, 64) : (64, 1)), y); }
test "declared as it is" { let x = zeros(u4, [64, 64]); let y = empty(f16, [64, 64]); moved<W = auto>(x, y); assert_eq(x, y); }
test "declared otherwise" { let x = zeros(u4, [64, 64]); let y = empty(f16, [64, 64]); moved<W = auto>(pack(x, moved), y); }
test "a row-major parameter" { let x = zeros(u4, [64, 64]); let y = empty(u4, [64, 64]); plain(pack(x, (64, 64) : (1, 64)), y); }
test "unpacked otherwise" { let x = zeros(u4, [64, 64]); unpack(pack(x, (64, 64) : (1, 64)), moved); }
test "a part" { let x = zeros(u4, [128, 64]); let y = empty(f16, [64, 64]); moved(pack(x, moved)[0..64], y); }
test "another type" { pack(zeros(u8, [64, 64]), moved); }
test "an argument of no effect" { pack(zeros(u4, [64, 64]), moved<W = auto>); }
test "nothing inferred" { pack(zeros(u4, [64, 64]), plain); }
test "two orders" { pack(zeros(u4, [64, 64]), both); }
test "one of two orders" { pack(zeros(u4, [64, 64]), both, of: "b"); }
test "an unknown parameter" { pack(zeros(u4, [64, 64]), both, of: "c"); }
test "a number" { pack(zeros(u4, [64, 64]), both, of: 1); }
test "a layout of a parameter" { pack(zeros(u4, [64, 64]), (8, 8) : (8, 1), of: "b"); }
test "inferred by the launch" { let x = zeros(u4, [64, 64]); let y = empty(f16, [64, 64]); moved<W = infer>(x, y); }
"#,
        expect![[r#"
            t.hx::packed: passed
            t.hx::not packed: failed
            HX0641 `x`: the argument for `x` lies in row-major order, and `moved` reads it in blocks `((16,4),(2,4,8)):((256,8),(4,1,32))`
              at `T[n, k] : W`: declared here
              help: `pack(x, moved<T = u4>)` makes a tensor in this order
            t.hx::another block: failed
            HX0641 `pack(x, (64, 64) : (64, 1))`: the argument for `x` lies in blocks `(64,64):(64,1)`, and `moved` reads it in blocks `((16,4),(2,4,8)):((256,8),(4,1,32))`
              at `T[n, k] : W`: declared here
              help: `unpack` of the whole tensor, with the layout or kernel that it was packed for, reverts `pack`
            t.hx::declared as it is: passed
            t.hx::declared otherwise: failed
            HX0641 `pack(x, moved)`: the argument for `x` lies in blocks `((16,4),(2,4,8)):((256,8),(4,1,32))`, and `moved` reads it in row-major order
              at `T[n, k] : W`: declared here
              help: `unpack` of the whole tensor, with the layout or kernel that it was packed for, reverts `pack`
            t.hx::a row-major parameter: failed
            HX0641 `pack(x, (64, 64) : (1, 64))`: the argument for `x` lies in blocks `(64,64):(1,64)`, and `plain` reads it in row-major order
              at `u4[n, k]`: declared here
              help: `unpack` of the whole tensor, with the layout or kernel that it was packed for, reverts `pack`
            t.hx::unpacked otherwise: failed
            HX0641 `unpack(pack(x, (64, 64) : (1, 64)), moved)`: the tensor was packed as `(64,64):(1,64)`, found `((16,4),(2,4,8)):((256,8),(4,1,32))`
            t.hx::a part: failed
            HX0641 `pack(x, moved)[0..64]`: the argument for `x` is a part or another view of a packed tensor, and `moved` reads it in blocks `((16,4),(2,4,8)):((256,8),(4,1,32))`
              at `T[n, k] : W`: declared here
              help: `unpack` of the whole tensor, with the layout or kernel that it was packed for, reverts `pack`
            t.hx::another type: passed
            t.hx::an argument of no effect: failed
            HX0614 `moved<W = auto>`: the order that `moved` infers does not depend on `W`
              help: all instances for the same element types have one order: leave the argument out
            t.hx::nothing inferred: failed
            HX0614 `plain`: `plain` infers the order of no tensor
              help: a layout with the default `infer` is inferred: `kernel f<W: layout = infer>(w: u4[n, k] : W, …)`
            t.hx::two orders: failed
            HX0614 `both`: `both` infers the orders of `a` and `b`
              help: `pack(x, both, of: "a")` names one
            t.hx::one of two orders: passed
            t.hx::an unknown parameter: failed
            HX0614 `both`: `both` infers no order for `c`, only for `a`, `b`
            t.hx::a number: failed
            HX0614 `pack(zeros(u4, [64, 64]), both, of: 1)`: expected the name of a parameter, found an integer
            t.hx::a layout of a parameter: failed
            HX0614 `pack(zeros(u4, [64, 64]), (8, 8) : (8, 1), of: "b")`: `of:` names a parameter of a kernel, and the argument is a layout
              help: `pack(x, kernel, of: "w")` takes the order that the kernel infers for `w`
            t.hx::inferred by the launch: failed
            HX0614 `infer`: `infer` is only the default of a layout of a kernel
              help: leave the argument out: the launch then takes the order that the compiler infers
        "#]],
    );
}

/// All views of packed memory know that it is packed, and a kernel that writes blocks leaves a packed tensor.
#[test]
fn views_and_results_of_packed_tensors() {
    check(
        r#"
kernel read<W: layout = infer>(x: u4[n, k] : W, y: mut f16[n, k]) where n % 64 == 0, k % 64 == 0 grid [n / 64] threads 128 {
    copy(cast(load(tile(x, [64, 64])[.., .., block_idx, 0]), f16), tile(y, [64, 64])[.., .., block_idx, 0]);
}
kernel plain(x: u4[n, k], y: mut u4[n, k]) grid [cdiv(n, 64)] threads 32 {
    copy(load(tile(x, [64, 64])[.., .., block_idx, 0]), tile(y, [64, 64])[.., .., block_idx, 0]);
}
kernel packs<W: layout>(x: u4[64, 64], y: mut u4[64, 64] : W) grid [1] threads 128 { copy(load(x), y); }
test "transposed" { let p = pack(zeros(u4, [64, 64]), read); let y = empty(f16, [64, 64]); read(p.T, y); }
test "a part" { let p = pack(zeros(u4, [128, 64]), read); let y = empty(u4, [64, 64]); plain(p[0..64], y); }
test "reshaped" { let p = pack(zeros(u4, [128, 64]), read); let y = empty(u4, [64, 128]); plain(reshape(p, [64, 128]), y); }
test "the whole" { let x = uniform(u4, [64, 64], low: 0, high: 16); let y = empty(f16, [64, 64]); read(pack(x, read)[.., ..], y); assert_eq(x, y); }
test "packed twice" { pack(pack(zeros(u4, [64, 64]), read), read); }
test "a part unpacked" { unpack(pack(zeros(u4, [128, 64]), read)[0..64], read); }
test "written again" {
    let x = uniform(u4, [64, 64], low: 0, high: 16);
    let (p, y) = (pack(x, read), empty(u4, [64, 64]));
    p[.., ..] = x;
    plain(p, y);
    assert_eq(x, y);
}
test "packed by a kernel" {
    let x = uniform(u4, [64, 64], low: 0, high: 16);
    let (p, y) = (empty(u4, [64, 64]), empty(u4, [64, 64]));
    packs<W = (8, 64) : (64, 1)>(x, p);
    assert_eq(unpack(p, (8, 64) : (64, 1)), x);
    packs<W = (16, 32) : (32, 1)>(x, p);
    assert_eq(unpack(p, (16, 32) : (32, 1)), x);
    plain(p, y);
}
"#,
        expect![[r#"
            t.hx::transposed: failed
            HX0641 `p.T`: the argument for `x` is a part or another view of a packed tensor, and `read` reads it in blocks `((16,4),(2,4,8)):((256,8),(4,1,32))`
              at `u4[n, k] : W`: declared here
              help: `unpack` of the whole tensor, with the layout or kernel that it was packed for, reverts `pack`
            t.hx::a part: failed
            HX0641 `p[0..64]`: the argument for `x` is a part or another view of a packed tensor, and `plain` reads it in row-major order
              at `u4[n, k]`: declared here
              help: `unpack` of the whole tensor, with the layout or kernel that it was packed for, reverts `pack`
            t.hx::reshaped: failed
            HX0641 `reshape(p, [64, 128])`: the argument for `x` is a part or another view of a packed tensor, and `plain` reads it in row-major order
              at `u4[n, k]`: declared here
              help: `unpack` of the whole tensor, with the layout or kernel that it was packed for, reverts `pack`
            t.hx::the whole: passed
            t.hx::packed twice: failed
            HX0641 `pack(pack(zeros(u4, [64, 64]), read), read)`: the tensor was packed before, as `((16,4),(2,4,8)):((256,8),(4,1,32))`
              help: `unpack` reverts `pack`
            t.hx::a part unpacked: failed
            HX0641 `unpack(pack(zeros(u4, [128, 64]), read)[0..64], read)`: found a part or another view of a packed tensor, whose elements have no known order
            t.hx::written again: passed
            t.hx::packed by a kernel: failed
            HX0641 `p`: the argument for `x` lies in blocks `(16,32):(32,1)`, and `plain` reads it in row-major order
              at `u4[n, k]`: declared here
              help: `unpack` of the whole tensor, with the layout or kernel that it was packed for, reverts `pack`
        "#]],
    );
}

/// A member that reads a tensor in another order than the kernel that lists it takes no part: weights are packed once.
#[test]
fn members_of_a_family_share_the_orders_of_its_head() {
    check(
        r#"
#[family(packed)]
kernel plain(w: u4[n, k], y: mut f16[n, k]) where n % 64 == 0, k % 64 == 0 grid [n / 64] threads 128 {
    for i in 0..k / 64 { copy(cast(load(tile(w, [64, 64])[.., .., block_idx, i]), f16), tile(y, [64, 64])[.., .., block_idx, i]); }
}
#[family(packed, other, named)]
kernel packed<W: layout = infer>(w: u4[n, k] : W, y: mut f16[n, k]) where n % 64 == 0, k % 64 == 0 grid [n / 64] threads 128 {
    for i in 0..k / 64 { copy(cast(load(tile(w, [64, 64])[.., .., block_idx, i]), f16), tile(y, [64, 64])[.., .., block_idx, i]); }
}
kernel other(w: u4[n, k], y: mut f16[n, k]) where n % 64 == 0, k % 64 == 0 grid [n / 64] threads 64 {
    for i in 0..k / 64 { copy(cast(load(tile(w, [64, 64])[.., .., block_idx, i]), f16), tile(y, [64, 64])[.., .., block_idx, i]); }
}
kernel named<V: layout = infer>(w: u4[n, k] : V, y: mut f16[n, k]) where n % 64 == 0, k % 64 == 0 grid [n / 64] threads 64 {
    for i in 0..k / 64 { copy(cast(load(tile(w, [64, 64])[.., .., block_idx, i]), f16), tile(y, [64, 64])[.., .., block_idx, i]); }
}
test "row-major" { let w = uniform(u4, [128, 128], low: 0, high: 16); let y = empty(f16, [128, 128]); plain(w, y); assert_eq(y, w); }
test "packed" { let w = uniform(u4, [128, 128], low: 0, high: 16); let y = empty(f16, [128, 128]); packed(pack(w, packed), y); assert_eq(y, w); }
test "packed for a member" { let w = zeros(u4, [128, 128]); let y = empty(f16, [128, 128]); plain(pack(w, packed), y); }
"#,
        expect![[r#"
            t.hx::row-major: passed
            t.hx::packed: passed
            t.hx::packed for a member: failed
            HX0641 `pack(w, packed)`: the argument for `w` lies in blocks `((16,4),(2,4,8)):((256,8),(4,1,32))`, and `plain` reads it in row-major order
              at `u4[n, k]`: declared here
              help: `unpack` of the whole tensor, with the layout or kernel that it was packed for, reverts `pack`
        "#]],
    );
}
