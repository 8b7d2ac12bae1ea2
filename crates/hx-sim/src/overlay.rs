//! Records what blocks do to a tensor that the kernel may write, and finds races between their threads.
//!
//! A block that does not communicate has overlays of its own, which [`crate::history`] merges. Blocks that communicate share
//! theirs
//! ([`crate::schedule`]), so each finds memory as it is, and [`crate::between`] knows which accesses of others come before its own.
//!
//! The overlay tracks elements one by one; packed elements are tracked by the byte that holds them ([`Tensor::unit`]). Two
//! threads race on an element if no barrier orders them and one of them
//!
//! - stores to it, and the other reads, stores or updates it (the threads of one operation may store the same value, because layouts
//!   hold an element in several threads),
//! - updates it atomically, and the other reads or stores (two atomic updates do not race).
//!
//! An asynchronous copy reads its source at some time between its issue and the wait for it. Until the wait, even its own thread
//! may not change the source.

use std::collections::BTreeMap;
use std::ops::Range;

use hx_dtype::{AtomicOp, DType};
use hx_thread::{AccessOrder, Clock, Epoch, Mark, Pair};

use crate::between::Heard;
use crate::code::SiteId;
use crate::error::AccessMode;
use crate::global::{PAGE, Tensor};
use crate::stamp::AccessStamp;
use crate::stored::{Met, Stored};

/// An access, and an earlier one that nothing orders before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raced {
    pub(crate) byte: usize,
    pub(crate) mode: AccessMode,
    pub(crate) earlier: Earlier,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Earlier {
    Access(Mark<SiteId>, AccessMode),
    /// An asynchronous copy that reads the element and was not waited for.
    Copy(Mark<SiteId>),
    /// A bulk store that writes the element and is not complete.
    Store(Mark<SiteId>),
    /// An access by another run. `narrow`: both accesses are atomic, but one among too few threads to include both runs.
    Run {
        run: u32,
        mark: Mark<SiteId>,
        mode: AccessMode,
        narrow: bool,
        /// The run knows of the access, but not that it is complete: a bulk store.
        in_flight: bool,
    },
}

/// The kinds of accesses that the race check distinguishes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Read,
    /// A store of another value.
    Change,
    /// A store of the value already there.
    Keep,
    /// An atomic update.
    Add,
    /// An atomic load.
    Peek,
    /// As `Add`, but atomic only among the threads of its block or cluster.
    NarrowAdd,
    /// As `Peek`, but atomic only among the threads of its block or cluster.
    NarrowPeek,
    /// A read by an asynchronous copy.
    Copy,
}

impl Kind {
    /// Returns the kinds of earlier accesses by other threads of the run that race with this one unless a barrier orders them.
    fn races_with(self) -> &'static [Kind] {
        use Kind::{Add, Change, Copy, Keep, NarrowAdd, NarrowPeek, Peek, Read};
        match self {
            Read | Copy => &[Change, Keep, Add, NarrowAdd],
            Change | Keep => &[Change, Keep, Read, Copy, Add, NarrowAdd, Peek, NarrowPeek],
            Add | NarrowAdd => &[Change, Keep, Read, Copy],
            Peek | NarrowPeek => &[Change, Keep],
        }
    }

    /// Returns the kinds of earlier accesses by other runs that race with this one unless atomic accesses order them. Two stores
    /// race whatever they store: nothing says which of them is visible, or that only one is.
    fn races_between(self) -> &'static [Kind] {
        use Kind::{Add, Change, Copy, Keep, NarrowAdd, NarrowPeek, Peek, Read};
        match self {
            Read | Copy => &[Change, Keep, Add, NarrowAdd],
            Change | Keep => &[Change, Keep, Read, Copy, Add, NarrowAdd, Peek, NarrowPeek],
            Add => &[Change, Keep, Read, Copy, NarrowAdd, NarrowPeek],
            Peek => &[Change, Keep, NarrowAdd],
            NarrowAdd => &[Change, Keep, Read, Copy, Add, NarrowAdd, Peek, NarrowPeek],
            NarrowPeek => &[Change, Keep, Add, NarrowAdd],
        }
    }

    fn is_narrow(self) -> bool {
        matches!(self, Kind::NarrowAdd | Kind::NarrowPeek)
    }

    fn is_atomic(self) -> bool {
        matches!(self, Kind::Add | Kind::Peek | Kind::NarrowAdd | Kind::NarrowPeek)
    }

    fn mode(self) -> AccessMode {
        match self {
            Kind::Read | Kind::Copy => AccessMode::Read,
            Kind::Change | Kind::Keep => AccessMode::Write,
            Kind::Add | Kind::NarrowAdd => AccessMode::Atomic,
            Kind::Peek | Kind::NarrowPeek => AccessMode::Peek,
        }
    }
}

