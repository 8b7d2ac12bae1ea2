//! Compares the accesses of a trace: two to one element, one of them a write, need something between them.

use hx_thread::{Clock, warp_of};
use hx_tile::{OpId, TensorId};

use super::{
    Hazard, Touch,
    once::{Equation, Equations},
    suppose::Run,
    trace::{Access, Event, Trace},
};

/// A trace is checked as it is, or as it would be.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rules<'a> {
    /// These written barriers are not there.
    pub(super) without: &'a [OpId],
    /// Something stands before an operation that does not.
    pub(super) mend: Option<Mend>,
    /// This wait waits for all but so many groups.
    pub(super) wait_as: Option<(OpId, u32)>,
    /// A commit stands after this operation that does not.
    pub(super) commit: Option<OpId>,
    /// This commit stands behind the condition that it stands under.
    pub(super) commit_after: Option<OpId>,
    /// What the conditions are, if there is but one: [`Trace::conditions`].
    pub(super) assume: Option<bool>,
    /// Any thread may do any access, whatever the layouts say.
    pub(super) any_thread: bool,
}

/// Statements before an operation: `commit()`, `wait(n)`, `sync()`, those that are asked for, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mend {
    /// The operation.
    pub before: OpId,
    /// Close the group of copies that is open.
    pub commit: bool,
    /// Wait until at most so many groups are in flight.
    pub wait: Option<u32>,
    /// Wait for all threads.
    pub barrier: bool,
}

/// A hazard whose tensor is still the number of a buffer.
pub(super) type Found = Hazard;

/// The hazards of some traces of a kernel, at most one for each pair of operations and buffer, in the order in which they
/// show; those that were met when there are `enough`. Polls now and then.
pub(super) fn check(
    traces: &[Trace],
    rules: Rules<'_>,
    enough: &dyn Fn(&[Found]) -> bool,
    poll: &dyn Fn(),
) -> Vec<Found> {
    let mut found = Vec::new();
    for trace in traces {
        // With one condition there are two ways through the kernel, and each is followed to its end. Of several nobody knows
        // here which go together.
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

/// Adds what one way through a trace shows to what was found.
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

/// What one thread does to an element, and when.
#[derive(Debug, Clone, Copy)]
struct Mark {
    op: OpId,
    thread: u32,
    time: u32,
    /// The group of an asynchronous copy; [`DONE`] for what is done at once.
    group: u32,
    collective: bool,
    write: bool,
    /// What must be so for this to happen.
    only: Option<Equation>,
}

const DONE: u32 = u32::MAX;

impl Mark {
    fn touch(self) -> Touch {
        Touch { op: self.op, thread: self.thread, collective: self.collective, write: self.write }
    }
}

/// The latest write, and two reads by different threads since the last barrier of the block.
#[derive(Debug, Clone, Copy, Default)]
struct Element {
    write: Option<Mark>,
    reads: [Option<Mark>; 2],
}

#[derive(Debug, Clone)]
struct State {
    /// One for all elements of a unit of each buffer: every access touches all of them or none.
    elements: Vec<Vec<Element>>,
    clock: Clock,
    /// For each group of copies the time at which it was waited for; the last one is still open.
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

    /// After one of two ways: what either did is kept, and only what both waited for is done. Where one way passed more
    /// barriers than the other, it is taken to be the rule; the simulator sees the rest.
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
    /// Elements of a unit of each buffer.
    units: Vec<i64>,
    /// What the trace supposes.
    run: Option<Run>,
    equations: &'a Equations,
    enough: &'a dyn Fn(&[Found]) -> bool,
    poll: &'a dyn Fn(),
    /// There are enough.
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
        // Where nobody knows what is touched, nothing is known to race; but a barrier may well be there for it.
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
                // Reads come after the write.
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
        // What a barrier parts from here is by far the most.
        if earlier.group == DONE && self.parts(clock, earlier.time, earlier, later) {
            return;
        }
        if let Some(in_flight) = self.unordered(earlier, later, clock, groups)
            && !self.equations.exclude(earlier.only, later.only)
        {
            self.report(place, earlier.touch(), later.touch(), in_flight);
        }
    }

    /// Nothing if the two are ordered; else whether that is because the earlier one is still in flight.
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

    /// Whether a barrier stands between what was done at `time` and now.
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

/// Keeps reads of two threads, of two warps if there are two: whichever thread writes next, one of them is another.
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
