//! Changes that order what nothing orders: each is tried on the traces before it is offered.

use std::collections::BTreeSet;

use hx_tile::{Base, Op, OpId, OpKind, Stmt, TensorId, TileProgram};

use super::{
    Hazard, Mend, Remedy,
    check::{Rules, check},
    trace::{Event, Trace},
};

/// A wait that a remedy inserts leaves fewer groups of copies in flight than this.
const IN_FLIGHT: u32 = 4;

/// Gives hazards what removes them. Those that go with another are told of there: most often one thing is missing, and many
/// accesses race for want of it.
pub(super) fn remedied(
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
            // One that had a remedy of its own before is told of already.
            if !left.contains(&key(&found[other])) && slot.as_ref().is_some_and(|h| h.remedy.is_none()) {
                others.extend(slot.take().map(|hazard| (hazard.tensor, hazard.later)));
            }
        }
        told[at] = Some(Hazard { remedy: Some(remedy), others, ..hazard.clone() });
    }
    told.into_iter().flatten().collect()
}

/// What a hazard is known by in another check.
type Key = (TensorId, OpId, OpId, bool);

fn key(hazard: &Hazard) -> Key {
    (hazard.tensor, hazard.earlier.op, hazard.later.op, hazard.in_flight)
}

/// A remedy with the hazards that it leaves.
type Mended = (Remedy, Vec<Key>);

/// The search for what orders a hazard.
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
    /// The least that orders the hazard: groups of copies stay in flight as far as they may.
    fn remedy(self) -> Option<Mended> {
        let here = Mend { before: self.hazard.later.op, commit: false, wait: None, barrier: true };
        if !self.hazard.in_flight {
            return self.tried(Remedy::Insert(here));
        }
        self.closed().or_else(|| self.waited(here))
    }

    /// The groups of copies closed where they are not, or not always.
    fn closed(self) -> Option<Mended> {
        // Copies that nothing closes become part of the next group, and every wait then waits for one too few: for other copies as
        // well.
        let others = self.found.iter().filter(|other| other.in_flight).map(|other| other.earlier.op);
        let copies = std::iter::once(self.hazard.earlier.op).chain(others);
        let mut missing: Vec<OpId> = copies.filter_map(|op| unclosed(&self.tile.body, op).copy()).collect();
        let mut met = BTreeSet::new();
        missing.retain(|op| met.insert(*op));
        // A group that may not be there is no group to count on; an empty one is.
        let conditional = conditional_commits(self.traces).into_iter().map(Remedy::CommitAfter);
        missing.into_iter().map(Remedy::Commit).chain(conditional).find_map(|remedy| self.tried(remedy))
    }

    /// Another number for the wait before the use, or a wait that is not there: at a barrier that makes visible what was waited for
    /// before it, or else at the use.
    fn waited(self, here: Mend) -> Option<Mended> {
        let used = self.tile.op(self.hazard.later.op);
        let before = used.map_or_else(Before::default, |op| Before::of(&self.tile.body, op));
        // To leave more groups in flight than there are is to wait for none.
        let all = self.traces.iter().map(|trace| commits(&trace.events)).max().unwrap_or(0);
        let other = |(op, groups): (OpId, u32)| self.most(groups.min(all), &|n| Remedy::WaitFor(op, n));
        let at_sync = before.sync.into_iter().flat_map(|before| {
            [false, true].map(|commit| Mend { before, commit, wait: None, barrier: false })
        });
        let at_use = [(false, false), (false, true), (true, false), (true, true)];
        let at_use = at_use.map(|(commit, barrier)| Mend { commit, barrier, ..here });
        let inserted = |mend: Mend| self.most(IN_FLIGHT, &|n| Remedy::Insert(Mend { wait: Some(n), ..mend }));
        before.wait.and_then(other).or_else(|| at_sync.chain(at_use).find_map(inserted))
    }

    /// Of waits at one place for fewer than so many groups, the one with which the most stay in flight: fewer order no less.
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

    /// What a remedy leaves, if it orders the hazard.
    fn tried(self, remedy: Remedy) -> Option<Mended> {
        let rules = match remedy {
            Remedy::Insert(mend) => Rules { mend: Some(mend), ..Rules::default() },
            Remedy::Commit(op) => Rules { commit: Some(op), ..Rules::default() },
            Remedy::WaitFor(op, groups) => Rules { wait_as: Some((op, groups)), ..Rules::default() },
            Remedy::CommitAfter(op) => Rules { commit_after: Some(op), ..Rules::default() },
        };
        // The same pair must not race for another reason, and nothing may race that did not.
        let own = (self.hazard.earlier.op, self.hazard.later.op);
        let fails = |left: &[Hazard]| {
            left.iter().any(|left| (left.earlier.op, left.later.op) == own)
                || !left.iter().all(|left| self.found.iter().any(|known| key(known) == key(left)))
        };
        let left = check(self.traces, rules, &fails, self.poll);
        (!fails(&left)).then(|| (remedy, left.iter().map(key).collect()))
    }
}