/// The last accesses to the units of a page. Each list stays empty until its first entry.
#[derive(Clone, Debug, Default)]
struct Marks {
    /// Indexed by kind, except for copies; in each list by unit and by party of the clock.
    pairs: [Vec<Pair<SiteId>>; Kind::Copy as usize],
    /// The last copy of each thread, until all threads know of it. A later group of few threads does not cover earlier groups of other
    /// threads, because each thread waits for its own copies.
    copies: Vec<Vec<Mark<SiteId>>>,
}

impl Marks {
    fn copies(&self, unit: usize) -> &[Mark<SiteId>] {
        self.copies.get(unit).map_or(&[], Vec::as_slice)
    }

    /// Returns an access of a kind to a unit that is not ordered before `later`; `None` if all are.
    #[inline]
    fn meets(&self, kind: Kind, unit: usize, later: Epoch, clock: &Clock) -> Option<Mark<SiteId>> {
        let apart = |mark: &&Mark<SiteId>| clock.relation(mark.epoch, later) != AccessOrder::Before;
        match kind {
            Kind::Copy => self.copies(unit).iter().find(apart).copied(),
            _ => {
                let parties = clock.parties();
                let pairs = self.pairs[kind as usize].get(unit * parties..(unit + 1) * parties)?;
                pairs.iter().find_map(|pair| pair.meets(later, clock))
            }
        }
    }

    /// Checks an access for races, and remembers it. Returns the earlier access that it races with; `None` without a race, and
    /// if races are not checked.
    #[inline]
    fn touch(&mut self, kind: Kind, unit: usize, units: usize, stamp: AccessStamp<'_>) -> Option<Earlier> {
        let clock = stamp.clock?;
        // Layouts hold an element in several threads, which store the same value in one operation.
        let agrees = |mark: &Mark<SiteId>| kind == Kind::Keep && mark.by == stamp.site;
        let met = |&other: &Kind| {
            let mark = self.meets(other, unit, stamp.epoch, clock).filter(|mark| !agrees(mark))?;
            Some(Earlier::Access(mark, other.mode()))
        };
        let in_flight = |copy: &&Mark<SiteId>| clock.is_in_flight(copy.epoch);
        let changes = matches!(kind, Kind::Change | Kind::Add | Kind::NarrowAdd);
        let copy = changes.then(|| self.copies(unit).iter().find(in_flight)).flatten();
        let earlier = match copy {
            Some(copy) => Some(Earlier::Copy(*copy)),
            None => kind.races_with().iter().find_map(met),
        };
        self.remember(kind, unit, units, Mark { epoch: stamp.epoch, by: stamp.site }, clock);
        earlier
    }

    /// Returns an access of a kind that `is_known` does not hold for; `None` if there is none. Nothing orders such an access before
    /// those of the run whose knowledge `is_known` tests.
    fn first_unknown(
        &self,
        kind: Kind,
        unit: usize,
        clock: &Clock,
        is_known: &dyn Fn(Epoch) -> bool,
    ) -> Option<Mark<SiteId>> {
        let is_unknown = |mark: &Mark<SiteId>| !is_known(mark.epoch);
        if kind == Kind::Copy {
            return self.copies(unit).iter().copied().find(is_unknown);
        }
        let parties = clock.parties();
        let pairs = self.pairs[kind as usize].get(unit * parties..(unit + 1) * parties)?;
        pairs.iter().flat_map(Pair::iter).find(is_unknown)
    }

