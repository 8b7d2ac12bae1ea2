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
              help: `pack(x, moved)` makes a tensor in this order
            t.hx::another block: failed
            HX0641 `pack(x, (64, 64) : (64, 1))`: the argument for `x` lies in blocks `(64,64):(64,1)`, and `moved` reads it in blocks `((16,4),(2,4,8)):((256,8),(4,1,32))`
              at `T[n, k] : W`: declared here
              help: `pack(x, moved)` makes a tensor in this order
            t.hx::declared as it is: passed
            t.hx::declared otherwise: failed
            HX0641 `pack(x, moved)`: the argument for `x` lies in blocks `((16,4),(2,4,8)):((256,8),(4,1,32))`, and `moved` reads it in row-major order
              at `T[n, k] : W`: declared here
            t.hx::a row-major parameter: failed
            HX0641 `pack(x, (64, 64) : (1, 64))`: the argument for `x` lies in blocks `(64,64):(1,64)`, and `plain` reads it in row-major order
              at `u4[n, k]`: declared here
            t.hx::unpacked otherwise: failed
            HX0641 `unpack(pack(x, (64, 64) : (1, 64)), moved)`: the tensor was packed as `(64,64):(1,64)`, found `((16,4),(2,4,8)):((256,8),(4,1,32))`
            t.hx::a part: failed
            HX0641 `pack(x, moved)[0..64]`: the argument for `x` lies in row-major order, and `moved` reads it in blocks `((16,4),(2,4,8)):((256,8),(4,1,32))`
              at `T[n, k] : W`: declared here
              help: `pack(x, moved)` makes a tensor in this order
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
