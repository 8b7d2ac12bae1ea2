//! A run before its first step, and what its blocks have done.

use hx_thread::LogPlan;

use crate::block::{Block, Numbers};
use crate::cluster::Cluster;
use crate::code::Code;
use crate::config::Config;
use crate::error::SimError;
use crate::global::Tensor;
use crate::grid::block_index;
use crate::log::BlockLog;
use crate::overlay::Overlay;
use crate::report::Counters;
use crate::witness::BlockWitness;

/// The logs of blocks that ran together to their end or to an error, and their outcomes.
pub(crate) struct Ran {
    pub(crate) logs: Vec<BlockLog>,
    pub(crate) outcome: Result<Vec<Outcome>, SimError>,
}

/// The effects of one block.
pub(crate) struct Outcome {
    /// Its number in the grid.
    pub(crate) number: u64,
    /// Empty if blocks share theirs.
    pub(crate) overlays: Vec<Overlay>,
    pub(crate) counters: Vec<Counters>,
    pub(crate) barriers: u64,
    /// The number of values that it drew from each counter.
    pub(crate) drawn: Vec<u64>,
    pub(crate) witness: Option<Box<BlockWitness>>,
}

/// Returns what the blocks of a run have done.
pub(crate) fn outcome_of(cluster: Cluster<'_>) -> Ran {
    let (mut logs, mut outcomes) = (Vec::new(), Vec::new());
    for block in cluster.blocks {
        let Block { number, overlays, counters, barriers, log, tickets, witness, .. } = block;
        let drawn = tickets.drawn().collect();
        logs.push(log);
        outcomes.push(Outcome { number: u64::from(number), overlays, counters, barriers, drawn, witness });
    }
    Ran { logs, outcome: Ok(outcomes) }
}

/// Makes the blocks of a run, given by their numbers in the grid, before their first step.
pub(crate) fn cluster<'a>(
    code: &'a Code,
    (run, members): (u64, &[u64]),
    tensors: &'a [Option<Tensor>],
    config: &'a Config<'a>,
    plan: &LogPlan,
) -> Cluster<'a> {
    let new = |(rank, block): (usize, &u64)| {
        let log = BlockLog::new(&code.log, plan, *block);
        let witness = |param| Box::new(BlockWitness::new(param, config.follow, *block as u32));
        let witness = config.watch.map(witness);
        let numbers = Numbers { block: *block as u32, run: run as u32, rank };
        Block::new(code, tensors, config, (numbers, block_index(code.grid, *block)), log, witness)
    };
    Cluster::new(members.iter().enumerate().map(new).collect())
}
