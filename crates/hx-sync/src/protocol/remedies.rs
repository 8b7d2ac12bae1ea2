//! Searches for changes of a protocol that remove a fault. Each change is tried by running again.

mod joined;

use std::collections::BTreeSet;

use hx_tile::OpId;

use super::launch::Launch;
use super::{
    Act, Cause, Fault, Fix, FixAt, FixWith, Key, Kind, Protocol, RaceAccess, Stmt, Verdict, Want, follow,
};

/// The most changes that are tried for one fault.
const TRIED: usize = 24;

/// Adds to each fault a change that removes it. Other faults that the same change removes are counted and left out.
pub(crate) fn add(protocol: &Protocol, launches: &[Launch], verdict: &mut Verdict, poll: &dyn Fn()) {
    let (followed, faults) = (verdict.launches, &mut verdict.faults);
    let known: BTreeSet<Key> = faults.iter().map(|fault| fault.kind.key()).collect();
    let kinds: Vec<Kind> = faults.iter().map(|fault| fault.kind.clone()).collect();
    let mut left: Vec<Option<Fault>> = faults.drain(..).map(Some).collect();
    for at in 0..left.len() {
        let Some(mut fault) = left[at].take() else { continue };
        let own = fault.kind.key();
        let mut best: Option<(Fix, BTreeSet<Key>)> = None;
        for fix in candidates(protocol, &fault.kind, &kinds).into_iter().take(TRIED) {
            let Some(changed) = changed(protocol, &fix) else { continue };
            let is_worse = |kind: &Kind| kind.key() == own || !known.contains(&kind.key());
            let found = follow(&changed, launches, None, &is_worse, poll);
            // A change that makes a launch too long to follow hides the fault.
            if found.launches < followed || found.faults.iter().any(|fault| is_worse(&fault.kind)) {
                continue;
            }
            if joined::is_part(&fix, &fault.kind, &found.faults) {
                continue;
            }
            let rest: BTreeSet<Key> = found.faults.iter().map(|fault| fault.kind.key()).collect();
            if best.as_ref().is_none_or(|(_, best)| rest.len() < best.len()) {
                let done = rest.is_empty();
                best = Some((fix, rest));
                if done {
                    break;
                }
            }
        }
        if let Some((fix, rest)) = best {
            for other in &mut left {
                let gone = other.as_ref().is_some_and(|o| o.fix.is_none() && !rest.contains(&o.kind.key()));
                if gone {
                    fault.others += 1;
                    *other = None;
                }
            }
            fault.fix = Some(fix);
        }
        left[at] = Some(fault);
    }
    faults.extend(left.into_iter().flatten());
}

