//! Counts bank conflicts, over every phase of every access.

use std::cell::Cell;

use hx_layout::{Layout, Swizzle};

use hx_tile::Conflicts;
use rustc_hash::FxHashMap;

use hx_target::{Limits, MOST_BANKS, MOST_LANES};

use crate::access::Access;

/// The coordinates in the shared tensor that the lanes of every instruction of every warp address. They are independent of its
/// layout.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// The lanes of each instruction of each warp, with `rank` coordinates each. The first coordinate of an idle lane is
    /// [`IDLE`].
    lanes: Vec<i64>,
    rank: usize,
    lanes_per_warp: usize,
    lanes_per_phase: usize,
    /// Bytes that one address covers.
    bytes: u32,
    /// The limits of the target.
    limits: &'static Limits,
}

/// Limit on the phases of a sample.
const SAMPLE: usize = 256;

/// Returns the number of phases that each phase of a sample represents, if there are `phases`.
pub(super) fn sampled(phases: i64) -> f64 {
    phases as f64 / phases.clamp(1, SAMPLE as i64) as f64
}

/// First coordinate of a lane that addresses nothing.
const IDLE: i64 = i64::MIN;

impl Places {
    /// Computes the places of an access. `place` writes the coordinate in the shared tensor, of `rank` numbers, of a coordinate
    /// of the tile, and returns false if there is none.
    pub(crate) fn of(
        access: &Access,
        threads: u32,
        is_load: bool,
        rank: usize,
        place: &dyn Fn(&[i64], &mut [i64]) -> bool,
    ) -> Places {
        let limits = access.limits;
        let warp = i64::from(limits.lanes.min(threads));
        // A coordinate is the sum of the thread's part and the issue's part.
        let by_thread: Vec<Vec<i64>> = (0..i64::from(threads)).map(|t| access.coordinate(t, 0)).collect();
        let by_issue: Vec<Vec<i64>> = (0..access.issues()).map(|i| access.coordinate(0, i)).collect();
        // Of the lanes that execute one instruction together, the first ones address its rows.
        let (lanes, addressing) = access.row.addressing();
        let (lanes, addressing) = (i64::from(lanes), i64::from(addressing));
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
        Places {
            lanes: places,
            rank: rank.max(1),
            lanes_per_warp: warp as usize,
            lanes_per_phase,
            bytes,
            limits,
        }
    }

    /// Returns the lanes of every phase in which some lane addresses an element.
    fn phases(&self) -> impl Iterator<Item = &[i64]> {
        let warps = self.lanes.chunks(self.lanes_per_warp * self.rank);
        let phases = warps.flat_map(|warp| warp.chunks(self.lanes_per_phase * self.rank));
        phases.filter(|phase| phase.chunks(self.rank).any(|at| at[0] != IDLE))
    }

    /// Reports whether a sample would contain all phases.
    pub(crate) fn are_few(&self) -> bool {
        self.phases().nth(SAMPLE).is_none()
    }

    /// Returns the number of phases in which some lane addresses an element.
    pub(crate) fn count(&self) -> i64 {
        self.phases().count() as i64
    }

    /// Returns a sample of phases, spread over all.
    pub(crate) fn sample(&self) -> Places {
        let all: Vec<&[i64]> = self.phases().collect();
        let count = all.len().min(SAMPLE);
        // Pick a pseudo-random phase of each stretch: phases at a regular step may be alike.
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
        Places { lanes, lanes_per_warp: self.lanes_per_phase, ..self.empty() }
    }

    fn empty(&self) -> Places {
        Places { lanes: Vec::new(), ..*self }
    }
}

/// Bytes of a block. Phases at a distance of whole blocks are equivalent under every swizzle that permutes within blocks.
const BLOCK_BYTES: i64 = 4096;

/// The addresses of phases, deduplicated, sorted and relative to the least. Most phases of an access share a pattern.
#[derive(Clone, Debug, Default)]
struct Patterns {
    /// The concatenated patterns.
    numbers: Vec<i64>,
    /// Begin and end of each pattern in `numbers`.
    ends: Vec<(usize, usize)>,
    /// The index of each pattern in `ends`.
    known: FxHashMap<Vec<i64>, u32>,
    /// Addresses of recent phases, relative to the first lane and in lane order, each with the index of its pattern and its
    /// least address, which is relative to the first lane as well.
    recent: Vec<(Vec<i64>, u32, i64)>,
}

/// Number of recent phases that are compared before addresses are sorted.
const RECENT: usize = 4;

