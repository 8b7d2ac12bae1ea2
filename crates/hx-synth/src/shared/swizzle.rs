//! Swizzles: the one with fewest wavefronts over all accesses, weighted by how often they run.

use hx_layout::{Layout, Swizzle};
use hx_target::WAVEFRONT_BYTES;

use super::conflicts::Requests;

/// The best swizzle for accesses of at most `vector` elements. No swizzle is preferred, then few bits.
pub(crate) fn best(layout: &Layout, requests: &[(Requests, f64)], vector: i64, element_bits: u32) -> Swizzle {
    let weigh = |swizzle: Swizzle| -> (f64, f64) {
        requests.iter().fold((0.0, 0.0), |(sum, ideal), (r, trips)| {
            let c = r.count(swizzle);
            (sum + c.wavefronts as f64 * trips, ideal + c.ideal as f64 * trips)
        })
    };
    let (mut best, ideal) = weigh(Swizzle::identity());
    let mut chosen = Swizzle::identity();
    if best <= ideal || vector.count_ones() != 1 {
        return chosen;
    }
    let base = vector.trailing_zeros();
    let line = (WAVEFRONT_BYTES * 8 / element_bits).trailing_zeros();
    let top = 63 - (layout.cosize().max(2) - 1).leading_zeros();
    for bits in 1..=line.saturating_sub(base) {
        for shift in bits..=top.saturating_sub(base) {
            let Ok(swizzle) = Swizzle::new(bits, base, shift as i32) else { continue };
            let (sum, _) = weigh(swizzle);
            if sum < best {
                (best, chosen) = (sum, swizzle);
                if best <= ideal {
                    return chosen;
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
