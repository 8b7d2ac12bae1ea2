//! Regions of memory that strided tensors cover, by their addresses.

/// The memory of a tensor: its first element's address, and in each dimension the extent and the stride in bytes.
#[derive(Clone, Debug)]
pub struct Region<'a> {
    pub address: u64,
    /// Bytes of an element.
    pub width: u64,
    pub extents: &'a [i64],
    /// In bytes, never negative.
    pub strides: &'a [i64],
}

impl Region<'_> {
    /// Returns the number of bytes from the first element to the end of the last one; 0 without elements.
    pub fn bytes(&self) -> u64 {
        if self.extents.contains(&0) {
            return 0;
        }
        let reach = |(extent, stride): (&i64, &i64)| (extent - 1).max(0) as u64 * (*stride).max(0) as u64;
        self.extents.iter().zip(self.strides).map(reach).sum::<u64>() + self.width
    }
}

/// Reports whether two tensors may share a byte. Columns of one matrix, such as `x[:, :8]` and `x[:, 8:]`, are known to share none;
/// views that interleave in other ways count as sharing.
pub fn may_share(a: &Region<'_>, b: &Region<'_>) -> bool {
    let (a_bytes, b_bytes) = (a.bytes(), b.bytes());
    if a_bytes == 0 || b_bytes == 0 {
        return false;
    }
    if a.address + a_bytes <= b.address || b.address + b_bytes <= a.address {
        return false;
    }
    // Take the dimensions with strides of at least `pitch` out: they only move by multiples of it. The others cover a run of bytes.
    // Two runs that do not meet modulo the pitch never meet.
    let pitches = a.strides.iter().chain(b.strides).copied().filter(|stride| *stride > 0);
    let apart = |pitch: i64| {
        let run = |region: &Region<'_>| {
            let mut run = region.width;
            for (&extent, &stride) in region.extents.iter().zip(region.strides) {
                if extent <= 1 || (stride > 0 && stride % pitch == 0) {
                    continue;
                }
                run += (extent - 1) as u64 * stride.max(0) as u64;
            }
            run
        };
        let (pitch_bytes, a_run, b_run) = (pitch as u64, run(a), run(b));
        if a_run + b_run > pitch_bytes {
            return false;
        }
        let ahead = (b.address % pitch_bytes + pitch_bytes - a.address % pitch_bytes) % pitch_bytes;
        ahead >= a_run && ahead + b_run <= pitch_bytes
    };
    !pitches.into_iter().any(apart)
}

#[cfg(test)]
mod tests {
    use super::{Region, may_share};

    /// Every element of `a` and `b`, byte by byte.
    fn share(a: &Region<'_>, b: &Region<'_>) -> bool {
        let bytes = |region: &Region<'_>| {
            let mut firsts = vec![region.address];
            for (&extent, &stride) in region.extents.iter().zip(region.strides) {
                firsts = firsts
                    .iter()
                    .flat_map(|first| (0..extent).map(move |i| first + (i * stride) as u64))
                    .collect();
            }
            firsts
                .iter()
                .flat_map(|first| *first..first + region.width)
                .collect::<std::collections::BTreeSet<_>>()
        };
        !bytes(a).is_disjoint(&bytes(b))
    }

    #[test]
    fn columns_of_a_matrix_are_apart() {
        let share = |a: (u64, i64), b: (u64, i64)| {
            let strides = [64, 4];
            may_share(
                &Region { address: 1000 + a.0 * 4, width: 4, extents: &[5, a.1], strides: &strides },
                &Region { address: 1000 + b.0 * 4, width: 4, extents: &[5, b.1], strides: &strides },
            )
        };
        // The first column and the number of columns of each, in rows of 16.
        assert!(!share((0, 8), (8, 8)));
        assert!(!share((8, 8), (0, 8)));
        assert!(share((0, 9), (8, 8)));
        assert!(share((0, 16), (3, 1)));
    }

    #[test]
    fn views_that_share_a_byte_are_found() {
        let mut seed = 1u64;
        let mut draw = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut apart = 0;
        for _ in 0..20_000 {
            let mut tensor = || {
                let extents = [draw(4) as i64, draw(4) as i64 + 1];
                let strides = [[8, 16, 24, 4][draw(4) as usize], [1, 2, 4, 8][draw(4) as usize]];
                (100 + draw(24), [1, 2, 4][draw(3) as usize], extents, strides)
            };
            let (a, b) = (tensor(), tensor());
            let a = Region { address: a.0, width: a.1, extents: &a.2, strides: &a.3 };
            let b = Region { address: b.0, width: b.1, extents: &b.2, strides: &b.3 };
            assert!(may_share(&a, &b) || !share(&a, &b), "{a:?} and {b:?}");
            apart += u32::from(!may_share(&a, &b));
        }
        assert!(apart > 1000, "{apart} pairs are known to be apart");
    }
}
