//! The description of each leaf, which answers what more than one stage asks: its instruction, its accesses to memory, the order it
//! imposes, and the local number that it sets.
//!
//! A walk that needs one of these asks the description and no list of leaves of its own, so that a new leaf is described once.

use hx_index::{Expr, Symbol};
use hx_target::{AsynchronousAccess, Completion, Form, Proxy, Space};
use hx_tile::Order;

use crate::{Address, AsyncCopy, Bulk, BulkStore, Leaf};

/// An address that threads read or write at a statement. The first element of a box, a run or a matrix operand stands for all
/// of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Touch<'a> {
    pub address: &'a Address,
    pub write: bool,
    pub proxy: Proxy,
    pub completion: Completion,
}

/// The local number that a leaf defines or changes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Local<'a> {
    pub var: &'a Symbol,
    /// The value; `None` if data decide it, or if it is no expression of integers.
    pub value: Option<&'a Expr>,
    /// True if the number was defined before.
    pub changes: bool,
}

/// What stages ask of a leaf.
#[derive(Clone, PartialEq, Debug)]
pub struct Description<'a> {
    /// The name of its instruction in the catalogue, if it is an instruction with a row.
    pub row: Option<&'static str>,
    /// The form of its instruction, if the instruction is not complete when it is issued.
    pub form: Option<Form>,
    /// The addresses that it accesses. They leave out the global memory of a bulk copy, the shared memory of other blocks, counters
    /// with their tickets, and the log of a [`Leaf::Put`].
    pub touches: Vec<Touch<'a>>,
    pub order: Order,
    pub local: Option<Local<'a>>,
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

impl<'a> Description<'a> {
    /// Reports whether the leaf accesses no memory that an address names, and orders no accesses.
    pub fn is_private(&self) -> bool {
        self.touches.is_empty() && self.order == Order::Nothing && self.form.is_none()
    }

    /// Describes a leaf that changes registers only.
    fn plain() -> Description<'a> {
        Description { row: None, form: None, touches: Vec::new(), order: Order::Nothing, local: None }
    }

    fn row(row: &'static str) -> Description<'a> {
        Description { row: Some(row), ..Description::plain() }
    }

    fn orders(order: Order) -> Description<'a> {
        Description { order, ..Description::plain() }
    }

    fn sets(var: &'a Symbol, value: Option<&'a Expr>, changes: bool) -> Description<'a> {
        Description { local: Some(Local { var, value, changes }), ..Description::plain() }
    }

    fn touch(mut self, touch: Touch<'a>) -> Description<'a> {
        self.touches.push(touch);
        self
    }

    fn form(self, form: Form) -> Description<'a> {
        Description { form: Some(form), ..self }
    }

    /// Adds the access that instructions of the form make to this space.
    fn at(self, address: &'a Address, space: Space) -> Description<'a> {
        match self.form {
            Some(form) => self.touch(Touch::of(address, form.asynchronous().access(space))),
            None => self,
        }
    }
}

impl Leaf {
    /// Returns the description of the leaf.
    pub fn description(&self) -> Description<'_> {
        match self {
            Leaf::Transfer(transfer) => Description::row(transfer.row.name())
                .touch(Touch::at_once(&transfer.address, !transfer.row.is_load())),
            Leaf::AsyncCopy(copy) => Description::row(copy.row.name())
                .form(copy.form())
                .at(&copy.src, Space::Global)
                .at(&copy.dst, Space::Shared),
            // The elements go to the memory of another block, so this block does not touch them.
            Leaf::Send(send) => Description::row(send.row.name()).form(Form::Send),
            Leaf::Bulk(Bulk { row, address, .. }) | Leaf::BulkStore(BulkStore { row, address, .. }) => {
                Description::row(row.name()).form(row.form()).at(address, Space::Shared)
            }
            Leaf::MultiplyAsync(product) => {
                let described = Description::row(product.row.name()).form(product.row.form);
                let operands = product.descriptors();
                operands.fold(described, |described, operand| described.at(&operand.start, Space::Shared))
            }
            // A fetch touches no memory: see the operation.
            Leaf::Prefetch(fetch) => Description::row(fetch.row.name()),
            Leaf::Multiply(product) => Description::row(product.row.name()),
            Leaf::Exchange(exchange) => Description::row(exchange.row.name()),
            Leaf::Convert(convert) => {
                Description { row: convert.row.map(|row| row.name()), ..Description::plain() }
            }
            Leaf::LoadInteger { var, address } | Leaf::LoadIndex { var, address, .. } => {
                Description::sets(var, None, false).touch(Touch::at_once(address, false))
            }
            Leaf::Let { var, value } | Leaf::Uniform { var, value } => {
                Description::sets(var, Some(value), false)
            }
            Leaf::Assign { var, value } => Description::sets(var, Some(value), true),
            Leaf::ReadIndex { var, .. } | Leaf::LetNumber { var, .. } => Description::sets(var, None, false),
            Leaf::AssignNumber { var, .. } => Description::sets(var, None, true),
            Leaf::Barrier => Description::orders(Order::Scope),
            Leaf::WarpBarrier => Description::orders(Order::Warp),
            Leaf::Commit => Description::orders(Order::Close),
            Leaf::Wait { groups } => Description::orders(Order::Wait(*groups)),
            Leaf::WaitProducts { leave, .. } => Description::orders(Order::WaitProducts(*leave)),
            Leaf::BulkWait { leave, read } => {
                Description::orders(Order::WaitStores { leave: *leave, read: *read })
            }
            Leaf::Await { .. } => Description::orders(Order::Await),
            Leaf::Arrive { .. } | Leaf::Expect { .. } => Description::orders(Order::Arrive),
            Leaf::Fence(_)
            | Leaf::CommitProducts
            | Leaf::BulkCommit
            | Leaf::Fill(_)
            | Leaf::Compute(_)
            | Leaf::Log(_)
            | Leaf::Put(_)
            // A ticket orders only accesses to itself, and no address names it.
            | Leaf::Draw(_)
            // They order groups and roles, which the protocol of the tile program follows, and launches.
            | Leaf::NamedSync { .. }
            | Leaf::NamedArrive { .. }
            | Leaf::WaitPrevious
            | Leaf::AllowNext => Description::plain(),
        }
    }
}

impl AsyncCopy {
    /// Returns the form of the copy, by which the table of asynchronous instructions lists its accesses.
    pub fn form(&self) -> Form {
        if self.signals.is_some() { Form::CopyToBarrier } else { Form::CopyInGroup }
    }
}
