//! Bulk copies: the cycles in which one thread issues them, their latency, and their bytes in a cycle.

use hx_target::{BulkRow, Target};

use crate::kernel::{Kernel, await_phase, barriers, box_load, box_store, expect, sync};
use crate::probe::{Blocks, Figure, MapShape, Probe};

/// Stages of a ring.
const STAGES: u32 = 8;
/// The bytes of shared memory that the boxes of a ring may take; the ring's barriers follow them.
const RING: u32 = 128 << 10;
const BARRIERS_AT: u32 = RING;
/// More than half of a multiprocessor's shared memory, so that each has one block.
const BYTES: u32 = RING + 1024;
const ROW: u32 = MapShape::ROW_BYTES;
/// Rows of the map: 16 MiB, which the L2 cache holds.
const ROWS: u32 = 131_072;

/// The name of the probe of bytes in boxes of this many rows.
pub(crate) fn bytes_name(blocks: Blocks, rows: u32) -> String {
    let who = if blocks == Blocks::One { "one block" } else { "all blocks" };
    format!("boxes of {} KiB {who}", rows * ROW / 1024)
}

/// The blocks that read the same tile of a product at the same time: about a row of tiles.
pub(crate) const READERS: u32 = 12;

pub(crate) const LATENCY: &str = "box latency";
pub(crate) const ISSUE: &str = "box issue";
pub(crate) const STORED: &str = "boxes stored all blocks";

/// The name of the probe of bytes in boxes that this many blocks read at the same time.
pub(crate) fn shared_name(readers: u32) -> String {
    format!("{}, {readers} readers", bytes_name(Blocks::All, 128))
}

fn map(rows: u32) -> Option<MapShape> {
    Some(MapShape { rows: u64::from(ROWS), extent: rows })
}

/// Returns the kernel of a ring: one thread of each block waits for the oldest box and issues the next one, of `rows` rows.
/// Blocks begin at different rows of the map.
fn ring(target: Target, load: &BulkRow, blocks: Blocks, rows: u32) -> Kernel {
    let bytes = rows * ROW;
    let stages = STAGES.min(RING / bytes);
    let issue = |round: &str| {
        let stage = format!("({round} & {})", stages - 1);
        let barrier = format!("base + {BARRIERS_AT} + 8 * {stage}");
        let at = format!("(int)((first + (unsigned)({round}) * {rows}) & {})", ROWS - 1);
        expect(target, &barrier, bytes)
            + &box_load(load, &format!("base + {bytes} * {stage}"), &at, &barrier, None)
    };
    let barrier = format!("base + {BARRIERS_AT} + 8 * (i & {})", stages - 1);
    let parity = |round: &str| format!("({round} / {stages}) & 1");
    Kernel {
        blocks,
        map: map(rows),
        shared_bytes: BYTES,
        only: Some("thread == 0"),
        setup: barriers(target, BARRIERS_AT, stages, 1)
            + &format!(
                "    const unsigned first = blockIdx.x * 992;\n    __syncthreads();\n    if (thread == 0) for (int i = 0; i < {stages}; i++) {{\n{}    }}\n",
                issue("i")
            ),
        round: await_phase(target, &barrier, &parity("i")) + &issue(&format!("(i + {stages})")),
        sink: format!(
            "    if (thread == 0) for (int i = loops; i < loops + {stages}; i++) {{\n{}    }}\n",
            await_phase(target, &barrier, &parity("i"))
        ),
        units: f64::from(bytes),
        figure: Figure::PerCycle,
        ..Kernel::new(bytes_name(blocks, rows), 32)
    }
}

/// Returns the kernel of one thread that waits for each box of `rows` rows before it issues the next one.
fn latency(target: Target, load: &BulkRow, name: &str, rows: u32) -> Kernel {
    let barrier = format!("base + {BARRIERS_AT}");
    Kernel {
        map: map(rows),
        shared_bytes: BYTES,
        only: Some("thread == 0"),
        setup: barriers(target, BARRIERS_AT, 1, 1),
        round: expect(target, &barrier, rows * ROW)
            + &box_load(load, "base", &format!("(i * {rows}) & {}", ROWS - 1), &barrier, None)
            + &await_phase(target, &barrier, "i & 1"),
        ..Kernel::new(name, 32)
    }
}

/// Returns the kernel of one thread that issues boxes in a row. Only the cycles of the issues count, not those until the boxes
/// arrive.
fn issue(target: Target, load: &BulkRow) -> Kernel {
    let barrier = format!("base + {BARRIERS_AT}");
    let boxes: String = (0..8)
        .map(|i| {
            box_load(
                load,
                &format!("base + {}", i * 1024),
                &format!("(i * 64 + {}) & {}", i * 8, ROWS - 1),
                &barrier,
                None,
            )
        })
        .collect();
    Kernel {
        map: map(8),
        shared_bytes: BYTES,
        only: Some("thread == 0"),
        setup: barriers(target, BARRIERS_AT, 1, 1) + "    long long all = 0;\n",
        round: expect(target, &barrier, 8 * 1024)
            + "        long long before = clock64();\n"
            + &boxes
            + "        all += clock64() - before;\n"
            + &await_phase(target, &barrier, "i & 1"),
        sink: "    if (thread == 0) { start = 0; end = all; }\n".to_owned(),
        units: 8.0,
        ..Kernel::new(ISSUE, 32)
    }
}

/// Returns the kernel whose blocks store boxes from shared memory to the L2 cache, with at most four in flight.
fn stored(target: Target, store: &BulkRow) -> Kernel {
    let stage = "base + 16384 * (i & 3)";
    Kernel {
        blocks: Blocks::All,
        map: map(128),
        shared_bytes: BYTES,
        only: Some("thread == 0"),
        round: box_store(store, stage, &format!("(int)((blockIdx.x * 992 + i * 128) & {})", ROWS - 1))
            + &sync(target, "bulk.commit", &[], &[])
            + &sync(target, "bulk.wait.read", &[("n", "3")], &[]),
        finish: sync(target, "bulk.wait", &[("n", "0")], &[]),
        units: 16384.0,
        figure: Figure::PerCycle,
        ..Kernel::new(STORED, 32)
    }
}

pub(crate) fn probes(target: Target) -> Vec<Probe> {
    let found = |name: &str| target.rows().bulk(name);
    let mut out = Vec::new();
    if let Some(load) = found("tma.load") {
        for rows in [32, 64, 128, 256] {
            out.extend([Blocks::One, Blocks::All].map(|blocks| ring(target, load, blocks, rows).probe()));
        }
        for readers in [2, READERS, 132] {
            let own = ring(target, load, Blocks::All, 128);
            let setup = own.setup.replace("blockIdx.x * 992", &format!("blockIdx.x / {readers} * 992"));
            out.push(Kernel { setup, name: shared_name(readers), ..own }.probe());
        }
        out.push(latency(target, load, LATENCY, 8).probe());
        out.push(latency(target, load, "box latency 16 KiB", 128).probe());
        out.push(issue(target, load).probe());
    }
    out.extend(found("tma.store").map(|store| stored(target, store).probe()));
    out
}
