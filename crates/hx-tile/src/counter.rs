//! Counters: the blocks of a launch draw numbers from global memory, one at a time.
//!
//! A block keeps the numbers that it drew in a ring of tickets in shared memory, so that all of its scopes see the same numbers in
//! the same order. Each ticket has two barriers: *full* when the number is there, *empty* when every scope has read it.

use hx_index::Expr;

use crate::{BARRIER_BYTES, Control, Origin, ParamId, ScopeId, Stmt, TileProgram};

/// A counter of the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct CounterId(pub u32);

/// A counter that hands out the numbers of `0..limit`, each to one block of the launch.
///
/// Its tensor is 0 before the launch and 0 again after it. A draw adds 1 to the tensor and gets the value before. Each block draws
/// until it gets a number that is not below the limit, so a launch of `b` blocks draws `limit + b` times. The last draw stores 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counter {
    pub name: String,
    /// A mutable `i32[1]` that no other statement of the program accesses.
    pub param: ParamId,
    /// The numbers below it are handed out. It depends only on what a launch decides, and is at least 0.
    pub limit: Expr,
    pub origin: Origin,
}

/// The number of tickets of a ring: the one that scopes read, and the one drawn ahead.
pub const TICKETS: u32 = 2;

/// The bytes of a ticket: an `i32`.
pub const TICKET_BYTES: u32 = 4;

/// The bytes of shared memory that a counter takes: two barriers for each ticket, and the tickets after them.
pub const COUNTER_BYTES: u32 = TICKETS * (2 * BARRIER_BYTES + TICKET_BYTES);

/// The numbers that a loop runs over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rounds {
    /// The numbers of `start..end`, in order. With `unroll`, code generation writes the rounds out.
    Range { start: Expr, end: Expr, unroll: bool },
    /// The numbers that the block draws from a counter, which are below the counter's limit. The number of rounds is known only
    /// when the loop ends. It is the same in all scopes of a block that loop over the counter; each of them does so once.
    Drawn {
        counter: CounterId,
        /// The threads that run the loop together.
        scope: ScopeId,
        origin: Origin,
    },
}

impl Rounds {
    /// Returns the numbers of `start..end`, in order.
    pub fn range(start: Expr, end: Expr) -> Rounds {
        Rounds::Range { start, end, unroll: false }
    }

    /// Returns the number of rounds if it is a constant.
    pub fn count(&self) -> Option<i64> {
        match self {
            Rounds::Range { start, end, .. } => end.constant_distance(start).map(|n| n.max(0)),
            Rounds::Drawn { .. } => None,
        }
    }
}

impl TileProgram {
    /// Yields the counters of the program, in the order of [`TileProgram::counters`].
    pub fn counter_ids(&self) -> impl Iterator<Item = CounterId> + use<> {
        (0..self.counters.len() as u32).map(CounterId)
    }

    /// Returns a counter of the program.
    ///
    /// # Panics
    /// If the program has no such id among its counters.
    pub fn counter(&self, id: CounterId) -> &Counter {
        &self.counters[id.0 as usize]
    }

    /// Returns the scopes that loop over a counter, in the order of the text. The first of them draws for all.
    pub fn scopes_over(&self, id: CounterId) -> Vec<ScopeId> {
        let mut out = Vec::new();
        scopes_in(&self.body, id, &mut out);
        out
    }
}

fn scopes_in(body: &[Stmt], id: CounterId, out: &mut Vec<ScopeId>) {
    for stmt in body {
        if let Stmt::Control(Control::For { rounds: Rounds::Drawn { counter, scope, .. }, .. }) = stmt
            && *counter == id
        {
            out.push(*scope);
        }
        stmt.bodies().for_each(|body| scopes_in(body, id, out));
    }
}