impl Patterns {
    fn get(&self, pattern: u32) -> &[i64] {
        let (start, end) = self.ends[pattern as usize];
        &self.numbers[start..end]
    }

    /// Returns the pattern of the lanes' addresses, which may be in any order, and the least address; `None` without
    /// addresses. Makes `addresses` relative.
    fn of(&mut self, addresses: &mut Vec<i64>) -> Option<(u32, i64)> {
        let first = *addresses.first()?;
        addresses.iter_mut().for_each(|address| *address -= first);
        if let Some((_, pattern, least)) = self.recent.iter().find(|(lanes, ..)| lanes == addresses) {
            return Some((*pattern, first + least));
        }
        let lanes = addresses.clone();
        addresses.sort_unstable();
        addresses.dedup();
        let least = addresses[0];
        addresses.iter_mut().for_each(|address| *address -= least);
        let pattern = match self.known.get(addresses.as_slice()) {
            Some(pattern) => *pattern,
            None => {
                let start = self.numbers.len();
                self.numbers.extend_from_slice(addresses);
                self.ends.push((start, self.numbers.len()));
                let pattern = self.ends.len() as u32 - 1;
                self.known.insert(addresses.clone(), pattern);
                pattern
            }
        };
        if self.recent.len() == RECENT {
            self.recent.remove(0);
        }
        self.recent.push((lanes, pattern, least));
        Some((pattern, first + least))
    }
}

/// Equivalent phases: their pattern, their least address and their number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Class {
    pattern: u32,
    start: i64,
    count: u64,
}

/// The addresses of an access under a layout, phase by phase: element offsets before the swizzle, deduplicated.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    patterns: Patterns,
    /// The phases, grouped by pattern and start within a block.
    classes: Vec<Class>,
    /// Every phase on its own, for swizzles larger than a block.
    every: Vec<Class>,
    /// Number of addresses in all phases.
    addresses: u64,
    /// Elements of a block of [`BLOCK_BYTES`].
    block: i64,
    bytes: u32,
    element_bits: u32,
    /// Base-2 logarithm of the elements of an access, if every access is aligned to its elements and covers whole words.
    unit: Option<u32>,
    /// The limits of the target.
    limits: &'static Limits,
}

impl Requests {
    /// Computes the requests under a layout for swizzles that move whole words: lanes that address one word count once.
    pub(crate) fn new(places: &Places, layout: &Layout, element_bits: u32) -> Requests {
        let word = places.limits.bank_bytes;
        let per_word = (word * 8 / element_bits.min(word * 8)).max(1);
        let within = if per_word.is_power_of_two() && places.bytes < word { per_word } else { 1 };
        Requests::made(places, layout, element_bits, within.into())
    }

    /// Computes the requests under a layout for any swizzle, such as the one of a pinned layout.
    pub(crate) fn exact(places: &Places, layout: &Layout, element_bits: u32) -> Requests {
        Requests::made(places, layout, element_bits, 1)
    }

    /// Returns the requests of a use without addresses.
    pub(crate) fn none(limits: &'static Limits) -> Requests {
        let (patterns, classes, every) = Default::default();
        let (addresses, block, bytes, element_bits, unit) = (0, 1, limits.bank_bytes, 8, None);
        Requests { patterns, classes, every, addresses, block, bytes, element_bits, unit, limits }
    }

