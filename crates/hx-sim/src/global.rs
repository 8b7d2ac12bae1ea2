//! Tensors in global memory: bounds, what each block changes, and how the changes of all blocks come together.
//!
//! A block never writes to a tensor directly. It keeps copies of the pages it touches in tensors that the kernel may write;
//! [`merge`] brings them back in the order of the blocks, so that the outcome does not depend on scheduling.

use std::collections::BTreeMap;

use hx_dtype::DType;
use hx_thread::Clock;

use crate::code::SiteId;
use crate::error::Fault;

const PAGE: usize = 256;

/// An argument that is a tensor.
#[derive(Debug)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) dtype: DType,
    pub(crate) mutable: bool,
    pub(crate) shape: Vec<i64>,
    pub(crate) stride: Vec<i64>,
    /// The pretended address of the first byte.
    pub(crate) address: i64,
    pub(crate) bytes: Vec<u8>,
    /// Elements from the first to one past the last.
    pub(crate) span: i64,
    /// Strides and extents from the widest stride down, if some offsets within the span are no elements.
    gaps: Option<Vec<(i64, i64)>>,
}

impl Tensor {
    /// # Errors
    /// When the shape and stride contradict each other or the bytes, as text.
    pub(crate) fn new(
        name: &str,
        dtype: DType,
        mutable: bool,
        dims: (Vec<i64>, Vec<i64>),
        address: i64,
        bytes: Vec<u8>,
    ) -> Result<Tensor, (String, Vec<u8>)> {
        let (shape, stride) = dims;
        if shape.len() != stride.len() {
            return Err((format!("`{name}` has shape {shape:?} but stride {stride:?}"), bytes));
        }
        if shape.iter().chain(&stride).any(|x| *x < 0) {
            return Err((
                format!("`{name}` has shape {shape:?} and stride {stride:?}, which go below 0"),
                bytes,
            ));
        }
        let span = if shape.contains(&0) {
            Some(0)
        } else {
            shape.iter().zip(&stride).try_fold(1i64, |sum, (e, s)| sum.checked_add((e - 1).checked_mul(*s)?))
        };
        let held = bytes.len() as i128 * 8 / i128::from(dtype.bits());
        let Some(span) = span.filter(|s| i128::from(*s) <= held) else {
            let text =
                format!("`{name}` has {} bytes, too few for {dtype}{shape:?} : {stride:?}", bytes.len());
            return Err((text, bytes));
        };
        let gaps = gaps(&shape, &stride);
        Ok(Tensor { name: name.into(), dtype, mutable, shape, stride, address, bytes, span, gaps })
    }

    /// The element at an offset as a coordinate, where the strides are nested so that there is only one.
    pub(crate) fn coordinate(&self, offset: i64) -> Option<Vec<i64>> {
        nested(&self.shape, &self.stride).filter(|_| offset >= 0)?;
        let mut order: Vec<usize> = (0..self.shape.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(self.stride[i]));
        let (mut coord, mut rest) = (vec![0; self.shape.len()], offset);
        for i in order {
            if self.shape[i] > 1 {
                coord[i] = rest.div_euclid(self.stride[i]);
                rest = rest.rem_euclid(self.stride[i]);
            }
        }
        (rest == 0).then_some(coord)
    }

    /// The first of `count` elements from `offset` on that the tensor does not have.
    #[inline]
    pub(crate) fn outside(&self, offset: i64, count: i64) -> Option<i64> {
        if offset < 0 {
            return Some(offset);
        }
        if offset > self.span - count {
            return Some(offset.max(self.span));
        }
        let gaps = self.gaps.as_ref()?;
        (offset..offset + count).find(|&at| {
            let mut rest = at;
            !gaps.iter().all(|&(stride, extent)| {
                let here = rest / stride;
                rest %= stride;
                here < extent
            }) || rest != 0
        })
    }

    pub(crate) fn out_of_bounds(&self, element: i64, write: bool) -> Fault {
        Fault::OutOfBounds {
            tensor: self.name.clone(),
            element,
            coord: self.coordinate(element),
            extent: format!("whose shape is {:?} : {:?}", self.shape, self.stride),
            write,
        }
    }
}

/// Stride and extent of each dimension from the widest stride down, if no two coordinates share an offset by nesting of the strides.
fn nested(shape: &[i64], stride: &[i64]) -> Option<Vec<(i64, i64)>> {
    let mut dims: Vec<(i64, i64)> =
        stride.iter().copied().zip(shape.iter().copied()).filter(|(_, extent)| *extent > 1).collect();
    dims.sort_unstable_by(|a, b| b.cmp(a));
    let ordered = dims.windows(2).all(|w| w[0].0 >= w[1].0.saturating_mul(w[1].1));
    (ordered && dims.iter().all(|d| d.0 > 0)).then_some(dims)
}

fn gaps(shape: &[i64], stride: &[i64]) -> Option<Vec<(i64, i64)>> {
    let dims = nested(shape, stride)?;
    let dense =
        dims.windows(2).all(|w| w[0].0 == w[1].0 * w[1].1) && dims.last().is_none_or(|last| last.0 == 1);
    (!dense).then_some(dims)
}

