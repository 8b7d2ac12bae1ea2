//! Copies that nothing waits for, waits for nothing, and shared tensors that are read but never written.

use std::collections::{BTreeMap, BTreeSet};

use hx_target::catalogue;
use hx_thread::{Address, Memory, Stmt};
use hx_tile::{OpId, TensorId};

use super::{
    scan,
    trace::{Event, Trace},
};

/// An asynchronous copy of which no round is ever waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwaited {
    /// The copy.
    pub op: OpId,
    /// The shared tensor that it fills.
    pub tensor: TensorId,
    /// Something reads the tensor.
    pub read: bool,
    /// Nothing closes its group either.
    pub open: bool,
}

/// What becomes of copies on all ways through some traces. Where only a launch knows the way, what either of the two does is
/// taken to be done, so that nothing is told of a way that nobody takes.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// Every asynchronous copy, with the buffer that it fills.
    begun: BTreeMap<OpId, usize>,
    /// Those that something waits for.
    waited: BTreeSet<OpId>,
    /// Those whose group is closed.
    closed: BTreeSet<OpId>,
    /// Every wait.
    waits: BTreeSet<OpId>,
    /// Those that wait for a group.
    useful: BTreeSet<OpId>,
    /// The buffers that are read.
    read: BTreeSet<usize>,
}

/// Copies that belong together, until something waits for them.
#[derive(Debug, Clone, Default)]
struct Group {
    copies: BTreeSet<OpId>,
    done: bool,
}

/// Follows some traces.
pub(super) fn copies(traces: &[Trace]) -> Copies {
    let mut copies = Copies::default();
    for trace in traces {
        copies.events(&trace.events, &mut vec![Group::default()]);
    }
    copies
}

impl Copies {
    /// The copies that nothing ever waits for; the tensor of each is still the number of its buffer.
    pub(super) fn unwaited(&self) -> Vec<Unwaited> {
        let unwaited = self.begun.iter().filter(|(op, _)| !self.waited.contains(op));
        let describe = |(&op, &buffer): (&OpId, &usize)| Unwaited {
            op,
            tensor: TensorId(buffer as u32),
            read: self.read.contains(&buffer),
            open: !self.closed.contains(&op),
        };
        unwaited.map(describe).collect()
    }

    /// The waits that never wait, since no more groups than they leave are in flight. An empty group counts, so that a
    /// pipeline may close one in each of its rounds and wait for all of them at its end.
    pub(super) fn idle_waits(&self) -> Vec<OpId> {
        self.waits.difference(&self.useful).copied().collect()
    }

    /// Follows events; the last of the groups is open.
    fn events(&mut self, events: &[Event], groups: &mut Vec<Group>) {
        for event in events {
            match event {
                Event::Commit(_) => {
                    self.closed.extend(groups.last().into_iter().flat_map(|group| &group.copies));
                    groups.push(Group::default());
                }
                Event::Wait(op, most) => self.wait(*op, *most, groups),
                Event::Access(access) if access.asynchronous => {
                    self.begun.insert(access.op, access.buffer);
                    groups.last_mut().map(|open| open.copies.insert(access.op));
                }
                Event::Access(access) if !access.write => _ = self.read.insert(access.buffer),
                Event::Either(then, otherwise) => {
                    let mut other = groups.clone();
                    self.events(then, groups);
                    self.events(otherwise, &mut other);
                    join(groups, other);
                }
                Event::Access(_)
                | Event::Begin(_)
                | Event::Begun(_)
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

/// After one of two ways: as many groups as either has, with the copies of both, and what either has in flight is in flight.
fn join(groups: &mut Vec<Group>, mut other: Vec<Group>) {
    if other.len() > groups.len() {
        std::mem::swap(groups, &mut other);
    }
    for (mine, theirs) in groups.iter_mut().zip(other) {
        mine.copies.extend(theirs.copies);
        mine.done &= theirs.done;
    }
}

/// The shared buffers that are read but that no statement writes, with the first operation that reads each.
pub(super) fn never_written(body: &[Stmt], buffers: usize) -> Vec<(usize, OpId)> {
    let (mut read, mut written) = (BTreeMap::new(), BTreeSet::new());
    let shared = |address: &Address| match address.memory {
        Memory::Shared(buffer) => Some(buffer as usize).filter(|buffer| *buffer < buffers),
        Memory::Global(_) => None,
    };
    scan::visit(body, &mut |stmt| {
        let Stmt::Group(group) = stmt else { return };
        scan::visit(&group.body, &mut |stmt| match stmt {
            Stmt::Transfer(transfer) => {
                let Some(buffer) = shared(&transfer.address) else { return };
                if catalogue().copy(&transfer.row).is_some_and(|row| row.is_load()) {
                    read.entry(buffer).or_insert(group.op);
                } else {
                    written.insert(buffer);
                }
            }
            Stmt::LoadIndex { address, .. } | Stmt::LoadInteger { address, .. } => {
                if let Some(buffer) = shared(address) {
                    read.entry(buffer).or_insert(group.op);
                }
            }
            Stmt::AsyncCopy(copy) => written.extend(shared(&copy.dst)),
            _ => {}
        });
    });
    read.into_iter().filter(|(buffer, _)| !written.contains(buffer)).collect()
}
