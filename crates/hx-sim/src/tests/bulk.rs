//! Tests bulk copies: boxes, swizzles, edges, groups, and the reads of shared memory in flight.

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_index::Expr;
use hx_target::SwizzleMode;
use hx_thread::{Address, BulkStore, Fence, Leaf, Memory, Part, RegId, Stmt, TensorMap};

use super::build::*;
use crate::Argument;

/// Rows and columns of the tensor. Neither is a multiple of the box's; a row ends at a multiple of 16 bytes.
const ROWS: i64 = 12;
const COLUMNS: i64 = 48;
/// Distance of two rows in elements, a multiple of 16 bytes.
const LD: i64 = 56;
const BOX: [u32; 2] = [32, 8];

/// Returns the map of the tensor at `param`.
fn map(param: u32, swizzle: SwizzleMode) -> TensorMap {
    TensorMap {
        dims: vec![c(COLUMNS), c(ROWS)],
        strides: vec![c(LD * 2)],
        extents: BOX.to_vec(),
        swizzle: swizzle.in_map(),
        ..TensorMap::plain(param, "y", DType::F16)
    }
}

/// A kernel of 32 threads that fills a box in shared memory, 8 elements a thread and step, and stores it under a swizzle.
struct Stored {
    k: Kernel,
    s: Memory,
    r: RegId,
    swizzle: SwizzleMode,
}

fn stored(swizzle: SwizzleMode) -> Stored {
    let mut k = Kernel::new(32);
    k.output("y", DType::F16, &[ROWS, COLUMNS], &[LD, 1]);
    let s = k.shared("s", DType::F16, BOX[0] * BOX[1]);
    let r = k.registers("r", DType::F16, 8);
    k.program.maps.push(map(0, swizzle));
    Stored { k, s, r, swizzle }
}

impl Stored {
    /// Writes `number` to 8 elements of each thread, so that the box is full.
    fn fill(&mut self, number: f64) {
        let bits = DType::F16.encode(number);
        let store = transfer("st.shared.v4.b32", first(self.r, 8), self.s, thread() * c(8));
        self.k.op("copy(r, s)", vec![fill(first(self.r, 8), bits), store]);
    }

    /// Passes a barrier, behind a fence of the threads that wrote.
    fn sync(&mut self) {
        self.k.push(Stmt::Leaf(Leaf::Fence(Fence::Proxy)));
        self.k.push(Stmt::Leaf(Leaf::Barrier));
    }

    fn store(&mut self, row: &str, coordinates: [i64; 2]) {
        self.store_part(row, Part::Box { map: 0, coordinates: coordinates.map(c).to_vec() });
    }

    /// Stores a run that begins at an element of the tensor's memory.
    fn store_run(&mut self, offset: i64, elements: u32) {
        let first = Address { memory: Memory::Global(0), offset: c(offset) };
        self.store_part("bulk.store", Part::Run { first, elements });
    }

    fn store_part(&mut self, row: &str, to: Part) {
        let store = BulkStore {
            row: hx_target::row(row),
            to,
            address: Address { memory: self.s, offset: c(0) },
            cache: hx_target::Cache::default(),
        };
        self.k.op("copy_async(s, y)", vec![Stmt::Leaf(Leaf::BulkStore(store)), Stmt::Leaf(Leaf::BulkCommit)]);
    }

    fn wait(&mut self, leave: u32) {
        self.k.op("wait_stores()", vec![Stmt::Leaf(Leaf::BulkWait { leave, read: true })]);
    }

    /// Waits for the writes of stores, not only for their reads of shared memory.
    fn complete(&mut self, leave: u32) {
        self.k.op("wait_stores(read: false)", vec![Stmt::Leaf(Leaf::BulkWait { leave, read: false })]);
    }

    /// Each thread loads 8 elements of a row, from the left.
    fn load(&mut self, row: i64) {
        let load = guarded(
            "ld.global.v4.b32",
            first(self.r, 8),
            y(),
            c(row * LD) + thread() * c(8),
            lt(thread(), c(4)),
            0,
        );
        self.k.op("load(y)", vec![load]);
    }

