//! The counters of launches on the simulator, beside the lines of the kernel that caused them.
//!
//! The model is plain data: a row for each operation, with its place in the text. `hx-report` draws it for a terminal,
//! [`KernelReport::json`] writes it for programs. Launches of the same instance add up.
//!
//! Start at [`KernelReport`].

mod advice;
mod build;
mod json;

use std::collections::BTreeMap;
use std::fmt;

use hx_sim::Counters;
use hx_target::Target;
use hx_tile::{OpCycles, OpId};

pub use self::advice::Advice;
pub use self::build::Ran;

/// Formats the reports of launches, as the caller of a launcher shows them.
pub trait FormatReport: fmt::Debug {
    /// Formats the report of one launch, the one with this number from 1 on. The text ends with a line break.
    fn of_launch(&self, number: usize, report: &KernelReport) -> String;
}

/// The counters of the launches of one instance.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelReport {
    /// The instance, as `path::kernel<BM = 64>`.
    pub kernel: String,
    pub target: Target,
    pub launches: u64,
    /// Blocks of all launches.
    pub blocks: u64,
    /// The threads of a block.
    pub threads: u32,
    /// Block barriers, summed over the blocks.
    pub barriers: u64,
    /// The estimated cycles of all blocks, each on its own. 0 if there is no estimate.
    pub cycles: f64,
    /// The kernel, and the functions in whose text it has operations, in the order in which they occur.
    pub parts: Vec<Part>,
    /// One for each operation, in the order of the program.
    pub rows: Vec<Row>,
    /// Counts of statements that belong to no operation.
    pub other: Counters,
    /// The performance notes of the instance.
    pub notes: Vec<Note>,
}

/// A performance note.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The number of its code, such as `HX0306`.
    pub code: &'static str,
    pub path: String,
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: u32,
    pub message: String,
    /// Facts that explain it.
    pub notes: Vec<String>,
    /// The changes that it offers.
    pub help: Vec<String>,
}

/// A kernel or a function with operations of the instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    pub path: String,
    /// The keyword of the item: `kernel` or `fn`.
    pub kind: &'static str,
    pub name: String,
    /// The lines of the text that are shown, by their numbers from 1.
    pub lines: BTreeMap<u32, String>,
}

/// A place in a part: lines and columns count from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Spot {
    /// The position of the part in [`KernelReport::parts`].
    pub part: usize,
    pub line: u32,
    pub column: u32,
}

/// The counters of one operation.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    pub op: OpId,
    pub spot: Spot,
    /// The calls around the function that contains the operation, the innermost first.
    pub calls: Vec<Spot>,
    /// The operation as text.
    pub title: String,
    /// The rows of the catalogue that the operation uses, each once.
    pub instructions: Vec<String>,
    /// The way in which the operation moves data.
    pub moves: Moves,
    pub counters: Counters,
    /// The estimated cycles of all blocks.
    pub cycles: OpCycles,
    /// The causes of waste, for remarks.
    pub advice: Advice,
}

/// The way in which an operation moves data. A GPU has different counters for each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Moves {
    /// It accesses no memory.
    Nothing,
    /// Between registers and memory.
    Registers,
    /// Asynchronous copies of single threads.
    AsyncCopies,
    /// Bulk copies: boxes of tensor maps, and runs.
    Bulk,
    Atomics,
}

impl Moves {
    /// Returns the word in reports for programs.
    pub fn word(self) -> &'static str {
        match self {
            Moves::Nothing => "nothing",
            Moves::Registers => "registers",
            Moves::AsyncCopies => "async",
            Moves::Bulk => "bulk",
            Moves::Atomics => "atomics",
        }
    }
}

impl KernelReport {
    /// Returns the counters of all operations and of the statements outside of them.
    pub fn total(&self) -> Counters {
        let mut total = self.other;
        self.rows.iter().for_each(|row| total += row.counters);
        total
    }

    /// Returns the part of the estimate that `cycles` are, from 0 to 1; 0 without an estimate.
    pub fn share(&self, cycles: f64) -> f64 {
        if self.cycles > 0.0 { cycles / self.cycles } else { 0.0 }
    }

    /// Adds the launches of another report to those of the same instance in `reports`.
    pub fn add_to(self, reports: &mut Vec<KernelReport>) {
        match reports.iter_mut().find(|report| report.is_like(&self)) {
            Some(report) => report.add(self),
            None => reports.push(self),
        }
    }

    /// Reports whether both reports are about the same code.
    fn is_like(&self, other: &KernelReport) -> bool {
        let code =
            |report: &KernelReport| -> Vec<_> { report.rows.iter().map(|row| (row.op, row.spot)).collect() };
        self.kernel == other.kernel && self.target == other.target && code(self) == code(other)
    }

    fn add(&mut self, other: KernelReport) {
        self.launches += other.launches;
        self.blocks += other.blocks;
        self.barriers += other.barriers;
        self.cycles += other.cycles;
        self.other += other.other;
        for (row, other) in self.rows.iter_mut().zip(other.rows) {
            row.counters += other.counters;
            row.cycles += other.cycles;
            row.advice.join(other.advice);
        }
    }
}
