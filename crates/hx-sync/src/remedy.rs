//! Searches for changes that order the accesses of hazards. Each change is tried on the traces before it is offered.

use std::collections::BTreeSet;

use hx_tile::{
    Access, Base, Control, Leaf, Mode, Op, OpId, OpKind, Order, Stmt, SyncOp, TensorId, TileProgram,
};

use crate::check::{Rules, check};
use crate::event::Event;
use crate::trace::Trace;
use crate::{Barrier, Hazard, Mend, Remedy};

/// A wait that a remedy inserts leaves fewer than this many groups of copies in flight.
const IN_FLIGHT: u32 = 4;

/// Adds to each hazard the remedy that removes it. Other hazards that the same remedy removes become its `others`: most
/// often one missing operation makes many accesses race.
pub(crate) fn remedied(
    tile: &TileProgram,
    traces: &[Trace],
    found: Vec<Hazard>,
    poll: &dyn Fn(),
) -> Vec<Hazard> {
    let mut told: Vec<Option<Hazard>> = found.iter().cloned().map(Some).collect();
    for (at, hazard) in found.iter().enumerate() {
        let search = Search { tile, traces, hazard, found: &found, poll };
        let Some((remedy, left)) = told[at].as_ref().and_then(|_| search.remedy()) else { continue };
        let mut others = Vec::new();
        for (other, slot) in told.iter_mut().enumerate().filter(|(other, _)| *other != at) {
            // A hazard that already has its own remedy stays on its own.
            if !left.contains(&key(&found[other])) && slot.as_ref().is_some_and(|h| h.remedy.is_none()) {
                others.extend(slot.take().map(|hazard| (hazard.tensor, hazard.later)));
            }
        }
        told[at] = Some(Hazard { remedy: Some(remedy), others, ..hazard.clone() });
    }
    told.into_iter().flatten().collect()
}

/// Identifies a hazard in different checks: tensor, earlier operation, later operation, `in_flight`.
type Key = (TensorId, OpId, OpId, bool);

fn key(hazard: &Hazard) -> Key {
    (hazard.tensor, hazard.earlier.op, hazard.later.op, hazard.in_flight)
}

/// A remedy, and the hazards that remain with it.
type Mended = (Remedy, Vec<Key>);

/// The search for a remedy of one hazard.
#[derive(Clone, Copy)]
struct Search<'a> {
    tile: &'a TileProgram,
    traces: &'a [Trace],
    hazard: &'a Hazard,
    /// All hazards of the kernel.
    found: &'a [Hazard],
    poll: &'a dyn Fn(),
}

