//! Places the fences between stores to shared memory and the matrix instructions and bulk copies that read it.
//!
//! Matrix instructions with descriptors and bulk copies read through the asynchronous proxy. Such a read sees a store of a
//! thread only if that thread executes a fence after the store, and a barrier after the fence orders the two. So this pass
//! inserts a fence directly before each barrier that may order a store to a buffer with asynchronous reads. A copy in groups
//! counts as a store once a wait may have covered it. A copy that signals a barrier in memory completes while its thread
//! executes other statements, so the threads that wait for the barrier execute the fence.

use std::collections::BTreeSet;

use hx_target::catalogue;

use crate::{Address, Body, Fence, Memory, Stmt, visit};

/// Inserts the fences that a program needs.
pub(super) fn place(body: &mut Body) {
    let mut buffers = BTreeSet::new();
    visit(body, &mut |stmt| {
        if let Stmt::MultiplyAsync(product) = stmt {
            buffers.extend(product.descriptors().filter_map(|d| buffer_of(&d.start)));
        }
        if let Stmt::BulkStore(store) = stmt {
            buffers.extend(buffer_of(&store.address));
        }
    });
    if buffers.is_empty() {
        return;
    }
    let mut signalled = BTreeSet::new();
    visit(body, &mut |stmt| {
        if let Stmt::AsyncCopy(copy) = stmt
            && buffer_of(&copy.dst).is_some_and(|buffer| buffers.contains(&buffer))
        {
            signalled.extend(copy.signals);
        }
    });
    Fences { buffers, signalled }.body(body, Stores::default(), true);
}

/// The stores to the buffers that no fence has followed.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Stores {
    /// A store, or a copy that a wait may have covered.
    done: bool,
    /// A copy of a closed group that may be in flight.
    flying: bool,
    /// A copy whose group is open.
    open: bool,
}

impl Stores {
    fn or(self, other: Stores) -> Stores {
        Stores {
            done: self.done || other.done,
            flying: self.flying || other.flying,
            open: self.open || other.open,
        }
    }
}

struct Fences {
    /// The shared buffers that descriptors refer to.
    buffers: BTreeSet<u32>,
    /// The barriers in memory that copies into these buffers signal.
    signalled: BTreeSet<u32>,
}

impl Fences {
    /// Follows a body and returns the stores at its end. Inserts fences if `insert`.
    fn body(&self, body: &mut Body, mut stores: Stores, insert: bool) -> Stores {
        let mut at = 0;
        while at < body.len() {
            let orders =
                matches!(body[at], Stmt::Barrier | Stmt::NamedSync { .. } | Stmt::NamedArrive { .. });
            if orders && stores.done {
                stores.done = false;
                if insert {
                    body.insert(at, Stmt::Fence(Fence::Proxy));
                    at += 1;
                }
            }
            stores = self.stmt(&mut body[at], stores, insert);
            at += 1;
            let signalled =
                matches!(&body[at - 1], Stmt::Await { barrier, .. } if self.signalled.contains(barrier));
            if signalled && insert {
                body.insert(at, Stmt::Fence(Fence::Proxy));
                at += 1;
            }
        }
        stores
    }

    fn stmt(&self, stmt: &mut Stmt, stores: Stores, insert: bool) -> Stores {
        match stmt {
            Stmt::Group(group) => self.body(&mut group.body, stores, insert),
            Stmt::For { body, .. } | Stmt::While { body, .. } => {
                let mut before = stores;
                loop {
                    let joined = before.or(self.body(body, before, false));
                    if joined == before {
                        break;
                    }
                    before = joined;
                }
                before.or(self.body(body, before, insert))
            }
            Stmt::If { then, otherwise, .. } => {
                self.body(then, stores, insert).or(self.body(otherwise, stores, insert))
            }
            Stmt::Roles(roles) => {
                let each = roles.iter_mut().map(|role| self.body(&mut role.body, stores, insert));
                each.fold(Stores::default(), Stores::or)
            }
            Stmt::Transfer(transfer) => {
                let loads = catalogue().copy(&transfer.row).is_some_and(|row| row.is_load());
                Stores { done: stores.done || !loads && self.is_read(&transfer.address), ..stores }
            }
            Stmt::AsyncCopy(copy) if copy.signals.is_some() => stores,
            Stmt::AsyncCopy(copy) => Stores { open: stores.open || self.is_read(&copy.dst), ..stores },
            Stmt::Commit => Stores { flying: stores.flying || stores.open, open: false, ..stores },
            Stmt::Wait { groups } => {
                Stores { done: stores.done || stores.flying, flying: stores.flying && *groups > 0, ..stores }
            }
            Stmt::Let { .. }
            | Stmt::Uniform { .. }
            | Stmt::Barrier
            | Stmt::WarpBarrier
            | Stmt::Bulk(_)
            | Stmt::BulkStore(_)
            | Stmt::BulkCommit
            | Stmt::BulkWait { .. }
            | Stmt::NamedSync { .. }
            | Stmt::NamedArrive { .. }
            | Stmt::Await { .. }
            | Stmt::Arrive { .. }
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
            | Stmt::LoadInteger { .. }
            | Stmt::LoadIndex { .. }
            | Stmt::LetNumber { .. }
            | Stmt::AssignNumber { .. }
            | Stmt::Log(_)
            | Stmt::Put(_) => stores,
        }
    }

    fn is_read(&self, address: &Address) -> bool {
        buffer_of(address).is_some_and(|buffer| self.buffers.contains(&buffer))
    }
}

fn buffer_of(address: &Address) -> Option<u32> {
    match address.memory {
        Memory::Shared(buffer) => Some(buffer),
        Memory::Global(_) => None,
    }
}
