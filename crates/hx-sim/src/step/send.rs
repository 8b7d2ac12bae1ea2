//! Effects on other blocks of the cluster: arrivals, boxes, and chunks of threads.

use hx_target::{Form, Proxy, Space};

use super::transfer::Access;
use crate::block::Block;
use crate::block::effect::{Effect, Filled, Sent};
use crate::block::flight::Group;
use crate::block::shared::{PIECE, Touch};
use crate::code::{Mem, SendCode, SiteId};
use crate::error::{Fault, SimError};
use crate::formula::Formula;
use crate::trace::Kind;

impl<'a> Block<'a> {
    /// Returns the ranks of the blocks that a statement names.
    ///
    /// # Errors
    /// If a rank is outside of the cluster.
    pub(crate) fn ranks(&self, site: SiteId, blocks: &[Formula]) -> Result<Vec<usize>, SimError> {
        let all = self.code.cluster.iter().product::<u32>();
        let rank = |block: &Formula| {
            let rank = block.scalar(&self.agent.env).map_err(|f| self.failed(site, f))?;
            let known = usize::try_from(rank).ok().filter(|rank| *rank < all as usize);
            let text = || Fault::Malformed(format!("block {rank} of a cluster of {all}"));
            known.ok_or_else(|| self.error(site, None, text()))
        };
        blocks.iter().map(rank).collect()
    }

    /// Applies an effect of a step to block `to` of the cluster: to this block at once, to another block after the step.
    ///
    /// # Errors
    /// On a fault of the effect on this block.
    pub(crate) fn send(&mut self, to: usize, effect: Effect) -> Result<(), SimError> {
        if to == self.rank {
            return self.receive(&effect);
        }
        self.sent.push_back(Sent { to, effect });
        Ok(())
    }

    /// Applies an effect that a step of this or of another block has sent.
    ///
    /// # Errors
    /// On a fault of the effect.
    pub(crate) fn receive(&mut self, effect: &Effect) -> Result<(), SimError> {
        match effect {
            Effect::Arrived(arrived) => self.arrived(arrived),
            Effect::Filled(filled) => self.filled(filled),
        }
    }

    /// Sends 16 bytes of each thread to its place in another block. The threads have waited together until their places are
    /// free, so all chunks count as accesses of the first thread.
    ///
    /// # Errors
    /// If a register was never written, if an address or the stage lies outside of its bounds, and as [`Block::filled`] if the
    /// block sends to itself.
    pub(crate) fn send_chunks(&mut self, s: &'a SendCode) -> Result<(), SimError> {
        let stage = self.stage_of(s.site, s.barrier, &s.index)?;
        let base = self.base(s.site, &s.regs)?;
        self.expect_written(s.site, &s.regs, base)?;
        let threads = self.agent.threads;
        let mut offsets = vec![0; threads];
        let read = s.offset.lanes(&mut self.agent.env, None, &mut offsets);
        read.map_err(|f| self.failed(s.site, f))?;
        let access = Access { memory: Mem::Shared(s.tensor), dtype: s.dtype, bytes: PIECE, write: true };
        let mut pieces = Vec::with_capacity(threads);
        for (thread, offset) in offsets.into_iter().enumerate() {
            let at = self.address(access, offset).map_err(|fault| self.error(s.site, Some(thread), fault))?;
            let mut bytes = [0; PIECE];
            let file = &self.agent.registers[s.regs.array];
            for (element, from) in s.regs.offsets.iter().enumerate() {
                let bits = file.bits[(base + from) * threads + thread];
                hx_dtype::store(s.dtype, &mut bytes, element, bits);
            }
            pieces.push((at as usize, bytes));
        }
        let warps = self.warps() as u64;
        let counters = &mut self.counters[s.site as usize];
        counters.instructions += warps;
        counters.bytes += (threads * PIECE) as u64;
        let filled = Filled {
            site: s.site,
            from: self.index,
            thread: self.agent.first as u32,
            tensor: s.tensor,
            barrier: s.barrier,
            stage,
            proxy: Form::Send.asynchronous().access(Space::Shared).proxy,
            pieces: pieces.into(),
            waits: self.clock.passes(self.agent.warp_set),
        };
        for rank in self.ranks(s.site, std::slice::from_ref(&s.block))? {
            self.send(rank, Effect::Filled(filled.clone()))?;
        }
        Ok(())
    }

    /// Receives a box that a thread of this or of another block has sent.
    ///
    /// # Errors
    /// If, as far as the sending thread knows, an access to the box may still happen, or if the write races or lacks a fence.
    pub(crate) fn filled(&mut self, filled: &Filled) -> Result<(), SimError> {
        let Filled { site, from, thread, tensor, barrier, stage, proxy, ref pieces, ref waits } = *filled;
        let epoch = self.phases.fill(&self.clock, thread, (barrier, stage));
        self.phases.remember(&self.clock, epoch, (site, tensor));
        let touch = |at: usize| Touch { at, len: PIECE, tensor, epoch, site };
        let failed = |block: &Self, fault: Fault| {
            let place = block.code.sites[site as usize].place(Some(from), Some(block.code.own(thread)));
            SimError { fault, place: Some(Box::new(place)) }
        };
        for (at, _) in pieces.iter() {
            let unused = self.shared.expect_unused(touch(*at), &self.clock, self.code);
            unused.map_err(|fault| failed(self, fault))?;
        }
        let mut group = Group::default();
        for (at, bytes) in pieces.iter() {
            let fenced = match proxy {
                Proxy::Asynchronous => self.shared.expect_fenced(touch(*at), true, &self.clock, self.code),
                Proxy::Generic => Ok(()),
            };
            let write = fenced.and_then(|()| self.shared.write(touch(*at), &self.clock, self.code));
            write.map_err(|fault| failed(self, fault))?;
            self.trace_shared(site, Kind::Issue, thread, (*at, PIECE));
            group.add((thread as usize, site), *at, bytes);
        }
        let bytes = (pieces.len() * PIECE) as u32;
        let mut known = self.clock.filled(epoch);
        known.join(waits);
        self.phases.issue((barrier, stage), bytes, known, group);
        Ok(())
    }
}
