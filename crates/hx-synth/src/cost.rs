//! The cost model: cycles of a block, by the pipes that its instructions occupy (paper, section VI; numbers are catalogue data).

use std::collections::BTreeSet;

use hx_dtype::DType;
use hx_index::{Expr, Symbol};
use hx_target::{Arch, CopyRow, ExchangeRow, GemmRow, Space, WARP, WAVEFRONT_BYTES, catalogue, machine};
use hx_tile::{Scalar, ScanLevel, TileProgram, View};

use crate::access::{Access, global};
use crate::anchor::gemm::Tiling;

/// Value taken for every dimension where an address must be a number.
const SAMPLE_DIM: i64 = 4096;
/// Bytes of a sector, the unit of global traffic.
const SECTOR: i64 = 32;
/// Registers of a thread beside its tensors: addresses, counters, and the operands of the instructions under way.
const OTHER_REGISTERS: i64 = 40;
/// Bytes of a register.
const REGISTER_BYTES: u32 = 4;
/// Matrix units of a multiprocessor.
const MATRIX_UNITS: f64 = 4.0;

/// Cycles of one execution of a gemm: the steps along K go round all accumulators of a warp, and each waits for what the step before it
/// added to the same one.
pub(crate) fn gemm(tiling: &Tiling, threads: u32) -> f64 {
    let GemmRow { issue, latency, threads: lanes, .. } = tiling.row;
    let warps = f64::from(threads.div_ceil(WARP));
    // A collective instruction is issued once a warp; the others once for each group of lanes, together by the warp.
    let each =
        issue * if *lanes > 1 { f64::from(WARP / lanes) } else { 1.0 } * (warps / MATRIX_UNITS).max(1.0);
    let steps = tiling.issues[2];
    let round = (tiling.count() / steps) as f64 * each;
    (steps - 1) as f64 * round.max(*latency) + round + latency
}

/// Cycles of one execution of a copy to or from global memory.
pub(crate) fn global(program: &TileProgram, view: &View, access: &Access) -> f64 {
    let Some(param) = global::param_of(program, view) else { return 0.0 };
    let bits = i128::from(param.dtype.bits());
    let strides: Vec<i64> = global::strides(param, view)
        .iter()
        .map(|s| s.eval(&|symbol| sample(symbol)).unwrap_or(SAMPLE_DIM))
        .collect();
    let lanes = program.threads.min(WARP);
    let mut sectors = BTreeSet::new();
    for lane in 0..i64::from(lanes) {
        let at = access.coordinate(lane, 0);
        // A stride may be any integer, so the bytes need more bits than it has.
        let offset: i128 = match &param.block {
            None => at.iter().zip(&strides).map(|(c, s)| i128::from(*c) * i128::from(*s)).sum(),
            Some(_) => {
                let at: Vec<Expr> = at.into_iter().map(Expr::constant).collect();
                let at: Vec<Expr> = (0..param.shape.len()).map(|d| view.coordinate(d, &at)).collect();
                param.offset(&at, &program.facts).eval(&|symbol| sample(symbol)).unwrap_or(0).into()
            }
        };
        let width = i128::from(access.run.width());
        let (first, last) = (offset * bits / 8, ((offset + width) * bits + 7) / 8 - 1);
        let sector = i128::from(SECTOR);
        sectors.extend(first.div_euclid(sector)..=last.div_euclid(sector));
    }
    let warps = f64::from(program.threads.div_ceil(WARP));
    let instructions = access.issues() as f64 * warps;
    let bytes = sectors.len() as f64 * SECTOR as f64 * instructions;
    (bytes / machine().global_bytes).max(instructions * access.row.issue) + access.row.latency
}

/// Cycles of one execution of an elementwise expression over `values` elements of each thread.
pub(crate) fn map(program: &TileProgram, value: &Scalar, values: i64) -> f64 {
    let mut operators = Vec::new();
    value.operators(&mut operators);
    let issue: f64 = operators
        .iter()
        .map(|(operator, dtype)| {
            catalogue().compute(*operator, *dtype).map_or(machine().converted_issue, |row| row.issue)
        })
        .sum();
    issue * values as f64 * warps_per_unit(program)
}

/// Cycles of a reduction of `values` elements of each thread to `results`, with exchanges between lanes and a
/// meeting of warps that holds up so many cycles.
pub(crate) fn reduce(
    program: &TileProgram,
    values: i64,
    results: i64,
    exchanges: usize,
    across: Option<f64>,
) -> f64 {
    let latency = catalogue().exchanges.first().map_or(0.0, |row| row.latency);
    let lanes = exchanges as f64 * (latency + results as f64);
    let meeting = across.map_or(0.0, |drain| meeting(program, drain, results as f64));
    values as f64 * warps_per_unit(program) + lanes + meeting
}

/// Cycles of one execution of a conversion of `values` elements of each thread, which lie in the order of the tile.
pub(crate) fn cast(program: &TileProgram, [from, to]: [DType; 2], values: i64, arch: Arch) -> f64 {
    if from == to {
        return 0.0;
    }
    let rows = catalogue().converts_of(from, to, arch).filter(|row| row.order.is_empty());
    let rows = rows.map(|row| row.issue / f64::from(row.values));
    let issue = rows.fold(f64::INFINITY, f64::min);
    let issue = if issue.is_finite() { issue } else { machine().converted_issue };
    issue * values as f64 * warps_per_unit(program)
}

