//! The counters of a run.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use hx_target::Limits;
use hx_tile::OpId;

use crate::banks;
use crate::error::Place;
use crate::witness::Witness;

/// Counts of a whole launch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Keyed by tile operation.
    pub ops: BTreeMap<OpId, Counters>,
    /// Counts of statements that belong to no tile operation.
    pub other: Counters,
    /// Blocks that ran.
    pub blocks: u64,
    /// Block barriers, summed over the blocks.
    pub barriers: u64,
    /// The record of the accesses to the watched tensor, if the run has one.
    pub witness: Option<Box<Witness>>,
    /// Atomic loads that found the value from before a write, although they may as well have found that write. Of those of one block
    /// and one element only the last one counts.
    pub old: Vec<OldLoad>,
}

/// An atomic load of global memory that found the value from before a write of another block, although nothing orders the two.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OldLoad {
    pub tensor: String,
    pub element: i64,
    pub coord: Option<Vec<i64>>,
    pub load: Place,
    /// Whether the load acquires. Such a load may poll for another block on purpose, so it is the less likely mistake.
    pub acquires: bool,
    pub write: Place,
}

/// Counts of one tile operation, summed over the blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Instructions issued, counted once a warp, or once for all warps that execute an instruction together. A warp whose guards
    /// all fail issues no transfer. Fills and moves count one for each 32 bits; an expression counts its operators and
    /// conversions.
    pub instructions: u64,
    /// Bytes that lanes moved between registers and memory, or read from memory for an asynchronous copy.
    pub bytes: u64,
    /// The part of `bytes` that another thread of the block moved in the same statement.
    pub redundant_bytes: u64,
    /// Requests of warps to global memory.
    pub requests: u64,
    /// 32-byte sectors that those requests touched; a sector counts once in each request.
    pub sectors: u64,
    /// Sectors that the same distinct bytes would take if they were contiguous and aligned.
    pub ideal_sectors: u64,
    /// Cycles of shared memory: for each phase of 128 bytes, the largest number of distinct words in one bank.
    pub wavefronts: u64,
    /// Wavefronts without bank conflicts: the number of phases.
    pub ideal_wavefronts: u64,
    /// Copies of single threads that were in flight when their block ended. No thread could read their bytes.
    pub unwaited: u64,
    /// The part of the requests, sectors and wavefronts that writes made, as a GPU counts writes apart from reads.
    pub written: Written,
}

/// The counts of [`Counters`] that writes made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Written {
    pub requests: u64,
    pub sectors: u64,
    pub wavefronts: u64,
    pub ideal_wavefronts: u64,
}

impl Counters {
    /// Returns the wavefronts that bank conflicts add.
    pub fn conflicts(&self) -> u64 {
        self.wavefronts.saturating_sub(self.ideal_wavefronts)
    }

    /// Counts a request of a warp to global memory. `addresses` holds those of its lanes and gets sorted.
    pub(crate) fn global_request(
        &mut self,
        limits: &Limits,
        addresses: &mut [i64],
        access: usize,
        write: bool,
    ) {
        let (found, ideal) = banks::sectors(limits, addresses, access);
        self.requests += 1;
        self.sectors += found;
        self.ideal_sectors += ideal;
        if write {
            self.written.requests += 1;
            self.written.sectors += found;
        }
    }

    /// Counts a request of a warp to shared memory. `lanes` holds the position and the address of each lane.
    pub(crate) fn shared_request(
        &mut self,
        limits: &Limits,
        lanes: &[(usize, i64)],
        access: usize,
        write: bool,
    ) {
        let (found, ideal) = banks::wavefronts(limits, lanes, access);
        self.wavefronts += found;
        self.ideal_wavefronts += ideal;
        if write {
            self.written.wavefronts += found;
            self.written.ideal_wavefronts += ideal;
        }
    }
}

impl Report {
    /// Returns the sum over all operations and the statements outside of them.
    pub fn total(&self) -> Counters {
        let mut total = self.other;
        self.ops.values().for_each(|counters| total += *counters);
        total
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, o: Counters) {
        self.instructions += o.instructions;
        self.bytes += o.bytes;
        self.redundant_bytes += o.redundant_bytes;
        self.requests += o.requests;
        self.sectors += o.sectors;
        self.ideal_sectors += o.ideal_sectors;
        self.wavefronts += o.wavefronts;
        self.ideal_wavefronts += o.ideal_wavefronts;
        self.unwaited += o.unwaited;
        self.written.requests += o.written.requests;
        self.written.sectors += o.written.sectors;
        self.written.wavefronts += o.written.wavefronts;
        self.written.ideal_wavefronts += o.written.ideal_wavefronts;
    }
}

/// Formats a number of bytes: exact below 10 KiB, else with one decimal. 0 is blank.
pub fn byte_count(n: u64) -> String {
    if n == 0 {
        return String::new();
    }
    let mut value = n as f64;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if n < 10 * 1024 || value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{n} B") } else { format!("{value:.1} {unit}") }
}
