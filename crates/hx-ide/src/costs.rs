//! What a kernel takes of a multiprocessor, and how many blocks fit it together.

use std::collections::BTreeMap;

use hx_base::{SourceFile, TextRange};
use hx_compile::{Db, thread_program};
use hx_hir::{Item, Kernel, file_items, signature_source_map};
use hx_target::Arch;
use hx_tile::{Op, Stmt, TensorId};

use crate::solved::Solved;
use crate::{Cancellable, Shown, catch, kernel};

/// Registers for addresses, counters and what else a thread holds beside its tensors. An allowance of the estimate, not a
/// measurement.
const OVERHEAD: u32 = 24;

/// The costs of one kernel, as shown.
#[derive(Clone, PartialEq, Debug)]
pub struct Costs {
    pub kernel: String,
    /// The name of the kernel in the text.
    pub range: TextRange,
    pub arch: Arch,
    /// The compile-time arguments, defaults included, as text.
    pub args: BTreeMap<String, String>,
    pub threads: u32,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// The registers were estimated from the tensors that live together; the compiler has not said.
    pub estimated: bool,
    /// Blocks that fit a multiprocessor together; while the registers are estimated, the most that may fit, by all else.
    pub blocks: u32,
    /// `threads`, `blocks`, `registers` or `shared memory`; nothing while the registers are estimated, as they may be it.
    pub limited_by: Option<&'static str>,
    /// The CUDA text, by which registers that the compiler reported are found again.
    pub cuda: String,
    pub symbol: String,
}

/// The costs of the kernels of a file, of all or of one. Kernels with errors have none.
///
/// `measured` gives the registers that the CUDA compiler reported for a text.
///
/// # Errors
/// When a newer text is waiting, or the question was withdrawn. Inside, a sentence where the file has no such kernel.
pub fn costs(
    db: &dyn Db,
    file: SourceFile,
    name: Option<&str>,
    shown: &Shown,
    measured: &dyn Fn(&str) -> Option<u32>,
) -> Cancellable<Result<Vec<Costs>, String>> {
    catch(|| {
        let kernels: Vec<Kernel<'_>> = match name {
            Some(name) => vec![kernel::find(db, file, Some(name), None)?],
            None => file_items(db, file).kernels().collect(),
        };
        Ok(kernels.into_iter().filter_map(|kernel| of_kernel(db, kernel, shown, measured)).collect())
    })
}

pub(crate) fn of_kernel(
    db: &dyn Db,
    kernel: Kernel<'_>,
    shown: &Shown,
    measured: &dyn Fn(&str) -> Option<u32>,
) -> Option<Costs> {
    let solved = Solved::of(db, kernel, shown)?;
    let threads = thread_program(db, solved.instance).as_ref().ok()?;
    let source = hx_compile::cuda_source(db, solved.instance).as_ref().ok()?;
    let reported = measured(&source.text);
    let limits = shown.arch.limits();
    let registers = reported.unwrap_or_else(|| estimate(&solved).min(limits.registers_per_thread));
    // The estimate misses by half or double, so nothing is concluded from it: no block takes less than one register a thread.
    let fitting = limits.residency(threads.threads, reported.unwrap_or(1), threads.shared_bytes);
    let name = signature_source_map(db, Item::Kernel(kernel))?.name?;
    Some(Costs {
        kernel: kernel.name(db).to_string(),
        range: name + kernel.offset(db),
        arch: shown.arch,
        args: solved.lowered.args.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect(),
        threads: threads.threads,
        shared_bytes: threads.shared_bytes,
        registers,
        estimated: reported.is_none(),
        blocks: fitting.blocks,
        limited_by: reported.map(|_| fitting.limited_by),
        cuda: source.text.clone(),
        symbol: source.symbol.clone(),
    })
}

/// The most 32-bit registers that tensors take together at any operation, and an allowance. A tensor lives from the first to the
/// last operation that touches it; one that is touched in a loop and outside of it lives through the whole loop.
fn estimate(solved: &Solved<'_>) -> u32 {
    let mut lives = BTreeMap::new();
    let mut clock = 0;
    walk(&solved.lowered.program.body, &mut clock, &mut lives);
    let words = |id: TensorId| -> u64 {
        let Some(d) = solved.solution.registers.get(&id) else { return 0 };
        let bits = d.layout.mode(1).size().unsigned_abs() * u64::from(solved.tensor(id).dtype.bits());
        bits.div_ceil(32)
    };
    let held = |at: usize| {
        let live = lives.iter().filter(|(_, (from, to))| *from <= at && at <= *to);
        live.map(|(id, _)| words(*id)).sum::<u64>()
    };
    let most = (0..clock).map(held).max().unwrap_or_default();
    u32::try_from(most).unwrap_or(u32::MAX).saturating_add(OVERHEAD)
}

type Lives = BTreeMap<TensorId, (usize, usize)>;

fn walk(stmts: &[Stmt], clock: &mut usize, lives: &mut Lives) {
    for stmt in stmts {
        match stmt {
            Stmt::Op(op) => touch(op, clock, lives),
            Stmt::For { body, .. } | Stmt::While { body, .. } => {
                let begin = *clock;
                let before: Lives = lives.clone();
                walk(body, clock, lives);
                let end = clock.saturating_sub(1);
                // What was there before the loop and is used in it has to last until the next time round.
                for (id, (_, to)) in lives.iter_mut() {
                    if before.contains_key(id) && *to >= begin {
                        *to = (*to).max(end);
                    }
                }
            }
            Stmt::If { then, otherwise, .. } => {
                walk(then, clock, lives);
                walk(otherwise, clock, lives);
            }
            Stmt::Let { .. }
            | Stmt::Assign { .. }
            | Stmt::LoadScalar { .. }
            | Stmt::LetNumber { .. }
            | Stmt::AssignNumber { .. } => {}
        }
    }
}

fn touch(op: &Op, clock: &mut usize, lives: &mut Lives) {
    for id in op.kind.tensors() {
        lives.entry(id).and_modify(|(_, to)| *to = *clock).or_insert((*clock, *clock));
    }
    *clock += 1;
}
