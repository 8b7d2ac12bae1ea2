//! Lowers a tile program and its solution to a thread program: loops over instructions with every register and address
//! spelled out.

mod address;
mod bulk;
mod cluster;
mod copy;
mod counter;
mod elementwise;
mod fences;
mod layout;
mod lines;
mod log;
mod picked;
mod pipe;
mod product;
mod rearrange;
mod reduce;
mod roles;
mod scalar;
mod scan;
mod signal;
mod slice;
mod stream;
mod sum;
mod temporaries;
#[cfg(test)]
mod tests;
mod waiters;
mod zero;

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{Expr, Facts, Symbol};
use hx_target::Allocation;
use hx_tile::{
    Choice, Control as TileControl, ConvertChoice, GemmChoice, Leaf as TileLeaf, Op, OpId, OpKind,
    OperandChoice, Param as TileParam, Products, Rounds, ScopeId, Solution, Stmt as TileStmt, SyncOp,
    TensorId, TileProgram,
};

use crate::{
    Body, Compute, Control, Convert, Fill, Group, Leaf, LogEntry, Multiply, Param, RegId, RegisterArray,
    Registers, SharedBuffer, Stmt, TensorMap, TensorParam, ThreadProgram,
};
use counter::CounterLoop;
use layout::{registers, unrolled};
use signal::Signals;
use zero::Zeros;

/// The error of a solution that does not fit its program, or of a program that has no code. A verified solution always fits. A
/// function of the lowering returns it if the solution lacks what the function needs, or has it in a form without code.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("operation {}: {message}", .op.0)]
pub struct LowerError {
    /// The operation; number 0 if the fault lies in no operation.
    pub op: OpId,
    pub message: String,
}

/// Lowers a solved program to the code of the threads of a block. Polls before every statement; a poll may unwind.
///
/// # Errors
/// If the solution lacks a layout or an instruction, if their shapes do not fit, or if the program uses a number or a stage
/// in a way that has no code.
pub fn lower(
    program: &TileProgram,
    solution: &Solution,
    poll: &dyn Fn(),
) -> Result<ThreadProgram, LowerError> {
    let mut edited = program.clone();
    let zeros = zero::fold(&mut edited, solution);
    let program = &edited;
    let lowering =
        Lowering { maps: bulk::maps(program, solution)?, ..Lowering::new(program, solution, zeros, poll) };
    let mut body = lowering.ring_positions(ScopeId::BLOCK);
    body.extend(lowering.stmts(&program.body)?);
    bulk::end_stores(&mut body);
    let mut ranges = lowering.pipes.ranges(program);
    ranges.extend(counter::ranges(program));
    ranges.extend(sum::ranges(program));
    let mut barriers = pipe::barriers(program, solution);
    barriers.extend(sum::barriers(program, solution));
    let (counters, of_counters) = counter::counters(program, solution, barriers.len() as u32);
    barriers.extend(of_counters);
    let Lowering { arrays, temporaries, buffers, scratch, maps, log, .. } = lowering;
    let registers = numbered(&arrays).map(|t| array(program, solution, t));
    let temporaries = numbered(&temporaries).flat_map(|op| temporaries::of(program, solution, op).arrays);
    let shared = numbered(&buffers).map(|t| buffer(program, solution, t));
    let scratch = numbered(&scratch).flat_map(|op| temporaries::of(program, solution, op).buffers);
    let slots = sum::buffers(program, solution);
    let shared: Vec<SharedBuffer> = shared.chain(scratch).chain(slots).collect();
    fences::place(&mut body, &shared, &maps);
    Ok(ThreadProgram {
        name: program.name.clone(),
        target: program.target,
        params: program.params.iter().map(param).collect(),
        symbols: symbols(program),
        grid: program.grid.iter().map(|axis| axis.blocks.clone()).collect(),
        cluster: program.cluster,
        maps,
        scopes: program.scopes.clone(),
        requires: program.requires.clone(),
        shared,
        blocks: solution.resident_blocks,
        shared_bytes: solution.shared_bytes,
        barriers,
        named: named(program),
        counters,
        ranges,
        registers: registers.chain(temporaries).collect(),
        log,
        body,
    })
}