/// A piece of a tensor as one block sees it.
#[derive(Debug)]
struct Page {
    data: [u8; PAGE],
    written: [bool; PAGE],
    read: [bool; PAGE],
    /// Of the last access.
    site: [SiteId; PAGE],
    /// Who wrote what since the last barrier; nothing before the first checked write.
    marks: Option<Box<[Mark; PAGE]>>,
}

/// The last write of a byte, for races between the threads of one block.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    /// When it happened, by the clock of barriers; 0 for never.
    time: u32,
    thread: u32,
    /// It made another value of the byte.
    changed: bool,
    site: SiteId,
}

/// Who accesses a tensor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Who {
    pub(crate) site: SiteId,
    pub(crate) thread: u32,
    /// Nothing where races are not looked for.
    pub(crate) clock: Option<Clock>,
}

impl Who {
    /// Whether a write by another thread came before with no barrier in between.
    #[inline]
    fn meets(self, mark: Mark) -> bool {
        let unordered = |clock: Clock| !clock.parts(mark.time, mark.thread, self.thread);
        mark.thread != self.thread && self.clock.is_some_and(unordered)
    }
}

/// A byte that a thread touches while nothing orders it with another thread's write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Raced {
    pub(crate) byte: usize,
    /// Of the write that came before.
    pub(crate) thread: u32,
    pub(crate) site: SiteId,
}

/// What one block did to a tensor that may be written.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    pages: BTreeMap<usize, Box<Page>>,
    /// What is added to elements that the block has not written: first byte, bits and place.
    sums: Vec<(usize, u64, SiteId)>,
}

impl Overlay {
    fn page(&mut self, number: usize, tensor: &Tensor) -> &mut Page {
        self.pages.entry(number).or_insert_with(|| {
            let mut data = [0; PAGE];
            let from = &tensor.bytes[number * PAGE..];
            let len = from.len().min(PAGE);
            data[..len].copy_from_slice(&from[..len]);
            Box::new(Page { data, written: [false; PAGE], read: [false; PAGE], site: [0; PAGE], marks: None })
        })
    }

    /// Calls `f` with each page that the bytes `at..at + len` lie in, the range there, and where it stands among those bytes.
    fn pieces(
        &mut self,
        tensor: &Tensor,
        at: usize,
        len: usize,
        mut f: impl FnMut(&mut Page, std::ops::Range<usize>, usize),
    ) {
        let mut done = 0;
        while done < len {
            let (number, from) = ((at + done) / PAGE, (at + done) % PAGE);
            let count = (len - done).min(PAGE - from);
            f(self.page(number, tensor), from..from + count, done);
            done += count;
        }
    }

    /// Reads bytes.
    ///
    /// # Errors
    /// On a byte that another thread of the block has changed since the last barrier.
    pub(crate) fn read(&mut self, tensor: &Tensor, at: usize, out: &mut [u8], who: Who) -> Result<(), Raced> {
        let mut raced = None;
        self.pieces(tensor, at, out.len(), |page, range, done| {
            out[done..done + range.len()].copy_from_slice(&page.data[range.clone()]);
            if let Some(marks) = &page.marks {
                let meets = |i: &usize| who.meets(marks[*i]) && marks[*i].changed;
                if let Some(i) = range.clone().find(meets).filter(|_| raced.is_none()) {
                    let byte = at + done + i - range.start;
                    raced = Some(Raced { byte, thread: marks[i].thread, site: marks[i].site });
                }
            }
            page.site[range.clone()].fill(who.site);
            page.read[range].fill(true);
        });
        raced.map_or(Ok(()), Err)
    }