    #[inline]
    fn remember(&mut self, kind: Kind, unit: usize, units: usize, here: Mark<SiteId>, clock: &Clock) {
        if let Kind::Copy = kind {
            self.copies.resize(units, Vec::new());
            let stands = |mark: &Mark<SiteId>| {
                mark.epoch.thread != here.epoch.thread && !clock.is_known_to_all(mark.epoch)
            };
            self.copies[unit].retain(stands);
            self.copies[unit].push(here);
        } else {
            let pairs = &mut self.pairs[kind as usize];
            if pairs.is_empty() {
                pairs.resize(units * clock.parties(), Pair::default());
            }
            pairs[unit * clock.parties() + clock.party(here.epoch)].remember(here, clock);
        }
    }

    /// Returns the operation of an access of this kind to a unit of a page of `units` units; `None` if there was no such
    /// access.
    fn site(&self, kind: Kind, unit: usize, units: usize) -> Option<SiteId> {
        let first = match kind {
            Kind::Copy => self.copies(unit).first().copied(),
            _ => {
                let pairs = &self.pairs[kind as usize];
                let parties = pairs.len() / units;
                pairs.get(unit * parties..(unit + 1) * parties)?.iter().find_map(|pair| pair.iter().next())
            }
        };
        first.map(|mark| mark.by)
    }
}

/// The kinds of accesses to a unit by the block, or by all blocks that share the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Done {
    pub(crate) read: bool,
    pub(crate) written: bool,
    pub(crate) added: bool,
    /// The page's bytes already include the block's sums.
    includes_sums: bool,
}

impl Done {
    pub(crate) fn anything(self) -> bool {
        self != Done::default()
    }

    /// Reports whether the page's bytes are the block's result. Otherwise they are a copy of the tensor's bytes, and sums are
    /// still pending.
    pub(crate) fn owned(self) -> bool {
        self.written || self.includes_sums
    }
}

/// A part of a tensor as one block sees it, or as all blocks see it if they communicate.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) data: [u8; PAGE],
    /// Indexed by unit.
    pub(crate) done: Vec<Done>,
    /// Pending atomic operations on units whose bytes here do not include them ([`Done::owned`] is false): the unit's number,
    /// the operation and its operand.
    pub(crate) sums: Vec<(usize, AtomicOp, u64)>,
    /// The accesses of each run, by its number. The accesses of a run that has ended stay, because other runs may not know of them.
    marks: Vec<(u32, Marks)>,
    /// The last bulk store to each unit, by its number in [`Stored`]; 0 for none. Empty until the first.
    stored: Vec<u32>,
}

impl Page {
    fn new(number: usize, tensor: &Tensor) -> Page {
        let mut data = [0; PAGE];
        let from = &tensor.bytes[number * PAGE..];
        let len = from.len().min(PAGE);
        data[..len].copy_from_slice(&from[..len]);
        let done = vec![Done::default(); PAGE / tensor.unit()];
        Page { data, done, sums: Vec::new(), marks: Vec::new(), stored: Vec::new() }
    }

    /// Adds pending sums of some units to their bytes. Called before the block reads or writes these units.
    #[inline]
    fn apply_sums(&mut self, tensor: &Tensor, units: Range<usize>) {
        let waits = |done: &Done| done.added && !done.owned();
        if self.sums.is_empty() || !self.done[units.clone()].iter().any(waits) {
            return;
        }
        let Page { data, done, sums, .. } = self;
        let size = tensor.unit();
        sums.retain(|&(unit, op, bits)| {
            let applies = units.contains(&unit);
            if applies {
                apply(tensor.dtype, &mut data[unit * size..][..size], op, bits);
                done[unit].includes_sums = true;
            }
            !applies
        });
    }