fn named(program: &TileProgram) -> BTreeMap<u32, String> {
    let name = |id| (program.number_of(id), program.named_barrier(id).name.clone());
    program.named_barrier_ids().map(name).collect()
}

fn array(program: &TileProgram, solution: &Solution, id: TensorId) -> RegisterArray {
    let (tensor, values) = (program.tensor(id), solution.registers[&id].layout.mode(1).size());
    RegisterArray {
        name: tensor.name.clone(),
        dtype: tensor.dtype,
        len: values as u32,
        scope: tensor.scope,
        tensor: Some(id),
    }
}

fn buffer(program: &TileProgram, solution: &Solution, id: TensorId) -> SharedBuffer {
    let (tensor, layout) = (program.tensor(id), &solution.shared[&id]);
    SharedBuffer {
        name: tensor.name.clone(),
        dtype: tensor.dtype,
        offset: layout.offset,
        bytes: layout.bytes,
    }
}

fn param(param: &TileParam) -> Param {
    match param {
        TileParam::Tensor(t) => Param::Tensor(TensorParam {
            name: t.name.clone(),
            dtype: t.dtype,
            mutable: t.mutable,
            shape: t.shape.clone(),
            stride: t.stride.clone(),
            block: t.block.clone(),
            align: t.align,
        }),
        TileParam::Int { name, dtype } | TileParam::Float { name, dtype } => {
            Param::Scalar { name: name.clone(), dtype: *dtype }
        }
    }
}

/// Returns the dimensions and strides that the parameters and the grid name, in this order, and after them the number of
/// multiprocessors if the program reads it.
fn symbols(program: &TileProgram) -> Vec<Symbol> {
    let mut out: Vec<Symbol> = Vec::new();
    let mut add = |e: &Expr| {
        for symbol in e.symbols() {
            if matches!(symbol, Symbol::Dim(_)) && !out.contains(&symbol) {
                out.push(symbol);
            }
        }
    };
    for param in &program.params {
        if let TileParam::Tensor(t) = param {
            t.shape.iter().chain(&t.stride).for_each(&mut add);
        }
    }
    program.grid.iter().for_each(|axis| add(&axis.blocks));
    out.extend(program.multiprocessors.then_some(Symbol::Multiprocessors));
    out
}

/// The data that the lowering of every operation reads.
struct Lowering<'p> {
    program: &'p TileProgram,
    solution: &'p Solution,
    arrays: BTreeMap<TensorId, RegId>,
    /// Registers that operations need besides their tensors.
    temporaries: BTreeMap<OpId, Vec<RegId>>,
    buffers: BTreeMap<TensorId, u32>,
    /// The shared buffers through which the threads of an operation exchange values.
    scratch: BTreeMap<OpId, Vec<u32>>,
    /// The first of the buffers of sums over the cluster, a position among the shared buffers.
    first_sum: u32,
    log: Vec<LogEntry>,
    /// For each scope, the facts about all symbols, with the bound on the number of a thread.
    facts: Vec<Facts>,
    /// The copies that are lowered with the products that they feed.
    streamed: BTreeSet<OpId>,
    /// The zeros that products by descriptor write themselves.
    zeros: Zeros,
    /// The asynchronous products in flight before each operation.
    products: Products,
    /// The operations that the solution adds and that access registers of a product in flight: they wait for it first.
    touched: BTreeSet<OpId>,
    /// Stores that replace elements which other threads may still load: a barrier precedes each of them.
    after_others: BTreeSet<OpId>,
    /// The tensor maps of the copies in boxes.
    maps: Vec<TensorMap>,
    pipes: pipe::Pipes,
    poll: &'p dyn Fn(),
}

/// Returns the keys of a map in the order of their numbers.
fn numbered<K: Copy, N: Ord>(numbers: &BTreeMap<K, N>) -> impl Iterator<Item = K> {
    let mut all: Vec<(&K, &N)> = numbers.iter().collect();
    all.sort_by_key(|(_, number)| *number);
    all.into_iter().map(|(key, _)| *key)
}

