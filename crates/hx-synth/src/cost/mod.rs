//! The cost model: cycles of a block, by the pipes that its instructions occupy (paper, section VI; the numbers are catalogue
//! data). `threads` is the number of threads that execute an operation: those of its scope.

pub(crate) mod cycles;
pub(crate) mod floor;

use std::collections::{BTreeMap, BTreeSet};

use hx_dtype::DType;
use hx_index::{Expr, Symbol};
use hx_target::{Allocation, ConvertRow, CopyRow, ExchangeRow, GemmRow, Reach, Space, Target};
use hx_tile::{SUM_CHUNK, Scalar, ScanLevel, TileProgram, View};

use crate::access::{Access, global};
use crate::anchor::gemm::{OperandLayout, Tiling};

/// Value assumed for every dimension where an address must be a number.
const SAMPLE_DIM: i64 = 4096;

/// Returns the cycles of one execution of a gemm. Each step along K visits all accumulators of a warp, and an instruction waits
/// for the previous step's result in the same accumulator. An instruction of a group of warps occupies all matrix units of the
/// multiprocessor, or its shared memory if that delivers the operands later, and the next one follows without a wait.
pub(crate) fn gemm(target: Target, tiling: &Tiling, threads: u32) -> f64 {
    let GemmRow { issue, latency, threads: lanes, .. } = tiling.row;
    if tiling.row.is_by_descriptor() {
        let groups = f64::from(threads) / f64::from(*lanes);
        return tiling.count() as f64 * groups * issue.max(read_by_descriptor(target, tiling)) + latency;
    }
    let each = gemm_issue(target, tiling.row, threads);
    gemm_rounds(tiling.row, tiling.count() as f64, tiling.issues[2] as f64, each)
}

/// Returns the cycles in which each warp of a quarter of the multiprocessor issues one instruction of a product.
pub(crate) fn gemm_issue(target: Target, row: &GemmRow, threads: u32) -> f64 {
    // A warp issues an instruction of fewer lanes once for each group of lanes. It takes part once in an instruction of several
    // warps. An instruction of one thread is issued for the whole warp.
    let lanes = row.threads;
    let issues = if lanes > 1 { f64::from((target.limits.lanes / lanes).max(1)) } else { 1.0 };
    row.issue * issues * warps_per_unit(target, threads)
}

/// Returns the cycles of a product of `count` instructions in `steps` steps along K, if each takes `each` cycles to issue.
pub(crate) fn gemm_rounds(row: &GemmRow, count: f64, steps: f64, each: f64) -> f64 {
    let round = count / steps * each;
    (steps - 1.0) * round.max(row.latency) + round + row.latency
}

/// Returns the cycles in which shared memory delivers the operands of one instruction that reads them by descriptor.
fn read_by_descriptor(target: Target, tiling: &Tiling) -> f64 {
    shared_operand_bytes(tiling) as f64 / f64::from(target.limits.wavefront_bytes())
}

/// Returns the bytes that one instruction reads from shared memory.
pub(crate) fn shared_operand_bytes(tiling: &Tiling) -> i64 {
    let GemmRow { shape: [m, n, k], a, b, .. } = tiling.row;
    let bytes = |operand: &Option<OperandLayout>, extent: i64, bits: u32| match operand {
        Some(_) => 0,
        None => extent * k * i64::from(bits) / 8,
    };
    let [in_a, in_b] = &tiling.operands;
    bytes(in_a, *m, a.dtype().bits()) + bytes(in_b, *n, b.dtype().bits())
}

/// Returns the cycles of one execution of a copy between registers and global memory.
pub(crate) fn global(program: &TileProgram, threads: u32, view: &View, access: &Access) -> f64 {
    let all = access.issues() as f64 * warps(program.target, threads);
    let parts = joined(program.target, threads, access.row, access.run.width()) * access.issues() as f64;
    moved(program, threads, view, access, &WarpInstructions { full: all, busy: all, all }) + parts
}

/// Returns the cycles in which each warp of a quarter of the multiprocessor joins the parts of a register that one access moves, or
/// takes them from it: an access narrower than a register costs instructions besides its own, and so does one that permutes bytes.
/// `width` is the number of elements of an access.
///
/// `n` parts of whole bytes make a register by `n − 1` permutations. Elements narrower than a byte are masked and shifted one by one:
/// the machine code of 64 elements of 4 bits that come in 32 bytes has 80 logical operators more than that of whole registers, and as
/// many shifts that another unit makes meanwhile.
pub(crate) fn joined(target: Target, threads: u32, row: &CopyRow, width: i64) -> f64 {
    let (bits, register) = (i64::from(row.bytes) * 8, i64::from(target.limits.register_bytes) * 8);
    if row.permutes > 0 {
        return f64::from(row.permutes) * target.costs().part_issue * warps_per_unit(target, threads);
    }
    if row.is_async() || row.is_collective() || bits >= register || width == 0 {
        return 0.0;
    }
    let instructions =
        if bits / width < 8 { 1.25 * width as f64 } else { 1.0 - bits as f64 / register as f64 };
    instructions * target.costs().part_issue * warps_per_unit(target, threads)
}