    /// Checks an access of a kind for races, and remembers it. Returns the unit with the earlier access that it races with;
    /// `None` without a race, and if races are not checked.
    #[inline]
    fn touch(
        &mut self,
        kind: Kind,
        unit: usize,
        stamp: AccessStamp<'_>,
        stored: &Stored,
    ) -> Option<(usize, Earlier)> {
        let units = self.done.len();
        let beside = stamp.heard.and_then(|heard| self.beside(kind, unit, stamp, heard));
        let own = match self.marks.iter().position(|(run, _)| *run == stamp.run) {
            Some(own) => own,
            None => {
                self.marks.push((stamp.run, Marks::default()));
                self.marks.len() - 1
            }
        };
        let earlier = self.marks[own].1.touch(kind, unit, units, stamp);
        let store = match self.stored.get(unit) {
            None | Some(0) => None,
            Some(store) => stored.meets(*store, stamp, matches!(kind, Kind::Add | Kind::NarrowAdd)),
        };
        let store = store.map(|met| match met {
            Met::InFlight(mark) => Earlier::Store(mark),
            Met::Unordered(mark, mode) => Earlier::Access(mark, mode),
            Met::OfRun(run, mark, mode) => Earlier::Run { run, mark, mode, narrow: false, in_flight: true },
        });
        Some((unit, store.or(earlier).or(beside)?))
    }

    /// Returns an access of another run to a unit that nothing orders before this one; `None` if there is none, or races are
    /// not checked.
    fn beside(&self, kind: Kind, unit: usize, stamp: AccessStamp<'_>, heard: &Heard) -> Option<Earlier> {
        let clock = stamp.clock?;
        for (run, marks) in self.marks.iter().filter(|(run, _)| *run != stamp.run) {
            let is_known = |earlier: Epoch| heard.knows(clock, stamp.epoch, *run, earlier);
            for other in kind.races_between() {
                if let Some(mark) = marks.first_unknown(*other, unit, clock, &is_known) {
                    let narrow =
                        kind.is_atomic() && other.is_atomic() && (kind.is_narrow() || other.is_narrow());
                    return Some(Earlier::Run {
                        run: *run,
                        mark,
                        mode: other.mode(),
                        narrow,
                        in_flight: false,
                    });
                }
            }
        }
        None
    }

    /// Returns an access of another thread to a unit that no fence orders before the access at `later`, which goes through the
    /// asynchronous proxy; `None` if there is none.
    fn unfenced(&self, unit: usize, later: Epoch, (run, clock): (u32, &Clock)) -> Option<Mark<SiteId>> {
        let parties = clock.parties();
        let of = |pairs: &Vec<Pair<SiteId>>| {
            let pairs = pairs.get(unit * parties..(unit + 1) * parties)?;
            let misses = |mark: &Mark<SiteId>| {
                mark.epoch.thread != later.thread && !clock.is_fenced(mark.epoch, later)
            };
            pairs.iter().flat_map(Pair::iter).find(misses)
        };
        let (_, marks) = self.marks.iter().find(|(of, _)| *of == run)?;
        marks.pairs.iter().find_map(of)
    }

    /// Returns an operation with which the block accessed a unit in this way; 0 if there was no such access.
    pub(crate) fn site(&self, unit: usize, mode: AccessMode) -> SiteId {
        let kinds: &[Kind] = match mode {
            AccessMode::Read => &[Kind::Read, Kind::Copy],
            AccessMode::Write => &[Kind::Change, Kind::Keep],
            AccessMode::Atomic => &[Kind::Add, Kind::NarrowAdd],
            AccessMode::Peek => &[Kind::Peek, Kind::NarrowPeek],
        };
        let of =
            |kind: &Kind| self.marks.iter().find_map(|(_, marks)| marks.site(*kind, unit, self.done.len()));
        kinds.iter().find_map(of).unwrap_or_default()
    }
}

/// Applies an atomic operation to one element as the hardware does.
pub(crate) fn apply(dtype: DType, element: &mut [u8], op: AtomicOp, bits: u64) {
    let now = hx_dtype::load(dtype, element, 0);
    hx_dtype::store(dtype, element, 0, op.eval(dtype, now, bits, 0));
}

/// The pages of a tensor that one block touched, or all blocks that communicate, by first byte divided by [`PAGE`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Overlay {
    pub(crate) pages: BTreeMap<usize, Box<Page>>,
    /// The bulk stores of these blocks to the tensor.
    pub(crate) stored: Stored,
}

