//! Finds the hazards of a trace: pairs of accesses to one element, at least one of them a write, that nothing orders.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hx_thread::{AccessOrder, Arrivals, Clock, Knowledge, Mark, Pair, Warps};
use hx_tile::{Completion, OpId, TensorId};

use crate::event::{Access, Event};
use crate::once::{Equation, Equations};
use crate::suppose::Run;
use crate::trace::Trace;
use crate::{Barrier, Hazard, Mend, Touch};

/// The rules for checking a trace: the program unchanged, or with a change that a caller tries. A field that is `None` changes
/// nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rules<'a> {
    /// Barriers of the source to ignore.
    pub(crate) without: &'a [OpId],
    /// Statements to insert before an operation.
    pub(crate) mend: Option<Mend>,
    /// Replaces the number of groups that this wait leaves in flight.
    pub(crate) wait_as: Option<(OpId, u32)>,
    /// Inserts a commit after the copies of this operation.
    pub(crate) commit: Option<OpId>,
    /// Moves this commit behind the `if` that contains it.
    pub(crate) commit_after: Option<OpId>,
    /// The truth of the trace's only condition, if it has exactly one: [`Trace::conditions`].
    pub(crate) assume: Option<bool>,
    /// Treats every access as if any thread could make it, whatever the layouts say. Only barriers of the whole block order
    /// then.
    pub(crate) any_thread: bool,
}

/// A hazard whose `tensor` still holds the number of a buffer.
pub(crate) type Found = Hazard;

/// Returns the hazards of the traces in the order in which they are found, at most one for each pair of operations, buffer and
/// `in_flight`. Stops as soon as `enough` accepts the hazards found so far. Calls `poll` at every access.
pub(crate) fn check(
    traces: &[Trace],
    rules: Rules<'_>,
    enough: &dyn Fn(&[Found]) -> bool,
    poll: &dyn Fn(),
) -> Vec<Found> {
    check_all(traces, rules, enough, poll).0
}

/// Returns the hazards of the traces, and the barriers of the source of which each alone orders two accesses of different threads.
pub(crate) fn check_all(
    traces: &[Trace],
    rules: Rules<'_>,
    enough: &dyn Fn(&[Found]) -> bool,
    poll: &dyn Fn(),
) -> (Vec<Found>, BTreeSet<OpId>) {
    let (mut found, mut ordered) = (Vec::new(), BTreeSet::new());
    for (at, trace) in traces.iter().enumerate() {
        // Two traces with different assumptions often have the same events, and then the same hazards.
        if traces[..at].iter().any(|earlier| earlier.is_like(trace)) {
            continue;
        }
        // A single condition that only a launch decides makes two paths, and each is followed to its end. With several
        // conditions it is unknown which of their outcomes occur together, so the branches are joined instead.
        let ways = match trace.conditions.as_slice() {
            [Some(_)] => [Some(true), Some(false)].as_slice(),
            _ => &[None],
        };
        for &assume in ways {
            let followed = follow(trace, Rules { assume, ..rules }, found, enough, poll);
            found = followed.0;
            ordered.extend(followed.1);
            if enough(&found) {
                return (found, ordered);
            }
        }
    }
    (found, ordered)
}

/// Follows one path through a trace and adds its hazards to those found before.
fn follow(
    trace: &Trace,
    rules: Rules<'_>,
    hazards: Vec<Found>,
    enough: &dyn Fn(&[Found]) -> bool,
    poll: &dyn Fn(),
) -> (Vec<Found>, BTreeSet<OpId>) {
    let units: Vec<i64> = trace.units.iter().map(|unit| (*unit).max(1)).collect();
    let count = |(size, unit): (&usize, &i64)| vec![Element::default(); size / *unit as usize];
    let mut state = State {
        elements: trace.sizes.iter().zip(&units).map(count).collect(),
        products: Products::default(),
        clock: Clock::new(trace.threads, trace.lanes),
        told: BTreeMap::new(),
    };
    let mut checker = Checker {
        rules,
        who: Warps::of_threads(trace.threads, trace.lanes),
        units,
        run: trace.run,
        equations: &trace.equations,
        enough,
        poll,
        done: false,
        hazards,
        last: None,
        awaited: None,
        ordered: BTreeSet::new(),
        noted: None,
    };
    checker.events(&trace.events, &mut state);
    (checker.hazards, checker.ordered)
}