    /// Keeps one address for every aligned group of `merged` elements, which share a word.
    fn made(places: &Places, layout: &Layout, element_bits: u32, merged: i64) -> Requests {
        let modes = layout.modes();
        // The offset of each coordinate in each dimension.
        let tables: Vec<Vec<i64>> =
            modes.iter().map(|mode| (0..mode.size()).map(|c| mode.eval(c)).collect()).collect();
        let offset = |at: &[i64]| -> i64 {
            at.iter().zip(&tables).map(|(c, table)| table.get(*c as usize).copied().unwrap_or(0)).sum()
        };
        let block = (BLOCK_BYTES * 8 / i64::from(element_bits)).max(1);
        let mut patterns = Patterns::default();
        let mut met: FxHashMap<(u32, i64), u64> = FxHashMap::default();
        let (mut every, mut addresses, mut count) = (Vec::new(), Vec::new(), 0);
        for phase in places.phases() {
            addresses.clear();
            let active = phase.chunks(places.rank).filter(|at| at[0] != IDLE);
            addresses.extend(active.map(|at| offset(at) & -merged));
            let Some((pattern, start)) = patterns.of(&mut addresses) else { continue };
            count += patterns.get(pattern).len() as u64;
            every.push(Class { pattern, start, count: 1 });
            *met.entry((pattern, start.rem_euclid(block))).or_default() += 1;
        }
        let mut classes: Vec<Class> =
            met.into_iter().map(|((pattern, start), count)| Class { pattern, start, count }).collect();
        // Count the most frequent classes first: a count that exceeds its bound then stops early.
        classes.sort_by(|a, b| {
            let offsets = |class: &Class| {
                let start = class.start;
                patterns.get(class.pattern).iter().map(move |offset| start + offset)
            };
            b.count.cmp(&a.count).then_with(|| offsets(a).cmp(offsets(b)))
        });
        (patterns.known, patterns.recent) = Default::default();
        let bytes = if merged > 1 { places.limits.bank_bytes } else { places.bytes };
        let elements = i64::from(bytes) * 8 / i64::from(element_bits);
        let whole = bytes % places.limits.bank_bytes == 0
            && elements.count_ones() == 1
            && patterns.numbers.iter().all(|offset| offset % elements == 0)
            && every.iter().all(|class| class.start % elements == 0);
        let unit = whole.then(|| elements.trailing_zeros());
        Requests {
            patterns,
            classes,
            every,
            addresses: count,
            block,
            bytes,
            element_bits,
            unit,
            limits: places.limits,
        }
    }

    /// Returns the wavefronts under a swizzle, and the least number that the phases allow.
    pub(crate) fn count(&self, swizzle: Swizzle) -> Conflicts {
        let wavefronts = self.at_most(swizzle, f64::INFINITY, &Cell::new(0));
        Conflicts { wavefronts, ideal: self.ideal() }
    }

    /// Returns the wavefronts under a swizzle, or a lower bound on them if they exceed `most`. Adds the addresses that were
    /// counted to `looked`.
    pub(crate) fn at_most(&self, swizzle: Swizzle, most: f64, looked: &Cell<u64>) -> u64 {
        let (mut addresses, mut offsets) = (0, Vec::new());
        // A phase takes at least one wavefront.
        let mut sum = self.ideal();
        let whole = self.unit.filter(|unit| swizzle.is_identity() || swizzle.base() >= *unit);
        for Class { pattern, start, count } in self.classes(swizzle) {
            let pattern = self.patterns.get(*pattern);
            let wavefronts = match whole {
                Some(unit) => accesses_in_one_bank(self.limits, (pattern, *start), swizzle, unit, self.bytes),
                None => {
                    offsets.clear();
                    offsets.extend(pattern.iter().map(|offset| start + offset));
                    words_in_one_bank(self.limits, &offsets, swizzle, self.bytes, self.element_bits)
                }
            };
            sum += count * (wavefronts - 1);
            addresses += pattern.len() as u64;
            if sum as f64 > most {
                break;
            }
        }
        looked.set(looked.get() + addresses);
        sum
    }

    /// Returns the lines of shared memory that phases touch beyond their first line. The data of an asynchronous copy is written
    /// line by line.
    pub(crate) fn further_lines(&self, swizzle: Swizzle) -> u64 {
        let line = i64::from(self.limits.wavefront_bytes()) * 8 / i64::from(self.element_bits);
        let further = |class: &Class| {
            let mut met = [0; MOST_LANES];
            let mut count = 0;
            for offset in self.patterns.get(class.pattern) {
                let here = swizzle.apply(class.start + offset).div_euclid(line);
                if !met[..count].contains(&here) && count < met.len() {
                    met[count] = here;
                    count += 1;
                }
            }
            count.saturating_sub(1) as u64
        };
        self.classes(swizzle).iter().map(|class| class.count * further(class)).sum()
    }

    /// Returns the phases to count under a swizzle: grouped by their place in a block if the swizzle permutes within blocks.
    fn classes(&self, swizzle: Swizzle) -> &[Class] {
        let span = 1i64 << (swizzle.bits() + swizzle.base() + swizzle.shift().unsigned_abs());
        if swizzle.is_identity() || self.block % span == 0 { &self.classes } else { &self.every }
    }

    /// Returns the number of addresses of all phases.
    pub(crate) fn addresses(&self) -> u64 {
        self.addresses
    }

    /// Returns the least wavefronts that the number of phases allows.
    pub(crate) fn ideal(&self) -> u64 {
        self.every.len() as u64
    }
}

