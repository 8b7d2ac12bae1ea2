//! Loads and stores: addresses, their checks and counts, and the bytes themselves.

use hx_dtype::DType;
use hx_target::WARP;

use crate::banks;
use crate::block::{Block, Scratch};
use crate::code::{Exchange, Mem, Transfer};
use crate::error::{Fault, SimError};
use crate::formula::Test;
use crate::global::Tensor;
use crate::shared::Touch;

impl<'a> Block<'a> {
    pub(crate) fn transfer(&mut self, t: &'a Transfer) -> Result<(), SimError> {
        // An error ends the block, so the scratch need not come back then.
        let mut scratch = std::mem::take(&mut self.scratch);
        let base = self.base(t.site, &t.regs)?;
        let threads = self.code.threads;
        scratch.positions.clear();
        scratch.positions.extend(t.regs.offsets.iter().map(|o| (base + o) * threads));
        let masked = !matches!(t.guard, Test::Const(true));
        if masked {
            let failed = t.guard.lanes(&mut self.env, None, &mut scratch.mask);
            failed.map_err(|f| self.failed(t.site, f))?;
        }
        scratch.addresses.clear();
        if !masked || scratch.mask.contains(&true) {
            let mask = masked.then_some(&scratch.mask[..]);
            let failed = t.offset.lanes(&mut self.env, mask, &mut scratch.offsets);
            failed.map_err(|f| self.failed(t.site, f))?;
            self.resolve(t, masked, &mut scratch)?;
            self.count(t, &mut scratch);
        }
        if !t.load && !scratch.addresses.is_empty() {
            self.expect_written(t.site, &t.regs, base)?;
        }
        match (&t.exchange, t.load) {
            (None, true) => self.load(t, masked, &mut scratch)?,
            (None, false) => self.store(t, &mut scratch)?,
            (Some(exchange), true) => self.collective_load(t, exchange, &mut scratch)?,
            (Some(exchange), false) => self.collective_store(t, exchange, &mut scratch)?,
        }
        if t.load {
            self.set_written(&t.regs, base);
        }
        self.scratch = scratch;
        Ok(())
    }