    fn check(&self, want: Expect) {
        let mut arguments = [zeros()];
        let text = match self.k.run(&mut arguments) {
            Ok(_) => picture(&arguments[0]),
            failed => error_text(failed),
        };
        want.assert_eq(&text);
    }
}

fn y() -> Memory {
    Memory::Global(0)
}

fn zeros() -> Argument {
    tensor(DType::F16, &[ROWS, COLUMNS], &[LD, 1], &vec![0.0; (LD * ROWS) as usize])
}

/// Draws a matrix: a digit for each element.
fn picture(argument: &Argument) -> String {
    let all = values(DType::F16, argument);
    let mut out = String::new();
    for row in all.chunks(LD as usize) {
        row[..COLUMNS as usize].iter().for_each(|x| out += &format!("{x}"));
        out.push('\n');
    }
    out
}

#[test]
fn a_box_stops_at_the_edges_of_the_tensor() {
    let mut stored = stored(SwizzleMode::Bytes64);
    stored.fill(1.0);
    stored.sync();
    stored.store("tma.store", [32, 8]);
    stored.complete(0);
    stored.store("tma.store", [0, 0]);
    stored.complete(0);
    stored.store("tma.reduce.add", [8, 1]);
    stored.wait(0);
    stored.check(expect![[r#"
        111111111111111111111111111111110000000000000000
        111111112222222222222222222222221111111100000000
        111111112222222222222222222222221111111100000000
        111111112222222222222222222222221111111100000000
        111111112222222222222222222222221111111100000000
        111111112222222222222222222222221111111100000000
        111111112222222222222222222222221111111100000000
        111111112222222222222222222222221111111100000000
        000000001111111111111111111111112222222211111111
        000000000000000000000000000000001111111111111111
        000000000000000000000000000000001111111111111111
        000000000000000000000000000000001111111111111111
    "#]]);
}

/// On a GPU the first case is an illegal instruction, and in the others the store writes behind the ends of rows.
#[test]
fn a_box_begins_and_ends_at_multiples_of_16_bytes() {
    let check = |columns, row: &str, coordinates, want: Expect| {
        let mut stored = stored(SwizzleMode::Plain);
        stored.k.program.maps[0].dims[0] = c(columns);
        stored.fill(1.0);
        stored.sync();
        stored.store(row, coordinates);
        stored.check(want);
    };
    check(
        COLUMNS,
        "tma.store",
        [4, 0],
        expect![[r#"
            a box at byte 8 of the rows of its tensor, which is not a multiple of 16
              block [0, 0, 0], #1 `copy_async(s, y)`
        "#]],
    );
    check(
        COLUMNS,
        "tma.store",
        [0, -1],
        expect![[r#"
        a box is written at coordinate -1: a GPU takes none below 0
          block [0, 0, 0], #1 `copy_async(s, y)`
    "#]],
    );
    check(
        COLUMNS,
        "tma.reduce.add",
        [-8, 0],
        expect![[r#"
        a box is written at coordinate -8: a GPU takes none below 0
          block [0, 0, 0], #1 `copy_async(s, y)`
    "#]],
    );
    check(
        COLUMNS - 1,
        "tma.store",
        [32, 0],
        expect![[r#"
        a box writes 2 bytes behind byte 94 of its tensor, where a row of 94 bytes ends
          block [0, 0, 0], #1 `copy_async(s, y)`
    "#]],
    );
    check(
        COLUMNS - 6,
        "tma.reduce.add",
        [16, 4],
        expect![[r#"
        a box writes 12 bytes behind byte 532 of its tensor, where a row of 84 bytes ends
          block [0, 0, 0], #1 `copy_async(s, y)`
    "#]],
    );
}

/// A run goes on from row to row, and each end of it is a multiple of 16 bytes inside of the tensor.
#[test]
fn a_run_knows_no_rows() {
    let check = |offset, elements, want: Expect| {
        let mut stored = stored(SwizzleMode::Plain);
        stored.fill(1.0);
        stored.sync();
        stored.store_run(offset, elements);
        stored.check(want);
    };
    check(
        2 * LD + 40,
        24,
        expect![[r#"
            000000000000000000000000000000000000000000000000
            000000000000000000000000000000000000000000000000
            000000000000000000000000000000000000000011111111
            111111110000000000000000000000000000000000000000
            000000000000000000000000000000000000000000000000
            000000000000000000000000000000000000000000000000
            000000000000000000000000000000000000000000000000
            000000000000000000000000000000000000000000000000
            000000000000000000000000000000000000000000000000
            000000000000000000000000000000000000000000000000
            000000000000000000000000000000000000000000000000
            000000000000000000000000000000000000000000000000
        "#]],
    );
    check(
        4,
        24,
        expect![[r#"
        a run from byte 8 of its tensor to byte 0 of shared memory
          block [0, 0, 0], #1 `copy_async(s, y)`
    "#]],
    );
    check(
        LD * ROWS - 16,
        24,
        expect![[r#"
        a copy reaches byte 1344 of a tensor of 1344 bytes
          block [0, 0, 0], #1 `copy_async(s, y)`
    "#]],
    );
    check(
        -8,
        24,
        expect![[r#"
        a run from byte -16 of its tensor to byte 0 of shared memory
          block [0, 0, 0], #1 `copy_async(s, y)`
    "#]],
    );
    check(
        0,
        12,
        expect![[r#"
        `bulk.store` copies 24 bytes, no multiple of 16
          #1 `copy_async(s, y)`
    "#]],
    );
    check(
        0,
        264,
        expect![[r#"
        528 bytes are copied at element 0 of `s`
          block [0, 0, 0], #1 `copy_async(s, y)`
    "#]],
    );
    let mut stored = stored(SwizzleMode::Plain);
    let first = Address { memory: Memory::Global(0), offset: c(0) };
    stored.store_part("tma.store", Part::Run { first, elements: 8 });
    stored.check(expect![[r#"
        `tma.store` does not copy this part of a tensor
          #0 `copy_async(s, y)`
    "#]]);
}

/// Element `(row, column)` lies at the place that the swizzle gives to its place without one.
#[test]
fn the_elements_of_a_box_are_swizzled() {
    for swizzle in [SwizzleMode::Plain, SwizzleMode::Bytes64] {
        let mut stored = stored(swizzle);
        let bits = swizzle.of_elements(16).unwrap();
        for (step, place) in (0..i64::from(BOX[0] * BOX[1])).step_by(8).enumerate() {
            let number = DType::F16.encode(step as f64);
            let address = if swizzle == stored.swizzle { bits.apply(place) } else { place };
            let store =
                guarded("st.shared.v4.b32", first(stored.r, 8), stored.s, c(address), lt(thread(), c(1)), 0);
            stored.k.op("copy(r, s)", vec![fill(first(stored.r, 8), number), store]);
        }
        stored.sync();
        stored.store("tma.store", [0, 0]);
        stored.wait(0);
        let mut arguments = [zeros()];
        stored.k.run(&mut arguments).unwrap();
        let all = values(DType::F16, &arguments[0]);
        for row in 0..BOX[1] as usize {
            for column in 0..BOX[0] as usize {
                let want = (row * BOX[0] as usize + column) / 8;
                assert_eq!(all[row * LD as usize + column], want as f64, "{swizzle:?} {row} {column}");
            }
        }
    }
}

#[test]
fn what_a_store_reads_is_written_after_its_wait_and_a_barrier() {
    let build = |steps: &dyn Fn(&mut Stored)| {
        let mut stored = stored(SwizzleMode::Bytes64);
        stored.fill(1.0);
        stored.sync();
        stored.store("tma.store", [0, 0]);
        steps(&mut stored);
        stored.fill(2.0);
        stored
    };
    build(&|s| s.k.push(Stmt::Leaf(Leaf::Barrier))).check(expect![[r#"
        writes element 0 of the shared tensor `s`, which the store by thread 0 in #1 `copy_async(s, y)` may still read
          thread 0, block [0, 0, 0], #2 `copy(r, s)`
    "#]]);
    build(&|s| s.wait(0)).check(expect![[r#"
        writes element 8 of the shared tensor `s`, which thread 0 read in #1 `copy_async(s, y)`, with no barrier in between
          thread 1, block [0, 0, 0], #3 `copy(r, s)`
    "#]]);
    build(&|s| {
        s.wait(1);
        s.k.push(Stmt::Leaf(Leaf::Barrier));
    })
    .check(expect![[r#"
        writes element 0 of the shared tensor `s`, which the store by thread 0 in #1 `copy_async(s, y)` may still read
          thread 0, block [0, 0, 0], #3 `copy(r, s)`
    "#]]);
    build(&|s| {
        s.wait(0);
        s.k.push(Stmt::Leaf(Leaf::Barrier));
    })
    .check(expect![[r#"
        111111111111111111111111111111110000000000000000
        111111111111111111111111111111110000000000000000
        111111111111111111111111111111110000000000000000
        111111111111111111111111111111110000000000000000
        111111111111111111111111111111110000000000000000
        111111111111111111111111111111110000000000000000
        111111111111111111111111111111110000000000000000
        111111111111111111111111111111110000000000000000
        000000000000000000000000000000000000000000000000
        000000000000000000000000000000000000000000000000
        000000000000000000000000000000000000000000000000
        000000000000000000000000000000000000000000000000
    "#]]);
}

#[test]
fn what_a_store_writes_is_there_after_a_wait_for_its_writes_and_a_barrier() {
    let check = |row: &str, steps: &dyn Fn(&mut Stored), want: Expect| {
        let mut stored = stored(SwizzleMode::Bytes64);
        stored.fill(1.0);
        stored.sync();
        stored.store(row, [0, 0]);
        steps(&mut stored);
        let mut arguments = [zeros()];
        let text = stored.k.run(&mut arguments).map_or_else(|e| error_text(Err(e)), |_| "right".to_owned());
        want.assert_eq(&text);
    };
    let barrier = |s: &mut Stored| s.k.push(Stmt::Leaf(Leaf::Barrier));
    check(
        "tma.store",
        &|s| {
            s.wait(0);
            barrier(s);
            s.load(0);
        },
        expect![[r#"
            reads element 0 ([0, 0]) of `y` before the store to it by thread 0 in #1 `copy_async(s, y)` is complete
              thread 0, block [0, 0, 0], #3 `load(y)`
        "#]],
    );
    check(
        "tma.store",
        &|s| {
            s.complete(1);
            barrier(s);
            s.load(0);
        },
        expect![[r#"
            reads element 0 ([0, 0]) of `y` before the store to it by thread 0 in #1 `copy_async(s, y)` is complete
              thread 0, block [0, 0, 0], #3 `load(y)`
        "#]],
    );
    check(
        "tma.store",
        &|s| {
            s.complete(0);
            s.load(0);
        },
        expect![[r#"
            reads element 8 ([0, 8]) of `y`, which thread 0 wrote in #1 `copy_async(s, y)`, with no barrier in between
              thread 1, block [0, 0, 0], #3 `load(y)`
        "#]],
    );
    check(
        "tma.store",
        &|s| {
            s.complete(0);
            barrier(s);
            s.load(0);
        },
        expect!["right"],
    );
    // The elements that the box leaves alone are not in flight.
    check("tma.store", &|s| s.load(9), expect!["right"]);
    // The second store may come first, unless both add.
    check(
        "tma.store",
        &|s| s.store("tma.store", [8, 0]),
        expect![[r#"
        writes element 8 ([0, 8]) of `y` before the store to it by thread 0 in #1 `copy_async(s, y)` is complete
          thread 0, block [0, 0, 0], #2 `copy_async(s, y)`
    "#]],
    );
    check("tma.store", &|s| s.store("tma.store", [32, 0]), expect!["right"]);
    check(
        "tma.store",
        &|s| s.store("tma.reduce.add", [8, 0]),
        expect![[r#"
        updates element 8 ([0, 8]) of `y` before the store to it by thread 0 in #1 `copy_async(s, y)` is complete
          thread 0, block [0, 0, 0], #2 `copy_async(s, y)`
    "#]],
    );
    check(
        "tma.reduce.add",
        &|s| s.store("tma.store", [8, 0]),
        expect![[r#"
        writes element 8 ([0, 8]) of `y` before the store to it by thread 0 in #1 `copy_async(s, y)` is complete
          thread 0, block [0, 0, 0], #2 `copy_async(s, y)`
    "#]],
    );
    check("tma.reduce.add", &|s| s.store("tma.reduce.add", [8, 0]), expect!["right"]);
    // A wait for reads leaves the store in flight, and so does a wait for writes that leaves one group.
    check(
        "tma.reduce.add",
        &|s| {
            s.store("tma.reduce.add", [8, 0]);
            s.wait(0);
            s.complete(1);
            barrier(s);
            s.load(0);
        },
        expect![[r#"
            reads element 8 ([0, 8]) of `y` before the store to it by thread 0 in #2 `copy_async(s, y)` is complete
              thread 1, block [0, 0, 0], #5 `load(y)`
        "#]],
    );
}

/// A store of threads is ordered before a bulk store to the same elements by a fence and a barrier.
#[test]
fn a_bulk_store_comes_behind_a_fence_of_the_threads_that_accessed_the_elements() {
    let build = |fence: bool| {
        let mut stored = stored(SwizzleMode::Bytes64);
        stored.fill(1.0);
        stored.sync();
        stored.load(0);
        if fence {
            stored.k.push(Stmt::Leaf(Leaf::Fence(Fence::GlobalProxy)));
        }
        stored.k.push(Stmt::Leaf(Leaf::Barrier));
        stored.store("tma.store", [0, 0]);
        let mut arguments = [zeros()];
        stored.k.run(&mut arguments).map_or_else(|e| error_text(Err(e)), |_| "right".to_owned())
    };
    expect![[r#"
        no fence of thread 1 stands between its access to `y` in `load(y)` and the bulk store to it
          thread 0, block [0, 0, 0], #2 `copy_async(s, y)`
    "#]]
    .assert_eq(&build(false));
    assert_eq!(build(true), "right");
}

#[test]
fn a_store_reads_what_a_barrier_has_ordered() {
    let mut early = stored(SwizzleMode::Bytes64);
    early.fill(1.0);
    early.store("tma.store", [0, 0]);
    early.check(expect![[r#"
        reads element 8 of the shared tensor `s`, which thread 1 wrote in #0 `copy(r, s)`, with no barrier in between
          thread 0, block [0, 0, 0], #1 `copy_async(s, y)`
    "#]]);
    let mut empty = stored(SwizzleMode::Bytes64);
    empty.store("tma.store", [0, 0]);
    empty.check(expect![[r#"
        reads byte 0 (element 0) of the shared tensor `s`, which was never written
          thread 0, block [0, 0, 0], #0 `copy_async(s, y)`
    "#]]);
}

#[test]
fn a_map_keeps_its_limits() {
    let check = |change: &dyn Fn(&mut TensorMap), want: Expect| {
        let mut stored = stored(SwizzleMode::Bytes64);
        change(&mut stored.k.program.maps[0]);
        want.assert_eq(&stored.k.error(&mut [zeros()]));
    };
    let stride = |expr: Expr| move |m: &mut TensorMap| m.strides = vec![expr.clone()];
    check(
        &stride(c(104)),
        expect!["the stride `104` of `y` is 104 bytes, and bulk copies take multiples of 16"],
    );
    check(
        &|m| m.extents = vec![16, 8],
        expect!["a row of a box of `y` has 32 bytes, and bulk copies take 64 with the 64 B swizzle"],
    );
    check(
        &|m| m.extents = vec![32, 257],
        expect!["a box of `y` has 257 elements along a dimension, and bulk copies take at most 256"],
    );
    check(&|m| m.dims = vec![c(1); 6], expect!["`y` has 6 dimensions in bulk copies, which take 1 to 5"]);
}

/// Stores 256 elements of `u4` that are 3, from shared memory to a tensor of zeros with rows of 96 elements, by a map of `element`.
fn check_packed(element: DType, row: &str, to: Part, want: Expect) {
    let mut k = Kernel::new(32);
    k.output("y", DType::U4, &[6, 96], &[96, 1]);
    let s = k.shared("s", DType::U4, 256);
    let r = k.registers("r", DType::U4, 8);
    k.program.maps.push(TensorMap {
        dims: vec![c(48), c(6)],
        strides: vec![c(48)],
        extents: vec![32, 4],
        swizzle: 32,
        ..TensorMap::plain(0, "y", element)
    });
    let write = transfer("st.shared.b32", first(r, 8), s, thread() * c(8));
    k.op("copy(r, s)", vec![fill(first(r, 8), 3), write]);
    k.push(Stmt::Leaf(Leaf::Fence(Fence::Proxy)));
    k.push(Stmt::Leaf(Leaf::Barrier));
    let (row, address) = (hx_target::row(row), Address { memory: s, offset: c(0) });
    let store = BulkStore { row, to, address, cache: hx_target::Cache::default() };
    k.op("copy_async(s, y)", vec![Stmt::Leaf(Leaf::BulkStore(store)), Stmt::Leaf(Leaf::BulkCommit)]);
    k.op("wait_stores(0)", vec![Stmt::Leaf(Leaf::BulkWait { leave: 0, read: true })]);
    let mut arguments = [tensor(DType::U4, &[6, 96], &[96, 1], &[0.0; 6 * 96])];
    let text = match k.run(&mut arguments) {
        Ok(_) => {
            let all = values(DType::U4, &arguments[0]);
            let row = |row: &[f64]| {
                format!(
                    "{} of 3, from {:?} on\n",
                    row.iter().sum::<f64>() / 3.0,
                    row.iter().position(|x| *x == 3.0)
                )
            };
            all.chunks(96).map(row).collect()
        }
        failed => error_text(failed),
    };
    want.assert_eq(&text);
}

#[test]
fn elements_narrower_than_a_byte_move_as_bytes() {
    let boxed = |coordinates: [i64; 2]| Part::Box { map: 0, coordinates: coordinates.map(c).to_vec() };
    let run = |offset| Part::Run { first: Address { memory: y(), offset: c(offset) }, elements: 256 };
    // Half of the box is past the end of the rows.
    check_packed(
        DType::U8,
        "tma.store",
        boxed([32, 3]),
        expect![[r#"
        0 of 3, from None on
        0 of 3, from None on
        0 of 3, from None on
        32 of 3, from Some(64) on
        32 of 3, from Some(64) on
        32 of 3, from Some(64) on
    "#]],
    );
    check_packed(
        DType::U8,
        "bulk.store",
        run(64),
        expect![[r#"
        32 of 3, from Some(64) on
        96 of 3, from Some(0) on
        96 of 3, from Some(0) on
        32 of 3, from Some(0) on
        0 of 3, from None on
        0 of 3, from None on
    "#]],
    );
    check_packed(
        DType::U8,
        "bulk.store",
        run(33),
        expect![[r#"
        a run begins within a byte, at element 33 of its tensor
          block [0, 0, 0], #1 `copy_async(s, y)`
    "#]],
    );
    check_packed(
        DType::U8,
        "bulk.store",
        run(16),
        expect![[r#"
        a run from byte 8 of its tensor to byte 0 of shared memory
          block [0, 0, 0], #1 `copy_async(s, y)`
    "#]],
    );
    check_packed(
        DType::U8,
        "tma.store",
        boxed([8, 0]),
        expect![[r#"
        a box at byte 8 of the rows of its tensor, which is not a multiple of 16
          block [0, 0, 0], #1 `copy_async(s, y)`
    "#]],
    );
    check_packed(
        DType::U4,
        "tma.store",
        boxed([0, 0]),
        expect!["`y` has elements of 4 bits, and bulk copies take whole bytes"],
    );
}