/// Returns [`words_in_one_bank`] for distinct accesses of whole words. Each is aligned to its `2^unit` elements, and the swizzle
/// does not divide it, so its words occupy banks as a unit. Offsets are relative to `start`.
#[inline]
fn accesses_in_one_bank(
    limits: &Limits,
    (offsets, start): (&[i64], i64),
    swizzle: Swizzle,
    unit: u32,
    bytes: u32,
) -> u64 {
    let places = i64::from(limits.banks / (bytes / limits.bank_bytes).clamp(1, limits.banks));
    let mut load = [0u8; MOST_BANKS];
    let mut most = 0;
    // The swizzle is written out because this is the innermost loop of the solver.
    let (mask, shift) = (swizzle.source_mask(), swizzle.shift());
    let (right, left) = (shift.max(0), (-shift).max(0));
    for offset in offsets {
        let offset = start + offset;
        let swizzled = offset ^ (((offset & mask) >> right) << left);
        let slot = &mut load[((swizzled >> unit) & (places - 1)) as usize];
        *slot += 1;
        most = most.max(*slot);
    }
    most.into()
}

/// Returns the most distinct words of one bank that lanes address: the wavefronts of a phase.
pub(super) fn words_in_one_bank(
    limits: &Limits,
    offsets: &[i64],
    swizzle: Swizzle,
    bytes: u32,
    element_bits: u32,
) -> u64 {
    let each = i64::from(bytes.div_ceil(limits.bank_bytes));
    let first =
        |offset: &i64| swizzle.apply(*offset) * i64::from(element_bits) / 8 / i64::from(limits.bank_bytes);
    let mut firsts = [0; MOST_LANES];
    let Some(firsts) = firsts.get_mut(..offsets.len()) else {
        return most_in_a_bank(
            limits,
            offsets.iter().flat_map(|offset| first(offset)..first(offset) + each).collect(),
        );
    };
    firsts.iter_mut().zip(offsets).for_each(|(slot, offset)| *slot = first(offset));
    if firsts.iter().any(|first| first % each != 0) {
        return most_in_a_bank(limits, firsts.iter().flat_map(|first| *first..first + each).collect());
    }
    // The accesses are aligned, so two lanes have either all words in common or none.
    firsts.sort_unstable();
    let mut load = [0u8; MOST_BANKS];
    let mut last = None;
    for first in firsts {
        if last.replace(*first) != Some(*first) {
            (*first..*first + each).for_each(|word| load[(word % i64::from(limits.banks)) as usize] += 1);
        }
    }
    load.into_iter().max().unwrap_or(0).into()
}

/// Returns the most distinct words of one bank.
fn most_in_a_bank(limits: &Limits, mut words: Vec<i64>) -> u64 {
    words.sort_unstable();
    words.dedup();
    let mut load = [0u64; MOST_BANKS];
    for word in words {
        load[(word % i64::from(limits.banks)) as usize] += 1;
    }
    load.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use hx_target::Target;

    use super::*;

    /// Counts accesses of every width under every swizzle as whole accesses and word by word; the results must agree.
    #[test]
    fn whole_accesses_take_banks_as_their_words_do() {
        let limits = Target::usual().limits();
        let lanes = |step: i64, rows: i64| (0..32).map(move |lane| lane % rows * step + lane / rows * 8);
        for (bytes, bits) in [(4, 16), (8, 16), (16, 16), (16, 8), (4, 32), (16, 32), (8, 64)] {
            let elements = i64::from(bytes * 8 / bits);
            let phase = (limits.wavefront_bytes() / bytes).clamp(1, limits.lanes) as usize;
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
                            accesses_in_one_bank(limits, (&offsets, 0), swizzle, unit, bytes),
                            words_in_one_bank(limits, &offsets, swizzle, bytes, bits),
                            "{offsets:?} {swizzle} {bytes} B of {bits} bits"
                        );
                    }
                }
            }
        }
    }

    /// Words that several lanes share are counted once, also if the lanes' accesses overlap only in part.
    #[test]
    fn words_are_counted_once() {
        let limits = Target::usual().limits();
        let none = Swizzle::identity();
        assert_eq!(words_in_one_bank(limits, &[0, 1, 2, 3], none, 2, 16), 1);
        assert_eq!(words_in_one_bank(limits, &[0, 64, 128], none, 2, 16), 3);
        assert_eq!(words_in_one_bank(limits, &[0, 2, 4], none, 8, 16), 1);
        assert_eq!(words_in_one_bank(limits, &[0, 64, 66], none, 8, 16), 2);
    }
}
