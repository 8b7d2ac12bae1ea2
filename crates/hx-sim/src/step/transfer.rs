//! Loads and stores: computes and checks addresses, counts requests, and moves the bytes.

use hx_dtype::DType;
use hx_index::EvalError;

use hx_thread::Mark;

use crate::banks;
use crate::block::Block;
use crate::block::scratch::Scratch;
use crate::block::shared::Touch;
use crate::cast::number_of_bits;
use crate::code::{Exchange, LoadIndex, LoadInteger, Mem, ReadIndex, SiteId, Transfer};
use crate::error::{Fault, SimError};
use crate::formula::Test;
use crate::global::Tensor;
use crate::grid::{block_index, members};
use crate::overlay::{Earlier, Raced};
use crate::stamp::stamp;

/// The memory that an address refers to, and the width and direction of the access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) memory: Mem,
    pub(crate) dtype: DType,
    /// Bytes that the address covers.
    pub(crate) bytes: usize,
    pub(crate) write: bool,
}

impl<'a> Block<'a> {
    pub(crate) fn transfer(&mut self, t: &'a Transfer) -> Result<(), SimError> {
        // The scratch is not put back on an error, because an error ends the block.
        let mut scratch = std::mem::take(&mut self.agent.scratch);
        let base = self.base(t.site, &t.regs)?;
        let threads = self.agent.threads;
        scratch.positions.clear();
        scratch.positions.extend(t.regs.offsets.iter().map(|o| (base + o) * threads));
        let masked = !matches!(t.guard, Test::Const(true));
        if masked {
            let failed = t.guard.lanes(&mut self.agent.env, None, &mut scratch.mask);
            failed.map_err(|f| self.failed(t.site, f))?;
        }
        scratch.addresses.clear();
        if !masked || scratch.mask.contains(&true) {
            let mask = masked.then_some(&scratch.mask[..]);
            let failed = t.offset.lanes(&mut self.agent.env, mask, &mut scratch.offsets);
            failed.map_err(|f| self.failed(t.site, f))?;
            self.resolve(t, masked, &mut scratch)?;
            self.count(t, &mut scratch);
        }
        if !t.load && !scratch.addresses.is_empty() {
            self.expect_written(t.site, &t.regs, base)?;
        }
        match (&t.exchange, t.load) {
            (None, true) => self.load(t, masked, &mut scratch)?,
            (None, false) => match &t.atomic {
                Some(atomic) => self.atomic_update(t, atomic, &mut scratch)?,
                None => self.store(t, &mut scratch)?,
            },
            (Some(exchange), true) => self.collective_load(t, exchange, &mut scratch)?,
            (Some(exchange), false) => self.collective_store(t, exchange, &mut scratch)?,
        }
        if t.load {
            self.set_written(t.site, &t.regs, base)?;
        }
        self.agent.scratch = scratch;
        Ok(())
    }

    /// Computes and checks the byte addresses of the threads whose address counts. They are offsets into the tensor's bytes for
    /// global memory, and into the block's memory for shared.
    ///
    /// # Errors
    /// If one lies outside of its tensor or is not aligned.
    fn resolve(&self, t: &Transfer, masked: bool, scratch: &mut Scratch) -> Result<(), SimError> {
        let access = Access { memory: t.memory, dtype: t.dtype, bytes: t.access, write: !t.load };
        let Scratch { mask, offsets, addresses, .. } = scratch;
        match &t.exchange {
            None => {
                if !masked {
                    mask.fill(true);
                }
                self.locate(t.site, access, mask, offsets, addresses)
            }
            Some(exchange) => {
                addresses.clear();
                for first in (0..self.agent.threads).step_by(exchange.lanes) {
                    for owner in &exchange.owners {
                        let thread = first + owner;
                        addresses.push((thread, self.byte(t.site, access, thread, offsets[thread])?));
                    }
                }
                Ok(())
            }
        }
    }

