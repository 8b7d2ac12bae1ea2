//! Functions that are PTX, with a body as their meaning.

/// 1 / x with an error of 1 ulp.
#[ptx("rcp.approx.ftz.f32 {result}, {x};")]
fn reciprocal(x: f32) -> f32 {
    1.0 / x
}

/// tanh(x) with a relative error below 2⁻¹¹.
#[ptx("tanh.approx.f32 {result}, {x};")]
fn tanh_fast(x: f32) -> f32 {
    tanh(x)
}

/// Bit i of the result is bit `abc` of the table, where a, b and c are the bits i of the operands.
#[ptx("lop3.b32 {result}, {a}, {b}, {c}, {TABLE};")]
fn majority<TABLE = 0xe8>(a: u32, b: u32, c: u32) -> u32 {
    (a & b) | (a & c) | (b & c)
}

/// The bytes of x in the opposite order.
#[ptx("prmt.b32 {result}, {x}, {x}, {ORDER};")]
fn reversed<ORDER = 0x0123>(x: u32) -> u32 {
    let halves = (x << 16) | (x >> 16);
    ((halves & 0x00ff00ff) << 8) | ((halves >> 8) & 0x00ff00ff)
}

/// Two numbers rounded to bf16, the first in the upper half of the word.
#[ptx("cvt.rn.bf16x2.f32 {result}, {high}, {low};")]
fn packed(high: f32, low: f32) -> u32 {
    (half_of(high) << 16) | half_of(low)
}

fn half_of(x: f32) -> u32 {
    cast(bitcast(cast(x, bf16), u16), u32)
}

/// max(a · b + c, 0), rounded once.
#[ptx("fma.rn.relu.f16 {result}, {a}, {b}, {c};")]
fn fused_relu(a: f16, b: f16, c: f16) -> f16 {
    max(fma(a, b, c), 0.0)
}

/// A text of several instructions, with a register of its own.
#[ptx(
    "{{ .reg .b32 low, high;\n mul.lo.u32 low, {x}, {y};\n mul.hi.u32 high, {x}, {y};\n xor.b32 {result}, low, high; }}",
)]
fn folded(x: u32, y: u32) -> u32 {
    (x * y) ^ mulhi(x, y)
}

#[ptx("{{ .reg .pred p; setp.gt.f64 p, {x}, {y}; @p mov.f64 {result}, {x}; @!p mov.f64 {result}, {y}; }}")]
fn larger(x: f64, y: f64) -> f64 {
    where(x > y, x, y)
}

#[ptx("mad.wide.s32 {result}, {x}, {y}, {z};")]
fn wide(x: i32, y: i32, z: i64) -> i64 {
    cast(x, i64) * cast(y, i64) + z
}

/// y = F(x), in tiles of 256.
kernel map<F: fn = reciprocal>(x: f32[m], y: mut f32[m])
    grid [cdiv(m, 256)]
    threads 128
{
    copy(F(load(tile(x, [256])[.., block_idx])), tile(y, [256])[.., block_idx]);
}

test "a function with PTX is passed as any other" {
    let x = uniform(f32, [1000], seed: 1, low: 0.1, high: 8.0);
    let y = empty(f32, [1000]);
    map(x, y);
    assert_close(y, 1.0 / x, ulp: 2);
    assert(uses("rcp.approx.ftz"));
    map<F = tanh_fast>(x, y);
    assert_close(y, tanh(x), rtol: 1e-3);
}

kernel on_words(a: u32[m], b: u32[m], c: u32[m], y: mut u32[3, m])
    grid [cdiv(m, 128)]
    threads 64
{
    let (s, t) = (load(tile(a, [128])[.., block_idx]), load(tile(b, [128])[.., block_idx]));
    let u = load(tile(c, [128])[.., block_idx]);
    copy(majority(s, t, u), tile(y[0], [128])[.., block_idx]);
    copy(reversed(s + 1), tile(y[1], [128])[.., block_idx]);
    copy(folded(s, folded(t, 77)), tile(y[2], [128])[.., block_idx]);
}

test "words" {
    let a = uniform(u32, [500], seed: 1, low: 0, high: 2000000000);
    let b = uniform(u32, [500], seed: 2, low: 0, high: 4000000000);
    let c = uniform(u32, [500], seed: 3, low: 0, high: 4000000000);
    let y = empty(u32, [3, 500]);
    on_words(a, b, c, y);
    assert_eq(y[0], (a & b) | (a & c) | (b & c));
    let n = a + 1;
    assert_eq(y[1], ((n & 0xff) << 24) | ((n & 0xff00) << 8) | ((n >> 8) & 0xff00) | ((n >> 24) & 0xff));
    let once = cast(cast(b * 77, u32) ^ mulhi(b, full(u32, [500], 77)), u32);
    assert_eq(y[2], cast(a * once, u32) ^ mulhi(a, once));
}

/// Numbers of the block, rows that are broadcast, coordinates, and types of 16 and 64 bits.
kernel mixed(
    x: f16[64, 64],
    row: f16[64],
    by: f32,
    a: f64[64],
    wides: mut i64[64],
    y: mut f16[64, 64],
    b: mut f64[64],
    w: mut u32[64],
)
    grid [1]
    threads 128
{
    let (t, r) = (load(x), load(row));
    copy(fused_relu(t, r[new, ..], cast(reciprocal(by), f16)), y);
    let d = load(a);
    copy(larger(d, 0.5), b);
    let i = index(d, 0);
    copy(wide(i, -3, 10000000000), wides);
    copy(packed(cast(d, f32), reciprocal(4.0)), w);
}

test "operands of all kinds" {
    let (x, row) = (randn(f16, [64, 64], seed: 1), randn(f16, [64], seed: 2));
    let (a, y, b) = (randn(f64, [64], seed: 3), empty(f16, [64, 64]), empty(f64, [64]));
    let (wides, w) = (empty(i64, [64]), empty(u32, [64]));
    mixed(x, row, 8.0, a, wides, y, b, w);
    assert_eq(y, cast(max(cast(x, f32) * cast(row, f32) + 0.125, 0.0), f16));
    assert_eq(b, max(a, 0.5));
    assert_eq(wides, cast(arange(i32, [64]), i64) * -3 + 10000000000);
    assert_eq(w, (cast(bitcast(cast(cast(a, f32), bf16), u16), u32) << 16) | 0x3e80);
}

/// A function with PTX as a part of the operator of a scan.
kernel running(x: u32[256], y: mut u32[256])
    grid [1]
    threads 64
{
    copy(scan(load(x), axis: 0, op: |a, b| majority(a, b, a | b)), y);
}

test "operators of scans" {
    let (x, y) = (uniform(u32, [256], seed: 1, low: 0, high: 4000000000), empty(u32, [256]));
    running(x, y);
    assert_eq(y[0], x[0]);
}

/// Special registers: the results of threads may differ, so a tile holds them.
#[ptx("mov.u32 {result}, %laneid;", volatile)]
fn lane(of: i32) -> u32 {
    cast(of % 32, u32)
}

kernel lanes(y: mut u32[64])
    grid [1]
    threads 32
{
    let at = register_tensor(i32, [64], layout: (32, 2) : (1, 32));
    copy(index(at, 0), at);
    copy(lane(at), y);
}

test "special registers" {
    let y = empty(u32, [64]);
    lanes(y);
    assert_eq(y, arange(u32, [64]) % 32);
}
