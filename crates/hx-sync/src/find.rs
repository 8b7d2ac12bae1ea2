//! Runs the analysis, from a program to its findings.

use std::collections::BTreeSet;

use hx_index::Expr;
use hx_target::Space;
use hx_thread::{Control, Leaf, Role, SharedBuffer, Stmt, ThreadProgram};
use hx_tile::{OpId, Order, Scope, TensorId, TileProgram};

use crate::check::{Rules, check, check_all};
use crate::event::Event;
use crate::remedy::remedied;
use crate::trace::{Trace, Traced, traces};
use crate::{Findings, copies, protocol};

/// Selects the findings that [`find`] looks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// Hazards, copies without a wait, and tensors that are never written.
    Errors,
    /// Errors, and barriers and waits that order nothing. These are searched for only if there are no hazards.
    All,
}

/// Analyses one instance of a kernel: its tile program, and the thread program that was lowered from it. `poll` is called
/// now and then, and may unwind. Follows what the block executes, and then each role for itself; [`protocol`] follows what
/// the roles do to each other.
pub fn find(tile: &TileProgram, threads: &ThreadProgram, asked: Asked, poll: &dyn Fn()) -> Findings {
    let mut found = find_in(tile, threads, asked, true, poll);
    for (first, role) in roles(threads) {
        // Ignore the idle barriers of a role: a ring with fewer stages may need them, so do not propose to remove them.
        let Findings { mut hazards, idle_waits, unwaited, .. } = find_in(tile, &role, asked, false, poll);
        for hazard in &mut hazards {
            let others = hazard.others.iter_mut().map(|(_, touch)| touch);
            [&mut hazard.earlier, &mut hazard.later]
                .into_iter()
                .chain(others)
                .for_each(|t| t.thread += first);
        }
        found.hazards.extend(hazards);
        found.idle_waits.extend(idle_waits);
        found.unwaited.extend(unwaited);
    }
    found
}

/// Returns the program of each role, as if its threads were a block, and the number of its first thread. The first group of a
/// role stands for all: they run the same statements, and each has memory of its own.
fn roles(threads: &ThreadProgram) -> Vec<(u32, ThreadProgram)> {
    let Some(Stmt::Control(Control::Roles(roles))) = threads.body.last() else { return Vec::new() };
    let alone = |role: &Role| {
        let scope = threads.scope(role.scope);
        let first = role
            .index
            .iter()
            .map(|index| Stmt::Leaf(Leaf::Let { var: index.clone(), value: Expr::default() }));
        let body = first.chain(role.body.iter().cloned()).collect();
        (scope.first, ThreadProgram { scopes: vec![Scope::block(scope.threads)], body, ..threads.clone() })
    };
    roles.iter().map(alone).collect()
}

