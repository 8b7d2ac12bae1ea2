//! The memory accesses of each statement and the order it imposes: [`hx_tile::Effects`] with addresses instead of views.

use hx_target::catalogue;
use hx_tile::{Completion, Order};

use crate::{Address, Stmt};

/// An address that threads read or write at a statement. The first element of a box stands for the box.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Touch<'a> {
    pub address: &'a Address,
    pub write: bool,
    pub completion: Completion,
}

/// The accesses of a statement and the order it imposes.
#[derive(Clone, PartialEq, Debug)]
pub struct Effects<'a> {
    /// The addresses of the statement itself, not of the statements inside it.
    pub touches: Vec<Touch<'a>>,
    pub order: Order,
}

impl Stmt {
    /// Returns the accesses of the statement and the order it imposes. [`Stmt::Put`] has no accesses: it writes a buffer of its
    /// own, which no address names.
    pub fn effects(&self) -> Effects<'_> {
        let touch = |address, write, completion| Touch { address, write, completion };
        let touches = |touches| Effects { touches, order: Order::Nothing };
        let orders = |order| Effects { touches: Vec::new(), order };
        match self {
            Stmt::Transfer(transfer) => {
                let loads = catalogue().copy(&transfer.row).is_some_and(|row| row.is_load());
                touches(vec![touch(&transfer.address, !loads, Completion::AtOnce)])
            }
            Stmt::AsyncCopy(copy) => {
                let until = if copy.signals.is_some() { Completion::Barrier } else { Completion::Group };
                touches(vec![touch(&copy.src, false, until), touch(&copy.dst, true, until)])
            }
            // The address is that of another block.
            Stmt::Send(_) => touches(Vec::new()),
            Stmt::Bulk(copy) => touches(vec![touch(&copy.address, true, Completion::Barrier)]),
            Stmt::BulkStore(store) => touches(vec![touch(&store.address, false, Completion::Store)]),
            Stmt::BulkWait { leave, .. } => orders(Order::WaitStores(*leave)),
            Stmt::LoadInteger { address, .. } | Stmt::LoadIndex { address, .. } => {
                touches(vec![touch(address, false, Completion::AtOnce)])
            }
            Stmt::Barrier => orders(Order::Scope),
            Stmt::WarpBarrier => orders(Order::Warp),
            Stmt::Commit => orders(Order::Close),
            Stmt::Wait { groups } => orders(Order::Wait(*groups)),
            Stmt::MultiplyAsync(product) => {
                let starts = product.descriptors().map(|descriptor| &descriptor.start);
                touches(starts.map(|start| touch(start, false, Completion::Product)).collect())
            }
            Stmt::WaitProducts { leave, .. } => orders(Order::WaitProducts(*leave)),
            Stmt::Await { .. } => orders(Order::Await),
            Stmt::Arrive { .. } | Stmt::Expect { .. } => orders(Order::Arrive),
            Stmt::Group(_)
            | Stmt::Uniform { .. }
            | Stmt::Fence(_)
            | Stmt::CommitProducts
            | Stmt::Let { .. }
            | Stmt::For { .. }
            | Stmt::If { .. }
            | Stmt::Multiply(_)
            | Stmt::Convert(_)
            | Stmt::Fill(_)
            | Stmt::Compute(_)
            | Stmt::Exchange(_)
            | Stmt::BulkCommit
            | Stmt::While { .. }
            | Stmt::Assign { .. }
            | Stmt::LetNumber { .. }
            | Stmt::AssignNumber { .. }
            | Stmt::ReadIndex { .. }
            | Stmt::Log(_)
            | Stmt::Put(_)
            | Stmt::Roles(_)
            // A ticket orders only accesses to itself, and no address names it.
            | Stmt::Draw(_)
            | Stmt::Drawn(_)
            | Stmt::NamedSync { .. }
            | Stmt::NamedArrive { .. }
            | Stmt::WaitPrevious
            | Stmt::AllowNext => orders(Order::Nothing),
        }
    }
}