/// Returns the changes to try, the smallest first. `all` are the faults of the protocol.
fn candidates(protocol: &Protocol, kind: &Kind, all: &[Kind]) -> Vec<Fix> {
    let fix = |at: FixAt, with: &[FixWith]| Fix { at, with: with.to_vec() };
    match kind {
        Kind::Stuck(blocked) => blocked.first().map_or_else(Vec::new, |first| match &first.wants {
            Want::Release { pipe, waited: Some(wait), .. } => unreleased(protocol, *pipe, *wait),
            Want::Turn { turns, taken: Some(take), .. } => {
                let pass = [FixWith::Pass(*turns)];
                let end = ends(protocol, *take).map(FixAt::After);
                end.into_iter().chain([FixAt::Behind(*take)]).map(|at| fix(at, &pass)).collect()
            }
            Want::Release { .. }
            | Want::Fill { .. }
            | Want::Turn { .. }
            | Want::Flag { .. }
            | Want::Sum { .. }
            | Want::Barrier { .. }
            | Want::All { .. } => Vec::new(),
        }),
        Kind::InFlight { later, .. } => {
            let wait = |leave| fix(FixAt::Before(*later), &[FixWith::WaitProducts(leave)]);
            // Change the wait right before the use. Prefer the change that leaves the most products in flight.
            let mut all = fewer(protocol, *later, true, &|act| matches!(act, Act::WaitProducts { .. }));
            all.extend([2, 1, 0].map(wait));
            all
        }
        Kind::Race { earlier, later, cause, .. } => match cause {
            Cause::AfterRelease(release) => {
                // A later use of the same stage may follow the release too.
                let uses = all.iter().filter_map(|kind| match kind {
                    Kind::Race { earlier, later, cause: Cause::AfterRelease(of), .. } if of == release => {
                        Some(RaceAccess::used(*earlier, *later).op)
                    }
                    _ => None,
                });
                let uses: BTreeSet<OpId> = uses.chain([RaceAccess::used(*earlier, *later).op]).collect();
                let moved = |after| Fix { at: FixAt::Move { op: *release, after }, with: Vec::new() };
                uses.into_iter().rev().map(moved).collect()
            }
            Cause::AfterPublish(publish) => {
                let written = if earlier.write { earlier.op } else { later.op };
                vec![Fix { at: FixAt::Move { op: *publish, after: written }, with: Vec::new() }]
            }
            Cause::Store => {
                let (before, after) = (FixAt::Before(later.op), FixAt::After(earlier.op));
                let waits = |act: &Act| matches!(act, Act::WaitStores { .. });
                let mut all = vec![fix(before, &[FixWith::Sync])];
                all.extend(fewer(protocol, later.op, false, &waits));
                for leave in [1, 0] {
                    all.push(fix(before, &[FixWith::WaitStores(leave)]));
                    all.push(fix(before, &[FixWith::WaitStores(leave), FixWith::Sync]));
                }
                // If another role overwrites the tensor, only a wait behind the store helps.
                all.push(fix(after, &[FixWith::WaitStores(0)]));
                all
            }
            Cause::Product => {
                let before = FixAt::Before(later.op);
                let wait = |leave| fix(before, &[FixWith::WaitProducts(leave), FixWith::Sync]);
                [fix(before, &[FixWith::Sync])].into_iter().chain([1, 0].map(wait)).collect()
            }
            Cause::Copy => {
                let wait = |leave| fix(FixAt::Before(later.op), &[FixWith::WaitCopies(leave), FixWith::Sync]);
                [2, 1, 0].map(wait).to_vec()
            }
            Cause::NoBarrier => {
                // A barrier in a role does not order what the block did before the roles. Then the barrier belongs behind the
                // earlier access.
                let at = [FixAt::Before(later.op), FixAt::After(earlier.op)];
                let moved = [later.op, earlier.op].into_iter().flat_map(|used| passes(protocol, used));
                let all = at.into_iter().map(|at| fix(at, &[FixWith::Sync])).chain(moved);
                all.chain(joined::candidates(protocol, *earlier, *later)).collect()
            }
            Cause::BeforeWait | Cause::BeforeRelease => Vec::new(),
        },
        Kind::Unstored { store, .. } => {
            let mut all = unfinished(protocol, *store);
            all.push(fix(FixAt::After(*store), &[FixWith::WaitWrites(0)]));
            all
        }
        Kind::Slip { .. }
        | Kind::Crowded { .. }
        | Kind::Doubled { .. }
        | Kind::Repassed { .. }
        | Kind::Hurried { .. }
        | Kind::Unmet { .. }
        | Kind::Unequal { .. }
        | Kind::Divided { .. }
        | Kind::Unwaited { .. }
        | Kind::Gone { .. } => Vec::new(),
    }
}

/// Returns the changes that release the stages of a pipe for which an operation waits: at the end of the body that waits, or after the
/// loop if all stages but the last are released.
fn unreleased(protocol: &Protocol, pipe: u32, wait: OpId) -> Vec<Fix> {
    let release = FixWith::Release(pipe);
    // A stage is given back in the round that waits for it, if that is possible.
    let places: Vec<FixAt> =
        ends(protocol, wait).map(FixAt::After).into_iter().chain([FixAt::Behind(wait)]).collect();
    let fix = |with: &[FixWith]| {
        let with = with.to_vec();
        places.iter().map(move |at| Fix { at: *at, with: with.clone() }).collect::<Vec<_>>()
    };
    let previous = FixWith::ReleasePrevious(pipe);
    [fix(&[release]), fix(&[previous]), fix(&[FixWith::WaitProducts(0), release])].concat()
}

/// Returns the changes that pass a turn behind an operation instead of before it.
fn passes(protocol: &Protocol, used: OpId) -> Vec<Fix> {
    let mut all = Vec::new();
    protocol.visit(&mut |stmt| {
        if let Stmt::Act(op, Act::Pass { .. }) = stmt {
            all.push(Fix { at: FixAt::Move { op: *op, after: used }, with: Vec::new() });
        }
    });
    all
}

/// Returns the last operation of the body that contains an operation; `None` if no body does.
fn ends(protocol: &Protocol, op: OpId) -> Option<OpId> {
    let mut end = None;
    protocol.visit_bodies(&mut |body| {
        if body.iter().any(|stmt| matches!(stmt, Stmt::Act(of, _) if *of == op)) {
            end = body.iter().rev().find_map(Stmt::last_op);
        }
    });
    end
}