impl Overlay {
    /// Returns the bytes that a copy of the pages takes, about.
    pub(crate) fn footprint(&self) -> usize {
        let of_run = |(_, marks): &(u32, Marks)| marks.pairs.iter().map(Vec::len).sum::<usize>();
        let marks = |page: &Page| page.marks.iter().map(of_run).sum::<usize>() * size_of::<Pair<SiteId>>();
        let of = |page: &Page| size_of::<Page>() + page.done.len() * size_of::<Done>() + marks(page);
        self.pages.values().map(|page| of(page)).sum()
    }

    /// Copies the block's version of a tensor's bytes from `at` on to `out`, which holds the tensor's own bytes.
    pub(crate) fn look(&self, tensor: &Tensor, at: usize, out: &mut [u8]) {
        let size = tensor.unit();
        for (number, page) in self.pages.range(at / PAGE..=(at + out.len()) / PAGE) {
            let mut data = page.data;
            for (unit, op, bits) in &page.sums {
                apply(tensor.dtype, &mut data[unit * size..][..size], *op, *bits);
            }
            for (byte, value) in (number * PAGE..).zip(data) {
                if let Some(out) = byte.checked_sub(at).and_then(|i| out.get_mut(i)) {
                    *out = value;
                }
            }
        }
    }

    /// Calls `f` with each page that overlaps the bytes `at..at + len`, the range of units there, and the position of the first
    /// of them among those bytes. `f` returns a race as the unit and the earlier access, and `None` without one.
    ///
    /// # Errors
    /// The first race that `f` finds.
    fn pieces(
        &mut self,
        tensor: &Tensor,
        (at, len): (usize, usize),
        mode: AccessMode,
        mut f: impl FnMut(&mut Page, Range<usize>, usize, &Stored) -> Option<(usize, Earlier)>,
    ) -> Result<(), Raced> {
        let size = tensor.unit();
        let (mut done, mut raced) = (0, None);
        while done < len {
            let (number, from) = ((at + done) / PAGE, (at + done) % PAGE);
            let count = (len - done).min(PAGE - from);
            let page = self.pages.entry(number).or_insert_with(|| Box::new(Page::new(number, tensor)));
            let found = f(page, from / size..(from + count) / size, done, &self.stored);
            raced = raced.or(found.map(|(unit, earlier)| Raced {
                byte: number * PAGE + unit * size,
                mode,
                earlier,
            }));
            done += count;
        }
        raced.map_or(Ok(()), Err)
    }

    /// Reads bytes into `out`, for a thread or for an asynchronous copy that it issues.
    ///
    /// # Errors
    /// On a race.
    pub(crate) fn read(
        &mut self,
        tensor: &Tensor,
        at: usize,
        out: &mut [u8],
        stamp: AccessStamp<'_>,
    ) -> Result<(), Raced> {
        let size = tensor.unit();
        let kind = if stamp.epoch.is_copy() { Kind::Copy } else { Kind::Read };
        self.pieces(tensor, (at, out.len()), AccessMode::Read, |page, units, from, stored| {
            page.apply_sums(tensor, units.clone());
            let bytes = units.start * size..units.end * size;
            out[from..from + bytes.len()].copy_from_slice(&page.data[bytes]);
            let mut raced = None;
            for unit in units {
                page.done[unit].read = true;
                raced = raced.or(page.touch(kind, unit, stamp, stored));
            }
            raced
        })
    }

    /// Writes bytes from byte `at` of the tensor on, and checks each element for races.
    ///
    /// # Errors
    /// On a race.
    pub(crate) fn write(
        &mut self,
        tensor: &Tensor,
        at: usize,
        bytes: &[u8],
        stamp: AccessStamp<'_>,
    ) -> Result<(), Raced> {
        let size = tensor.unit();
        self.pieces(tensor, (at, bytes.len()), AccessMode::Write, |page, units, from, stored| {
            page.apply_sums(tensor, units.clone());
            let bytes = &bytes[from..from + units.len() * size];
            let place = units.start * size..units.end * size;
            let mut raced = None;
            for (unit, now) in units.zip(bytes.chunks_exact(size)) {
                page.done[unit].written = true;
                let keeps = *now == page.data[unit * size..][..size];
                let kind = if keeps { Kind::Keep } else { Kind::Change };
                raced = raced.or(page.touch(kind, unit, stamp, stored));
            }
            page.data[place].copy_from_slice(bytes);
            raced
        })
    }

