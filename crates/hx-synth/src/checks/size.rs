//! Rejects tensors that are too large for any device before the search, which enumerates their elements.

use std::collections::{BTreeMap, BTreeSet};

use hx_target::Target;
use hx_tile::{
    LiveAcross, LiveTensors, Op, OpId, OpKind, ScopeId, Tensor, TensorId, TensorKind, TileProgram,
    registers_of,
};

use crate::choices::roles::role_registers;
use crate::constraints::component::UNKNOWN_TRIPS;
use crate::cost;
use crate::failure::{Failure, FailureKind};
use crate::solve::rounds::in_rounds;

/// Limit on the bytes of one register tensor in one thread: twice the 255 registers that a thread can have, so no program that
/// runs well is rejected.
const THREAD_BYTES: i64 = 2 << 10;

const REGISTER_BYTES: i64 = 4;

/// Shared tensors of up to this many times a block's shared memory are still solved, so that the final message can count all
/// tensors.
const SHARED_TIMES: i64 = 16;

/// Rejects a program with more threads on a multiprocessor than fit, or with a tensor beyond these limits.
///
/// # Errors
/// `Resource` for the threads, `Registers` or `Resource` for the first such tensor.
pub(crate) fn check(program: &TileProgram) -> Result<(), Failure> {
    let (threads, wanted) = (program.block_threads(), program.blocks_per_sm.unwrap_or(1));
    let fit = program.target.limits.residency(threads, 1, 0);
    if wanted > fit.blocks.max(1) {
        let message = format!(
            "found {wanted} blocks of {threads} threads on a multiprocessor, and one of {} holds {}",
            program.target, fit.blocks
        );
        return Err(Failure::new(FailureKind::Resource, message).help("fewer blocks or fewer threads"));
    }
    let roles = role_registers(program);
    for id in program.tensor_ids() {
        let tensor = program.tensor(id);
        match &tensor.kind {
            TensorKind::Register { .. } => {
                register(program, registers_of_a_thread(program, &roles, tensor.scope), id, tensor)?;
            }
            TensorKind::Shared { .. } => shared(id, tensor, program.target)?,
        }
    }
    Ok(())
}

/// Rejects a register tensor that is too large for threads with `most` registers.
fn register(program: &TileProgram, most: i64, id: TensorId, tensor: &Tensor) -> Result<(), Failure> {
    let target = program.target;
    let threads = i64::from(program.threads_holding(id).max(1));
    if bytes(tensor).is_some_and(|bytes| bytes / threads <= THREAD_BYTES) {
        return Ok(());
    }
    let Tensor { name, dtype, shape, .. } = tensor;
    let kind = program.scope(tensor.scope).kind.name();
    let (message, text) = match bytes(tensor) {
        Some(bytes) => (
            format!(
                "`{name}` takes {} registers of each thread, which has {most} on {target}",
                registers(bytes, threads)
            ),
            format!("{shape:?} of {dtype} are {} registers for {threads} threads", registers(bytes, 1)),
        ),
        None => (
            format!("`{name}` of type {dtype} and shape {shape:?} does not fit the registers of a {kind}"),
            String::new(),
        ),
    };
    Err(Failure::new(FailureKind::Registers, message)
        .part(None, Some(id), text)
        .help("a smaller tile or more threads"))
}

/// Sets of tensors that threads hold at once: the tensors that are live across an operation, and each tensor alone. A tensor that
/// is only loaded for gemms is not counted alone: its parts are loaded as they are needed.
#[derive(Debug)]
pub(crate) struct Together(Vec<LiveSet>);

#[derive(Debug)]
struct LiveSet {
    /// The threads that hold the tensors.
    scope: ScopeId,
    /// The registers that each of them has.
    most: i64,
    trips: f64,
    tensors: Vec<TensorId>,
}

impl Together {
    pub(crate) fn of(program: &TileProgram) -> Together {
        let ops = program.ops(UNKNOWN_TRIPS);
        let trips: BTreeMap<OpId, f64> = ops.iter().map(|(op, trips)| (op.id, *trips)).collect();
        let across = LiveTensors::of(program).across.into_iter();
        let roles = role_registers(program);
        let set = |scope, trips, tensors| {
            let most = registers_of_a_thread(program, &roles, scope);
            LiveSet { scope, most, trips, tensors }
        };
        let of = |LiveAcross { op, scope, tensors }: LiveAcross<'_>| set(scope, trips[&op.id], tensors);
        let mut live: Vec<LiveSet> = across.map(of).collect();
        let is_part = |op: &Op, tensor: &TensorId| {
            let loaded = matches!(&op.kind, OpKind::Copy { src, .. } if src.register() != Some(*tensor));
            loaded || matches!(&op.kind, OpKind::Gemm { c, .. } if c != tensor)
        };
        let mut whole = BTreeSet::new();
        for (op, _) in ops {
            whole.extend(op.kind.registers().into_iter().filter(|tensor| !is_part(op, tensor)));
        }
        let alone = |tensor: TensorId| set(program.tensor(tensor).scope, 1.0, vec![tensor]);
        live.extend(whole.into_iter().map(alone));
        Together(live)
    }

