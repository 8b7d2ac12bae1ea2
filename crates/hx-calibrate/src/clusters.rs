//! Clusters: barriers of the cluster, arrivals and loads at another block, and boxes that several blocks get.

use hx_target::Target;

use crate::kernel::{Kernel, asm, await_phase, barriers, box_load, expect, sync};
use crate::probe::{Blocks, Figure, MapShape, Probe};

const BYTES: u32 = 129 << 10;
const BARRIERS_AT: u32 = 128 << 10;

pub(crate) const SIGNAL: &str = "remote barrier hand over";
pub(crate) const LOAD: &str = "remote load latency";

/// The name of the probe of a barrier of a cluster.
pub(crate) fn barrier_name(blocks: u32) -> String {
    format!("barrier of {blocks} blocks")
}

/// The name of the probe of boxes that two blocks bring to each other.
pub(crate) const MULTICAST: &str = "boxes shared by two all blocks";

/// The address of a place of this block in the block of another rank.
fn remote(to: &str, at: &str, rank: &str) -> String {
    asm(
        "mapa.shared::cluster.u32 %0, %1, %2;",
        &[format!("\"=r\"({to})")],
        &[format!("\"r\"({at})"), format!("\"r\"({rank})")],
    )
}

pub(crate) fn probes(target: Target) -> Vec<Probe> {
    let Some(_) = target.rows().sync("cluster.sync") else {
        return Vec::new();
    };
    let together = || sync(target, "cluster.sync", &[], &[]);
    let mut out = Vec::new();
    for blocks in [2, 4] {
        out.push(Kernel {
            cluster: blocks,
            round: together().repeat(4),
            units: 4.0,
            ..Kernel::new(barrier_name(blocks), 128)
        });
    }
    let arrive = sync(
        target,
        "barrier.arrive.remote",
        &[("b", "%0"), ("k", "%1")],
        &["\"r\"(base)", "\"r\"(1 - blockIdx.x % 2)"],
    );
    let turn = await_phase(target, "base", "i & 1");
    out.push(Kernel {
        cluster: 2,
        shared_bytes: BYTES,
        setup: barriers(target, 0, 1, 1) + "    __syncthreads();\n" + &together(),
        only: Some("thread == 0"),
        round: format!("        if (blockIdx.x % 2 == 0) {{\n{arrive}{turn}        }} else {{\n{turn}{arrive}        }}\n"),
        sink: together(),
        units: 2.0,
        ..Kernel::new(SIGNAL, 32)
    });
    let load = asm(
        "ld.shared::cluster.u32 %0, [%1];",
        &["\"=r\"(value)".to_owned()],
        &["\"r\"(at + value)".to_owned()],
    );
    out.push(Kernel {
        cluster: 2,
        shared_bytes: BYTES,
        setup:
            "    unsigned value = 0, at;\n    if (thread < 32) ((volatile unsigned *)shared)[thread] = 0;\n"
                .to_owned()
                + &remote("at", "base", "1 - blockIdx.x % 2")
                + &together(),
        round: load,
        sink: together() + "    if (one == 2) data[thread] = (unsigned char)value;\n",
        ..Kernel::new(LOAD, 32)
    });
    out.extend(multicast(target, &together()));
    out.into_iter().map(Kernel::probe).collect()
}

/// Returns the kernel of rings of pairs of blocks: each block brings one half of each stage to both. A phase counts bytes,
/// whichever block sent them, so no block must wait until the other one has read. `None` if the target has no bulk load for
/// several blocks.
fn multicast(target: Target, together: &str) -> Option<Kernel> {
    let row = target.rows().bulk("tma.load").filter(|row| row.multicast.is_some())?;
    const STAGES: u32 = 8;
    let barrier = |round: &str| format!("base + {BARRIERS_AT} + 8 * ({round} & {})", STAGES - 1);
    let issue = |round: &str| {
        let barrier = barrier(round);
        let to = format!("base + 16384 * ({round} & {}) + 8192 * (blockIdx.x % 2)", STAGES - 1);
        let at = format!("(int)((blockIdx.x * 960 + (unsigned)({round}) * 128) & 131071)");
        expect(target, &barrier, 16384) + &box_load(row, &to, &at, &barrier, Some("3"))
    };
    let parity = format!("(i / {STAGES}) & 1");
    Some(Kernel {
        blocks: Blocks::All,
        cluster: 2,
        map: Some(MapShape { rows: 131_072, extent: 64 }),
        shared_bytes: BYTES,
        setup: barriers(target, BARRIERS_AT, STAGES, 1)
            + "    __syncthreads();\n"
            + together
            + &format!("    if (thread == 0) for (int i = 0; i < {STAGES}; i++) {{\n{}    }}\n", issue("i")),
        only: Some("thread == 0"),
        round: await_phase(target, &barrier("i"), &parity) + &issue(&format!("(i + {STAGES})")),
        sink: format!(
            "    if (thread == 0) for (int i = loops; i < loops + {STAGES}; i++) {{\n{}    }}\n    __syncwarp();\n{together}",
            await_phase(target, &barrier("i"), &parity)
        ),
        units: 16384.0,
        figure: Figure::PerCycle,
        ..Kernel::new(MULTICAST, 32)
    })
}
