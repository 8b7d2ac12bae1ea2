//! The shared memory of one block: its bytes, which of them are written, and the last accesses that may still race.
//!
//! It keeps one record for each granule. A granule has the width of the program's narrowest access, and every access covers whole
//! granules.

use std::collections::BTreeMap;

use hx_thread::{AccessOrder, Clock, Epoch, Mark, Pair};

use crate::code::{Code, SiteId};
use crate::error::{AccessMode, Fault};

/// The bytes that a swizzle moves as a whole. The rows of a box are multiples of them.
pub(crate) const PIECE: usize = 16;

/// The pieces of shared memory that stores in flight read, by their first byte: the number of stores, and the site and the
/// thread of the first one.
pub(crate) type StoreReads = BTreeMap<usize, (u32, SiteId, u32)>;

#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// The tensor last written here, plus one; 0 for none.
    tensor: u32,
    /// The last write, or the copy that is filling the granule; `None` if there was none.
    write: Option<Mark<SiteId>>,
    /// A product in flight that reads the granule, and how many there are; `None` without one.
    products: Option<(Mark<SiteId>, u32)>,
}

#[derive(Clone, Debug)]
pub(crate) struct SharedMemory {
    pub(crate) bytes: Vec<u8>,
    records: Vec<Record>,
    /// The last reads of a granule by each party of the clock, at `granule · parties + party`.
    reads: Vec<Pair<SiteId>>,
    /// The last atomic accesses, as `reads`; empty until the first.
    atomics: Vec<Pair<SiteId>>,
    granule: usize,
    /// Whether some copy of the program into shared memory is asynchronous.
    asynchronous: bool,
    check: bool,
    /// The pieces that bulk stores in flight read.
    pub(crate) store_reads: StoreReads,
}