impl Search<'_> {
    /// Returns the smallest change that orders the hazard; `None` if no change that is tried does. It leaves as many groups of
    /// copies in flight as possible.
    fn remedy(self) -> Option<Mended> {
        let with = |barrier| Mend {
            before: self.hazard.later.op,
            commit: false,
            wait: None,
            barrier: Some(barrier),
        };
        let here = with(Barrier::Block);
        if !self.hazard.in_flight {
            let [earlier, later] = [self.hazard.earlier, self.hazard.later]
                .map(|touch| touch.thread / self.tile.target.limits.lanes);
            let warp = (earlier == later).then(|| self.tried(Remedy::Insert(with(Barrier::Warp)))).flatten();
            return warp.or_else(|| self.better(self.tried(Remedy::Insert(here))));
        }
        self.closed().or_else(|| self.waited(here))
    }

    /// Tries a barrier behind each wait for copies, if the barrier that was found leaves hazards. There it orders both the
    /// copies before it with the reads behind it, and the reads before it with the copies behind it. Returns the barrier that
    /// leaves the fewest hazards; `None` only if none was found.
    fn better(self, found: Option<Mended>) -> Option<Mended> {
        let (remedy, mut left) = found?;
        let mut best = remedy;
        if left.is_empty() {
            return Some((best, left));
        }
        for before in behind_waits(&self.tile.body) {
            let mend = Mend { before, commit: false, wait: None, barrier: Some(Barrier::Block) };
            if let Some((remedy, fewer)) = self.tried(Remedy::Insert(mend))
                && fewer.len() < left.len()
            {
                (best, left) = (remedy, fewer);
            }
        }
        Some((best, left))
    }

    /// Tries to close the groups of copies that no commit closes, or that a commit closes only under a condition; `None` if
    /// that orders nothing.
    fn closed(self) -> Option<Mended> {
        // Copies without a commit become part of the next group. Every later wait then completes one group too few, also for
        // other copies, so their commits are tried too.
        let others = self.found.iter().filter(|other| other.in_flight).map(|other| other.earlier.op);
        let copies = std::iter::once(self.hazard.earlier.op).chain(others);
        let mut missing: Vec<OpId> = copies.filter_map(|op| unclosed(&self.tile.body, op).copy()).collect();
        let mut met = BTreeSet::new();
        missing.retain(|op| met.insert(*op));
        // A group that exists only under a condition cannot be counted by a wait; an empty group can.
        let conditional = conditional_commits(self.traces).into_iter().map(Remedy::CommitAfter);
        missing.into_iter().map(Remedy::Commit).chain(conditional).find_map(|remedy| self.tried(remedy))
    }

    /// Tries another number for the wait before the use. Otherwise tries to insert a wait: before a barrier that precedes the
    /// use, which then makes the copied data visible to all threads, or else at the use. `None` if none orders the hazard.
    fn waited(self, here: Mend) -> Option<Mended> {
        let used = self.tile.op(self.hazard.later.op);
        let before = used.map_or_else(Before::default, |op| Before::of(&self.tile.body, op));
        // A wait that leaves more groups in flight than there are waits for none, so their number bounds the search.
        let all = self.traces.iter().map(|trace| commits(&trace.events)).max().unwrap_or(0);
        let other = |(op, groups): (OpId, u32)| self.most(groups.min(all), &|n| Remedy::WaitFor(op, n));
        let at_sync = before.sync.into_iter().flat_map(|before| {
            [false, true].map(|commit| Mend { before, commit, wait: None, barrier: None })
        });
        let at_use = [(false, None), (false, here.barrier), (true, None), (true, here.barrier)];
        let at_use = at_use.map(|(commit, barrier)| Mend { commit, barrier, ..here });
        let inserted = |mend: Mend| self.most(IN_FLIGHT, &|n| Remedy::Insert(Mend { wait: Some(n), ..mend }));
        before.wait.and_then(other).or_else(|| at_sync.chain(at_use).find_map(inserted))
    }

    /// Finds the remedy `at(n)` with the largest `n < limit` that works, by bisection: a wait that leaves fewer groups in
    /// flight orders no less.
    fn most(self, limit: u32, at: &dyn Fn(u32) -> Remedy) -> Option<Mended> {
        let (mut found, mut low, mut high) = (None, 0, limit);
        while low < high {
            let groups = low + (high - low) / 2;
            match self.tried(at(groups)) {
                Some(mended) => (found, low) = (Some(mended), groups + 1),
                None => high = groups,
            }
        }
        found
    }

    /// Returns a remedy and the hazards it leaves, if it orders the hazard and adds no other; otherwise `None`.
    fn tried(self, remedy: Remedy) -> Option<Mended> {
        let rules = match remedy {
            Remedy::Insert(mend) => Rules { mend: Some(mend), ..Rules::default() },
            Remedy::Commit(op) => Rules { commit: Some(op), ..Rules::default() },
            Remedy::WaitFor(op, groups) => Rules { wait_as: Some((op, groups)), ..Rules::default() },
            Remedy::CommitAfter(op) => Rules { commit_after: Some(op), ..Rules::default() },
        };
        // A remedy fails if the pair still races for another reason, or if a new hazard appears.
        let own = (self.hazard.earlier.op, self.hazard.later.op);
        let fails = |left: &[Hazard]| {
            left.iter().any(|left| (left.earlier.op, left.later.op) == own)
                || !left.iter().all(|left| self.found.iter().any(|known| key(known) == key(left)))
        };
        let left = check(self.traces, rules, &fails, self.poll);
        (!fails(&left)).then(|| (remedy, left.iter().map(key).collect()))
    }
}

/// Returns the operations that directly follow a wait for copies among the same statements.
fn behind_waits(body: &[Stmt]) -> Vec<OpId> {
    let mut found = Vec::new();
    for pair in body.windows(2) {
        if let [Stmt::Leaf(Leaf::Op(wait)), Stmt::Leaf(Leaf::Op(next))] = pair
            && matches!(wait.kind.description().order, Order::Wait(_))
        {
            found.push(next.id);
        }
    }
    found.extend(body.iter().flat_map(Stmt::bodies).flat_map(behind_waits));
    found
}

/// The last wait and the last barrier before a use of shared memory, in its own statements and in the enclosing ones. A read
/// of shared memory by another operation in between resets both. Operations in a loop that does not contain the use do not
/// count.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Before {
    /// The last wait, with the number of groups that it leaves in flight; `None` without one.
    wait: Option<(OpId, u32)>,
    /// The last barrier; `None` without one.
    sync: Option<OpId>,
}

impl Before {
    fn of(body: &[Stmt], used: &Op) -> Before {
        let mut found = Before::default();
        found.walk(body, used);
        found
    }