/// The matrices of the largest instruction that loads matrices.
const MATRICES: f64 = 4.0;

/// Returns the cycles from the issue of an access to shared memory until its last result can be used, if each warp makes it by `issues`
/// instructions. The matrices of a warp arrive one after the other, so several instructions that load as many matrices as one larger
/// instruction does take as long as that.
pub(crate) fn latency(target: Target, row: &CopyRow, issues: f64) -> f64 {
    if !(row.is_collective() && row.is_load()) {
        return row.latency;
    }
    let phases = wavefronts_ideal(target, row);
    let together = issues.min(MATRICES / phases).max(1.0);
    row.latency + target.costs().phase_latency * phases * (together - 1.0)
}

/// Returns the cycles of one execution of an asynchronous copy from global memory. Threads past the end of the tile move no bytes,
/// and a warp of such threads only takes a slot to find out.
pub(crate) fn asynchronous(program: &TileProgram, threads: u32, view: &View, access: &Access) -> f64 {
    let target = program.target;
    let busy = access.busy(threads, &view.shape());
    let lanes = busy.threads.iter().sum::<i64>() as f64;
    let full = lanes / f64::from(threads.min(target.limits.lanes));
    let all = access.issues() as f64 * warps(target, threads);
    moved(program, threads, view, access, &WarpInstructions { full, busy: busy.warps as f64, all })
}

/// The instructions of all warps in one execution of a copy.
struct WarpInstructions {
    /// Instructions of whole warps that move as many bytes as all of these instructions together.
    full: f64,
    /// Instructions in which at least one thread moves bytes.
    busy: f64,
    /// All instructions, with those in which no thread moves bytes.
    all: f64,
}

/// Returns the cycles in which warps move the bytes of a copy to or from global memory by these instructions.
fn moved(
    program: &TileProgram,
    threads: u32,
    view: &View,
    access: &Access,
    &WarpInstructions { full, busy, all }: &WarpInstructions,
) -> f64 {
    let target = program.target;
    let lanes = threads.min(target.limits.lanes);
    let at = (0..i64::from(lanes)).map(|lane| access.coordinate(lane, 0));
    if global::param_of(program, view).is_none() {
        return 0.0;
    }
    let sectors = sector_cycles(program, view, at, (access.run.width(), !access.row.is_load())) * full;
    let cycles = busy * access.row.issue + (all - busy) * target.costs().issue_slot;
    sectors.max(cycles) + access.row.latency
}

/// Returns the cycles in which the cache delivers or takes the sectors that one instruction of a warp touches, if its lanes access `width`
/// elements each at these coordinates of a view of global memory.
pub(crate) fn sector_cycles(
    program: &TileProgram,
    view: &View,
    lanes: impl Iterator<Item = Vec<i64>>,
    (width, is_store): (i64, bool),
) -> f64 {
    let target = program.target;
    let Some(param) = global::param_of(program, view) else { return 0.0 };
    let bits = i128::from(param.dtype.bits());
    let strides: Vec<i64> = global::strides(param, view)
        .iter()
        .map(|s| s.eval(&|symbol| sample(target, symbol)).unwrap_or(SAMPLE_DIM))
        .collect();
    let size = i128::from(target.limits.sector_bytes);
    // The bytes of each sector that lanes access.
    let mut sectors: BTreeMap<i128, BTreeSet<i128>> = BTreeMap::new();
    for at in lanes {
        // A stride may be any integer, so its product with a coordinate needs more bits than `i64` has.
        let offset: i128 = match &param.block {
            None => at.iter().zip(&strides).map(|(c, s)| i128::from(*c) * i128::from(*s)).sum(),
            Some(_) => {
                let at: Vec<Expr> = at.into_iter().map(Expr::constant).collect();
                let at: Vec<Expr> = (0..param.shape.len()).map(|d| view.coordinate(d, &at)).collect();
                param.offset(&at, &program.facts).eval(&|symbol| sample(target, symbol)).unwrap_or(0).into()
            }
        };
        let (first, end) = (offset * bits / 8, ((offset + i128::from(width)) * bits + 7) / 8);
        for byte in first..end {
            sectors.entry(byte.div_euclid(size)).or_default().insert(byte);
        }
    }
    let bytes = sectors.len() as f64 * f64::from(target.limits.sector_bytes);
    let partial = sectors.values().filter(|bytes| (bytes.len() as i128) < size).count();
    let costs = target.costs();
    bytes / costs.global_bytes + if is_store { partial as f64 * costs.partial_sector } else { 0.0 }
}

