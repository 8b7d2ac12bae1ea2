//! Finds the hazards of a trace: pairs of accesses to one element, at least one of them a write, that nothing orders.

use hx_thread::{Clock, warp_of};
use hx_tile::{OpId, TensorId};

use crate::once::{Equation, Equations};
use crate::suppose::Run;
use crate::trace::{Access, Event, Trace};
use crate::{Hazard, Touch};

/// How to check a trace: as it is, or with a change that a caller wants to try.
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

/// Statements to insert before an operation: those selected of `commit()`, `wait(n)` and `sync()`, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mend {
    /// The operation.
    pub before: OpId,
    /// Insert `commit()`, which closes the open group of copies.
    pub commit: bool,
    /// Insert `wait(n)`, which waits until at most `n` groups are in flight.
    pub wait: Option<u32>,
    /// Insert `sync()`, a barrier of the block.
    pub barrier: bool,
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
    let mut found = Vec::new();
    for trace in traces {
        // A single condition that only a launch decides makes two paths, and each is followed to its end. With several
        // conditions it is unknown which of their outcomes occur together, so the branches are joined instead.
        let ways = match trace.conditions.as_slice() {
            [Some(_)] => [Some(true), Some(false)].as_slice(),
            _ => &[None],
        };
        for &assume in ways {
            found = follow(trace, Rules { assume, ..rules }, found, enough, poll);
            if enough(&found) {
                return found;
            }
        }
    }
    found
}

/// Follows one path through a trace and adds its hazards to those found before.
fn follow(
    trace: &Trace,
    rules: Rules<'_>,
    hazards: Vec<Found>,
    enough: &dyn Fn(&[Found]) -> bool,
    poll: &dyn Fn(),
) -> Vec<Found> {
    let units: Vec<i64> = trace.units.iter().map(|unit| (*unit).max(1)).collect();
    let count = |(size, unit): (&usize, &i64)| vec![Element::default(); size / *unit as usize];
    let mut state = State {
        elements: trace.sizes.iter().zip(&units).map(count).collect(),
        clock: Clock::default(),
        groups: vec![None],
    };
    let mut checker = Checker {
        rules,
        units,
        run: trace.run,
        equations: &trace.equations,
        enough,
        poll,
        done: false,
        hazards,
    };
    checker.events(&trace.events, &mut state);
    checker.hazards
}

/// An access of one thread to an element, with its time.
#[derive(Debug, Clone, Copy)]
struct Mark {
    op: OpId,
    thread: u32,
    time: u32,
    /// The group of an asynchronous copy; [`DONE`] for an access that completes at once.
    group: u32,
    collective: bool,
    write: bool,
    /// The equation without which the access does not happen.
    only: Option<Equation>,
}

const DONE: u32 = u32::MAX;

impl Mark {
    fn touch(self) -> Touch {
        Touch { op: self.op, thread: self.thread, collective: self.collective, write: self.write }
    }
}

/// The latest write to an element, and reads by up to two threads since that write and since the last barrier of the block.
#[derive(Debug, Clone, Copy, Default)]
struct Element {
    write: Option<Mark>,
    reads: [Option<Mark>; 2],
}

#[derive(Debug, Clone)]
struct State {
    /// For each buffer one entry per unit, not per element: every access covers a unit entirely or not at all.
    elements: Vec<Vec<Element>>,
    clock: Clock,
    /// For each group of copies the time at which a wait completed it; the last group is still open.
    groups: Vec<Option<u32>>,
}

impl State {
    fn wait(&mut self, groups: u32) {
        let closed = self.groups.len() - 1;
        let done = closed.saturating_sub(groups as usize);
        let now = self.clock.now();
        self.groups[..done].iter_mut().for_each(|group| *group = group.or(Some(now)));
    }

    fn mend(&mut self, mend: Mend) {
        if mend.commit {
            self.groups.push(None);
        }
        if let Some(groups) = mend.wait {
            self.wait(groups);
        }
        if mend.barrier {
            self.clock.barrier();
        }
    }

    /// Joins the states of two branches. The later access of either branch is kept; a group is complete only if both
    /// branches waited for it. If one branch passed more barriers than the other, only its accesses are kept; the simulator
    /// covers the rest.
    fn join(&mut self, mut other: State) {
        if other.clock > self.clock {
            std::mem::swap(self, &mut other);
        }
        if other.clock == self.clock {
            let elements = self.elements.iter_mut().flatten();
            for (mine, theirs) in elements.zip(other.elements.iter().flatten()) {
                mine.write = newer(mine.write, theirs.write);
                mine.reads = [newer(mine.reads[0], theirs.reads[0]), newer(mine.reads[1], theirs.reads[1])];
            }
        }
        for (mine, theirs) in self.groups.iter_mut().zip(&other.groups) {
            *mine = mine.zip(*theirs).map(|(a, b)| a.max(b));
        }
    }
}

fn newer(a: Option<Mark>, b: Option<Mark>) -> Option<Mark> {
    match (a, b) {
        (Some(a), Some(b)) if b.time > a.time => Some(b),
        (None, b) => b,
        (a, _) => a,
    }
}

