//! Atomic accesses of the threads of a block, one after the other in the order of their numbers.

use std::rc::Rc;

use hx_dtype::AtomicOp;

use crate::between::Message;
use crate::block::Block;
use crate::block::polling::Spot;
use crate::block::scratch::Scratch;
use crate::block::shared::Touch;
use crate::code::{AtomicCode, Mem, Regs, Transfer};
use crate::error::SimError;
use crate::stamp::stamp;

impl<'a> Block<'a> {
    /// Executes an atomic transfer that takes its values from registers.
    ///
    /// # Errors
    /// If the operand to compare with was never written, if a register lies outside of its array, and as [`Block::update`].
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
        let released = self.begin_release(atomic);
        for &(thread, at) in &scratch.addresses {
            let compare =
                compare.map_or(0, |(array, first)| self.agent.registers[array].bits[first + thread]);
            for (i, position) in scratch.positions.iter().enumerate() {
                let value = self.agent.registers[t.regs.array].bits[position + thread];
                let before = self.update(
                    t,
                    (thread, at as usize + i * size),
                    (atomic, value, compare),
                    released.as_ref(),
                )?;
                let (byte, position) = (at as usize + i * size, (position / threads) as u32);
                self.witness((t.site, t.memory, true), thread, (byte, size), |_| Some(position));
                if let Some((array, first)) = old {
                    self.agent.registers[array].bits[first + thread] = before;
                }
            }
        }
        self.end_release(atomic);
        if let Some(regs) = &atomic.old {
            let base = self.base(t.site, regs)?;
            self.set_written(t.site, regs, base)?;
        }
        Ok(())
    }

    /// Returns the array that holds a single value, and the position of the first thread's value in it.
    ///
    /// # Errors
    /// If the value lies outside of the array.
    fn position(&self, t: &Transfer, regs: &Regs) -> Result<(usize, usize), SimError> {
        let base = self.base(t.site, regs)?;
        Ok((regs.array, (base + regs.offsets[0]) * self.agent.threads))
    }

    /// Executes one atomic access of a thread to the element at a checked byte address. Returns the bits of the element as it
    /// was before; 0 if the access has no result and stays pending ([`Block::combine`]).
    ///
    /// # Errors
    /// As [`Block::combine`], [`Block::global_atomic`] and [`Block::shared_atomic`].
    fn update(
        &mut self,
        t: &Transfer,
        (thread, at): (usize, usize),
        (atomic, value, compare): (&AtomicCode, u64, u64),
        released: Option<&Rc<Message>>,
    ) -> Result<u64, SimError> {
        match t.memory {
            Mem::Global(p) if !self.code.communicates && atomic.old.is_none() && atomic.op.commutes() => {
                self.combine(t, p, (thread, at), (atomic, value))
            }
            Mem::Global(_) => self.global_atomic(t, (thread, at), (atomic, value, compare), released),
            Mem::Shared(_) => self.shared_atomic(t, (thread, at), (atomic, value, compare), released),
        }
    }

    /// Applies an atomic operation without a result to an element of global memory. It stays pending until the blocks are
    /// merged, so the returned value is always 0.
    ///
    /// # Errors
    /// On a race.
    fn combine(
        &mut self,
        t: &Transfer,
        p: usize,
        (thread, at): (usize, usize),
        (atomic, value): (&AtomicCode, u64),
    ) -> Result<u64, SimError> {
        let Some(tensor) = &self.tensors[p] else { return Ok(0) };
        let epoch = self.now(thread, 1);
        let stamp = stamp!(self, t.site, epoch);
        let done = self.overlays[p].combine(tensor, at, (atomic.op, value), stamp);
        done.map_err(|raced| self.global_race(tensor, (t.site, epoch.thread), raced))?;
        self.stir();
        Ok(0)
    }

    /// Executes an atomic access of a thread to the element of shared memory that begins at byte `at`. Returns the bits of the
    /// element as it was before.
    ///
    /// # Errors
    /// As [`SharedMemory::atomic`](crate::block::shared::SharedMemory::atomic).
    pub(crate) fn shared_atomic(
        &mut self,
        t: &Transfer,
        (thread, at): (usize, usize),
        (atomic, value, compare): (&AtomicCode, u64, u64),
        released: Option<&Rc<Message>>,
    ) -> Result<u64, SimError> {
        let Mem::Shared(tensor) = t.memory else { return Ok(0) };
        let (op, dtype, epoch) = (atomic.op, t.dtype, self.now(thread, 1));
        let touch = Touch { at, len: dtype.bits() as usize / 8, tensor, epoch, site: t.site };
        let only_writes = op == AtomicOp::Store;
        let checked = self.shared.atomic(touch, only_writes, &self.clock, self.code);
        checked.map_err(|fault| self.error(t.site, Some(thread), fault))?;
        let element = &mut self.shared.bytes[at..at + touch.len];
        let old = hx_dtype::load(dtype, element, 0);
        let new = op.eval(dtype, old, value, compare);
        hx_dtype::store(dtype, element, 0, new);
        if new != old {
            self.stir();
        }
        self.poll_element(Spot::new(t, at, old));
        let found = self.flags.get(&at).cloned();
        let passes = !only_writes;
        let left = match (found.as_ref().filter(|_| passes), released) {
            (None, released) => released.cloned(),
            (Some(found), None) => Some(found.clone()),
            (Some(found), Some(released)) => {
                let mut joined = Message::clone(released);
                joined.join(found);
                Some(Rc::new(joined))
            }
        };
        match left {
            None => _ = self.flags.remove(&at),
            Some(left) => _ = self.flags.insert(at, left),
        }
        if atomic.order.acquires() {
            self.hear(epoch, found.as_ref());
        }
        Ok(old)
    }
}
