//! The cost of each operation of a solved program, from the instructions that the solution chose.

use std::collections::{BTreeMap, BTreeSet};

use hx_dtype::{DType, Operator};
use hx_target::{GemmRow, Target};
use hx_tile::{
    BulkChoice, Choice, Conflicts, CopyChoice, Cost, GemmChoice, Map, Op, OpId, OpKind, OperandChoice,
    ReduceChoice, Resource, ResourceCycles, Route, Scalar, ScanChoice, ScanLevel, Solution, SyncOp, TensorId,
    TileProgram, View, coordinate,
};

use crate::access::is_packed;
use crate::checks::size::{Together, registers_of_a_thread};
use crate::constraints::component::UNKNOWN_TRIPS;
use crate::cost::{self, warps, warps_per_unit};

/// Returns the cost of each operation of `program`, which has the edits of the solution.
pub(crate) fn costs(program: &TileProgram, solution: &Solution) -> BTreeMap<OpId, Cost> {
    let drain = cost::drain(program, Together::of(program).registers(program));
    let recorder = Recorder { program, solution, drain };
    let of = |(op, trips): (&Op, f64)| (op.id, recorder.op(op, trips));
    program.ops(UNKNOWN_TRIPS).into_iter().map(of).collect()
}

/// The widest access of a thread to global memory.
const VECTOR_BITS: i64 = 128;
/// The registers of a thread with which each address is computed behind the one before. Producers with 40 were measured, no others.
const FEW_REGISTERS: i64 = 64;
/// The part of the instructions of an address that an access needs if the thread accesses the same row elsewhere: the offset within the row, and
/// its condition. Fitted to std::gemm_skinny on an H200 at odd strides, whose threads have 4 to 8 accesses of 2 bytes in a row: it took 0.55
/// to 0.7 times the cycles of as many rows.
const IN_ROW: f64 = 0.45;

struct Recorder<'p> {
    program: &'p TileProgram,
    solution: &'p Solution,
    /// Cycles that an exchange through shared memory stalls the block.
    drain: f64,
}