struct Checker<'a> {
    rules: Rules<'a>,
    /// Elements per unit of each buffer.
    units: Vec<i64>,
    /// The assumptions of the trace.
    run: Option<Run>,
    equations: &'a Equations,
    enough: &'a dyn Fn(&[Found]) -> bool,
    poll: &'a dyn Fn(),
    /// `enough` has accepted the hazards: stop.
    done: bool,
    hazards: Vec<Found>,
}

impl Checker<'_> {
    fn events(&mut self, events: &[Event], state: &mut State) {
        for event in events {
            if self.done {
                return;
            }
            match event {
                Event::Begin(op) => {
                    if let Some(mend) = self.rules.mend.filter(|mend| mend.before == *op) {
                        state.mend(mend);
                    }
                }
                Event::Begun(op) if self.rules.commit == Some(*op) => state.groups.push(None),
                Event::Begun(_) => {}
                Event::Barrier(op) if !self.rules.without.contains(op) => state.clock.barrier(),
                Event::Barrier(_) => {}
                Event::WarpBarrier => state.clock.warp_barrier(),
                Event::Commit(op) if self.rules.commit_after == Some(*op) => {}
                Event::Commit(_) => state.groups.push(None),
                Event::Left(op) if self.rules.commit_after == Some(*op) => state.groups.push(None),
                Event::Left(_) => {}
                Event::Wait(op, groups) => match self.rules.wait_as {
                    Some((other, groups)) if other == *op => state.wait(groups),
                    _ => state.wait(*groups),
                },
                Event::Access(access) => self.access(access, state),
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
    }

    fn access(&mut self, access: &Access, state: &mut State) {
        (self.poll)();
        // An access at an unknown address proves no race. It counts only under `any_thread`, because a barrier may be needed
        // for it.
        if access.anywhere && !self.rules.any_thread {
            return;
        }
        let Access { buffer, op, collective, write, only, .. } = *access;
        let group = if access.asynchronous { state.groups.len() as u32 - 1 } else { DONE };
        let unit = self.units[buffer];
        for &(thread, first) in &access.threads {
            let here = Mark { op, thread, time: state.clock.now(), group, collective, write, only };
            for index in first.max(0) / unit..(first + access.len) / unit {
                let Some(element) = state.elements[buffer].get_mut(index as usize) else { break };
                // The recorded reads are later than the write, so every access is compared with the write as well.
                if let Some(earlier) = element.write {
                    self.compare(earlier, here, state.clock, &state.groups, (buffer, index * unit));
                }
                if write {
                    for earlier in element.reads.into_iter().flatten() {
                        self.compare(earlier, here, state.clock, &state.groups, (buffer, index * unit));
                    }
                    *element = Element { write: Some(here), reads: [None; 2] };
                } else {
                    remember_read(element, here, state.clock);
                }
            }
        }
    }

    #[inline]
    fn compare(
        &mut self,
        earlier: Mark,
        later: Mark,
        clock: Clock,
        groups: &[Option<u32>],
        place: (usize, i64),
    ) {
        // Fast path: most earlier accesses are already ordered by a barrier.
        if earlier.group == DONE && self.parts(clock, earlier.time, earlier, later) {
            return;
        }
        if let Some(in_flight) = self.unordered(earlier, later, clock, groups)
            && !self.equations.exclude(earlier.only, later.only)
        {
            self.report(place, earlier.touch(), later.touch(), in_flight);
        }
    }

    /// Returns `None` if the two accesses are ordered. Otherwise returns whether the earlier one is a copy still in flight.
    fn unordered(&self, earlier: Mark, later: Mark, clock: Clock, groups: &[Option<u32>]) -> Option<bool> {
        let done = match earlier.group {
            DONE => earlier.time,
            group => match groups.get(group as usize).copied().flatten() {
                Some(time) => time,
                None => return Some(true),
            },
        };
        let alone = !self.rules.any_thread
            && earlier.thread == later.thread
            && !earlier.collective
            && !later.collective;
        (!alone && !self.parts(clock, done, earlier, later)).then_some(false)
    }

    /// Reports whether a barrier that orders the two threads lies between `time` and now.
    fn parts(&self, clock: Clock, time: u32, earlier: Mark, later: Mark) -> bool {
        if self.rules.any_thread {
            clock.parts_blockwide(time)
        } else {
            clock.parts(time, earlier.thread, later.thread)
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

/// Keeps the reads of two threads, preferably of different warps, so that at least one kept read is by another thread than
/// the next write, whichever thread writes.
fn remember_read(element: &mut Element, here: Mark, clock: Clock) {
    let [Some(first), second] = element.reads else {
        element.reads = [Some(here), None];
        return;
    };
    let elsewhere = |mark: Mark| warp_of(mark.thread) != warp_of(first.thread);
    if clock.parts_blockwide(first.time) {
        element.reads = [Some(here), None];
    } else if elsewhere(here) {
        element.reads[1] = Some(here);
    } else if first.time < here.time {
        element.reads[0] = Some(here);
    } else if first.thread != here.thread && !first.collective && !second.is_some_and(elsewhere) {
        element.reads[1] = Some(here);
    }
}
