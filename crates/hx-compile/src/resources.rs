//! The resources of a multiprocessor that a block takes: threads, shared memory, registers, and the number of blocks that
//! fit together.
//!
//! Registers are known only once ptxas has assembled the CUDA text. Until then they are estimated from the tensors that are
//! live together. An estimate is marked as such, and nothing is concluded from it: no block count, and no limiting resource.
//! Everything that shows registers asks [`resources`], so that two places never show different numbers.

use std::fmt;

use hx_synth::Solved;
use hx_target::Residency;
use hx_tile::{LiveRanges, Op, OpKind, Solution, TensorId, TileProgram, registers_of};

use crate::{Db, Instance, solved, thread_program};

/// The number of registers for addresses, counters and everything else that a thread holds besides its tensors. With this
/// number the estimate has the least error over the kernels of `std` and `tests/kernels`.
const ALLOWANCE: u32 = 16;

/// The number of 32-bit registers of a thread, and where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Registers {
    /// ptxas reported them for this text.
    Reported(u32),
    /// No compile of this text is known: [`estimated_registers`].
    Estimated(u32),
}

/// The resources of a multiprocessor that a block takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resources {
    pub threads: u32,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u32,
    pub registers: Registers,
    /// The number of blocks that fit on a multiprocessor together, and the resource that limits it; `None` while registers
    /// are estimated.
    pub residency: Option<Residency>,
}

impl Registers {
    /// Returns the number, wherever it comes from.
    pub fn count(self) -> u32 {
        let (Registers::Reported(count) | Registers::Estimated(count)) = self;
        count
    }
}

/// Prints `47 registers (ptxas)` or `about 89 registers (estimated)`.
impl fmt::Display for Registers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Registers::Reported(count) => write!(f, "{count} registers (ptxas)"),
            Registers::Estimated(count) => write!(f, "about {count} registers (estimated)"),
        }
    }
}

/// Prints `8 KiB shared · 47 registers (ptxas) · 10 blocks a multiprocessor (registers)`, or before ptxas has reported
/// registers `8 KiB shared · about 89 registers (estimated)`.
impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} shared · {}", bytes(self.shared_bytes), self.registers)?;
        match self.residency {
            Some(Residency { blocks, limited_by }) => {
                let plural = if blocks == 1 { "" } else { "s" };
                write!(f, " · {blocks} block{plural} a multiprocessor ({limited_by})")
            }
            None => Ok(()),
        }
    }
}

fn bytes(count: u32) -> String {
    if count >= 1024 && count.is_multiple_of(1024) {
        return format!("{} KiB", count / 1024);
    }
    if count >= 10 * 1024 {
        return format!("{:.1} KiB", f64::from(count) / 1024.0);
    }
    format!("{count} B")
}

/// Returns the resources that a block of an instance takes; `None` if the instance has no thread program. `reported` is the
/// number of registers that ptxas reported for the instance's CUDA text, if a compile of it is known. It is an argument and
/// not part of the database, so that the end of a compile changes what is shown and runs no query again.
pub fn resources<'db>(db: &'db dyn Db, instance: Instance<'db>, reported: Option<u32>) -> Option<Resources> {
    let program = thread_program(db, instance).as_ref().ok()?;
    let (threads, shared_bytes) = (program.block_threads(), program.shared_bytes);
    let limits = instance.target(db).limits();
    let registers = match reported {
        Some(count) => Registers::Reported(count),
        None => Registers::Estimated(estimated_registers(db, instance)?.min(limits.registers_per_thread)),
    };
    let residency = reported.map(|count| limits.residency(threads, count, shared_bytes));
    Some(Resources { threads, shared_bytes, registers, residency })
}

/// Estimates the 32-bit registers of a thread; `None` if the instance has no layouts.
///
/// Over the default instances of `std` on `sm_90a`, the estimate is 0.57 to 1.45 times the number that ptxas of CUDA 13.0
/// reports, and within 20 % for 20 of 31. With those of `tests/kernels` added, it is 0.44 to 1.70 times. The estimate counts
/// no registers for addresses in unrolled loops and for the code of functions such as `erf`. It counts whole tensors of
/// which ptxas holds only parts.
#[salsa::tracked(returns(copy))]
pub fn estimated_registers<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Option<u32> {
    let Solved { program, solution, .. } = solved(db, instance).as_ref().ok()?;
    let count = estimate(program, solution);
    // Roles that set their own registers hand registers to each other, so the launch is bounded by its registers at entry.
    let shared_out = !solution.role_registers.is_empty();
    let at_entry = || program.limits().registers_at_entry(program.block_threads());
    Some(if shared_out { count.min(at_entry()) } else { count })
}

/// Returns the most registers that tensors take together at any operation, plus an allowance. The results of an operation
/// reuse the registers of operands that no later operation needs. Those of a matrix product do not: it reads its operands
/// while it adds to its accumulator.
fn estimate(program: &TileProgram, solution: &Solution) -> u32 {
    let LiveRanges { ops, spans } = LiveRanges::of(program);
    let words = |id: &TensorId| -> i64 {
        let values = solution.registers.get(id).map_or(0, |held| held.layout.mode(1).size());
        registers_of(program, *id, values)
    };
    let live = |at: usize, op: &Op| {
        let (mut through, mut last, mut first) = (0, 0, 0);
        for (id, &(from, to)) in spans.iter().filter(|(_, (from, to))| *from <= at && at <= *to) {
            let part = match (from < at, at < to) {
                (true, true) => &mut through,
                (true, false) => &mut last,
                (false, _) => &mut first,
            };
            *part += words(id);
        }
        let changing = if matches!(op.kind, OpKind::Gemm { .. }) { last + first } else { last.max(first) };
        through + changing
    };
    let most = ops.iter().enumerate().map(|(at, op)| live(at, op)).max().unwrap_or_default();
    u32::try_from(most).unwrap_or(u32::MAX).saturating_add(ALLOWANCE)
}
