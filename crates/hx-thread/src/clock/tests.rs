//! Compares the clocks with threads that carry the set of everything that happened before them.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{AccessOrder, Clock, Epoch, Warps};
use crate::{Mark, Pair};

const WARPS: u32 = 4;
/// Lanes of a warp.
const WARP: u32 = 32;
const THREADS: u32 = WARPS * WARP;

/// A step of all threads of some warps, or of one thread.
#[derive(Clone, Copy, Debug)]
enum Step {
    Barrier(Warps),
    BarrierEach(Warps),
    Commit(Warps),
    Wait(Warps, u32),
    /// An access in which this many threads take part.
    Access(u32, u16),
    Copy(u32),
}

/// An access of the past: the clock's view, and the parts of the single threads.
struct Past {
    epoch: Epoch,
    /// For each thread that takes part, the number of its part.
    parts: Vec<(u32, usize)>,
}

/// Carries for each thread the set of all parts that happen before now.
struct Threads {
    known: Vec<BTreeSet<usize>>,
    /// The closed groups of each thread, then the open one.
    groups: Vec<Vec<BTreeSet<usize>>>,
    next: usize,
}

impl Threads {
    fn new() -> Threads {
        let count = THREADS as usize;
        Threads { known: vec![BTreeSet::new(); count], groups: vec![vec![BTreeSet::new()]; count], next: 0 }
    }

    fn join(&mut self, who: impl Fn(u32) -> bool) {
        let threads: Vec<u32> = (0..THREADS).filter(|thread| who(*thread)).collect();
        let all: BTreeSet<usize> =
            threads.iter().flat_map(|thread| self.known[*thread as usize].iter().copied()).collect();
        threads.iter().for_each(|thread| self.known[*thread as usize].clone_from(&all));
    }

    fn part(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    fn step(&mut self, step: Step) -> Vec<(u32, usize)> {
        let of = |who: Warps| move |thread: u32| who.iter().any(|warp| warp as u32 == thread / WARP);
        match step {
            Step::Barrier(who) => self.join(of(who)),
            Step::BarrierEach(who) => {
                who.iter().for_each(|warp| self.join(|thread| thread / WARP == warp as u32));
            }
            Step::Commit(who) => {
                let threads = (0..THREADS).filter(|thread| of(who)(*thread));
                threads.for_each(|thread| self.groups[thread as usize].push(BTreeSet::new()));
            }
            Step::Wait(who, left) => {
                for thread in (0..THREADS).filter(|thread| of(who)(*thread)) {
                    let groups = &self.groups[thread as usize];
                    let done = (groups.len() - 1).saturating_sub(left as usize);
                    self.known[thread as usize].extend(groups[..done].iter().flatten());
                }
            }
            Step::Access(thread, lanes) => {
                let lanes = u32::from(lanes);
                let first = thread / lanes * lanes;
                let mut part = |thread: u32| {
                    let part = self.part();
                    self.known[thread as usize].insert(part);
                    (thread, part)
                };
                return (first..first + lanes).map(&mut part).collect();
            }
            Step::Copy(thread) => {
                let part = self.part();
                let open = self.groups[thread as usize].last_mut();
                open.map(|open| open.insert(part));
                return vec![(thread, part)];
            }
        }
        Vec::new()
    }

    /// Returns the order of an earlier access relative to an access that the threads `later` make now.
    fn relation(&self, earlier: &Past, later: &[u32]) -> AccessOrder {
        let knows = |thread: u32, part: usize| self.known[thread as usize].contains(&part);
        let all = later.iter().all(|to| earlier.parts.iter().all(|(_, part)| knows(*to, *part)));
        let landed = earlier.parts.iter().all(|(thread, part)| knows(*thread, *part));
        match (all, landed) {
            (true, _) => AccessOrder::Before,
            (false, true) => AccessOrder::Apart,
            (false, false) => AccessOrder::InFlight,
        }
    }
}

/// Generates steps. With `any`, barriers join any warps; otherwise they join all warps or a single one.
fn steps(any: bool) -> impl Strategy<Value = Vec<Step>> {
    let some = if any { (1u64..1 << WARPS).boxed() } else { Just((1u64 << WARPS) - 1).boxed() };
    let warps = move || some.clone().prop_map(Warps::of);
    // Few threads make the same thread and the same warp come often.
    let thread = || (0..WARPS, 0..3u32).prop_map(|(warp, lane)| warp * WARP + lane * 5);
    let lanes = prop_oneof![4 => Just(1u16), 2 => Just(32), 1 => Just(64), 1 => Just(128)];
    let step = prop_oneof![
        2 => warps().prop_map(Step::Barrier),
        1 => warps().prop_map(Step::BarrierEach),
        1 => warps().prop_map(Step::Commit),
        2 => (warps(), 0..3u32).prop_map(|(who, left)| Step::Wait(who, left)),
        6 => (thread(), lanes).prop_map(|(thread, lanes)| Step::Access(thread, lanes)),
        2 => thread().prop_map(Step::Copy),
    ];
    prop::collection::vec(step, 0..40)
}

fn pass(clock: &mut Clock, step: Step) -> Option<Epoch> {
    match step {
        Step::Barrier(who) => clock.barrier(who),
        Step::BarrierEach(who) => clock.barrier_each(who),
        Step::Commit(who) => clock.commit(who),
        Step::Wait(who, left) => clock.wait(who, left),
        Step::Access(thread, lanes) => return Some(clock.access(thread, lanes)),
        Step::Copy(thread) => return Some(clock.copy(thread)),
    }
    None
}

/// Reports whether all warps of an access are in the same epoch: threads that execute an instruction together are.
fn in_step(clock: &Clock, step: Step) -> bool {
    let Step::Access(thread, lanes) = step else { return true };
    let epochs = clock.access(thread, lanes).warps().map(|warp| clock.now[warp]).collect::<BTreeSet<_>>();
    epochs.len() == 1
}

proptest! {
    #[test]
    fn the_clock_knows_what_happened_before(steps in steps(true)) {
        let (mut clock, mut threads, mut past) = (Clock::new(THREADS, WARP), Threads::new(), Vec::<Past>::new());
        for step in steps {
            if !in_step(&clock, step) {
                continue;
            }
            let later = pass(&mut clock, step);
            let parts = threads.step(step);
            if let Some(later) = later {
                let by: Vec<u32> = parts.iter().map(|(thread, _)| *thread).collect();
                for earlier in &past {
                    prop_assert_eq!(clock.relation(earlier.epoch, later), threads.relation(earlier, &by));
                }
                past.push(Past { epoch: later, parts });
            }
            let everyone: Vec<u32> = (0..THREADS).collect();
            for earlier in &past {
                let order = threads.relation(earlier, &everyone);
                // A single thread knows its own access before its warp does.
                prop_assert_eq!(clock.is_known_to_all(earlier.epoch), order == AccessOrder::Before);
                prop_assert_eq!(clock.is_in_flight(earlier.epoch), order == AccessOrder::InFlight);
            }
        }
    }

    #[test]
    fn a_pair_stands_for_all_accesses(steps in steps(false)) {
        let (mut clock, mut pair, mut all) = (Clock::new(THREADS, WARP), Pair::default(), Vec::<Epoch>::new());
        for step in steps {
            let Some(later) = pass(&mut clock, step).filter(|epoch| !epoch.is_copy()) else { continue };
            let apart = all.iter().any(|earlier| clock.relation(*earlier, later) != AccessOrder::Before);
            prop_assert_eq!(pair.meets(later, &clock).is_some(), apart);
            pair.remember(Mark { epoch: later, by: () }, &clock);
            all.push(later);
        }
    }
}