impl Recorder<'_> {
    /// Returns the number of elements of a register tensor that each thread holds.
    fn values(&self, tensor: TensorId) -> f64 {
        self.solution.registers.get(&tensor).map_or(0.0, |held| held.layout.mode(1).size() as f64)
    }

    fn op(&self, op: &Op, trips: f64) -> Cost {
        let target = self.program.target;
        let threads = self.program.threads_of(op);
        match (&op.kind, self.solution.choices.get(&op.id)) {
            (OpKind::Gemm { asynchronous, .. }, Some(Choice::Gemm(choice))) => {
                gemm(target, choice, threads, *asynchronous)
            }
            (OpKind::Copy { src, dst }, Some(Choice::Copy(choice))) => {
                let memory = if src.register().is_some() { dst } else { src };
                self.copy(memory, choice, threads)
            }
            (OpKind::Atomic(atomic), Some(Choice::Copy(choice))) => {
                let cost = self.copy(&atomic.memory, choice, threads);
                Cost { threads: cost.threads + cost.latency, latency: 0.0, ..cost }
            }
            (OpKind::CopyAsync { src, .. }, Some(Choice::Copy(choice))) => self.asynchronous(src, choice, op),
            (
                OpKind::CopyAsync { src: view, .. } | OpKind::Store { src: view, .. },
                Some(Choice::Bulk(bulk)),
            ) => self.bulk(view, bulk, op),
            (OpKind::Cast { dst, src }, choice) => {
                let types = [*src, *dst].map(|t| self.program.tensor(t).dtype);
                let values = self.values(*dst) as i64;
                let is_widened = is_packed(types[0]) && types[0] != types[1];
                let row = match choice {
                    Some(Choice::Convert(choice)) if is_widened => Some(choice.row.as_ref()),
                    Some(_) | None => None,
                };
                let cycles = match row {
                    Some(Some(row)) => cost::cast_by(threads, row.get(), values, target),
                    Some(None) => cost::cast_singly(target, threads, values),
                    None => cost::cast(threads, types, values, target),
                };
                arithmetic(cycles, self.values(*dst) * warps_per_unit(target, threads))
            }
            (OpKind::Map(map), _) => self.map(map, threads),
            (OpKind::Reduce { dst, src, operator, .. }, Some(Choice::Reduce(choice))) => {
                self.reduce([*dst, *src], *operator, choice, threads)
            }
            (OpKind::Scan { dst, op: operators, .. }, Some(Choice::Scan(choice))) => {
                self.scan(dst, operators, choice, threads)
            }
            (OpKind::Rearrange { .. }, Some(Choice::Rearrange(choice))) => {
                let mut resources = ResourceCycles::default();
                if let Route::Shared { store, load } = &choice.route {
                    resources[Resource::Shared] = wavefronts(store) + wavefronts(load);
                }
                Cost { threads: choice.cycles / trips.max(1.0), resources, latency: 0.0 }
            }
            (OpKind::ClusterSum { x, axis, .. }, _) => {
                let (bits, blocks) = (self.program.tensor(*x).dtype.bits(), self.program.blocks_along(*axis));
                let mut resources = ResourceCycles::default();
                resources[Resource::Shared] =
                    2.0 * cost::sent(target, threads, self.values(*x), bits, blocks);
                let cycles = cost::cluster_sum(target, threads, self.values(*x) as i64, bits, blocks);
                Cost { threads: cycles, resources, latency: 0.0 }
            }
            (
                OpKind::Slice { dst: part, .. } | OpKind::Insert { src: part, .. },
                Some(Choice::Slice(choice)),
            ) if choice.through.is_some() => {
                let mut resources = ResourceCycles::default();
                resources[Resource::Shared] = cost::part_wavefronts(target, threads, self.values(*part));
                let cycles = cost::part(threads, self.values(*part), self.program.target);
                Cost { threads: cycles, resources, latency: 0.0 }
            }
            (OpKind::Slice { dst, .. }, Some(Choice::Slice(choice))) if choice.mirrored != 0 => {
                let cycles = cost::mirrored(target, threads, self.values(*dst) as i64);
                Cost { threads: cycles, ..Cost::default() }
            }
            (OpKind::Sync(sync), _) => self.sync(sync, threads),
            // Fills, slices, numbers, texts and conditions use registers at hand. Copies between register tensors, and
            // operations without a choice, have no instruction.
            (
                OpKind::Gemm { .. }
                | OpKind::Copy { .. }
                | OpKind::Atomic(_)
                | OpKind::CopyAsync { .. }
                | OpKind::Store { .. }
                | OpKind::Prefetch { .. }
                | OpKind::Reduce { .. }
                | OpKind::Scan { .. }
                | OpKind::Rearrange { .. }
                | OpKind::Fill { .. }
                | OpKind::Slice { .. }
                | OpKind::Insert { .. }
                | OpKind::ReadNumber { .. }
                | OpKind::Print { .. }
                | OpKind::Assert { .. },
                _,
            ) => Cost::default(),
        }
    }

    fn bulk(&self, view: &View, bulk: &BulkChoice, op: &Op) -> Cost {
        let boxes: f64 = bulk.extents.iter().map(|extent| f64::from(*extent)).product();
        let of = bulk.share.map_or(1.0, |_| f64::from(self.program.blocks_of(op)));
        self.boxes(view, boxes, of)
    }

    fn reduce(
        &self,
        [dst, src]: [TensorId; 2],
        operator: Operator,
        choice: &ReduceChoice,
        threads: u32,
    ) -> Cost {
        let target = self.program.target;
        let dtype = self.program.tensor(src).dtype;
        let across = choice.across.as_ref().map(|_| self.drain);
        let (values, results) = (self.values(src), self.values(dst));
        let exchanges = choice.lanes.len();
        let met = cost::reduce(target, threads, 0, results as i64, exchanges, across);
        let mut cost = arithmetic(
            values * issue(target, operator, dtype) * warps_per_unit(target, threads),
            values * warps_per_unit(target, threads),
        );
        cost.threads += met;
        cost.resources[Resource::Shared] = exchanges as f64 * results * warps(target, threads);
        cost
    }

    fn scan(&self, dst: &[TensorId], operators: &[Scalar], choice: &ScanChoice, threads: u32) -> Cost {
        let values = dst.first().map_or(0.0, |t| self.values(*t)) as i64;
        let target = self.program.target;
        let of = |value| cost::scan(target, threads, value, values, &choice.levels, self.drain);
        let cycles = operators.iter().map(of).sum();
        let mut resources = ResourceCycles::default();
        let mut blocks = values as f64;
        for level in &choice.levels {
            let combined: f64 = operators.iter().map(|op| cost::map(target, threads, op, values)).sum();
            resources[Resource::Arithmetic] += combined;
            match level {
                ScanLevel::Values { extent, .. } => blocks /= *extent as f64,
                ScanLevel::Lanes { extent, .. } => {
                    let exchanged = f64::from(extent.ilog2() + 2) * blocks * operators.len() as f64;
                    resources[Resource::Shared] += exchanged * warps(target, threads);
                }
                ScanLevel::Across { .. } => {}
            }
        }
        Cost { threads: cycles, resources, latency: 0.0 }
    }

    /// Returns the cost of a copy between registers and a memory. The latency is that of a load until its values can be used.
    fn copy(&self, memory: &View, choice: &CopyChoice, threads: u32) -> Cost {
        let target = self.program.target;
        let row = choice.row;
        let instructions = choice.memory.mode(2).size() as f64 * warps(target, threads);
        let mut resources = ResourceCycles::default();
        resources[Resource::Issue] = instructions / f64::from(target.limits.partitions);
        let parts = choice.memory.mode(2).size() as f64
            * cost::joined(target, threads, &row, choice.memory.mode(1).size());
        resources[Resource::Arithmetic] = parts;
        resources[Resource::Issue] += parts / target.costs().part_issue;
        let (busy, latency) = match choice.conflicts {
            Some(Conflicts { wavefronts, .. }) => {
                resources[Resource::Shared] = wavefronts as f64;
                let busy = wavefronts as f64 + instructions * target.costs().issue_slot;
                (busy, cost::latency(target, &row, choice.memory.mode(2).size() as f64))
            }
            None => {
                resources[Resource::Global] = self.sectors(memory, choice, threads) * instructions;
                let addresses = self.addresses(memory, choice, threads);
                resources[Resource::Issue] += addresses;
                (resources[Resource::Global].max(instructions * row.issue).max(addresses), row.latency)
            }
        };
        Cost { threads: busy + parts, resources, latency }
    }

    /// Returns the cost of a copy from global to shared memory whose threads each bring an own part.
    fn asynchronous(&self, memory: &View, choice: &CopyChoice, op: &Op) -> Cost {
        let (target, threads) = (self.program.target, self.program.threads_of(op));
        let row = choice.row;
        let instructions = choice.memory.mode(2).size() as f64 * warps(target, threads);
        let mut resources = ResourceCycles::default();
        resources[Resource::Issue] = instructions / f64::from(target.limits.partitions);
        resources[Resource::Shared] = wavefronts(choice);
        resources[Resource::Global] = self.sectors(memory, choice, threads) * instructions;
        let addresses = self.addresses(memory, choice, threads);
        resources[Resource::Issue] += addresses;
        let registers = registers_of_a_thread(self.program, &self.solution.role_registers, op.scope);
        // A thread with more registers computes several addresses at once.
        let alone = if addresses > 0.0 && registers <= FEW_REGISTERS {
            target.costs().address_latency * choice.memory.mode(2).size() as f64
        } else {
            0.0
        };
        let cycles = (instructions * row.issue).max(addresses).max(alone);
        Cost { threads: cycles, resources, latency: row.latency }
    }

    /// Returns the cycles in which the warps compute the addresses and conditions of narrow accesses to global memory. Those of a thread along
    /// one row share most of them. Those of whole vectors are few, and are not counted.
    fn addresses(&self, memory: &View, choice: &CopyChoice, threads: u32) -> f64 {
        let target = self.program.target;
        let bits = choice.memory.mode(1).size() * i64::from(self.element_bits(memory));
        if bits >= VECTOR_BITS {
            return 0.0;
        }
        let accesses = choice.memory.mode(2).size() as f64;
        let rows = rows_of_a_thread(choice) as f64;
        (rows + (accesses - rows) * IN_ROW) * target.costs().address_issue * warps_per_unit(target, threads)
    }

    /// Returns the cycles in which the cache delivers the sectors of one instruction of a warp.
    fn sectors(&self, memory: &View, choice: &CopyChoice, threads: u32) -> f64 {
        let target = self.program.target;
        let layout = choice.memory.mode(0);
        let lanes = i64::from(threads.min(target.limits.lanes)).min(layout.size());
        let at = (0..lanes).map(|lane| coordinate(layout.eval(lane), &choice.tile));
        let width = choice.memory.mode(1).size();
        cost::sector_cycles(self.program, memory, at, (width, !choice.row.is_load()))
    }

    /// Returns the cost of a bulk copy in boxes of `each` elements that `of` blocks of a cluster share equally. One thread issues the
    /// boxes.
    fn boxes(&self, shared: &View, each: f64, of: f64) -> Cost {
        let target = self.program.target;
        let elements = shared.shape().iter().product::<i64>() as f64;
        let bytes = elements * f64::from(self.element_bits(shared)) / 8.0;
        let boxes = elements / each.max(1.0) / of;
        let mut resources = ResourceCycles::default();
        resources[Resource::Global] = bytes / of / target.costs().box_bytes;
        resources[Resource::Issue] = boxes / f64::from(target.limits.partitions);
        Cost {
            threads: boxes * target.costs().box_issue,
            resources,
            latency: cost::box_latency(self.program.target),
        }
    }

    fn element_bits(&self, view: &View) -> u32 {
        self.program.base_dtype(view.base).map_or(0, DType::bits)
    }

    /// Returns the cost of an elementwise expression. A value that is the same for all elements, or for a row of them, is computed once. A
    /// product that is added to a value is part of the addition.
    fn map(&self, map: &Map, threads: u32) -> Cost {
        let mut work = Work::default();
        self.scalar(map, &map.value, &mut work);
        let warps = warps_per_unit(self.program.target, threads);
        let mut cost = arithmetic(work.arithmetic * warps, work.instructions * warps);
        cost.threads += work.special * warps;
        cost.resources[Resource::Special] = work.special * warps;
        cost
    }

    /// Adds the work of an expression. Returns the axes of the result along which its values differ.
    fn scalar(&self, map: &Map, value: &Scalar, work: &mut Work) -> BTreeSet<usize> {
        match value {
            Scalar::Input { index, .. } => {
                let shape = &self.program.tensor(map.inputs[*index as usize]).shape;
                (0..shape.len()).filter(|axis| shape[*axis] > 1).collect()
            }
            Scalar::Index { axis } => BTreeSet::from([*axis]),
            Scalar::Integer { .. } | Scalar::Var { .. } | Scalar::Param { .. } | Scalar::Const { .. } => {
                BTreeSet::new()
            }
            Scalar::Cast { arg, .. } | Scalar::Bitcast { arg, .. } => self.scalar(map, arg, work),
            Scalar::Inlined(inlined) => {
                let mut axes = BTreeSet::new();
                inlined.args.iter().for_each(|arg| axes.extend(self.scalar(map, arg, work)));
                let (dtype, values) = (inlined.inline.dtype, self.differing(map.dst, &axes));
                for _ in 0..inlined.inline.instructions {
                    work.add(self.program.target, Operator::Add, dtype, values);
                }
                axes
            }
            Scalar::Apply { operator, dtype, args } => {
                let joined = fused_product(self.program.target, *operator, *dtype, args);
                let mut axes = BTreeSet::new();
                for (i, arg) in args.iter().enumerate() {
                    match arg {
                        Scalar::Apply { args: factors, .. } if joined == Some(i) => {
                            axes.extend(factors.iter().flat_map(|factor| self.scalar(map, factor, work)));
                        }
                        _ => axes.extend(self.scalar(map, arg, work)),
                    }
                }
                let operator = if joined.is_some() { Operator::Fma } else { *operator };
                work.add(self.program.target, operator, *dtype, self.differing(map.dst, &axes));
                axes
            }
        }
    }

    /// Returns the number of values of a thread that differ, in a register tensor whose elements depend on these axes only.
    fn differing(&self, tensor: TensorId, axes: &BTreeSet<usize>) -> f64 {
        let (shape, Some(held)) = (&self.program.tensor(tensor).shape, self.solution.registers.get(&tensor))
        else {
            return 0.0;
        };
        if (0..shape.len()).all(|axis| shape[axis] == 1 || axes.contains(&axis)) {
            return held.layout.mode(1).size() as f64;
        }
        let values = held.layout.mode(1);
        let at = (0..values.size()).map(|value| {
            let place = coordinate(values.eval(value), shape);
            axes.iter().map(|axis| place[*axis]).collect::<Vec<i64>>()
        });
        if axes.is_empty() { 0.0 } else { at.collect::<BTreeSet<_>>().len() as f64 }
    }

    /// Returns the cost of an operation that orders others, if it need not wait.
    fn sync(&self, sync: &SyncOp, threads: u32) -> Cost {
        let target = self.program.target;
        let cycles = match sync {
            SyncOp::Scope => cost::barrier(target, threads),
            SyncOp::SyncAt { barrier } => cost::barrier(target, self.program.threads_at(*barrier)),
            SyncOp::Acquire { .. } => target.costs().stage_wait + target.costs().stage_arrive,
            SyncOp::WaitStage { .. } => target.costs().stage_wait,
            SyncOp::Publish { .. } | SyncOp::Release { .. } => target.costs().stage_arrive,
            // The hand-over of a turn is counted where the turn ends, and a barrier of roles where they wait.
            SyncOp::Take { .. }
            | SyncOp::Pass { .. }
            | SyncOp::ArriveAt { .. }
            | SyncOp::Warp
            | SyncOp::Commit
            | SyncOp::Wait { .. }
            | SyncOp::GemmWait { .. }
            | SyncOp::Skip { .. }
            | SyncOp::WaitStores { .. }
            | SyncOp::WaitPrevious
            | SyncOp::AllowNext => 0.0,
        };
        Cost { threads: cycles, ..Cost::default() }
    }
}

