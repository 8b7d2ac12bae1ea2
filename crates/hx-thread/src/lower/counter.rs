//! Lowers loops over counters: a ring of tickets in shared memory that one scope fills and all scopes of the loop read.
//!
//! A scope keeps the index of the ticket that it reads next, and the parity of the phase in which the ticket is full. The scope
//! whose loop comes first in the text draws for all, one ticket ahead: at the top of a round it draws the number of the next one,
//! so that the round hides the latency of the draw.

use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};

use hx_tile::{
    BARRIER_BYTES, COUNTER_BYTES, CounterId, Origin, ScopeId, Solution, Stmt as TileStmt, TICKETS,
    TileProgram,
};

use super::pipe::next_place;
use super::{LowerError, Lowering};
use crate::{Barrier, BarrierKind, Body, Control, Counter, Draw, Drawn, Leaf, Stmt};

/// The locals of loops over counters have numbers from this one on, above those of pipelines.
const TICKET_LOCALS: u32 = 3 << 29;
/// The distance between the numbers of the locals of two loops. A loop uses only the first numbers.
const STEP: u32 = 32;

/// A loop over a counter.
pub(super) struct CounterLoop<'p> {
    pub(super) var: &'p Symbol,
    pub(super) counter: CounterId,
    pub(super) scope: ScopeId,
    pub(super) origin: Origin,
}

/// Returns the counters, and their barriers, which follow `before` others. They are the end of the block's shared memory.
pub(super) fn counters(
    program: &TileProgram,
    solution: &Solution,
    before: u32,
) -> (Vec<Counter>, Vec<Barrier>) {
    let mut at = solution.shared_bytes - COUNTER_BYTES * program.counters.len() as u32;
    let (mut counters, mut barriers) = (Vec::new(), Vec::new());
    for id in program.counter_ids() {
        let counter = program.counter(id);
        let first = before + barriers.len() as u32;
        for (kind, count) in [(BarrierKind::Full, 1), (BarrierKind::Empty, readers(program, id))] {
            let (pipe, origin) = (counter.name.clone(), counter.origin);
            barriers.push(Barrier { kind, pipe, stages: TICKETS, count, at, origin, sums: false });
            at += TICKETS * BARRIER_BYTES;
        }
        counters.push(Counter {
            name: counter.name.clone(),
            param: counter.param.0,
            limit: counter.limit.clone(),
            at,
            full: first,
            empty: first + 1,
            origin: counter.origin,
        });
        at = at - 2 * TICKETS * BARRIER_BYTES + COUNTER_BYTES;
    }
    (counters, barriers)
}

/// Returns the number of warps of a block that read each ticket.
fn readers(program: &TileProgram, id: CounterId) -> u32 {
    let warps = |scope: ScopeId| {
        let scope = program.scope(scope);
        scope.groups * (scope.threads / program.target.limits.lanes)
    };
    program.scopes_over(id).into_iter().map(warps).sum()
}

/// Returns the index of the ticket that a scope reads next, and the parity of the phase in which it is full.
fn locals(program: &TileProgram, id: CounterId, scope: ScopeId) -> [Symbol; 2] {
    let number = TICKET_LOCALS + (id.0 * program.scopes.len() as u32 + scope.0) * STEP;
    let name = &program.counter(id).name;
    [("ticket", 0), ("parity", 1)].map(|(what, n)| Symbol::Var(format!("{name}_{what}").into(), number + n))
}

/// Returns the least and the greatest value of every local of a loop over a counter.
pub(super) fn ranges(program: &TileProgram) -> impl Iterator<Item = (Symbol, (i64, i64))> {
    program.counter_ids().flat_map(move |id| {
        program.scopes_over(id).into_iter().flat_map(move |scope| {
            let [index, parity] = locals(program, id, scope);
            // An index is the number of tickets for a moment before it becomes 0.
            [(index, (0, i64::from(TICKETS))), (parity, (0, 1))]
        })
    })
}

/// States the ranges of the locals of loops over counters in `facts`.
pub(super) fn state(program: &TileProgram, facts: &mut Facts) {
    for (symbol, (low, high)) in ranges(program) {
        facts.at_least(symbol.clone(), low);
        facts.at_most(symbol, Expr::constant(high));
    }
}

impl Lowering<'_> {
    pub(super) fn drawn(
        &self,
        counter_loop: &CounterLoop<'_>,
        body: &[TileStmt],
    ) -> Result<Body, LowerError> {
        let CounterLoop { var, counter: id, scope, origin } = *counter_loop;
        let [index, parity] = locals(self.program, id, scope);
        let here = |var: &Symbol| Expr::symbol(var.clone());
        let start = |var: &Symbol| Stmt::Leaf(Leaf::Let { var: var.clone(), value: Expr::default() });
        let mut out = vec![start(&index), start(&parity)];
        // A ticket counts as read before anyone has read it: the phase before the first has parity 1.
        out.extend(self.draw(counter_loop, Expr::default(), Expr::constant(1)));
        let mut round = next_place(TICKETS, &index, Some(&parity));
        round.extend(self.draw(counter_loop, here(&index), Expr::constant(1) - here(&parity)));
        round.extend(self.stmts(body)?);
        let (index, parity) = (here(&index), here(&parity));
        let drawn = Drawn { var: var.clone(), counter: id.0, index, parity, origin, body: round };
        out.push(Stmt::Control(Control::Drawn(drawn)));
        Ok(out)
    }

    /// Draws into a ticket; `None` if another scope draws. Of several groups only group 0 draws.
    fn draw(&self, counter_loop: &CounterLoop<'_>, index: Expr, parity: Expr) -> Option<Stmt> {
        if self.program.scopes_over(counter_loop.counter).first() != Some(&counter_loop.scope) {
            return None;
        }
        let draw = Stmt::Leaf(Leaf::Draw(Draw { counter: counter_loop.counter.0, index, parity }));
        let role = self.program.roles().iter().find(|role| role.scope == counter_loop.scope);
        let Some(group) = role.and_then(|role| role.index.as_ref()) else { return Some(draw) };
        let cond = Cond::Cmp(CmpOp::Eq, Expr::symbol(group.clone()), Expr::default());
        Some(Stmt::Control(Control::If { cond, then: vec![draw], otherwise: Vec::new() }))
    }
}
