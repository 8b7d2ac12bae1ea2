//! Every instruction that moves bytes requires addresses at multiples of its width, and the simulator reports each misaligned
//! address.

use hx_dtype::DType;
use hx_index::Expr;
use hx_target::{CopyRow, Space, Target};
use hx_thread::{Leaf, Memory, Stmt};

use super::build::*;

const THREADS: u32 = 32;

/// Element types, narrow ones first: an access covers several narrow elements.
const TYPES: [DType; 9] = [
    DType::U4,
    DType::U8,
    DType::F16,
    DType::Bf16,
    DType::I32,
    DType::U32,
    DType::F32,
    DType::U64,
    DType::F64,
];

/// Returns the error of one instruction executed by each thread. The addresses begin `from` elements after multiples of the
/// access for the source (or the only address), `to` elements after for the destination of an asynchronous copy.
fn run(row: &CopyRow, dtype: DType, [from, to]: [i64; 2]) -> String {
    let atom = row.atom(dtype).expect("the row moves such elements");
    let len = atom.access * i64::from(THREADS + 1);
    let mut k = Kernel::new(THREADS);
    let a = k.output("a", dtype, &[len], &[1]);
    let s = k.shared("s", dtype, len as u32);
    let r = k.registers("r", dtype, atom.values as u32);
    let held = || first(r, atom.values as u32);
    let place = |after: i64| -> Expr { thread() * c(atom.access) + c(after) };
    if row.is_async() {
        let copy = async_copy(&row.name, (a, place(from)), (s, place(to)));
        k.op("copy_async(a, s)", vec![Stmt::Leaf(Leaf::AsyncCopy(copy))]);
    } else {
        let memory = if row.memory_space() == Space::Global { a } else { s };
        if row.is_load() && memory == s {
            written(&mut k, s, dtype, len);
        }
        let mut body = vec![];
        if !row.is_load() {
            body.push(fill(held(), 0));
        }
        body.push(transfer(&row.name, held(), memory, place(from)));
        k.op("copy", body);
    }
    k.error(&mut [vector(dtype, &vec![0.0; len as usize])])
}

/// Writes every element of the shared tensor. Each is written by the thread that reads most of its row.
fn written(k: &mut Kernel, s: Memory, dtype: DType, len: i64) {
    let bits = i64::from(dtype.bits());
    let each = (8 / bits).max(1);
    let row = match bits.max(8) {
        8 => "st.shared.b8",
        16 => "st.shared.b16",
        32 => "st.shared.b32",
        _ => "st.shared.v2.b32",
    };
    let r = k.registers("zero", dtype, each as u32);
    let share = len / each / i64::from(THREADS) + 1;
    for i in 0..share {
        let at = (thread() * c(share) + c(i)) * c(each);
        let inside = lt(at.clone(), c(len));
        let store = guarded(row, first(r, each as u32), s, at, inside, 0);
        k.op("fill", vec![fill(first(r, each as u32), 0), store]);
    }
    k.push(Stmt::Leaf(Leaf::Barrier));
}

#[test]
fn every_instruction_wants_aligned_addresses() {
    let mut shifted = Vec::new();
    for row in &Target::usual().rows().copies {
        let fits = |dtype: &DType| {
            row.atom(*dtype).is_some_and(|atom| atom.access > 1)
                && row.atomic.is_none_or(|form| form.dtype == *dtype)
        };
        // Rows with single-element accesses are skipped: single elements are aligned at every position.
        let Some(dtype) = TYPES.into_iter().find(fits) else { continue };
        assert_eq!(run(row, dtype, [0, 0]), "no error", "{} of {dtype}", row.name);
        let ends: &[[i64; 2]] = if row.is_async() { &[[1, 0], [0, 1]] } else { &[[1, 0]] };
        for after in ends {
            let found = run(row, dtype, *after);
            let want = format!("which is not a multiple of the {} bytes of the access", row.access);
            assert!(found.contains(&want), "{} of {dtype}: {found}", row.name);
        }
        shifted.push(row.name.as_str());
    }
    let has = |part: &str| shifted.iter().any(|name| name.contains(part));
    let kinds = ["ld.global", "st.global", "ld.shared", "st.shared", "matrix", ".trans", "async", "red."];
    let missing: Vec<&str> = kinds.into_iter().filter(|part| !has(part)).collect();
    assert!(missing.is_empty(), "{missing:?} of {shifted:?}");
}
