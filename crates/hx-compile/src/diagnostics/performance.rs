//! Performance notes: what an instance does more slowly than it has to, and the change that spares the time.
//!
//! Each rule reports only operations that take a noticeable part of the kernel's estimated time ([`Shares`]). It offers a change as a fix
//! only after it solved the changed kernel and found a lower estimate.
//!
//! Start at [`notes`].

mod accesses;
mod arithmetic;
mod barriers;
mod buffers;
mod late;
mod products;
mod repeated;
mod residency;
mod waiting;

use std::collections::BTreeMap;

use hx_base::{Diagnostic, SourceFile, TextRange};
use hx_lower::Lowered;
use hx_synth::{Solved, UNKNOWN_TRIPS};
use hx_tile::{Cost, Op, OpId, OpKind};

use super::Places;

/// An operation that takes a smaller part of the kernel's estimated time has no note.
const WORTH: f64 = 0.05;

/// Returns the performance notes of a solved instance that its layouts and instructions give rise to.
pub(super) fn notes(places: &Places<'_>, lowered: &Lowered, solved: &Solved) -> Vec<Diagnostic> {
    let context = Context { places, lowered, solved, shares: Shares::of(solved) };
    let mut found = products::slow(&context);
    found.extend(repeated::products(&context));
    let (of_buffers, told) = buffers::single_elements(&context);
    found.extend(of_buffers);
    found.extend(accesses::narrow(&context, &told));
    found.extend(arithmetic::slow(&context));
    found.extend(barriers::in_loops(&context));
    found.extend(residency::low(&context));
    found.extend(late::loads(&context));
    found.extend(waiting::loops(&context));
    found
}

/// A solved instance, with what every rule asks of it.
struct Context<'a> {
    places: &'a Places<'a>,
    /// The program as the text shows it, with the loads that the solution adds and without its moves.
    lowered: &'a Lowered,
    solved: &'a Solved,
    shares: Shares,
}

impl Context<'_> {
    /// Returns the operations of the text, each with the number of its executions. A loop of unknown length counts as
    /// [`UNKNOWN_TRIPS`] rounds.
    fn ops(&self) -> Vec<(&Op, f64)> {
        self.lowered.program.ops(UNKNOWN_TRIPS)
    }

    /// Returns the place of an operation in the text, or that of the kernel's name.
    fn place(&self, op: &Op) -> (SourceFile, TextRange) {
        self.places.op(self.lowered, op.id).unwrap_or_else(|| self.places.kernel())
    }

    /// Adds the calls that led to the function that contains an operation.
    fn called(&self, op: &Op, found: Diagnostic) -> Diagnostic {
        let calls = self.places.calls(self.lowered, op.id);
        calls.into_iter().fold(found, |found, (file, range)| found.also(file, range, "called from here"))
    }
}

/// The estimated cycles of the operations of a block, each counted alone.
struct Shares {
    of: BTreeMap<OpId, f64>,
    all: f64,
}

impl Shares {
    fn of(solved: &Solved) -> Shares {
        let busy = |op: &Op| {
            let cost: Cost = solved.solution.costs.get(&op.id).copied().unwrap_or_default();
            // The operation that uses the loaded values waits for them.
            let latency = if matches!(op.kind, OpKind::Copy { .. }) { cost.latency } else { 0.0 };
            (cost.threads + latency).max(cost.resources.most().1)
        };
        let ops = solved.program.ops(UNKNOWN_TRIPS);
        let of: BTreeMap<OpId, f64> = ops.into_iter().map(|(op, trips)| (op.id, busy(op) * trips)).collect();
        Shares { all: of.values().sum(), of }
    }

    /// Returns the part of the block's cycles that an operation takes, from 0 to 1.
    fn share(&self, op: OpId) -> f64 {
        self.part(self.of.get(&op).copied().unwrap_or(0.0))
    }

    /// Returns the part of the block's cycles that `cycles` are.
    fn part(&self, cycles: f64) -> f64 {
        if self.all > 0.0 { cycles / self.all } else { 0.0 }
    }

    /// Reports whether an operation takes enough of the block's time to be worth a note.
    fn is_worth(&self, op: OpId) -> bool {
        self.share(op) >= WORTH
    }
}
