//! Bulk copies: boxes of tensor maps and runs, groups of stores, and the reads of shared memory that are in flight.
//!
//! A load reads its tensor when it is issued. Its bytes become visible before the phase of its barrier completes, because the
//! phase counts them; the seed selects when. See [`super::completion`].
//!
//! A store of the simulator reads shared memory when it is issued. The hardware may read as late as at the wait for its group,
//! so until then no thread may write the bytes that the store reads. The wait counts as a read by the thread that waits: a
//! barrier after it orders writes of other threads. What the store writes is in flight until a wait for writes, too: see
//! [`crate::stored`].

use hx_target::{Completion, Mode, SwizzleMode};
use hx_tensor_map::TensorMap;
use hx_thread::Mark;

use crate::block::Block;
use crate::block::effect::{Effect, Filled};
use crate::block::shared::{PIECE, Touch};
use crate::block::stores::Issued;
use crate::code::{BulkCode, Mem, PartCode, SiteId};
use crate::error::{Fault, SimError};
use crate::formula::Formula;
use crate::stamp::stamp;
use crate::trace::Kind;

/// A piece of a box.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Its first byte in shared memory.
    at: usize,
    /// The part of it that is inside of the tensor: the first byte in the piece, the first byte in the tensor, and the number
    /// of bytes. `None` if no byte is inside.
    inside: Option<(usize, usize, usize)>,
}

/// Returns the bytes of an element of a map.
fn element(map: &TensorMap) -> usize {
    map.element.bits() as usize / 8
}

/// Returns the byte at which the element `number` of `bits` bits begins; `None` within a byte, or past the end of 64 bits.
fn in_bytes(number: i64, bits: usize) -> Option<i64> {
    number.checked_mul(bits as i64).filter(|at| at % 8 == 0).map(|at| at / 8)
}

/// Returns the pieces of the box of a map whose first element has these coordinates and lies at byte `start` of shared memory.
///
/// # Errors
/// If a piece inside of the map begins before the tensor.
fn boxed(map: &TensorMap, first: &[i64], start: usize) -> Result<Vec<Piece>, String> {
    let swizzle = SwizzleMode::of_map(map.swizzle).unwrap_or(SwizzleMode::Plain).of_bytes();
    let width = element(map) as i64;
    let row = map.extents[0] as usize * element(map);
    let rows: i64 = map.extents[1..].iter().map(|n| i64::from(*n)).product();
    let mut out = Vec::new();
    for number in 0..rows {
        let (mut rest, mut base, mut inside) = (number, 0i64, true);
        for (dim, extent) in map.extents.iter().enumerate().skip(1) {
            let coordinate = first[dim] + rest % i64::from(*extent);
            rest /= i64::from(*extent);
            inside &= (0..map.dims[dim]).contains(&coordinate);
            // Addresses wrap modulo 2⁶⁴. Maps for boxes that end at a row which only the copy knows rely on it: two of their
            // dimensions have strides that cancel (the head of `lower/bulk.rs` in `hx-thread`).
            base = base.wrapping_add(coordinate.wrapping_mul(map.strides[dim - 1]));
        }
        for piece in 0..row / PIECE {
            let linear = number as usize * row + piece * PIECE;
            let at = swizzle.apply((start + linear) as i64) as usize;
            let from = first[0] + (piece * PIECE) as i64 / width;
            let (low, high) = (from.max(0), (from + PIECE as i64 / width).min(map.dims[0]));
            let inside = (inside && low < high).then(|| {
                let bytes = |elements: i64| (elements * width) as usize;
                (bytes(low - from), base + low * width, bytes(high - low))
            });
            let inside = match inside {
                None => None,
                Some((skip, byte, len)) => match usize::try_from(byte) {
                    Ok(byte) => Some((skip, byte, len)),
                    Err(_) => return Err(format!("a box begins {} bytes before its tensor", -byte)),
                },
            };
            out.push(Piece { at, inside });
        }
    }
    Ok(out)
}

