//! Lowers sums over the blocks of a cluster.
//!
//! The block to which a sum goes has a slot in its shared memory for every other block along the axis. A sum has four steps;
//! if a thread has more elements than fit into a slot, each round of these steps takes the next of them:
//!
//! 1. A sender waits until the threads of the target have read their slots: the barrier *empty* of this target, in the sender's own
//!    memory. Then each thread sends its registers to its place in the sender's slot at the target, and goes on.
//! 2. The target announces the bytes of all slots at its barrier *full*, and waits there. The bytes that arrive complete the phase,
//!    so the elements are visible without a barrier of the cluster. A sender may be early: the phase cannot end before the target's
//!    own arrival, and a sender of the next sum waits for *empty* first.
//! 3. The threads of the target add the slots to their registers, in the order of the coordinates along the axis. A thread reads
//!    only what the threads with its number sent, so the threads of a block need not meet.
//! 4. The warps of the target arrive at the barrier *empty* of the target in the memory of every sender.
//!
//! The barriers of a target change their phases once a round, those in its own memory and those at the senders alike, so one
//! parity for each target serves both. Every block executes every sum, hence all of them keep the same parities.

use std::collections::BTreeMap;

use hx_dtype::Operator;
use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};
use hx_target::{Cache, CopyRow, Row, Space};
use hx_tile::{
    BARRIER_BYTES, COUNTER_BYTES, Op, Origin, SUM_CHUNK, Scalar, ScopeId, Solution, Sums, TensorId,
    TileProgram,
};

use super::layout::unrolled;
use super::scalar::hardware;
use super::{COUNTED, LowerError, Lowering, counted};
use crate::{
    Address, Arrivals, Barrier, BarrierKind, Body, Compute, Control, Convert, Leaf, Memory, RegId, Registers,
    SendChunk, SharedBuffer, Stmt, Transfer, Waiters,
};

/// The parities have numbers from this one on, above those of pipelines and counters.
const SUM_LOCALS: u32 = 7 << 28;
/// The distance between the numbers of the parities of two kinds of sums.
const STEP: u32 = 32;

/// Returns the sums of a program. Sums that share memory are one entry.
pub(super) fn sums(program: &TileProgram, solution: &Solution) -> Vec<Sums> {
    program.sums(&|tensor| solution.registers.get(&tensor).map_or(1, |held| held.layout.mode(1).size()))
}

/// Returns the slots in the shared memory of a block. They lie before the barriers.
pub(super) fn buffers(program: &TileProgram, solution: &Solution) -> Vec<SharedBuffer> {
    let all = sums(program, solution);
    let mut at = solution.shared_bytes - program.barrier_bytes() - all.iter().map(Sums::bytes).sum::<u32>();
    let buffer = |sums: Sums| {
        let (name, offset, bytes) = ("sum_slots".to_owned(), at, sums.bytes());
        at += bytes;
        SharedBuffer { name, dtype: sums.dtype, offset, bytes }
    };
    all.into_iter().map(buffer).collect()
}

/// Returns the barriers: two arrays for each kind of sums. In the memory of a block they lie between those of pipelines and of counters.
pub(super) fn barriers(program: &TileProgram, solution: &Solution) -> Vec<Barrier> {
    let counters = COUNTER_BYTES * program.counters.len() as u32;
    let mut at = solution.shared_bytes - counters - program.sum_barrier_bytes();
    let mut out = Vec::new();
    for sums in sums(program, solution) {
        let of = |op: &&(&Op, f64)| sums.includes(program, op.0);
        let origin = program.ops(1.0).iter().find(of).map_or(Origin(0), |(op, _)| op.origin);
        let full = (BarrierKind::Full, sums.groups, 1);
        let empty = (BarrierKind::Empty, sums.empties(), (sums.threads / program.target.limits.lanes).max(1));
        for (kind, stages, count) in [full, empty] {
            out.push(Barrier { kind, pipe: "sum".to_owned(), stages, count, at, origin, sums: true });
            at += stages * BARRIER_BYTES;
        }
    }
    out
}

/// Returns the parity of the sums that go to one block.
fn parity(number: usize, target: u32) -> Symbol {
    Symbol::Var(format!("sum_parity_{target}").into(), SUM_LOCALS + number as u32 * STEP + target)
}

/// Returns the least and the greatest value of every parity.
pub(super) fn ranges(program: &TileProgram) -> BTreeMap<Symbol, (i64, i64)> {
    let all = program.sums(&|_| 1).into_iter().enumerate();
    all.flat_map(|(number, sums)| (0..sums.blocks).map(move |to| (parity(number, to), (0, 1)))).collect()
}