    /// Turns the element offsets of the threads whose address counts into checked byte addresses: in the tensor's bytes for global
    /// memory, in the block's memory for shared.
    fn resolve(&self, t: &Transfer, masked: bool, scratch: &mut Scratch) -> Result<(), SimError> {
        let mut one = |thread: usize, offset: i64| -> Result<(), SimError> {
            match self.byte(t, offset) {
                Ok(at) => scratch.addresses.push((thread, at)),
                Err(fault) => return Err(self.error(t.site, Some(thread), fault)),
            }
            Ok(())
        };
        match &t.exchange {
            None => {
                for (thread, &offset) in scratch.offsets.iter().enumerate() {
                    if !masked || scratch.mask[thread] {
                        one(thread, offset)?;
                    }
                }
            }
            Some(exchange) => {
                for first in (0..self.code.threads).step_by(exchange.lanes) {
                    for owner in &exchange.owners {
                        one(first + owner, scratch.offsets[first + owner])?;
                    }
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn byte(&self, t: &Transfer, offset: i64) -> Result<i64, Fault> {
        let bits = i64::from(t.dtype.bits());
        let count = t.access as i64 * 8 / bits;
        match t.memory {
            Mem::Global(p) => {
                let Some(tensor) = &self.tensors[p] else {
                    return Err(Fault::Malformed(format!("parameter {p} is no tensor")));
                };
                if let Some(element) = tensor.outside(offset, count) {
                    return Err(tensor.out_of_bounds(element, !t.load));
                }
                let (at, bit) = (offset * bits / 8, offset * bits % 8);
                if bit != 0 || (tensor.address + at) % t.access as i64 != 0 {
                    return Err(misaligned(&tensor.name, offset, (tensor.address + at, bit), t));
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
                        write: !t.load,
                    });
                }
                let (at, bit) = (buffer.offset as i64 + offset * bits / 8, offset * bits % 8);
                if bit != 0 || at % t.access as i64 != 0 {
                    return Err(misaligned(&buffer.name, offset, (at, bit), t));
                }
                Ok(at)
            }
        }
    }

    fn count(&mut self, t: &Transfer, scratch: &mut Scratch) {
        let threads = self.code.threads;
        let counters = &mut self.counters[t.site as usize];
        let lanes = t.exchange.as_ref().map_or(WARP as usize, |e| e.lanes);
        let moved = if t.exchange.is_some() { threads } else { scratch.addresses.len() };
        counters.bytes += (moved * t.bytes) as u64;
        let global = match t.memory {
            Mem::Global(p) => self.tensors[p].as_ref().map(|tensor| tensor.address),
            Mem::Shared(_) => None,
        };
        let mut rest = &scratch.addresses[..];
        while let Some(&(thread, _)) = rest.first() {
            let group = thread / lanes;
            let end = rest.iter().position(|(t, _)| t / lanes != group).unwrap_or(rest.len());
            let request = &rest[..end];
            rest = &rest[end..];
            counters.instructions += 1;
            match global {
                Some(base) => {
                    scratch.sorted.clear();
                    scratch.sorted.extend(request.iter().map(|(_, at)| base + at));
                    let (found, ideal) = banks::sectors(&mut scratch.sorted, t.access);
                    counters.requests += 1;
                    counters.sectors += found;
                    counters.ideal_sectors += ideal;
                }
                None => {
                    scratch.request.clear();
                    // Of a collective transfer, the lanes whose address counts stand side by side.
                    let collective = t.exchange.is_some();
                    let place = |(i, (thread, at)): (usize, &(usize, i64))| {
                        (if collective { i } else { thread % lanes }, *at)
                    };
                    scratch.request.extend(request.iter().enumerate().map(place));
                    let (found, ideal) = banks::wavefronts(&scratch.request, t.access);
                    counters.wavefronts += found;
                    counters.ideal_wavefronts += ideal;
                }
            }
        }
        scratch.sorted.clear();
        scratch.sorted.extend(scratch.addresses.iter().map(|(_, at)| *at));
        counters.redundant_bytes += banks::repeated(&mut scratch.sorted) * t.access as u64;
    }

    fn load(&mut self, t: &Transfer, masked: bool, scratch: &mut Scratch) -> Result<(), SimError> {
        let threads = self.code.threads;
        if masked {
            // Threads whose guard fails hold the padding.
            let file = &mut self.registers[t.regs.array];
            for position in &scratch.positions {
                file.bits[*position..][..threads].fill(t.pad);
            }
        }
        scratch.bytes.resize(t.access, 0);
        for &(thread, at) in &scratch.addresses {
            self.read(t, thread, at, &mut scratch.bytes)?;
            let file = &mut self.registers[t.regs.array];
            unpack(t.dtype, &scratch.bytes, &scratch.positions, |position, bits| {
                file.bits[position + thread] = bits;
            });
        }
        Ok(())
    }

    fn store(&mut self, t: &Transfer, scratch: &mut Scratch) -> Result<(), SimError> {
        scratch.bytes.resize(t.access, 0);
        for &(thread, at) in &scratch.addresses {
            let file = &self.registers[t.regs.array];
            pack(t.dtype, &mut scratch.bytes, &scratch.positions, |position| file.bits[position + thread]);
            self.write(t, thread, at, &scratch.bytes)?;
        }
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
        for first in (0..self.code.threads).step_by(exchange.lanes) {
            for &(thread, at) in addresses.next().unwrap_or_default() {
                let bytes = &mut scratch.bytes[(thread - first) * t.access..][..t.access];
                self.read(t, thread, at, bytes)?;
            }
            let per_lane = t.access * 8 / t.dtype.bits() as usize;
            let file = &mut self.registers[t.regs.array];
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
        for first in (0..self.code.threads).step_by(exchange.lanes) {
            let per_lane = t.access * 8 / t.dtype.bits() as usize;
            let file = &self.registers[t.regs.array];
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
            }
        }
        Ok(())
    }

    /// Reads the bytes at a checked address.
    #[inline]
    fn read(&mut self, t: &Transfer, thread: usize, at: i64, out: &mut [u8]) -> Result<(), SimError> {
        let at = at as usize;
        match t.memory {
            Mem::Global(p) => {
                if let Some(tensor) = &self.tensors[p] {
                    if tensor.mutable {
                        self.overlays[p].read(tensor, at, out, t.site);
                    } else {
                        out.copy_from_slice(&tensor.bytes[at..at + out.len()]);
                    }
                }
            }
            Mem::Shared(s) => {
                let touch = t.touch(s, thread, at);
                let checked = self.shared.read(touch, self.code);
                checked.map_err(|fault| self.error(t.site, Some(thread), fault))?;
                out.copy_from_slice(&self.shared.bytes[at..at + out.len()]);
            }
        }
        Ok(())
    }

    /// Writes bytes to a checked address.
    #[inline]
    fn write(&mut self, t: &Transfer, thread: usize, at: i64, bytes: &[u8]) -> Result<(), SimError> {
        let at = at as usize;
        match t.memory {
            Mem::Global(p) => {
                if let Some(tensor) = &self.tensors[p] {
                    self.overlays[p].write(tensor, at, bytes, t.site);
                }
            }
            Mem::Shared(s) => {
                let touch = t.touch(s, thread, at);
                let checked = self.shared.write(touch, self.code);
                checked.map_err(|fault| self.error(t.site, Some(thread), fault))?;
                self.shared.bytes[at..at + bytes.len()].copy_from_slice(bytes);
            }
        }
        Ok(())
    }
}

impl Transfer {
    #[inline]
    fn touch(&self, tensor: usize, thread: usize, at: usize) -> Touch {
        let collective = self.exchange.is_some();
        Touch { at, len: self.access, tensor, thread: thread as u32, collective, site: self.site }
    }
}

#[cold]
fn misaligned(tensor: &str, element: i64, (address, bit): (i64, i64), t: &Transfer) -> Fault {
    let (access, write) = (t.access as u32, !t.load);
    Fault::Misaligned { tensor: tensor.into(), element, address, bit: bit as u32, access, write }
}

/// Gives the elements of `bytes` to the positions in order.
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

/// The inverse of [`unpack`].
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

impl Tensor {
    /// The element that holds a byte.
    pub(crate) fn element_of(&self, byte: usize) -> i64 {
        (byte as u64 * 8 / u64::from(self.dtype.bits())) as i64
    }
}
