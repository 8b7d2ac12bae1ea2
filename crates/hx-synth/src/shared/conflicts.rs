//! Bank conflicts by counting: every phase of every access.

use std::cell::Cell;
use std::collections::BTreeMap;

use hx_layout::{Layout, Swizzle};
use hx_target::{BANK_BYTES, BANKS, WARP, WAVEFRONT_BYTES};
use hx_tile::Conflicts;

use crate::access::Access;

/// What the lanes of every instruction of every warp address, as coordinates of the shared tensor: the same for all its layouts.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// For each instruction of each warp its lanes, each with `rank` coordinates; [`IDLE`] first for an idle lane.
    lanes: Vec<i64>,
    rank: usize,
    lanes_per_warp: usize,
    lanes_per_phase: usize,
    /// Bytes that one address covers.
    bytes: u32,
}

/// Phases that stand for all, where there are more.
const SAMPLE: usize = 256;

/// In place of the first coordinate of a lane that addresses nothing.
const IDLE: i64 = i64::MIN;

impl Places {
    /// `place` writes the coordinate in the shared tensor, of `rank` numbers, of a coordinate of the tile; false where there is none.
    pub(crate) fn of(
        access: &Access,
        threads: u32,
        is_load: bool,
        rank: usize,
        place: &dyn Fn(&[i64], &mut [i64]) -> bool,
    ) -> Places {
        let warp = i64::from(WARP.min(threads));
        // A coordinate is what the thread adds and what the issue adds.
        let by_thread: Vec<Vec<i64>> = (0..i64::from(threads)).map(|t| access.coordinate(t, 0)).collect();
        let by_issue: Vec<Vec<i64>> = (0..access.issues()).map(|i| access.coordinate(0, i)).collect();
        // Of lanes that execute one instruction together, the first address its rows.
        let (lanes, addressing) = access.row.addressing();
        let addresses = |t: i64| t % lanes < addressing && (is_load || access.stores(t));
        let active: Vec<bool> = (0..i64::from(threads)).map(addresses).collect();
        let mut places = Vec::with_capacity(by_issue.len() * by_thread.len() * rank);
        let (mut at, mut out) = (vec![0; access.tile.len()], vec![0; rank.max(1)]);
        for first in (0..i64::from(threads)).step_by(warp as usize) {
            for issue in &by_issue {
                for thread in first..first + warp {
                    let here = by_thread.get(thread as usize).filter(|_| active[thread as usize]);
                    let found = here.is_some_and(|here| {
                        at.iter_mut().zip(here.iter().zip(issue)).for_each(|(at, (t, i))| *at = t + i);
                        place(&at, &mut out)
                    });
                    if !found {
                        out[0] = IDLE;
                    }
                    places.extend_from_slice(&out);
                }
            }
        }
        let lanes_per_phase = access.lanes_per_phase() as usize;
        let bytes = access.row.access;
        Places { lanes: places, rank: rank.max(1), lanes_per_warp: warp as usize, lanes_per_phase, bytes }
    }

    /// The lanes of every phase in which some lane addresses something.
    fn phases(&self) -> impl Iterator<Item = &[i64]> {
        let warps = self.lanes.chunks(self.lanes_per_warp * self.rank);
        let phases = warps.flat_map(|warp| warp.chunks(self.lanes_per_phase * self.rank));
        phases.filter(|phase| phase.chunks(self.rank).any(|at| at[0] != IDLE))
    }

    /// Phases that stand for all, spread over them, with the number of phases that each stands for.
    pub(crate) fn sample(&self) -> Sample {
        let all: Vec<&[i64]> = self.phases().collect();
        let count = all.len().min(SAMPLE);
        // Somewhere else in each stretch, as neighbours of a regular step may be alike.
        let pick = |i: usize| {
            let (from, to) = (i * all.len() / count, (i + 1) * all.len() / count);
            all[from + (i.wrapping_mul(0x9E37_79B9) >> 16) % (to - from)]
        };
        let mut lanes = Vec::new();
        for phase in (0..count).map(pick) {
            lanes.extend_from_slice(phase);
            // The last phase of a narrow block has fewer lanes.
            lanes.resize(lanes.len().next_multiple_of(self.lanes_per_phase * self.rank), IDLE);
        }
        let places = Places { lanes, lanes_per_warp: self.lanes_per_phase, ..self.empty() };
        Sample { places, each: all.len() as f64 / count.max(1) as f64 }
    }

