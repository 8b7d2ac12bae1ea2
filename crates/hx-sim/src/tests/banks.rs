//! Tests accesses whose degree of bank conflicts is known.

use hx_dtype::DType;
use hx_index::Expr;
use hx_target::Target;

use super::build::*;

/// Returns `swizzle<bits, base, shift>` of an index.
fn swizzle(index: Expr, (bits, base, shift): (u32, u32, u32)) -> Expr {
    if bits == 0 {
        return index;
    }
    let mask = ((1i64 << bits) - 1) << (base + shift);
    index.xor(&div(index.and(mask), 1 << shift))
}

/// Returns the wavefronts of the first phase of a row's access by one warp, after a fill of the whole buffer.
fn degree(row: &str, dtype: DType, len: u32, address: Expr, sw: (u32, u32, u32)) -> u64 {
    let count = Target::usual().rows().copy(row).unwrap().atom(dtype).unwrap().values as u32;
    let mut k = Kernel::new(32);
    let s = k.shared("s", dtype, len);
    let r = k.registers("r", dtype, 16);
    k.push(fill(first(r, 16), 0));
    if !row.starts_with("st") {
        let per_store = 128 / dtype.bits();
        let all = vec![transfer(
            "st.shared.v4.b32",
            first(r, per_store),
            s,
            (var("i") * c(32) + thread()) * c(i64::from(per_store)),
        )];
        k.push(repeat("i", c(i64::from(len / per_store / 32)), false, all));
        k.push(hx_thread::Stmt::Leaf(hx_thread::Leaf::Barrier));
    }
    k.op("access", vec![transfer(row, first(r, count), s, swizzle(address, sw))]);
    let report = k.run(&mut []).unwrap();
    let counts = report.ops.values().next().unwrap();
    assert_eq!(counts.wavefronts % counts.ideal_wavefronts, 0, "phases of these accesses are alike");
    counts.wavefronts / counts.ideal_wavefronts
}

const SWIZZLES: [(u32, u32, u32); 6] = [(0, 0, 0), (1, 3, 3), (2, 3, 3), (3, 3, 3), (3, 3, 4), (2, 3, 4)];

fn check(row: &str, dtype: DType, len: u32, address: Expr, want: [u64; 6]) {
    let found = SWIZZLES.map(|sw| degree(row, dtype, len, address.clone(), sw));
    assert_eq!(found, want, "{row} at {address}");
}

#[test]
fn matrix_loads_of_rows() {
    // Lane i addresses row i of a row-major tile.
    check("ldmatrix.x4", DType::F16, 32 * 32, thread() * c(32), [4, 2, 1, 1, 2, 2]);
    check("ldmatrix.x4", DType::F16, 32 * 64, thread() * c(64), [8, 4, 2, 1, 2, 2]);
    check("ldmatrix.x4", DType::F16, 32 * 128, thread() * c(128), [8, 8, 4, 2, 1, 2]);
    check("ldmatrix.x4.trans", DType::F16, 32 * 128, thread() * c(128), [8, 8, 4, 2, 1, 2]);
}

#[test]
fn wide_loads_and_fragment_stores() {
    check("ld.shared.v4.b32", DType::F16, 32 * 64, thread() * c(64), [8, 4, 2, 1, 2, 2]);
    let (group, quad) = (div(thread(), 4), rem(thread(), 4));
    check("st.shared.b32", DType::F16, 64 * 64, group * c(64) + quad * c(2), [8, 4, 2, 1, 2, 2]);
    let column = thread() * c(32);
    check("ld.shared.b32", DType::F32, 32 * 32, column.clone(), [32, 16, 8, 8, 8, 8]);
    assert_eq!(degree("ld.shared.b32", DType::F32, 32 * 32, column, (5, 0, 5)), 1);
}

#[test]
fn equal_words_are_shared_and_phases_are_split() {
    // First all lanes read one word, then pairs of lanes read halves of a word; 8 bytes a lane go by half warps.
    assert_eq!(degree("ld.shared.b32", DType::F32, 128, c(7), (0, 0, 0)), 1);
    assert_eq!(degree("ld.shared.b16", DType::F16, 256, thread(), (0, 0, 0)), 1);
    assert_eq!(degree("ld.shared.b16", DType::F16, 2048, thread() * c(64), (0, 0, 0)), 32);
    assert_eq!(degree("ld.shared.v2.b32", DType::F32, 128, thread() * c(2), (0, 0, 0)), 1);
    assert_eq!(degree("ld.shared.v2.b32", DType::F32, 128, thread() * c(4), (0, 0, 0)), 2);
}

#[test]
fn sectors_of_global_requests() {
    let check = |offset: Expr, want: (u64, u64, u64, u64)| {
        let mut k = Kernel::new(32);
        let a = k.input("a", DType::F32, &[4096], &[1]);
        let r = k.registers("r", DType::F32, 1);
        k.op("copy(a, r)", vec![transfer("ld.global.b32", first(r, 1), a, offset)]);
        let report = k.run(&mut [vector(DType::F32, &counting(4096))]).unwrap();
        let counts = report.ops.values().next().unwrap();
        assert_eq!((counts.requests, counts.sectors, counts.ideal_sectors, counts.redundant_bytes), want);
    };
    check(thread(), (1, 4, 4, 0));
    check(thread() + c(1), (1, 5, 4, 0));
    check(thread() * c(32), (1, 32, 4, 0));
    check(c(31) - thread(), (1, 4, 4, 0));
    check(div(thread(), 4), (1, 1, 1, 96));
}
