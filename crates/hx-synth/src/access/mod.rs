//! Accesses between a register tensor with a known layout and a memory: which instruction, how wide, and why not wider.

pub(crate) mod alignment;
pub(crate) mod collective;
pub(crate) mod global;
mod run;
pub(crate) mod vector;

pub(crate) use run::{Run, Step, is_packed};

use std::cell::OnceCell;

use hx_dtype::DType;
use hx_layout::{Layout, LayoutError};
use hx_target::{AtomicForm, CopyRow, Limits, Space, Target};
use hx_tile::{CopyChoice, Op, OpKind, Reason, TensorId, TileMode, View, modes_layout};

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
        if let OpKind::Atomic(atomic) = &op.kind {
            let (register, memory) = (atomic.value, &atomic.memory);
            return Some(Transfer { op, register, memory, is_load: atomic.is_load() });
        }
        let OpKind::Copy { src, dst } = &op.kind else { return None };
        match (src.register(), dst.register()) {
            (None, Some(register)) => Some(Transfer { op, register, memory: src, is_load: true }),
            (Some(register), None) => Some(Transfer { op, register, memory: dst, is_load: false }),
            _ => None,
        }
    }

    /// Returns the form of the instruction, if the access is atomic.
    pub(crate) fn atomic(&self, dtype: DType) -> Option<AtomicForm> {
        let OpKind::Atomic(atomic) = &self.op.kind else { return None };
        Some(AtomicForm { op: atomic.op, dtype, returns: atomic.old.is_some() })
    }

    /// Returns the instructions for elements of this type, widest first. Elements that index tensors pick are moved one at a time.
    pub(crate) fn rows(&self, dtype: DType, target: Target) -> Vec<&'static CopyRow> {
        let memory = self.memory.base.space();
        let all: Vec<&'static CopyRow> = match self.atomic(dtype) {
            Some(form) => target.rows().atomics_of(form, memory).collect(),
            None if self.is_load => target.rows().copies_between(memory, Space::Register).collect(),
            None => target.rows().copies_between(Space::Register, memory).collect(),
        };
        let is_single =
            |row: &&CopyRow| !row.is_collective() && row.atom(dtype).is_some_and(|atom| atom.values == 1);
        let picks = !self.memory.picks().is_empty();
        all.into_iter().filter(|row| !picks || is_single(row)).collect()
    }

    /// Returns the shared tensor, if the memory is one.
    pub(crate) fn shared(&self) -> Option<TensorId> {
        self.memory.base.shared()
    }
}

/// A way to implement a copy with one kind of instruction, which each thread executes once for each issue.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) row: &'static CopyRow,
    /// The limits of the target.
    pub(crate) limits: &'static Limits,
    pub(crate) tile: Vec<i64>,
    /// The coordinates that threads address, by thread.
    pub(crate) thread: Vec<TileMode>,
    /// The elements of one address, in their order in memory.
    pub(crate) run: Run,
    /// Positions in registers of the values of one instruction, as `(extent, stride)` modes.
    pub(crate) values: Vec<(i64, i64)>,
    /// The coordinates that successive instructions address, with the strides of their positions among a thread's values.
    pub(crate) issue: Vec<Placed>,
    /// The cached result of [`Access::phases`].
    pub(crate) phases: OnceCell<i64>,
    /// The cached result of [`Access::busy`].
    pub(crate) busy: OnceCell<Busy>,
}

/// The numbers of threads and warps that address elements of the tile: fewer than all if the threads do not divide the tile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Busy {
    /// For each issue, the number of threads that address an element.
    pub(crate) threads: Vec<i64>,
    /// The number of warps with such a thread, summed over the issues.
    pub(crate) warps: i64,
}

impl Access {
    pub(crate) fn issues(&self) -> i64 {
        self.issue.iter().map(|p| p.mode.extent).product()
    }

    /// Returns the coordinate that `thread` addresses in issue `issue`.
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

    /// Reports whether a thread takes part in a store. Of the threads that address the same element, only the lowest does.
    pub(crate) fn stores(&self, thread: i64) -> bool {
        let mut rest = thread;
        self.thread.iter().all(|mode| {
            let digit = rest % mode.extent;
            rest /= mode.extent;
            !mode.is_still() || digit == 0
        })
    }

    /// Returns how many lanes one phase serves together: as many as fill a wavefront.
    pub(crate) fn lanes_per_phase(&self) -> u32 {
        (self.limits.wavefront_bytes() / self.row.access).clamp(1, self.limits.lanes)
    }