impl<'p> Lowering<'p> {
    fn new(
        program: &'p TileProgram,
        solution: &'p Solution,
        zeros: Zeros,
        poll: &'p dyn Fn(),
    ) -> Lowering<'p> {
        // An operand that is read by descriptor needs no registers for its load.
        let unloaded = program.unloaded();
        let numbered = |by: Allocation| {
            let is_of = |t: &TensorId| program.tensor(*t).allocation() == by && !unloaded.contains(t);
            let mut all: Vec<TensorId> = program.tensor_ids().filter(is_of).collect();
            all.sort_by_key(|tensor| program.tensor_order(*tensor));
            all.into_iter().zip(0u32..)
        };
        let pipes = pipe::Pipes::new(program, solution);
        let facts = program.scopes.iter().map(|scope| {
            let mut facts = program.facts.clone();
            pipes.state(program, &mut facts);
            counter::state(program, &mut facts);
            sum::state(program, &mut facts);
            facts.at_most(Symbol::Thread, Expr::constant(i64::from(scope.threads) - 1));
            facts
        });
        let facts = facts.collect();
        let arrays: BTreeMap<TensorId, RegId> =
            numbered(Allocation::Compiler).map(|(t, i)| (t, RegId(i))).collect();
        let buffers: BTreeMap<TensorId, u32> = numbered(Allocation::Launch).collect();
        let (mut temporaries, mut scratch) = (BTreeMap::new(), BTreeMap::new());
        let (mut next_array, mut next_buffer) = (arrays.len() as u32, buffers.len() as u32);
        let all = program.ops(1.0).into_iter();
        let sums = all.filter(|(op, _)| matches!(op.kind, OpKind::ClusterSum { .. })).map(|(op, _)| op.id);
        let mut ops: Vec<OpId> = solution.choices.keys().copied().chain(sums).collect();
        ops.sort_by_key(|op| program.op_order(*op));
        ops.dedup();
        for op in &ops {
            let own = temporaries::of(program, solution, *op);
            let (count, buffers) = (own.arrays.len() as u32, own.buffers.len() as u32);
            if count > 0 {
                temporaries.insert(*op, (next_array..next_array + count).map(RegId).collect());
                next_array += count;
            }
            if buffers > 0 {
                scratch.insert(*op, (next_buffer..next_buffer + buffers).collect());
                next_buffer += buffers;
            }
        }
        let log = log::entries(program);
        let streamed = Lowering::streamed(&solution.choices);
        let products = Products::of(program);
        let touched = products.touched(program).into_iter().map(|touched| touched.op).collect();
        Lowering {
            program,
            solution,
            arrays,
            temporaries,
            buffers,
            scratch,
            first_sum: next_buffer,
            log,
            facts,
            streamed,
            zeros,
            products,
            touched,
            after_others: hx_tile::in_place::stores_after_others(program, solution),
            maps: Vec::new(),
            pipes,
            poll,
        }
    }

    fn stmts(&self, stmts: &[TileStmt]) -> Result<Body, LowerError> {
        let mut out = Vec::new();
        let mut signals = self.signals(stmts)?;
        for (at, stmt) in stmts.iter().enumerate() {
            (self.poll)();
            let Signals { before, after } = signals.remove(&at).unwrap_or_default();
            out.extend(before);
            if let Some(several) = self.several(stmt)? {
                out.extend(several);
                continue;
            }
            out.push(match stmt {
                TileStmt::Leaf(TileLeaf::Op(op)) if self.streamed.contains(&op.id) => continue,
                TileStmt::Leaf(TileLeaf::Op(op @ Op { kind: OpKind::ReadNumber { var, src }, .. })) => {
                    self.read_number(op, var, *src)?
                }
                TileStmt::Leaf(TileLeaf::Op(op)) => {
                    let mut body = self.op(op)?;
                    if self.touched.contains(&op.id) {
                        body.splice(0..0, self.wait_products(op, 0)?);
                    }
                    if self.after_others.contains(&op.id) {
                        body.insert(0, Stmt::Leaf(Leaf::Barrier));
                    }
                    self.group(op, body)
                }
                TileStmt::Control(TileControl::For {
                    var,
                    rounds: Rounds::Range { start, end, unroll },
                    body,
                }) => Stmt::Control(Control::For {
                    var: var.clone(),
                    start: start.clone(),
                    end: end.clone(),
                    unroll: *unroll,
                    body: self.stmts(body)?,
                }),
                TileStmt::Control(TileControl::For {
                    var,
                    rounds: Rounds::Drawn { counter, scope, origin },
                    body,
                }) => {
                    let counter_loop = CounterLoop { var, counter: *counter, scope: *scope, origin: *origin };
                    out.extend(self.drawn(&counter_loop, body)?);
                    continue;
                }
                TileStmt::Control(TileControl::If { cond, then, otherwise }) => Stmt::Control(Control::If {
                    cond: cond.clone(),
                    then: self.stmts(then)?,
                    otherwise: self.stmts(otherwise)?,
                }),
                TileStmt::Control(TileControl::While { cond, body, origin }) => {
                    Stmt::Control(Control::While {
                        cond: cond.clone(),
                        body: self.stmts(body)?,
                        origin: Some(*origin),
                    })
                }
                TileStmt::Leaf(TileLeaf::Let { var, value }) => {
                    Stmt::Leaf(Leaf::Let { var: var.clone(), value: value.clone() })
                }
                TileStmt::Leaf(TileLeaf::Assign { var, value }) => {
                    Stmt::Leaf(Leaf::Assign { var: var.clone(), value: value.clone() })
                }
                TileStmt::Leaf(TileLeaf::LoadScalar { var, src, .. }) => self.load_scalar(var, src)?,
                TileStmt::Leaf(TileLeaf::LetNumber { var, value }) => Stmt::Leaf(Leaf::LetNumber {
                    var: var.clone(),
                    value: scalar::hardware(self.program.target.rows(), value),
                    inputs: Vec::new(),
                }),
                TileStmt::Leaf(TileLeaf::AssignNumber { var, value }) => Stmt::Leaf(Leaf::AssignNumber {
                    var: var.clone(),
                    value: scalar::hardware(self.program.target.rows(), value),
                }),
                TileStmt::Control(TileControl::Roles(roles)) => Stmt::Control(Control::Roles(
                    roles.iter().map(|role| self.role(role)).collect::<Result<_, _>>()?,
                )),
            });
            out.extend(after);
        }
        Ok(out)
    }

    /// Lowers an operation that defines a local for the statements after it. `None` for any other statement.
    fn several(&self, stmt: &TileStmt) -> Result<Option<Body>, LowerError> {
        let TileStmt::Leaf(TileLeaf::Op(op)) = stmt else { return Ok(None) };
        let OpKind::Sync(sync) = &op.kind else { return Ok(None) };
        Ok(if let SyncOp::Acquire { pipe, var } = sync {
            Some(self.acquire(op, *pipe, var)?)
        } else if let SyncOp::WaitStage { pipe, var } = sync {
            Some(self.wait_stage(op, *pipe, var)?)
        } else {
            None
        })
    }

    /// Groups the statements of an operation.
    fn group(&self, op: &Op, body: Body) -> Stmt {
        self.titled(op, hx_tile::op_text(self.program, op), body)
    }

    fn titled(&self, op: &Op, title: String, body: Body) -> Stmt {
        Stmt::Control(Control::Group(Group { op: op.id, scope: op.scope, origin: op.origin, title, body }))
    }

    fn op(&self, op: &Op) -> Result<Body, LowerError> {
        match (&op.kind, self.solution.choices.get(&op.id)) {
            (OpKind::Sync(sync), _) => self.sync(op, sync),
            (OpKind::Fill { dst, value }, _) => self.fill(op, *dst, value.value()),
            (OpKind::ClusterSum { x, parts, axis, to }, _) => self.cluster_sum(op, (*x, parts), *axis, *to),
            (OpKind::Print { src, .. }, _) => self.log(op, *src),
            (OpKind::Assert { cond, .. }, _) => self.log(op, Some(*cond)),
            (OpKind::CopyAsync { src, dst, .. }, Some(Choice::Copy(choice))) => {
                self.copy_async(op, src, dst, choice)
            }
            (OpKind::CopyAsync { .. }, Some(Choice::Bulk(choice))) => self.load(op, choice),
            (OpKind::Store { .. }, Some(Choice::Bulk(choice))) => self.store(op, choice),
            (OpKind::Prefetch { view }, Some(Choice::Prefetch(choice))) => self.prefetch(op, view, choice),
            (OpKind::Map(map), Some(Choice::Map(choice))) => self.map(op, map, choice),
            (OpKind::Reduce { dst, src, axis, operator }, Some(Choice::Reduce(choice))) => {
                self.reduce(op, [*dst, *src], *axis, *operator, choice)
            }
            (OpKind::Copy { src, dst }, Some(Choice::Copy(choice))) => self.copy(op, src, dst, choice),
            (OpKind::Rearrange { dst, src, through }, Some(Choice::Rearrange(choice))) => {
                self.rearrange(op, [*dst, *src], *through, &choice.route)
            }
            (OpKind::Atomic(atomic), Some(Choice::Copy(choice))) => self.atomic(op, atomic, choice),
            (OpKind::Slice { dst, src }, Some(Choice::Slice(choice))) => self.slice(op, *dst, src, choice),
            (OpKind::Insert { dst, src }, Some(Choice::Slice(choice))) => self.insert(op, dst, *src, choice),
            (OpKind::Scan { dst, src, axis, op: value, reverse }, Some(Choice::Scan(choice))) => {
                self.scan(op, (dst, src), (*axis, *reverse), value, choice)
            }
            (OpKind::Gemm { c, a, b, asynchronous, .. }, Some(Choice::Gemm(choice)))
                if choice.b.registers().is_none() =>
            {
                self.product(op, *c, [a, b], choice, *asynchronous)
            }
            (OpKind::Gemm { c, a, b, .. }, Some(Choice::Gemm(choice))) => {
                let registers = a.view.register().zip(b.view.register());
                let (a, b) = registers.ok_or_else(|| self.error(op, "an operand is in shared memory"))?;
                match &choice.stream {
                    Some(stream) => self.stream(op, [*c, a, b], choice, stream),
                    None => self.gemm(op, [*c, a, b], choice),
                }
            }
            (OpKind::Cast { dst, src }, Some(Choice::Convert(choice))) => {
                self.convert(op, *dst, *src, choice)
            }
            (
                OpKind::Copy { .. }
                | OpKind::Gemm { .. }
                | OpKind::Cast { .. }
                | OpKind::CopyAsync { .. }
                | OpKind::Store { .. }
                | OpKind::Prefetch { .. }
                | OpKind::Map(_)
                | OpKind::Rearrange { .. }
                | OpKind::Reduce { .. }
                | OpKind::Slice { .. }
                | OpKind::Insert { .. }
                | OpKind::ReadNumber { .. }
                | OpKind::Scan { .. }
                | OpKind::Atomic(_),
                _,
            ) => Err(self.error(op, "no instruction was chosen")),
        }
    }

    fn sync(&self, op: &Op, sync: &SyncOp) -> Result<Body, LowerError> {
        match sync {
            SyncOp::Scope => Ok(vec![Stmt::Leaf(Leaf::Barrier)]),
            SyncOp::Warp => Ok(vec![Stmt::Leaf(Leaf::WarpBarrier)]),
            SyncOp::Take { turns } => Ok(self.take(op, *turns)),
            SyncOp::Pass { turns } => Ok(self.pass(op, *turns)),
            SyncOp::SyncAt { barrier } => Ok(self.come(*barrier, true)),
            SyncOp::ArriveAt { barrier } => Ok(self.come(*barrier, false)),
            SyncOp::Commit => Ok(vec![Stmt::Leaf(Leaf::Commit)]),
            SyncOp::Wait { groups } => Ok(vec![Stmt::Leaf(Leaf::Wait { groups: *groups })]),
            SyncOp::GemmWait { leave } => self.wait_products(op, *leave),
            SyncOp::Acquire { pipe, var } => self.acquire(op, *pipe, var),
            SyncOp::Publish { pipe } => self.publish(op, *pipe),
            SyncOp::WaitStage { pipe, var } => self.wait_stage(op, *pipe, var),
            SyncOp::Release { pipe, .. } => self.release(op, *pipe),
            SyncOp::Skip { pipe, count } => Ok(self.skip(op, *pipe, count)),
            SyncOp::WaitStores { leave, read } => Ok(self.wait_stores(*leave, *read)),
            SyncOp::WaitPrevious => Ok(vec![Stmt::Leaf(Leaf::WaitPrevious)]),
            SyncOp::AllowNext => Ok(vec![Stmt::Leaf(Leaf::AllowNext)]),
        }
    }

    /// Returns the wait for bulk stores, on a target that has such stores. On any other nothing is in flight: what `copy_async` stores
    /// there goes through registers.
    fn wait_stores(&self, leave: u32, read: bool) -> Body {
        let mut bulks = self.program.target.rows().bulks.iter();
        if bulks.any(|row| !row.is_load()) {
            vec![Stmt::Leaf(Leaf::BulkWait { leave, read })]
        } else {
            Vec::new()
        }
    }

    /// Returns the facts about the threads that execute an operation.
    fn facts_of(&self, op: &Op) -> &Facts {
        &self.facts[op.scope.0 as usize]
    }

    fn error(&self, op: &Op, message: impl Into<String>) -> LowerError {
        LowerError { op: op.id, message: message.into() }
    }

    fn array(&self, op: &Op, tensor: TensorId) -> Result<RegId, LowerError> {
        self.arrays.get(&tensor).copied().ok_or_else(|| self.error(op, "a register tensor was expected"))
    }

    fn fill(&self, op: &Op, tensor: TensorId, value: f64) -> Result<Body, LowerError> {
        self.fill_bits(op, tensor, self.program.tensor(tensor).dtype.encode(value), COUNTED)
    }

    /// Fills a tensor: in whole words, if a thread's elements fill them. `counter` is the index of the loop's counter among
    /// the locals of the operation.
    fn fill_bits(&self, op: &Op, tensor: TensorId, bits: u64, counter: u32) -> Result<Body, LowerError> {
        let array = self.array(op, tensor)?;
        let dtype = self.program.tensor(tensor).dtype;
        let layout = &self.solution.registers.get(&tensor).ok_or_else(|| self.error(op, "no layout"))?.layout;
        let len = layout.mode(1).size();
        let word = i64::from((32 / dtype.bits()).max(1));
        let step = if len % word == 0 { word } else { 1 };
        let var = self.counter("i", op, counter);
        let base = counted(&var, len / step).scale(step);
        let dst = Registers { array, base, offsets: (0..step as u32).collect() };
        let fill = Stmt::Leaf(Leaf::Fill(Fill { dst, bits }));
        Ok(unrolled(&[(var, len / step)], vec![fill]))
    }

    fn convert(
        &self,
        op: &Op,
        dst: TensorId,
        src: TensorId,
        choice: &ConvertChoice,
    ) -> Result<Body, LowerError> {
        let var = self.counter("i", op, COUNTED);
        let counter = [counted(&var, choice.dst.mode(1).size())];
        let (from, to) = (self.program.tensor(src).dtype, self.program.tensor(dst).dtype);
        let dst = registers(self.array(op, dst)?, &choice.dst, &counter);
        let src = registers(self.array(op, src)?, &choice.src, &counter);
        let convert = if choice.row.is_none() && from != to {
            let value = hx_tile::Scalar::Input { index: 0, dtype: from }.cast(to);
            Stmt::Leaf(Leaf::Compute(Compute { dst, inputs: vec![src], value }))
        } else {
            Stmt::Leaf(Leaf::Convert(Convert { row: choice.row, dst, src }))
        };
        Ok(unrolled(&[(var, choice.dst.mode(1).size())], vec![convert]))
    }

    /// Lowers a gemm. The loop along K is outermost, so that neighbouring instructions have independent accumulators.
    fn gemm(&self, op: &Op, tensors: [TensorId; 3], choice: &GemmChoice) -> Result<Body, LowerError> {
        let steps = choice.issues[2];
        let k = self.counter("k", op, COUNTED);
        Ok(unrolled(&[(k.clone(), steps)], self.products(op, tensors, choice, counted(&k, steps))?))
    }

    /// Returns the instructions of a gemm for one step along K.
    fn products<'s>(
        &self,
        op: &Op,
        [c, a, b]: [TensorId; 3],
        choice: &'s GemmChoice,
        k: Expr,
    ) -> Result<Body, LowerError> {
        let [im, i_n, _, il] = choice.issues;
        let [m, n, l] =
            [("m", 1), ("n", 2), ("batch", 4)].map(|(name, i)| self.counter(name, op, COUNTED + i));
        let [em, en, el] = [counted(&m, im), counted(&n, i_n), counted(&l, il)];
        let held = |operand: &'s OperandChoice| {
            operand.registers().ok_or_else(|| self.error(op, "an operand is in shared memory"))
        };
        let multiply = Stmt::Leaf(Leaf::Multiply(Multiply {
            row: choice.row,
            c: registers(self.array(op, c)?, &choice.c, &[em.clone(), en.clone(), el.clone()]),
            a: registers(self.array(op, a)?, held(&choice.a)?, &[em, k.clone(), el.clone()]),
            b: registers(self.array(op, b)?, held(&choice.b)?, &[en, k, el]),
        }));
        Ok(unrolled(&[(l, il), (m, im), (n, i_n)], vec![multiply]))
    }

    /// Reads one element of a global tensor into a local that is the same for the whole block.
    fn load_scalar(&self, var: &Symbol, src: &hx_tile::View) -> Result<Stmt, LowerError> {
        // A view without modes has its offsets as coordinates.
        let nowhere = || LowerError { op: OpId(0), message: "a scalar is read from global memory".into() };
        let hx_tile::Base::Global(id) = src.base else { return Err(nowhere()) };
        let param = self.program.tensor_param(id).ok_or_else(nowhere)?;
        let offset = param.offset(&src.offsets, &self.program.facts);
        let address = crate::Address { memory: crate::Memory::Global(id.0), offset };
        Ok(Stmt::Leaf(Leaf::LoadInteger { var: var.clone(), address }))
    }

    /// Reads an element that every thread holds into a number of the block.
    fn read_number(&self, op: &Op, var: &Symbol, src: TensorId) -> Result<Stmt, LowerError> {
        if op.scope != ScopeId::BLOCK && !self.program.roles().iter().any(|role| role.scope == op.scope) {
            let scope = self.program.scope(op.scope);
            return Err(self.error(op, format!("a number belongs to the block, and the {scope} reads it")));
        }
        let array = self.array(op, src)?;
        let input = Registers { array, base: Expr::default(), offsets: vec![0] };
        let value = hx_tile::Scalar::Input { index: 0, dtype: self.program.tensor(src).dtype };
        Ok(Stmt::Leaf(Leaf::LetNumber { var: var.clone(), value, inputs: vec![input] }))
    }

    /// Returns the local of an operation at this index, such as the counter of an unrolled loop. Names repeat between
    /// operations, numbers do not.
    fn counter(&self, name: &str, op: &Op, index: u32) -> Symbol {
        Symbol::Var(name.into(), LOCALS + op.id.0 * LOCALS_PER_OP + index)
    }
}

/// Returns the value of the counter of a loop: 0 for a loop of one step, because it is left out.
fn counted(counter: &Symbol, steps: i64) -> Expr {
    if steps == 1 { Expr::default() } else { Expr::symbol(counter.clone()) }
}

/// The locals of operations have numbers from this one on; the source's locals have smaller ones.
const LOCALS: u32 = 1 << 16;
/// The number of locals that one operation may make: coordinates of threads first, then those of [`Local`], then counters.
const LOCALS_PER_OP: u32 = 32;
/// Locals of an operation that are neither coordinates nor counters. An operation with more coordinates than fit before them
/// uses none of them.
enum Local {
    Row = 4,
    Lane = 5,
    Digit = 6,
    Last = 7,
}

/// The index from which the locals of an operation are counters of loops over its instructions.
const COUNTED: u32 = 8;

/// Reports whether a local is the counter of a loop over the instructions of an operation.
fn is_counter(symbol: &Symbol) -> bool {
    matches!(symbol, Symbol::Var(_, n) if *n >= LOCALS && (n - LOCALS) % LOCALS_PER_OP >= COUNTED)
}
