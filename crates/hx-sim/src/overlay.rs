//! Records what one block does to a tensor that the kernel may write, and finds races between the threads of the block.
//!
//! The overlay tracks elements one by one; packed elements are tracked by the byte that holds them ([`Tensor::unit`]). Two
//! threads race on an element if no barrier orders them and one of them
//!
//! - stores another value, and the other reads, stores or adds (two stores of the same value do not race),
//! - adds, and the other reads or stores (two adds do not race).
//!
//! An asynchronous copy reads its source at some time between its issue and the wait for it. Until the wait, even its own thread
//! may not change the source. At the wait, the copy becomes a read of that thread.

use std::collections::BTreeMap;
use std::ops::Range;

use hx_dtype::DType;
use hx_thread::Clock;

use crate::code::SiteId;
use crate::error::Deed;
use crate::global::{PAGE, Tensor};
use crate::marks::{Mark, Pair};

/// The thread and operation that access a tensor, and the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Who {
    pub(crate) site: SiteId,
    pub(crate) thread: u32,
    /// `None` if races are not checked.
    pub(crate) clock: Option<Clock>,
    /// The number of the last group of asynchronous copies that was waited for.
    pub(crate) landed: u32,
}

/// An access, and an earlier one that nothing orders before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raced {
    pub(crate) byte: usize,
    pub(crate) deed: Deed,
    pub(crate) earlier: Earlier,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Earlier {
    Access {
        thread: u32,
        site: SiteId,
        deed: Deed,
    },
    /// An asynchronous copy that reads the element and was not waited for.
    Copy {
        thread: u32,
        site: SiteId,
    },
}

/// The kinds of accesses that the race check distinguishes.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Read,
    /// A store of another value.
    Change,
    /// A store of the value already there.
    Keep,
    Add,
}

impl Kind {
    /// Returns the kinds of earlier accesses by other threads that race with this one unless a barrier orders them.
    fn races_with(self) -> &'static [Kind] {
        match self {
            Kind::Read => &[Kind::Change, Kind::Add],
            Kind::Change => &[Kind::Change, Kind::Keep, Kind::Read, Kind::Add],
            Kind::Keep => &[Kind::Add],
            Kind::Add => &[Kind::Change, Kind::Keep, Kind::Read],
        }
    }

    fn deed(self) -> Deed {
        match self {
            Kind::Read => Deed::Read,
            Kind::Change | Kind::Keep => Deed::Write,
            Kind::Add => Deed::Add,
        }
    }
}

/// The last asynchronous copy from an element.
#[derive(Clone, Copy, Debug, Default)]
struct Copying {
    /// Groups count from 1; 0 means that there was no copy.
    group: u32,
    thread: u32,
    site: SiteId,
}

/// The last accesses to the units of a page. Each list stays empty until its first entry.
#[derive(Debug, Default)]
struct Marks {
    /// Indexed by kind.
    pairs: [Vec<Pair>; 4],
    copies: Vec<Copying>,
}

impl Marks {
    #[inline]
    fn pair(&self, kind: Kind, unit: usize) -> Option<&Pair> {
        self.pairs[kind as usize].get(unit)
    }

    /// Checks an access for races, and remembers it.
    #[inline]
    fn touch(&mut self, kind: Kind, unit: usize, units: usize, who: Who) -> Option<Earlier> {
        let clock = who.clock?;
        let here = Mark { time: clock.now(), thread: who.thread, collective: false, site: who.site };
        let met = |&kind: &Kind| Some((kind, self.pair(kind, unit)?.meets(here, clock)?));
        let earlier = kind.races_with().iter().find_map(met);
        let reads = matches!(kind, Kind::Change | Kind::Add);
        let copy = self.copies.get(unit).filter(|copy| reads && copy.group > who.landed).copied();
        let pairs = &mut self.pairs[kind as usize];
        if pairs.is_empty() {
            pairs.resize(units, Pair::default());
        }
        pairs[unit].remember(here, clock);
        match (copy, earlier) {
            (Some(Copying { thread, site, .. }), _) => Some(Earlier::Copy { thread, site }),
            (None, Some((kind, Mark { thread, site, .. }))) => {
                Some(Earlier::Access { thread, site, deed: kind.deed() })
            }
            (None, None) => None,
        }
    }
}