/// The properties of an access besides its thread and epoch.
#[derive(Debug, Clone, Copy)]
struct By {
    op: OpId,
    write: bool,
    /// The number of barriers passed before the access.
    passed: u32,
    /// The equation without which the access does not happen; `None` if none is known.
    only: Option<Equation>,
}

fn touch(mark: Mark<By>) -> Touch {
    let Mark { epoch, by: By { op, write, .. } } = mark;
    Touch { op, thread: epoch.thread, collective: epoch.is_collective(), write }
}

/// The latest write to an element, and the reads and atomic accesses since.
#[derive(Debug, Clone, Copy, Default)]
struct Element {
    write: Option<Mark<By>>,
    reads: Pair<By>,
    atomics: Pair<By>,
}

#[derive(Debug, Clone)]
struct State {
    /// For each buffer one entry per unit, not per element: every access covers a unit entirely or not at all.
    elements: Vec<Vec<Element>>,
    products: Products,
    clock: Clock,
    /// For each stage of each barrier in memory, the knowledge of the threads that have arrived so far. All threads run the same
    /// statements, so a wait for a stage comes after the arrivals of its phase.
    told: BTreeMap<(u32, i64), Knowledge>,
}

/// The reads of asynchronous products that no wait has covered.
#[derive(Debug, Clone, Default)]
struct Products {
    open: Vec<Access>,
    /// The oldest group first.
    closed: VecDeque<Vec<Access>>,
}

impl State {
    /// Joins the states of two branches. Of two accesses to an element the one after more barriers is kept, and after equally
    /// many that of the first branch. If one branch passed more barriers than the other, barriers of warps included, only its
    /// accesses are kept. The simulator covers the rest.
    fn join(&mut self, mut other: State) {
        if other.clock.compare(&self.clock).is_gt() {
            std::mem::swap(self, &mut other);
        }
        if other.clock.compare(&self.clock).is_eq() {
            let elements = self.elements.iter_mut().flatten();
            for (mine, theirs) in elements.zip(other.elements.iter().flatten()) {
                mine.write = newer(mine.write, theirs.write);
                mine.reads = mine.reads.zip(theirs.reads, newer);
                mine.atomics = mine.atomics.zip(theirs.atomics, newer);
            }
        }
        self.clock.meet(&other.clock);
        // Keep the products of the branch that has more groups in flight. The simulator covers the other one.
        if other.products.closed.len() > self.products.closed.len() {
            self.products = other.products;
        }
    }
}

fn newer(a: Option<Mark<By>>, b: Option<Mark<By>>) -> Option<Mark<By>> {
    match (a, b) {
        (Some(a), Some(b)) if b.by.passed > a.by.passed => Some(b),
        (None, b) => b,
        (a, _) => a,
    }
}

struct Checker<'a> {
    rules: Rules<'a>,
    /// The warps that run the events which synchronize.
    who: Warps,
    /// Elements per unit of each buffer.
    units: Vec<i64>,
    /// The assumptions of the trace; `None` if it holds for every launch.
    run: Option<Run>,
    equations: &'a Equations,
    enough: &'a dyn Fn(&[Found]) -> bool,
    poll: &'a dyn Fn(),
    /// `enough` has accepted the hazards: stop.
    done: bool,
    hazards: Vec<Found>,
    /// The last barrier that all threads passed, with the number of those passed by then; `None` before the first.
    last: Option<(OpId, u32)>,
    /// The number of barriers passed at the last wait for a barrier in memory, which orders accesses, too; `None` before the
    /// first.
    awaited: Option<u32>,
    ordered: BTreeSet<OpId>,
    /// The barrier that was recorded last; `None` before the first. Most elements of a tile have the same barrier, so this
    /// skips repeated insertions.
    noted: Option<OpId>,
}

