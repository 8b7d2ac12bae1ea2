//! Lowers a tile program and its solution to a thread program: loops over instructions with every register and address
//! spelled out.

mod address;
mod copy;
mod elementwise;
mod layout;
mod log;
mod rearrange;
mod reduce;
mod scalar;
mod scan;
mod slice;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{Expr, Facts, Symbol};
use hx_target::machine;
use hx_tile::{
    Choice, ConvertChoice, GemmChoice, Op, OpId, OpKind, Param as TileParam, RearrangeChoice, ReduceChoice,
    Route, ScopeId, SliceChoice, Solution, Stmt as TileStmt, TensorId, TileProgram,
};

use crate::{
    Body, Compute, Convert, Fill, Group, LogEntry, Multiply, Param, RegId, RegisterArray, Registers,
    SharedBuffer, Stmt, TensorParam, ThreadProgram,
};
use layout::{registers, unrolled};

/// The error of a solution that does not fit its program. A verified solution always fits.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("operation {}: {message}", .op.0)]
pub struct LowerError {
    pub op: OpId,
    pub message: String,
}

/// Lowers a solved program to the code of the threads of a block. Polls before every statement; a poll may unwind.
///
/// # Errors
/// If the solution lacks a layout or an instruction, or if their shapes do not fit.
pub fn lower(
    program: &TileProgram,
    solution: &Solution,
    poll: &dyn Fn(),
) -> Result<ThreadProgram, LowerError> {
    let edited = solution.program(program);
    let program = &*edited;
    let lowering = Lowering::new(program, solution, poll);
    let body = lowering.stmts(&program.body)?;
    let Lowering { arrays, temporaries, buffers, scratch, log, .. } = lowering;
    let registers = arrays.keys().map(|t| {
        let (tensor, values) = (program.tensor(*t), solution.registers[t].layout.mode(1).size());
        RegisterArray { name: tensor.name.clone(), dtype: tensor.dtype, len: values as u32 }
    });
    let temporaries = temporaries.keys().flat_map(|op| temporary_arrays(program, solution, *op));
    let shared = buffers.keys().map(|t| {
        let (tensor, layout) = (program.tensor(*t), &solution.shared[t]);
        SharedBuffer {
            name: tensor.name.clone(),
            dtype: tensor.dtype,
            offset: layout.offset,
            bytes: layout.bytes,
        }
    });
    let scratch = scratch.keys().flat_map(|op| scratch_buffers(program, solution, *op));
    Ok(ThreadProgram {
        name: program.name.clone(),
        params: program.params.iter().map(param).collect(),
        symbols: symbols(program),
        grid: program.grid.iter().map(|axis| axis.blocks.clone()).collect(),
        scopes: program.scopes.clone(),
        requires: program.requires.clone(),
        shared: shared.chain(scratch).collect(),
        blocks: blocks(program, solution),
        shared_bytes: solution.shared_bytes,
        registers: registers.chain(temporaries).collect(),
        log,
        body,
    })
}

/// Returns the registers that an operation needs besides its tensors.
fn temporary_arrays(program: &TileProgram, solution: &Solution, op: OpId) -> Vec<RegisterArray> {
    let Some(found) = program.op(op) else { return Vec::new() };
    let array = |t: TensorId, what: &str, len: u32| {
        let tensor = program.tensor(t);
        RegisterArray { name: format!("{}_{what}", tensor.name), dtype: tensor.dtype, len }
    };
    match (&found.kind, solution.choices.get(&op)) {
        (OpKind::Reduce { dst, .. }, Some(Choice::Reduce(r)))
            if !r.lanes.is_empty() || r.across.is_some() =>
        {
            vec![array(*dst, "other", 1)]
        }
        (OpKind::Rearrange { dst, .. }, Some(Choice::Rearrange(RearrangeChoice { route, .. }))) => {
            let Route::Lanes(lanes) = route else { return Vec::new() };
            let by_thread = &lanes.position[0];
            // If threads want different positions of their source lanes, each position is exchanged and each thread selects
            // its own.
            let several = (0..by_thread.size()).any(|t| by_thread.eval(t) != by_thread.eval(0));
            several.then(|| array(*dst, "other", lanes.together as u32)).into_iter().collect()
        }
        (OpKind::Scan { dst, .. }, Some(Choice::Scan(_))) => {
            let values = |t: &TensorId| solution.registers[t].layout.mode(1).size() as u32;
            let arrays = |t: &TensorId| {
                let len = |what: &str| if what == "total" { values(t) } else { 1 };
                scan::ARRAYS.map(|what| array(*t, what, len(what)))
            };
            dst.iter().flat_map(arrays).collect()
        }
        (
            OpKind::Fill { .. }
            | OpKind::Copy { .. }
            | OpKind::Gemm { .. }
            | OpKind::Cast { .. }
            | OpKind::Sync
            | OpKind::SyncWarp
            | OpKind::CopyAsync { .. }
            | OpKind::Commit
            | OpKind::Wait { .. }
            | OpKind::Map(_)
            | OpKind::Rearrange { .. }
            | OpKind::Reduce { .. }
            | OpKind::Slice { .. }
            | OpKind::ReadNumber { .. }
            | OpKind::Scan { .. }
            | OpKind::AtomicAdd { .. }
            | OpKind::Print { .. }
            | OpKind::Assert { .. },
            _,
        ) => Vec::new(),
    }
}

