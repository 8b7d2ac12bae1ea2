//! Asynchronous copies: issue, groups, and the wait for their completion in shared memory.
//!
//! A copy reads its source when it is issued. Its bytes become visible in shared memory when a wait of the issuing thread covers
//! its group. On the block's clock a copy is an access in the epoch of its group, so that until the wait no thread may access the
//! destination or change the source: the hardware may read the source as late as at the wait. The threads of an agent execute
//! the same statements, so one queue of groups serves them. A copy that no wait covers before the block ends is counted, not
//! refused: the hardware completes it, and no thread could read its bytes.

use hx_thread::Epoch;

use super::transfer::Access;
use crate::block::Block;
use crate::block::flight::Issued;
use crate::block::shared::Touch;
use crate::code::{AsyncCopy, Mem, SiteId};
use crate::error::SimError;
use crate::formula::Test;
use crate::stamp::stamp;
use crate::trace::Kind;

impl<'a> Block<'a> {
    pub(crate) fn async_copy(&mut self, c: &'a AsyncCopy) -> Result<(), SimError> {
        let mut scratch = std::mem::take(&mut self.agent.scratch);
        let failed = |block: &Self, f| block.failed(c.site, f);
        c.active.lanes(&mut self.agent.env, None, &mut scratch.mask).map_err(|f| failed(self, f))?;
        if !scratch.mask.contains(&true) {
            self.agent.scratch = scratch;
            return Ok(());
        }
        let write = Access { memory: Mem::Shared(c.dst), dtype: c.dtype, bytes: c.access, write: true };
        c.dst_offset
            .lanes(&mut self.agent.env, Some(&scratch.mask), &mut scratch.offsets)
            .map_err(|f| failed(self, f))?;
        self.locate(c.site, write, &scratch.mask, &scratch.offsets, &mut scratch.addresses)?;
        self.count_shared(c, &scratch.addresses, &mut scratch.request);

        // The source address is evaluated only for threads whose source is inside the tensor.
        if !matches!(c.inside, Test::Const(true)) {
            let mut inside = std::mem::take(&mut scratch.inside);
            inside.resize(self.agent.threads, false);
            let done = c.inside.lanes(&mut self.agent.env, Some(&scratch.mask), &mut inside);
            done.map_err(|f| failed(self, f))?;
            scratch.mask.iter_mut().zip(&inside).for_each(|(m, i)| *m &= i);
            scratch.inside = inside;
        }
        let read = Access { memory: Mem::Global(c.src), write: false, ..write };
        let mut sources = std::mem::take(&mut scratch.sources);
        c.src_offset
            .lanes(&mut self.agent.env, Some(&scratch.mask), &mut scratch.offsets)
            .map_err(|f| failed(self, f))?;
        self.locate(c.site, read, &scratch.mask, &scratch.offsets, &mut sources)?;
        self.count_global(c, &sources, &mut scratch.sorted);

        let mut from = sources.iter().peekable();
        for &(thread, at) in &scratch.addresses {
            let issuer = (self.agent.first + thread) as u32;
            let epoch = if c.signals { self.clock.signal(issuer) } else { self.clock.copy(issuer) };
            let (at, len) = (at as usize, c.access);
            let touch = Touch { at, len, tensor: c.dst, epoch, site: c.site };
            let checked = self.shared.write(touch, &self.clock, self.code);
            checked.map_err(|fault| self.error(c.site, Some(thread), fault))?;
            self.trace_shared(c.site, Kind::Issue, issuer, (at, len));
            let source = from.next_if(|(t, _)| *t == thread).map(|(_, at)| *at as usize);
            self.fetch(c, epoch, source)?;
            if let Some(at) = source {
                self.witness((c.site, Mem::Global(c.src), false), thread, (at, c.access), |_| None);
            }
            self.agent.flight.joined(c.signals).copies.push(Issued {
                thread: self.agent.first + thread,
                at,
                len,
                site: c.site,
            });
        }
        scratch.sources = sources;
        self.agent.scratch = scratch;
        Ok(())
    }

    /// Appends the bytes of one thread to the group that its copy joins; zeros if the source is outside.
    ///
    /// # Errors
    /// If another access to the source races with this copy.
    fn fetch(&mut self, c: &AsyncCopy, epoch: Epoch, source: Option<usize>) -> Result<(), SimError> {
        let bytes = &mut self.agent.flight.joined(c.signals).bytes;
        let start = bytes.len();
        bytes.resize(start + c.access, 0);
        let (Some(at), Some(tensor)) = (source, &self.tensors[c.src]) else { return Ok(()) };
        let out = &mut bytes[start..];
        if !tensor.mutable {
            out.copy_from_slice(&tensor.bytes[at..at + c.access]);
            return Ok(());
        }
        let stamp = stamp!(self, c.site, epoch);
        let read = self.overlays[c.src].read(tensor, at, out, stamp);
        read.map_err(|raced| self.global_race(tensor, (c.site, epoch.thread), raced))
    }

    fn count_shared(&mut self, c: &AsyncCopy, addresses: &[(usize, i64)], request: &mut Vec<(usize, i64)>) {
        let limits = self.code.target.limits();
        let counters = &mut self.counters[c.site as usize];
        for lanes in crate::banks::requests(addresses, self.code.target.limits.lanes as usize) {
            counters.instructions += 1;
            request.clear();
            request.extend(
                lanes.iter().map(|(thread, at)| (thread % self.code.target.limits.lanes as usize, *at)),
            );
            counters.shared_request(limits, request, c.access, true);
        }
    }

    fn count_global(&mut self, c: &AsyncCopy, sources: &[(usize, i64)], sorted: &mut Vec<i64>) {
        let Some(tensor) = &self.tensors[c.src] else { return };
        let limits = self.code.target.limits();
        let counters = &mut self.counters[c.site as usize];
        counters.bytes += (sources.len() * c.access) as u64;
        for lanes in crate::banks::requests(sources, self.code.target.limits.lanes as usize) {
            sorted.clear();
            sorted.extend(lanes.iter().map(|(_, at)| tensor.address + at));
            counters.global_request(limits, sorted, c.access, false);
        }
        sorted.clear();
        sorted.extend(sources.iter().map(|(_, at)| *at));
        counters.redundant_bytes += crate::banks::repeated(sorted) * c.access as u64;
    }

    pub(crate) fn commit(&mut self, site: SiteId) {
        self.counters[site as usize].instructions += self.warps() as u64;
        self.clock.commit(self.agent.warp_set);
        let next = self.agent.flight.spare.pop().unwrap_or_default();
        self.agent.flight.closed.push_back(std::mem::replace(&mut self.agent.flight.open, next));
    }

    /// Completes the oldest groups until at most `groups` are in flight. The open group does not count.
    pub(crate) fn wait(&mut self, site: SiteId, groups: u32) {
        self.counters[site as usize].instructions += self.warps() as u64;
        self.clock.wait(self.agent.warp_set, groups);
        while self.agent.flight.closed.len() > groups as usize {
            let Some(group) = self.agent.flight.closed.pop_front() else { return };
            self.complete_copies(group);
        }
    }
}
