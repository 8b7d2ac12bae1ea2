//! Follows loops: for all their rounds if they are few, else for enough rounds at the beginning and the end.

use std::ops::Range;

use hx_index::{Cond, Expr, Symbol};
use hx_thread::{Control, Drawn, Stmt, visit};

use super::{Tracer, Truth};
use crate::event::Event;
use crate::scan;
use crate::suppose::suppose;

/// The longest loop that is followed from its beginning to its end. A longer loop is followed for its first and its last
/// rounds: the code after the loop meets what its last rounds leave in flight.
const WHOLE: i64 = 16;
/// As [`WHOLE`], for a loop that only begins copies: the number of groups in flight decides which of them a `wait` covers.
const WHOLE_FILLING: i64 = 64;
/// The most rounds that are followed because constants of the program distinguish them.
const LONGEST: i64 = 128;

impl<'a> Tracer<'a, '_> {
    /// Assumes the trip count of every loop whose bounds depend on the launch alone, so that statements before a loop see
    /// the same values as the loop.
    pub(super) fn suppose_lengths(&mut self) {
        let mut loops = Vec::new();
        visit(&self.program.body, &mut |stmt| {
            if let Stmt::Control(Control::For { var, start, end, body, .. }) = stmt
                && scan::touches_shared(body)
            {
                loops.push((var, start, end, body));
            }
        });
        // If one number bounds an inner and an outer loop, the inner loop decides its value: this run is about inner loops.
        if self.trace.run.is_some_and(|run| run.again) {
            loops.sort_by_key(|(.., body)| scan::nests(body));
        }
        for (var, start, end, body) in loops {
            let local = |symbol: &Symbol| matches!(symbol, Symbol::Var(..));
            if !start.symbols().iter().chain(&end.symbols()).any(local) {
                self.suppose_length(start, end, body, var);
            }
        }
    }

    /// Assumes a trip count for a loop with unknown bounds: the run's trip count, or else enough rounds to show all behaviour of the loop.
    fn suppose_length(&mut self, start: &Expr, end: &Expr, body: &[Stmt], var: &Symbol) {
        let Some(run) = self.trace.run else { return };
        if self.scope.in_run().uniform(start).is_none() {
            suppose(start, run.number, &mut self.scope, self.facts);
        }
        if let (Some(first), None) = (self.scope.in_run().uniform(start), self.scope.in_run().uniform(end)) {
            let trips = run.trips.filter(|_| !run.again || !scan::nests(body));
            let trips = trips.unwrap_or_else(|| self.rounds_of(body, Some(var)).0);
            suppose(end, first.saturating_add(trips), &mut self.scope, self.facts);
        }
    }

    /// Returns how many rounds of a loop show its behaviour, except at its end, and the number of rounds after which it
    /// repeats.
    fn rounds_of(&self, body: &[Stmt], counter: Option<&Symbol>) -> (i64, i64) {
        let mut rounds = scan::rounds(body, counter, None);
        // A ring repeats after its stages, and its second round is the first that waits for stages that were given back.
        for stages in scan::rings(body, &self.program.barriers) {
            rounds.period = scan::common(rounds.period, stages);
            rounds.settled = rounds.settled.max(2 * stages + 1);
        }
        (self.rounds.max(rounds.settled.min(LONGEST)), rounds.period)
    }

    pub(super) fn repeated(&mut self, cond: &Cond, body: &'a [Stmt], out: &mut Vec<Event>) {
        if !scan::touches_shared(body) {
            return;
        }
        let bounds = self.sources(cond.symbols());
        self.bounds.extend(bounds);
        // Its first test may fail.
        self.trace.skips |= matches!(self.truth(cond), Truth::Unknown);
        // Locals that the rounds change are known only for the rounds that are followed.
        let depth = self.partial.len();
        scan::assigned(body, &mut self.partial);
        let wanted = self.trace.run.filter(|run| !run.again || !scan::nests(body)).and_then(|run| run.trips);
        let most = wanted.unwrap_or_else(|| self.rounds_of(body, None).0);
        for round in 0..most.max(WHOLE) {
            match self.truth(cond) {
                Truth::Same(false) if round > 0 => break,
                Truth::Unknown if round >= most => break,
                // Threads that have left the loop do not return: their numbers stay as they are.
                Truth::Differs { holds, .. } => self.only_in(holds, body, out),
                Truth::Same(_) | Truth::Unknown => self.body(body, out),
            }
        }
        self.partial.truncate(depth);
        self.leave(body, None);
    }

    /// Follows a loop over a counter: as a loop of unknown length, with another number in every round.
    pub(super) fn drawn(&mut self, drawn: &'a Drawn, out: &mut Vec<Event>) {
        let number = if let Symbol::Var(_, number) = &drawn.var { *number } else { 0 };
        let round = Symbol::Var("round of a counter".into(), number);
        let rounds = Expr::dim("rounds of a counter");
        self.counted((&round, Some(&drawn.var)), &Expr::default(), &rounds, &drawn.body, out);
    }

    /// Follows a loop over a range. `number` has an unknown value in each round.
    pub(super) fn counted(
        &mut self,
        (var, number): (&Symbol, Option<&Symbol>),
        start: &Expr,
        end: &Expr,
        body: &'a [Stmt],
        out: &mut Vec<Event>,
    ) {
        let named = self.scope.known.len();
        if !scan::touches_shared(body) {
            // The body has nothing to order, but its accesses to global memory count.
            [Some(var), number].into_iter().flatten().for_each(|var| self.scope.read(var));
            self.body(body, &mut Vec::new());
            return self.scope.known.truncate(named);
        }
        let supposed = self.scope.supposed.len();
        self.suppose_length(start, end, body, var);
        let view = self.scope.in_run();
        let trips =
            view.uniform(start).zip(view.uniform(end)).map(|(first, last)| last.saturating_sub(first).max(0));
        let certain = self.scope.certain();
        let open = certain.uniform(start).is_none() || certain.uniform(end).is_none();
        if open {
            let bounds = self.sources(start.symbols().into_iter().chain(end.symbols()).collect());
            self.bounds.extend(bounds);
        }
        // No launch runs the loop more often than the facts allow.
        let (least, most) = self.facts.range(&(end.clone() - start.clone()));
        self.trace.skips |= open && least.is_none_or(|least| least <= 0);
        let (head, tail) = match (trips, most) {
            (None, Some(most)) => (self.followed(None, body, var).0.min(most.max(0)), 0..0),
            _ => self.followed(trips, body, var),
        };
        let depth = self.partial.len();
        if trips != Some(head) {
            self.partial.push(var.clone());
        }
        for round in (0..head).chain(tail) {
            self.scope.name(var, &(start.clone() + Expr::constant(round)));
            number.into_iter().for_each(|number| self.scope.read(number));
            self.body(body, out);
            self.scope.known.truncate(named);
        }
        self.partial.truncate(depth);
        self.scope.supposed.truncate(supposed);
        if open {
            self.leave(body, Some(var));
        }
    }

    /// Returns which rounds of a loop are followed: the number of rounds from its beginning and, for a longer loop, the
    /// range of its last rounds. The number of rounds left out in between is a multiple of the period, so that the last
    /// rounds find each stage in its real state.
    fn followed(&self, trips: Option<i64>, body: &[Stmt], var: &Symbol) -> (i64, Range<i64>) {
        let whole = if scan::begins_copies_only(body) { WHOLE_FILLING } else { WHOLE };
        if let Some(trips) = trips.filter(|trips| *trips <= whole) {
            return (trips, 0..0);
        }
        let (rounds, period) = self.rounds_of(body, Some(var));
        let Some(trips) = trips.filter(|trips| *trips > rounds) else {
            return (trips.unwrap_or(rounds), 0..0);
        };
        let left_out = (trips - 2 * rounds).max(0) / period * period;
        if trips - left_out > 2 * rounds + LONGEST {
            return (rounds, 0..0);
        }
        (rounds, rounds + left_out..trips)
    }

    /// Records the end of a loop whose trip count may differ between launches.
    fn leave(&mut self, body: &[Stmt], counter: Option<&Symbol>) {
        self.trace.closes_groups |= scan::closes_groups(body);
        for buffer in scan::buffers(body) {
            let period = scan::rounds(body, counter, Some(buffer)).period;
            let ended = self.ended.entry(buffer as usize).or_insert(1);
            *ended = scan::common(*ended, period);
        }
    }
}