/// Returns the cost of a product. An asynchronous product by descriptor occupies no thread: its cycles are those of the
/// resources.
fn gemm(target: Target, choice: &GemmChoice, threads: u32, asynchronous: bool) -> Cost {
    let row = choice.row.get();
    let count = choice.issues.iter().product::<i64>() as f64;
    let mut resources = ResourceCycles::default();
    resources[Resource::Issue] = count * warps_per_unit(target, threads);
    let mut latency = row.latency;
    let busy = if row.is_by_descriptor() {
        let all = count * f64::from(threads) / f64::from(row.threads);
        let read = operand_bytes(row, choice) / f64::from(target.limits.wavefront_bytes());
        let issue = row.issue.max(target.costs().product_least);
        resources[Resource::Tensor] = all * issue;
        resources[Resource::Shared] = all * read;
        latency = target.costs().product_latency;
        if asynchronous { 0.0 } else { all * issue.max(read) + latency }
    } else {
        let each = cost::gemm_issue(target, row, threads);
        let unit = if row.threads > 1 { Resource::Tensor } else { Resource::Arithmetic };
        resources[unit] = count * each;
        cost::gemm_rounds(row, count, choice.issues[2] as f64, each)
    };
    Cost { threads: busy, resources, latency }
}

/// The work of a thread in an expression, in cycles of its quarter of the multiprocessor for one warp.
#[derive(Default)]
struct Work {
    special: f64,
    arithmetic: f64,
    instructions: f64,
}

