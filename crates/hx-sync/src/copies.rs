//! Finds copies without a wait, waits without a copy, and shared tensors that are read but never written.

use std::collections::{BTreeMap, BTreeSet};

use hx_thread::{Control, Memory, Stmt, visit, visit_leaves};
use hx_tile::{Completion, OpId, TensorId};

use crate::event::Event;
use crate::trace::Trace;

/// An asynchronous copy that no wait covers in any round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwaited {
    /// The operation of the copy.
    pub op: OpId,
    /// The shared tensor that it fills.
    pub tensor: TensorId,
    /// Whether some statement reads the tensor.
    pub read: bool,
    /// Whether no commit closes its group either.
    pub open: bool,
}

/// The copies and waits on all paths through some traces. If only a launch decides between two branches, a copy counts as
/// waited for when either branch waits for it, so that no finding concerns a path that no launch takes.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// Every asynchronous copy, with the buffer that it fills.
    begun: BTreeMap<OpId, usize>,
    /// The copies that some wait covers.
    waited: BTreeSet<OpId>,
    /// The copies whose group some commit closes.
    closed: BTreeSet<OpId>,
    /// All waits for copies.
    waits: BTreeSet<OpId>,
    /// The waits that complete at least one group.
    useful: BTreeSet<OpId>,
    /// The buffers that are read.
    read: BTreeSet<usize>,
}

/// The copies that one commit closes, and whether a wait has completed them.
#[derive(Debug, Clone, Default)]
struct Group {
    copies: BTreeSet<OpId>,
    done: bool,
}

/// Collects the copies and waits of some traces.
pub(crate) fn copies(traces: &[Trace]) -> Copies {
    let mut copies = Copies::default();
    for trace in traces {
        copies.events(&trace.events, &mut vec![Group::default()]);
    }
    copies
}

impl Copies {
    /// Returns the copies that no wait covers. The `tensor` of each still holds the number of its buffer.
    pub(crate) fn unwaited(&self) -> Vec<Unwaited> {
        let unwaited = self.begun.iter().filter(|(op, _)| !self.waited.contains(op));
        let describe = |(&op, &buffer): (&OpId, &usize)| Unwaited {
            op,
            tensor: TensorId(buffer as u32),
            read: self.read.contains(&buffer),
            open: !self.closed.contains(&op),
        };
        unwaited.map(describe).collect()
    }

    /// Returns the waits that never wait, because they leave at least as many groups as are in flight. An empty group counts
    /// as in flight, so that a pipeline may commit one in each of its rounds and wait for all of them at its end.
    pub(crate) fn idle_waits(&self) -> Vec<OpId> {
        self.waits.difference(&self.useful).copied().collect()
    }

    /// Follows events. The last of the groups is the open one.
    fn events(&mut self, events: &[Event], groups: &mut Vec<Group>) {
        for event in events {
            match event {
                Event::Commit(_) => {
                    self.closed.extend(groups.last().into_iter().flat_map(|group| &group.copies));
                    groups.push(Group::default());
                }
                Event::Wait(op, most) => self.wait(*op, *most, groups),
                // A copy that signals a barrier is in no group.
                Event::Access(access) if access.completion == Completion::Group => {
                    self.begun.insert(access.op, access.buffer);
                    groups.last_mut().map(|open| open.copies.insert(access.op));
                }
                Event::Access(access) if !access.write => _ = self.read.insert(access.buffer),
                Event::Product(access) => _ = self.read.insert(access.buffer),
                Event::Either(then, otherwise) => {
                    let mut other = groups.clone();
                    self.events(then, groups);
                    self.events(otherwise, &mut other);
                    join(groups, other);
                }
                Event::Only(_, events) => self.events(events, groups),
                Event::Access(_)
                | Event::Begin(_)
                | Event::Begun(_)
                | Event::CommitProducts
                | Event::WaitProducts(_)
                | Event::Await(..)
                | Event::Arrive(..)
                | Event::Barrier(_)
                | Event::WarpBarrier
                | Event::Left(_) => {}
            }
        }
    }

    fn wait(&mut self, op: OpId, most: u32, groups: &mut [Group]) {
        self.waits.insert(op);
        let done = (groups.len() - 1).saturating_sub(most as usize);
        for group in groups[..done].iter_mut().filter(|group| !group.done) {
            self.useful.insert(op);
            self.waited.extend(&group.copies);
            group.done = true;
        }
    }
}

/// Joins the groups of two branches. The result has as many groups as the longer list, each with the copies of both. A group
/// is in flight if it is in flight in either branch.
fn join(groups: &mut Vec<Group>, mut other: Vec<Group>) {
    if other.len() > groups.len() {
        std::mem::swap(groups, &mut other);
    }
    for (mine, theirs) in groups.iter_mut().zip(other) {
        mine.copies.extend(theirs.copies);
        mine.done &= theirs.done;
    }
}

/// Returns the shared buffers that are read but that no statement writes, with the first operation that reads each.
pub(crate) fn never_written(body: &[Stmt], buffers: usize) -> Vec<(usize, OpId)> {
    let (mut read, mut written) = (BTreeMap::new(), BTreeSet::new());
    visit(body, &mut |stmt| {
        let Stmt::Control(Control::Group(group)) = stmt else { return };
        visit_leaves(&group.body, &mut |leaf| {
            for touch in leaf.description().touches {
                let Memory::Shared(buffer) = touch.address.memory else { continue };
                let buffer = buffer as usize;
                if buffer >= buffers {
                    continue;
                } else if touch.write {
                    written.insert(buffer);
                } else {
                    read.entry(buffer).or_insert(group.op);
                }
            }
        });
    });
    read.into_iter().filter(|(buffer, _)| !written.contains(buffer)).collect()
}