/// Describes the bytes that a box writes behind the end of a row of its tensor, because the hardware writes whole units of
/// `tail` bytes; `None` if every row ends with a unit, and for a run.
fn overwritten(tail: usize, pieces: &[Piece], maps: &[TensorMap], part: &PartCode) -> Option<String> {
    let PartCode::Box { map, .. } = part else { return None };
    let ends = |piece: &Piece| piece.inside.map(|(skip, byte, len)| (byte + len, (skip + len) % tail));
    let (byte, used) = pieces.iter().filter_map(ends).find(|(_, used)| *used != 0)?;
    let row = maps[*map].dims[0] as usize * element(&maps[*map]);
    let behind = tail - used;
    Some(format!(
        "a box writes {behind} bytes behind byte {byte} of its tensor, where a row of {row} bytes ends"
    ))
}

/// Returns the pieces of `bytes` contiguous bytes that begin at byte `from` of a tensor and at byte `start` of shared memory.
///
/// # Errors
/// If `from` or `start` is no multiple of [`PIECE`], or `from` is negative.
fn run(from: i64, start: usize, bytes: usize) -> Result<Vec<Piece>, String> {
    let Some(first) = usize::try_from(from).ok().filter(|at| (at | start).is_multiple_of(PIECE)) else {
        return Err(format!("a run from byte {from} of its tensor to byte {start} of shared memory"));
    };
    let piece = |at| Piece { at: start + at, inside: Some((0, first + at, PIECE)) };
    Ok((0..bytes).step_by(PIECE).map(piece).collect())
}

impl<'a> Block<'a> {
    /// Returns the pieces of a bulk copy.
    ///
    /// # Errors
    /// If the copy reaches outside of its tensor or its shared tensor, or breaks a rule of the hardware on alignment or
    /// coordinates.
    fn pieces_of(&mut self, c: &BulkCode) -> Result<Vec<Piece>, SimError> {
        let malformed = |block: &Self, text: String| block.error(c.site, None, Fault::Malformed(text));
        let code = self.code;
        let bytes = match &c.part {
            PartCode::Box { map, .. } => {
                let map = &code.maps[*map];
                map.extents.iter().product::<u32>() as usize * element(map)
            }
            PartCode::Run { bytes, .. } => *bytes,
        };
        let offset = c.offset.scalar(&self.agent.env).map_err(|f| self.failed(c.site, f))?;
        let shared = &code.shared[c.shared];
        let within = in_bytes(offset, c.bits).and_then(|at| usize::try_from(at).ok());
        let Some(within) = within.filter(|at| at + bytes <= shared.bytes) else {
            let text = format!("{bytes} bytes are copied at element {offset} of `{}`", shared.name);
            return Err(malformed(self, text));
        };
        let start = shared.offset + within;
        let pieces = match &c.part {
            PartCode::Box { map, coordinates } => {
                let align = self.code.target.limits.box_align as usize;
                if !start.is_multiple_of(align) {
                    let text =
                        format!("a box at byte {start} of shared memory, which is not a multiple of {align}");
                    return Err(malformed(self, text));
                }
                let mut first = Vec::with_capacity(coordinates.len());
                for coordinate in coordinates {
                    first.push(coordinate.scalar(&self.agent.env).map_err(|f| self.failed(c.site, f))?);
                }
                let width = element(&code.maps[*map]) as i64;
                let (corner, unit) = (first[0] * width, self.code.target.rows().map.corner);
                if corner % unit != 0 {
                    let text = format!(
                        "a box at byte {corner} of the rows of its tensor, which is not a multiple of {unit}"
                    );
                    return Err(malformed(self, text));
                }
                if let (true, Some(below)) = (c.global.mode.writes(), first.iter().find(|at| **at < 0)) {
                    let text = format!("a box is written at coordinate {below}: a GPU takes none below 0");
                    return Err(malformed(self, text));
                }
                boxed(&code.maps[*map], &first, start)
            }
            PartCode::Run { offset, .. } => {
                let offset = offset.scalar(&self.agent.env).map_err(|f| self.failed(c.site, f))?;
                match in_bytes(offset, c.bits) {
                    Some(from) => run(from, start, bytes),
                    None => Err(format!("a run begins within a byte, at element {offset} of its tensor")),
                }
            }
        };
        let pieces = pieces.map_err(|text| malformed(self, text))?;
        if let (true, Some(text)) = (
            c.global.mode.writes(),
            overwritten(self.code.target.rows().map.tail as usize, &pieces, &code.maps, &c.part),
        ) {
            return Err(malformed(self, text));
        }
        let held = self.tensors[c.tensor].as_ref().map_or(0, |tensor| tensor.bytes.len());
        match pieces.iter().filter_map(|piece| piece.inside).find(|(_, byte, len)| byte + len > held) {
            None => Ok(pieces),
            Some((_, byte, _)) => {
                Err(malformed(self, format!("a copy reaches byte {byte} of a tensor of {held} bytes")))
            }
        }
    }

