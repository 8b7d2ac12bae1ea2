//! Tests bulk loads: zeros outside of the tensor, the bytes that a phase waits for, and the order with accesses of threads.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_index::{Expr, Symbol};
use hx_thread::{
    Address, Arrivals, Barrier, BarrierKind, Bulk, Fence, Leaf, Memory, Part, RegId, SendChunk, Stmt,
    TensorMap, Waiters,
};
use hx_tile::Origin;

use super::build::*;
use crate::{Config, run};

const ROWS: i64 = 6;
const COLUMNS: i64 = 20;
/// Distance of two rows in elements, a multiple of 16 bytes.
const LD: i64 = 24;
const BOX: [u32; 2] = [16, 4];
const BYTES: u32 = 2 * BOX[0] * BOX[1];
/// The barrier that counts the bytes, and the one that counts the arrivals of readers.
const FULL: u32 = 0;
const EMPTY: u32 = 1;

/// A kernel of 32 threads that loads boxes of a tensor whose element `(i, j)` is `10 · i + j`. Thread `t` holds two elements of a
/// box: those of the places `2 · t` and `2 · t + 1`.
struct Loaded {
    k: Kernel,
    s: Memory,
    y: Memory,
    r: RegId,
    blocks: i64,
}

fn loaded() -> Loaded {
    loaded_by(1)
}

/// As [`loaded`], with a box and a result for each of some blocks.
fn loaded_by(blocks: i64) -> Loaded {
    let mut k = Kernel::new(32);
    k.input("x", DType::F16, &[ROWS, COLUMNS], &[LD, 1]);
    let shape = [blocks * i64::from(BOX[1]), i64::from(BOX[0])];
    let y = k.output("y", DType::F16, &shape, &[shape[1], 1]);
    let s = k.shared("s", DType::F16, blocks as u32 * BOX[0] * BOX[1]);
    let r = k.registers("r", DType::F16, 2);
    k.program.maps.push(TensorMap {
        dims: vec![c(COLUMNS), c(ROWS)],
        strides: vec![c(LD * 2)],
        extents: BOX.to_vec(),
        ..TensorMap::plain(0, "x", DType::F16)
    });
    for (kind, count) in [(BarrierKind::Full, 1), (BarrierKind::Empty, 1)] {
        let at = k.program.shared_bytes;
        let (pipe, origin) = ("p".to_owned(), Origin(0));
        k.program.barriers.push(Barrier { kind, pipe, stages: 1, count, at, origin, sums: false });
        k.program.shared_bytes += 8;
    }
    Loaded { k, s, y, r, blocks }
}

impl Loaded {
    fn expect(&mut self, bytes: u32) {
        self.k.op("expect", vec![Stmt::Leaf(Leaf::Expect { barrier: FULL, index: c(0), bytes })]);
    }

    fn load(&mut self, coordinates: [i64; 2]) {
        let load = Bulk {
            row: hx_target::row("tma.load"),
            from: Part::Box { map: 0, coordinates: coordinates.map(c).to_vec() },
            address: Address { memory: self.s, offset: c(0) },
            barrier: (FULL, c(0)),
            blocks: Vec::new(),
            cache: hx_target::Cache::default(),
        };
        self.k.op("copy_async(x, s)", vec![Stmt::Leaf(Leaf::Bulk(load))]);
    }

    fn wait(&mut self, barrier: u32, parity: i64) {
        self.k.op(
            "wait()",
            vec![Stmt::Leaf(Leaf::Await { barrier, index: c(0), parity: c(parity), by: Waiters::All })],
        );
    }

    fn release(&mut self) {
        self.k.op(
            "release()",
            vec![Stmt::Leaf(Leaf::Arrive {
                barrier: EMPTY,
                index: c(0),
                by: Arrivals::Warps,
                blocks: Vec::new(),
            })],
        );
    }

    fn read(&mut self) {
        let (own, place) = (first(self.r, 2), thread() * c(2));
        let load = transfer("ld.shared.b32", own.clone(), self.s, place.clone());
        let store = transfer("st.global.b32", own, self.y, place);
        self.k.op("copy(s, y)", vec![load, store]);
    }

    fn write(&mut self) {
        let own = first(self.r, 2);
        let zero = fill(own.clone(), 0);
        self.k.op("copy(r, s)", vec![zero, transfer("st.shared.b32", own, self.s, thread() * c(2))]);
    }

    /// Runs the kernel with several orders of arrival, which must agree.
    fn check(&self, want: Expect) {
        let texts = self.texts([0, 1, 2, 3]);
        assert!(texts.iter().all(|text| *text == texts[0]), "{texts:#?}");
        want.assert_eq(&texts[0]);
    }