/// States the ranges of the parities.
pub(super) fn state(program: &TileProgram, facts: &mut Facts) {
    for (symbol, (low, high)) in ranges(program) {
        facts.at_least(symbol.clone(), low);
        facts.at_most(symbol, Expr::constant(high));
    }
}

/// Returns the registers that a sum needs for elements of other blocks: for those of one block, and from three blocks on for the sum
/// of the blocks before the target.
pub(super) fn temporaries(program: &TileProgram, axis: u8) -> &'static [&'static str] {
    if program.blocks_along(axis) > 2 { &["other", "before"] } else { &["other"] }
}

/// A sum, with the data that its steps share.
struct Sum<'o> {
    op: &'o Op,
    sums: Sums,
    /// Its barriers *full*, a position in [`crate::ThreadProgram::barriers`]; those *empty* follow.
    full: u32,
    /// Its slots, a position among the shared buffers.
    buffer: u32,
    x: TensorId,
    array: RegId,
    /// The registers that go to each block; none if all blocks get those of `array`.
    parts: Vec<RegId>,
    /// The registers that [`temporaries`] names.
    others: Vec<RegId>,
    /// The number of elements of each thread.
    len: u32,
}

/// The chunks of each thread that are summed together: the first one and their number.
#[derive(Clone, Copy)]
struct Round {
    first: u32,
    count: u32,
}

/// A chunk of each thread.
struct Chunk {
    /// Its position among those of a slot.
    at: Expr,
    /// The position of its first element in the registers.
    base: Expr,
    /// The number of its elements; fewer than fit for the last chunk.
    elements: u32,
}

