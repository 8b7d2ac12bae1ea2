//! Bank conflicts by counting: every phase of every access.

use hx_layout::{Layout, Swizzle};
use hx_target::{BANK_BYTES, BANKS, WARP, WAVEFRONT_BYTES};
use hx_tile::Conflicts;

use crate::access::Access;

/// Lane addresses of an access as element offsets before the swizzle, warp by warp and issue by issue; idle lanes are `None`.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    /// One entry for each instruction of each warp.
    warps: Vec<Vec<Option<i64>>>,
    /// Bytes that one address covers.
    bytes: u32,
    element_bits: u32,
}

impl Requests {
    /// The requests of an access under a layout. `place` gives the coordinate in the shared tensor of a coordinate of the tile.
    pub(crate) fn new(
        access: &Access,
        layout: &Layout,
        threads: u32,
        element_bits: u32,
        is_load: bool,
        place: &dyn Fn(&[i64]) -> Option<Vec<i64>>,
    ) -> Requests {
        let modes = layout.modes();
        let address = |thread: i64, issue: i64| {
            if !is_load && !access.stores(thread) {
                return None;
            }
            let at = place(&access.coordinate(thread, issue))?;
            Some(at.iter().zip(&modes).map(|(c, m)| m.eval(*c)).sum())
        };
        let mut warps = Vec::new();
        for warp in 0..threads.div_ceil(WARP) {
            let lanes = (warp * WARP)..((warp + 1) * WARP).min(threads);
            for issue in 0..access.issues() {
                warps.push(lanes.clone().map(|t| address(i64::from(t), issue)).collect());
            }
        }
        Requests { warps, bytes: access.row.access, element_bits }
    }

    /// Wavefronts under a swizzle, and the least that the number of phases allows.
    pub(crate) fn count(&self, swizzle: Swizzle) -> Conflicts {
        let mut total = Conflicts::default();
        let lanes_per_phase = (WAVEFRONT_BYTES / self.bytes).clamp(1, WARP) as usize;
        for lanes in &self.warps {
            for phase in lanes.chunks(lanes_per_phase) {
                let wavefronts = self.phase(phase, swizzle);
                total.wavefronts += wavefronts;
                total.ideal += u64::from(wavefronts > 0);
            }
        }
        total
    }

    fn phase(&self, lanes: &[Option<i64>], swizzle: Swizzle) -> u64 {
        let words_per_access = self.bytes.div_ceil(BANK_BYTES);
        let mut words: Vec<i64> = Vec::with_capacity(lanes.len() * words_per_access as usize);
        for offset in lanes.iter().flatten() {
            let byte = swizzle.apply(*offset) * i64::from(self.element_bits) / 8;
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
}