    /// Returns the phases of one execution by a scope of `threads` threads in which some lane addresses an element of a tile of
    /// extents `shape`: the wavefronts without bank conflicts. An access belongs to one tile and one number of threads, so the
    /// count is cached.
    pub(crate) fn phases(&self, threads: u32, shape: &[i64]) -> i64 {
        *self.phases.get_or_init(|| self.counted_phases(threads, shape))
    }

    /// Returns the threads and warps of a scope of `threads` threads that address elements of a tile of extents `shape`. The count is
    /// cached, as that of [`Access::phases`].
    pub(crate) fn busy(&self, threads: u32, shape: &[i64]) -> &Busy {
        self.busy.get_or_init(|| self.counted_busy(threads, shape))
    }

    fn counted_busy(&self, threads: u32, shape: &[i64]) -> Busy {
        let issues = self.issues();
        if self.tile == shape {
            let warps = issues * i64::from(threads.div_ceil(self.limits.lanes));
            return Busy { threads: vec![i64::from(threads); issues as usize], warps };
        }
        // A coordinate is the sum of the thread's part and the issue's part.
        let by_thread: Vec<Vec<i64>> = (0..i64::from(threads)).map(|t| self.coordinate(t, 0)).collect();
        let mut busy = Busy { threads: Vec::new(), warps: 0 };
        for issue in 0..issues {
            let by_issue = self.coordinate(0, issue);
            let is_within =
                |at: &&Vec<i64>| at.iter().zip(&by_issue).zip(shape).all(|((t, i), e)| t + i < *e);
            let warps = by_thread
                .chunks(self.limits.lanes as usize)
                .map(|warp| warp.iter().filter(is_within).count() as i64);
            let warps: Vec<i64> = warps.collect();
            busy.threads.push(warps.iter().sum());
            busy.warps += warps.iter().filter(|lanes| **lanes > 0).count() as i64;
        }
        busy
    }

    fn counted_phases(&self, threads: u32, shape: &[i64]) -> i64 {
        let (lanes, addressing) = self.row.addressing();
        let (lanes, addressing) = (i64::from(lanes), i64::from(addressing));
        let is_load = self.row.to == Space::Register;
        let is_active = |t: i64| t % lanes < addressing && (is_load || self.stores(t));
        let active: Vec<bool> = (0..i64::from(threads)).map(is_active).collect();
        let (warp, phase) = (self.limits.lanes.min(threads) as usize, self.lanes_per_phase() as usize);
        let phases = |active: &[bool]| -> i64 {
            let of_warp = |warp: &[bool]| warp.chunks(phase).filter(|lanes| lanes.contains(&true)).count();
            active.chunks(warp).map(of_warp).sum::<usize>() as i64
        };
        if self.tile == shape {
            return self.issues() * phases(&active);
        }
        // A coordinate is the sum of the thread's part and the issue's part.
        let by_thread: Vec<Vec<i64>> = (0..i64::from(threads)).map(|t| self.coordinate(t, 0)).collect();
        let of_issue = |issue: i64| {
            let by_issue = self.coordinate(0, issue);
            let is_within = |at: &Vec<i64>| at.iter().zip(&by_issue).zip(shape).all(|((t, i), e)| t + i < *e);
            let within: Vec<bool> =
                by_thread.iter().zip(&active).map(|(at, a)| *a && is_within(at)).collect();
            phases(&within)
        };
        (0..self.issues()).map(of_issue).sum()
    }

    /// Returns the choice of a copy that bypasses the registers.
    ///
    /// # Errors
    /// A [`LayoutError`] if the layout of the accesses is too large.
    fn to_memory_choice(&self, reason: Reason) -> Result<CopyChoice, LayoutError> {
        Ok(CopyChoice {
            row: self.row.into(),
            tile: self.tile.clone(),
            memory: self.memory_layout()?,
            register: Layout::unit(),
            companions: Vec::new(),
            spread: None,
            bytes: self.row.access,
            conflicts: None,
            reason,
        })
    }

    /// Returns the layout that maps `[thread, value, issue]` to the index in the tile.
    ///
    /// # Errors
    /// A [`LayoutError`] if it is too large.
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
            row: self.row.into(),
            tile: self.tile.clone(),
            memory: self.memory_layout()?,
            register: Layout::concat(&[Layout::flat(&self.values)?, Layout::flat(&positions)?])?,
            companions: Vec::new(),
            spread: None,
            bytes: self.row.access,
            conflicts: None,
            reason,
        })
    }
}