    pub(crate) fn bulk_load(
        &mut self,
        c: &'a BulkCode,
        (barrier, index): (usize, &Formula),
    ) -> Result<(), SimError> {
        let stage = self.stage_of(c.site, barrier, index)?;
        let pieces = self.pieces_of(c)?;
        let thread = self.agent.first as u32;
        let epoch = self.phases.fill(&self.clock, thread, (barrier, stage));
        self.counters[c.site as usize].instructions += 1;
        let global = c.tensor;
        let mut box_bytes = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            let mut bytes = [0; PIECE];
            if let (Some((skip, at, len)), Some(tensor)) = (piece.inside, &self.tensors[global]) {
                let out = &mut bytes[skip..skip + len];
                if tensor.mutable {
                    let stamp = stamp!(self, c.site, epoch);
                    let read = self.overlays[global].read(tensor, at, out, stamp);
                    read.map_err(|raced| self.global_race(tensor, (c.site, thread), raced))?;
                } else {
                    out.copy_from_slice(&tensor.bytes[at..at + len]);
                }
                self.witness((c.site, Mem::Global(global), false), 0, (at, len), |_| None);
                self.counters[c.site as usize].bytes += len as u64;
            }
            box_bytes.push((piece.at, bytes));
        }
        let filled = Filled {
            site: c.site,
            from: self.index,
            thread,
            tensor: c.shared,
            barrier,
            stage,
            proxy: c.local.proxy,
            pieces: box_bytes.into(),
            waits: self.clock.passes(self.agent.warp_set.first()),
        };
        if c.blocks.is_empty() {
            return self.filled(&filled);
        }
        for rank in self.ranks(c.site, &c.blocks)? {
            self.send(rank, Effect::Filled(filled.clone()))?;
        }
        Ok(())
    }

    pub(crate) fn bulk_store(&mut self, c: &'a BulkCode) -> Result<(), SimError> {
        let pieces = self.pieces_of(c)?;
        let thread = self.agent.first as u32;
        let epoch = self.clock.access(thread, 1).through(c.local.proxy);
        self.counters[c.site as usize].instructions += 1;
        let global = c.tensor;
        let store = self.overlays[global].stored.begin(
            self.run,
            Mark { epoch, by: c.site },
            c.global.mode == Mode::Add,
        );
        for piece in &pieces {
            let touch = Touch { at: piece.at, len: PIECE, tensor: c.shared, epoch, site: c.site };
            let read = self.shared.read(touch, &self.clock, self.code);
            read.map_err(|fault| self.error(c.site, Some(thread as usize), fault))?;
            self.trace_shared(c.site, Kind::Read, thread, (piece.at, PIECE));
            let (Some((skip, at, len)), Some(tensor)) = (piece.inside, &self.tensors[global]) else {
                continue;
            };
            let bytes = &self.shared.bytes[piece.at + skip..piece.at + skip + len];
            let stamp = stamp!(self, c.site, epoch);
            let overlay = &mut self.overlays[global];
            let done = if c.global.mode == Mode::Add {
                overlay.add(tensor, at, bytes, stamp)
            } else {
                overlay.write(tensor, at, bytes, stamp)
            };
            let unfenced = done.map(|()| overlay.mark_stored(tensor, (at, len), store, stamp));
            let unfenced = unfenced.map_err(|raced| self.global_race(tensor, (c.site, thread), raced))?;
            if let Some(earlier) = unfenced {
                return Err(self.unfenced_store(c.site, &tensor.name, earlier));
            }
            self.stored(c.site, global, (at, len), epoch);
            self.witness((c.site, Mem::Global(global), true), 0, (at, len), |_| None);
            self.counters[c.site as usize].bytes += len as u64;
        }
        let pieces: Vec<usize> = pieces.iter().map(|piece| piece.at).collect();
        for at in &pieces {
            let touch = Touch { at: *at, len: PIECE, tensor: c.shared, epoch, site: c.site };
            let fenced = self.shared.expect_fenced(touch, false, &self.clock, self.code);
            fenced.map_err(|fault| self.error(c.site, Some(0), fault))?;
            self.shared.store_reads.entry(*at).or_insert((0, c.site, thread)).0 += 1;
        }
        let (accesses, to) = ([c.local, c.global], (global, store));
        self.agent.stores.open.push(Issued { site: c.site, shared: c.shared, pieces, accesses, to });
        Ok(())
    }

    pub(crate) fn bulk_commit(&mut self, site: SiteId) {
        self.counters[site as usize].instructions += 1;
        let group = std::mem::take(&mut self.agent.stores.open);
        self.agent.stores.closed.push_back(group);
    }

    /// Waits until at most `leave` groups are in flight. `completes` says which of their accesses the wait covers: reads of
    /// shared memory, or writes of global memory, too. The open group does not count.
    ///
    /// # Errors
    /// If another thread wrote what a store that is complete now has read.
    pub(crate) fn bulk_wait(
        &mut self,
        site: SiteId,
        leave: u32,
        completes: &[Completion],
    ) -> Result<(), SimError> {
        self.counters[site as usize].instructions += 1;
        let thread = self.agent.first as u32;
        let done = self.agent.stores.closed.len().saturating_sub(leave as usize);
        for at in self.agent.stores.read..done {
            for number in 0..self.agent.stores.closed[at].len() {
                let issued = &mut self.agent.stores.closed[at][number];
                if completes.contains(&issued.accesses[0].until) {
                    let ended = Issued { pieces: std::mem::take(&mut issued.pieces), ..issued.clone() };
                    self.store_has_read(&ended)?;
                }
            }
        }
        self.agent.stores.read = self.agent.stores.read.max(done);
        for _ in 0..done {
            let covers = |issued: &Issued| completes.contains(&issued.accesses[1].until);
            let Some(group) = self.agent.stores.closed.pop_front_if(|group| group.iter().all(covers)) else {
                break;
            };
            self.agent.stores.read -= 1;
            for Issued { to: (tensor, store), accesses: [_, global], .. } in group {
                let epoch = self.clock.access(thread, 1).through(global.proxy);
                self.overlays[tensor].stored.complete(store, epoch);
            }
        }
        Ok(())
    }

    /// Ends the reads of a store: they happen now at the latest.
    ///
    /// # Errors
    /// As [`SharedMemory::read`](crate::block::shared::SharedMemory::read).
    fn store_has_read(&mut self, issued: &Issued) -> Result<(), SimError> {
        let Issued { site, shared, ref pieces, accesses: [local, _], .. } = *issued;
        let thread = self.agent.first as u32;
        let epoch = self.clock.access(thread, 1).through(local.proxy);
        for &at in pieces {
            if let Some(stores) = self.shared.store_reads.get_mut(&at) {
                stores.0 -= 1;
                if stores.0 == 0 {
                    self.shared.store_reads.remove(&at);
                }
            }
            let touch = Touch { at, len: PIECE, tensor: shared, epoch, site };
            let read = self.shared.read(touch, &self.clock, self.code);
            read.map_err(|fault| self.error(site, Some(thread as usize), fault))?;
        }
        Ok(())
    }

    /// Returns the error of a bulk store without a fence after an earlier access. The compiler places fences, so a missing one
    /// is a fault of the thread program, not of the kernel.
    #[cold]
    fn unfenced_store(&self, site: SiteId, tensor: &str, earlier: Mark<SiteId>) -> SimError {
        let thread = self.code.own(earlier.epoch.thread);
        let title = &self.code.sites[earlier.by as usize].title;
        let text = format!(
            "no fence of thread {thread} stands between its access to `{tensor}` in `{title}` and the bulk store to it"
        );
        self.error(site, Some(0), Fault::Malformed(text))
    }
}
