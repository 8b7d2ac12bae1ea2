//! Chooses the events of a state that must be followed, and leaves the rest for later states.
//!
//! A set of events is persistent if nothing that the other groups and copies can do before them matters to them, or they to it
//! (Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems", 1996). Following a persistent set of each
//! state leads to every last state and to every fault: an order that is left out differs from one that is followed by exchanges of
//! events which do not matter to each other.
//!
//! [`Ahead`] overestimates what the others can do. It holds the events of the set back, runs the other groups and copies on, and never
//! lets a counter fall. A wait ends if any count between the first and the last ends it.

use std::collections::BTreeSet;

use hx_tile::TensorId;

use super::super::script::{Script, Span, Step, StepKind, Team};
use super::memory::Writer;
use super::state::{Event, State, threads};
use super::table::{Slot, Table, has_passed, reached};

/// The most steps of other agents that [`Ahead`] runs while one set grows.
const MOST_STEPS: usize = 4_096;

/// The counts and the parts of shared memory that an event reads and changes.
#[derive(Clone, Debug, Default)]
struct Effect {
    counts: Vec<(Count, Change)>,
    spans: Vec<(usize, Span, Use)>,
}

/// A number that events read and change. Those of a ring are given by block, pipe and slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    Filled(usize, usize, u32),
    /// The acquires and copies of a phase that is not complete.
    Filling(usize, usize, u32),
    Given(usize, usize, u32),
    /// By block, turns and group.
    Turn(usize, usize, usize),
    /// The arrivals at a barrier of several groups, by block and barrier.
    Came(usize, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Read,
    /// Sums do not depend on their order.
    Add,
    Set,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Use {
    Read,
    /// The order of two writes does not matter if their writers and their spans are equal: each group writes its own share of the
    /// tile. `None` for a copy, whose order with any overlapping access matters.
    Write(Option<Writer>),
    /// Atomic accesses of a flag do not race.
    Atomic,
}

/// The effects of all steps, by agent and step.
pub(super) struct Effects(Vec<Vec<Effect>>);

impl Effects {
    pub(super) fn new(table: &Table<'_>) -> Effects {
        let effects = |(agent, script): (usize, &Script)| {
            let steps = script.steps.iter().zip(&table.turns[agent]);
            steps.map(|(step, turn)| Effect::of_step(table, agent, step, *turn)).collect()
        };
        Effects(table.scripts.iter().enumerate().map(effects).collect())
    }

    /// Returns the smallest persistent set of events of a state that is found. `events` are all events that can come next.
    pub(super) fn persistent(&self, state: &State, table: &Table<'_>, events: &[Event]) -> Vec<Event> {
        let mut best = events.to_vec();
        for event in events {
            let Some(set) = self.grown(state, table, events, *event) else { continue };
            if set.len() < best.len() {
                best = set;
            }
            if best.len() == 1 {
                break;
            }
        }
        best
    }

    /// Grows an event to a persistent set: adds the events that must be held back with it. Returns `None` if one of them cannot
    /// come next in this state, or if the search for them ends early.
    fn grown(&self, state: &State, table: &Table<'_>, events: &[Event], first: Event) -> Option<Vec<Event>> {
        let mut set = vec![first];
        loop {
            let held: Vec<(Event, Effect)> =
                set.iter().map(|event| (*event, self.of_event(state, table, *event))).collect();
            if let [(Event::Step(_), effect)] = held.as_slice()
                && effect.is_nothing()
            {
                return Some(set);
            }
            match Ahead::new(state, table, self).run(&held) {
                Ok(()) => return Some(set),
                Err(Some(meets)) if events.contains(&meets) && !set.contains(&meets) => set.push(meets),
                Err(_) => return None,
            }
            if set.len() == events.len() {
                return None;
            }
        }
    }

    /// Returns the effect of an event of a state, together with the effects of the operations that it completes.
    fn of_event(&self, state: &State, table: &Table<'_>, event: Event) -> Effect {
        let completes = |block: usize, span: &Span, writes: bool| {
            (block, span.clone(), if writes { Use::Write(None) } else { Use::Read })
        };
        match event {
            Event::Step(agent) => {
                let at = state.agents[agent].at;
                let mut effect = self.0[agent][at].clone();
                let ends = |step: &Step| {
                    let kind = &step.kind;
                    matches!(kind, StepKind::WaitCopies(_) | StepKind::Touch { .. })
                        || matches!(kind, StepKind::WaitProducts(_) | StepKind::WaitStores { .. })
                };
                if table.step(agent, at).is_some_and(ends) {
                    for flying in &state.agents[agent].flying {
                        let spans = flying.spans.iter();
                        effect.spans.extend(spans.map(|s| completes(flying.block, s, flying.writes())));
                    }
                }
                effect
            }
            Event::Arrive { block, pipe, slot } => {
                let mut effect = Effect::default();
                effect.counts.push((Count::Filled(block, pipe, slot), Change::Set));
                effect.counts.push((Count::Filling(block, pipe, slot), Change::Set));
                let here = state.fills.iter().filter(|(b, p, s, _)| (*b, *p, *s) == (block, pipe, slot));
                for (.., flying) in here {
                    effect.spans.extend(flying.spans.iter().map(|span| completes(block, span, true)));
                }
                effect
            }
        }
    }
}

impl Effect {
    fn of_step(table: &Table<'_>, agent: usize, step: &Step, turn: u32) -> Effect {
        let block = table.block(agent);
        let mut effect = Effect::default();
        match &step.kind {
            StepKind::Acquire { pipe, n } => {
                let (pipe, slot) = (*pipe as usize, n % table.ring(block, *pipe as usize).stages);
                effect.counts.push((Count::Given(block, pipe, slot), Change::Read));
                effect.counts.push((Count::Filling(block, pipe, slot), Change::Add));
            }
            StepKind::Wait { pipe, n } => {
                let (pipe, slot) = (*pipe as usize, n % table.ring(block, *pipe as usize).stages);
                effect.counts.push((Count::Filled(block, pipe, slot), Change::Read));
            }
            StepKind::Release { pipe, n } => {
                let ring = table.ring(block, *pipe as usize);
                let told = ring.told.iter();
                let slot = n % ring.stages;
                effect.counts.extend(told.map(|b| (Count::Given(*b, *pipe as usize, slot), Change::Add)));
            }
            StepKind::Publish { pipe, n } => {
                let (pipe, slot) = (*pipe as usize, n % table.ring(block, *pipe as usize).stages);
                effect.counts.push((Count::Filling(block, pipe, slot), Change::Add));
            }
            StepKind::Fill { pipe, n, into, multicast, .. } => {
                let axes = multicast.iter().map(|cast| cast.axis).collect();
                for other in reached(table.scripts, block, &axes) {
                    let slot = n % table.ring(other, *pipe as usize).stages;
                    effect.counts.push((Count::Filling(other, *pipe as usize, slot), Change::Add));
                    effect.spans.extend(into.iter().map(|into| (other, into.clone(), Use::Write(None))));
                }
            }
            StepKind::Copy(into) => effect.spans.push((block, into.clone(), Use::Write(None))),
            StepKind::Access { span, write } => {
                let writer = threads(step, table.scripts[agent].group, turn).whole();
                let kind = if *write { Use::Write(Some(writer)) } else { Use::Read };
                effect.spans.push((block, span.clone(), kind));
            }
            StepKind::Atomic { span, .. } => effect.spans.push((block, span.clone(), Use::Atomic)),
            StepKind::Multiply { shared, .. } => {
                effect.spans.extend(shared.iter().map(|span| (block, span.clone(), Use::Read)));
            }
            StepKind::Store { from, .. } => {
                effect.spans.extend(from.iter().map(|span| (block, span.clone(), Use::Read)));
            }
            StepKind::Take(turns) => {
                let group = table.scripts[agent].group as usize;
                effect.counts.push((Count::Turn(block, *turns as usize, group), Change::Read));
            }
            StepKind::Pass(turns) => {
                let count = Count::Turn(block, *turns as usize, table.next_group(agent));
                effect.counts.push((count, Change::Add));
            }
            StepKind::Come { barrier, .. } => {
                effect.counts.push((Count::Came(block, *barrier as usize), Change::Add));
            }
            StepKind::AwaitAll { barrier, .. } => {
                effect.counts.push((Count::Came(block, *barrier as usize), Change::Read));
            }
            // A flag that is raised stays so. Agents come to a barrier in any order.
            StepKind::AwaitFlag { .. } | StepKind::Sync | StepKind::Meet { .. } | StepKind::SyncCluster => {}
            // `of_event` adds the operations that the state has in flight and that the step completes.
            StepKind::Commit
            | StepKind::WaitCopies(_)
            | StepKind::Touch { .. }
            | StepKind::WaitProducts(_)
            | StepKind::WaitStores { .. }
            | StepKind::Far { .. } => {}
        }
        effect
    }

    fn is_nothing(&self) -> bool {
        self.counts.is_empty() && self.spans.is_empty()
    }

    /// Reports whether the order of two events matters.
    fn matters_to(&self, other: &Effect) -> bool {
        let count = |(count, change): &(Count, Change)| {
            let differ = |(of, by): &(Count, Change)| {
                of == count && (*by == Change::Set || *change == Change::Set || by != change)
            };
            other.counts.iter().any(differ)
        };
        let span = |(block, span, by): &(usize, Span, Use)| {
            let meets = |(of, there, kind): &(usize, Span, Use)| {
                let agrees = match (by, kind) {
                    (Use::Read, Use::Read) | (Use::Atomic, Use::Atomic) => true,
                    (Use::Write(Some(one)), Use::Write(Some(other))) => one == other && span == there,
                    _ => false,
                };
                of == block && !agrees && there.overlaps(span)
            };
            other.spans.iter().any(meets)
        };
        self.counts.iter().any(count) || self.spans.iter().any(span)
    }
}

/// Runs the other groups and copies on while some events are held back.
struct Ahead<'a> {
    state: &'a State,
    table: &'a Table<'a>,
    effects: &'a Effects,
    at: Vec<usize>,
    arrived: Vec<bool>,
    taken: Vec<Vec<u32>>,
    slots: Vec<Vec<Vec<Slot>>>,
    passed: Vec<Vec<Vec<u32>>>,
    came: Vec<Vec<u32>>,
    raised: BTreeSet<(usize, TensorId, Team)>,
    left: usize,
}

