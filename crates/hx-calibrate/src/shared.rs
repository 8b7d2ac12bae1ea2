//! Copies between registers and shared memory: by instruction and by bank conflicts.

use hx_target::{CopyRow, Space, Target};

use crate::kernel::{Kernel, asm, fill};
use crate::probe::Probe;

/// Independent instructions in a round of a warp.
pub(crate) const CHAINS: u32 = 8;
const WARPS: u32 = 16;
const BYTES: u32 = 96 << 10;

/// The addresses of the lanes.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    /// The offset of the first byte in shared memory.
    pub(crate) at: u32,
    /// Lanes on each bank.
    pub(crate) degree: u32,
}

pub(crate) fn name(row: &CopyRow, degree: u32) -> String {
    if degree == 1 { row.name.clone() } else { format!("{} conflict {degree}", row.name) }
}

/// The name of the probe of results that warps pass to each other.
pub(crate) fn meeting_name(warps: u32, values: u32) -> String {
    format!("meeting of {warps} warps, {values} results")
}

fn letter(row: &CopyRow) -> (&'static str, &'static str) {
    match row.word {
        64 => ("l", "unsigned long long"),
        16 => ("h", "unsigned short"),
        _ => ("r", "unsigned"),
    }
}

/// Returns the declarations of registers and addresses, the statements of a round, and those that keep the results.
pub(crate) fn work(row: &CopyRow, access: Access) -> (String, String, String) {
    let (letter, kind) = letter(row);
    let words = row.words;
    let each = if row.threads > 1 { 16 } else { row.access };
    let lane = match access.degree {
        1 => format!("lane * {each}"),
        n => format!("(lane % {n}) * 128 + (lane / {n}) * 4"),
    };
    let mut setup = format!("    const unsigned own = base + {} + {lane} + (warp & 3) * 4096;\n", access.at);
    let mut round = String::new();
    for chain in 0..CHAINS {
        let names: Vec<String> = (0..words).map(|word| format!("r{chain}_{word}")).collect();
        let declared: Vec<String> = names.iter().map(|name| format!("{name} = one")).collect();
        setup += &format!("    {kind} {};\n", declared.join(", "));
        let load = row.is_load();
        let first = if load { 0 } else { 1 };
        let listed: Vec<String> = (0..words).map(|word| format!("%{}", word + first)).collect();
        let registers = listed.join(", ");
        let registers =
            if words > 1 && !row.ptx.contains("{{{r}}}") { format!("{{{registers}}}") } else { registers };
        let at = format!("%{}", if load { words } else { 0 });
        let single: Vec<String> = (0..words).map(|word| format!("r{word}")).collect();
        let single = single.iter().zip(&listed).map(|(name, register)| (name.as_str(), register.as_str()));
        let operands: Vec<(&str, &str)> =
            [("r", registers.as_str()), ("a", at.as_str())].into_iter().chain(single).collect();
        let text = fill(&row.ptx, &operands);
        round += &if load {
            // The assembler drops words of a load that nobody needs: the next address needs all of them, and gets 0.
            setup += &format!("    unsigned at{chain} = own + {};\n", chain % 4 * 512);
            let outputs: Vec<String> = names.iter().map(|name| format!("\"=&{letter}\"({name})")).collect();
            let next = format!("        at{chain} |= (unsigned)({}) & (one - 1);\n", names.join(" & "));
            asm(&text, &outputs, &[format!("\"r\"(at{chain})")]) + &next
        } else {
            let address = format!("\"r\"(own + {})", chain % 4 * 512);
            let mut inputs = vec![address];
            inputs.extend(names.iter().map(|name| format!("\"{letter}\"({name})")));
            asm(&text, &[], &inputs)
        };
    }
    let used: Vec<String> = (0..CHAINS).map(|chain| format!("at{chain}")).collect();
    let sink = format!("    if (one == 2) data[thread] = (unsigned char)({});\n", used.join(" + "));
    (setup, round, if row.is_load() { sink } else { String::new() })
}

/// Returns the copies between registers and shared memory whose words have at least 32 bits, without the atomic ones.
pub(crate) fn rows(target: Target) -> impl Iterator<Item = &'static CopyRow> {
    let is_shared = |row: &&CopyRow| {
        [[Space::Shared, Space::Register], [Space::Register, Space::Shared]].contains(&[row.from, row.to])
    };
    let plain = target.rows().copies.iter().filter(|row| row.atomic.is_none());
    plain.filter(is_shared).filter(move |row| row.word >= 32)
}

fn kernel(row: &CopyRow, degree: u32) -> Kernel {
    let (setup, round, sink) = work(row, Access { at: 0, degree });
    Kernel {
        shared_bytes: BYTES,
        setup,
        round,
        sink,
        units: f64::from(CHAINS * WARPS),
        ..Kernel::new(name(row, degree), 32 * WARPS)
    }
}

pub(crate) fn probes(target: Target) -> Vec<Probe> {
    let mut out = Vec::new();
    for row in rows(target) {
        out.push(kernel(row, 1).probe());
        if row.access == 4 && row.threads == 1 {
            out.extend([2, 4, 8].map(|degree| kernel(row, degree).probe()));
        }
    }
    // A result from one warp to another: a store, a barrier of the block, and a load, as where warps meet in a reduction.
    let find = |name: &str| target.rows().copy(name).map(|row| row.ptx.clone());
    if let (Some(store), Some(load)) = (find("st.shared.b32"), find("ld.shared.b32")) {
        for warps in [4, 8] {
            for values in [1_u32, 4] {
                let mut round = String::new();
                for value in 0..values {
                    let text = fill(&store, &[("r", "%1"), ("a", "%0")]);
                    round += &asm(
                        &text,
                        &[],
                        &[format!("\"r\"(to + {})", value * 512), format!("\"r\"(r{value})")],
                    );
                }
                round += "        __syncthreads();\n";
                for value in 0..values {
                    let text = fill(&load, &[("r", "%0"), ("a", "%1")]);
                    round += &asm(
                        &text,
                        &[format!("\"=r\"(r{value})")],
                        &[format!("\"r\"(from + {})", value * 512)],
                    );
                }
                round += "        __syncthreads();\n";
                let declared: Vec<String> = (0..values).map(|value| format!("r{value} = one")).collect();
                out.push(
                    Kernel {
                        shared_bytes: BYTES,
                        setup: format!(
                            "    unsigned {};\n    const unsigned to = base + thread * 4, from = base + (thread ^ 32) * 4;\n",
                            declared.join(", ")
                        ),
                        round,
                        ..Kernel::new(meeting_name(warps, values), 32 * warps)
                    }
                    .probe(),
                );
            }
        }
    }
    out
}
