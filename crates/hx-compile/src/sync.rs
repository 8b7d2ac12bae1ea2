//! Who touches which element of shared memory, and what orders them: decided on the thread program, by looking.
//!
//! Layouts are known, so the accesses of all threads are listed one by one ([`trace`]) and compared ([`check`]). Loops are
//! followed for as many rounds as tell all of them, and for their last ones. What depends on a launch is followed both ways,
//! and then for a few launches of which something is supposed ([`suppose`]). The rest is left to the simulator. Nothing here
//! knows places in text.

mod check;
mod column;
mod copies;
mod once;
mod remedy;
mod scan;
mod suppose;
mod trace;

use std::collections::BTreeSet;

use hx_base::TextRange;
use hx_hir::{Item, StmtId, body_source_map};
use hx_thread::{SharedBuffer, ThreadProgram};
use hx_tile::{OpId, OpKind, TensorId, TensorKind, TileProgram};

use crate::{Db, Instance, thread_program, tile_program};
pub use check::Mend;
use check::{Rules, check};
pub use copies::Unwaited;
use remedy::remedied;
pub use suppose::Run;
use trace::{Event, Trace, Traced, traces};

/// What is wrong with the synchronization of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    /// Pairs of accesses that nothing orders, at most one for each pair of operations and tensor.
    pub hazards: Vec<Hazard>,
    /// Written barriers without which nothing is less ordered, whatever the layouts.
    pub idle: Vec<OpId>,
    /// Waits that never wait.
    pub idle_waits: Vec<OpId>,
    /// Copies that nothing waits for.
    pub unwaited: Vec<Unwaited>,
    /// Shared tensors that are read but never written, with the first operation that reads each.
    pub unwritten: Vec<(TensorId, OpId)>,
}

/// Two accesses to one element that nothing orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hazard {
    /// The shared tensor.
    pub tensor: TensorId,
    /// The element's place in the tensor's memory, in elements.
    pub element: i64,
    /// What comes first in the order of the program.
    pub earlier: Touch,
    /// What comes later.
    pub later: Touch,
    /// The earlier access is a copy that nothing waited for.
    pub in_flight: bool,
    /// What was supposed of the launch for this to show; nothing if it is so in every one.
    pub run: Option<Run>,
    /// What removes this hazard and makes no other.
    pub remedy: Option<Remedy>,
    /// Of further hazards that go with it, the tensor and the later access of each.
    pub others: Vec<(TensorId, Touch)>,
}

/// A change that orders two accesses; it was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Statements before an operation.
    Insert(Mend),
    /// `commit()` after a copy.
    Commit(OpId),
    /// This `wait` waits until at most so many groups are in flight.
    WaitFor(OpId, u32),
    /// This `commit` stands behind the condition that it stands under.
    CommitAfter(OpId),
}

/// One access by one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touch {
    /// The operation that it belongs to.
    pub op: OpId,
    /// The thread that gives the address.
    pub thread: u32,
    /// Lanes besides `thread` take part.
    pub collective: bool,
    /// It writes.
    pub write: bool,
}

/// What is wrong with the synchronization of an instance; none where it has no thread program.
#[salsa::tracked]
pub fn synchronization<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Findings {
    match (tile_program(db, instance), thread_program(db, instance)) {
        (Ok(lowered), Ok(threads)) => {
            findings(&lowered.program, threads, Asked::All, &|| db.unwind_if_revision_cancelled())
        }
        _ => Findings::default(),
    }
}

/// Finds unordered accesses only, for a launch. Barriers and waits that order nothing are not searched for: they take most
/// of the time and are no errors.
#[salsa::tracked]
pub fn hazards<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Findings {
    match (tile_program(db, instance), thread_program(db, instance)) {
        (Ok(lowered), Ok(threads)) => {
            findings(&lowered.program, threads, Asked::Errors, &|| db.unwind_if_revision_cancelled())
        }
        _ => Findings::default(),
    }
}

/// Selects the findings of a check.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// Accesses that nothing orders.
    Errors,
    /// Those, and barriers and waits that order nothing.
    All,
}