    fn empty(&self) -> Places {
        Places { lanes: Vec::new(), ..*self }
    }
}

/// Some phases of an access in place of all.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) places: Places,
    /// Phases for which each one stands.
    pub(crate) each: f64,
}

/// Blocks of a swizzle up to so many bytes do not tell phases apart that lie whole blocks from each other.
const BLOCK_BYTES: i64 = 4096;

/// Lists of numbers, each with how often it occurs, one after the other.
#[derive(Clone, Debug, Default)]
struct Lists {
    numbers: Vec<i64>,
    /// Where each list ends, and how often it occurs.
    ends: Vec<(usize, u64)>,
}

impl Lists {
    fn push(&mut self, numbers: impl IntoIterator<Item = i64>, count: u64) {
        self.numbers.extend(numbers);
        self.ends.push((self.numbers.len(), count));
    }

    fn iter(&self) -> impl Iterator<Item = (&[i64], u64)> {
        let mut start = 0;
        self.ends.iter().map(move |(end, count)| {
            let list = &self.numbers[start..*end];
            start = *end;
            (list, *count)
        })
    }
}

/// The addresses of an access under a layout, phase by phase: element offsets before the swizzle, each once.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    /// Phases that differ by whole blocks only are one.
    classes: Lists,
    /// Every phase on its own, for larger swizzles.
    every: Lists,
    /// Elements of a block.
    block: i64,
    bytes: u32,
    element_bits: u32,
    /// The logarithm of the elements of an access, if it starts at a multiple of them and covers whole words.
    unit: Option<u32>,
}

impl Requests {
    /// Requests for a layout that gets a swizzle which moves whole words only: lanes that address one word count once.
    pub(crate) fn new(places: &Places, layout: &Layout, element_bits: u32) -> Requests {
        let per_word = (BANK_BYTES * 8 / element_bits.min(BANK_BYTES * 8)).max(1);
        let within = if per_word.is_power_of_two() && places.bytes < BANK_BYTES { per_word } else { 1 };
        Requests::made(places, layout, element_bits, within.into())
    }

    /// Requests for a layout with any swizzle, as a pinned one may have.
    pub(crate) fn exact(places: &Places, layout: &Layout, element_bits: u32) -> Requests {
        Requests::made(places, layout, element_bits, 1)
    }

    /// Of `merged` elements, which lie in one word from a multiple of their number on, only the first is kept.
    fn made(places: &Places, layout: &Layout, element_bits: u32, merged: i64) -> Requests {
        let modes = layout.modes();
        // Where each coordinate of each dimension lies.
        let tables: Vec<Vec<i64>> =
            modes.iter().map(|mode| (0..mode.size()).map(|c| mode.eval(c)).collect()).collect();
        let offset = |at: &[i64]| -> i64 {
            at.iter().zip(&tables).map(|(c, table)| table.get(*c as usize).copied().unwrap_or(0)).sum()
        };
        let block = (BLOCK_BYTES * 8 / i64::from(element_bits)).max(1);
        let mut met: BTreeMap<Vec<i64>, u64> = BTreeMap::new();
        let mut every = Lists::default();
        let mut addresses = Vec::new();
        for phase in places.phases() {
            addresses.clear();
            let active = phase.chunks(places.rank).filter(|at| at[0] != IDLE);
            addresses.extend(active.map(|at| offset(at) & -merged));
            addresses.sort_unstable();
            addresses.dedup();
            let Some(least) = addresses.first() else { continue };
            let start = least.div_euclid(block) * block;
            every.push(addresses.iter().copied(), 1);
            addresses.iter_mut().for_each(|address| *address -= start);
            match met.get_mut(&addresses) {
                Some(count) => *count += 1,
                None => {
                    met.insert(addresses.clone(), 1);
                }
            }
        }
        let mut classes = Lists::default();
        // Those that occur most first: a count that exceeds its bound is given up early.
        let mut met: Vec<(Vec<i64>, u64)> = met.into_iter().collect();
        met.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        met.into_iter().for_each(|(addresses, count)| classes.push(addresses, count));
        let bytes = if merged > 1 { BANK_BYTES } else { places.bytes };
        let elements = i64::from(bytes) * 8 / i64::from(element_bits);
        let whole = bytes % BANK_BYTES == 0
            && elements.count_ones() == 1
            && every.numbers.iter().all(|offset| offset % elements == 0);
        let unit = whole.then(|| elements.trailing_zeros());
        Requests { classes, every, block, bytes, element_bits, unit }
    }