    fn texts<const N: usize>(&self, seeds: [u64; N]) -> [String; N] {
        seeds.map(|seed| {
            let all: Vec<f64> = (0..ROWS * LD).map(|i| (i / LD * 10 + i % LD) as f64).collect();
            let shape = [self.blocks * i64::from(BOX[1]), i64::from(BOX[0])];
            let y = tensor(DType::F16, &shape, &[shape[1], 1], &vec![-1.0; (shape[0] * shape[1]) as usize]);
            let mut arguments = [tensor(DType::F16, &[ROWS, COLUMNS], &[LD, 1], &all), y];
            let config = Config { seed, ..Config::default() };
            match run(&self.k.program, &BTreeMap::new(), &mut arguments, &config) {
                Ok(_) => picture(&values(DType::F16, &arguments[1])),
                failed => error_text(failed),
            }
        })
    }
}

fn picture(all: &[f64]) -> String {
    all.chunks(BOX[0] as usize)
        .map(|row| row.iter().map(f64::to_string).collect::<Vec<_>>().join(" ") + "\n")
        .collect()
}

#[test]
fn elements_outside_of_the_tensor_are_zero() {
    let at = |coordinates: [i64; 2], want: Expect| {
        let mut loaded = loaded();
        loaded.expect(BYTES);
        loaded.load(coordinates);
        loaded.wait(FULL, 0);
        loaded.read();
        loaded.check(want);
    };
    at(
        [0, 1],
        expect![[r#"
            10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25
            20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35
            30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45
            40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55
        "#]],
    );
    at(
        [8, 4],
        expect![[r#"
            48 49 50 51 52 53 54 55 56 57 58 59 0 0 0 0
            58 59 60 61 62 63 64 65 66 67 68 69 0 0 0 0
            0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
            0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
        "#]],
    );
    at(
        [-8, -2],
        expect![[r#"
            0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
            0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
            0 0 0 0 0 0 0 0 0 1 2 3 4 5 6 7
            0 0 0 0 0 0 0 0 10 11 12 13 14 15 16 17
        "#]],
    );
}

#[test]
fn a_phase_waits_for_the_bytes_that_it_expects() {
    let with = |bytes: u32, waits: bool, want: Expect| {
        let mut loaded = loaded();
        loaded.expect(bytes);
        loaded.load([0, 0]);
        if waits {
            loaded.wait(FULL, 0);
        }
        loaded.read();
        loaded.check(want);
    };
    with(
        BYTES,
        false,
        expect![[r#"
        reads element 0 of the shared tensor `s` before the asynchronous copy into it by thread 0 in #1 `copy_async(x, s)` was waited for
          thread 0, block [0, 0, 0], #2 `copy(s, y)`
    "#]],
    );
    with(
        2 * BYTES,
        true,
        expect![[r#"
        deadlock: threads 0 to 31 wait in #2 `wait()` for the copies into stage 0 of `p` (128 bytes are missing)
          block [0, 0, 0], #2 `wait()`
    "#]],
    );
}

/// Memory that a copy still fills after the end of the block may belong to another block.
#[test]
fn a_block_waits_for_its_copies() {
    let mut ahead = loaded();
    ahead.expect(BYTES);
    ahead.load([0, 0]);
    ahead.check(expect![[r#"
        nothing waits for this copy into the shared tensor `s` before the block ends
          thread 0, block [0, 0, 0], #1 `copy_async(x, s)`
    "#]]);
}

/// A load follows reads and writes of threads only over a fence and a barrier.
#[test]
fn a_load_follows_what_threads_did_over_a_fence_and_a_barrier() {
    let again =
        |(before, parity): (&dyn Fn(&mut Loaded), i64), between: &dyn Fn(&mut Loaded), want: Expect| {
            let mut loaded = loaded();
            before(&mut loaded);
            between(&mut loaded);
            loaded.expect(BYTES);
            loaded.load([8, 2]);
            loaded.wait(FULL, parity);
            loaded.read();
            loaded.check(want);
        };
    let read = |loaded: &mut Loaded| {
        loaded.expect(BYTES);
        loaded.load([0, 0]);
        loaded.wait(FULL, 0);
        loaded.read();
    };
    let fenced = |loaded: &mut Loaded| {
        loaded.k.push(Stmt::Leaf(Leaf::Fence(Fence::Proxy)));
        loaded.release();
        loaded.wait(EMPTY, 0);
    };
    again(
        (&read, 1),
        &fenced,
        expect![[r#"
            28 29 30 31 32 33 34 35 36 37 38 39 0 0 0 0
            38 39 40 41 42 43 44 45 46 47 48 49 0 0 0 0
            48 49 50 51 52 53 54 55 56 57 58 59 0 0 0 0
            58 59 60 61 62 63 64 65 66 67 68 69 0 0 0 0
        "#]],
    );
    again(
        (&read, 1),
        &|_| (),
        expect![[r#"
        writes element 2 of the shared tensor `s`, which thread 1 read in #3 `copy(s, y)`, with no barrier in between
          thread 0, block [0, 0, 0], #5 `copy_async(x, s)`
    "#]],
    );
    again(
        (&read, 1),
        &|loaded| {
            loaded.release();
            loaded.wait(EMPTY, 0);
        },
        expect![[r#"
            no fence of thread 0 stands between its read of element 0 of the shared tensor `s` in `copy(s, y)` and the instruction that accesses it through the asynchronous proxy
              thread 0, block [0, 0, 0], #7 `copy_async(x, s)`
        "#]],
    );
    let write = |loaded: &mut Loaded| loaded.write();
    again(
        (&write, 0),
        &fenced,
        expect![[r#"
            28 29 30 31 32 33 34 35 36 37 38 39 0 0 0 0
            38 39 40 41 42 43 44 45 46 47 48 49 0 0 0 0
            48 49 50 51 52 53 54 55 56 57 58 59 0 0 0 0
            58 59 60 61 62 63 64 65 66 67 68 69 0 0 0 0
        "#]],
    );
    again(
        (&write, 0),
        &|loaded| loaded.k.push(Stmt::Leaf(Leaf::Barrier)),
        expect![[r#"
            no fence of thread 0 stands between its write to element 0 of the shared tensor `s` in `copy(r, s)` and the instruction that accesses it through the asynchronous proxy
              thread 0, block [0, 0, 0], #2 `copy_async(x, s)`
        "#]],
    );
}

/// Builds two blocks of a cluster. Each loads a box into both blocks, twice, reads the box of the other block, and then
/// releases the stage in both blocks, with `early` before the read.
fn pair(early: bool) -> Loaded {
    let mut loaded = loaded_by(2);
    loaded.k.program.grid = vec![c(2)];
    loaded.k.program.cluster = [2, 1, 1];
    loaded.k.program.barriers[EMPTY as usize].count = 2;
    let (rank, elements) = (Expr::symbol(Symbol::BlockIdx(0)), i64::from(BOX[0] * BOX[1]));
    for (round, column) in [(0, 0), (1, 8)] {
        if round > 0 {
            loaded.wait(EMPTY, 0);
        }
        loaded.expect(2 * BYTES);
        let share = Bulk {
            row: hx_target::row("tma.load"),
            from: Part::Box { map: 0, coordinates: vec![c(column), rank.clone()] },
            address: Address { memory: loaded.s, offset: rank.scale(elements) },
            barrier: (FULL, c(0)),
            blocks: vec![c(0), c(1)],
            cache: hx_target::Cache::default(),
        };
        loaded.k.op("copy_async(x, s)", vec![Stmt::Leaf(Leaf::Bulk(share))]);
        loaded.wait(FULL, round);
        let (own, place) = (first(loaded.r, 2), thread() * c(2));
        let theirs = (c(1) - rank.clone()).scale(elements) + place.clone();
        let load = transfer("ld.shared.b32", own.clone(), loaded.s, theirs);
        let store = transfer("st.global.b32", own, loaded.y, rank.scale(elements) + place);
        let blocks = vec![c(0), c(1)];
        let arrive = Stmt::Leaf(Leaf::Arrive { barrier: EMPTY, index: c(0), by: Arrivals::Warps, blocks });
        let mut ops = [
            ("copy(s, y)", vec![load, store]),
            ("release()", vec![Stmt::Leaf(Leaf::Fence(Fence::Proxy)), arrive]),
        ];
        if early {
            ops.reverse();
        }
        ops.into_iter().for_each(|(title, body)| loaded.k.op(title, body));
    }
    loaded
}

#[test]
fn a_cluster_fills_the_memory_of_all_its_blocks() {
    // Each block waits until both have given the first boxes back.
    pair(false).check(expect![[r#"
        18 19 20 21 22 23 24 25 26 27 28 29 0 0 0 0
        28 29 30 31 32 33 34 35 36 37 38 39 0 0 0 0
        38 39 40 41 42 43 44 45 46 47 48 49 0 0 0 0
        48 49 50 51 52 53 54 55 56 57 58 59 0 0 0 0
        8 9 10 11 12 13 14 15 16 17 18 19 0 0 0 0
        18 19 20 21 22 23 24 25 26 27 28 29 0 0 0 0
        28 29 30 31 32 33 34 35 36 37 38 39 0 0 0 0
        38 39 40 41 42 43 44 45 46 47 48 49 0 0 0 0
    "#]]);
}

/// The order decides which block fills the memory of the other one first, and whether that one has read it.
#[test]
fn a_block_fills_memory_that_another_block_reads() {
    let texts = BTreeSet::from(pair(true).texts::<24>(std::array::from_fn(|seed| seed as u64)));
    expect![[r#"
        reads element 0 of the shared tensor `s` before the asynchronous copy into it by thread 0 in #7 `copy_async(x, s)` was waited for
          thread 0, block [1, 0, 0], #4 `copy(s, y)`
        writes element 0 of the shared tensor `s`, which thread 0 read in #4 `copy(s, y)`, with no barrier in between
          thread 0, block [0, 0, 0], #7 `copy_async(x, s)`
        writes element 64 of the shared tensor `s`, which thread 0 read in #4 `copy(s, y)`, with no barrier in between
          thread 0, block [1, 0, 0], #7 `copy_async(x, s)`
    "#]].assert_eq(&texts.into_iter().collect::<String>());
}

/// Builds two blocks of a cluster that send each other two elements of each thread, twice. Before the second time they wait
/// until the other block has read the first elements, unless `early`.
fn sends(early: bool) -> (Kernel, [Memory; 2]) {
    let mut k = Kernel::new(32);
    k.program.grid = vec![c(2)];
    k.program.cluster = [2, 1, 1];
    let x = k.input("x", DType::F64, &[2, 64], &[64, 1]);
    let y = k.output("y", DType::F64, &[2, 64], &[64, 1]);
    let slot = k.shared("slot", DType::F64, 64);
    let r = k.registers("r", DType::F64, 2);
    for kind in [BarrierKind::Full, BarrierKind::Empty] {
        let at = k.program.shared_bytes;
        let (pipe, origin) = ("sum".to_owned(), Origin(0));
        k.program.barriers.push(Barrier { kind, pipe, stages: 1, count: 1, at, origin, sums: true });
        k.program.shared_bytes += 8;
    }
    let rank = Expr::symbol(Symbol::BlockIdx(0));
    let (own, place) = (first(r, 2), thread() * c(2));
    let global = |row: &str, memory| transfer(row, own.clone(), memory, rank.scale(64) + place.clone());
    k.op("load(x)", vec![global("ld.global.v4.b32", x)]);
    for round in 0..2 {
        let other = c(1) - rank.clone();
        let free =
            Stmt::Leaf(Leaf::Await { barrier: EMPTY, index: c(0), parity: c(1 - round), by: Waiters::All });
        let send = Stmt::Leaf(Leaf::Send(SendChunk {
            row: hx_target::row("send.v4.b32"),
            registers: own.clone(),
            address: Address { memory: slot, offset: place.clone() },
            block: other.clone(),
            barrier: (FULL, c(0)),
        }));
        let skip = early && round == 1;
        k.op("send", if skip { vec![send] } else { vec![free, send] });
        k.op(
            "receive",
            vec![
                Stmt::Leaf(Leaf::Expect { barrier: FULL, index: c(0), bytes: 512 }),
                Stmt::Leaf(Leaf::Await { barrier: FULL, index: c(0), parity: c(round), by: Waiters::All }),
                transfer("ld.shared.v4.b32", own.clone(), slot, place.clone()),
                Stmt::Leaf(Leaf::Arrive {
                    barrier: EMPTY,
                    index: c(0),
                    by: Arrivals::Warps,
                    blocks: vec![other],
                }),
            ],
        );
    }
    k.op("copy(r, y)", vec![global("st.global.v4.b32", y)]);
    (k, [x, y])
}

/// Returns the first elements of both blocks, or the error, for each seed.
fn sent(early: bool, seeds: std::ops::Range<u64>) -> BTreeSet<String> {
    let (k, _) = sends(early);
    let run_with = |seed: u64| {
        let x: Vec<f64> = (0..128).map(f64::from).collect();
        let mut arguments = [
            tensor(DType::F64, &[2, 64], &[64, 1], &x),
            tensor(DType::F64, &[2, 64], &[64, 1], &[-1.0; 128]),
        ];
        let config = Config { seed, ..Config::default() };
        match run(&k.program, &BTreeMap::new(), &mut arguments, &config) {
            Ok(_) => {
                let y = values(DType::F64, &arguments[1]);
                format!("{:?} {:?}", &y[..3], &y[64..67])
            }
            failed => error_text(failed),
        }
    };
    seeds.map(run_with).collect()
}

/// After two rounds each block has its own elements again.
#[test]
fn blocks_send_each_other_registers() {
    let texts: Vec<String> = sent(false, 0..8).into_iter().collect();
    assert_eq!(texts, ["[0.0, 1.0, 2.0] [64.0, 65.0, 66.0]"]);
}

/// The order decides whether the other block has read its slot already.
#[test]
fn a_block_sends_to_a_slot_that_another_block_reads() {
    let texts = sent(true, 0..24);
    let races = |text: &&String| text.contains("writes element") && text.contains("the shared tensor `slot`");
    assert!(texts.iter().any(|text| races(&text)), "{texts:#?}");
}