impl<'a> Ahead<'a> {
    fn new(state: &'a State, table: &'a Table<'a>, effects: &'a Effects) -> Ahead<'a> {
        Ahead {
            state,
            table,
            effects,
            at: state.agents.iter().map(|agent| agent.at).collect(),
            arrived: state.agents.iter().map(|agent| agent.arrived).collect(),
            taken: state.agents.iter().map(|agent| agent.taken.clone()).collect(),
            slots: state.slots.clone(),
            passed: state.passed.clone(),
            came: state.came.clone(),
            raised: state.raised.clone(),
            left: MOST_STEPS,
        }
    }

    /// Runs the other agents on, as far as no event depends on one held back.
    ///
    /// # Errors
    /// The first event found, a step or an arrival, that depends on an event held back; `None` if the search ends before it
    /// finds one, or if all agents of a block have ended while an arrival there is held back.
    fn run(&mut self, held: &[(Event, Effect)]) -> Result<(), Option<Event>> {
        let matters = |effect: &Effect| held.iter().any(|(_, other)| other.matters_to(effect));
        let is_held = |event: Event| held.iter().any(|(other, _)| *other == event);
        let mut goes_on = true;
        while goes_on {
            goes_on = false;
            for agent in 0..self.at.len() {
                if is_held(Event::Step(agent)) {
                    continue;
                }
                while self.may(agent) {
                    if matters(&self.effects.0[agent][self.at[agent]]) {
                        return Err(Some(Event::Step(agent)));
                    }
                    self.left = self.left.checked_sub(1).ok_or(None)?;
                    self.step(agent);
                    goes_on = true;
                }
            }
            goes_on |= self.arrive(held)?;
            self.ends(held)?;
        }
        Ok(())
    }

    /// Fails with `None` if all agents of a block have ended while an arrival in the block is held back. A copy that arrives
    /// after the last step of its block is a fault, so the last step matters to an arrival.
    fn ends(&self, held: &[(Event, Effect)]) -> Result<(), Option<Event>> {
        for (event, _) in held {
            let Event::Arrive { block, .. } = event else { continue };
            let mut agents = (0..self.at.len()).filter(|agent| self.table.block(*agent) == *block);
            if agents.all(|agent| self.table.step(agent, self.at[agent]).is_none()) {
                return Err(None);
            }
        }
        Ok(())
    }

    /// Lets copies arrive that are not held back. Reports whether one did.
    ///
    /// # Errors
    /// The first arrival that depends on an event held back.
    fn arrive(&mut self, held: &[(Event, Effect)]) -> Result<bool, Option<Event>> {
        let mut did = false;
        for (block, rings) in self.slots.iter_mut().enumerate() {
            for (pipe, slots) in rings.iter_mut().enumerate() {
                for (slot, state) in (0u32..).zip(slots) {
                    let event = Event::Arrive { block, pipe, slot };
                    if held.iter().any(|(other, _)| *other == event) {
                        continue;
                    }
                    let ring = self.table.ring(block, pipe);
                    while let Some(armed) = ring.arrives(slot, state) {
                        let counts = [Count::Filled(block, pipe, slot), Count::Filling(block, pipe, slot)];
                        let counts = counts.map(|count| (count, Change::Set)).to_vec();
                        let effect = Effect { counts, spans: Vec::new() };
                        if held.iter().any(|(_, other)| other.matters_to(&effect)) {
                            return Err(Some(event));
                        }
                        // The copies of later phases are counted with those of this one.
                        state.filled += 1;
                        state.armed -= armed;
                        did = true;
                    }
                }
            }
        }
        Ok(did)
    }

    fn may(&self, agent: usize) -> bool {
        let Some(step) = self.table.step(agent, self.at[agent]) else { return false };
        let block = self.table.block(agent);
        let on_the_way = |now: u32, most: u32, phase: u32| most > now || has_passed(now, phase);
        match &step.kind {
            StepKind::Acquire { pipe, n } => {
                let ring = self.table.ring(block, *pipe as usize);
                let Some(phase) = (n / ring.stages).checked_sub(1) else { return true };
                let slot = (n % ring.stages) as usize;
                let complete = |slots: &[Vec<Vec<Slot>>]| {
                    slots[block][*pipe as usize][slot].given / ring.releases.max(1)
                };
                on_the_way(complete(&self.state.slots), complete(&self.slots), phase)
            }
            StepKind::Wait { pipe, n } => {
                let stages = self.table.ring(block, *pipe as usize).stages;
                let filled =
                    |slots: &[Vec<Vec<Slot>>]| slots[block][*pipe as usize][(n % stages) as usize].filled;
                on_the_way(filled(&self.state.slots), filled(&self.slots), n / stages)
            }
            StepKind::Take(turns) => {
                let (turns, group) = (*turns as usize, self.table.scripts[agent].group as usize);
                let (now, most) = (self.state.passed[block][turns][group], self.passed[block][turns][group]);
                on_the_way(now, most, self.taken[agent][turns])
            }
            StepKind::AwaitAll { barrier, n } => {
                self.came[block][*barrier as usize] >= self.table.comings(*barrier, n + 1)
            }
            StepKind::AwaitFlag { tensor } => State::is_raised(&self.raised, block, *tensor, step.team),
            StepKind::Sync | StepKind::Meet { .. } | StepKind::SyncCluster => !self.arrived[agent],
            _ => true,
        }
    }

    fn step(&mut self, agent: usize) {
        let table = self.table;
        let Some(step) = table.step(agent, self.at[agent]) else { return };
        let block = table.block(agent);
        match &step.kind {
            StepKind::Sync | StepKind::Meet { .. } | StepKind::SyncCluster => {
                self.arrived[agent] = true;
                let members = table.members(agent, step);
                let arrived =
                    |other: &usize| self.arrived[*other] && table.meets(step, *other, self.at[*other]);
                if members.iter().all(arrived) {
                    for member in members {
                        self.arrived[member] = false;
                        self.at[member] += 1;
                    }
                }
                return;
            }
            StepKind::Acquire { pipe, n } => {
                let slot = n % table.ring(block, *pipe as usize).stages;
                self.slots[block][*pipe as usize][slot as usize].armed += 1;
            }
            StepKind::Release { pipe, n } => {
                let ring = table.ring(block, *pipe as usize);
                for other in &ring.told {
                    self.slots[*other][*pipe as usize][(n % ring.stages) as usize].given += 1;
                }
            }
            StepKind::Publish { pipe, n } => {
                let slot = n % table.ring(block, *pipe as usize).stages;
                self.slots[block][*pipe as usize][slot as usize].issued += 1;
            }
            StepKind::Fill { pipe, n, multicast, .. } => {
                let axes = multicast.iter().map(|cast| cast.axis).collect();
                for other in reached(table.scripts, block, &axes) {
                    let slot = n % table.ring(other, *pipe as usize).stages;
                    self.slots[other][*pipe as usize][slot as usize].issued += 1;
                }
            }
            StepKind::Atomic { span, writes: true, .. } => {
                _ = self.raised.insert((block, span.tensor, step.team))
            }
            StepKind::Take(turns) => self.taken[agent][*turns as usize] += 1,
            StepKind::Pass(turns) => self.passed[block][*turns as usize][table.next_group(agent)] += 1,
            StepKind::Come { barrier, .. } => self.came[block][*barrier as usize] += 1,
            _ => {}
        }
        self.at[agent] += 1;
    }
}
