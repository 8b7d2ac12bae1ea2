//! What a multiprocessor costs besides its instructions.

use std::sync::LazyLock;

use serde::Deserialize;

/// The numbers of `catalogue/machine.toml`, where each says what it is from; in cycles but for [`Machine::global_bytes`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// A barrier of the block.
    pub barrier: f64,
    /// The barrier of the block for each warp.
    pub barrier_warp: f64,
    /// What an exchange through shared memory holds up where a multiprocessor holds one block.
    pub drain: f64,
    /// From the store of a partial result to shared memory until other warps have it.
    pub meeting: f64,
    /// The same for each result.
    pub meeting_value: f64,
    /// A further line of shared memory that a phase of an asynchronous copy writes to.
    pub further_line: f64,
    /// Bytes that a multiprocessor moves from and to the L2 cache in a cycle.
    pub global_bytes: f64,
    /// What an access to shared memory takes besides its wavefronts.
    pub issue_slot: f64,
    /// An operator on elements that are converted to f32 and back.
    pub converted_issue: f64,
}

/// The built-in numbers.
pub fn machine() -> &'static Machine {
    static MACHINE: LazyLock<Machine> = LazyLock::new(|| {
        // The file is part of the program and read in every test.
        toml::from_str(include_str!("../catalogue/machine.toml"))
            .unwrap_or_else(|e| panic!("the built-in numbers of the machine are malformed: {e}"))
    });
    &MACHINE
}