    /// Wavefronts under a swizzle, and the least that the number of phases allows.
    pub(crate) fn count(&self, swizzle: Swizzle) -> Conflicts {
        let wavefronts = self.at_most(swizzle, f64::INFINITY, &Cell::new(0));
        Conflicts { wavefronts, ideal: self.ideal() }
    }

    /// Wavefronts under a swizzle; or what they are at least, if that is more than `most`. Adds the addresses that were looked at to
    /// `looked`.
    pub(crate) fn at_most(&self, swizzle: Swizzle, most: f64, looked: &Cell<u64>) -> u64 {
        let lists = self.lists(swizzle);
        let mut addresses = 0;
        // A phase takes one wavefront at least.
        let mut sum = self.ideal();
        let whole = self.unit.filter(|unit| swizzle.is_identity() || swizzle.base() >= *unit);
        for (offsets, count) in lists.iter() {
            let wavefronts = match whole {
                Some(unit) => accesses_in_one_bank(offsets, swizzle, unit, self.bytes),
                None => words_in_one_bank(offsets, swizzle, self.bytes, self.element_bits),
            };
            sum += count * (wavefronts - 1);
            addresses += offsets.len() as u64;
            if sum as f64 > most {
                break;
            }
        }
        looked.set(looked.get() + addresses);
        sum
    }

    /// Lines of shared memory that phases touch besides their first: what an asynchronous copy brings is written line by line.
    pub(crate) fn further_lines(&self, swizzle: Swizzle) -> u64 {
        let line = i64::from(WAVEFRONT_BYTES) * 8 / i64::from(self.element_bits);
        let further = |offsets: &[i64]| {
            let mut met = [0; WARP as usize];
            let mut count = 0;
            for offset in offsets {
                let here = swizzle.apply(*offset).div_euclid(line);
                if !met[..count].contains(&here) && count < met.len() {
                    met[count] = here;
                    count += 1;
                }
            }
            count.saturating_sub(1) as u64
        };
        self.lists(swizzle).iter().map(|(offsets, count)| count * further(offsets)).sum()
    }

    /// The phases to look at under a swizzle: those that differ by whole blocks only are one where it permutes within blocks.
    fn lists(&self, swizzle: Swizzle) -> &Lists {
        let span = 1i64 << (swizzle.bits() + swizzle.base() + swizzle.shift().unsigned_abs());
        if swizzle.is_identity() || self.block % span == 0 { &self.classes } else { &self.every }
    }

    /// Addresses of all phases.
    pub(crate) fn addresses(&self) -> u64 {
        self.every.numbers.len() as u64
    }

    /// The least wavefronts that the number of phases allows.
    pub(crate) fn ideal(&self) -> u64 {
        self.every.ends.len() as u64
    }
}

/// The same as [`words_in_one_bank`] for different accesses of whole words, each at a multiple of its `2^unit` elements, which the
/// swizzle leaves together: they take banks as one.
#[inline]
fn accesses_in_one_bank(offsets: &[i64], swizzle: Swizzle, unit: u32, bytes: u32) -> u64 {
    let places = i64::from(BANKS / (bytes / BANK_BYTES).clamp(1, BANKS));
    let mut load = [0u8; BANKS as usize];
    let mut most = 0;
    // The swizzle written out: this is the innermost loop of the solver.
    let (mask, shift) = (swizzle.source_mask(), swizzle.shift());
    let (right, left) = (shift.max(0), (-shift).max(0));
    for offset in offsets {
        let swizzled = offset ^ (((offset & mask) >> right) << left);
        let slot = &mut load[((swizzled >> unit) & (places - 1)) as usize];
        *slot += 1;
        most = most.max(*slot);
    }
    most.into()
}

