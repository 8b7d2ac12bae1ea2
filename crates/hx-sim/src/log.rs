//! The records of prints and assertions of a block, in the format of the buffer that a GPU fills.
//!
//! They count no instructions and no bytes: the counters measure the kernel as if it had no prints and assertions.

use std::collections::BTreeMap;

use hx_thread::{LOG_DROPPED, LOG_WORD, LogContents, LogEntry, LogKind, LogPlan, ThreadProgram};
use hx_thread::{assertion_word, failure_key, record_bytes, sides_word};

/// The records of one block so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockLog {
    /// The block's number in the grid.
    number: u64,
    /// The records of each group of threads that runs by itself, by the number of its agent.
    slices: Vec<Slice>,
    dropped: u64,
    /// Position in [`Code::log`](crate::code::Code::log) → count.
    tallies: Vec<Tally>,
    /// The number of executions of each assertion by each agent: (agent, position in [`Code::log`](crate::code::Code::log)) → count.
    runs: BTreeMap<(usize, usize), u32>,
}

/// The records of one slice of the block's area.
#[derive(Clone, Debug, Default)]
struct Slice {
    /// Bytes that the slice may keep.
    room: u64,
    /// Bytes that the records would take if the room were unlimited.
    next: u64,
    bytes: Vec<u8>,
    /// Position in `bytes` of the open record's elements; `None` if there was no room for the record.
    payload: Option<usize>,
}

/// The count of failures of one assertion.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    failures: u64,
    /// The complement of the least key of a failure. When blocks merge, the largest complement wins.
    first: u64,
    /// The two numbers that the first failure compares.
    sides: [u64; 2],
}

impl BlockLog {
    /// Returns the bytes that a copy of the log takes, about.
    pub(crate) fn footprint(&self) -> usize {
        let bytes: usize = self.slices.iter().map(|slice| size_of::<Slice>() + slice.bytes.len()).sum();
        bytes + self.tallies.len() * size_of::<Tally>()
    }

    pub(crate) fn new(entries: &[LogEntry], plan: &LogPlan, number: u64) -> BlockLog {
        let slice = |slice| Slice { room: plan.slice(number, slice).len() as u64, ..Slice::default() };
        let slices = (0..plan.slices()).map(slice).collect();
        BlockLog { number, slices, tallies: vec![Tally::default(); entries.len()], ..BlockLog::default() }
    }

    /// Begins a record of `size` bytes for a print by the agent with this number; drops it if there is no room.
    pub(crate) fn open(&mut self, agent: usize, entry: usize, size: u64) {
        let Some(slice) = self.slices.get_mut(agent) else { return };
        slice.payload = None;
        if slice.next + size > slice.room {
            self.dropped += 1;
            return;
        }
        let at = slice.next as usize;
        slice.bytes.resize(at + size as usize, 0);
        slice.bytes[at..at + LOG_WORD as usize].copy_from_slice(&(entry as u64 + 1).to_le_bytes());
        slice.payload = Some(at + LOG_WORD as usize);
    }

    /// Sets the element at a position of the agent's open record. All elements of a record have the same number of bytes.
    pub(crate) fn set_element(&mut self, agent: usize, position: u64, bytes: &[u8]) {
        if let Some(slice) = self.slices.get_mut(agent)
            && let Some(payload) = slice.payload
        {
            let at = payload + position as usize * bytes.len();
            slice.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        }
    }

    /// Counts a failure of an agent's assertion at a position. `sides` are the two numbers that it compares.
    pub(crate) fn count_failure(&mut self, agent: usize, entry: usize, position: u64, sides: [u64; 2]) {
        let runs = self.runs.get(&(agent, entry)).copied().unwrap_or(0);
        let tally = &mut self.tallies[entry];
        tally.failures += 1;
        let key = !failure_key(self.number, runs, position);
        if tally.first < key {
            (tally.first, tally.sides) = (key, sides);
        }
    }

    /// Ends an agent's execution of a print or an assertion.
    pub(crate) fn close(&mut self, agent: usize, info: &LogEntry, entry: usize) {
        match info.kind {
            LogKind::Print => {
                if let Some(slice) = self.slices.get_mut(agent) {
                    slice.next += record_bytes(info);
                }
            }
            LogKind::Assert => {
                let runs = self.runs.entry((agent, entry)).or_default();
                *runs = runs.saturating_add(1);
            }
        }
    }
}

/// The log buffer of the whole launch while it is filled.
#[derive(Debug)]
pub(crate) struct LaunchLog {
    plan: LogPlan,
    buffer: Vec<u8>,
}

impl LaunchLog {
    pub(crate) fn new(plan: LogPlan) -> LaunchLog {
        LaunchLog { buffer: plan.buffer(), plan }
    }

    pub(crate) fn plan(&self) -> &LogPlan {
        &self.plan
    }

    pub(crate) fn merge(&mut self, entries: &[LogEntry], block: &BlockLog) {
        for (number, slice) in block.slices.iter().enumerate() {
            let place = self.plan.slice(block.number, number as u64);
            // If an error cut the last record short, the record is left out.
            let whole = slice.bytes.get(..slice.next as usize).unwrap_or(&slice.bytes);
            if let Some(place) = self.buffer.get_mut(place).and_then(|a| a.get_mut(..whole.len())) {
                place.copy_from_slice(whole);
            }
        }
        self.update(LOG_DROPPED, |dropped| dropped + block.dropped);
        let tallies = entries.iter().zip(&block.tallies).enumerate();
        for (entry, (_, tally)) in tallies.filter(|(_, (info, _))| info.kind == LogKind::Assert) {
            let word = assertion_word(entries, entry);
            self.update(word, |failures| failures + tally.failures);
            let mut is_first = false;
            self.update(word + 1, |first| {
                is_first = first < tally.first;
                first.max(tally.first)
            });
            if is_first && !entries[entry].sides.is_empty() {
                for (side, bits) in tally.sides.into_iter().enumerate() {
                    self.update(sides_word(entries, entry) + 1 + side, |_| bits);
                }
            }
        }
    }

    fn update(&mut self, word: usize, f: impl FnOnce(u64) -> u64) {
        let at = word * LOG_WORD as usize;
        if let Some(bytes) = self.buffer.get_mut(at..at + LOG_WORD as usize) {
            let value = bytes.try_into().map_or(0, u64::from_le_bytes);
            bytes.copy_from_slice(&f(value).to_le_bytes());
        }
    }

    pub(crate) fn contents(&self, program: &ThreadProgram) -> LogContents {
        self.plan.read(program, &self.buffer)
    }
}
