//! Asynchronous copies: issue, groups, and completion in shared memory.
//!
//! A copy reads its source when it is issued. Its bytes become visible in shared memory when a wait of the issuing thread covers
//! its group, and count as written by that thread at the wait. Until then no thread may access the destination or change the
//! source, because the hardware may read the source as late as at the wait. All threads execute the same statements, so one queue
//! of groups serves the block. A copy that no wait covers before the block ends is counted, not refused: the hardware completes
//! it, and no thread could read its bytes.

use std::collections::VecDeque;

use crate::block::Block;
use crate::code::{AsyncCopy, Mem, SiteId};
use crate::error::SimError;
use crate::formula::Test;
use crate::shared::Touch;
use crate::transfer::Access;
use hx_target::WARP;

/// The copies of one group. `bytes` holds their data, one copy after the other.
#[derive(Debug, Default)]
struct Group {
    copies: Vec<Issued>,
    bytes: Vec<u8>,
}

/// The copy that one thread issued.
#[derive(Clone, Copy, Debug)]
struct Issued {
    touch: Touch,
    /// The tensor that the copy reads and the first byte there; `None` if the kernel cannot write that tensor.
    source: Option<(usize, usize)>,
}

/// The asynchronous copies of a block.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    open: Group,
    closed: VecDeque<Group>,
    /// Empty groups, kept for reuse.
    spare: Vec<Group>,
    landed: u32,
}

impl Flight {
    /// Returns how many groups were waited for. Groups count from 1 in the order of their commits, so this is the number of the
    /// last one.
    pub(crate) fn landed(&self) -> u32 {
        self.landed
    }

    /// Returns the number of the open group.
    fn open_group(&self) -> u32 {
        self.landed + self.closed.len() as u32 + 1
    }
}

impl<'a> Block<'a> {
    pub(crate) fn async_copy(&mut self, c: &'a AsyncCopy) -> Result<(), SimError> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let failed = |block: &Self, f| block.failed(c.site, f);
        c.active.lanes(&mut self.env, None, &mut scratch.mask).map_err(|f| failed(self, f))?;
        if !scratch.mask.contains(&true) {
            self.scratch = scratch;
            return Ok(());
        }
        let write = Access { memory: Mem::Shared(c.dst), dtype: c.dtype, bytes: c.access, write: true };
        c.dst_offset
            .lanes(&mut self.env, Some(&scratch.mask), &mut scratch.offsets)
            .map_err(|f| failed(self, f))?;
        self.locate(c.site, write, &scratch.mask, &scratch.offsets, &mut scratch.addresses)?;
        self.count_shared(c, &scratch.addresses, &mut scratch.request);

        // The source address is evaluated only for threads whose source is inside the tensor.
        if !matches!(c.inside, Test::Const(true)) {
            let mut inside = std::mem::take(&mut scratch.inside);
            inside.resize(self.code.threads, false);
            let done = c.inside.lanes(&mut self.env, Some(&scratch.mask), &mut inside);
            done.map_err(|f| failed(self, f))?;
            scratch.mask.iter_mut().zip(&inside).for_each(|(m, i)| *m &= i);
            scratch.inside = inside;
        }
        let read = Access { memory: Mem::Global(c.src), write: false, ..write };
        let mut sources = std::mem::take(&mut scratch.sources);
        c.src_offset
            .lanes(&mut self.env, Some(&scratch.mask), &mut scratch.offsets)
            .map_err(|f| failed(self, f))?;
        self.locate(c.site, read, &scratch.mask, &scratch.offsets, &mut sources)?;
        self.count_global(c, &sources, &mut scratch.sorted);

        let mut from = sources.iter().peekable();
        for &(thread, at) in &scratch.addresses {
            let touch = Touch {
                at: at as usize,
                len: c.access,
                tensor: c.dst,
                thread: thread as u32,
                collective: false,
                site: c.site,
            };
            let checked = self.shared.issue(touch, self.code);
            checked.map_err(|fault| self.error(c.site, Some(thread), fault))?;
            let source = from.next_if(|(t, _)| *t == thread).map(|(_, at)| *at as usize);
            let source = self.fetch(c, thread, source)?;
            self.flight.open.copies.push(Issued { touch, source });
        }
        scratch.sources = sources;
        self.scratch = scratch;
        Ok(())
    }