    /// Computes and checks the byte addresses of the threads on the mask, from their offsets in elements.
    ///
    /// # Errors
    /// If one lies outside of its tensor or is not aligned.
    pub(crate) fn locate(
        &self,
        site: SiteId,
        access: Access,
        mask: &[bool],
        offsets: &[i64],
        out: &mut Vec<(usize, i64)>,
    ) -> Result<(), SimError> {
        out.clear();
        for (thread, (&offset, active)) in offsets.iter().zip(mask).enumerate() {
            if *active {
                out.push((thread, self.byte(site, access, thread, offset)?));
            }
        }
        Ok(())
    }

    #[inline]
    fn byte(&self, site: SiteId, access: Access, thread: usize, offset: i64) -> Result<i64, SimError> {
        self.address(access, offset).map_err(|fault| self.error(site, Some(thread), fault))
    }

    /// Returns the byte at which the element at an offset starts, counted from the start of the tensor in global memory, and
    /// from the start of the block's memory in shared. `offset` counts elements of the tensor.
    ///
    /// # Errors
    /// If the access is not within the tensor, or not aligned to its width.
    #[inline]
    pub(crate) fn address(&self, access: Access, offset: i64) -> Result<i64, Fault> {
        let bits = i64::from(access.dtype.bits());
        let width = access.bytes as i64;
        let count = width * 8 / bits;
        match access.memory {
            Mem::Global(p) => {
                let Some(tensor) = &self.tensors[p] else {
                    return Err(Fault::Malformed(format!("parameter {p} is not a tensor")));
                };
                if let Some(element) = tensor.outside(offset, count) {
                    return Err(tensor.out_of_bounds(element, access.write));
                }
                let (at, bit) = (offset * bits / 8, offset * bits % 8);
                if bit != 0 || (tensor.address + at) % width != 0 {
                    return Err(misaligned(&tensor.name, offset, (tensor.address + at, bit), access));
                }
                Ok(at)
            }
            Mem::Shared(s) => {
                let buffer = &self.code.shared[s];
                let held = buffer.bytes as i64 * 8 / bits;
                if offset < 0 || offset > held - count {
                    return Err(Fault::OutOfBounds {
                        tensor: buffer.name.clone(),
                        element: if offset < 0 { offset } else { offset.max(held) },
                        coord: None,
                        extent: format!("which has {held} elements in shared memory"),
                        write: access.write,
                    });
                }
                let (at, bit) = (buffer.offset as i64 + offset * bits / 8, offset * bits % 8);
                if bit != 0 || at % width != 0 {
                    return Err(misaligned(&buffer.name, offset, (at, bit), access));
                }
                Ok(at)
            }
        }
    }

    fn count(&mut self, t: &Transfer, scratch: &mut Scratch) {
        let threads = self.agent.threads;
        let limits = self.code.target.limits();
        let counters = &mut self.counters[t.site as usize];
        let lanes = t.exchange.as_ref().map_or(self.code.target.limits.lanes as usize, |e| e.lanes);
        let moved = if t.exchange.is_some() { threads } else { scratch.addresses.len() };
        counters.bytes += (moved * t.bytes) as u64;
        let global = match t.memory {
            Mem::Global(p) => self.tensors[p].as_ref().map(|tensor| tensor.address),
            Mem::Shared(_) => None,
        };
        for request in banks::requests(&scratch.addresses, lanes) {
            counters.instructions += 1;
            match global {
                Some(base) => {
                    scratch.sorted.clear();
                    scratch.sorted.extend(request.iter().map(|(_, at)| base + at));
                    counters.global_request(limits, &mut scratch.sorted, t.access, !t.load);
                }
                None => {
                    scratch.request.clear();
                    // In a collective transfer, the lanes whose address counts are numbered contiguously.
                    let collective = t.exchange.is_some();
                    let place = |(i, (thread, at)): (usize, &(usize, i64))| {
                        (if collective { i } else { thread % lanes }, *at)
                    };
                    scratch.request.extend(request.iter().enumerate().map(place));
                    counters.shared_request(limits, &scratch.request, t.access, !t.load);
                }
            }
        }
        scratch.sorted.clear();
        scratch.sorted.extend(scratch.addresses.iter().map(|(_, at)| *at));
        counters.redundant_bytes += banks::repeated(&mut scratch.sorted) * t.access as u64;
    }

