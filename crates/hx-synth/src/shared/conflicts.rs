//! Bank conflicts by counting: every phase of every access.

use std::collections::BTreeMap;

use hx_layout::{Layout, Swizzle};
use hx_target::{BANK_BYTES, BANKS, WARP, WAVEFRONT_BYTES};
use hx_tile::Conflicts;

use crate::access::Access;

/// What the lanes of every instruction of every warp address, as coordinates of the shared tensor: the same for all its layouts.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// For each instruction of each warp its lanes, each with `rank` coordinates; an idle lane has none.
    lanes: Vec<Option<Box<[i64]>>>,
    lanes_per_warp: usize,
    /// Bytes that one address covers.
    bytes: u32,
}

impl Places {
    /// `place` gives the coordinate in the shared tensor of a coordinate of the tile.
    pub(crate) fn of(
        access: &Access,
        threads: u32,
        is_load: bool,
        place: &dyn Fn(&[i64]) -> Option<Vec<i64>>,
    ) -> Places {
        let warp = i64::from(WARP.min(threads));
        let mut lanes = Vec::new();
        for first in (0..i64::from(threads)).step_by(warp as usize) {
            for issue in 0..access.issues() {
                lanes.extend((first..first + warp).map(|thread| {
                    let idle = thread >= i64::from(threads) || (!is_load && !access.stores(thread));
                    let at = if idle { None } else { place(&access.coordinate(thread, issue)) };
                    at.map(Vec::into_boxed_slice)
                }));
            }
        }
        Places { lanes, lanes_per_warp: warp as usize, bytes: access.row.access }
    }
}

/// Blocks of a swizzle up to so many bytes do not tell phases apart that lie whole blocks from each other.
const BLOCK_BYTES: i64 = 4096;

/// The addresses of an access under a layout, phase by phase.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    /// Element offsets before the swizzle, with the number of phases that differ by whole blocks only.
    phases: Vec<(Vec<i64>, u64)>,
    /// The same with every phase on its own, for larger swizzles.
    every: Vec<Vec<i64>>,
    /// Elements of a block.
    block: i64,
    bytes: u32,
    element_bits: u32,
}

impl Requests {
    pub(crate) fn new(places: &Places, layout: &Layout, element_bits: u32) -> Requests {
        let modes = layout.modes();
        // Where each coordinate of each dimension lies.
        let tables: Vec<Vec<i64>> =
            modes.iter().map(|mode| (0..mode.size()).map(|c| mode.eval(c)).collect()).collect();
        let offset = |at: &[i64]| -> i64 {
            at.iter().zip(&tables).map(|(c, table)| table.get(*c as usize).copied().unwrap_or(0)).sum()
        };
        let block = (BLOCK_BYTES * 8 / i64::from(element_bits)).max(1);
        let lanes_per_phase = (WAVEFRONT_BYTES / places.bytes).clamp(1, WARP) as usize;
        let mut classes: BTreeMap<Vec<i64>, u64> = BTreeMap::new();
        let mut every = Vec::new();
        for warp in places.lanes.chunks(places.lanes_per_warp) {
            for phase in warp.chunks(lanes_per_phase) {
                let addresses: Vec<i64> = phase.iter().flatten().map(|at| offset(at)).collect();
                let Some(least) = addresses.iter().min() else { continue };
                let start = least.div_euclid(block) * block;
                *classes.entry(addresses.iter().map(|a| a - start).collect()).or_default() += 1;
                every.push(addresses);
            }
        }
        let phases = classes.into_iter().collect();
        Requests { phases, every, block, bytes: places.bytes, element_bits }
    }

    /// Wavefronts under a swizzle, and the least that the number of phases allows.
    pub(crate) fn count(&self, swizzle: Swizzle) -> Conflicts {
        let ideal = self.every.len() as u64;
        let span = 1i64 << (swizzle.bits() + swizzle.base() + swizzle.shift().unsigned_abs());
        let wavefronts = if swizzle.is_identity() || self.block % span == 0 {
            self.phases.iter().map(|(lanes, count)| count * self.phase(lanes, swizzle)).sum()
        } else {
            self.every.iter().map(|lanes| self.phase(lanes, swizzle)).sum()
        };
        Conflicts { wavefronts, ideal }
    }

    fn phase(&self, lanes: &[i64], swizzle: Swizzle) -> u64 {
        words_in_one_bank(lanes, swizzle, self.bytes, self.element_bits)
    }
}

/// The most different words that lanes ask of one bank: the wavefronts that a phase takes.
pub(super) fn words_in_one_bank(offsets: &[i64], swizzle: Swizzle, bytes: u32, element_bits: u32) -> u64 {
    let words_per_access = bytes.div_ceil(BANK_BYTES);
    let mut words: Vec<i64> = Vec::with_capacity(offsets.len() * words_per_access as usize);
    for offset in offsets {
        let byte = swizzle.apply(*offset) * i64::from(element_bits) / 8;
        let first = byte / i64::from(BANK_BYTES);
        words.extend((0..i64::from(words_per_access)).map(|w| first + w));
    }
    words.sort_unstable();
    words.dedup();
    let mut load = [0u64; BANKS as usize];
    for word in words {
        load[(word % i64::from(BANKS)) as usize] += 1;
    }
    load.into_iter().max().unwrap_or(0)
}