    /// Marks bytes as written by a bulk store, or added to by one. Returns an access that no fence orders before the store, and
    /// `None` if there is none: a race is a mistake of the program, a missing fence one of the compiler.
    pub(crate) fn mark_stored(
        &mut self,
        tensor: &Tensor,
        (at, len): (usize, usize),
        store: u32,
        stamp: AccessStamp<'_>,
    ) -> Option<Mark<SiteId>> {
        let (size, mut done, mut unfenced) = (tensor.unit(), 0, None);
        while done < len {
            let (number, from) = ((at + done) / PAGE, (at + done) % PAGE);
            let count = (len - done).min(PAGE - from);
            done += count;
            let Some(page) = self.pages.get_mut(&number) else { continue };
            page.stored.resize(page.done.len(), 0);
            for unit in from / size..(from + count) / size {
                page.stored[unit] = self.stored.both(page.stored[unit], store);
                let earlier = || page.unfenced(unit, stamp.epoch, (stamp.run, stamp.clock?));
                unfenced = unfenced.or_else(earlier);
            }
        }
        unfenced
    }

    /// Adds elements, as [`Overlay::combine`] does.
    ///
    /// # Errors
    /// On a race.
    pub(crate) fn add(
        &mut self,
        tensor: &Tensor,
        at: usize,
        bytes: &[u8],
        stamp: AccessStamp<'_>,
    ) -> Result<(), Raced> {
        let size = tensor.unit();
        let elements = bytes.chunks_exact(size).map(|element| hx_dtype::load(tensor.dtype, element, 0));
        let sums = elements
            .enumerate()
            .map(|(i, bits)| self.combine(tensor, at + i * size, (AtomicOp::Add, bits), stamp));
        sums.fold(Ok(()), Result::and)
    }

    /// Applies an operation whose result nobody takes to an element. It stays pending until the blocks are merged, unless the
    /// block has written the element or has read it after an earlier operation.
    ///
    /// # Errors
    /// On a race.
    pub(crate) fn combine(
        &mut self,
        tensor: &Tensor,
        at: usize,
        (op, bits): (AtomicOp, u64),
        stamp: AccessStamp<'_>,
    ) -> Result<(), Raced> {
        let size = tensor.unit();
        self.pieces(tensor, (at, size), AccessMode::Atomic, |page, units, _, stored| {
            let unit = units.start;
            if page.done[unit].owned() {
                apply(tensor.dtype, &mut page.data[unit * size..][..size], op, bits);
            } else {
                page.sums.push((unit, op, bits));
            }
            page.done[unit].added = true;
            page.touch(Kind::Add, unit, stamp, stored)
        })
    }

    /// Changes an element atomically, or reads it. Returns it as it was before.
    ///
    /// # Errors
    /// On a race.
    pub(crate) fn update(
        &mut self,
        tensor: &Tensor,
        at: usize,
        (kind, change): (Kind, &dyn Fn(u64) -> u64),
        stamp: AccessStamp<'_>,
    ) -> Result<u64, Raced> {
        let (size, mut old) = (tensor.unit(), 0);
        self.pieces(tensor, (at, size), kind.mode(), |page, units, _, stored| {
            page.apply_sums(tensor, units.clone());
            let unit = units.start;
            let element = &mut page.data[unit * size..][..size];
            old = hx_dtype::load(tensor.dtype, element, 0);
            hx_dtype::store(tensor.dtype, element, 0, change(old));
            match kind.mode() {
                AccessMode::Peek => page.done[unit].read = true,
                AccessMode::Read | AccessMode::Write | AccessMode::Atomic => page.done[unit].added = true,
            }
            page.done[unit].includes_sums = true;
            page.touch(kind, unit, stamp, stored)
        })?;
        Ok(old)
    }
}
