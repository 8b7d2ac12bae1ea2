//! Barriers of the block, of groups and in shared memory, and changes of the registers of a group.

use hx_target::{Feature, Target};

use crate::kernel::{Kernel, await_phase, barriers, sync};
use crate::probe::Probe;

/// Bytes of shared memory for barriers.
const BYTES: u32 = 1024;
const TIMES: u32 = 8;

pub(crate) const WARPS: [u32; 4] = [4, 8, 16, 32];
pub(crate) const HAND_OVER: &str = "turn handed over";
pub(crate) const ARRIVE: &str = "stage barrier arrive";
pub(crate) const READY: &str = "stage barrier wait, ready";
pub(crate) const EXPECT: &str = "stage barrier expect";
pub(crate) const SIGNAL: &str = "stage barrier hand over";
pub(crate) const RELEASE: &str = "stage barrier release by a group";
pub(crate) const REGISTERS: &str = "registers changed";
pub(crate) const ELECT: &str = "lane elected";

/// The name of the probe of a barrier of the block.
pub(crate) fn block_name(warps: u32) -> String {
    format!("barrier of {warps} warps")
}

/// The name of the probe of a named barrier.
pub(crate) fn named_name(warps: u32) -> String {
    format!("named barrier of {warps} warps")
}

pub(crate) fn probes(target: Target) -> Vec<Probe> {
    let mut out = Vec::new();
    for warps in WARPS {
        let round = "        __syncthreads();\n".repeat(TIMES as usize);
        out.push(Kernel { round, units: f64::from(TIMES), ..Kernel::new(block_name(warps), 32 * warps) });
    }
    for warps in [4, 8, 12] {
        let one = sync(target, "named.sync", &[("i", "1"), ("n", &(32 * warps).to_string())], &[]);
        let round = one.repeat(TIMES as usize);
        out.push(Kernel { round, units: f64::from(TIMES), ..Kernel::new(named_name(warps), 32 * warps) });
    }
    out.push(turns(target));
    if target.has(Feature::Barriers) {
        out.extend(stages(target));
    }
    if target.rows().sync("registers.more").is_some() {
        out.push(registers(target));
    }
    out.into_iter().map(Kernel::probe).collect()
}

/// Returns the kernel of two groups of 128 threads that wait for each other's turn at two named barriers.
fn turns(target: Target) -> Kernel {
    let id = |id: &str| format!("\"r\"({id})");
    let arrive = sync(target, "named.arrive", &[("i", "%0"), ("n", "256")], &[&id("2 - warp / 4")]);
    let wait = sync(target, "named.sync", &[("i", "%0"), ("n", "256")], &[&id("1 + warp / 4")]);
    Kernel {
        setup: format!("    if (warp >= 4) {{\n{arrive}    }}\n"),
        round: wait + &arrive,
        // Group 0 also takes part in the barrier at which group 1 arrives last, so that each barrier has complete turns at the
        // end.
        sink: format!(
            "    if (warp < 4) {{\n{}    }}\n",
            sync(target, "named.sync", &[("i", "1"), ("n", "256")], &[])
        ),
        units: 2.0,
        ..Kernel::new(HAND_OVER, 256)
    }
}

/// Returns the kernels of the operations on barriers in shared memory, of which pipelines are made.
fn stages(target: Target) -> Vec<Kernel> {
    let arrive = |at: &str| sync(target, "barrier.arrive", &[("b", "%0")], &[&format!("\"r\"({at})")]);
    let alone = |name: &str, round: String, arrivals: u32| Kernel {
        shared_bytes: BYTES,
        setup: barriers(target, 0, 2, arrivals),
        only: Some("thread == 0"),
        round,
        units: f64::from(TIMES),
        ..Kernel::new(name, 32)
    };
    let times = TIMES as usize;
    let expect = sync(target, "barrier.expect", &[("b", "%0"), ("n", "%1")], &["\"r\"(base)", "\"r\"(0)"]);
    let mut out = vec![
        alone(ARRIVE, arrive("base").repeat(times), TIMES),
        alone(EXPECT, expect.repeat(times), TIMES),
        // The phase before the first one is complete.
        alone(READY, await_phase(target, "base", "1").repeat(times), TIMES),
    ];
    out.push(Kernel {
        shared_bytes: BYTES,
        setup: barriers(target, 0, 2, 1) + "    const unsigned mine = warp / 4;\n",
        only: Some("lane == 0 && warp % 4 == 0"),
        round: format!(
            "        if (mine == 0) {{\n{}{}        }} else {{\n{}{}        }}\n",
            arrive("base"),
            await_phase(target, "base + 8", "i & 1"),
            await_phase(target, "base", "i & 1"),
            arrive("base + 8")
        ),
        units: 2.0,
        ..Kernel::new(SIGNAL, 256)
    });
    // As the emitter releases a stage: one arrival for each warp, and all threads wait for the phase.
    out.push(Kernel {
        shared_bytes: BYTES,
        setup: barriers(target, 0, 1, 4),
        round: format!(
            "        if (lane == 0) {{\n{}        }}\n{}",
            arrive("base"),
            await_phase(target, "base", "i & 1")
        ),
        ..Kernel::new(RELEASE, 128)
    });
    out.push(Kernel {
        setup: "    unsigned all = 0;\n".to_owned(),
        round: elect(target).repeat(times),
        sink: "    if (one == 2) data[thread] = (unsigned char)all;\n".to_owned(),
        units: f64::from(TIMES),
        ..Kernel::new(ELECT, 128)
    });
    out
}

fn elect(target: Target) -> String {
    let ptx = target.rows().sync("elect").map_or("", |row| row.ptx.as_str());
    let text = crate::kernel::fill(ptx, &[("d", "%0")]);
    format!(
        "        {{ unsigned chosen;\n{}        all += chosen; }}\n",
        crate::kernel::asm(&text, &["\"=r\"(chosen)".to_owned()], &[])
    )
}

/// Returns the kernel of a group that gives registers back and takes them again.
fn registers(target: Target) -> Kernel {
    let change = |name: &str, n: &str| sync(target, name, &[("n", n)], &[]);
    Kernel {
        only: Some("warp < 4"),
        round: change("registers.fewer", "40") + &change("registers.more", "160"),
        units: 2.0,
        ..Kernel::new(REGISTERS, 384)
    }
}
