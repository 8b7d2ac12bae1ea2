//! How a register tensor with a known layout meets a memory: which instruction, how wide, and why not wider.

pub(crate) mod alignment;
pub(crate) mod collective;
pub(crate) mod global;
mod run;
pub(crate) mod vector;

pub(crate) use run::{Run, is_packed};

use hx_layout::{Layout, LayoutError};
use hx_target::CopyRow;
use hx_tile::{Base, CopyChoice, Op, OpKind, Reason, TensorId, TileMode, View, modes_layout};

use crate::distribution::Placed;

/// A copy between a register tensor and a memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer<'p> {
    pub(crate) op: &'p Op,
    pub(crate) register: TensorId,
    pub(crate) memory: &'p View,
    pub(crate) is_load: bool,
}

impl<'p> Transfer<'p> {
    pub(crate) fn of(op: &'p Op) -> Option<Transfer<'p>> {
        if let OpKind::AtomicAdd { src, dst } = &op.kind {
            return Some(Transfer { op, register: *src, memory: dst, is_load: false });
        }
        let OpKind::Copy { src, dst } = &op.kind else { return None };
        match (src.register(), dst.register()) {
            (None, Some(register)) => Some(Transfer { op, register, memory: src, is_load: true }),
            (Some(register), None) => Some(Transfer { op, register, memory: dst, is_load: false }),
            _ => None,
        }
    }

    /// It adds to memory instead of writing it.
    pub(crate) fn adds(&self) -> bool {
        matches!(self.op.kind, OpKind::AtomicAdd { .. })
    }

    /// The shared tensor, if that is the memory.
    pub(crate) fn shared(&self) -> Option<TensorId> {
        match self.memory.base {
            Base::Shared(t) => Some(t),
            _ => None,
        }
    }
}

/// One way to make a copy of one instruction.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) row: &'static CopyRow,
    pub(crate) tile: Vec<i64>,
    /// What threads address, by thread.
    pub(crate) thread: Vec<TileMode>,
    /// The elements of one address, as they lie one after the other.
    pub(crate) run: Run,
    /// Positions in registers of the values of one instruction, as modes.
    pub(crate) values: Vec<(i64, i64)>,
    /// What successive instructions address, with the strides of their positions.
    pub(crate) issue: Vec<Placed>,
}

impl Access {
    pub(crate) fn issues(&self) -> i64 {
        self.issue.iter().map(|p| p.mode.extent).product()
    }

    /// The coordinate that `thread` addresses in issue `issue`.
    pub(crate) fn coordinate(&self, thread: i64, issue: i64) -> Vec<i64> {
        let mut at = vec![0; self.tile.len()];
        let modes = self.thread.iter().map(|m| (m, true)).chain(self.issue.iter().map(|p| (&p.mode, false)));
        let (mut thread, mut issue) = (thread, issue);
        for (mode, is_thread) in modes {
            let rest = if is_thread { &mut thread } else { &mut issue };
            let digit = *rest % mode.extent;
            *rest /= mode.extent;
            for (a, s) in at.iter_mut().zip(&mode.strides) {
                *a += s * digit;
            }
        }
        at
    }

    /// Whether a thread takes part; of threads that address the same element in a store, the lowest does.
    pub(crate) fn stores(&self, thread: i64) -> bool {
        let mut rest = thread;
        self.thread.iter().all(|mode| {
            let digit = rest % mode.extent;
            rest /= mode.extent;
            !mode.is_still() || digit == 0
        })
    }

    /// The choice of a copy that no register takes part in.
    fn to_memory_choice(&self, reason: Reason) -> Result<CopyChoice, LayoutError> {
        Ok(CopyChoice {
            row: self.row.name.clone(),
            tile: self.tile.clone(),
            memory: self.memory_layout()?,
            register: Layout::unit(),
            bytes: self.row.access,
            conflicts: None,
            reason,
        })
    }

    /// `[thread, value, issue]` → index in the tile.
    fn memory_layout(&self) -> Result<Layout, LayoutError> {
        let issue: Vec<TileMode> = self.issue.iter().map(|p| p.mode.clone()).collect();
        Layout::concat(&[
            modes_layout(&self.thread, &self.tile)?,
            modes_layout(&self.run.modes(self.tile.len()), &self.tile)?,
            modes_layout(&issue, &self.tile)?,
        ])
    }

    pub(crate) fn to_choice(&self, reason: Reason) -> Result<CopyChoice, LayoutError> {
        if self.row.is_async() {
            return self.to_memory_choice(reason);
        }
        let positions: Vec<(i64, i64)> =
            self.issue.iter().filter(|p| p.mode.extent != 1).map(|p| (p.mode.extent, p.position)).collect();
        Ok(CopyChoice {
            row: self.row.name.clone(),
            tile: self.tile.clone(),
            memory: self.memory_layout()?,
            register: Layout::concat(&[Layout::flat(&self.values)?, Layout::flat(&positions)?])?,
            bytes: self.row.access,
            conflicts: None,
            reason,
        })
    }
}
