//! The shared memory of one block: its bytes, which of them are written or being copied to, and the accesses since the last
//! barrier.
//!
//! It keeps one record for each granule. A granule has the width of the program's narrowest access, and every access covers whole
//! granules.

use hx_thread::Clock;

use crate::code::{Code, SiteId};
use crate::error::{Deed, Fault};
use crate::marks::{Mark, Pair};

#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// The tensor last written here, plus one; 0 for none.
    tensor: u32,
    write: Mark,
    reads: Pair,
}

#[derive(Debug)]
pub(crate) struct SharedMemory {
    pub(crate) bytes: Vec<u8>,
    records: Vec<Record>,
    /// Indexed by granule: thread and site of the asynchronous copy that is filling it. Empty if the program has no such copy.
    flights: Vec<Option<(u32, SiteId)>>,
    granule: usize,
    pub(crate) clock: Clock,
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
    pub(crate) thread: u32,
    /// The thread supplies the address, but other lanes hold the addressed elements.
    pub(crate) collective: bool,
    pub(crate) site: SiteId,
}

impl Touch {
    #[inline]
    fn mark(self, clock: Clock) -> Mark {
        Mark { time: clock.now(), thread: self.thread, collective: self.collective, site: self.site }
    }
}

impl SharedMemory {
    pub(crate) fn new(code: &Code, check: bool) -> SharedMemory {
        let granules = code.shared_bytes.div_ceil(code.granule);
        SharedMemory {
            bytes: vec![0; code.shared_bytes],
            records: vec![Record::default(); granules],
            flights: vec![None; if code.asynchronous { granules } else { 0 }],
            granule: code.granule,
            clock: Clock::default(),
            check,
        }
    }

    /// Returns the clock, or `None` if races are not checked.
    pub(crate) fn checked_clock(&self) -> Option<Clock> {
        self.check.then_some(self.clock)
    }

    /// Checks and records a load.
    ///
    /// # Errors
    /// On bytes that this tensor does not hold yet, on bytes that a copy is filling, and on a race.
    #[inline]
    pub(crate) fn read(&mut self, touch: Touch, code: &Code) -> Result<(), Fault> {
        self.expect_landed(touch, false, code)?;
        let clock = self.clock;
        let here = touch.mark(clock);
        for i in self.granules(touch) {
            let record = &mut self.records[i];
            if record.tensor != touch.tensor as u32 + 1 {
                return Err(uninitialized(touch, (i * self.granule).max(touch.at), code));
            }
            if !self.check {
                continue;
            }
            if record.write.meets(here, clock) {
                return Err(race(touch, i * self.granule, (record.write, Deed::Write), false, code));
            }
            record.reads.remember(here, clock);
        }
        Ok(())
    }

    /// Checks and records a store.
    ///
    /// # Errors
    /// On bytes that a copy is filling, and on a race.
    #[inline]
    pub(crate) fn write(&mut self, touch: Touch, code: &Code) -> Result<(), Fault> {
        self.expect_unused(touch, code)?;
        self.set_written(touch);
        Ok(())
    }

    /// Checks and records the issue of an asynchronous copy, which may write at any time from now on.
    ///
    /// # Errors
    /// On bytes that another copy is filling, and on a race.
    pub(crate) fn issue(&mut self, touch: Touch, code: &Code) -> Result<(), Fault> {
        self.expect_unused(touch, code)?;
        for i in self.granules(touch) {
            self.flights[i] = Some((touch.thread, touch.site));
        }
        Ok(())
    }

    /// Completes a copy: its bytes become visible and count as written by its thread now.
    pub(crate) fn land(&mut self, touch: Touch, bytes: &[u8]) {
        for i in self.granules(touch) {
            self.flights[i] = None;
        }
        self.set_written(touch);
        self.bytes[touch.at..touch.at + touch.len].copy_from_slice(bytes);
    }

    #[inline]
    fn granules(&self, touch: Touch) -> std::ops::Range<usize> {
        let first = touch.at / self.granule;
        first..first + touch.len.div_ceil(self.granule)
    }

    #[inline]
    fn set_written(&mut self, touch: Touch) {
        let here = touch.mark(self.clock);
        for i in self.granules(touch) {
            let record = &mut self.records[i];
            record.tensor = touch.tensor as u32 + 1;
            record.write = here;
        }
    }

    /// Fails if a copy is still filling the bytes, or if another thread accessed them since the last barrier.
    #[inline]
    fn expect_unused(&self, touch: Touch, code: &Code) -> Result<(), Fault> {
        self.expect_landed(touch, true, code)?;
        if !self.check {
            return Ok(());
        }
        let here = touch.mark(self.clock);
        for i in self.granules(touch) {
            let record = &self.records[i];
            let write = record.write.meets(here, self.clock).then_some((record.write, Deed::Write));
            let read = || Some((record.reads.meets(here, self.clock)?, Deed::Read));
            if let Some(earlier) = write.or_else(read) {
                return Err(race(touch, i * self.granule, earlier, true, code));
            }
        }
        Ok(())
    }

    #[inline]
    fn expect_landed(&self, touch: Touch, write: bool, code: &Code) -> Result<(), Fault> {
        if self.flights.is_empty() {
            return Ok(());
        }
        match self.granules(touch).find_map(|i| Some((i, self.flights[i]?))) {
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
fn in_flight(touch: Touch, byte: usize, (thread, site): (u32, SiteId), write: bool, code: &Code) -> Fault {
    let copy = code.sites[site as usize].copying(thread);
    Fault::CopyInFlight {
        tensor: code.shared[touch.tensor].name.clone(),
        element: element(touch, byte, code),
        write,
        collective: touch.collective,
        copy: Box::new(copy),
    }
}

#[cold]
fn race(touch: Touch, byte: usize, (earlier, deed): (Mark, Deed), write: bool, code: &Code) -> Fault {
    let earlier = code.sites[earlier.site as usize].access(earlier.thread, deed, earlier.collective);
    Fault::SharedRace {
        tensor: code.shared[touch.tensor].name.clone(),
        element: element(touch, byte, code),
        write,
        collective: touch.collective,
        earlier: Box::new(earlier),
    }
}
