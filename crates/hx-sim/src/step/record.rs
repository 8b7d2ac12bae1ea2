//! Records the accesses and the followed values of a running block in its [`BlockWitness`](crate::witness::BlockWitness) and its
//! [`Trace`](crate::trace::Trace).

use crate::block::Block;
use crate::code::{Mem, Regs, SiteId, Step, Written};
use crate::error::SimError;
use crate::trace::{Access, Kind, Memory};
use crate::witness::Followed;

impl Block<'_> {
    /// Records an access of a thread of the running agent to the bytes from `at` on of a tensor. `values` returns the position
    /// of the `i`-th element among the thread's values; `None` for reads, and for elements that come from no register.
    #[inline]
    pub(crate) fn witness(
        &mut self,
        (site, memory, write): (SiteId, Mem, bool),
        thread: usize,
        (at, len): (usize, usize),
        values: impl Fn(usize) -> Option<u32>,
    ) {
        if let Some(trace) = &mut self.trace {
            let memory = match memory {
                Mem::Global(param) => Memory::Global(param),
                Mem::Shared(_) => Memory::Shared,
            };
            let kind = if write { Kind::Write } else { Kind::Read };
            let first = self.code.own((self.agent.first + thread) as u32);
            trace.add(Access { site, memory, kind, threads: [first, first + 1], at, len });
        }
        if self.witness.is_some()
            && let Mem::Global(param) = memory
        {
            let thread = self.code.own((self.agent.first + thread) as u32);
            self.record((site, param, write), thread, (at, len), values);
        }
    }

    /// Records an access of a thread, as the clock counts it, to shared memory.
    #[inline]
    pub(crate) fn trace_shared(&mut self, site: SiteId, kind: Kind, thread: u32, (at, len): (usize, usize)) {
        if let Some(trace) = &mut self.trace {
            let first = self.code.own(thread);
            let threads = [first, first + 1];
            trace.add(Access { site, memory: Memory::Shared, kind, threads, at, len });
        }
    }

    /// Records that an operation of the running agent has written registers.
    #[cold]
    pub(crate) fn trace_registers(&mut self, site: SiteId, regs: &Regs, base: usize) {
        let first = self.first_thread();
        let threads = [first, first + self.agent.threads as u32];
        let Some(trace) = &mut self.trace else { return };
        for offset in &regs.offsets {
            let memory = Memory::Register(regs.array);
            trace.add(Access { site, memory, kind: Kind::Write, threads, at: base + offset, len: 1 });
        }
    }

    /// Records the registers that a step of the running agent has written.
    ///
    /// # Errors
    /// If they lie outside of their array.
    #[cold]
    pub(crate) fn trace_step(&mut self, step: &Step) -> Result<(), SimError> {
        if let Some(Written::Now(site, regs)) = step.written() {
            let base = self.base(site, regs)?;
            self.trace_registers(site, regs, base);
        }
        Ok(())
    }

    /// Records the followed values that a step of the running agent has written.
    ///
    /// # Errors
    /// If its registers lie outside of their array.
    #[cold]
    pub(crate) fn follow(&mut self, step: &Step) -> Result<(), SimError> {
        let Some(written) = step.written() else {
            if let (Some(witness), Some(site)) = (&mut self.witness, step.moved()) {
                witness.running = witness.running.filter(|running| *running == site);
                witness.current = witness.current.filter(|current| *current == site);
            }
            return Ok(());
        };
        let of = match &written {
            Written::Now(site, regs) | Written::Later(site, regs) => Some((self.base(*site, regs)?, *regs)),
            Written::Completed => None,
        };
        let (first, threads) = (self.first_thread(), self.agent.threads);
        let Some(witness) = &mut self.witness else { return Ok(()) };
        for number in 0..witness.followed.len() {
            let Followed { value, pending, .. } = witness.followed[number];
            let thread = value.thread.checked_sub(first).map(|thread| thread as usize);
            let Some(thread) = thread.filter(|thread| *thread < threads) else { continue };
            let position = value.value as usize;
            let is_written = of.is_none_or(|(base, regs)| {
                regs.array == value.array && regs.offsets.iter().any(|offset| base + offset == position)
            });
            let bits = self.agent.registers[value.array].bits.get(position * threads + thread).copied();
            let Some(bits) = bits.filter(|_| is_written) else { continue };
            match &written {
                Written::Now(site, _) => witness.changed(number, *site, bits),
                Written::Later(site, _) => witness.followed[number].pending = Some(*site),
                Written::Completed => {
                    // The accumulator may still belong to products that this wait leaves in flight.
                    if let Some(site) = pending.filter(|_| witness.followed[number].last != Some(bits)) {
                        witness.running = None;
                        witness.changed(number, site, bits);
                    }
                }
            }
        }
        let site = match written {
            Written::Now(site, _) | Written::Later(site, _) => Some(site),
            Written::Completed => None,
        };
        if let Some(site) = site {
            witness.running = Some(site);
            witness.current = witness.current.filter(|current| *current == site);
        }
        Ok(())
    }

    #[cold]
    fn record(
        &mut self,
        (site, param, write): (SiteId, usize, bool),
        thread: u32,
        (at, len): (usize, usize),
        values: impl Fn(usize) -> Option<u32>,
    ) {
        let (Some(witness), Some(tensor)) = (&mut self.witness, &self.tensors[param]) else { return };
        if len == 0 {
            return;
        }
        witness.reach((site, param, write), tensor, (at, len));
        if write && param == witness.watched {
            let elements = tensor.element_of(at)..=tensor.element_of(at + len - 1);
            if witness.element.is_some_and(|element| elements.contains(&element)) {
                witness.until = witness.changes.len();
                witness.boxes_until = witness.boxes.len();
                witness.wrote_element = true;
            }
            for (i, element) in elements.enumerate() {
                witness.writes.insert(element, (thread, site, values(i)));
            }
        }
    }
}