/// The accesses of the block to a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Done {
    pub(crate) read: bool,
    pub(crate) written: bool,
    pub(crate) added: bool,
    /// The page's bytes already include the block's sums.
    settled: bool,
}

impl Done {
    pub(crate) fn anything(self) -> bool {
        self != Done::default()
    }

    /// Reports whether the page's bytes are the block's result. Otherwise they are the bytes before the launch, and sums are
    /// still pending.
    pub(crate) fn owned(self) -> bool {
        self.written || self.settled
    }
}

/// A part of a tensor as one block sees it.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) data: [u8; PAGE],
    /// Indexed by unit.
    pub(crate) done: Vec<Done>,
    /// Pending sums for units that the block neither reads nor writes: the unit's number and the bits to add.
    pub(crate) sums: Vec<(usize, u64)>,
    marks: Marks,
}

impl Page {
    fn new(number: usize, tensor: &Tensor) -> Page {
        let mut data = [0; PAGE];
        let from = &tensor.bytes[number * PAGE..];
        let len = from.len().min(PAGE);
        data[..len].copy_from_slice(&from[..len]);
        let done = vec![Done::default(); PAGE / tensor.unit()];
        Page { data, done, sums: Vec::new(), marks: Marks::default() }
    }

    /// Adds pending sums of some units to their bytes. Called before the block reads or writes these units.
    #[inline]
    fn settle(&mut self, tensor: &Tensor, units: Range<usize>) {
        let waits = |done: &Done| done.added && !done.owned();
        if self.sums.is_empty() || !self.done[units.clone()].iter().any(waits) {
            return;
        }
        let Page { data, done, sums, .. } = self;
        let size = tensor.unit();
        sums.retain(|&(unit, bits)| {
            let settled = units.contains(&unit);
            if settled {
                add(tensor.dtype, &mut data[unit * size..][..size], bits);
                done[unit].settled = true;
            }
            !settled
        });
    }

    /// Returns the operation with which the block accessed a unit.
    pub(crate) fn site(&self, unit: usize, deed: Deed) -> SiteId {
        let of = |kinds: &[Kind]| kinds.iter().find_map(|kind| self.marks.pair(*kind, unit)?.site());
        let copy = || self.marks.copies.get(unit).map(|copy| copy.site);
        match deed {
            Deed::Read => of(&[Kind::Read]).or_else(copy),
            Deed::Write => of(&[Kind::Change, Kind::Keep]),
            Deed::Add => of(&[Kind::Add]),
        }
        .unwrap_or_default()
    }
}

/// Adds to one element as the hardware does, with one rounding.
pub(crate) fn add(dtype: DType, element: &mut [u8], bits: u64) {
    let now = hx_dtype::load(dtype, element, 0);
    hx_dtype::store(dtype, element, 0, hx_dtype::Operator::Add.eval(dtype, &[now, bits]));
}

/// The pages of a tensor that one block touched.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    pub(crate) pages: BTreeMap<usize, Box<Page>>,
}

impl Overlay {
    /// Calls `f` with each page that overlaps the bytes `at..at + len`, the range of units there, and the position of the first
    /// of them among those bytes. Returns the first race that `f` finds; `f` returns it as the unit and the earlier access.
    fn pieces(
        &mut self,
        tensor: &Tensor,
        (at, len): (usize, usize),
        deed: Deed,
        mut f: impl FnMut(&mut Page, Range<usize>, usize) -> Option<(usize, Earlier)>,
    ) -> Result<(), Raced> {
        let size = tensor.unit();
        let (mut done, mut raced) = (0, None);
        while done < len {
            let (number, from) = ((at + done) / PAGE, (at + done) % PAGE);
            let count = (len - done).min(PAGE - from);
            let page = self.pages.entry(number).or_insert_with(|| Box::new(Page::new(number, tensor)));
            let found = f(page, from / size..(from + count) / size, done);
            raced = raced.or(found.map(|(unit, earlier)| Raced {
                byte: number * PAGE + unit * size,
                deed,
                earlier,
            }));
            done += count;
        }
        raced.map_or(Ok(()), Err)
    }