/// Returns the shared memory that an operation uses for itself.
fn scratch_buffers(program: &TileProgram, solution: &Solution, op: OpId) -> Vec<SharedBuffer> {
    let Some(found) = program.op(op) else { return Vec::new() };
    let buffer = |t: TensorId, (offset, bytes): (u32, u32)| {
        let tensor = program.tensor(t);
        SharedBuffer { name: format!("{}_parts", tensor.name), dtype: tensor.dtype, offset, bytes }
    };
    match (&found.kind, solution.choices.get(&op)) {
        (OpKind::Reduce { dst, .. }, Some(Choice::Reduce(ReduceChoice { across: Some(across), .. }))) => {
            vec![buffer(*dst, (across.offset, across.bytes))]
        }
        (OpKind::Slice { dst, .. }, Some(Choice::Slice(SliceChoice { through: Some(s), .. }))) => {
            vec![buffer(*dst, (s.offset, s.bytes))]
        }
        (OpKind::Scan { dst, .. }, Some(Choice::Scan(choice))) => {
            dst.iter().zip(&choice.scratch).map(|(t, s)| buffer(*t, (s.offset, s.bytes))).collect()
        }
        (
            OpKind::Fill { .. }
            | OpKind::Copy { .. }
            | OpKind::Gemm { .. }
            | OpKind::Cast { .. }
            | OpKind::Sync
            | OpKind::SyncWarp
            | OpKind::CopyAsync { .. }
            | OpKind::Commit
            | OpKind::Wait { .. }
            | OpKind::Map(_)
            | OpKind::Rearrange { .. }
            | OpKind::Reduce { .. }
            | OpKind::Slice { .. }
            | OpKind::ReadNumber { .. }
            | OpKind::Scan { .. }
            | OpKind::AtomicAdd { .. }
            | OpKind::Print { .. }
            | OpKind::Assert { .. },
            _,
        ) => Vec::new(),
    }
}

/// Returns the number of blocks that should run together on a multiprocessor. A kernel without matrix products waits for
/// memory, so it gets as many as its tensors allow; any other kernel gets 1.
fn blocks(program: &TileProgram, solution: &Solution) -> u32 {
    let multiplies = program.ops(1.0).iter().any(|(op, _)| matches!(op.kind, OpKind::Gemm { .. }));
    let words = |(tensor, held): (&TensorId, &hx_tile::Distribution)| {
        held.layout.mode(1).size() * i64::from(program.tensor(*tensor).dtype.bits()) / 32
    };
    let largest = solution.registers.iter().map(words).max().unwrap_or(0);
    if multiplies || largest > machine().memory_bound_words {
        1
    } else {
        (machine().memory_bound_threads / program.block_threads()).max(1)
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
            align: t.align,
        }),
        TileParam::Int { name, dtype } | TileParam::Float { name, dtype } => {
            Param::Scalar { name: name.clone(), dtype: *dtype }
        }
    }
}

/// Returns dimensions and strides in the order in which the parameters name them.
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
    /// Shared memory through which the threads of an operation exchange values.
    scratch: BTreeMap<OpId, Vec<u32>>,
    log: Vec<LogEntry>,
    /// For each scope, the facts about all symbols, with the bound on the number of a thread.
    facts: Vec<Facts>,
    /// The copies that are lowered with the products that they feed.
    streamed: BTreeSet<OpId>,
    poll: &'p dyn Fn(),
}