fn findings(tile: &TileProgram, threads: &ThreadProgram, asked: Asked, poll: &dyn Fn()) -> Findings {
    let is_shared = |id: &TensorId| matches!(tile.tensor(*id).kind, TensorKind::Shared { .. });
    // The buffers of written tensors come first; scratch memory of the compiler follows and is its own business.
    let tensors: Vec<TensorId> = tile.tensor_ids().filter(is_shared).collect();
    let is_sync = |op: OpId| tile.op(op).is_some_and(|op| matches!(op.kind, OpKind::Sync));
    let traced = Traced { program: threads, facts: &tile.facts, buffers: tensors.len(), is_sync: &is_sync };
    let traces = traces(traced, poll);
    let found = check(&traces, Rules::default(), &|_| false, poll);
    let early: BTreeSet<OpId> = found.iter().filter(|h| h.in_flight).map(|h| h.earlier.op).collect();
    let mut hazards = remedied(tile, &traces, found, poll);
    // What every launch does is the first of the traces.
    let any = &traces[0];
    let search = asked == Asked::All && hazards.is_empty();
    let mut idle = if search && any.complete { idle(&traces, poll) } else { Vec::new() };
    idle.retain(|barrier| !parts_reused_memory(any, &threads.shared, *barrier));
    let copies = copies::copies(&traces);
    let mut unwaited = copies.unwaited();
    // A copy that is used too early is told of already.
    unwaited.retain(|copy| !early.contains(&copy.op));
    // What a wait is there for may be what is missing.
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

/// The barriers that could all go at once. Layouts are left out of this: a barrier that only happens to be superfluous with
/// the layouts of this instance may be needed in the next.
fn idle(traces: &[Trace], poll: &dyn Fn()) -> Vec<OpId> {
    let hazards = |without: &[OpId], most: usize| {
        let rules = Rules { without, any_thread: true, ..Rules::default() };
        check(traces, rules, &|found| found.len() > most, poll).len()
    };
    let given = hazards(&[], usize::MAX);
    let mut idle = Vec::new();
    for &barrier in traces[0].barriers.iter().rev() {
        idle.push(barrier);
        if hazards(&idle, given) > given {
            idle.pop();
        }
    }
    idle
}

/// Whether a barrier stands between the uses of two buffers that have the same place because of it.
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

/// The buffers that are accessed.
fn buffers(events: &[Event]) -> BTreeSet<usize> {
    let of = |event: &Event| match event {
        Event::Access(access) => BTreeSet::from([access.buffer]),
        Event::Either(then, otherwise) => &buffers(then) | &buffers(otherwise),
        _ => BTreeSet::new(),
    };
    events.iter().flat_map(of).collect()
}

/// The statement of an item's body that a range lies in, the innermost one; both relative to the item.
pub(crate) fn statement<'db>(db: &'db dyn Db, item: Item<'db>, range: TextRange) -> Option<TextRange> {
    let map = body_source_map(db, item)?;
    let around = map.stmts.iter().filter(|(_, found): &(StmtId, _)| found.contains_range(range));
    around.map(|(_, found)| *found).min_by_key(|found| found.len())
}

/// The innermost statement of an item's body that a statement stands in; both relative to the item.
pub(crate) fn statement_around<'db>(db: &'db dyn Db, item: Item<'db>, stmt: TextRange) -> Option<TextRange> {
    let map = body_source_map(db, item)?;
    let around = map.stmts.iter().map(|(_, found)| *found);
    around
        .filter(|found| found.contains_range(stmt) && found.len() > stmt.len())
        .min_by_key(|found| found.len())
}

/// The last statement of an item's body; relative to the item.
pub(crate) fn last_statement<'db>(db: &'db dyn Db, item: Item<'db>) -> Option<TextRange> {
    let map = body_source_map(db, item)?;
    let all = map.stmts.iter().map(|(_, found)| *found);
    all.max_by_key(|found| (found.end(), found.len()))
}