/// Returns the changes of waits that leave fewer operations in flight: of waits anywhere, or only of those before an operation
/// in its own body.
fn fewer(protocol: &Protocol, later: OpId, near: bool, is_wait: &dyn Fn(&Act) -> bool) -> Vec<Fix> {
    let mut all = Vec::new();
    let mut see = |body: &[Stmt]| {
        let end = body.iter().position(|stmt| matches!(stmt, Stmt::Act(op, _) if *op == later));
        for stmt in &body[..if near { end.unwrap_or(0) } else { body.len() }] {
            let Stmt::Act(op, act) = stmt else { continue };
            let leave = match act {
                Act::WaitProducts { leave } | Act::WaitStores { leave, .. } if is_wait(act) => *leave,
                _ => continue,
            };
            if *op != later {
                let at = |leave| Fix { at: FixAt::Leave { op: *op, leave }, with: Vec::new() };
                all.extend((0..leave.min(4)).rev().map(at));
            }
        }
    };
    protocol.visit_bodies(&mut see);
    all
}

/// Returns the changes of waits for stores of the role of a store that let them wait for its writes, too.
fn unfinished(protocol: &Protocol, store: OpId) -> Vec<Fix> {
    let mut all = Vec::new();
    let own = protocol.role_of(store).map(|role| role.body.as_slice()).unwrap_or(&protocol.body);
    Protocol { body: own.to_vec(), ..Protocol::default() }.visit(&mut |stmt| {
        if let Stmt::Act(op, Act::WaitStores { read: true, .. }) = stmt {
            all.push(Fix { at: FixAt::Complete(*op), with: Vec::new() });
        }
    });
    all
}

/// Returns the protocol with a change, or `None` if the place of the change is not there.
pub(super) fn changed(protocol: &Protocol, fix: &Fix) -> Option<Protocol> {
    let mut protocol = protocol.clone();
    let new = |op: OpId| -> Vec<Stmt> { fix.with.iter().map(|with| Stmt::Act(op, with.act())).collect() };
    let is = |stmt: &Stmt, op: OpId| matches!(stmt, Stmt::Act(of, _) if *of == op);
    let mut done = false;
    match fix.at {
        FixAt::Before(op) => protocol.bodies_mut(&mut |body| {
            if let Some(at) = body.iter().position(|stmt| is(stmt, op)) {
                body.splice(at..at, new(op));
                done = true;
            }
        }),
        FixAt::After(op) => protocol.bodies_mut(&mut |body| {
            if let Some(at) = body.iter().rposition(|stmt| is(stmt, op)) {
                body.splice(at + 1..at + 1, new(op));
                done = true;
            }
        }),
        FixAt::Behind(op) => protocol.bodies_mut(&mut |body| {
            let inside = body.iter().position(|stmt| !is(stmt, op) && stmt.contains(op));
            // Inner bodies come first, so that the innermost statement is the one.
            if let Some(at) = inside.filter(|_| !done) {
                body.splice(at + 1..at + 1, new(op));
                done = true;
            }
        }),
        FixAt::Move { op, after } => {
            let act = protocol.act(op)?.clone();
            protocol.bodies_mut(&mut |body| body.retain(|stmt| !is(stmt, op)));
            protocol.bodies_mut(&mut |body| {
                if let Some(at) = body.iter().rposition(|stmt| is(stmt, after)) {
                    body.insert(at + 1, Stmt::Act(op, act.clone()));
                    done = true;
                }
            });
        }
        FixAt::Join { earlier, later, outside, joint } => {
            return joined::changed(protocol, [earlier, later], outside, joint);
        }
        FixAt::Complete(op) => protocol.bodies_mut(&mut |body| {
            for stmt in body {
                if let Stmt::Act(of, Act::WaitStores { read, .. }) = stmt
                    && *of == op
                {
                    *read = false;
                    done = true;
                }
            }
        }),
        FixAt::Leave { op, leave } => protocol.bodies_mut(&mut |body| {
            for stmt in body {
                if let Stmt::Act(of, Act::WaitProducts { leave: was } | Act::WaitStores { leave: was, .. }) =
                    stmt
                    && *of == op
                {
                    *was = leave;
                    done = true;
                }
            }
        }),
    }
    done.then_some(protocol)
}

impl FixWith {
    fn act(self) -> Act {
        match self {
            FixWith::Release(pipe) => Act::Release { pipe, keep: 0 },
            FixWith::ReleasePrevious(pipe) => Act::Release { pipe, keep: 1 },
            FixWith::WaitProducts(leave) => Act::WaitProducts { leave },
            FixWith::WaitCopies(leave) => Act::WaitCopies { leave },
            FixWith::WaitStores(leave) => Act::WaitStores { leave, read: true },
            FixWith::WaitWrites(leave) => Act::WaitStores { leave, read: false },
            FixWith::Sync => Act::Sync,
            FixWith::Pass(turns) => Act::Pass { turns },
        }
    }
}