/// Returns the cycles in which bulk copies bring a tile of `bytes` bytes to a multiprocessor. No thread waits for their latency.
/// One thread issues the boxes one after the other, at best one a cycle.
pub(crate) fn in_boxes(target: Target, bytes: f64, boxes: f64) -> f64 {
    bytes / target.costs().global_bytes + boxes
}

/// Returns the cycles of one execution of an elementwise expression over `values` elements of each thread.
pub(crate) fn map(target: Target, threads: u32, value: &Scalar, values: i64) -> f64 {
    let mut operators = Vec::new();
    value.operators(&mut operators);
    let issue: f64 = operators
        .iter()
        .map(|(operator, dtype)| {
            target.rows().compute(*operator, *dtype).map_or(target.costs().converted_issue, |row| row.issue)
        })
        .sum();
    issue * values as f64 * warps_per_unit(target, threads)
}

/// Returns the cycles of a reduction of `values` elements of each thread to `results`, with `exchanges` exchanges between lanes.
/// `across` is `Some` if warps meet in shared memory, with the cycles that this stalls the block.
pub(crate) fn reduce(
    target: Target,
    threads: u32,
    values: i64,
    results: i64,
    exchanges: usize,
    across: Option<f64>,
) -> f64 {
    let latency = target.rows().exchanges.first().map_or(0.0, |row| row.latency);
    let lanes = exchanges as f64 * (latency + results as f64);
    let meeting = across.map_or(0.0, |drain| meeting(target, threads, drain, results as f64));
    values as f64 * warps_per_unit(target, threads) + lanes + meeting
}

/// Returns the cycles of one execution of a conversion of `values` elements of each thread, held in the order of the tile.
pub(crate) fn cast(threads: u32, [from, to]: [DType; 2], values: i64, target: Target) -> f64 {
    if from == to {
        return 0.0;
    }
    let rows = target.rows().converts_of(from, to).filter(|row| row.order.is_empty());
    cheapest(rows, target) * values as f64 * warps_per_unit(target, threads)
}

/// Returns a lower bound on the cycles of one execution of a conversion of `values` elements of each thread, held in any order.
pub(crate) fn cast_least(threads: u32, [from, to]: [DType; 2], values: i64, target: Target) -> f64 {
    if from == to {
        return 0.0;
    }
    cheapest(target.rows().converts_of(from, to), target) * values as f64 * warps_per_unit(target, threads)
}

/// Returns the cycles of one execution of a conversion of `values` elements of each thread by a row of the catalogue.
pub(crate) fn cast_by(threads: u32, row: &ConvertRow, values: i64, target: Target) -> f64 {
    cheapest(std::iter::once(row), target) * values as f64 * warps_per_unit(target, threads)
}

/// Returns the cycles in which the cheapest of these rows converts an element; those of a conversion in C++ if there are none.
fn cheapest<'r>(rows: impl Iterator<Item = &'r ConvertRow>, target: Target) -> f64 {
    let issue = rows.map(|row| row.issue / f64::from(row.values)).fold(f64::INFINITY, f64::min);
    if issue.is_finite() { issue } else { target.costs().converted_issue }
}

/// Returns the cycles of one execution of a conversion of `values` elements of each thread, one at a time.
pub(crate) fn cast_singly(target: Target, threads: u32, values: i64) -> f64 {
    target.costs().converted_issue * values as f64 * warps_per_unit(target, threads)
}

/// The cycles of a wavefront between the memories of two blocks, as a multiple of one within a block. No probe measures it. Weak evidence:
/// of the products at 210 shapes on an H200 that the estimates choose, `std::gemm_split` among them, the time is 1.034 times the shortest
/// measured one with 1 and 1.0325 times with 3.
const BETWEEN_BLOCKS: f64 = 3.0;

/// Returns the cycles of a sum of `values` elements of each thread over `blocks` blocks of a cluster: the blocks meet as at a barrier of
/// the cluster, and every 16 bytes of a thread cost a store and a load for each other block.
pub(crate) fn cluster_sum(target: Target, threads: u32, values: i64, bits: u32, blocks: u32) -> f64 {
    target.costs().cluster_barrier
        + target.costs().cluster_sum
        + 2.0 * BETWEEN_BLOCKS * sent(target, threads, values as f64, bits, blocks)
}