impl Work {
    fn add(&mut self, target: Target, operator: Operator, dtype: DType, values: f64) {
        let special = target.rows().compute(operator, dtype).map_or(0.0, |row| row.special);
        self.special += special * values;
        self.arithmetic += (issue(target, operator, dtype) - special) * values;
        self.instructions += values;
    }
}

/// Returns the index of the argument of a sum that is a product and becomes part of one instruction with it; `None` if there
/// is none.
fn fused_product(target: Target, operator: Operator, dtype: DType, args: &[Scalar]) -> Option<usize> {
    let sums = matches!(operator, Operator::Add | Operator::Sub);
    let is_product = |arg: &Scalar| matches!(arg, Scalar::Apply { operator: Operator::Mul, dtype: of, .. } if *of == dtype);
    args.iter().position(is_product).filter(|_| sums && target.rows().fuses(dtype))
}

fn issue(target: Target, operator: Operator, dtype: DType) -> f64 {
    target.rows().compute(operator, dtype).map_or(target.costs().converted_issue, |row| row.issue)
}

/// Returns the cost of `cycles` of arithmetic by `instructions` instructions, both for a quarter of the multiprocessor.
fn arithmetic(cycles: f64, instructions: f64) -> Cost {
    let mut resources = ResourceCycles::default();
    resources[Resource::Arithmetic] = cycles;
    resources[Resource::Issue] = instructions;
    Cost { threads: cycles, resources, latency: 0.0 }
}

