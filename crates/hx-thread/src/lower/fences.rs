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

use hx_target::{Completion, Proxy};
use hx_tile::Order;

use crate::{
    Address, Arrivals, Body, Control, Description, Drawn, Fence, Leaf, Memory, Part, SharedBuffer, Stmt,
    TensorMap, visit_leaves,
};

/// Inserts the fences that a program with these shared buffers and tensor maps needs.
pub(super) fn place(body: &mut Body, shared: &[SharedBuffer], maps: &[TensorMap]) {
    let (mut buffers, mut filled) = (BTreeSet::new(), BTreeSet::new());
    visit_leaves(body, &mut |leaf| {
        for touch in leaf.description().touches.iter().filter(|touch| touch.proxy == Proxy::Asynchronous) {
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
    visit_leaves(body, &mut |leaf| {
        if let Leaf::AsyncCopy(copy) = leaf
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
                    body.insert(at, Stmt::Leaf(Leaf::Fence(Fence::Proxy)));
                    at += 1;
                }
            }
            if accesses.global && self.orders_global(&body[at]) {
                accesses.global = false;
                if insert {
                    body.insert(at, Stmt::Leaf(Leaf::Fence(Fence::GlobalProxy)));
                    at += 1;
                }
            }
            accesses = self.stmt(&mut body[at], accesses, insert);
            at += 1;
            let signalled = matches!(&body[at - 1], Stmt::Leaf(Leaf::Await { barrier, .. }) if self.signalled.contains(barrier));
            if signalled && insert {
                body.insert(at, Stmt::Leaf(Leaf::Fence(Fence::Proxy)));
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
            Stmt::Leaf(leaf) => self.leaf(leaf, accesses),
            Stmt::Control(Control::Group(group)) => self.body(&mut group.body, accesses, insert),
            Stmt::Control(
                Control::For { body, .. } | Control::While { body, .. } | Control::Drawn(Drawn { body, .. }),
            ) => self.rounds(body, accesses, insert),
            Stmt::Control(Control::If { then, otherwise, .. }) => {
                self.body(then, accesses, insert).or(self.body(otherwise, accesses, insert))
            }
            Stmt::Control(Control::Roles(roles)) => {
                let each = roles.iter_mut().map(|role| self.body(&mut role.body, accesses, insert));
                each.fold(Accesses::default(), Accesses::or)
            }
        }
    }

    fn leaf(&self, leaf: &Leaf, mut accesses: Accesses) -> Accesses {
        let Description { touches, order, .. } = leaf.description();
        for touch in touches {
            let stored = self.is_stored(touch.address);
            match touch.completion {
                Completion::AtOnce => {
                    let buffers = if touch.write { &self.buffers } else { &self.filled };
                    accesses.done |= is_in(buffers, touch.address);
                    accesses.global |= stored;
                }
                Completion::Group => {
                    accesses.open |= touch.write && is_in(&self.buffers, touch.address);
                    accesses.source |= stored;
                }
                Completion::Barrier => accesses.source |= stored,
                Completion::Product | Completion::Store | Completion::StoreRead => {}
            }
        }
        match order {
            Order::Close => Accesses { flying: accesses.flying || accesses.open, open: false, ..accesses },
            Order::Wait(groups) => Accesses {
                done: accesses.done || accesses.flying,
                flying: accesses.flying && groups > 0,
                global: accesses.global || accesses.source,
                ..accesses
            },
            Order::Await => Accesses { global: accesses.global || accesses.source, ..accesses },
            Order::Scope
            | Order::Warp
            | Order::Arrive
            | Order::WaitProducts(_)
            | Order::WaitStores { .. }
            | Order::Nothing => accesses,
        }
    }

    fn is_stored(&self, address: &Address) -> bool {
        matches!(address.memory, Memory::Global(param) if self.stored.contains(&param))
    }

    /// Reports whether the statement may order earlier accesses of its threads to global memory before bulk stores, of other
    /// threads or their own.
    fn orders_global(&self, stmt: &Stmt) -> bool {
        if let Stmt::Leaf(Leaf::Transfer(transfer)) = stmt {
            return transfer.atomic.as_ref().is_some_and(|atomic| atomic.order.releases());
        }
        orders(stmt) || matches!(stmt, Stmt::Leaf(Leaf::BulkStore(_)))
    }
}

/// Returns the parameters that bulk stores write.
fn stored(body: &Body, maps: &[TensorMap]) -> BTreeSet<u32> {
    let mut stored = BTreeSet::new();
    visit_leaves(body, &mut |leaf| {
        let Leaf::BulkStore(store) = leaf else { return };
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
    let Stmt::Leaf(leaf) = stmt else { return false };
    // An arrival of copies orders nothing but these copies.
    let arrives = matches!(leaf, Leaf::Arrive { by: Arrivals::Warps | Arrivals::Groups, .. });
    arrives || matches!(leaf, Leaf::Barrier | Leaf::NamedSync { .. } | Leaf::NamedArrive { .. })
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
