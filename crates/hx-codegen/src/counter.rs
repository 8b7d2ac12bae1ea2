//! Emits draws from counters, and the loops over the numbers drawn.

use hx_index::{CmpOp, Cond, Expr, Symbol};

use hx_thread::{Arrivals, Counter, Draw, Drawn, Waiters};
use hx_tile::TICKET_BYTES;

use crate::asm::{Operand, Slots};
use crate::emit::{Emitter, MalformedProgram};
use crate::names::SHARED_MEMORY;

/// The variable with the number that a thread has drawn.
const NUMBER: &str = "hx_number";

type Result<T> = std::result::Result<T, MalformedProgram>;

impl Emitter<'_> {
    fn counter(&self, counter: u32) -> Result<&Counter> {
        let missing = || MalformedProgram::Missing(format!("counter {counter}"));
        self.program.counters.get(counter as usize).ok_or_else(missing)
    }

    /// Returns the declarations of the addresses of tickets.
    pub(crate) fn ticket_addresses(&self) -> Vec<String> {
        let base = SHARED_MEMORY[1];
        let line = |(counter, name): (&Counter, &String)| {
            format!("const unsigned {name} = {base} + {}; // tickets of {}", counter.at, counter.name)
        };
        self.program.counters.iter().zip(&self.tickets).map(line).collect()
    }

    /// Writes a draw by the first thread of the scope's last warp. The first warp issues the bulk copies, so it does not wait for the
    /// draw.
    pub(crate) fn draw(&mut self, Draw { counter: number, index, parity }: &Draw) -> Result<()> {
        let counter = self.counter(*number)?.clone();
        let threads = self.program.scope(self.executing.scope).threads;
        let drawing = Expr::constant(i64::from(threads - self.program.target.limits.lanes));
        let drawing = self.cond(&Cond::Cmp(CmpOp::Eq, Expr::symbol(Symbol::Thread), drawing))?;
        let title = format!("draw from {}", counter.name);
        self.at(counter.origin, &title, |e| {
            e.block(&format!("if ({drawing})"), |e| {
                e.await_phase(counter.empty, index, parity, Waiters::All)?;
                e.statement(&format!("int {NUMBER};"));
                let tensor = Operand { constraint: 'l', text: e.params[counter.param as usize].clone() };
                let last =
                    Operand { constraint: 'r', text: format!("(unsigned)({})", e.last_draw(&counter)?) };
                let drawn = Operand { constraint: 'r', text: NUMBER.to_owned() };
                e.sync_output("counter.draw", drawn, vec![tensor, last])?;
                let ticket = Operand { constraint: 'r', text: e.ticket(*number, index)? };
                let drawn = Operand { constraint: 'r', text: NUMBER.to_owned() };
                e.sync_row("ticket.write", vec![ticket, drawn], &address)?;
                e.arrive_once(counter.full, index)
            })
        })
    }

    /// Prints the number of the launch's last draw, which makes the counter 0 again.
    fn last_draw(&mut self, counter: &Counter) -> Result<String> {
        let axes = (0..self.program.grid.len() as u8).map(|axis| Expr::symbol(Symbol::GridDim(axis)));
        let blocks = axes.reduce(|blocks, axis| &blocks * &axis).unwrap_or(Expr::constant(1));
        let last = counter.limit.clone() + blocks - Expr::constant(1);
        Ok(self.expr(&last)?.operand(crate::expr::Binding::Sum))
    }

    /// Prints the address of a ticket.
    fn ticket(&mut self, counter: u32, index: &Expr) -> Result<String> {
        let missing = || MalformedProgram::Missing(format!("counter {counter}"));
        let name = self.tickets.get(counter as usize).ok_or_else(missing)?.clone();
        if index.is_zero() {
            return Ok(name);
        }
        let offset = self.expr(&index.scale(i64::from(TICKET_BYTES)))?.text;
        Ok(format!("{name} + {offset}"))
    }

    pub(crate) fn drawn(&mut self, drawn: &Drawn) -> Result<()> {
        let Drawn { var, counter: number, origin, .. } = drawn;
        let counter = self.counter(*number)?.clone();
        let (outer, names) = (self.printer.scope(), self.names.enter());
        let title = format!("for {var} in {}", counter.name);
        self.at(*origin, &title, |e| e.rounds(drawn, &counter))?;
        self.printer.leave(outer);
        self.names.leave(names);
        Ok(())
    }

    fn rounds(&mut self, drawn: &Drawn, counter: &Counter) -> Result<()> {
        let Drawn { var, counter: number, index, parity, body, .. } = drawn;
        // The front end would peel the loop otherwise, and the code would be several times as long.
        self.statement("#pragma unroll 1");
        self.block("for (;;)", |e| {
            e.await_phase(counter.full, index, parity, Waiters::All)?;
            e.statement(&format!("int {NUMBER} = 0;"));
            let ticket = Operand { constraint: 'r', text: e.ticket(*number, index)? };
            // The lane that reads the ticket also arrives on the empty barrier, so program order suffices, and race checkers that follow
            // only barriers accept it.
            let warp = Expr::constant(i64::from(e.program.target.limits.lanes));
            let lane = Expr::symbol(Symbol::Thread).rem(&warp, &hx_index::Facts::default());
            let first = e.cond(&Cond::Cmp(CmpOp::Eq, lane, Expr::default()))?;
            e.block(&format!("if ({first})"), |e| {
                e.sync_output(
                    "ticket.read",
                    Operand { constraint: 'r', text: NUMBER.to_owned() },
                    vec![ticket],
                )
            })?;
            let limit = e.expr(&counter.limit)?.operand(crate::expr::Binding::Sum);
            let most = e.printer.facts.range(&counter.limit).1;
            let name = e.declare(var, false);
            e.printer.bound(var, (Some(0), most.and_then(|most| most.checked_sub(1))));
            // The exchange also tells the compiler of the CUDA text that all lanes have the same number.
            e.statement(&format!("const int {name} = __shfl_sync(0xffffffff, {NUMBER}, 0);"));
            e.arrive(counter.empty, index, Arrivals::Warps, &[])?;
            e.statement(&format!("if ({name} >= {limit}) break;"));
            e.body(body)
        })
    }
}

/// Returns the operands of the rows of counters and tickets: an address, and a value to write; `None` for another
/// placeholder.
fn address(name: &str) -> Option<Slots> {
    match name {
        "a" | "t" => Some(Slots::Input(0)),
        "v" => Some(Slots::Input(1)),
        _ => None,
    }
}
