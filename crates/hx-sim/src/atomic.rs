//! Atomic accesses of the threads of a block, one after the other in the order of their numbers.

use hx_dtype::AtomicOp;

use crate::block::{Block, Scratch};
use crate::code::{AtomicCode, Mem, Regs, Transfer};
use crate::error::SimError;
use crate::overlay::Who;
use crate::shared::Touch;

impl<'a> Block<'a> {
    /// Executes an atomic transfer that takes its values from registers.
    pub(crate) fn atomic_update(
        &mut self,
        t: &'a Transfer,
        atomic: &'a AtomicCode,
        scratch: &mut Scratch,
    ) -> Result<(), SimError> {
        let compare = atomic.compare.as_ref().map(|regs| self.position(t, regs)).transpose()?;
        let old = atomic.old.as_ref().map(|regs| self.position(t, regs)).transpose()?;
        if let Some(regs) = atomic.compare.as_ref().filter(|_| !scratch.addresses.is_empty()) {
            let base = self.base(t.site, regs)?;
            self.expect_written(t.site, regs, base)?;
        }
        let threads = self.agent.threads;
        if let Some((array, first)) = old {
            // Threads whose guard fails get the padding.
            self.agent.registers[array].bits[first..first + threads].fill(t.pad);
        }
        let size = t.dtype.bits() as usize / 8;
        for &(thread, at) in &scratch.addresses {
            let compare =
                compare.map_or(0, |(array, first)| self.agent.registers[array].bits[first + thread]);
            for (i, position) in scratch.positions.iter().enumerate() {
                let value = self.agent.registers[t.regs.array].bits[position + thread];
                let before = self.update(t, (thread, at as usize + i * size), (atomic, value, compare))?;
                let (byte, position) = (at as usize + i * size, (position / threads) as u32);
                self.witness((t.site, t.memory, true), thread, (byte, size), |_| Some(position));
                if let Some((array, first)) = old {
                    self.agent.registers[array].bits[first + thread] = before;
                }
            }
        }
        if atomic.order.releases() {
            self.told.release();
        }
        if let Some(regs) = &atomic.old {
            let base = self.base(t.site, regs)?;
            self.set_written(t.site, regs, base)?;
        }
        Ok(())
    }

    /// Returns the array of a single value, and the position of the first thread's in it.
    fn position(&self, t: &Transfer, regs: &Regs) -> Result<(usize, usize), SimError> {
        let base = self.base(t.site, regs)?;
        Ok((regs.array, (base + regs.offsets[0]) * self.agent.threads))
    }

    /// Executes one atomic access of a thread to the element at a checked address. Returns the element as it was before.
    fn update(
        &mut self,
        t: &Transfer,
        (thread, at): (usize, usize),
        (atomic, value, compare): (&AtomicCode, u64, u64),
    ) -> Result<u64, SimError> {
        let (op, dtype) = (atomic.op, t.dtype);
        self.meet(t, at, atomic);
        match t.memory {
            Mem::Global(p) if atomic.old.is_none() && op.commutes() => {
                let Some(tensor) = &self.tensors[p] else { return Ok(0) };
                let epoch = self.now(thread, 1);
                let clock = self.config.check_races.then_some(&self.clock);
                let who = Who { epoch, site: t.site, clock, stamp: self.stamp() };
                let done = self.overlays[p].combine(tensor, at, (op, value), who);
                done.map_err(|raced| self.global_race(tensor, (t.site, epoch.thread), raced))?;
                Ok(0)
            }
            Mem::Global(_) => self.global_update(t, thread, at, &|old| op.eval(dtype, old, value, compare)),
            Mem::Shared(tensor) => {
                let epoch = self.now(thread, 1);
                let touch = Touch { at, len: dtype.bits() as usize / 8, tensor, epoch, site: t.site };
                let only_writes = op == AtomicOp::Store;
                let checked = self.shared.atomic(touch, only_writes, &self.clock, self.code);
                checked.map_err(|fault| self.error(t.site, Some(thread), fault))?;
                let element = &mut self.shared.bytes[at..at + touch.len];
                let old = hx_dtype::load(dtype, element, 0);
                hx_dtype::store(dtype, element, 0, op.eval(dtype, old, value, compare));
                Ok(old)
            }
        }
    }

    /// Learns and leaves what an atomic access to an element of global memory says.
    pub(crate) fn meet(&mut self, t: &Transfer, at: usize, atomic: &AtomicCode) {
        if let Mem::Global(p) = t.memory
            && self.code.communicates
        {
            self.told.meet(self.left, (p, at), atomic.order, atomic.op == AtomicOp::Store);
        }
    }

    /// Changes an element of global memory atomically. Returns it as it was before.
    pub(crate) fn global_update(
        &mut self,
        t: &Transfer,
        thread: usize,
        at: usize,
        change: &dyn Fn(u64) -> u64,
    ) -> Result<u64, SimError> {
        let Mem::Global(p) = t.memory else { return Ok(0) };
        let Some(tensor) = &self.tensors[p] else { return Ok(0) };
        let epoch = self.now(thread, 1);
        let clock = self.config.check_races.then_some(&self.clock);
        let who = Who { epoch, site: t.site, clock, stamp: self.stamp() };
        let done = self.overlays[p].update(tensor, at, change, who);
        done.map_err(|raced| self.global_race(tensor, (t.site, epoch.thread), raced))
    }
}
