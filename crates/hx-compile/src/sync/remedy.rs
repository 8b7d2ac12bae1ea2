//! Changes that order what nothing orders: each is tried on the traces before it is offered.

use std::collections::BTreeSet;

use hx_tile::{OpId, OpKind, Stmt, TensorId, TileProgram};

use super::{
    Hazard, Mend, Remedy,
    check::{Rules, check},
    trace::{Event, Trace},
};

/// Groups of copies that a wait of a remedy may leave in flight, and one more.
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
        let Some((remedy, left)) = told[at].as_ref().and_then(|_| remedy(tile, traces, hazard, &found, poll))
        else {
            continue;
        };
        let mut others = Vec::new();
        for (other, slot) in told.iter_mut().enumerate().filter(|(other, _)| *other != at) {
            // One that had a remedy of its own before is told of already.
            if !left.contains(&key(&found[other])) && slot.as_ref().is_some_and(|h| h.remedy.is_none()) {
                others.extend(slot.take().map(|hazard| hazard.tensor));
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

/// The least that orders a hazard, with the hazards that it leaves: as few as can be, and of those that leave as many the one with
/// which the most groups of copies stay in flight.
fn remedy(
    tile: &TileProgram,
    traces: &[Trace],
    hazard: &Hazard,
    found: &[Hazard],
    poll: &dyn Fn(),
) -> Option<(Remedy, Vec<Key>)> {
    // The same pair must not race for another reason, and nothing may race that did not.
    let fails = |left: &[Hazard]| {
        left.iter().any(|left| (left.earlier.op, left.later.op) == (hazard.earlier.op, hazard.later.op))
            || !left.iter().all(|left| found.iter().any(|known| key(known) == key(left)))
    };
    let leaves = |rules: Rules<'_>| {
        let left = check(traces, rules, &fails, poll);
        (!fails(&left)).then(|| left.iter().map(key).collect::<Vec<Key>>())
    };
    let mend = Mend { before: hazard.later.op, commit: false, wait: None, barrier: true };
    let mut ways = Vec::new();
    if hazard.in_flight {
        // Copies that nothing closes become part of the next group, and every wait then waits for one too few: for other
        // copies as well.
        let others = found.iter().filter(|other| other.in_flight).map(|other| other.earlier.op);
        let copies = std::iter::once(hazard.earlier.op).chain(others);
        let mut missing: Vec<OpId> = copies.filter_map(|op| unclosed(&tile.body, op).copy()).collect();
        let mut met = BTreeSet::new();
        missing.retain(|op| met.insert(*op));
        ways.extend(missing.into_iter().map(Remedy::Commit));
        // A group that may not be there is no group to count on; an empty one is.
        ways.extend(conditional_commits(traces).into_iter().map(Remedy::CommitAfter));
        let waits = tile.ops(1.0).into_iter().filter_map(|(op, _)| match op.kind {
            OpKind::Wait { groups } => Some((op.id, groups)),
            _ => None,
        });
        let most_commits = traces.iter().map(|trace| commits(&trace.events)).max().unwrap_or(0);
        for (op, groups) in waits {
            // To leave more groups in flight than there are is to wait for none.
            let most = groups.min(most_commits);
            ways.extend((0..most).rev().map(|fewer| Remedy::WaitFor(op, fewer)));
        }
        // A barrier that is there already makes visible what was waited for before it.
        let syncs = tile.ops(1.0).into_iter().map(|(op, _)| op).take_while(|op| op.id != hazard.later.op);
        let syncs: Vec<OpId> = syncs.filter(|op| matches!(op.kind, OpKind::Sync)).map(|op| op.id).collect();
        for (&before, commit) in syncs.iter().rev().flat_map(|sync| [(sync, false), (sync, true)]) {
            let in_flight = (0..IN_FLIGHT).rev();
            let insert = |n| Remedy::Insert(Mend { before, commit, wait: Some(n), barrier: false });
            ways.extend(in_flight.map(insert));
        }
        for (commit, barrier) in [(false, false), (false, true), (true, false), (true, true)] {
            let in_flight = (0..IN_FLIGHT).rev();
            ways.extend(in_flight.map(|n| Remedy::Insert(Mend { commit, wait: Some(n), barrier, ..mend })));
        }
    } else {
        ways.push(Remedy::Insert(mend));
    }
    let mut best: Option<(Remedy, Vec<Key>)> = None;
    for way in ways {
        let rules = match way {
            Remedy::Insert(mend) => Rules { mend: Some(mend), ..Rules::default() },
            Remedy::Commit(op) => Rules { commit: Some(op), ..Rules::default() },
            Remedy::WaitFor(op, groups) => Rules { wait_as: Some((op, groups)), ..Rules::default() },
            Remedy::CommitAfter(op) => Rules { commit_after: Some(op), ..Rules::default() },
        };
        let Some(left) = leaves(rules) else { continue };
        let none = left.is_empty();
        if best.as_ref().is_none_or(|(_, fewest)| left.len() < fewest.len()) {
            best = Some((way, left));
        }
        if none {
            break;
        }
    }
    best
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