impl Lowering<'_> {
    /// Defines the parities of the sums of a scope.
    pub(super) fn sum_parities(&self, scope: ScopeId) -> Body {
        let all = self.program.sums(&|_| 1).into_iter().enumerate().filter(|(_, sums)| sums.scope == scope);
        let start = |var| Stmt::Leaf(Leaf::Let { var, value: Expr::default() });
        all.flat_map(|(number, sums)| (0..sums.blocks).map(move |to| start(parity(number, to)))).collect()
    }

    pub(super) fn cluster_sum(
        &self,
        op: &Op,
        (x, parts): (TensorId, &[TensorId]),
        axis: u8,
        to: Option<u8>,
    ) -> Result<Body, LowerError> {
        let all = sums(self.program, self.solution);
        let number = all.iter().position(|sums| sums.includes(self.program, op));
        let number = number.ok_or_else(|| self.error(op, "no memory to meet in"))?;
        let held = self.solution.registers.get(&x).ok_or_else(|| self.error(op, "no layout"))?;
        let differs =
            |part: &&TensorId| self.solution.registers.get(part).is_none_or(|of| of.layout != held.layout);
        if parts.iter().any(|part| differs(&part)) {
            return Err(self.error(op, "a part has another layout than the sum"));
        }
        let sum = Sum {
            op,
            sums: all[number].clone(),
            full: 2 * (self.program.pipes.len() + number) as u32,
            buffer: self.first_sum + number as u32,
            x,
            array: self.array(op, x)?,
            parts: parts.iter().map(|part| self.array(op, *part)).collect::<Result<_, _>>()?,
            others: self.temporaries.get(&op.id).cloned().unwrap_or_default(),
            len: held.layout.mode(1).size() as u32,
        };
        let targets = match to {
            Some(to) => u32::from(to)..u32::from(to) + 1,
            None => 0..sum.sums.blocks,
        };
        let here = self.place(axis);
        let is = |op, target: u32| {
            Cond::cmp(op, here.clone(), Expr::constant(i64::from(target)), &self.program.facts)
        };
        let phase = |target| Expr::symbol(parity(number, target));
        let chunks = sum.len.div_ceil(sum.sums.per_chunk());
        let mut body = Vec::new();
        for first in (0..chunks).step_by(sum.sums.chunks as usize) {
            let round = Round { first, count: sum.sums.chunks.min(chunks - first) };
            for target in targets.clone() {
                let then = self.send_to(&sum, round, target, phase(target))?;
                body.push(Stmt::Control(Control::If {
                    cond: is(CmpOp::Ne, target),
                    then,
                    otherwise: Vec::new(),
                }));
            }
            for target in targets.clone() {
                let then = self.receive(&sum, round, target, phase(target))?;
                body.push(Stmt::Control(Control::If {
                    cond: is(CmpOp::Eq, target),
                    then,
                    otherwise: Vec::new(),
                }));
            }
            body.extend(targets.clone().map(|target| {
                Stmt::Leaf(Leaf::Assign {
                    var: parity(number, target),
                    value: Expr::constant(1) - phase(target),
                })
            }));
        }
        Ok(body)
    }

    /// Sends a round to its target, once the target has read the round before.
    fn send_to(&self, sum: &Sum<'_>, round: Round, target: u32, phase: Expr) -> Result<Body, LowerError> {
        let Sum { op, sums, .. } = sum;
        let free = Expr::constant(1) - phase;
        let mut body = vec![Stmt::Leaf(Leaf::Await {
            barrier: sum.full + 1,
            index: self.empty_of(sum, Expr::constant(i64::from(target))),
            parity: free,
            by: Waiters::All,
        })];
        let block = self.rank(sums.axis, &Expr::constant(i64::from(target)));
        let row = self.program.target.rows().sync("send.v4.b32").map(Row::from);
        let row = row.ok_or_else(|| self.error(op, "no instruction sends to another block"))?;
        let array = sum.parts.get(target as usize).copied().unwrap_or(sum.array);
        // The blocks after the target have its first slots, in order, and the blocks from block 0 on follow.
        let blocks = Expr::constant(i64::from(sums.blocks));
        let behind = self.place(sums.axis) + Expr::constant(i64::from(sums.blocks - 1 - target));
        let slot = match sums.blocks {
            2 => Expr::default(),
            _ => behind.rem(&blocks, &self.program.facts),
        };
        body.extend(self.each_chunk(sum, round, 0, &|chunk| {
            let last = chunk.elements - 1;
            let offsets = (0..sums.per_chunk()).map(|i| i.min(last)).collect();
            Ok(vec![Stmt::Leaf(Leaf::Send(SendChunk {
                row,
                registers: Registers { array, base: chunk.base.clone(), offsets },
                address: self.place_in_slot(sum, slot.clone(), &chunk.at),
                block: block.clone(),
                barrier: (sum.full, self.first_of_group(op, 1)),
            }))])
        })?);
        Ok(body)
    }

    /// Receives a round from all other blocks, adds it, and gives the slots back.
    fn receive(&self, sum: &Sum<'_>, round: Round, target: u32, phase: Expr) -> Result<Body, LowerError> {
        let Sum { op, sums, .. } = sum;
        let (barrier, index) = (sum.full, self.first_of_group(op, 1));
        let bytes = round.count * sums.threads * SUM_CHUNK * (sums.blocks - 1);
        let mut body = vec![
            Stmt::Leaf(Leaf::Expect { barrier, index: index.clone(), bytes }),
            Stmt::Leaf(Leaf::Await { barrier, index, parity: phase, by: Waiters::All }),
        ];
        let load = self.chunk_load(sum)?;
        let dtype = self.program.tensor(sum.x).dtype;
        let input = |index: u32| Scalar::Input { index, dtype };
        let total =
            hardware(self.program.target.rows(), &Scalar::apply(Operator::Add, dtype, [input(0), input(1)]));
        let add = |into: &Registers, other: &Registers, elements: u32| -> Body {
            let one = |registers: &Registers, i: u32| Registers {
                array: registers.array,
                base: registers.base.clone(),
                offsets: vec![i],
            };
            let each = (0..elements).map(|i| {
                let dst = one(into, i);
                Stmt::Leaf(Leaf::Compute(Compute {
                    inputs: vec![dst.clone(), one(other, i)],
                    dst,
                    value: total.clone(),
                }))
            });
            each.collect()
        };
        let temporary = |which: usize| -> Result<Registers, LowerError> {
            let array = sum.others.get(which).copied();
            let array = array.ok_or_else(|| self.error(op, "no registers for another block"))?;
            Ok(Registers { array, base: Expr::default(), offsets: (0..sums.per_chunk()).collect() })
        };
        body.extend(self.each_chunk(sum, round, 1, &|chunk| {
            let own = Registers { array: sum.array, base: chunk.base.clone(), offsets: Vec::new() };
            let get = |from: u32, registers: Registers| {
                let slot = (from + sums.blocks - 1 - target) % sums.blocks;
                let address = self.place_in_slot(sum, Expr::constant(i64::from(slot)), &chunk.at);
                let row = load;
                Stmt::Leaf(Leaf::Transfer(Transfer {
                    row,
                    registers,
                    address,
                    guard: Cond::True,
                    pad: 0,
                    atomic: None,
                    cache: Cache::default(),
                }))
            };
            // Without a block before it, or with one, the target needs no separate partial sum: the sum of two blocks is the
            // same in both orders.
            let before = if target < 2 { 0 } else { 1 };
            let mut out = Vec::new();
            if let Some(part) = sum.parts.get(target as usize) {
                let whole = |array: RegId| Registers {
                    array,
                    base: chunk.base.clone(),
                    offsets: (0..chunk.elements).collect(),
                };
                let (dst, src) = (whole(sum.array), whole(*part));
                out.push(Stmt::Leaf(Leaf::Convert(Convert { row: None, dst, src })));
            }
            for from in 0..sums.blocks {
                if from == target {
                    if target > 0 {
                        out.extend(add(&own, &temporary(before)?, chunk.elements));
                    }
                } else if from == 0 {
                    out.push(get(from, temporary(before)?));
                } else {
                    out.push(get(from, temporary(0)?));
                    let into = if from < target { temporary(1)? } else { own.clone() };
                    out.extend(add(&into, &temporary(0)?, chunk.elements));
                }
            }
            Ok(out)
        })?);
        let others = (0..sums.blocks).filter(|from| *from != target);
        body.push(Stmt::Leaf(Leaf::Arrive {
            barrier: sum.full + 1,
            index: self.empty_of(sum, Expr::constant(i64::from(target))),
            by: Arrivals::Warps,
            blocks: others.map(|from| self.rank(sums.axis, &Expr::constant(i64::from(from)))).collect(),
        }));
        Ok(body)
    }

    /// Returns the stage of the barrier *empty* of a target.
    fn empty_of(&self, sum: &Sum<'_>, target: Expr) -> Expr {
        self.first_of_group(sum.op, i64::from(sum.sums.blocks)) + target
    }

    /// Returns the place of a chunk of the executing thread in a slot. The threads of a warp have places side by side.
    fn place_in_slot(&self, sum: &Sum<'_>, slot: Expr, chunk: &Expr) -> Address {
        let Sums { blocks, threads, chunks, .. } = sum.sums;
        let (threads, chunks) = (i64::from(threads), i64::from(chunks));
        let group = self.first_of_group(sum.op, i64::from(blocks - 1) * chunks * threads);
        let place =
            group + (slot.scale(chunks) + chunk.clone()).scale(threads) + Expr::symbol(Symbol::Thread);
        Address { memory: Memory::Shared(sum.buffer), offset: place.scale(i64::from(sum.sums.per_chunk())) }
    }

    /// Repeats statements for each chunk of a round: in an unrolled loop, and once more for a chunk that is not full. `index` keeps
    /// the counters of the steps of a sum apart.
    fn each_chunk(
        &self,
        sum: &Sum<'_>,
        Round { first, count }: Round,
        index: u32,
        statements: &dyn Fn(&Chunk) -> Result<Body, LowerError>,
    ) -> Result<Body, LowerError> {
        let per = sum.sums.per_chunk();
        let full = (sum.len / per).clamp(first, first + count) - first;
        let var = self.counter("i", sum.op, COUNTED + index);
        let chunk = |at: Expr, elements: u32| {
            let base = (at.clone() + Expr::constant(i64::from(first))).scale(i64::from(per));
            Chunk { at, base, elements }
        };
        let mut body = match full {
            0 => Vec::new(),
            _ => {
                let at = counted(&var, i64::from(full));
                unrolled(&[(var, i64::from(full))], statements(&chunk(at, per))?)
            }
        };
        if full < count {
            body.extend(statements(&chunk(Expr::constant(i64::from(full)), sum.len % per))?);
        }
        Ok(body)
    }

    /// Returns the instruction that reads a chunk from shared memory.
    fn chunk_load(&self, sum: &Sum<'_>) -> Result<Row<CopyRow>, LowerError> {
        let dtype = self.program.tensor(sum.x).dtype;
        let row = self.program.target.rows().copies.iter().find(|row| {
            let whole = || row.atom(dtype).is_some_and(|atom| atom.values == i64::from(sum.sums.per_chunk()));
            let reads = row.from == Space::Shared && row.to == Space::Register;
            reads && !row.is_collective() && row.bytes == SUM_CHUNK && whole()
        });
        row.map(Row::from).ok_or_else(|| self.error(sum.op, "no instruction reads 16 bytes"))
    }
}