    /// Returns the registers of a thread at the place with the most, if each tensor is dealt evenly.
    pub(crate) fn registers(&self, program: &TileProgram) -> i64 {
        let registers = |t: &TensorId| {
            let threads = i64::from(program.threads_holding(*t).max(1));
            registers_of(program, *t, (program.tensor(*t).size() + threads - 1) / threads)
        };
        self.0.iter().map(|live| live.tensors.iter().map(registers).sum()).max().unwrap_or(0)
    }

    /// Returns the cycles of spills at the worst place. `values` returns how many elements of a tensor each thread holds.
    pub(crate) fn spills(&self, program: &TileProgram, values: &dyn Fn(TensorId) -> Option<i64>) -> f64 {
        let registers = |t: &TensorId| values(*t).map_or(0, |values| registers_of(program, *t, values));
        let over = |live: &LiveSet| {
            let over = live.tensors.iter().map(registers).sum::<i64>() - live.most;
            let threads = program.scope(live.scope).threads;
            if over > 0 { live.trips * cost::spill(program.target, threads, over) } else { 0.0 }
        };
        self.0.iter().map(over).fold(0.0, f64::max)
    }
}

/// Least number of registers of a thread that must remain for addresses and counters.
pub const SPARE_REGISTERS: i64 = 16;

/// Reports whether each register tensor, dealt evenly, fits the registers of a thread and leaves [`SPARE_REGISTERS`].
pub fn fits_registers(program: &TileProgram) -> bool {
    let program = &in_rounds(program);
    let roles = role_registers(program);
    program.tensor_ids().filter(|id| program.tensor(*id).is_register()).all(|id| {
        let most = registers_of_a_thread(program, &roles, program.tensor(id).scope) - SPARE_REGISTERS;
        let threads = i64::from(program.threads_holding(id).max(1));
        bytes(program.tensor(id)).is_some_and(|bytes| registers(bytes, threads) <= most)
    })
}

/// Returns the registers that a thread of a scope can have: those of its role, or its share in a block of this program's threads.
/// `roles` are the [`Solution::role_registers`](hx_tile::Solution::role_registers).
pub fn registers_of_a_thread(program: &TileProgram, roles: &BTreeMap<ScopeId, u32>, scope: ScopeId) -> i64 {
    let limits = program.limits();
    if program.roles().iter().any(|role| role.scope == scope) {
        let at_entry = limits.registers_at_entry(program.block_threads());
        return i64::from(roles.get(&scope).copied().unwrap_or(at_entry).min(limits.registers_per_thread));
    }
    i64::from(limits.registers_per_thread)
        .min(i64::from(limits.registers) / i64::from(program.block_threads().max(1)))
}

fn registers(bytes: i64, threads: i64) -> i64 {
    let all = threads * REGISTER_BYTES;
    (bytes + all - 1) / all
}

fn shared(id: TensorId, tensor: &Tensor, target: Target) -> Result<(), Failure> {
    let limit = target.limits.shared_bytes;
    if bytes(tensor).is_some_and(|bytes| bytes <= SHARED_TIMES * i64::from(limit)) {
        return Ok(());
    }
    let Tensor { name, dtype, shape, .. } = tensor;
    let message = format!(
        "`{name}` of type {dtype} and shape {shape:?} does not fit in shared memory, and {target} has {limit} B"
    );
    Err(Failure::new(FailureKind::Resource, message)
        .part(None, Some(id), "made here")
        .help("smaller tiles or fewer stages"))
}

/// Returns the bytes of a tensor, or `None` if their number overflows.
fn bytes(tensor: &Tensor) -> Option<i64> {
    let elements = tensor.shape.iter().try_fold(1i64, |product, extent| product.checked_mul(*extent))?;
    Some(elements.checked_mul(i64::from(tensor.dtype.bits()))? / 8)
}
