//! Emits the barriers in shared memory on which pipelines and counters are built.

use hx_index::{CmpOp, Cond, Expr, Symbol};

use hx_thread::{Arrivals, Barrier, Waiters};
use hx_tile::BARRIER_BYTES;

use crate::asm::{Operand, Slots};
use crate::emit::{Emitter, MalformedProgram};
use crate::instruction::Sequence;
use crate::names::SHARED_MEMORY;

type Result<T> = std::result::Result<T, MalformedProgram>;

/// Returns the difference of consecutive ranks; 0 for fewer than two ranks. `None` if the differences vary or are not constant.
pub(crate) fn steps(ranks: &[Expr]) -> Option<i64> {
    let differences = ranks.windows(2).map(|pair| (pair[1].clone() - pair[0].clone()).as_const());
    let differences = differences.collect::<Option<Vec<i64>>>()?;
    let step = differences.first().copied().unwrap_or(0);
    differences.iter().all(|other| *other == step).then_some(step)
}

impl Emitter<'_> {
    /// Returns the declarations of the addresses of barriers.
    pub(crate) fn barrier_addresses(&self) -> Vec<String> {
        let base = SHARED_MEMORY[1];
        let line = |(barrier, name): (&Barrier, &String)| {
            let Barrier { at, stages, count, .. } = barrier;
            format!("const unsigned {name} = {base} + {at}; // {stages} barriers of {count} arrivals")
        };
        self.program.barriers.iter().zip(&self.barriers).map(line).collect()
    }

    /// Initializes the barriers in one thread, and makes them visible to all threads that may arrive at them: those of the
    /// block, or those of the cluster.
    pub(crate) fn make_barriers(&mut self) -> Result<()> {
        if self.program.barriers.is_empty() {
            return Ok(());
        }
        self.block("if (threadIdx.x == 0)", |e| {
            let program = e.program;
            for (barrier, name) in program.barriers.iter().zip(e.barriers.clone()) {
                e.statement("#pragma unroll");
                let head = format!("for (int i = 0; i < {}; ++i)", barrier.stages);
                e.block(&head, |e| {
                    let address = format!("{name} + i * {BARRIER_BYTES}");
                    let count = Slots::Number(i64::from(barrier.count));
                    e.barrier_row("barrier.init", vec![address], None, &|name| {
                        (name == "n").then(|| count.clone())
                    })
                })?;
            }
            e.barrier_row("barrier.ready", Vec::new(), None, &|_| None)
        })?;
        if self.program.crosses_blocks() {
            return self.sync_row("cluster.sync", Vec::new(), &|_| None);
        }
        self.statement("__syncthreads();");
        Ok(())
    }

    /// Keeps the shared memory of each block until no block of the cluster reaches it any more.
    pub(crate) fn leave_cluster(&mut self) -> Result<()> {
        if !self.program.crosses_blocks() {
            return Ok(());
        }
        self.sync_row("cluster.sync", Vec::new(), &|_| None)
    }

    pub(crate) fn await_phase(
        &mut self,
        barrier: u32,
        index: &Expr,
        parity: &Expr,
        by: Waiters,
    ) -> Result<()> {
        let address = self.barrier_address(barrier, index)?;
        let parity = self.expr(parity)?.text;
        let first = if by == Waiters::First { self.one_thread()? } else { None };
        let row = if first.is_some() { "barrier.await.one" } else { "barrier.await" };
        let first = first.map(|first| format!("(int)({first})"));
        let inputs = [address, parity].into_iter().chain(first).collect();
        self.barrier_row(row, inputs, None, &|name| match name {
            "p" => Some(Slots::Input(1)),
            "q" => Some(Slots::Input(2)),
            "u" => Some(Slots::Unique),
            _ => None,
        })
    }

    pub(crate) fn arrive(&mut self, barrier: u32, index: &Expr, by: Arrivals, blocks: &[Expr]) -> Result<()> {
        let address = self.barrier_address(barrier, index)?;
        let threads = match by {
            Arrivals::Copies => return self.barrier_row("barrier.copied", vec![address], None, &|_| None),
            Arrivals::Warps => {
                // One thread arrives for its whole warp, so the other lanes must be done first.
                self.statement("__syncwarp();");
                self.program.target.limits.lanes
            }
            Arrivals::Groups => self.program.target.limits.group,
        };
        let thread = Expr::symbol(Symbol::Thread);
        let number = thread.rem(&Expr::constant(i64::from(threads)), &hx_index::Facts::default());
        if blocks.is_empty() {
            let first = self.cond(&Cond::Cmp(CmpOp::Eq, number, Expr::default()))?;
            return self.barrier_row("barrier.arrive", vec![address], Some(first), &|_| None);
        }
        // Thread `i` of each warp, or of each group, arrives at the barrier of `blocks[i]`.
        if let Some(step) = steps(blocks) {
            let count = Expr::constant(blocks.len() as i64);
            let some = self.cond(&Cond::Cmp(CmpOp::Lt, number.clone(), count))?;
            return self.arrive_at(address, &(blocks[0].clone() + number.scale(step)), some);
        }
        for (own, rank) in (0..).zip(blocks) {
            let own = self.cond(&Cond::Cmp(CmpOp::Eq, number.clone(), Expr::constant(own)))?;
            self.arrive_at(address.clone(), rank, own)?;
        }
        Ok(())
    }

    /// Arrives at the barrier of the cluster's block `rank` that lies where `address` lies in this block.
    fn arrive_at(&mut self, address: String, rank: &Expr, guard: String) -> Result<()> {
        let rank = self.expr(rank)?.text;
        self.barrier_row("barrier.arrive.remote", vec![address, rank], Some(guard), &|name| {
            (name == "k").then_some(Slots::Input(1))
        })
    }

    /// Arrives once, by the one thread that executes the statement.
    pub(crate) fn arrive_once(&mut self, barrier: u32, index: &Expr) -> Result<()> {
        let address = self.barrier_address(barrier, index)?;
        self.barrier_row("barrier.arrive", vec![address], None, &|_| None)
    }

    pub(crate) fn expect(&mut self, barrier: u32, index: &Expr, bytes: u32) -> Result<()> {
        let address = self.barrier_address(barrier, index)?;
        let guard = self.one_thread()?;
        let bytes = Slots::Number(i64::from(bytes));
        self.barrier_row("barrier.expect", vec![address], guard, &|name| (name == "n").then(|| bytes.clone()))
    }

    /// Prints the address of a stage's barrier.
    pub(crate) fn barrier_address(&mut self, barrier: u32, index: &Expr) -> Result<String> {
        let missing = || MalformedProgram::Missing(format!("barrier {barrier}"));
        let name = self.barriers.get(barrier as usize).ok_or_else(missing)?.clone();
        if index.is_zero() {
            return Ok(name);
        }
        self.check_bound(index)?;
        let offset = self.printer.in_shared(&index.scale(i64::from(BARRIER_BYTES))).text;
        Ok(format!("{name} + {offset}"))
    }

    /// Emits a row that synchronizes. The first input is the address of a barrier.
    fn barrier_row(
        &mut self,
        name: &str,
        inputs: Vec<String>,
        guard: Option<String>,
        slots: &dyn Fn(&str) -> Option<Slots>,
    ) -> Result<()> {
        let row =
            self.program.target.rows().sync(name).ok_or_else(|| MalformedProgram::UnknownRow(name.into()))?;
        let mut sequence = Sequence::default();
        sequence.asm.effects = true;
        sequence.asm.guard = guard;
        sequence.asm.inputs = inputs.into_iter().map(|text| Operand { constraint: 'r', text }).collect();
        self.sequence(name, &row.ptx, sequence, &|name| match name {
            "b" => Some(Slots::Input(0)),
            other => slots(other),
        })
    }
}