    pub(crate) fn load_integer(&mut self, l: &'a LoadInteger) -> Result<(), SimError> {
        let offset = l.offset.scalar(&self.agent.env).map_err(|f| self.failed(l.site, f))?;
        let bytes = (l.dtype.bits() as usize).div_ceil(8);
        let access = Access { memory: Mem::Global(l.tensor), dtype: l.dtype, bytes, write: false };
        let at = self.address(access, offset).map_err(|fault| self.error(l.site, None, fault))?;
        let Some(tensor) = &self.tensors[l.tensor] else { return Ok(()) };
        let bits = hx_dtype::load(l.dtype, &tensor.bytes[at as usize..], 0);
        let value = number_of_bits(bits, l.dtype);
        if l.dtype == DType::U64 && value < 0 {
            let text = format!("element {offset} of `{}`", tensor.name);
            return Err(self.error(l.site, None, Fault::Eval(EvalError::Overflow(text))));
        }
        self.agent.env.slots[l.slot as usize] = value;
        self.witness((l.site, Mem::Global(l.tensor), false), 0, (at as usize, bytes), |_| None);
        let (warps, threads) = (self.warps() as u64, self.agent.threads);
        let counters = &mut self.counters[l.site as usize];
        counters.instructions += warps;
        counters.bytes += (threads * bytes) as u64;
        counters.redundant_bytes += ((threads - 1) * bytes) as u64;
        counters.requests += warps;
        counters.sectors += warps;
        counters.ideal_sectors += warps;
        Ok(())
    }

    /// Reads an integer in each thread whose guard holds; the others get -1.
    ///
    /// # Errors
    /// On an address outside of the tensor or not aligned, on a race, and in shared memory as
    /// [`SharedMemory::read`](crate::block::shared::SharedMemory::read).
    pub(crate) fn load_index(&mut self, l: &'a LoadIndex) -> Result<(), SimError> {
        let threads = self.agent.threads;
        let mut mask = vec![true; threads];
        l.guard.lanes(&mut self.agent.env, None, &mut mask).map_err(|f| self.failed(l.site, f))?;
        let mut offsets = vec![0; threads];
        if mask.contains(&true) {
            let read = l.offset.lanes(&mut self.agent.env, Some(&mask), &mut offsets);
            read.map_err(|f| self.failed(l.site, f))?;
        }
        let bytes = l.dtype.bits() as usize / 8;
        let access = Access { memory: l.memory, dtype: l.dtype, bytes, write: false };
        let mut found = vec![-1; threads];
        let mut read = vec![0; bytes];
        let mut addresses = Vec::with_capacity(threads);
        for thread in (0..threads).filter(|t| mask[*t]) {
            let at = self.byte(l.site, access, thread, offsets[thread])? as usize;
            addresses.push((thread, at as i64));
            match l.memory {
                Mem::Global(p) => match &self.tensors[p] {
                    Some(tensor) => read.copy_from_slice(&tensor.bytes[at..at + bytes]),
                    None => continue,
                },
                Mem::Shared(tensor) => {
                    let epoch = self.now(thread, 1);
                    let touch = Touch { at, len: bytes, tensor, epoch, site: l.site };
                    let checked = self.shared.read(touch, &self.clock, self.code);
                    checked.map_err(|fault| self.error(l.site, Some(thread), fault))?;
                    read.copy_from_slice(&self.shared.bytes[at..at + bytes]);
                }
            }
            self.witness((l.site, l.memory, false), thread, (at, bytes), |_| None);
            let bits = hx_dtype::load(l.dtype, &read, 0);
            found[thread] = number_of_bits(bits, l.dtype);
        }
        self.agent.env.lanes[l.lanes as usize] = found;
        self.count_indices(l, &addresses, bytes);
        Ok(())
    }