    /// Appends the bytes of one thread to the open group, zeros if the source is outside. Returns the source if the kernel may
    /// write it.
    ///
    /// # Errors
    /// If another access to the source races with this copy.
    fn fetch(
        &mut self,
        c: &AsyncCopy,
        thread: usize,
        source: Option<usize>,
    ) -> Result<Option<(usize, usize)>, SimError> {
        let (who, group) = (self.who(c.site, thread), self.flight.open_group());
        let bytes = &mut self.flight.open.bytes;
        let start = bytes.len();
        bytes.resize(start + c.access, 0);
        let (Some(at), Some(tensor)) = (source, &self.tensors[c.src]) else { return Ok(None) };
        let out = &mut bytes[start..];
        if !tensor.mutable {
            out.copy_from_slice(&tensor.bytes[at..at + c.access]);
            return Ok(None);
        }
        let issued = self.overlays[c.src].issue(tensor, at, out, who, group);
        issued.map_err(|raced| self.global_race(tensor, who, raced))?;
        Ok(Some((c.src, at)))
    }

    fn count_shared(&mut self, c: &AsyncCopy, addresses: &[(usize, i64)], request: &mut Vec<(usize, i64)>) {
        let counters = &mut self.counters[c.site as usize];
        for lanes in crate::banks::requests(addresses, WARP as usize) {
            counters.instructions += 1;
            request.clear();
            request.extend(lanes.iter().map(|(thread, at)| (thread % WARP as usize, *at)));
            counters.shared_request(request, c.access);
        }
    }

    fn count_global(&mut self, c: &AsyncCopy, sources: &[(usize, i64)], sorted: &mut Vec<i64>) {
        let Some(tensor) = &self.tensors[c.src] else { return };
        let counters = &mut self.counters[c.site as usize];
        counters.bytes += (sources.len() * c.access) as u64;
        for lanes in crate::banks::requests(sources, WARP as usize) {
            sorted.clear();
            sorted.extend(lanes.iter().map(|(_, at)| tensor.address + at));
            counters.global_request(sorted, c.access);
        }
        sorted.clear();
        sorted.extend(sources.iter().map(|(_, at)| *at));
        counters.redundant_bytes += crate::banks::repeated(sorted) * c.access as u64;
    }

    pub(crate) fn commit(&mut self, site: SiteId) {
        self.counters[site as usize].instructions += self.warps() as u64;
        let next = self.flight.spare.pop().unwrap_or_default();
        self.flight.closed.push_back(std::mem::replace(&mut self.flight.open, next));
    }

    /// Completes the oldest groups until at most `groups` are in flight. The open group does not count.
    pub(crate) fn wait(&mut self, site: SiteId, groups: usize) {
        self.counters[site as usize].instructions += self.warps() as u64;
        while self.flight.closed.len() > groups {
            let Some(mut group) = self.flight.closed.pop_front() else { return };
            self.flight.landed += 1;
            let mut bytes = &group.bytes[..];
            for Issued { touch, source } in &group.copies {
                let (here, rest) = bytes.split_at(touch.len);
                self.shared.land(*touch, here);
                bytes = rest;
                let Some((src, at)) = *source else { continue };
                if let Some(tensor) = &self.tensors[src] {
                    let who = self.who(touch.site, touch.thread as usize);
                    self.overlays[src].land(tensor, at, touch.len, who);
                }
            }
            group.copies.clear();
            group.bytes.clear();
            self.flight.spare.push(group);
        }
    }

    /// Counts the copies still in flight when the block ends.
    pub(crate) fn count_unwaited(&mut self) {
        for group in self.flight.closed.iter().chain([&self.flight.open]) {
            for copy in &group.copies {
                self.counters[copy.touch.site as usize].unwaited += 1;
            }
        }
    }
}