/// Cycles of a scan of `values` elements of each thread by one component of its operator.
pub(crate) fn scan(
    program: &TileProgram,
    value: &Scalar,
    values: i64,
    levels: &[ScanLevel],
    drain: f64,
) -> f64 {
    let latency = catalogue().exchanges.first().map_or(0.0, |row| row.latency);
    let mut cycles = 0.0;
    let mut blocks = values as f64;
    for level in levels {
        cycles += map(program, value, values);
        match level {
            ScanLevel::Values { extent, .. } => blocks /= *extent as f64,
            ScanLevel::Lanes { extent, .. } => {
                let steps = f64::from(extent.ilog2() + 2);
                cycles += steps * (latency + blocks);
            }
            ScanLevel::Across { extent, .. } => {
                cycles += meeting(program, drain, blocks * *extent as f64);
            }
        }
    }
    cycles
}

/// Cycles that an exchange through shared memory holds up: where blocks share a multiprocessor, the others go on meanwhile. `registers`
/// are those that tensors take of a thread.
pub(crate) fn drain(program: &TileProgram, arch: Arch, registers: i64) -> f64 {
    let limits = arch.limits();
    let most = i64::from(limits.registers_per_thread);
    let registers = registers.saturating_add(OTHER_REGISTERS).clamp(1, most) as u32;
    let shared = program.tensor_ids().map(|id| program.tensor(id)).filter(|tensor| !tensor.is_register());
    let shared: i64 =
        shared.map(|tensor| tensor.size().saturating_mul(i64::from(tensor.dtype.bits())) / 8).sum();
    let shared = shared.clamp(0, i64::from(limits.shared_bytes)) as u32;
    let blocks = f64::from(limits.residency(program.threads, registers, shared).blocks.max(1));
    machine().drain / (blocks * blocks)
}

/// Cycles of the two barriers of an exchange through shared memory, with what they hold up.
pub(crate) fn held_up(program: &TileProgram, drain: f64) -> f64 {
    barriers(program) + drain
}

/// Cycles in which warps put so many partial results together through shared memory.
fn meeting(program: &TileProgram, drain: f64, results: f64) -> f64 {
    held_up(program, drain) + machine().meeting + machine().meeting_value * results
}

fn barriers(program: &TileProgram) -> f64 {
    2.0 * (machine().barrier + machine().barrier_warp * f64::from(program.threads.div_ceil(WARP)))
}

fn warps_per_unit(program: &TileProgram) -> f64 {
    (f64::from(program.threads.div_ceil(WARP)) / MATRIX_UNITS).max(1.0)
}

/// Cycles of one execution of a copy to or from shared memory, given its wavefronts.
pub(crate) fn shared(program: &TileProgram, access: &Access, wavefronts: f64) -> f64 {
    let instructions = access.issues() as f64 * f64::from(program.threads.div_ceil(WARP));
    wavefronts + instructions * machine().issue_slot + access.row.latency
}

/// The same without bank conflicts, for a tile of these extents. Lanes that address nothing take no wavefronts: those that hold what
/// another one stores already, or what lies outside of the tile.
pub(crate) fn shared_ideal(program: &TileProgram, access: &Access, shape: &[i64]) -> f64 {
    shared(program, access, access.phases(program.threads, shape) as f64)
}

/// The least cycles of a copy to or from shared memory of so many instructions of each warp.
pub(crate) fn shared_least(program: &TileProgram, row: &CopyRow, issues: i64) -> f64 {
    let instructions = issues as f64 * f64::from(program.threads.div_ceil(WARP));
    instructions * (wavefronts_ideal(row) + machine().issue_slot) + row.latency
}

/// The least cycles in which so many bytes change hands, were it through shared memory with nothing held up.
pub(crate) fn exchange(program: &TileProgram, bytes: f64) -> f64 {
    barriers(program) + 2.0 * bytes / f64::from(WAVEFRONT_BYTES)
}

/// Cycles until what was written to shared memory and read again can be used.
pub(crate) fn shared_latency(arch: Arch) -> f64 {
    let rows = catalogue().copies_between(Space::Shared, Space::Register, arch);
    rows.map(|row| row.latency).fold(f64::INFINITY, f64::min)
}

/// Cycles in which the lanes of each warp exchange values: so many instructions, and choices between what they gave.
pub(crate) fn lanes(program: &TileProgram, row: &ExchangeRow, exchanges: i64, selects: i64) -> f64 {
    let warps = f64::from(program.threads.div_ceil(WARP));
    let selects = selects as f64 * warps_per_unit(program);
    exchanges as f64 * warps * row.issue + selects + row.latency
}

/// Cycles in which each thread puts so many registers away and brings them back.
pub(crate) fn spill(program: &TileProgram, registers: i64) -> f64 {
    let instructions = 2.0 * registers as f64 * f64::from(program.threads.div_ceil(WARP));
    instructions * (f64::from(WARP * REGISTER_BYTES) / f64::from(WAVEFRONT_BYTES) + machine().issue_slot)
}

/// Wavefronts of one instruction of a warp at best.
fn wavefronts_ideal(row: &CopyRow) -> f64 {
    f64::from((WARP * row.bytes).div_ceil(WAVEFRONT_BYTES).max(1))
}

fn sample(symbol: &Symbol) -> Option<i64> {
    match symbol {
        Symbol::Dim(_) => Some(SAMPLE_DIM),
        _ => Some(0),
    }
}