/// The most different words that lanes ask of one bank: the wavefronts that a phase takes.
pub(super) fn words_in_one_bank(offsets: &[i64], swizzle: Swizzle, bytes: u32, element_bits: u32) -> u64 {
    let each = i64::from(bytes.div_ceil(BANK_BYTES));
    let first = |offset: &i64| swizzle.apply(*offset) * i64::from(element_bits) / 8 / i64::from(BANK_BYTES);
    let mut firsts = [0; WARP as usize];
    let Some(firsts) = firsts.get_mut(..offsets.len()) else {
        return most_in_a_bank(
            offsets.iter().flat_map(|offset| first(offset)..first(offset) + each).collect(),
        );
    };
    firsts.iter_mut().zip(offsets).for_each(|(slot, offset)| *slot = first(offset));
    if firsts.iter().any(|first| first % each != 0) {
        return most_in_a_bank(firsts.iter().flat_map(|first| *first..first + each).collect());
    }
    // The words of two lanes are all the same or all different.
    firsts.sort_unstable();
    let mut load = [0u8; BANKS as usize];
    let mut last = None;
    for first in firsts {
        if last.replace(*first) != Some(*first) {
            (*first..*first + each).for_each(|word| load[(word % i64::from(BANKS)) as usize] += 1);
        }
    }
    load.into_iter().max().unwrap_or(0).into()
}

/// The most different words of one bank among any.
fn most_in_a_bank(mut words: Vec<i64>) -> u64 {
    words.sort_unstable();
    words.dedup();
    let mut load = [0u64; BANKS as usize];
    for word in words {
        load[(word % i64::from(BANKS)) as usize] += 1;
    }
    load.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accesses of every width under every swizzle: counted as whole accesses, and word by word.
    #[test]
    fn whole_accesses_take_banks_as_their_words_do() {
        let lanes = |step: i64, rows: i64| (0..32).map(move |lane| lane % rows * step + lane / rows * 8);
        for (bytes, bits) in [(4, 16), (8, 16), (16, 16), (16, 8), (4, 32), (16, 32), (8, 64)] {
            let elements = i64::from(bytes * 8 / bits);
            let phase = (WAVEFRONT_BYTES / bytes).clamp(1, WARP) as usize;
            for step in [elements, 4 * elements, 32 * elements, 64 * elements, 72 * elements] {
                for rows in [4, 8, 32] {
                    let mut offsets: Vec<i64> =
                        lanes(step, rows).map(|o| o / elements * elements).take(phase).collect();
                    offsets.sort_unstable();
                    offsets.dedup();
                    let unit = elements.trailing_zeros();
                    let swizzles = (0..4).flat_map(|more| {
                        (0..4).flat_map(move |b| (b..6).map(move |shift| (b, unit + more, shift as i32)))
                    });
                    for (b, base, shift) in swizzles {
                        let swizzle = Swizzle::new(b, base, shift).unwrap_or_else(|_| Swizzle::identity());
                        assert_eq!(
                            accesses_in_one_bank(&offsets, swizzle, unit, bytes),
                            words_in_one_bank(&offsets, swizzle, bytes, bits),
                            "{offsets:?} {swizzle} {bytes} B of {bits} bits"
                        );
                    }
                }
            }
        }
    }

    /// Words that several lanes share in part are counted one by one.
    #[test]
    fn words_are_counted_once() {
        let none = Swizzle::identity();
        assert_eq!(words_in_one_bank(&[0, 1, 2, 3], none, 2, 16), 1);
        assert_eq!(words_in_one_bank(&[0, 64, 128], none, 2, 16), 3);
        assert_eq!(words_in_one_bank(&[0, 2, 4], none, 8, 16), 1);
        assert_eq!(words_in_one_bank(&[0, 64, 66], none, 8, 16), 2);
    }
}
