//! Costs of a multiprocessor besides its instructions.

use serde::Deserialize;

/// The numbers of `costs/h200.toml`, which says how each was obtained. Numbers without another unit are in cycles.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// The number of multiprocessors that code for no particular device assumes.
    pub multiprocessors: u32,
    /// A barrier of the block: the part that does not depend on the number of warps.
    pub barrier: f64,
    /// A barrier of the block: the part for each warp.
    pub barrier_warp: f64,
    /// The delay by an exchange through shared memory if a multiprocessor holds only one block, so that no other work
    /// overlaps with it.
    pub drain: f64,
    /// From the store of a partial result to shared memory until other warps have it: the part that does not depend on the
    /// results.
    pub meeting: f64,
    /// From the store of a partial result until other warps have it: the part for each result.
    pub meeting_value: f64,
    /// The cycles for each line of shared memory after the first that a phase of an asynchronous copy writes to.
    pub further_line: f64,
    /// Bytes that a multiprocessor moves from and to the L2 cache in a cycle.
    pub global_bytes: f64,
    /// Bytes that all multiprocessors together move from and to DRAM in a cycle.
    pub dram_bytes: f64,
    /// Billions of cycles a second under load.
    pub clock: f64,
    /// Bytes that bulk copies bring to a multiprocessor in a cycle while those of all multiprocessors do.
    pub box_bytes: f64,
    /// The delay of a bulk copy beyond that of a load.
    pub box_latency: f64,
    /// From the release of a stage until its next tiles arrive, beyond the cycles that their bytes take, while all multiprocessors
    /// copy and multiply.
    pub ring_latency: f64,
    /// The cycles in which one thread issues a bulk copy.
    pub box_issue: f64,
    /// From the end of the last product of a group by descriptor until a wait for it returns.
    pub product_latency: f64,
    /// The least cycles of a product by descriptor.
    pub product_least: f64,
    /// A wait for a stage that is complete, or an acquisition of one that is free.
    pub stage_wait: f64,
    /// An arrival at the barrier of a stage: a release, or the expectation of bytes.
    pub stage_arrive: f64,
    /// A barrier of the blocks of a cluster.
    pub cluster_barrier: f64,
    /// From the end of a group's turn until the next group goes on.
    pub hand_over: f64,
    /// Registers of a thread of a role besides its tensors: addresses, counters, phases.
    pub role_registers: i64,
    /// Registers of a thread of a kernel without roles besides its tensors: addresses, counters, operands in flight.
    pub other_registers: i64,
    /// The issue slot of an access to shared memory, in addition to its wavefronts.
    pub issue_slot: f64,
    /// An operator on elements that are converted to f32 and back.
    pub converted_issue: f64,
    /// The number of threads of a multiprocessor that hide the latency of global memory if nothing else is computed
    /// meanwhile.
    pub memory_bound_threads: u32,
    /// The number of 32-bit words of a thread's largest tensor up to which `memory_bound_threads` threads do not spill.
    pub memory_bound_words: i64,
}

/// The built-in file.
pub const COSTS_TEXT: &str = include_str!("../costs/h200.toml");

impl Costs {
    /// Reads a file of numbers, as `hx calibrate` writes it.
    ///
    /// # Errors
    /// If the text is no TOML, lacks a number, or has one that is unknown: the reason, with the line.
    pub fn read(text: &str) -> Result<Costs, String> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            format!("line {}: {}", before.matches('\n').count() + 1, error.message())
        })
    }
}