    /// Adds elements at once with those of other blocks, unless the block has written them itself.
    pub(crate) fn add(&mut self, tensor: &Tensor, at: usize, bytes: &[u8], site: SiteId) {
        let size = (tensor.dtype.bits() as usize / 8).max(1);
        // Atomics race with nobody.
        let who = Who { site, thread: 0, clock: None };
        for (i, element) in bytes.chunks_exact(size).enumerate() {
            let (first, bits) = (at + i * size, hx_dtype::load(tensor.dtype, element, 0));
            let page = self.pages.get(&(first / PAGE));
            if !page.is_some_and(|page| page.written[first % PAGE]) {
                self.sums.push((first, bits, site));
                continue;
            }
            let mut now = vec![0; size];
            let read = self.read(tensor, first, &mut now, who);
            sum(tensor.dtype, &mut now, bits);
            let written = self.write(tensor, first, &now, who);
            debug_assert!(read.is_ok() && written.is_ok(), "an atomic raced");
        }
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// On a byte to which another thread of the block has given another value since the last barrier.
    pub(crate) fn write(&mut self, tensor: &Tensor, at: usize, bytes: &[u8], who: Who) -> Result<(), Raced> {
        let mut raced = None;
        self.pieces(tensor, at, bytes.len(), |page, range, done| {
            let bytes = &bytes[done..done + range.len()];
            if let Some(clock) = who.clock {
                let marks = page.marks.get_or_insert_with(|| Box::new([Mark::default(); PAGE]));
                for ((i, now), mark) in range.clone().zip(bytes).zip(&mut marks[range.clone()]) {
                    let changed = page.data[i] != *now;
                    if changed && who.meets(*mark) && raced.is_none() {
                        let byte = at + done + i - range.start;
                        raced = Some(Raced { byte, thread: mark.thread, site: mark.site });
                    }
                    *mark = Mark { time: clock.now(), thread: who.thread, changed, site: who.site };
                }
            }
            page.data[range.clone()].copy_from_slice(bytes);
            page.site[range.clone()].fill(who.site);
            page.written[range].fill(true);
        });
        raced.map_or(Ok(()), Err)
    }
}

/// Adds to one element as the hardware does, with one rounding.
fn sum(dtype: DType, element: &mut [u8], bits: u64) {
    let now = hx_dtype::load(dtype, element, 0);
    hx_dtype::store(dtype, element, 0, hx_dtype::Operator::Add.eval(dtype, &[now, bits]));
}

const NOBODY: u32 = u32::MAX;

/// Who touched the bytes of a page, over all blocks so far.
#[derive(Debug)]
struct Owners {
    /// The bytes before the launch.
    before: [u8; PAGE],
    /// The last block that wrote the byte, and the last that read it.
    writer: [u32; PAGE],
    reader: [u32; PAGE],
    /// The last block that added to it.
    adder: [u32; PAGE],
}

/// The history of one tensor.
#[derive(Debug, Default)]
pub(crate) struct History {
    pages: BTreeMap<usize, Box<Owners>>,
}

/// A byte of a tensor that a block and an earlier one touch, one of them changing it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Clash {
    pub(crate) byte: usize,
    pub(crate) write: bool,
    /// Of the later block.
    pub(crate) site: SiteId,
    pub(crate) other: u32,
    pub(crate) other_writes: bool,
}

/// Brings what block number `block` did into the tensor; blocks come in order. With `check`, the first clash with an earlier block
/// is an error.
pub(crate) fn merge(
    tensor: &mut Tensor,
    history: &mut History,
    overlay: Overlay,
    block: u32,
    check: bool,
) -> Result<(), Clash> {
    for (number, page) in overlay.pages {
        let start = number * PAGE;
        let len = (tensor.bytes.len() - start).min(PAGE);
        let bytes = &mut tensor.bytes[start..start + len];
        if check {
            let owners = history.pages.entry(number).or_insert_with(|| {
                let mut before = [0; PAGE];
                before[..len].copy_from_slice(bytes);
                Box::new(Owners::new(before))
            });
            for (i, now) in bytes.iter().enumerate() {
                if let Some((write, other, other_writes)) = owners.clash(&page, i, *now, block) {
                    return Err(Clash { byte: start + i, write, site: page.site[i], other, other_writes });
                }
            }
        }
        for ((byte, data), written) in bytes.iter_mut().zip(page.data).zip(page.written) {
            if written {
                *byte = data;
            }
        }
    }
    let size = (tensor.dtype.bits() as usize / 8).max(1);
    for (first, bits, site) in overlay.sums {
        if check {
            let start = first / PAGE * PAGE;
            let len = (tensor.bytes.len() - start).min(PAGE);
            let owners = history.pages.entry(first / PAGE).or_insert_with(|| {
                let mut before = [0; PAGE];
                before[..len].copy_from_slice(&tensor.bytes[start..start + len]);
                Box::new(Owners::new(before))
            });
            let i = first % PAGE;
            let (writer, reader) = (owners.writer[i], owners.reader[i]);
            if writer != NOBODY || reader != NOBODY {
                let other_writes = writer != NOBODY;
                let other = if other_writes { writer } else { reader };
                return Err(Clash { byte: first, write: true, site, other, other_writes });
            }
            owners.adder[i..(i + size).min(PAGE)].fill(block);
        }
        sum(tensor.dtype, &mut tensor.bytes[first..first + size], bits);
    }
    Ok(())
}

impl Owners {
    fn new(before: [u8; PAGE]) -> Owners {
        let nobody = [NOBODY; PAGE];
        Owners { before, writer: nobody, reader: nobody, adder: nobody }
    }

    /// Records what a block did to byte `i`, which holds `now`. A clash is (whether this block writes, the other block, whether
    /// that one writes).
    #[inline]
    fn clash(&mut self, page: &Page, i: usize, now: u8, block: u32) -> Option<(bool, u32, bool)> {
        if (page.written[i] || page.read[i]) && self.adder[i] != NOBODY {
            return Some((page.written[i], self.adder[i], true));
        }
        if page.written[i] {
            if self.writer[i] != NOBODY && page.data[i] != now {
                return Some((true, self.writer[i], true));
            }
            if page.data[i] != self.before[i] && self.reader[i] != NOBODY {
                return Some((true, self.reader[i], false));
            }
        }
        if page.read[i] {
            if self.writer[i] != NOBODY && now != self.before[i] {
                return Some((false, self.writer[i], true));
            }
            self.reader[i] = block;
        }
        if page.written[i] {
            self.writer[i] = block;
        }
        None
    }
}