/// Returns the number of rows in which a thread has accesses: the places of its accesses without the dimension that neighbouring lanes go along.
fn rows_of_a_thread(copy: &CopyChoice) -> usize {
    let (lanes, issues) = (copy.memory.mode(0), copy.memory.mode(2));
    let at = |index: i64| coordinate(index, &copy.tile);
    let (first, second) = (at(0), at(lanes.eval(1)));
    let along = first.iter().zip(&second).position(|(a, b)| a != b);
    let row = |issue: i64| {
        let place = at(issues.eval(issue)).into_iter().enumerate();
        place.filter(|(dim, _)| Some(*dim) != along).map(|(_, at)| at).collect::<Vec<i64>>()
    };
    (0..issues.size()).map(row).collect::<BTreeSet<_>>().len()
}

fn wavefronts(copy: &CopyChoice) -> f64 {
    copy.conflicts.map_or(0.0, |conflicts| conflicts.wavefronts as f64)
}

/// Returns the bytes that one instruction of a product reads from shared memory.
fn operand_bytes(row: &GemmRow, choice: &GemmChoice) -> f64 {
    let [m, n, k] = row.shape;
    let bytes = |operand: &OperandChoice, extent: i64, bits: u32| match operand {
        OperandChoice::Registers(_) => 0,
        OperandChoice::Descriptor { .. } => extent * k * i64::from(bits) / 8,
    };
    (bytes(&choice.a, m, row.a.dtype().bits()) + bytes(&choice.b, n, row.b.dtype().bits())) as f64
}
