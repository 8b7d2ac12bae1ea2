//! The shared memory of one block: its bytes, which of them are written, and the last accesses that may still race.
//!
//! It keeps one record for each granule. A granule has the width of the program's narrowest access, and every access covers whole
//! granules.

use hx_thread::{Clock, Epoch, Known, Mark, Pair};

use crate::code::{Code, SiteId};
use crate::error::{Deed, Fault};

#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// The tensor last written here, plus one; 0 for none.
    tensor: u32,
    /// The last write, or the copy that is filling the granule.
    write: Option<Mark<SiteId>>,
    reads: Pair<SiteId>,
}

#[derive(Debug)]
pub(crate) struct SharedMemory {
    pub(crate) bytes: Vec<u8>,
    records: Vec<Record>,
    granule: usize,
    /// Whether some copy of the program is asynchronous.
    asynchronous: bool,
    check: bool,
}

/// An access: its thread, its operation and its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    /// First byte in shared memory.
    pub(crate) at: usize,
    pub(crate) len: usize,
    /// Position among the shared tensors.
    pub(crate) tensor: usize,
    pub(crate) epoch: Epoch,
    pub(crate) site: SiteId,
}

impl Touch {
    #[inline]
    fn mark(self) -> Mark<SiteId> {
        Mark { epoch: self.epoch, by: self.site }
    }
}

impl SharedMemory {
    pub(crate) fn new(code: &Code, check: bool) -> SharedMemory {
        let granules = code.shared_bytes.div_ceil(code.granule);
        SharedMemory {
            bytes: vec![0; code.shared_bytes],
            records: vec![Record::default(); granules],
            granule: code.granule,
            asynchronous: code.asynchronous,
            check,
        }
    }

    /// Checks and records a load.
    ///
    /// # Errors
    /// On bytes that this tensor does not hold yet, on bytes that a copy is filling, and on a race.
    #[inline]
    pub(crate) fn read(&mut self, touch: Touch, clock: &Clock, code: &Code) -> Result<(), Fault> {
        self.expect_landed(touch, false, clock, code)?;
        for i in self.granules(touch) {
            let record = &mut self.records[i];
            if record.tensor != touch.tensor as u32 + 1 {
                return Err(uninitialized(touch, (i * self.granule).max(touch.at), code));
            }
            if !self.check {
                continue;
            }
            if let Some(write) = record.write
                && clock.relation(write.epoch, touch.epoch) != Known::Before
            {
                return Err(race(touch, i * self.granule, (write, Deed::Write), false, code));
            }
            record.reads.remember(touch.mark(), clock);
        }
        Ok(())
    }

    /// Checks and records a store, or the issue of an asynchronous copy, which may write at any time from now on.
    ///
    /// # Errors
    /// On bytes that another copy is filling, and on a race.
    #[inline]
    pub(crate) fn write(&mut self, touch: Touch, clock: &Clock, code: &Code) -> Result<(), Fault> {
        self.expect_unused(touch, clock, code)?;
        for i in self.granules(touch) {
            let record = &mut self.records[i];
            record.tensor = touch.tensor as u32 + 1;
            record.write = Some(touch.mark());
        }
        Ok(())
    }

    /// Makes the bytes of a copy visible.
    pub(crate) fn land(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    #[inline]
    fn granules(&self, touch: Touch) -> std::ops::Range<usize> {
        let first = touch.at / self.granule;
        first..first + touch.len.div_ceil(self.granule)
    }

    /// Fails if a copy is still filling the bytes, or if nothing orders an earlier access to them before this one.
    #[inline]
    fn expect_unused(&self, touch: Touch, clock: &Clock, code: &Code) -> Result<(), Fault> {
        self.expect_landed(touch, true, clock, code)?;
        if !self.check {
            return Ok(());
        }
        for i in self.granules(touch) {
            let record = &self.records[i];
            let apart = |write: &Mark<SiteId>| clock.relation(write.epoch, touch.epoch) != Known::Before;
            let write = || Some((record.write.filter(apart)?, Deed::Write));
            let read = || Some((record.reads.meets(touch.epoch, clock)?, Deed::Read));
            if let Some(earlier) = write().or_else(read) {
                return Err(race(touch, i * self.granule, earlier, true, code));
            }
        }
        Ok(())
    }

    /// Fails if a copy is still filling the bytes.
    #[inline]
    fn expect_landed(&self, touch: Touch, write: bool, clock: &Clock, code: &Code) -> Result<(), Fault> {
        if !self.asynchronous {
            return Ok(());
        }
        let filling = |i: usize| self.records[i].write.filter(|write| clock.is_in_flight(write.epoch));
        match self.granules(touch).find_map(|i| Some((i, filling(i)?))) {
            None => Ok(()),
            Some((i, copy)) => Err(in_flight(touch, i * self.granule, copy, write, code)),
        }
    }
}

/// Returns the element of a tensor that holds a byte of shared memory.
fn element(touch: Touch, byte: usize, code: &Code) -> i64 {
    let tensor = &code.shared[touch.tensor];
    (byte.max(touch.at).saturating_sub(tensor.offset) * 8 / tensor.bits) as i64
}

#[cold]
fn uninitialized(touch: Touch, byte: usize, code: &Code) -> Fault {
    let tensor = &code.shared[touch.tensor];
    Fault::UninitializedShared {
        tensor: tensor.name.clone(),
        byte: byte as i64 - tensor.offset as i64,
        element: element(touch, byte, code),
    }
}

#[cold]
fn in_flight(touch: Touch, byte: usize, copy: Mark<SiteId>, write: bool, code: &Code) -> Fault {
    let copy = code.sites[copy.by as usize].copying(copy.epoch.thread);
    Fault::CopyInFlight {
        tensor: code.shared[touch.tensor].name.clone(),
        element: element(touch, byte, code),
        write,
        collective: touch.epoch.is_collective(),
        copy: Box::new(copy),
    }
}

#[cold]
fn race(touch: Touch, byte: usize, (earlier, deed): (Mark<SiteId>, Deed), write: bool, code: &Code) -> Fault {
    let Mark { epoch, by } = earlier;
    let earlier = code.sites[by as usize].access(epoch.thread, deed, epoch.is_collective());
    Fault::SharedRace {
        tensor: code.shared[touch.tensor].name.clone(),
        element: element(touch, byte, code),
        write,
        collective: touch.epoch.is_collective(),
        earlier: Box::new(earlier),
    }
}
