//! Records the accesses of one statement, for each thread that executes it.

use std::rc::Rc;

use hx_index::{Cond, Expr, gcd};
use hx_target::{CopyRow, Space};
use hx_thread::{Address, AsyncCopy, AtomicUse, Memory, MultiplyAsync, Transfer};
use hx_tile::{Completion, MemoryOrder};

use super::Tracer;
use crate::column::is_among;
use crate::event::{Access, Event};
use crate::scan;

/// The addresses, the direction and the completion of an instruction's access to memory.
#[derive(Clone, Copy)]
pub(super) struct Move {
    /// The bytes at one address.
    pub(super) bytes: u32,
    /// `(n, k)`: `n` threads move data together, and the first `k` of them supply an address that counts.
    pub(super) addressing: (u32, u32),
    pub(super) write: bool,
    pub(super) atomic: bool,
    pub(super) completion: Completion,
}

impl Move {
    fn of(row: &CopyRow, write: bool, completion: Completion) -> Move {
        let atomic = row.atomic.is_some();
        Move { bytes: row.access, addressing: row.addressing(), write, atomic, completion }
    }
}

impl<'a> Tracer<'a, '_> {
    pub(super) fn transfer(&mut self, transfer: &Transfer, out: &mut Vec<Event>) {
        let row = transfer.row;
        let access = Move::of(&row, !row.is_load(), Completion::AtOnce);
        // An atomic access may carry knowledge between blocks, which a barrier may then order. This trace has one block only, so it is
        // incomplete.
        let tells = |atomic: &AtomicUse| {
            row.is_load() || atomic.old.is_some() || atomic.order != MemoryOrder::Relaxed
        };
        self.trace.complete &= !transfer.atomic.as_ref().is_some_and(tells);
        self.access(&transfer.address, access, &transfer.guard, out);
    }

    pub(super) fn async_copy(&mut self, copy: &AsyncCopy, out: &mut Vec<Event>) {
        let row = copy.row;
        self.global(&copy.src, false);
        let completion = copy.form().asynchronous().access(Space::Shared).until;
        self.access(&copy.dst, Move::of(&row, true, completion), &copy.active, out);
    }

    /// Records the elements that the groups of threads read by descriptor.
    pub(super) fn product(&mut self, product: &'a MultiplyAsync, out: &mut Vec<Event>) {
        let row = product.row;
        let completion = row.form.asynchronous().access(Space::Shared).until;
        for (descriptor, runs) in self.reads.operands(product, self.program).iter() {
            let Memory::Shared(buffer) = descriptor.start.memory else { continue };
            let buffer = buffer as usize;
            let Some(&size) = self.trace.sizes.get(buffer) else { continue };
            self.meets(buffer, &descriptor.start.offset);
            let values = self.scope.places().values(&descriptor.start.offset);
            let (mut starts, mut anywhere) = (Vec::new(), None);
            for first in (0..self.program.block_threads()).step_by(row.threads as usize) {
                if !is_among(self.scope.running.as_deref(), first as usize) {
                    continue;
                }
                match values.get(first as usize) {
                    Some(start) => starts.push((first, start)),
                    None => anywhere = Some(first),
                }
            }
            let access = Access {
                buffer,
                op: self.op,
                lanes: row.threads as u16,
                write: false,
                atomic: false,
                completion,
                anywhere: false,
                only: self.only,
                len: runs.len,
                threads: Rc::default(),
            };
            if !starts.is_empty() {
                let threads = self.reads.firsts(descriptor, runs, starts);
                out.push(Event::Product(Access { threads, ..access.clone() }));
            }
            if let Some(thread) = anywhere {
                self.trace.asks_for_places = true;
                let threads = Rc::from([(thread, 0)]);
                out.push(Event::Product(Access { anywhere: true, len: size as i64, threads, ..access }));
            }
        }
    }

    /// Records how an access at this offset limits the trace: it depends on the stage at which a loop of unknown length ended, or on
    /// rounds that were not followed.
    fn meets(&mut self, buffer: usize, offset: &Expr) {
        if let Some(stages) = self.ended.get(&buffer) {
            self.trace.stages = scan::common(self.trace.stages, *stages);
        }
        if self.partial.iter().any(|var| offset.mentions(var)) {
            self.trace.complete = false;
        }
    }

    pub(super) fn global(&mut self, address: &Address, write: bool) {
        if let Memory::Global(param) = address.memory {
            if write {
                self.written.insert(param)
            } else {
                self.read.insert(param)
            };
        }
    }

    pub(super) fn access(
        &mut self,
        address: &Address,
        Move { bytes, addressing, write, atomic, completion }: Move,
        guard: &Cond,
        out: &mut Vec<Event>,
    ) {
        let buffer = match address.memory {
            Memory::Global(_) => return self.global(address, write),
            Memory::Shared(buffer) => buffer as usize,
        };
        let (Some(shared), true) = (self.program.shared.get(buffer), buffer < self.trace.sizes.len()) else {
            return;
        };
        let len = i64::from(bytes * 8 / shared.dtype.bits()).max(1);
        self.meets(buffer, &address.offset);
        let guards = self.scope.certain().holds(guard);
        let firsts = self.scope.places().values(&address.offset);
        let mut threads = Vec::new();
        let mut anywhere = None;
        for thread in 0..self.program.block_threads() {
            // A guard that only a launch decides counts as true.
            let runs = is_among(self.scope.running.as_deref(), thread as usize);
            let addresses = thread % addressing.0 < addressing.1;
            if !runs || !addresses || guards.get(thread as usize) == Some(false) {
                continue;
            }
            match firsts.get(thread as usize) {
                Some(first) => threads.push((thread, first)),
                None => {
                    // A single thread with an unknown address stands for all threads: any of them may access any element.
                    anywhere = Some(thread);
                    break;
                }
            }
        }
        let unit = &mut self.trace.units[buffer];
        *unit = threads.iter().fold(gcd(*unit, len), |unit, (_, first)| gcd(unit, *first));
        let (op, only, lanes) = (self.op, self.only, addressing.0 as u16);
        let threads = threads.into();
        let access =
            Access { buffer, op, lanes, write, atomic, completion, anywhere: false, only, len, threads };
        if !access.threads.is_empty() {
            out.push(Event::Access(access.clone()));
        }
        if let Some(thread) = anywhere {
            self.trace.asks_for_places = true;
            let len = self.trace.sizes[buffer] as i64;
            let threads = Rc::from([(thread, 0)]);
            out.push(Event::Access(Access { anywhere: true, len, threads, ..access }));
        }
    }
}
