//! The memory accesses of each statement and the order it imposes: [`hx_tile::Effects`] with addresses instead of views.

use hx_target::catalogue;
use hx_tile::{Completion, Order};

use crate::{Address, Stmt};

/// An address that threads read or write at a statement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Touch<'a> {
    pub address: &'a Address,
    pub write: bool,
    pub completion: Completion,
}

impl Stmt {
    /// Returns the addresses of the statement itself, not of the statements inside it. [`Stmt::Put`] has none: it writes a
    /// buffer of its own, which no address names.
    pub fn touches(&self) -> Vec<Touch<'_>> {
        let touch = |address, write, completion| Touch { address, write, completion };
        match self {
            Stmt::Transfer(transfer) => {
                let loads = catalogue().copy(&transfer.row).is_some_and(|row| row.is_load());
                vec![touch(&transfer.address, !loads, Completion::AtOnce)]
            }
            Stmt::AsyncCopy(copy) => {
                vec![touch(&copy.src, false, Completion::Group), touch(&copy.dst, true, Completion::Group)]
            }
            Stmt::LoadInteger { address, .. } | Stmt::LoadIndex { address, .. } => {
                vec![touch(address, false, Completion::AtOnce)]
            }
            Stmt::Group(_)
            | Stmt::Let { .. }
            | Stmt::For { .. }
            | Stmt::If { .. }
            | Stmt::Barrier
            | Stmt::WarpBarrier
            | Stmt::Multiply(_)
            | Stmt::Convert(_)
            | Stmt::Fill(_)
            | Stmt::Compute(_)
            | Stmt::Exchange(_)
            | Stmt::Commit
            | Stmt::Wait { .. }
            | Stmt::While { .. }
            | Stmt::Assign { .. }
            | Stmt::LetNumber { .. }
            | Stmt::AssignNumber { .. }
            | Stmt::Log(_)
            | Stmt::Put(_) => Vec::new(),
        }
    }

    /// Returns the order that the statement imposes.
    pub fn order(&self) -> Order {
        match self {
            Stmt::Barrier => Order::Scope,
            Stmt::WarpBarrier => Order::Warp,
            Stmt::Commit => Order::Close,
            Stmt::Wait { groups } => Order::Wait(*groups),
            Stmt::Group(_)
            | Stmt::Let { .. }
            | Stmt::For { .. }
            | Stmt::If { .. }
            | Stmt::Transfer(_)
            | Stmt::Multiply(_)
            | Stmt::Convert(_)
            | Stmt::Fill(_)
            | Stmt::Compute(_)
            | Stmt::Exchange(_)
            | Stmt::AsyncCopy(_)
            | Stmt::While { .. }
            | Stmt::Assign { .. }
            | Stmt::LoadInteger { .. }
            | Stmt::LoadIndex { .. }
            | Stmt::LetNumber { .. }
            | Stmt::AssignNumber { .. }
            | Stmt::Log(_)
            | Stmt::Put(_) => Order::Nothing,
        }
    }
}