/// Follows threads that run the same statements. `barriers`: whether to search for those that order nothing.
fn find_in(
    tile: &TileProgram,
    threads: &ThreadProgram,
    asked: Asked,
    barriers: bool,
    poll: &dyn Fn(),
) -> Findings {
    let is_shared = |id: &TensorId| tile.tensor(*id).kind.space() == Space::Shared;
    // The buffers of tensors in the source come first. The compiler's scratch buffers follow and are not analysed.
    let tensors: Vec<TensorId> = tile.tensor_ids().filter(is_shared).collect();
    let is_sync = |op: OpId| tile.op(op).is_some_and(|op| op.kind.description().order == Order::Scope);
    let traced = Traced { program: threads, facts: &tile.facts, buffers: tensors.len(), is_sync: &is_sync };
    let traces = traces(traced, poll);
    let (mut found, needed) = check_all(&traces, Rules::default(), &|_| false, poll);
    if !barriers {
        // Within a role, tiles that go to another role and come back order its own accesses.
        let pairs = found.iter().filter(|hazard| !hazard.in_flight && hazard.earlier.write);
        let pairs: BTreeSet<(OpId, OpId)> =
            pairs.map(|hazard| (hazard.earlier.op, hazard.later.op)).collect();
        let ordered = protocol::ordered(tile, &pairs, poll);
        found.retain(|hazard| hazard.in_flight || !ordered.contains(&(hazard.earlier.op, hazard.later.op)));
    }
    let early: BTreeSet<OpId> = found.iter().filter(|h| h.in_flight).map(|h| h.earlier.op).collect();
    let mut hazards = remedied(tile, &traces, found, poll);
    // The first trace holds for every launch.
    let any = &traces[0];
    let search = asked == Asked::All && hazards.is_empty();
    let mut idle = if barriers && search && any.complete { idle(&traces, &needed, poll) } else { Vec::new() };
    idle.retain(|barrier| !parts_reused_memory(any, &threads.shared, *barrier));
    let idle = protocol::spare(tile, idle, poll);
    let copies = copies::copies(&traces);
    let mut unwaited = copies.unwaited();
    // A copy that is read too early is already reported as a hazard.
    unwaited.retain(|copy| !early.contains(&copy.op));
    // While a copy has no wait, do not call a wait idle: a missing operation may be the one it waits for.
    let right = search && unwaited.is_empty();
    let idle_waits = if right { copies.idle_waits() } else { Vec::new() };
    let named = |buffer: TensorId| tensors.get(buffer.0 as usize).copied().unwrap_or(buffer);
    unwaited.iter_mut().for_each(|copy| copy.tensor = named(copy.tensor));
    for hazard in &mut hazards {
        hazard.tensor = named(hazard.tensor);
        hazard.others.iter_mut().for_each(|(tensor, _)| *tensor = named(*tensor));
    }
    let unwritten = copies::never_written(&threads.body, tensors.len());
    let unwritten = unwritten.into_iter().map(|(buffer, op)| (tensors[buffer], op)).collect();
    Findings { hazards, idle, idle_waits, unwaited, unwritten }
}

/// Returns the barriers that can all be removed at once, but none of the `needed` ones. Ignores the layouts: a barrier that is
/// redundant only with the layouts of this instance may be needed with those of the next.
fn idle(traces: &[Trace], needed: &BTreeSet<OpId>, poll: &dyn Fn()) -> Vec<OpId> {
    let others: Vec<OpId> = traces[0].barriers.iter().filter(|op| !needed.contains(op)).copied().collect();
    if others.is_empty() {
        return Vec::new();
    }
    let hazards = |without: &[OpId], most: usize| {
        let rules = Rules { without, any_thread: true, ..Rules::default() };
        check(traces, rules, &|found| found.len() > most, poll).len()
    };
    let given = hazards(&[], usize::MAX);
    let mut idle = Vec::new();
    for barrier in others.into_iter().rev() {
        idle.push(barrier);
        if hazards(&idle, given) > given {
            idle.pop();
        }
    }
    idle
}

/// Reports whether `barrier` separates the uses of two buffers that overlap in shared memory because of it: one buffer is
/// used only before the barrier, the other only after it.
fn parts_reused_memory(trace: &Trace, shared: &[SharedBuffer], barrier: OpId) -> bool {
    let at = |event: &Event| matches!(event, Event::Barrier(op) if *op == barrier);
    let mut pieces = trace.events.split(at);
    let (Some(before), Some(after), None) = (pieces.next(), pieces.next(), pieces.next()) else {
        return false;
    };
    let (before, after) = (buffers(before), buffers(after));
    let place = |buffer: usize| shared.get(buffer).map(|s| s.offset..s.offset + s.bytes);
    let meet =
        |a: usize, b: usize| place(a).zip(place(b)).is_some_and(|(a, b)| a.start < b.end && b.start < a.end);
    let mut later = after.difference(&before);
    later.any(|b| before.difference(&after).any(|a| meet(*a, *b)))
}

/// Returns the buffers that the events access.
fn buffers(events: &[Event]) -> BTreeSet<usize> {
    let of = |event: &Event| match event {
        Event::Access(access) | Event::Product(access) => BTreeSet::from([access.buffer]),
        Event::Either(then, otherwise) => &buffers(then) | &buffers(otherwise),
        Event::Only(_, events) => buffers(events),
        _ => BTreeSet::new(),
    };
    events.iter().flat_map(of).collect()
}
