//! Compares the accesses of a trace: two to one element, one of them a write, need something between them.

use hx_tile::{OpId, TensorId};

use super::{
    Hazard, Touch,
    trace::{Access, Event, Trace},
};

/// A trace is checked as it is, or as it would be.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rules<'a> {
    /// These written barriers are not there.
    pub(super) without: &'a [OpId],
    /// A barrier stands before this operation.
    pub(super) barrier_before: Option<OpId>,
    /// Any thread may do any access, whatever the layouts say.
    pub(super) any_thread: bool,
}

/// A hazard whose tensor is still the number of a buffer.
pub(super) type Found = Hazard;

/// The hazards of a trace, at most one for each pair of operations and buffer, in the order in which they show.
pub(super) fn check(trace: &Trace, rules: Rules<'_>) -> Vec<Found> {
    let mut checker = Checker { rules, hazards: Vec::new() };
    let mut state = State {
        elements: trace.sizes.iter().map(|&size| vec![Element::default(); size]).collect(),
        epoch: 1,
        groups: vec![None],
    };
    checker.events(&trace.events, &mut state);
    checker.hazards
}

impl Hazard {
    /// The buffer's number replaced by the tensor that it holds.
    pub(super) fn named(mut self, tensors: &[TensorId]) -> Hazard {
        self.tensor = tensors.get(self.tensor.0 as usize).copied().unwrap_or(self.tensor);
        self
    }
}

/// An access with the number of barriers before it.
#[derive(Debug, Clone, Copy)]
struct Mark {
    touch: Touch,
    epoch: u32,
    /// The group of an asynchronous copy.
    group: Option<usize>,
}

/// The latest write, and two reads by different threads since the last barrier.
#[derive(Debug, Clone, Copy, Default)]
struct Element {
    write: Option<Mark>,
    reads: [Option<Mark>; 2],
}

#[derive(Debug, Clone)]
struct State {
    elements: Vec<Vec<Element>>,
    /// Barriers passed.
    epoch: u32,
    /// For each group of copies the epoch at which it was waited for; the last one is still open.
    groups: Vec<Option<u32>>,
}

impl State {
    /// After one of two ways: what either did is kept, and only what both waited for is done. Where one way passed more
    /// barriers than the other, it is taken to be the rule; the simulator sees the rest.
    fn join(&mut self, mut other: State) {
        if other.epoch > self.epoch {
            std::mem::swap(self, &mut other);
        }
        if other.epoch == self.epoch {
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
        (Some(a), Some(b)) if b.epoch > a.epoch => Some(b),
        (None, b) => b,
        (a, _) => a,
    }
}

struct Checker<'a> {
    rules: Rules<'a>,
    hazards: Vec<Found>,
}

impl Checker<'_> {
    fn events(&mut self, events: &[Event], state: &mut State) {
        for event in events {
            match event {
                Event::Begin(op) if self.rules.barrier_before == Some(*op) => state.epoch += 1,
                Event::Barrier(op) if !self.rules.without.contains(op) => state.epoch += 1,
                Event::Begin(_) | Event::Barrier(_) => {}
                Event::Commit => state.groups.push(None),
                Event::Wait(groups) => {
                    let closed = state.groups.len() - 1;
                    let done = closed.saturating_sub(*groups as usize);
                    let epoch = state.epoch;
                    state.groups[..done].iter_mut().for_each(|group| *group = group.or(Some(epoch)));
                }
                Event::Access(access) => self.access(access, state),
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
        let group = access.asynchronous.then(|| state.groups.len() - 1);
        let here = Mark { touch: access.touch, epoch: state.epoch, group };
        let range = access.first.max(0)..access.first + access.len;
        for index in range {
            let Some(element) = state.elements[access.buffer].get_mut(index as usize) else { break };
            let earlier = std::iter::once(element.write).chain(element.reads).flatten();
            for earlier in earlier.filter(|earlier| earlier.touch.write || here.touch.write) {
                if let Some(in_flight) = self.unordered(earlier, here, &state.groups) {
                    self.report(access.buffer, index, earlier.touch, here.touch, in_flight);
                }
            }
            if here.touch.write {
                *element = Element { write: Some(here), reads: [None; 2] };
            } else {
                remember_read(element, here);
            }
        }
    }

    /// Nothing if the two are ordered; else whether that is because the earlier one is still in flight.
    fn unordered(&self, earlier: Mark, later: Mark, groups: &[Option<u32>]) -> Option<bool> {
        let done = match earlier.group {
            None => earlier.epoch,
            Some(group) => match groups.get(group).copied().flatten() {
                Some(epoch) => epoch,
                None => return Some(true),
            },
        };
        let alone = !self.rules.any_thread
            && earlier.touch.thread == later.touch.thread
            && !earlier.touch.collective
            && !later.touch.collective;
        (!alone && done == later.epoch).then_some(false)
    }

    fn report(&mut self, buffer: usize, element: i64, earlier: Touch, later: Touch, in_flight: bool) {
        let tensor = TensorId(buffer as u32);
        let same = |known: &Found| {
            (known.tensor, known.earlier.op, known.later.op) == (tensor, earlier.op, later.op)
                && known.in_flight == in_flight
        };
        if !self.hazards.iter().any(same) {
            self.hazards.push(Hazard { tensor, element, earlier, later, in_flight, barrier_helps: false });
        }
    }
}

/// Keeps reads of two threads: whichever thread writes next, one of them is another.
fn remember_read(element: &mut Element, here: Mark) {
    let same = |known: &Mark| known.epoch == here.epoch;
    match element.reads {
        [Some(first), _]
            if same(&first) && first.touch.thread != here.touch.thread && !first.touch.collective =>
        {
            element.reads[1] = Some(here);
        }
        [Some(first), _] if same(&first) => {}
        _ => element.reads = [Some(here), None],
    }
}