    /// Returns true if the body contains the use.
    fn walk(&mut self, body: &[Stmt], used: &Op) -> bool {
        for stmt in body {
            if let Stmt::Leaf(Leaf::Op(op)) = stmt {
                if op.id == used.id {
                    return true;
                }
                self.pass(op, used);
            }
            let before = *self;
            for body in stmt.bodies() {
                let mut inside = before;
                if inside.walk(body, used) {
                    *self = inside;
                    return true;
                }
                // The body may never run, or may run many times, so neither its own waits nor earlier ones are known to be
                // the last.
                if inside != before {
                    *self = Before::default();
                }
            }
        }
        false
    }

    fn pass(&mut self, op: &Op, used: &Op) {
        let effects = op.kind.description();
        match effects.order {
            Order::Wait(groups) => self.wait = Some((op.id, groups)),
            Order::Scope => self.sync = Some(op.id),
            Order::Warp
            | Order::Close
            | Order::WaitProducts(_)
            | Order::Await
            | Order::Arrive
            | Order::WaitStores { .. }
            | Order::Nothing => {}
        }
        // A wait before another read of shared memory belongs to that read.
        let reads =
            |access: &Access<'_>| access.mode == Mode::Read && matches!(access.base(), Base::Shared(_));
        if op.origin != used.origin && effects.accesses.iter().any(reads) {
            *self = Before::default();
        }
    }
}

/// The state of a copy's group after some statements.
enum Group {
    /// The copy is not among the statements.
    Elsewhere,
    /// No statement has closed the group yet. Holds the last copy of the sequence that begins with this copy.
    Open(OpId),
    /// A commit closes the group, or the copy is under a condition.
    Closed,
    /// A loop or a wait comes before the group is closed. Holds the same copy as `Open`.
    Left(OpId),
}

impl Group {
    /// Returns the copy after which a commit is missing; `None` if none is missing.
    fn copy(self) -> Option<OpId> {
        match self {
            Group::Open(copy) | Group::Left(copy) => Some(copy),
            Group::Elsewhere | Group::Closed => None,
        }
    }
}

/// Returns the state of a copy's group behind these statements.
fn unclosed(stmts: &[Stmt], copy: OpId) -> Group {
    let mut group = Group::Elsewhere;
    // Whether only copies have followed `copy` so far.
    let mut together = false;
    for stmt in stmts {
        group = match (group, stmt) {
            (Group::Elsewhere, Stmt::Leaf(Leaf::Op(op))) if op.id == copy => {
                together = true;
                Group::Open(copy)
            }
            (Group::Elsewhere, Stmt::Control(Control::For { body, .. } | Control::While { body, .. })) => {
                unclosed(body, copy)
            }
            (Group::Elsewhere, Stmt::Control(Control::If { then, otherwise, .. })) => {
                let ways = [unclosed(then, copy), unclosed(otherwise, copy)];
                if ways.iter().all(|way| matches!(way, Group::Elsewhere)) {
                    Group::Elsewhere
                } else {
                    Group::Closed
                }
            }
            (Group::Open(last), Stmt::Leaf(Leaf::Op(op))) => match op.kind.description().order {
                Order::Close => Group::Closed,
                Order::Wait(_) => Group::Left(last),
                Order::Scope
                | Order::Warp
                | Order::WaitProducts(_)
                | Order::Await
                | Order::Arrive
                | Order::WaitStores { .. }
                | Order::Nothing => {
                    together &= matches!(op.kind, OpKind::CopyAsync { signal: None, .. });
                    Group::Open(if together { op.id } else { last })
                }
            },
            (Group::Open(last), Stmt::Control(Control::For { .. } | Control::While { .. })) => {
                Group::Left(last)
            }
            (Group::Open(last), Stmt::Control(Control::If { then, otherwise, .. })) => {
                together = false;
                let closes = |stmt: &Stmt| matches!(stmt, Stmt::Leaf(Leaf::Op(op)) if matches!(op.kind, OpKind::Sync(SyncOp::Commit)));
                if then.iter().chain(otherwise).any(closes) { Group::Closed } else { Group::Open(last) }
            }
            (group, _) => group,
        };
    }
    group
}

/// Returns the largest number of groups that the events commit.
fn commits(events: &[Event]) -> u32 {
    let of = |event: &Event| match event {
        Event::Commit(_) => 1,
        Event::Either(then, otherwise) => commits(then).max(commits(otherwise)),
        Event::Only(_, events) => commits(events),
        _ => 0,
    };
    events.iter().map(of).sum()
}

/// Returns the commits that are under a condition.
fn conditional_commits(traces: &[Trace]) -> BTreeSet<OpId> {
    let left = |event: &Event| match event {
        Event::Left(op) => Some(*op),
        _ => None,
    };
    traces.iter().flat_map(|trace| trace.events.iter().filter_map(left)).collect()
}