    /// Counts the reads of an integer in each thread. `addresses` holds those of the threads whose guard holds.
    fn count_indices(&mut self, l: &LoadIndex, addresses: &[(usize, i64)], bytes: usize) {
        let warps = self.warps() as u64;
        let global = match l.memory {
            Mem::Global(p) => self.tensors[p].as_ref().map(|tensor| tensor.address),
            Mem::Shared(_) => None,
        };
        let limits = self.code.target.limits();
        let counters = &mut self.counters[l.site as usize];
        counters.instructions += warps;
        counters.bytes += (addresses.len() * bytes) as u64;
        let lanes = self.code.target.limits.lanes as usize;
        for request in banks::requests(addresses, lanes) {
            match global {
                Some(base) => {
                    let mut sorted: Vec<i64> = request.iter().map(|(_, at)| base + at).collect();
                    counters.global_request(limits, &mut sorted, bytes, false);
                }
                None => {
                    let places: Vec<_> = request.iter().map(|(thread, at)| (thread % lanes, *at)).collect();
                    counters.shared_request(limits, &places, bytes, false);
                }
            }
        }
    }

    fn load(&mut self, t: &Transfer, masked: bool, scratch: &mut Scratch) -> Result<(), SimError> {
        let threads = self.agent.threads;
        if masked {
            // Threads whose guard fails get the padding.
            let file = &mut self.agent.registers[t.regs.array];
            for position in &scratch.positions {
                file.bits[*position..][..threads].fill(t.pad);
            }
        }
        scratch.bytes.resize(t.access, 0);
        for &(thread, at) in &scratch.addresses {
            self.read(t, thread, at, &mut scratch.bytes)?;
            self.witness((t.site, t.memory, false), thread, (at as usize, t.access), |_| None);
            let file = &mut self.agent.registers[t.regs.array];
            unpack(t.dtype, &scratch.bytes, &scratch.positions, |position, bits| {
                file.bits[position + thread] = bits;
            });
        }
        Ok(())
    }

    fn store(&mut self, t: &Transfer, scratch: &mut Scratch) -> Result<(), SimError> {
        let threads = self.agent.threads;
        scratch.bytes.resize(t.access, 0);
        for &(thread, at) in &scratch.addresses {
            let file = &self.agent.registers[t.regs.array];
            pack(t.dtype, &mut scratch.bytes, &scratch.positions, |position| file.bits[position + thread]);
            self.write(t, thread, at, &scratch.bytes)?;
            let value = |i: usize| scratch.positions.get(i).map(|position| (position / threads) as u32);
            self.witness((t.site, t.memory, true), thread, (at as usize, t.access), value);
        }
        Ok(())
    }

    /// Reads an index of each thread from its registers.
    ///
    /// # Errors
    /// If a register was never written.
    pub(crate) fn read_index(&mut self, r: &'a ReadIndex) -> Result<(), SimError> {
        let base = self.base(r.site, &r.regs)?;
        self.expect_written(r.site, &r.regs, base)?;
        let threads = self.agent.threads;
        let first = (base + r.regs.offsets[0]) * threads;
        let bits = &self.agent.registers[r.regs.array].bits[first..first + threads];
        let found = bits.iter().map(|bits| number_of_bits(*bits, r.dtype)).collect();
        self.agent.env.lanes[r.lanes as usize] = found;
        Ok(())
    }

    fn collective_load(
        &mut self,
        t: &Transfer,
        exchange: &Exchange,
        scratch: &mut Scratch,
    ) -> Result<(), SimError> {
        scratch.bytes.resize(exchange.lanes * t.access, 0);
        let mut addresses = scratch.addresses.chunks_exact(exchange.owners.len());
        for first in (0..self.agent.threads).step_by(exchange.lanes) {
            for &(thread, at) in addresses.next().unwrap_or_default() {
                let bytes = &mut scratch.bytes[(thread - first) * t.access..][..t.access];
                self.read(t, thread, at, bytes)?;
                self.witness((t.site, t.memory, false), thread, (at as usize, t.access), |_| None);
            }
            let per_lane = t.access * 8 / t.dtype.bits() as usize;
            let file = &mut self.agent.registers[t.regs.array];
            for (position, sources) in
                scratch.positions.iter().zip(exchange.sources.chunks_exact(exchange.lanes))
            {
                for (lane, &(source, j)) in sources.iter().enumerate() {
                    let element = source as usize * per_lane + j as usize;
                    file.bits[position + first + lane] = hx_dtype::load(t.dtype, &scratch.bytes, element);
                }
            }
        }
        Ok(())
    }

