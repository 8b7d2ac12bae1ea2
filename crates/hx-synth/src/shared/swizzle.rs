//! Swizzles: the one with fewest wavefronts over all accesses, weighted by how often they run.

use hx_layout::{Layout, Swizzle};
use hx_target::WAVEFRONT_BYTES;

use super::conflicts::Requests;

/// The best swizzle for accesses of at most `vector` elements. No swizzle is preferred, then the least memory, then few bits.
pub(crate) fn best(layout: &Layout, requests: &[(Requests, f64)], vector: i64, element_bits: u32) -> Swizzle {
    let ideal: f64 = requests.iter().fold(0.0, |ideal, (r, trips)| ideal + r.ideal() as f64 * trips);
    // Wavefronts of all accesses; or what they are at least, if that is more than `most`.
    let weigh = |swizzle: Swizzle, most: f64| -> f64 {
        let mut rest = ideal;
        let mut sum = 0.0;
        for (request, trips) in requests {
            rest -= request.ideal() as f64 * trips;
            let left = ((most - sum - rest) / trips).max(0.0);
            sum += request.at_most(swizzle, left) as f64 * trips;
            if sum + rest > most {
                return sum + rest;
            }
        }
        sum
    };
    let mut best = weigh(Swizzle::identity(), f64::INFINITY);
    let mut chosen = Swizzle::identity();
    if best <= ideal || vector.count_ones() != 1 {
        return chosen;
    }
    let line = (WAVEFRONT_BYTES * 8 / element_bits).trailing_zeros();
    let top = 63 - (layout.cosize().max(2) - 1).leading_zeros();
    let mut places = i64::MAX;
    // Whole vectors move. Larger pieces may as well: half a line where a row fills a line and an access reads halves of two rows.
    for base in vector.trailing_zeros()..line {
        for bits in 1..=line - base {
            for shift in bits..=top.saturating_sub(base) {
                let Ok(swizzle) = Swizzle::new(bits, base, shift as i32) else { continue };
                let taken = footprint(layout, swizzle);
                if best <= ideal && taken >= places {
                    continue;
                }
                let sum = weigh(swizzle, best);
                if sum < best || sum == best && taken < places && !chosen.is_identity() {
                    (best, chosen, places) = (sum, swizzle, taken);
                    // Without conflicts and without a gap.
                    if best <= ideal && taken == layout.cosize() {
                        return chosen;
                    }
                }
            }
        }
    }
    chosen
}

/// Elements of a block, within which a swizzle permutes.
pub(crate) fn block(swizzle: Swizzle) -> i64 {
    if swizzle.is_identity() {
        1
    } else {
        1i64 << (swizzle.bits() + swizzle.base() + swizzle.shift().unsigned_abs())
    }
}

/// Elements that the swizzled layout may touch: whole blocks of the swizzle.
pub(crate) fn footprint(layout: &Layout, swizzle: Swizzle) -> i64 {
    let block = block(swizzle);
    (layout.cosize() + block - 1) / block * block
}
