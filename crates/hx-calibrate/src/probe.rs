//! A probe: its kernel, its launch, and the figure that two launches of different lengths give.

use std::collections::BTreeMap;
use std::fmt::Write;

/// The number of blocks of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Blocks {
    /// One block, or the blocks of one cluster: other multiprocessors are idle.
    One,
    /// One block on each multiprocessor.
    All,
}

/// The meaning of a probe's figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// Cycles of a unit of work.
    Cycles,
    /// Units of work, which are bytes, in a cycle.
    PerCycle,
}

/// A matrix of 64 columns of 16 bits over the data, in boxes of 64 columns under the swizzle of 128 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapShape {
    pub rows: u64,
    /// Rows of a box; its columns are [`MapShape::COLUMNS`].
    pub extent: u32,
}

impl MapShape {
    /// Columns of the matrix and of a box.
    pub const COLUMNS: u32 = 64;
    /// Bytes of a row.
    pub const ROW_BYTES: u32 = 128;
}

/// A kernel that repeats one kind of work.
///
/// Its parameters: a pointer to the clocks, a pointer to the data, the number of rounds, the number 1, and the tensor map if it
/// has one. It writes two numbers for each of 32 warps of each block: its clock before and after the rounds. A warp that
/// is not timed writes 0 and 0. A warp that works beside the timed ones writes -1 and its own rounds.
#[derive(Clone, PartialEq, Debug)]
pub struct Probe {
    pub name: String,
    pub symbol: String,
    pub text: String,
    pub threads: u32,
    pub blocks: Blocks,
    pub cluster: u32,
    pub shared_bytes: u32,
    pub map: Option<MapShape>,
    /// Units of work in a round.
    pub units: f64,
    /// Units of the work beside it, in a round of it.
    pub beside: Option<f64>,
    pub figure: Figure,
    /// Rounds of the two launches. The figure is the slope between them, so the work around the rounds cancels out.
    pub rounds: [u32; 2],
}

/// The results of probes by their names.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Results {
    pub figures: BTreeMap<String, f64>,
}

/// The beginning of each CUDA text.
/// Results that nobody reads are the point of a probe, so the two warnings about them are off.
const PRELUDE: &str = "\
#pragma nv_diag_suppress 177,550
struct alignas(64) Map { unsigned long long words[16]; };
";

/// Warps of a block for which the clocks have room.
const CLOCK_WARPS: usize = 32;

impl Probe {
    /// Returns the bytes of the clocks of a launch with this number of blocks.
    pub fn clock_bytes(blocks: u32) -> usize {
        blocks as usize * CLOCK_WARPS * 2 * size_of::<i64>()
    }

    /// Returns the cycles of a launch from its clocks: of each block from the first start to the last end, and of these the
    /// median. The second number is the rounds of the work beside it, the mean of the blocks. `None` if some block has no timed
    /// warp.
    pub fn elapsed(clocks: &[u8]) -> Option<[f64; 2]> {
        let words: Vec<i64> = clocks
            .chunks_exact(8)
            .map(|word| i64::from_le_bytes(word.try_into().unwrap_or_default()))
            .collect();
        let mut blocks = Vec::new();
        let mut others = 0.0;
        for block in words.chunks_exact(2 * CLOCK_WARPS) {
            let warps = || block.chunks_exact(2).map(|pair| (pair[0], pair[1]));
            let timed = || warps().filter(|(start, end)| *start >= 0 && end > start);
            let (start, end) = (timed().map(|w| w.0).min()?, timed().map(|w| w.1).max()?);
            blocks.push((end - start) as f64);
            others += warps().filter(|(start, _)| *start == -1).map(|w| w.1 as f64).sum::<f64>();
        }
        blocks.sort_by(f64::total_cmp);
        Some([*blocks.get(blocks.len() / 2)?, others / blocks.len() as f64])
    }

    /// Returns the figure from the cycles of the two launches.
    pub fn value(&self, [short, long]: [f64; 2]) -> f64 {
        let slope = (long - short) / f64::from(self.rounds[1] - self.rounds[0]);
        match self.figure {
            Figure::Cycles => slope / self.units,
            Figure::PerCycle => self.units / slope,
        }
    }
}

impl Results {
    /// Returns the figure of a probe, if it ran.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.figures.get(name).copied()
    }
}

/// Returns the CUDA text of probes that are compiled together.
pub fn source(probes: &[Probe]) -> String {
    let mut out = PRELUDE.to_owned();
    probes.iter().for_each(|probe| {
        let _ = writeln!(out, "\n// {}\n{}", probe.name, probe.text);
    });
    out
}
