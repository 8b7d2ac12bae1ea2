//! Records the accesses and the followed values of a running block in its [`BlockWitness`](crate::witness::BlockWitness).

use crate::block::Block;
use crate::code::{Mem, SiteId, Step, Written};
use crate::error::SimError;
use crate::witness::Followed;

impl Block<'_> {
    /// Records an access of a thread of the running agent to the bytes from `at` on of a tensor. `values` returns the position of
    /// the `i`-th element among the thread's values.
    #[inline]
    pub(crate) fn witness(
        &mut self,
        (site, memory, write): (SiteId, Mem, bool),
        thread: usize,
        (at, len): (usize, usize),
        values: impl Fn(usize) -> Option<u32>,
    ) {
        if self.witness.is_some()
            && let Mem::Global(param) = memory
        {
            let thread = self.code.own((self.agent.first + thread) as u32);
            self.record((site, param, write), thread, (at, len), values);
        }
    }

    /// Records the followed values that a step of the running agent has written.
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
            let Followed { held, pending, .. } = witness.followed[number];
            let thread = held.thread.checked_sub(first).map(|thread| thread as usize);
            let Some(thread) = thread.filter(|thread| *thread < threads) else { continue };
            let position = held.value as usize;
            let is_written = of.is_none_or(|(base, regs)| {
                regs.array == held.array && regs.offsets.iter().any(|offset| base + offset == position)
            });
            let bits = self.agent.registers[held.array].bits.get(position * threads + thread).copied();
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
