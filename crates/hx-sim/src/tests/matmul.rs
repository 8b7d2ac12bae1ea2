//! Runs a whole matmul, as the compiler would lower it.

use hx_dtype::DType;
use hx_index::Expr;

use super::build::*;
use crate::Argument;

const BM: i64 = 64;
const BN: i64 = 64;
const BK: i64 = 16;

/// Builds `c = a · bᵀ` in tiles of 64 x 64 x 16, with four warps in two rows and two columns, through swizzled shared memory.
fn matmul(m: i64, n: i64, k: i64) -> Kernel {
    let mut p = Kernel::new(128);
    p.grid((m + BM - 1) / BM, (n + BN - 1) / BN);
    let a = p.input("a", DType::F16, &[m, k], &[k, 1]);
    let b = p.input("b", DType::F16, &[n, k], &[k, 1]);
    let out = p.output("c", DType::F16, &[m, n], &[n, 1]);
    let sa = p.shared("sa", DType::F16, (BM * BK) as u32);
    let sb = p.shared("sb", DType::F16, (BN * BK) as u32);
    let staged = p.registers("staged", DType::F16, 8);
    let (ra, rb) = (p.registers("ra", DType::F16, 16), p.registers("rb", DType::F16, 16));
    let (rc, rh) = (p.registers("rc", DType::F32, 32), p.registers("rh", DType::F16, 32));
    let (lane, warp) = (rem(thread(), 32), div(thread(), 32));
    let (wm, wn) = (rem(warp.clone(), 2), div(warp, 2));
    // 128 threads load 64 x 16 elements, 8 each.
    let (row, col) = (div(thread(), 2), rem(thread(), 2) * c(8));
    let fill_c = p.group("fill(rc, 0)", vec![fill(first(rc, 32), 0)]);
    p.push(fill_c);
    let stage = |p: &mut Kernel, title: &str, from, to, first_row: Expr, rows: i64| {
        let global = (first_row.clone() + row.clone()) * c(k) + var("ki") * c(BK) + col.clone();
        let guard = lt(first_row + row.clone(), c(rows));
        let body = vec![
            guarded("ld.global.v4.b32", first(staged, 8), from, global, guard, 0),
            transfer("st.shared.v4.b32", first(staged, 8), to, row.clone() * c(BK) + col.clone()),
        ];
        p.group(title, body)
    };
    let mut body = vec![
        stage(&mut p, "copy(ga, sa)", a, sa, block(0) * c(BM), m),
        stage(&mut p, "copy(gb, sb)", b, sb, block(1) * c(BN), n),
        hx_thread::Stmt::Leaf(hx_thread::Leaf::Barrier),
    ];
    let (r16, r8) = (rem(lane.clone(), 16), rem(lane.clone(), 8));
    let load_a = transfer(
        "ldmatrix.x4",
        hx_thread::Registers { array: ra, base: var("i") * c(8), offsets: (0..8).collect() },
        sa,
        (var("i") * c(32) + wm.clone() * c(16) + r16) * c(BK) + div(lane.clone(), 16) * c(8),
    );
    let load_b = transfer(
        "ldmatrix.x2",
        at(rb, var("j") * c(4), 4),
        sb,
        (var("j") * c(16) + wn.clone() * c(8) + r8) * c(BK) + rem(div(lane.clone(), 8), 2) * c(8),
    );
    body.push(p.group("copy(sa, ra)", vec![repeat("i", c(2), true, vec![load_a])]));
    body.push(p.group("copy(sb, rb)", vec![repeat("j", c(4), true, vec![load_b])]));
    let instruction = multiply(
        "mma.m16n8k16.f32.f16",
        at(rc, var("i") * c(16) + var("j") * c(4), 4),
        at(ra, var("i") * c(8), 8),
        at(rb, var("j") * c(4), 4),
    );
    let inner = repeat("j", c(4), true, vec![instruction]);
    body.push(p.group("gemm(rc, ra, rb)", vec![repeat("i", c(2), true, vec![inner])]));
    body.push(hx_thread::Stmt::Leaf(hx_thread::Leaf::Barrier));
    p.push(repeat("ki", c(k / BK), false, body));
    let halves = convert(Some("cvt.f16x2.f32"), at(rh, var("v") * c(2), 2), at(rc, var("v") * c(2), 2));
    p.op("cast(rc, f16)", vec![repeat("v", c(16), true, vec![halves])]);
    let (group, quad) = (div(lane.clone(), 4), rem(lane, 4));
    let row = block(0) * c(BM) + var("i") * c(32) + wm * c(16) + var("h") * c(8) + group;
    let col = block(1) * c(BN) + var("j") * c(16) + wn * c(8) + quad * c(2);
    let guard = lt(row.clone(), c(m)).and(lt(col.clone() + c(1), c(n)));
    let held = at(rh, var("i") * c(16) + var("j") * c(4) + var("h") * c(2), 2);
    let store = guarded("st.global.b32", held, out, row * c(n) + col, guard, 0);
    let h = repeat("h", c(2), true, vec![store]);
    let j = repeat("j", c(4), true, vec![h]);
    p.op("copy(rh, gc)", vec![repeat("i", c(2), true, vec![j])]);
    p
}

fn check(m: i64, n: i64, k: i64) {
    let (a, b) = (noise((m * k) as usize, 1), noise((n * k) as usize, 2));
    let mut arguments = [
        tensor(DType::F16, &[m, k], &[k, 1], &a),
        tensor(DType::F16, &[n, k], &[k, 1], &b),
        tensor(DType::F16, &[m, n], &[n, 1], &vec![f64::NAN; (m * n) as usize]),
    ];
    let kernel = matmul(m, n, k);
    let report = kernel.run(&mut arguments).unwrap();
    let (m, n, k) = (m as usize, n as usize, k as usize);
    let mut want = Vec::new();
    for i in 0..m {
        for j in 0..n {
            let sum: f64 = (0..k).map(|x| a[i * k + x] * b[j * k + x]).sum();
            want.push(DType::F16.round(sum));
        }
    }
    assert_eq!(values(DType::F16, &arguments[2]), want);
    let again = {
        let Argument::Tensor { bytes, .. } = &mut arguments[2] else { return };
        bytes.fill(0);
        kernel.run(&mut arguments).unwrap()
    };
    assert_eq!(report, again);
}

#[test]
fn a_matmul_is_right() {
    check(128, 192, 64);
}

#[test]
fn a_ragged_matmul_is_right() {
    check(100, 72, 48);
}
