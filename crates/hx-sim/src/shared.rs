//! The shared memory of one block: bytes, what was written, and who touched what since the last barrier.
//!
//! It keeps one record for each granule, the width of the narrowest access of the program; every access covers whole granules.

use crate::code::{Code, SiteId};
use crate::error::Fault;

/// The latest access of some kind to a granule.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    /// Barriers passed when it happened, plus one; 0 for never.
    epoch: u32,
    thread: u32,
    /// For all lanes of an instruction, of which `thread` gave the address.
    collective: bool,
    site: SiteId,
}

impl Mark {
    /// Whether another thread takes part in one of the two accesses, with no barrier in between.
    #[inline]
    fn meets(self, later: Mark) -> bool {
        self.epoch == later.epoch && (self.thread != later.thread || self.collective || later.collective)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// The tensor last written here, plus one.
    tensor: u32,
    write: Mark,
    read: Mark,
    /// A reader other than `read`, since the same barrier.
    second: Mark,
}

#[derive(Debug)]
pub(crate) struct SharedMemory {
    pub(crate) bytes: Vec<u8>,
    records: Vec<Record>,
    granule: usize,
    epoch: u32,
    check: bool,
}

/// Who does an access, and to which bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    /// First byte in shared memory.
    pub(crate) at: usize,
    pub(crate) len: usize,
    /// Position among the shared tensors.
    pub(crate) tensor: usize,
    pub(crate) thread: u32,
    /// The thread gives the address, but other lanes hold what is there.
    pub(crate) collective: bool,
    pub(crate) site: SiteId,
}

impl Touch {
    #[inline]
    fn mark(self, epoch: u32) -> Mark {
        Mark { epoch, thread: self.thread, collective: self.collective, site: self.site }
    }
}

impl SharedMemory {
    pub(crate) fn new(code: &Code, check: bool) -> SharedMemory {
        SharedMemory {
            bytes: vec![0; code.shared_bytes],
            records: vec![Record::default(); code.shared_bytes.div_ceil(code.granule)],
            granule: code.granule,
            epoch: 1,
            check,
        }
    }

    pub(crate) fn barrier(&mut self) {
        self.epoch += 1;
    }

    /// Checks and records a load.
    ///
    /// # Errors
    /// On bytes that this tensor does not hold yet, and on a race.
    #[inline]
    pub(crate) fn read(&mut self, touch: Touch, code: &Code) -> Result<(), Fault> {
        let epoch = self.epoch;
        let here = touch.mark(epoch);
        let first = touch.at / self.granule;
        for i in first..first + touch.len.div_ceil(self.granule) {
            let record = &mut self.records[i];
            if record.tensor != touch.tensor as u32 + 1 {
                return Err(uninitialized(touch, (i * self.granule).max(touch.at), code));
            }
            if !self.check {
                continue;
            }
            if record.write.meets(here) {
                return Err(race(touch, i * self.granule, (record.write, true), false, code));
            }
            if record.read.epoch != epoch || here.collective || record.read.thread == touch.thread {
                record.read = here;
            } else {
                record.second = here;
            }
        }
        Ok(())
    }

    /// Checks and records a store.
    ///
    /// # Errors
    /// On a race.
    #[inline]
    pub(crate) fn write(&mut self, touch: Touch, code: &Code) -> Result<(), Fault> {
        let here = touch.mark(self.epoch);
        let first = touch.at / self.granule;
        for i in first..first + touch.len.div_ceil(self.granule) {
            let record = &mut self.records[i];
            if self.check {
                let earlier = [(record.write, true), (record.read, false), (record.second, false)];
                if let Some(earlier) = earlier.into_iter().find(|(m, _)| m.meets(here)) {
                    return Err(race(touch, i * self.granule, earlier, true, code));
                }
            }
            record.tensor = touch.tensor as u32 + 1;
            record.write = here;
        }
        Ok(())
    }
}

/// The element of a tensor that holds a byte of shared memory.
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
fn race(touch: Touch, byte: usize, (earlier, wrote): (Mark, bool), write: bool, code: &Code) -> Fault {
    let earlier = code.sites[earlier.site as usize].access(earlier.thread, wrote, earlier.collective);
    Fault::SharedRace {
        tensor: code.shared[touch.tensor].name.clone(),
        element: element(touch, byte, code),
        write,
        collective: touch.collective,
        earlier: Box::new(earlier),
    }
}