impl<'p> Lowering<'p> {
    fn new(program: &'p TileProgram, solution: &'p Solution, poll: &'p dyn Fn()) -> Lowering<'p> {
        let numbered = |register: bool| {
            program.tensor_ids().filter(move |t| program.tensor(*t).is_register() == register).zip(0u32..)
        };
        let facts = program.scopes.iter().map(|scope| {
            let mut facts = program.facts.clone();
            facts.at_most(Symbol::Thread, Expr::constant(i64::from(scope.threads) - 1));
            facts
        });
        let facts = facts.collect();
        let arrays: BTreeMap<TensorId, RegId> = numbered(true).map(|(t, i)| (t, RegId(i))).collect();
        let buffers: BTreeMap<TensorId, u32> = numbered(false).collect();
        let (mut temporaries, mut scratch) = (BTreeMap::new(), BTreeMap::new());
        let (mut next_array, mut next_buffer) = (arrays.len() as u32, buffers.len() as u32);
        for op in solution.choices.keys() {
            let count = temporary_arrays(program, solution, *op).len() as u32;
            if count > 0 {
                temporaries.insert(*op, (next_array..next_array + count).map(RegId).collect());
                next_array += count;
            }
            let count = scratch_buffers(program, solution, *op).len() as u32;
            if count > 0 {
                scratch.insert(*op, (next_buffer..next_buffer + count).collect());
                next_buffer += count;
            }
        }
        let log = log::entries(program);
        let streamed = Lowering::streamed(&solution.choices);
        Lowering { program, solution, arrays, temporaries, buffers, scratch, log, facts, streamed, poll }
    }

    fn stmts(&self, stmts: &[TileStmt]) -> Result<Body, LowerError> {
        let mut out = Vec::new();
        for stmt in stmts {
            (self.poll)();
            out.push(match stmt {
                TileStmt::Op(op) if self.streamed.contains(&op.id) => continue,
                TileStmt::Op(op @ Op { kind: OpKind::ReadNumber { var, src }, .. }) => {
                    self.read_number(op, var, *src)?
                }
                TileStmt::Op(op) => self.group(op, self.op(op)?),
                TileStmt::For { var, start, end, unroll, body } => Stmt::For {
                    var: var.clone(),
                    start: start.clone(),
                    end: end.clone(),
                    unroll: *unroll,
                    body: self.stmts(body)?,
                },
                TileStmt::If { cond, then, otherwise } => Stmt::If {
                    cond: cond.clone(),
                    then: self.stmts(then)?,
                    otherwise: self.stmts(otherwise)?,
                },
                TileStmt::While { cond, body } => Stmt::While { cond: cond.clone(), body: self.stmts(body)? },
                TileStmt::Let { var, value } => Stmt::Let { var: var.clone(), value: value.clone() },
                TileStmt::Assign { var, value } => Stmt::Assign { var: var.clone(), value: value.clone() },
                TileStmt::LoadScalar { var, src } => self.load_scalar(var, src)?,
                TileStmt::LetNumber { var, value } => {
                    Stmt::LetNumber { var: var.clone(), value: scalar::hardware(value), inputs: Vec::new() }
                }
                TileStmt::AssignNumber { var, value } => {
                    Stmt::AssignNumber { var: var.clone(), value: scalar::hardware(value) }
                }
            });
        }
        Ok(out)
    }

    /// Groups the statements of an operation.
    fn group(&self, op: &Op, body: Body) -> Stmt {
        let title = hx_tile::op_text(self.program, op);
        Stmt::Group(Group { op: op.id, scope: op.scope, origin: op.origin, title, body })
    }

    fn op(&self, op: &Op) -> Result<Body, LowerError> {
        match (&op.kind, self.solution.choices.get(&op.id)) {
            (OpKind::Sync, _) => Ok(vec![Stmt::Barrier]),
            (OpKind::SyncWarp, _) => Ok(vec![Stmt::WarpBarrier]),
            (OpKind::Fill { dst, value }, _) => self.fill(op, *dst, *value),
            (OpKind::Commit, _) => Ok(vec![Stmt::Commit]),
            (OpKind::Wait { groups }, _) => Ok(vec![Stmt::Wait { groups: *groups }]),
            (OpKind::Print { src, .. }, _) => self.log(op, *src),
            (OpKind::Assert { cond, .. }, _) => self.log(op, Some(*cond)),
            (OpKind::CopyAsync { src, dst }, Some(Choice::Copy(choice))) => {
                self.copy_async(op, src, dst, choice)
            }
            (OpKind::Map(map), Some(Choice::Map(choice))) => self.map(op, map, choice),
            (OpKind::Reduce { dst, src, axis, operator }, Some(Choice::Reduce(choice))) => {
                self.reduce(op, [*dst, *src], *axis, *operator, choice)
            }
            (OpKind::Copy { src, dst }, Some(Choice::Copy(choice))) => self.copy(op, src, dst, choice),
            (OpKind::Rearrange { dst, src, through }, Some(Choice::Rearrange(choice))) => {
                self.rearrange(op, [*dst, *src], *through, &choice.route)
            }
            (OpKind::AtomicAdd { src, dst }, Some(Choice::Copy(choice))) => {
                let shape = &self.program.tensor(*src).shape;
                let whole = hx_tile::View::whole(hx_tile::Base::Register(*src), shape);
                self.copy(op, &whole, dst, choice)
            }
            (OpKind::Slice { dst, src }, Some(Choice::Slice(choice))) => self.slice(op, *dst, src, choice),
            (OpKind::Scan { dst, src, axis, op: value }, Some(Choice::Scan(choice))) => {
                self.scan(op, (dst, src), *axis, value, choice)
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
                | OpKind::Map(_)
                | OpKind::Rearrange { .. }
                | OpKind::Reduce { .. }
                | OpKind::Slice { .. }
                | OpKind::ReadNumber { .. }
                | OpKind::Scan { .. }
                | OpKind::AtomicAdd { .. },
                _,
            ) => Err(self.error(op, "no instruction was chosen")),
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

    /// Fills a tensor, in whole words where elements are packed.
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
        let fill = Stmt::Fill(Fill { dst, bits });
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
            Stmt::Compute(Compute { dst, inputs: vec![src], value })
        } else {
            Stmt::Convert(Convert { row: choice.row.clone(), dst, src })
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
    fn products(
        &self,
        op: &Op,
        [c, a, b]: [TensorId; 3],
        choice: &GemmChoice,
        k: Expr,
    ) -> Result<Body, LowerError> {
        let [im, i_n, _, il] = choice.issues;
        let [m, n, l] =
            [("m", 1), ("n", 2), ("batch", 4)].map(|(name, i)| self.counter(name, op, COUNTED + i));
        let [em, en, el] = [counted(&m, im), counted(&n, i_n), counted(&l, il)];
        let multiply = Stmt::Multiply(Multiply {
            row: choice.row.clone(),
            c: registers(self.array(op, c)?, &choice.c, &[em.clone(), en.clone(), el.clone()]),
            a: registers(self.array(op, a)?, &choice.a, &[em, k.clone(), el.clone()]),
            b: registers(self.array(op, b)?, &choice.b, &[en, k, el]),
        });
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
        Ok(Stmt::LoadInteger { var: var.clone(), address })
    }

    /// Reads an element that every thread holds into a number of the block.
    fn read_number(&self, op: &Op, var: &Symbol, src: TensorId) -> Result<Stmt, LowerError> {
        if op.scope != ScopeId::BLOCK {
            let scope = self.program.scope(op.scope);
            return Err(self.error(op, format!("a number belongs to the block, and the {scope} reads it")));
        }
        let array = self.array(op, src)?;
        let input = Registers { array, base: Expr::default(), offsets: vec![0] };
        let value = hx_tile::Scalar::Input { index: 0, dtype: self.program.tensor(src).dtype };
        Ok(Stmt::LetNumber { var: var.clone(), value, inputs: vec![input] })
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

/// Locals made here have numbers from this one on; the source's locals have smaller ones.
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

/// The index from which the locals of an operation are counters of unrolled loops.
const COUNTED: u32 = 8;

/// Reports whether a local is the counter of an unrolled loop over the instructions of an operation.
fn is_counter(symbol: &Symbol) -> bool {
    matches!(symbol, Symbol::Var(_, n) if *n >= LOCALS && (n - LOCALS) % LOCALS_PER_OP >= COUNTED)
}