/// What a use of shared memory finds before it in its own statements and in those around them, and no other use in between: nothing
/// that is in a loop which the use is not part of.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Before {
    /// The last wait, with the groups that it leaves.
    wait: Option<(OpId, u32)>,
    /// The last barrier.
    sync: Option<OpId>,
}

impl Before {
    fn of(body: &[Stmt], used: &Op) -> Before {
        let mut found = Before::default();
        found.walk(body, used);
        found
    }

    /// True where the use was met.
    fn walk(&mut self, body: &[Stmt], used: &Op) -> bool {
        for stmt in body {
            let inner: &[&[Stmt]] = match stmt {
                Stmt::Op(op) if op.id == used.id => return true,
                Stmt::Op(op) => {
                    self.pass(op, used);
                    &[]
                }
                Stmt::For { body, .. } | Stmt::While { body, .. } => &[body],
                Stmt::If { then, otherwise, .. } => &[then, otherwise],
                _ => &[],
            };
            let before = *self;
            for body in inner {
                let mut inside = before;
                if inside.walk(body, used) {
                    *self = inside;
                    return true;
                }
                // What happens in it is not sure to happen, or happens often.
                if inside != before {
                    *self = Before::default();
                }
            }
        }
        false
    }

    fn pass(&mut self, op: &Op, used: &Op) {
        match &op.kind {
            OpKind::Wait { groups } => self.wait = Some((op.id, *groups)),
            OpKind::Sync => self.sync = Some(op.id),
            // What was waited for before is for this one.
            OpKind::Copy { src, .. } if matches!(src.base, Base::Shared(_)) && op.origin != used.origin => {
                *self = Before::default();
            }
            _ => {}
        }
    }
}

/// What is known of the group of a copy after some statements.
enum Group {
    /// The copy is not among them.
    Elsewhere,
    /// Nothing closed it yet; the last of the copies that stand together with this one.
    Open(OpId),
    /// Something closes it, or it is under a condition.
    Closed,
    /// A loop or a wait comes before it is closed; the same.
    Left(OpId),
}

impl Group {
    /// The copy that a commit is missing after.
    fn copy(self) -> Option<OpId> {
        match self {
            Group::Open(copy) | Group::Left(copy) => Some(copy),
            Group::Elsewhere | Group::Closed => None,
        }
    }
}

/// What closes the group of a copy in the text.
fn unclosed(stmts: &[Stmt], copy: OpId) -> Group {
    let mut group = Group::Elsewhere;
    // The copies up to here stand together.
    let mut together = false;
    for stmt in stmts {
        group = match (group, stmt) {
            (Group::Elsewhere, Stmt::Op(op)) if op.id == copy => {
                together = true;
                Group::Open(copy)
            }
            (Group::Elsewhere, Stmt::For { body, .. } | Stmt::While { body, .. }) => unclosed(body, copy),
            (Group::Elsewhere, Stmt::If { then, otherwise, .. }) => {
                let ways = [unclosed(then, copy), unclosed(otherwise, copy)];
                if ways.iter().all(|way| matches!(way, Group::Elsewhere)) {
                    Group::Elsewhere
                } else {
                    Group::Closed
                }
            }
            (Group::Open(last), Stmt::Op(op)) => match op.kind {
                OpKind::CopyAsync { .. } if together => Group::Open(op.id),
                OpKind::Commit => Group::Closed,
                OpKind::Wait { .. } => Group::Left(last),
                _ => {
                    together = false;
                    Group::Open(last)
                }
            },
            (Group::Open(last), Stmt::For { .. } | Stmt::While { .. }) => Group::Left(last),
            (Group::Open(last), Stmt::If { then, otherwise, .. }) => {
                together = false;
                let closes = |stmt: &Stmt| matches!(stmt, Stmt::Op(op) if matches!(op.kind, OpKind::Commit));
                if then.iter().chain(otherwise).any(closes) { Group::Closed } else { Group::Open(last) }
            }
            (group, _) => group,
        };
    }
    group
}

/// The groups that are committed at most.
fn commits(events: &[Event]) -> u32 {
    let of = |event: &Event| match event {
        Event::Commit(_) => 1,
        Event::Either(then, otherwise) => commits(then).max(commits(otherwise)),
        _ => 0,
    };
    events.iter().map(of).sum()
}

/// The commits that stand under a condition.
fn conditional_commits(traces: &[Trace]) -> BTreeSet<OpId> {
    let left = |event: &Event| match event {
        Event::Left(op) => Some(*op),
        _ => None,
    };
    traces.iter().flat_map(|trace| trace.events.iter().filter_map(left)).collect()
}
