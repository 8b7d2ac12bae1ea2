//! Loads and stores of global memory that the L2 cache holds: latency, and bytes in a cycle.

use hx_target::{CopyRow, Space, Target};

use crate::kernel::{Kernel, asm, fill};
use crate::probe::{Blocks, Figure, Probe};

const WARPS: u32 = 16;
/// Accesses of a thread in a round, of 16 bytes each.
const CHAINS: u32 = 8;
/// Bytes that all blocks walk through: more than a cache of a multiprocessor holds, less than the L2 cache does.
const SPAN: u32 = 16 << 20;
/// Bytes of a block's own data: more than the cache of a multiprocessor holds beside its shared memory.
const OWN: u32 = 128 << 10;
/// More than half of a multiprocessor's shared memory, so that each has one block.
const BYTES: u32 = 120 << 10;

/// Keeps the results of loads alive.
const KEPT: &str = "    if (one == 2) data[thread] = (unsigned char)used;\n";

pub(crate) const LATENCY: &str = "load latency";

/// The name of the probe of bytes.
pub(crate) fn bytes_name(row: &CopyRow, blocks: Blocks) -> String {
    format!("{} {}", row.name, if blocks == Blocks::One { "one block" } else { "all blocks" })
}

/// The name of the probe of bytes that no other block reads or writes.
pub(crate) fn own_name(row: &CopyRow) -> String {
    format!("{}, own data", bytes_name(row, Blocks::All))
}

/// Returns the widest copy from one space to another; `None` if the target has none.
pub(crate) fn widest(from: Space, to: Space, target: Target) -> Option<&'static CopyRow> {
    target.rows().copies_between(from, to).next()
}

/// Returns the kernel whose blocks walk through the same 16 MiB, or, with `own`, each through 128 KiB of its own.
fn bytes(row: &CopyRow, blocks: Blocks, own: bool) -> Kernel {
    let (load, words) = (row.is_load(), row.words);
    let mut setup = "    unsigned used = 0, at = (blockIdx.x * 65536 + thread * 16);\n".to_owned();
    let walk = if own { OWN - 1 } else { SPAN - 1 };
    if own {
        setup = format!("    unsigned used = 0, at = thread * 16;\n    data += blockIdx.x * {OWN};\n");
    }
    let mut round = String::new();
    for chain in 0..CHAINS {
        let names: Vec<String> = (0..words).map(|word| format!("r{chain}_{word}")).collect();
        let kind = if row.word == 64 { "unsigned long long" } else { "unsigned" };
        let letter = if row.word == 64 { "l" } else { "r" };
        let declared: Vec<String> = names.iter().map(|name| format!("{name} = one")).collect();
        setup += &format!("    {kind} {};\n", declared.join(", "));
        let first = if load { 0 } else { 1 };
        let listed: Vec<String> = (0..words).map(|word| format!("%{}", word + first)).collect();
        let registers = if words > 1 { format!("{{{}}}", listed.join(", ")) } else { listed.join(", ") };
        let at = format!("%{}", if load { words } else { 0 });
        let text = fill(&row.ptx, &[("r", &registers), ("a", &at)]);
        let address = format!("\"l\"(data + ((at + {}) & {}))", chain * 32 * WARPS * 16, walk);
        round += &if load {
            let outputs: Vec<String> = names.iter().map(|name| format!("\"=&{letter}\"({name})")).collect();
            asm(&text, &outputs, &[address])
                + &format!("        used |= (unsigned)({});\n", names.join(" & "))
        } else {
            let mut inputs = vec![address];
            inputs.extend(names.iter().map(|name| format!("\"{letter}\"({name})")));
            asm(&text, &[], &inputs)
        };
    }
    round += &format!("        at += {};\n", CHAINS * 32 * WARPS * 16);
    Kernel {
        blocks,
        shared_bytes: BYTES,
        setup,
        round,
        sink: KEPT.to_owned(),
        units: f64::from(CHAINS * 32 * WARPS * row.bytes),
        figure: Figure::PerCycle,
        ..Kernel::new(if own { own_name(row) } else { bytes_name(row, blocks) }, 32 * WARPS)
    }
}

/// Returns the kernel of loads each of which needs the value of the load before for its address. A mask that the compiler does
/// not know makes this part of the address 0.
fn latency(row: &CopyRow) -> Kernel {
    let text = fill(&row.ptx, &[("r", "%0"), ("a", "%1")]);
    Kernel {
        setup: "    unsigned value = 0, at = 0, used = 0;\n".to_owned(),
        round: asm(&text, &["\"=r\"(value)".to_owned()], &["\"l\"(data + at)".to_owned()])
            + &format!("        at = (at + (value & (one - 1)) + 65664) & {};\n", SPAN - 1),
        sink: "    used = at;\n".to_owned() + KEPT,
        rounds: [256, 768],
        ..Kernel::new(LATENCY, 32)
    }
}

pub(crate) fn probes(target: Target) -> Vec<Probe> {
    let mut out = Vec::new();
    for (from, to) in [(Space::Global, Space::Register), (Space::Register, Space::Global)] {
        let Some(row) = widest(from, to, target) else { continue };
        out.extend([Blocks::One, Blocks::All].map(|blocks| bytes(row, blocks, false).probe()));
        out.push(bytes(row, Blocks::All, true).probe());
    }
    let mut words = target.rows().copies_between(Space::Global, Space::Register);
    out.extend(words.find(|row| row.words == 1 && row.word == 32).map(|row| latency(row).probe()));
    out
}