/// Returns the wavefronts of shared memory in which each thread sends `values` elements of `bits` bits to all other blocks of
/// a cluster.
pub(crate) fn sent(target: Target, threads: u32, values: f64, bits: u32, blocks: u32) -> f64 {
    let chunks = (values * f64::from(bits) / f64::from(8 * SUM_CHUNK)).ceil();
    let bytes = chunks * f64::from(threads) * f64::from(SUM_CHUNK);
    bytes * f64::from(blocks.saturating_sub(1)) / f64::from(target.limits.wavefront_bytes())
}

/// Returns the cycles of a scan of `values` elements of each thread by one component of its operator.
pub(crate) fn scan(
    target: Target,
    threads: u32,
    value: &Scalar,
    values: i64,
    levels: &[ScanLevel],
    drain: f64,
) -> f64 {
    let latency = target.rows().exchanges.first().map_or(0.0, |row| row.latency);
    let mut cycles = 0.0;
    let mut blocks = values as f64;
    for level in levels {
        cycles += map(target, threads, value, values);
        match level {
            ScanLevel::Values { extent, .. } => blocks /= *extent as f64,
            ScanLevel::Lanes { extent, .. } => {
                let steps = f64::from(extent.ilog2() + 2);
                cycles += steps * (latency + blocks);
            }
            ScanLevel::Across { extent, .. } => {
                cycles += meeting(target, threads, drain, blocks * *extent as f64);
            }
        }
    }
    cycles
}

/// Returns the cycles that an exchange through shared memory stalls the block. Other blocks on the multiprocessor run meanwhile,
/// so more resident blocks lower it. `registers` are the registers of a thread that tensors occupy.
pub(crate) fn drain(program: &TileProgram, registers: i64) -> f64 {
    let target = program.target;
    let limits = &target.limits;
    let most = i64::from(program.limits().registers_per_thread);
    let registers = registers.saturating_add(target.costs().other_registers).clamp(1, most) as u32;
    let tensors = program.tensor_ids().map(|id| program.tensor(id));
    let shared = tensors.filter(|tensor| tensor.allocation() == Allocation::Launch);
    let shared: i64 =
        shared.map(|tensor| tensor.size().saturating_mul(i64::from(tensor.dtype.bits())) / 8).sum();
    let shared = shared.clamp(0, i64::from(limits.shared_bytes)) as u32;
    let blocks = f64::from(limits.residency(program.block_threads(), registers, shared).blocks.max(1));
    target.costs().drain / (blocks * blocks)
}

/// Returns the cycles of the two barriers of an exchange through shared memory, with the stall that they cause.
pub(crate) fn exchange_cycles(target: Target, threads: u32, drain: f64) -> f64 {
    barriers(target, threads) + drain
}

/// Returns the cycles in which warps combine `results` partial results through shared memory.
fn meeting(target: Target, threads: u32, drain: f64, results: f64) -> f64 {
    exchange_cycles(target, threads, drain) + target.costs().meeting + target.costs().meeting_value * results
}

fn barriers(target: Target, threads: u32) -> f64 {
    2.0 * barrier(target, threads)
}

/// Returns the cycles of a barrier of these threads.
pub(crate) fn barrier(target: Target, threads: u32) -> f64 {
    target.costs().barrier + target.costs().barrier_warp * warps(target, threads)
}

/// Returns the cycles from the issue of a bulk copy until its bytes have arrived, if it is alone.
pub(crate) fn box_latency(target: Target) -> f64 {
    let rows = target.rows().copies_between(Space::Global, Space::Register);
    let load = rows.map(|row| row.latency).fold(f64::INFINITY, f64::min);
    if load.is_finite() { load + target.costs().box_latency } else { target.costs().box_latency }
}

pub(crate) fn warps(target: Target, threads: u32) -> f64 {
    f64::from(threads.div_ceil(target.limits.lanes))
}

pub(crate) fn warps_per_unit(target: Target, threads: u32) -> f64 {
    (warps(target, threads) / f64::from(target.limits.partitions)).max(1.0)
}

/// Returns the cycles of one execution of a copy to or from shared memory with this number of wavefronts.
pub(crate) fn shared(target: Target, threads: u32, access: &Access, wavefronts: f64) -> f64 {
    let instructions = access.issues() as f64 * warps(target, threads);
    let parts = joined(target, threads, access.row, access.run.width()) * access.issues() as f64;
    wavefronts
        + instructions * target.costs().issue_slot
        + latency(target, access.row, access.issues() as f64)
        + parts
}

