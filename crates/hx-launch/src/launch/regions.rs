//! Regions of memory that strided tensors cover, by their addresses.

/// The memory of a tensor: the address of its first element, and in each dimension the extent and the stride.
#[derive(Clone, Copy, Debug)]
pub struct Region<'a> {
    /// The address of the first element.
    pub address: u64,
    /// Bits of an element.
    pub bits: u32,
    pub extents: &'a [i64],
    /// In each dimension the distance from one element to the next, in elements. Never negative.
    pub strides: &'a [i64],
}

impl Region<'_> {
    /// Reports whether two tensors have the same elements in the same places.
    pub fn is_same(&self, other: &Region<'_>) -> bool {
        let strides =
            |region: &Region<'_>| region.dims().filter(|(extent, _)| *extent > 1).collect::<Vec<_>>();
        (self.address, self.bits, self.extents) == (other.address, other.bits, other.extents)
            && strides(self) == strides(other)
    }

    /// Returns each extent with its stride in bits.
    fn dims(&self) -> impl Iterator<Item = (u64, u64)> {
        let unsigned = |n: &i64| u64::try_from(*n).unwrap_or(0);
        let bits = u64::from(self.bits);
        self.extents
            .iter()
            .zip(self.strides)
            .map(move |(extent, stride)| (unsigned(extent), unsigned(stride) * bits))
    }

    /// Returns the bits from the first element to the end of the last one that the chosen dimensions reach.
    fn run(&self, is_chosen: impl Fn(u64) -> bool) -> u64 {
        let chosen = self.dims().filter(|(extent, stride)| *extent > 1 && is_chosen(*stride));
        u64::from(self.bits) + chosen.map(|(extent, stride)| (extent - 1) * stride).sum::<u64>()
    }
}

/// Reports whether two tensors may share a bit. Columns of one matrix, such as `x[:, :8]` and `x[:, 8:]`, are known to share none;
/// views that interleave in other ways count as sharing.
pub fn may_share(a: &Region<'_>, b: &Region<'_>) -> bool {
    if a.extents.contains(&0) || b.extents.contains(&0) {
        return false;
    }
    let (a_start, b_start) = (a.address * 8, b.address * 8);
    if a_start + a.run(|_| true) <= b_start || b_start + b.run(|_| true) <= a_start {
        return false;
    }
    // A dimension whose stride is a multiple of `pitch` moves a region by multiples of `pitch` only. The other dimensions cover a run of
    // bits. Two runs that are disjoint modulo `pitch` never overlap.
    let apart = |pitch: u64| {
        let run = |region: &Region<'_>| region.run(|stride| stride % pitch != 0);
        let (a_run, b_run) = (run(a), run(b));
        let ahead = (b_start % pitch + pitch - a_start % pitch) % pitch;
        ahead >= a_run && ahead + b_run <= pitch
    };
    let pitches = a.dims().chain(b.dims()).map(|(_, stride)| stride).filter(|stride| *stride > 0);
    !pitches.into_iter().any(apart)
}

#[cfg(test)]
mod tests {
    use super::{Region, may_share};

    /// Compares every bit of `a` with every bit of `b`.
    fn share(a: &Region<'_>, b: &Region<'_>) -> bool {
        let bits = |region: &Region<'_>| {
            let mut firsts = vec![region.address * 8];
            for (extent, stride) in region.dims() {
                firsts =
                    firsts.iter().flat_map(|first| (0..extent).map(move |i| first + i * stride)).collect();
            }
            let width = u64::from(region.bits);
            firsts.iter().flat_map(|first| *first..first + width).collect::<std::collections::BTreeSet<_>>()
        };
        !bits(a).is_disjoint(&bits(b))
    }

    #[test]
    fn columns_of_a_matrix_are_apart() {
        // The first column and the number of columns of each, in rows of 16.
        let share = |a: (u64, i64), b: (u64, i64)| {
            let strides = [16, 1];
            may_share(
                &Region { address: 1000 + a.0 * 4, bits: 32, extents: &[5, a.1], strides: &strides },
                &Region { address: 1000 + b.0 * 4, bits: 32, extents: &[5, b.1], strides: &strides },
            )
        };
        assert!(!share((0, 8), (8, 8)));
        assert!(!share((8, 8), (0, 8)));
        assert!(share((0, 9), (8, 8)));
        assert!(share((0, 16), (3, 1)));
    }

    #[test]
    fn views_that_share_a_bit_are_found() {
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
                (100 + draw(24), [4, 8, 16, 32][draw(4) as usize], extents, strides)
            };
            let (a, b) = (tensor(), tensor());
            let a = Region { address: a.0, bits: a.1, extents: &a.2, strides: &a.3 };
            let b = Region { address: b.0, bits: b.1, extents: &b.2, strides: &b.3 };
            assert!(may_share(&a, &b) || !share(&a, &b), "{a:?} and {b:?}");
            apart += u32::from(!may_share(&a, &b));
        }
        assert!(apart > 1000, "{apart} pairs are known to be apart");
    }
}