    /// Reads bytes into `out`.
    ///
    /// # Errors
    /// On a race.
    pub(crate) fn read(&mut self, tensor: &Tensor, at: usize, out: &mut [u8], who: Who) -> Result<(), Raced> {
        self.fetch(tensor, at, out, |page, unit| {
            let units = page.done.len();
            page.marks.touch(Kind::Read, unit, units, who)
        })
    }

    /// Reads bytes for an asynchronous copy of a group.
    ///
    /// # Errors
    /// On a race with an earlier access.
    pub(crate) fn issue(
        &mut self,
        tensor: &Tensor,
        at: usize,
        out: &mut [u8],
        who: Who,
        group: u32,
    ) -> Result<(), Raced> {
        self.fetch(tensor, at, out, |page, unit| {
            let units = page.done.len();
            let earlier = page.marks.touch(Kind::Read, unit, units, who);
            let copies = &mut page.marks.copies;
            if copies.is_empty() {
                copies.resize(units, Copying::default());
            }
            copies[unit] = Copying { group, thread: who.thread, site: who.site };
            earlier
        })
    }

    fn fetch(
        &mut self,
        tensor: &Tensor,
        at: usize,
        out: &mut [u8],
        mut touch: impl FnMut(&mut Page, usize) -> Option<Earlier>,
    ) -> Result<(), Raced> {
        let size = tensor.unit();
        self.pieces(tensor, (at, out.len()), Deed::Read, |page, units, from| {
            page.settle(tensor, units.clone());
            let bytes = units.start * size..units.end * size;
            out[from..from + bytes.len()].copy_from_slice(&page.data[bytes]);
            let mut raced = None;
            for unit in units {
                page.done[unit].read = true;
                raced = raced.or(touch(page, unit).map(|earlier| (unit, earlier)));
            }
            raced
        })
    }

    /// Completes a thread's copy from these bytes: the copy becomes a read at the time of the wait.
    pub(crate) fn land(&mut self, tensor: &Tensor, at: usize, len: usize, who: Who) {
        let landed = self.pieces(tensor, (at, len), Deed::Read, |page, units, _| {
            // Errors are ignored here: a thread that changed these bytes after the issue was reported then.
            for unit in units {
                page.marks.touch(Kind::Read, unit, page.done.len(), who);
            }
            None
        });
        debug_assert!(landed.is_ok(), "a copy that lands reports nothing");
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// On a race.
    pub(crate) fn write(&mut self, tensor: &Tensor, at: usize, bytes: &[u8], who: Who) -> Result<(), Raced> {
        let size = tensor.unit();
        self.pieces(tensor, (at, bytes.len()), Deed::Write, |page, units, from| {
            page.settle(tensor, units.clone());
            let bytes = &bytes[from..from + units.len() * size];
            let place = units.start * size..units.end * size;
            let mut raced = None;
            let there = page.data[place.clone()].chunks_exact(size);
            for ((unit, now), before) in units.zip(bytes.chunks_exact(size)).zip(there) {
                page.done[unit].written = true;
                let kind = if now == before { Kind::Keep } else { Kind::Change };
                let earlier = page.marks.touch(kind, unit, page.done.len(), who);
                raced = raced.or(earlier.map(|earlier| (unit, earlier)));
            }
            page.data[place].copy_from_slice(bytes);
            raced
        })
    }

    /// Adds elements. The sums stay pending until the blocks are merged, unless the block has read or written the element.
    ///
    /// # Errors
    /// On a race.
    pub(crate) fn add(&mut self, tensor: &Tensor, at: usize, bytes: &[u8], who: Who) -> Result<(), Raced> {
        let size = tensor.unit();
        self.pieces(tensor, (at, bytes.len()), Deed::Add, |page, units, from| {
            let mut raced = None;
            for (unit, element) in units.zip(bytes[from..].chunks_exact(size)) {
                let bits = hx_dtype::load(tensor.dtype, element, 0);
                if page.done[unit].owned() {
                    add(tensor.dtype, &mut page.data[unit * size..][..size], bits);
                } else {
                    page.sums.push((unit, bits));
                }
                page.done[unit].added = true;
                let earlier = page.marks.touch(Kind::Add, unit, page.done.len(), who);
                raced = raced.or(earlier.map(|earlier| (unit, earlier)));
            }
            raced
        })
    }
}
