//! Places the fences between accesses of threads to shared memory and the matrix instructions and bulk copies that follow them.
//!
//! Matrix instructions with descriptors read, and bulk copies read and write, through the asynchronous proxy. Such a read sees
//! a store of a thread, and such a write comes after a load or store of a thread, only if that thread executes a fence after
//! its access, and a barrier after the fence orders the two. So this pass inserts a fence directly before each barrier, and
//! each arrival at a barrier in memory, that may order an access to a buffer with asynchronous accesses. A copy in groups
//! counts as a store once a wait may have covered it. A copy that signals a barrier in memory completes while its thread
//! executes other statements, so the threads that wait for the barrier execute the fence.
//!
//! The same holds in global memory for a tensor that bulk stores write: loads and stores of threads that precede such a store
//! need a fence of global memory. There an atomic access that releases orders, too, and a thread may issue a bulk store over
//! elements that it alone has accessed. No fence is needed after a bulk store: a thread that has waited for its writes sees
//! them, because an implicit fence follows the completion (PTX ISA, "Async proxy").

use std::collections::BTreeSet;

use hx_target::Proxy;

use crate::{Address, Arrivals, Body, Drawn, Fence, Memory, Part, SharedBuffer, Stmt, TensorMap, visit};

/// Inserts the fences that a program with these shared buffers and tensor maps needs.
pub(super) fn place(body: &mut Body, shared: &[SharedBuffer], maps: &[TensorMap]) {
    let (mut buffers, mut filled) = (BTreeSet::new(), BTreeSet::new());
    visit(body, &mut |stmt| {
        for touch in stmt.effects().touches.iter().filter(|touch| touch.proxy == Proxy::Asynchronous) {
            buffers.extend(buffer_of(touch.address));
            filled.extend(buffer_of(touch.address).filter(|_| touch.write));
        }
    });
    let stored = stored(body, maps);
    if buffers.is_empty() && stored.is_empty() {
        return;
    }
    let [buffers, filled] = [buffers, filled].map(|buffers| in_the_memory_of(shared, &buffers));
    let mut signalled = BTreeSet::new();
    visit(body, &mut |stmt| {
        if let Stmt::AsyncCopy(copy) = stmt
            && buffer_of(&copy.dst).is_some_and(|buffer| buffers.contains(&buffer))
        {
            signalled.extend(copy.signals);
        }
    });
    Fences { buffers, filled, signalled, stored }.body(body, Accesses::default(), true);
}

/// The accesses of threads that no fence has followed.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Accesses {
    /// A store to one of [`Fences::buffers`], a copy into one that a wait may have covered, or a load from one that bulk
    /// copies fill.
    done: bool,
    /// A copy of a closed group into one of the buffers that may be in flight.
    flying: bool,
    /// A copy into one of the buffers whose group is open.
    open: bool,
    /// A load from a tensor in global memory that bulk stores write, a store to it, or a copy from it that a wait may have
    /// covered.
    global: bool,
    /// A copy from such a tensor that may be in flight.
    source: bool,
}

impl Accesses {
    fn or(self, other: Accesses) -> Accesses {
        Accesses {
            done: self.done || other.done,
            flying: self.flying || other.flying,
            open: self.open || other.open,
            global: self.global || other.global,
            source: self.source || other.source,
        }
    }
}

struct Fences {
    /// The shared buffers that descriptors and bulk copies refer to, and those that share memory with one.
    buffers: BTreeSet<u32>,
    /// The shared buffers that bulk copies fill, and those that share memory with one.
    filled: BTreeSet<u32>,
    /// The barriers in memory that copies into these buffers signal.
    signalled: BTreeSet<u32>,
    /// The parameters that bulk stores write.
    stored: BTreeSet<u32>,
}

impl Fences {
    /// Follows a body and returns the accesses at its end. Inserts fences if `insert`.
    fn body(&self, body: &mut Body, mut accesses: Accesses, insert: bool) -> Accesses {
        let mut at = 0;
        while at < body.len() {
            if orders(&body[at]) && accesses.done {
                accesses.done = false;
                if insert {
                    body.insert(at, Stmt::Fence(Fence::Proxy));
                    at += 1;
                }
            }
            if accesses.global && self.orders_global(&body[at]) {
                accesses.global = false;
                if insert {
                    body.insert(at, Stmt::Fence(Fence::GlobalProxy));
                    at += 1;
                }
            }
            accesses = self.stmt(&mut body[at], accesses, insert);
            at += 1;
            let signalled =
                matches!(&body[at - 1], Stmt::Await { barrier, .. } if self.signalled.contains(barrier));
            if signalled && insert {
                body.insert(at, Stmt::Fence(Fence::Proxy));
                at += 1;
            }
        }
        accesses
    }

    /// Follows the body of a loop until the state before its rounds no longer grows.
    fn rounds(&self, body: &mut Body, accesses: Accesses, insert: bool) -> Accesses {
        let mut before = accesses;
        loop {
            let joined = before.or(self.body(body, before, false));
            if joined == before {
                return before.or(self.body(body, before, insert));
            }
            before = joined;
        }
    }