impl Checker<'_> {
    fn events(&mut self, events: &[Event], state: &mut State) {
        for event in events {
            if self.done {
                return;
            }
            self.event(event, state);
        }
    }

    fn event(&mut self, event: &Event, state: &mut State) {
        let clock = &mut state.clock;
        match event {
            Event::Begin(op) => {
                if let Some(mend) = self.rules.mend.filter(|mend| mend.before == *op) {
                    self.mend(mend, clock);
                }
            }
            Event::Begun(op) if self.rules.commit == Some(*op) => clock.commit(self.who),
            Event::Begun(_) => {}
            Event::Barrier(op) if !self.rules.without.contains(op) => {
                clock.barrier(self.who);
                self.last = Some((*op, clock.passed()));
            }
            Event::Barrier(_) => {}
            // If any thread may make an access, the barrier of a warp orders nothing.
            Event::WarpBarrier if self.rules.any_thread => {}
            Event::WarpBarrier => clock.barrier_each(self.who),
            Event::Commit(op) if self.rules.commit_after == Some(*op) => {}
            Event::Commit(_) => clock.commit(self.who),
            Event::Left(op) if self.rules.commit_after == Some(*op) => clock.commit(self.who),
            Event::Left(_) => {}
            Event::Wait(op, groups) => match self.rules.wait_as {
                Some((other, groups)) if other == *op => clock.wait(self.who, groups),
                _ => clock.wait(self.who, *groups),
            },
            Event::Await(barrier, stage) => {
                self.awaited = Some(clock.passed());
                if let Some(known) = state.told.get(&(*barrier, *stage)) {
                    clock.acquire(self.who, known);
                }
            }
            Event::Arrive(barrier, stage, by) => self.arrive((*barrier, *stage), *by, state),
            Event::Access(access) => self.access(access, state),
            // An asynchronous product reads its operands at any time between its issue and its wait. It is ordered after accesses that
            // precede the issue, and before accesses that follow the wait.
            Event::Product(access) => {
                self.access(access, state);
                state.products.open.push(access.clone());
            }
            Event::CommitProducts => {
                let open = std::mem::take(&mut state.products.open);
                state.products.closed.push_back(open);
            }
            Event::WaitProducts(leave) => self.wait_products(*leave, state),
            Event::Only(warps, events) => {
                let outer = std::mem::replace(&mut self.who, *warps);
                self.events(events, state);
                self.who = outer;
            }
            Event::Either(then, otherwise) if self.rules.assume.is_some() => {
                let way = if self.rules.assume == Some(true) { then } else { otherwise };
                self.events(way, state);
            }
            Event::Either(then, otherwise) => {
                let mut other = state.clone();
                self.events(then, state);
                self.events(otherwise, &mut other);
                state.join(other);
            }
        }
    }

    fn arrive(&self, stage: (u32, i64), by: Arrivals, state: &mut State) {
        let known = match by {
            Arrivals::Copies => state.clock.signal_arrivals(self.who),
            Arrivals::Warps | Arrivals::Groups => state.clock.release(self.who),
        };
        state.told.entry(stage).or_default().join(&known);
    }

    fn mend(&self, mend: Mend, clock: &mut Clock) {
        if mend.commit {
            clock.commit(self.who);
        }
        if let Some(groups) = mend.wait {
            clock.wait(self.who, groups);
        }
        match mend.barrier {
            Some(Barrier::Block) => clock.barrier(self.who),
            Some(Barrier::Warp) => clock.barrier_each(self.who),
            None => {}
        }
    }

    fn access(&mut self, access: &Access, state: &mut State) {
        (self.poll)();
        // An access at an unknown address proves no race. It counts only under `any_thread`, because a barrier may be needed
        // for it.
        if access.anywhere && !self.rules.any_thread {
            return;
        }
        let Access { buffer, op, lanes, write, atomic, completion, only, .. } = *access;
        let (unit, clock) = (self.units[buffer], &state.clock);
        let by = By { op, write, passed: clock.passed(), only };
        for &(thread, first) in access.threads.iter() {
            let epoch = match completion {
                Completion::Barrier => clock.signal(thread),
                Completion::Group => clock.copy(thread),
                Completion::AtOnce | Completion::Product | Completion::Store | Completion::StoreRead => {
                    clock.access(thread, lanes)
                }
            };
            let here = Mark { epoch, by };
            for index in first.max(0) / unit..(first + access.len) / unit {
                let Some(element) = state.elements[buffer].get_mut(index as usize) else { break };
                // The recorded reads are later than the write, so every access is compared with the write as well.
                if let Some(earlier) = element.write {
                    self.compare(earlier, here, clock, (buffer, index * unit));
                }
                let reads = element.reads.iter().filter(|_| write);
                let atomics = element.atomics.iter().filter(|_| !atomic);
                for earlier in reads.chain(atomics) {
                    self.compare(earlier, here, clock, (buffer, index * unit));
                }
                if atomic {
                    element.atomics.remember(here, clock);
                } else if write {
                    *element = Element { write: Some(here), ..Element::default() };
                } else {
                    element.reads.remember(here, clock);
                }
            }
        }
    }

    /// Completes the oldest groups of products until at most `leave` are in flight. Their reads happened at the latest now.
    fn wait_products(&mut self, leave: u32, state: &mut State) {
        while state.products.closed.len() > leave as usize {
            let Some(group) = state.products.closed.pop_front() else { return };
            group.iter().for_each(|access| self.access(access, state));
        }
    }

    #[inline]
    fn compare(&mut self, earlier: Mark<By>, later: Mark<By>, clock: &Clock, place: (usize, i64)) {
        let relation = match self.rules.any_thread {
            true if clock.is_known_to_all(earlier.epoch) => AccessOrder::Before,
            true if clock.is_in_flight(earlier.epoch) => AccessOrder::InFlight,
            true => AccessOrder::Apart,
            false => clock.relation(earlier.epoch, later.epoch),
        };
        if relation == AccessOrder::Before {
            self.note(earlier, later);
        } else if !self.equations.exclude(earlier.by.only, later.by.only) {
            self.report(place, touch(earlier), touch(later), relation == AccessOrder::InFlight);
        }
    }

    /// Records the barrier between two accesses of different threads if it is the only one.
    #[inline]
    fn note(&mut self, earlier: Mark<By>, later: Mark<By>) {
        let Some((barrier, passed)) = self.last else { return };
        if later.by.passed != passed || earlier.by.passed + 1 != passed || self.noted == Some(barrier) {
            return;
        }
        let apart = earlier.epoch.thread != later.epoch.thread;
        let is_alone = self.awaited.is_none_or(|awaited| awaited < earlier.by.passed);
        if apart && is_alone && !self.equations.exclude(earlier.by.only, later.by.only) {
            self.noted = Some(barrier);
            self.ordered.insert(barrier);
        }
    }

    fn report(&mut self, (buffer, element): (usize, i64), earlier: Touch, later: Touch, in_flight: bool) {
        let tensor = TensorId(buffer as u32);
        let same = |known: &Found| {
            (known.tensor, known.earlier.op, known.later.op) == (tensor, earlier.op, later.op)
                && known.in_flight == in_flight
        };
        if !self.hazards.iter().any(same) {
            self.hazards.push(Hazard {
                tensor,
                element,
                earlier,
                later,
                in_flight,
                run: self.run,
                remedy: None,
                others: Vec::new(),
            });
            self.done |= (self.enough)(&self.hazards);
        }
    }
}