/// The state of a byte of shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// No operation has written the byte.
    Unwritten,
    /// An asynchronous copy fills it.
    Filling,
    /// An operation has written it as a part of the shared tensor at this position.
    Holds(usize),
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
            reads: vec![Pair::default(); granules * (code.parties.len() + 1)],
            atomics: Vec::new(),
            granule: code.granule,
            asynchronous: code.asynchronous,
            check,
            store_reads: StoreReads::new(),
        }
    }

    /// Checks and records a load.
    ///
    /// # Errors
    /// On bytes that this tensor does not hold yet, on bytes that a copy is filling, and on a race.
    #[inline]
    pub(crate) fn read(&mut self, touch: Touch, clock: &Clock, code: &Code) -> Result<(), Fault> {
        self.expect_not_filling(touch, false, clock, code)?;
        for i in self.granules(touch) {
            let record = &mut self.records[i];
            if record.tensor != touch.tensor as u32 + 1 {
                return Err(uninitialized(touch, (i * self.granule).max(touch.at), code));
            }
            if !self.check {
                continue;
            }
            if let Some(write) = record.write
                && clock.relation(write.epoch, touch.epoch) != AccessOrder::Before
            {
                return Err(race(touch, i * self.granule, (write, AccessMode::Write), false, code));
            }
            if let Some(atomic) = self.atomic_beside(i, touch, clock) {
                return Err(race(touch, i * self.granule, (atomic, AccessMode::Atomic), false, code));
            }
            let party = i * clock.parties() + clock.party(touch.epoch);
            self.reads[party].remember(touch.mark(), clock);
        }
        Ok(())
    }

    /// Checks and records an atomic access. Atomic accesses need no order among each other. One that only writes needs no earlier
    /// value.
    ///
    /// # Errors
    /// As [`SharedMemory::read`] and [`SharedMemory::write`].
    pub(crate) fn atomic(
        &mut self,
        touch: Touch,
        only_writes: bool,
        clock: &Clock,
        code: &Code,
    ) -> Result<(), Fault> {
        self.expect_not_filling(touch, true, clock, code)?;
        for i in self.granules(touch) {
            let record = &mut self.records[i];
            if only_writes {
                record.tensor = touch.tensor as u32 + 1;
            }
            if record.tensor != touch.tensor as u32 + 1 {
                return Err(uninitialized(touch, (i * self.granule).max(touch.at), code));
            }
            if !self.check {
                continue;
            }
            let apart =
                |write: &Mark<SiteId>| clock.relation(write.epoch, touch.epoch) != AccessOrder::Before;
            let write = record.write.filter(apart).map(|write| (write, AccessMode::Write));
            let parties = clock.parties();
            let reads = &self.reads[i * parties..(i + 1) * parties];
            let read =
                || Some((reads.iter().find_map(|read| read.meets(touch.epoch, clock))?, AccessMode::Read));
            if let Some(earlier) = write.or_else(read) {
                return Err(race(touch, i * self.granule, earlier, true, code));
            }
            if self.atomics.is_empty() {
                self.atomics.resize(self.reads.len(), Pair::default());
            }
            self.atomics[i * parties + clock.party(touch.epoch)].remember(touch.mark(), clock);
        }
        Ok(())
    }

    /// Returns an atomic access to a granule that nothing orders before the access `touch`; `None` if there is none.
    fn atomic_beside(&self, granule: usize, touch: Touch, clock: &Clock) -> Option<Mark<SiteId>> {
        let parties = clock.parties();
        let atomics = self.atomics.get(granule * parties..(granule + 1) * parties)?;
        atomics.iter().find_map(|atomic| atomic.meets(touch.epoch, clock))
    }

    /// Checks a read that an instruction may make through the asynchronous proxy from now on, until [`SharedMemory::end`].
    ///
    /// # Errors
    /// As [`SharedMemory::read`].
    pub(crate) fn begin(&mut self, touch: Touch, clock: &Clock, code: &Code) -> Result<(), Fault> {
        self.expect_not_filling(touch, false, clock, code)?;
        for i in self.granules(touch) {
            let record = &mut self.records[i];
            if record.tensor != touch.tensor as u32 + 1 {
                return Err(uninitialized(touch, (i * self.granule).max(touch.at), code));
            }
            if let Some(write) = record.write.filter(|_| self.check)
                && clock.relation(write.epoch, touch.epoch) != AccessOrder::Before
            {
                return Err(race(touch, i * self.granule, (write, AccessMode::Write), false, code));
            }
            record.products = Some(match record.products {
                Some((mark, count)) => (mark, count + 1),
                None => (touch.mark(), 1),
            });
        }
        Ok(())
    }

    /// Ends a read that began at [`SharedMemory::begin`]: it happens now at the latest.
    pub(crate) fn end(&mut self, at: usize, len: usize, mark: Mark<SiteId>, clock: &Clock) {
        let first = at / self.granule;
        for i in first..first + len.div_ceil(self.granule) {
            let products = &mut self.records[i].products;
            *products = products.filter(|(_, count)| *count > 1).map(|(mark, count)| (mark, count - 1));
            if self.check {
                let party = i * clock.parties() + clock.party(mark.epoch);
                self.reads[party].remember(mark, clock);
            }
        }
    }

    /// Checks and records a store, or the issue of an asynchronous copy, which may write at any time from now on.
    ///
    /// # Errors
    /// On bytes that another copy is filling or that a bulk store or a product in flight reads, and on a race.
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

    /// Fails if no fence orders an earlier access before this one, which goes through the asynchronous proxy. Earlier writes
    /// need a fence, and before a write also earlier reads. To be called after the check for races, because a race is a fault
    /// of the kernel, and a missing fence one of the compiler.
    pub(crate) fn expect_fenced(
        &self,
        touch: Touch,
        write: bool,
        clock: &Clock,
        code: &Code,
    ) -> Result<(), Fault> {
        if !self.check {
            return Ok(());
        }
        for i in self.granules(touch) {
            let earlier = self.records[i].write.map(|write| (write, AccessMode::Write));
            let parties = if write { clock.parties() } else { 0 };
            let reads = &self.reads[i * clock.parties()..i * clock.parties() + parties];
            let reads = reads.iter().flat_map(Pair::iter).map(|read| (read, AccessMode::Read));
            let mut all = earlier.into_iter().chain(reads);
            if let Some(earlier) = all.find(|(mark, _)| !clock.is_fenced(mark.epoch, touch.epoch)) {
                return Err(unfenced(touch, i * self.granule, earlier, code));
            }
        }
        Ok(())
    }

    /// Returns the state of a byte.
    pub(crate) fn arrival(&self, byte: usize, clock: &Clock) -> Arrival {
        match self.records.get(byte / self.granule) {
            Some(Record { write: Some(write), .. })
                if self.asynchronous && clock.is_in_flight(write.epoch) =>
            {
                Arrival::Filling
            }
            Some(Record { tensor, .. }) if *tensor > 0 => Arrival::Holds(*tensor as usize - 1),
            _ => Arrival::Unwritten,
        }
    }

    /// Returns the bytes that a copy of the memory takes, about.
    pub(crate) fn footprint(&self) -> usize {
        let pairs = (self.reads.len() + self.atomics.len()) * size_of::<Pair<SiteId>>();
        self.bytes.len() + self.records.len() * size_of::<Record>() + pairs
    }

    /// Makes the bytes of a copy visible.
    pub(crate) fn set_bytes(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    #[inline]
    fn granules(&self, touch: Touch) -> std::ops::Range<usize> {
        let first = touch.at / self.granule;
        first..first + touch.len.div_ceil(self.granule)
    }

    /// Fails if a copy is still filling the bytes, if a bulk store or a product in flight reads them, or if nothing orders an
    /// earlier access to them before this one.
    #[inline]
    pub(crate) fn expect_unused(&self, touch: Touch, clock: &Clock, code: &Code) -> Result<(), Fault> {
        if !self.store_reads.is_empty() {
            self.expect_unread(touch, code)?;
        }
        self.expect_not_filling(touch, true, clock, code)?;
        if !self.check {
            return Ok(());
        }
        let read = |i: usize| Some((i, self.records[i].products?.0));
        if let Some((i, product)) = self.granules(touch).find_map(read) {
            return Err(operand_in_flight(touch, i * self.granule, product, code));
        }
        for i in self.granules(touch) {
            let record = &self.records[i];
            let apart =
                |write: &Mark<SiteId>| clock.relation(write.epoch, touch.epoch) != AccessOrder::Before;
            let write = || Some((record.write.filter(apart)?, AccessMode::Write));
            let reads = &self.reads[i * clock.parties()..(i + 1) * clock.parties()];
            let read =
                || Some((reads.iter().find_map(|read| read.meets(touch.epoch, clock))?, AccessMode::Read));
            let atomic = || Some((self.atomic_beside(i, touch, clock)?, AccessMode::Atomic));
            if let Some(earlier) = write().or_else(read).or_else(atomic) {
                return Err(race(touch, i * self.granule, earlier, true, code));
            }
        }
        Ok(())
    }

    /// Fails if a bulk store in flight reads the bytes.
    #[cold]
    fn expect_unread(&self, touch: Touch, code: &Code) -> Result<(), Fault> {
        let first = touch.at / PIECE * PIECE;
        let Some((at, (_, site, thread))) = self.store_reads.range(first..touch.at + touch.len).next() else {
            return Ok(());
        };
        Err(Fault::StoreInFlight {
            tensor: code.shared[touch.tensor].name.clone(),
            element: element(touch, *at, code),
            collective: touch.epoch.is_collective(),
            copy: Box::new(code.sites[*site as usize].copying(code.own(*thread))),
        })
    }

    /// Fails if a copy is still filling the bytes.
    #[inline]
    fn expect_not_filling(&self, touch: Touch, write: bool, clock: &Clock, code: &Code) -> Result<(), Fault> {
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

/// Returns the element of the tensor of `touch` that holds a byte of shared memory, or its first accessed element if the byte
/// lies before the access.
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
    let copy = code.sites[copy.by as usize].copying(code.own(copy.epoch.thread));
    Fault::CopyInFlight {
        tensor: code.shared[touch.tensor].name.clone(),
        element: element(touch, byte, code),
        write,
        collective: touch.epoch.is_collective(),
        copy: Box::new(copy),
    }
}

#[cold]
fn operand_in_flight(touch: Touch, byte: usize, product: Mark<SiteId>, code: &Code) -> Fault {
    Fault::OperandInFlight {
        tensor: code.shared[touch.tensor].name.clone(),
        element: element(touch, byte, code),
        product: Box::new(code.sites[product.by as usize].copying(code.own(product.epoch.thread))),
    }
}

/// Returns the fault of a missing fence. The compiler places fences, so the thread program is malformed.
#[cold]
fn unfenced(touch: Touch, byte: usize, (earlier, mode): (Mark<SiteId>, AccessMode), code: &Code) -> Fault {
    let (tensor, element) = (&code.shared[touch.tensor].name, element(touch, byte, code));
    let (thread, earlier) = (code.own(earlier.epoch.thread), &code.sites[earlier.by as usize].title);
    let mode = match mode {
        AccessMode::Write | AccessMode::Atomic => "write to",
        AccessMode::Read | AccessMode::Peek => "read of",
    };
    Fault::Malformed(format!(
        "no fence of thread {thread} stands between its {mode} element {element} of the shared tensor `{tensor}` in `{earlier}` \
         and the instruction that accesses it through the asynchronous proxy"
    ))
}

#[cold]
fn race(
    touch: Touch,
    byte: usize,
    (earlier, mode): (Mark<SiteId>, AccessMode),
    write: bool,
    code: &Code,
) -> Fault {
    let Mark { epoch, by } = earlier;
    let earlier = code.sites[by as usize].access(code.own(epoch.thread), mode, epoch.is_collective());
    Fault::SharedRace {
        tensor: code.shared[touch.tensor].name.clone(),
        element: element(touch, byte, code),
        write,
        collective: touch.epoch.is_collective(),
        earlier: Box::new(earlier),
    }
}
