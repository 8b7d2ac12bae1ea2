//! The text of bulk copies and of the tensor maps that they address.

use expect_test::expect_file;
use hx_dtype::DType;
use hx_index::{Expr, Facts};
use hx_thread::{
    Address, Arrivals, Barrier, BarrierKind, Bulk, BulkStore, Control, Fence, Leaf, Memory, Part,
    SharedBuffer, Stmt, TensorMap, ThreadProgram, Waiters,
};
use hx_tile::Origin;

use crate::build::*;
use crate::text;

/// A kernel that fills a box in shared memory and stores it: each block one tile.
fn stored() -> ThreadProgram {
    let boxed = |row: &str, column: Expr| {
        Stmt::Leaf(Leaf::BulkStore(BulkStore {
            row: hx_target::row(row),
            to: Part::Box { map: 0, coordinates: vec![column, block(1).scale(16)] },
            address: Address { memory: Memory::Shared(0), offset: c(0) },
            cache: hx_target::Cache::default(),
        }))
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
            group(1, "copy(r, s)", vec![Stmt::Leaf(Leaf::Transfer(write))]),
            Stmt::Leaf(Leaf::Fence(Fence::Proxy)),
            Stmt::Leaf(Leaf::Barrier),
            group(
                2,
                "copy_async(s, y)",
                vec![boxed("tma.store", block(0).scale(64)), Stmt::Leaf(Leaf::BulkCommit)],
            ),
            group(3, "wait_stores(1)", vec![Stmt::Leaf(Leaf::BulkWait { leave: 1, read: true })]),
            group(4, "add", vec![boxed("tma.reduce.add", c(0)), Stmt::Leaf(Leaf::BulkCommit)]),
            Stmt::Leaf(Leaf::BulkWait { leave: 0, read: false }),
        ],
    );
    ThreadProgram {
        shared: vec![SharedBuffer { name: "s".into(), dtype: DType::F16, offset: 0, bytes: 2048 }],
        shared_bytes: 2048,
        cluster: [2, 1, 1],
        maps: vec![TensorMap {
            dims: vec![dim("n"), dim("m")],
            strides: vec![dim("n").scale(2)],
            extents: vec![64, 16],
            swizzle: 128,
            l2: 128,
            ..TensorMap::plain(0, "y", DType::F16)
        }],
        ..program
    }
}

/// A kernel that loads two boxes of a tensor of rank 3 into each stage of a ring, and their sum into the tensor.
fn loaded() -> ThreadProgram {
    let barrier = |kind, at| Barrier {
        kind,
        pipe: "p".into(),
        stages: 2,
        count: 1,
        at,
        origin: Origin(0),
        sums: false,
    };
    let stage = || Expr::symbol(var("s", 0));
    let boxed = |row: i64| {
        Stmt::Leaf(Leaf::Bulk(Bulk {
            row: hx_target::row("tma.load"),
            from: Part::Box { map: 0, coordinates: vec![block(0).scale(64), c(row), block(1)] },
            address: Address { memory: Memory::Shared(0), offset: stage().scale(1024) + c(64 * row) },
            barrier: (0, stage()),
            blocks: Vec::new(),
            cache: hx_target::Cache::default(),
        }))
    };
    let expect = Stmt::Leaf(Leaf::Expect { barrier: 0, index: stage(), bytes: 2048 });
    let wait = Stmt::Leaf(Leaf::Await { barrier: 0, index: stage(), parity: c(0), by: Waiters::All });
    let registers = regs(0, c(0), 0..8);
    let read = load(16, registers.clone(), Memory::Shared(0), stage().scale(1024) + thread().scale(8));
    let write = store(16, registers, Memory::Global(1), thread().scale(8));
    let release =
        Stmt::Leaf(Leaf::Arrive { barrier: 1, index: stage(), by: Arrivals::Groups, blocks: Vec::new() });
    let program = kernel(
        "bulk_load",
        vec![
            tensor(
                "x",
                DType::F16,
                false,
                &[dim("b"), dim("m"), dim("n")],
                &[dim("m") * dim("n"), dim("n"), c(1)],
            ),
            tensor("y", DType::F16, true, &[c(1024)], &[c(1)]),
        ],
        &["b", "m", "n"],
        vec![dim("n").ceil_div(&c(64), &Facts::default()), dim("b")],
        vec![array("r", DType::F16, 8)],
        vec![
            Stmt::Leaf(Leaf::Let { var: var("s", 0), value: block(1).rem(&c(2), &Facts::default()) }),
            group(0, "expect 2048 bytes for p", vec![expect]),
            group(1, "copy_async(x, a, signal: p)", vec![boxed(0), boxed(8)]),
            group(2, "p.wait()", vec![wait]),
            group(3, "copy(a, y)", vec![Stmt::Leaf(Leaf::Transfer(read)), Stmt::Leaf(Leaf::Transfer(write))]),
            Stmt::Leaf(Leaf::Fence(Fence::Proxy)),
            group(4, "p.release()", vec![release]),
        ],
    );
    ThreadProgram {
        shared: vec![SharedBuffer { name: "a".into(), dtype: DType::F16, offset: 0, bytes: 4096 }],
        shared_bytes: 4128,
        barriers: vec![barrier(BarrierKind::Full, 4096), barrier(BarrierKind::Empty, 4112)],
        maps: vec![TensorMap {
            dims: vec![dim("n"), dim("m"), dim("b")],
            strides: vec![dim("n").scale(2), (dim("m") * dim("n")).scale(2)],
            extents: vec![64, 8, 1],
            swizzle: 128,
            l2: 128,
            ..TensorMap::plain(0, "y", DType::F16)
        }],
        ..program
    }
}