    fn collective_store(
        &mut self,
        t: &Transfer,
        exchange: &Exchange,
        scratch: &mut Scratch,
    ) -> Result<(), SimError> {
        scratch.bytes.resize(exchange.lanes * t.access, 0);
        let mut addresses = scratch.addresses.chunks_exact(exchange.owners.len());
        for first in (0..self.agent.threads).step_by(exchange.lanes) {
            let per_lane = t.access * 8 / t.dtype.bits() as usize;
            let file = &self.agent.registers[t.regs.array];
            for (position, sources) in
                scratch.positions.iter().zip(exchange.sources.chunks_exact(exchange.lanes))
            {
                for (lane, &(source, j)) in sources.iter().enumerate() {
                    let element = source as usize * per_lane + j as usize;
                    let bits = file.bits[position + first + lane];
                    hx_dtype::store(t.dtype, &mut scratch.bytes, element, bits);
                }
            }
            for &(thread, at) in addresses.next().unwrap_or_default() {
                let from = (thread - first) * t.access;
                self.write(t, thread, at, &scratch.bytes[from..from + t.access])?;
                self.witness((t.site, t.memory, true), thread, (at as usize, t.access), |_| None);
            }
        }
        Ok(())
    }

    #[cold]
    pub(crate) fn global_race(
        &self,
        tensor: &Tensor,
        (site, thread): (SiteId, u32),
        raced: Raced,
    ) -> SimError {
        let element = tensor.element_of(raced.byte);
        let (tensor, coord, mode) = (tensor.name.clone(), tensor.coordinate(element), raced.mode);
        let by = |mark: Mark<SiteId>| (&self.code.sites[mark.by as usize], self.code.own(mark.epoch.thread));
        let fault = match raced.earlier {
            Earlier::Access(mark, earlier) => {
                let (site, thread) = by(mark);
                let earlier = Box::new(site.access(thread, earlier, false));
                Fault::GlobalRace { tensor, element, coord, mode, earlier }
            }
            Earlier::Run { run, mark, mode: earlier_mode, narrow, in_flight } => {
                let (site, thread) = by(mark);
                let rank = mark.epoch.thread as usize / self.code.stride();
                let block = members(self.code.cluster, self.code.grid, u64::from(run))[rank];
                let earlier = site.place(Some(block_index(self.code.grid, block)), Some(thread));
                let earlier = Box::new(earlier);
                Fault::BlockRace { tensor, element, coord, mode, earlier, earlier_mode, in_flight, narrow }
            }
            Earlier::Copy(mark) => {
                let (site, thread) = by(mark);
                Fault::SourceInFlight { tensor, element, coord, mode, copy: Box::new(site.copying(thread)) }
            }
            Earlier::Store(mark) => {
                let (site, thread) = by(mark);
                let store = Box::new(site.copying(thread));
                Fault::DestinationInFlight { tensor, element, coord, mode, store }
            }
        };
        self.error_of(site, Some(thread), fault)
    }

    /// Reads the bytes at a checked address.
    ///
    /// # Errors
    /// On a race, and in shared memory as [`SharedMemory::read`](crate::block::shared::SharedMemory::read).
    #[inline]
    fn read(&mut self, t: &Transfer, thread: usize, at: i64, out: &mut [u8]) -> Result<(), SimError> {
        let at = at as usize;
        let epoch = self.now(thread, t.lanes());
        match t.memory {
            Mem::Global(p) => {
                if let Some(tensor) = &self.tensors[p] {
                    if let Some(atomic) = t.atomic.as_ref().filter(|_| tensor.mutable) {
                        let bits = self.global_atomic(t, (thread, at), (atomic, 0, 0), None)?;
                        hx_dtype::store(t.dtype, out, 0, bits);
                    } else if tensor.mutable {
                        let stamp = stamp!(self, t.site, epoch);
                        let read = self.overlays[p].read(tensor, at, out, stamp);
                        read.map_err(|raced| self.global_race(tensor, (t.site, epoch.thread), raced))?;
                        self.poll_bytes(t, at, out);
                    } else {
                        out.copy_from_slice(&tensor.bytes[at..at + out.len()]);
                    }
                }
            }
            Mem::Shared(s) => {
                if let Some(atomic) = &t.atomic {
                    let bits = self.shared_atomic(t, (thread, at), (atomic, 0, 0), None)?;
                    hx_dtype::store(t.dtype, out, 0, bits);
                    return Ok(());
                }
                let touch = Touch { at, len: t.access, tensor: s, epoch, site: t.site };
                let checked = self.shared.read(touch, &self.clock, self.code);
                checked.map_err(|fault| self.error(t.site, Some(thread), fault))?;
                out.copy_from_slice(&self.shared.bytes[at..at + out.len()]);
                self.poll_bytes(t, at, out);
            }
        }
        Ok(())
    }

