//! The memory accesses of each statement and the order it imposes: [`hx_tile::Effects`] with addresses instead of views.

use hx_target::{AsynchronousAccess, Completion, Form, Proxy, Space};
use hx_tile::Order;

use crate::{Address, AsyncCopy, Bulk, BulkStore, Stmt};

/// An address that threads read or write at a statement. The first element of a box, a run or a matrix operand stands for all
/// of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Touch<'a> {
    pub address: &'a Address,
    pub write: bool,
    pub proxy: Proxy,
    pub completion: Completion,
}

/// The accesses of a statement and the order it imposes.
#[derive(Clone, PartialEq, Debug)]
pub struct Effects<'a> {
    /// The addresses of the statement itself, not of the statements inside it.
    pub touches: Vec<Touch<'a>>,
    pub order: Order,
}

impl<'a> Touch<'a> {
    /// Returns an access by the threads themselves, complete at the end of the statement.
    fn at_once(address: &'a Address, write: bool) -> Touch<'a> {
        Touch { address, write, proxy: Proxy::Generic, completion: Completion::AtOnce }
    }

    fn of(address: &'a Address, access: AsynchronousAccess) -> Touch<'a> {
        Touch { address, write: access.mode.writes(), proxy: access.proxy, completion: access.until }
    }
}

impl Stmt {
    /// Returns the accesses of the statement and the order it imposes. The accesses leave out the global memory of a bulk
    /// copy, the shared memory of other blocks, counters with their tickets, and the log of a [`Stmt::Put`].
    pub fn effects(&self) -> Effects<'_> {
        let touches = |touches| Effects { touches, order: Order::Nothing };
        let orders = |order| Effects { touches: Vec::new(), order };
        let touch = |form: Form, address, space| Touch::of(address, form.asynchronous().access(space));
        match self {
            Stmt::Transfer(transfer) => {
                let loads = transfer.row.is_load();
                touches(vec![Touch::at_once(&transfer.address, !loads)])
            }
            Stmt::AsyncCopy(copy) => {
                let form = copy.form();
                touches(vec![touch(form, &copy.src, Space::Global), touch(form, &copy.dst, Space::Shared)])
            }
            // The elements go to the memory of another block, so this block does not touch them.
            Stmt::Send(_) => touches(Vec::new()),
            Stmt::Bulk(Bulk { row, address, .. }) | Stmt::BulkStore(BulkStore { row, address, .. }) => {
                touches(vec![touch(row.form(), address, Space::Shared)])
            }
            Stmt::BulkWait { leave, read } => orders(Order::WaitStores { leave: *leave, read: *read }),
            Stmt::LoadInteger { address, .. } | Stmt::LoadIndex { address, .. } => {
                touches(vec![Touch::at_once(address, false)])
            }
            Stmt::Barrier => orders(Order::Scope),
            Stmt::WarpBarrier => orders(Order::Warp),
            Stmt::Commit => orders(Order::Close),
            Stmt::Wait { groups } => orders(Order::Wait(*groups)),
            Stmt::MultiplyAsync(product) => {
                let starts = product.descriptors().map(|descriptor| &descriptor.start);
                touches(starts.map(|start| touch(Form::Product, start, Space::Shared)).collect())
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

impl AsyncCopy {
    /// Returns the form of the copy, by which the table of asynchronous instructions lists its accesses.
    pub fn form(&self) -> Form {
        if self.signals.is_some() { Form::CopyToBarrier } else { Form::CopyInGroup }
    }
}