/// Returns the cycles of the copy without bank conflicts, for a tile of extents `shape`. Lanes that address nothing take no
/// wavefronts: lanes that repeat a store of another lane, and lanes outside of the tile.
pub(crate) fn shared_ideal(target: Target, threads: u32, access: &Access, shape: &[i64]) -> f64 {
    shared(target, threads, access, access.phases(threads, shape) as f64)
}

/// Returns a lower bound on the cycles of a copy to or from shared memory, with `issues` instructions of each warp.
pub(crate) fn shared_least(target: Target, threads: u32, row: &CopyRow, issues: i64) -> f64 {
    let instructions = issues as f64 * warps(target, threads);
    let permutes = f64::from(row.permutes) * target.costs().part_issue * warps_per_unit(target, threads);
    instructions * (wavefronts_ideal(target, row) + target.costs().issue_slot)
        + row.latency
        + issues as f64 * permutes
}

/// Returns a lower bound on the cycles of a copy of `bytes` to or from shared memory, with at least `issues` instructions of each
/// warp.
pub(crate) fn shared_floor(target: Target, threads: u32, row: &CopyRow, bytes: f64, issues: i64) -> f64 {
    let instructions = issues as f64 * warps(target, threads);
    bytes / f64::from(target.limits.wavefront_bytes())
        + instructions * target.costs().issue_slot
        + row.latency
}

/// Returns a lower bound on the cycles of moving `bytes` between threads: through shared memory, without a stall.
pub(crate) fn exchange(target: Target, threads: u32, bytes: f64) -> f64 {
    barriers(target, threads) + 2.0 * bytes / f64::from(target.limits.wavefront_bytes())
}

/// Returns the cycles in which the elements of a part go through shared memory one by one: each thread stores and loads `values`.
pub(crate) fn part(threads: u32, values: f64, target: Target) -> f64 {
    barriers(target, threads) + part_wavefronts(target, threads, values) + shared_latency(target)
}

/// Returns the wavefronts of shared memory of all warps while each thread stores and loads `values` elements one by one, with one
/// wavefront for each store or load of a warp: `2 · values · warps`.
pub(crate) fn part_wavefronts(target: Target, threads: u32, values: f64) -> f64 {
    2.0 * values * warps(target, threads)
}

/// Returns the cycles from a store to shared memory until a load of it can be used.
pub(crate) fn shared_latency(target: Target) -> f64 {
    let rows = target.rows().copies_between(Space::Shared, Space::Register);
    rows.map(|row| row.latency).fold(f64::INFINITY, f64::min)
}

/// Returns the cycles in which the lanes of each warp exchange values: the exchange instructions, and the selects among their
/// results.
pub(crate) fn lanes(target: Target, threads: u32, row: &ExchangeRow, exchanges: i64, selects: i64) -> f64 {
    let selects = selects as f64 * warps_per_unit(target, threads);
    exchanges as f64 * warps(target, threads) * row.issue + selects + row.latency
}

/// Returns the cycles in which the lanes of each warp exchange `values` elements of each thread one by one, each with the lane whose number
/// differs by a mask.
pub(crate) fn mirrored(target: Target, threads: u32, values: i64) -> f64 {
    let row = target.rows().exchanges.iter().find(|row| row.reach == Reach::Xor);
    row.map_or(0.0, |row| lanes(target, threads, row, values, 0))
}

/// Returns the cycles in which each thread spills and reloads `registers` registers.
pub(crate) fn spill(target: Target, threads: u32, registers: i64) -> f64 {
    let instructions = 2.0 * registers as f64 * warps(target, threads);
    instructions
        * (f64::from(target.limits.lanes * target.limits.register_bytes)
            / f64::from(target.limits.wavefront_bytes())
            + target.costs().issue_slot)
}

/// Returns the wavefronts of one instruction of a warp without bank conflicts.
fn wavefronts_ideal(target: Target, row: &CopyRow) -> f64 {
    f64::from((target.limits.lanes * row.bytes).div_ceil(target.limits.wavefront_bytes()).max(1))
}

fn sample(target: Target, symbol: &Symbol) -> Option<i64> {
    match symbol {
        Symbol::Dim(_) => Some(SAMPLE_DIM),
        Symbol::Multiprocessors | Symbol::GridDim(_) => Some(i64::from(target.costs().multiprocessors)),
        Symbol::Scalar(_) | Symbol::BlockIdx(_) | Symbol::Thread | Symbol::Var(..) => Some(0),
    }
}
