//! The text of bulk copies and of the tensor maps that they address.

use expect_test::expect_file;
use hx_dtype::DType;
use hx_index::{Expr, Facts};
use hx_target::SwizzleMode;
use hx_thread::{Address, BulkStore, Fence, Memory, Outside, SharedBuffer, Stmt, TensorMap, ThreadProgram};

use crate::build::*;
use crate::text;

/// A kernel that fills a box in shared memory and stores it: each block one tile.
fn stored() -> ThreadProgram {
    let boxed = |row: &str, column: Expr| {
        Stmt::BulkStore(BulkStore {
            row: row.into(),
            map: 0,
            coordinates: vec![column, block(1).scale(16)],
            address: Address { memory: Memory::Shared(0), offset: c(0) },
        })
    };
    let registers = regs(0, c(0), 0..8);
    let write = store(16, registers.clone(), Memory::Shared(0), thread().scale(8));
    let program = kernel(
        "bulk_store",
        vec![tensor("y", DType::F16, true, &[dim("m"), dim("n")], &[dim("n"), c(1)])],
        &["m", "n"],
        vec![dim("n").ceil_div(&c(64), &Facts::default()), dim("m").ceil_div(&c(16), &Facts::default())],
        vec![array("r", DType::F16, 8)],
        vec![
            group(0, "fill(r, 1.0)", vec![fill(registers, DType::F16.encode(1.0))]),
            group(1, "copy(r, s)", vec![Stmt::Transfer(write)]),
            Stmt::Fence(Fence::Proxy),
            Stmt::Barrier,
            group(2, "copy_async(s, y)", vec![boxed("tma.store", block(0).scale(64)), Stmt::BulkCommit]),
            group(3, "wait_stores(1)", vec![Stmt::BulkWait { leave: 1, read: true }]),
            group(4, "add", vec![boxed("tma.reduce.add", c(0)), Stmt::BulkCommit]),
            Stmt::BulkWait { leave: 0, read: false },
        ],
    );
    ThreadProgram {
        shared: vec![SharedBuffer { name: "s".into(), dtype: DType::F16, offset: 0, bytes: 2048 }],
        shared_bytes: 2048,
        cluster: [2, 1, 1],
        maps: vec![TensorMap {
            param: 0,
            dims: vec![dim("n"), dim("m")],
            strides: vec![dim("n").scale(2)],
            extents: vec![64, 16],
            swizzle: SwizzleMode::Bytes128,
            l2: 128,
            fill: Outside::Zero,
        }],
        ..program
    }
}

#[test]
fn a_box_is_stored() {
    let golden = format!("{}/tests/golden_sm_90a/bulk_store.cu", env!("CARGO_MANIFEST_DIR"));
    expect_file![golden].assert_eq(&text(&stored()));
}