    fn stmt(&self, stmt: &mut Stmt, accesses: Accesses, insert: bool) -> Accesses {
        match stmt {
            Stmt::Group(group) => self.body(&mut group.body, accesses, insert),
            Stmt::For { body, .. } | Stmt::While { body, .. } | Stmt::Drawn(Drawn { body, .. }) => {
                self.rounds(body, accesses, insert)
            }
            Stmt::If { then, otherwise, .. } => {
                self.body(then, accesses, insert).or(self.body(otherwise, accesses, insert))
            }
            Stmt::Roles(roles) => {
                let each = roles.iter_mut().map(|role| self.body(&mut role.body, accesses, insert));
                each.fold(Accesses::default(), Accesses::or)
            }
            Stmt::Transfer(transfer) => {
                let loads = transfer.row.is_load();
                let buffers = if loads { &self.filled } else { &self.buffers };
                let global = accesses.global || self.is_stored(&transfer.address);
                Accesses { done: accesses.done || is_in(buffers, &transfer.address), global, ..accesses }
            }
            Stmt::AsyncCopy(copy) if copy.signals.is_some() => {
                Accesses { source: accesses.source || self.is_stored(&copy.src), ..accesses }
            }
            Stmt::LoadInteger { address, .. } | Stmt::LoadIndex { address, .. } => {
                Accesses { done: accesses.done || is_in(&self.filled, address), ..accesses }
            }
            Stmt::AsyncCopy(copy) => {
                let source = accesses.source || self.is_stored(&copy.src);
                Accesses { open: accesses.open || is_in(&self.buffers, &copy.dst), source, ..accesses }
            }
            Stmt::Commit => Accesses { flying: accesses.flying || accesses.open, open: false, ..accesses },
            Stmt::Wait { groups } => Accesses {
                done: accesses.done || accesses.flying,
                flying: accesses.flying && *groups > 0,
                global: accesses.global || accesses.source,
                ..accesses
            },
            Stmt::Await { .. } => Accesses { global: accesses.global || accesses.source, ..accesses },
            Stmt::Let { .. }
            | Stmt::ReadIndex { .. }
            | Stmt::Uniform { .. }
            | Stmt::Barrier
            | Stmt::WarpBarrier
            | Stmt::Send(_)
            | Stmt::Bulk(_)
            | Stmt::BulkStore(_)
            | Stmt::BulkCommit
            | Stmt::BulkWait { .. }
            | Stmt::NamedSync { .. }
            | Stmt::NamedArrive { .. }
            | Stmt::WaitPrevious
            | Stmt::AllowNext
            | Stmt::Arrive { .. }
            | Stmt::Expect { .. }
            | Stmt::Draw(_)
            | Stmt::Multiply(_)
            | Stmt::MultiplyAsync(_)
            | Stmt::Fence(_)
            | Stmt::CommitProducts
            | Stmt::WaitProducts { .. }
            | Stmt::Convert(_)
            | Stmt::Fill(_)
            | Stmt::Compute(_)
            | Stmt::Exchange(_)
            | Stmt::Assign { .. }
            | Stmt::LetNumber { .. }
            | Stmt::AssignNumber { .. }
            | Stmt::Log(_)
            | Stmt::Put(_) => accesses,
        }
    }

    fn is_stored(&self, address: &Address) -> bool {
        matches!(address.memory, Memory::Global(param) if self.stored.contains(&param))
    }

    /// Reports whether the statement may order earlier accesses of its threads to global memory before bulk stores, of other
    /// threads or their own.
    fn orders_global(&self, stmt: &Stmt) -> bool {
        if let Stmt::Transfer(transfer) = stmt {
            return transfer.atomic.as_ref().is_some_and(|atomic| atomic.order.releases());
        }
        orders(stmt) || matches!(stmt, Stmt::BulkStore(_))
    }
}

/// Returns the parameters that bulk stores write.
fn stored(body: &Body, maps: &[TensorMap]) -> BTreeSet<u32> {
    let mut stored = BTreeSet::new();
    visit(body, &mut |stmt| {
        let Stmt::BulkStore(store) = stmt else { return };
        match &store.to {
            Part::Box { map, .. } => stored.extend(maps.get(*map as usize).map(|map| map.param)),
            Part::Run { first: Address { memory: Memory::Global(param), .. }, .. } => {
                stored.insert(*param);
            }
            Part::Run { .. } => {}
        }
    });
    stored
}

/// Returns the buffers that have memory in common with one of `buffers`: tensors that are not live at the same time share it.
fn in_the_memory_of(shared: &[SharedBuffer], buffers: &BTreeSet<u32>) -> BTreeSet<u32> {
    let range = |buffer: &SharedBuffer| buffer.offset..buffer.offset + buffer.bytes;
    let meets = |buffer: &SharedBuffer| {
        let own = range(buffer);
        buffers
            .iter()
            .filter_map(|other| shared.get(*other as usize))
            .map(range)
            .any(|other| own.start < other.end && other.start < own.end)
    };
    (0..).zip(shared).filter(|(_, buffer)| meets(buffer)).map(|(number, _)| number).collect()
}

/// Reports whether a statement orders accesses of its threads before those of others.
fn orders(stmt: &Stmt) -> bool {
    // An arrival of copies orders nothing but these copies.
    let arrives = matches!(stmt, Stmt::Arrive { by: Arrivals::Warps | Arrivals::Groups, .. });
    arrives || matches!(stmt, Stmt::Barrier | Stmt::NamedSync { .. } | Stmt::NamedArrive { .. })
}

fn is_in(buffers: &BTreeSet<u32>, address: &Address) -> bool {
    buffer_of(address).is_some_and(|buffer| buffers.contains(&buffer))
}

fn buffer_of(address: &Address) -> Option<u32> {
    match address.memory {
        Memory::Shared(buffer) => Some(buffer),
        Memory::Global(_) => None,
    }
}
