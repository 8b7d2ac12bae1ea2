//! Accesses to global memory by blocks that see what others did.

use std::rc::Rc;

use hx_dtype::AtomicOp;

use crate::between::Message;
use crate::block::Block;
use crate::block::polling::Spot;
use crate::code::{AtomicCode, Mem, SiteId, Transfer};
use crate::error::SimError;
use crate::overlay::Kind;
use crate::stamp::stamp;
use crate::world::{AtomicStamp, Common};
use hx_thread::Epoch;

impl AtomicCode {
    /// Returns the kind of the access for the race check.
    fn kind(&self) -> Kind {
        match (self.op, self.narrow) {
            (AtomicOp::Load, false) => Kind::Peek,
            (AtomicOp::Load, true) => Kind::NarrowPeek,
            (_, false) => Kind::Add,
            (_, true) => Kind::NarrowAdd,
        }
    }
}

impl Block<'_> {
    /// Gives the block the state of global memory that all blocks, or those of its cluster, share.
    pub(crate) fn take_over(&mut self, common: Common) {
        (self.overlays, self.world) = (common.overlays, common.world);
        if let Some(world) = &mut self.world {
            world.heard.entry(self.run).or_default();
        }
    }

    /// Takes the state that blocks share out of the block.
    pub(crate) fn hand_over(&mut self) -> Common {
        Common { overlays: std::mem::take(&mut self.overlays), world: self.world.take() }
    }

    /// Begins the releases of a step: returns the message that its threads release, or `None` if its memory order does not
    /// release. [`Block::end_release`] must follow.
    pub(crate) fn begin_release(&self, atomic: &AtomicCode) -> Option<Rc<Message>> {
        if !atomic.order.releases() {
            return None;
        }
        let told = self.clock.releasing(self.agent.warp_set);
        let none = Default::default();
        let heard = self.world.as_ref().and_then(|world| world.heard.get(&self.run)).unwrap_or(&none);
        Some(heard.released(&self.clock, self.run, told))
    }

    /// Ends the releases of a step: later accesses are not part of them.
    pub(crate) fn end_release(&mut self, atomic: &AtomicCode) {
        if atomic.order.releases() {
            self.clock.end_epoch(self.agent.warp_set);
        }
    }

    /// Learns a message that an acquire at `at` found.
    pub(crate) fn hear(&mut self, at: Epoch, message: Option<&Rc<Message>>) {
        let Some(message) = message else { return };
        if let Some(told) = message.of_run(self.run) {
            self.clock.acquire(self.agent.warp_set, told);
        }
        if let Some(world) = &mut self.world {
            world.heard.entry(self.run).or_default().hear(&self.clock, at, message);
        }
    }

    fn atomic_stamp(&self, site: SiteId, at: Epoch) -> AtomicStamp<'_> {
        AtomicStamp { site, run: self.run, block: self.number, at, clock: &self.clock }
    }

    /// Executes an atomic access of a thread to an element of a tensor. Returns the element as it was before, or the value that
    /// a load finds.
    ///
    /// # Errors
    /// On a race.
    pub(crate) fn global_atomic(
        &mut self,
        t: &Transfer,
        (thread, at): (usize, usize),
        (atomic, value, compare): (&AtomicCode, u64, u64),
        released: Option<&Rc<Message>>,
    ) -> Result<u64, SimError> {
        let Mem::Global(p) = t.memory else { return Ok(0) };
        let Some(tensor) = &self.tensors[p] else { return Ok(0) };
        let (op, dtype) = (atomic.op, t.dtype);
        let epoch = self.now(thread, 1);
        let stamp = stamp!(self, t.site, epoch);
        let change = |old: u64| op.eval(dtype, old, value, compare);
        let updated = self.overlays[p].update(tensor, at, (atomic.kind(), &change), stamp);
        let old = updated.map_err(|raced| self.global_race(tensor, (t.site, epoch.thread), raced))?;
        let new = change(old);
        if new != old {
            self.stir();
        }
        let Some(mut world) = self.world.take() else {
            self.poll_element(Spot::new(t, at, old));
            return Ok(old);
        };
        let stamp = self.atomic_stamp(t.site, epoch);
        let writes = match op {
            AtomicOp::Load => false,
            AtomicOp::CompareExchange => old == compare,
            _ => true,
        };
        let (result, message) = if op == AtomicOp::Load {
            world.load((p, at), old, stamp)
        } else if writes {
            world.changes += u64::from(new != old);
            (old, world.update((p, at), [old, new], (op != AtomicOp::Store, released), stamp))
        } else {
            (old, world.message((p, at)))
        };
        self.world = Some(world);
        if atomic.order.acquires() {
            self.hear(epoch, message.as_ref());
        }
        self.poll_element(Spot::new(t, at, result));
        Ok(result)
    }

    /// Records that a store which is not atomic has written `len` bytes from byte `at` of tensor `p`.
    #[inline]
    pub(crate) fn stored(&mut self, site: SiteId, p: usize, (at, len): (usize, usize), epoch: Epoch) {
        self.stir();
        if self.world.is_some() {
            self.stored_for_all(site, p, (at, len), epoch);
        }
    }

    #[cold]
    fn stored_for_all(&mut self, site: SiteId, p: usize, (at, len): (usize, usize), epoch: Epoch) {
        let (Some(mut world), Some(tensor)) = (self.world.take(), &self.tensors[p]) else { return };
        world.changes += 1;
        let size = tensor.unit();
        let bits = |byte: usize| {
            let mut element = [0; 16];
            let end = (byte + size).min(tensor.bytes.len());
            element[..end - byte].copy_from_slice(&tensor.bytes[byte..end]);
            self.overlays[p].look(tensor, byte, &mut element[..size]);
            hx_dtype::load(tensor.dtype, &element, 0)
        };
        world.store((p, at, len), &bits, self.atomic_stamp(site, epoch));
        self.world = Some(world);
    }
}