    /// Writes bytes to a checked address.
    ///
    /// # Errors
    /// On a race, and in shared memory as [`SharedMemory::write`](crate::block::shared::SharedMemory::write).
    #[inline]
    fn write(&mut self, t: &Transfer, thread: usize, at: i64, bytes: &[u8]) -> Result<(), SimError> {
        let at = at as usize;
        let epoch = self.now(thread, t.lanes());
        match t.memory {
            Mem::Global(p) => {
                if let Some(tensor) = &self.tensors[p] {
                    let stamp = stamp!(self, t.site, epoch);
                    let done = self.overlays[p].write(tensor, at, bytes, stamp);
                    done.map_err(|raced| self.global_race(tensor, (t.site, epoch.thread), raced))?;
                    self.stored(t.site, p, (at, bytes.len()), epoch);
                }
            }
            Mem::Shared(s) => {
                let touch = Touch { at, len: t.access, tensor: s, epoch, site: t.site };
                let checked = self.shared.write(touch, &self.clock, self.code);
                checked.map_err(|fault| self.error(t.site, Some(thread), fault))?;
                if self.shared.bytes[at..at + bytes.len()] != *bytes {
                    self.stir();
                    self.shared.bytes[at..at + bytes.len()].copy_from_slice(bytes);
                }
            }
        }
        Ok(())
    }
}

impl Transfer {
    /// Returns how many threads take part in an access.
    #[inline]
    fn lanes(&self) -> u16 {
        self.exchange.as_ref().map_or(1, |exchange| exchange.lanes as u16)
    }
}

#[cold]
fn misaligned(tensor: &str, element: i64, (address, bit): (i64, i64), a: Access) -> Fault {
    let (access, write) = (a.bytes as u32, a.write);
    Fault::Misaligned { tensor: tensor.into(), element, address, bit: bit as u32, access, write }
}

/// Calls `set` for each position with the bits of the element of `bytes` in the same order.
#[inline]
fn unpack(dtype: DType, bytes: &[u8], positions: &[usize], mut set: impl FnMut(usize, u64)) {
    match dtype.bits() {
        16 => {
            for (c, p) in bytes.chunks_exact(2).zip(positions) {
                set(*p, u64::from(u16::from_le_bytes([c[0], c[1]])));
            }
        }
        32 => {
            for (c, p) in bytes.chunks_exact(4).zip(positions) {
                set(*p, u64::from(u32::from_le_bytes([c[0], c[1], c[2], c[3]])));
            }
        }
        _ => {
            for (i, p) in positions.iter().enumerate() {
                set(*p, hx_dtype::load(dtype, bytes, i));
            }
        }
    }
}

/// Fills `bytes` with the elements whose bits `get` returns for the positions: the inverse of [`unpack`].
#[inline]
fn pack(dtype: DType, bytes: &mut [u8], positions: &[usize], get: impl Fn(usize) -> u64) {
    match dtype.bits() {
        16 => {
            for (c, p) in bytes.chunks_exact_mut(2).zip(positions) {
                c.copy_from_slice(&(get(*p) as u16).to_le_bytes());
            }
        }
        32 => {
            for (c, p) in bytes.chunks_exact_mut(4).zip(positions) {
                c.copy_from_slice(&(get(*p) as u32).to_le_bytes());
            }
        }
        _ => {
            for (i, p) in positions.iter().enumerate() {
                hx_dtype::store(dtype, bytes, i, get(*p));
            }
        }
    }
}