/// The kernel of [`loaded`] in clusters of two by two blocks: the boxes go to the blocks along the first axis, and the stages are
/// given back to the blocks along both.
fn shared() -> ThreadProgram {
    let place = |axis: u8| block(axis).rem(&c(2), &Facts::default());
    let along = |at: i64| place(1).scale(2) + c(at);
    let mut program = loaded();
    program.name = "bulk_multicast".into();
    program.cluster = [2, 2, 1];
    for stmt in &mut program.body {
        let Stmt::Control(Control::Group(group)) = stmt else { continue };
        for stmt in &mut group.body {
            if let Stmt::Leaf(Leaf::Bulk(copy)) = stmt {
                copy.blocks = vec![along(0), along(1)];
            } else if let Stmt::Leaf(Leaf::Arrive { blocks, .. }) = stmt {
                let other = (place(1) + c(1)).rem(&c(2), &Facts::default());
                *blocks = vec![along(0), along(1), other.scale(2) + place(0)];
            }
        }
    }
    program
}

#[test]
fn boxes_are_stored_and_loaded() {
    let programs = [
        ("bulk_store", stored()),
        ("bulk_load", loaded()),
        ("bulk_multicast", shared()),
        ("bulk_packed", packed()),
    ];
    for (name, program) in programs {
        let golden = format!("{}/tests/golden_sm_90a/{name}.cu", env!("CARGO_MANIFEST_DIR"));
        expect_file![golden].assert_eq(&text(&program));
    }
}

/// Elements narrower than a byte: a map of bytes, and a run whose address and length are half as large as its elements.
fn packed() -> ThreadProgram {
    let mut program = stored();
    program.name = "bulk_packed".into();
    let (shape, stride) = ([dim("m"), dim("n")], [dim("n"), c(1)]);
    program.params = vec![tensor("y", DType::U4, true, &shape, &stride)];
    program.registers = vec![array("r", DType::U4, 32)];
    let registers = regs(0, c(0), 0..32);
    let write = store(16, registers.clone(), Memory::Shared(0), thread().scale(32));
    program.body[0] = group(0, "fill(r, 1)", vec![fill(registers, 1)]);
    program.body[1] = group(1, "copy(r, s)", vec![Stmt::Leaf(Leaf::Transfer(write))]);
    program.shared[0].dtype = DType::U4;
    program.maps = vec![TensorMap {
        dims: vec![dim("n").div(&c(2), &Facts::default()), dim("m")],
        strides: vec![dim("n").div(&c(2), &Facts::default())],
        extents: vec![128, 16],
        swizzle: 128,
        l2: 128,
        ..TensorMap::plain(0, "y", DType::U8)
    }];
    let run = Stmt::Leaf(Leaf::BulkStore(BulkStore {
        row: hx_target::row("bulk.store"),
        to: Part::Run {
            first: Address { memory: Memory::Global(0), offset: block(0).scale(512) },
            elements: 512,
        },
        address: Address { memory: Memory::Shared(0), offset: c(1024) },
        cache: hx_target::Cache::default(),
    }));
    program.body.truncate(6);
    program.body.push(group(4, "copy_async(s, y)", vec![run, Stmt::Leaf(Leaf::BulkCommit)]));
    program.body.push(Stmt::Leaf(Leaf::BulkWait { leave: 0, read: false }));
    program
}
