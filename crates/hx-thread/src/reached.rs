//! The elements that a matrix instruction reads by descriptor.

use hx_target::{Field, Reached, ReachedStride};

use crate::{Descriptor, Memory, MultiplyAsync, Source, ThreadProgram};

/// The elements that one instruction reads through a descriptor: runs of consecutive elements.
#[derive(Clone, PartialEq, Debug)]
pub struct Runs {
    /// The elements of one run: those of 16 bytes, which no swizzle takes apart.
    pub len: i64,
    /// The distance of each run from the start, in elements before the swizzle.
    pub at: Vec<i64>,
    /// Permutes the offsets of elements.
    pub swizzle: hx_layout::Swizzle,
}

/// Bits of a run.
const RUN_BITS: u32 = 128;

impl MultiplyAsync {
    /// Returns the operands in shared memory with the runs that the instruction reads.
    pub fn reads<'a>(&'a self, program: &ThreadProgram) -> Vec<(&'a Descriptor, Runs)> {
        let [rows, columns, depth] = self.row.shape;
        let a = match &self.a {
            Source::Registers(_) => None,
            Source::Descriptor(descriptor) => Some((descriptor, rows)),
        };
        let all = a.into_iter().chain([(&self.b, columns)]);
        all.filter_map(|(d, extent)| Some((d, d.runs([extent, depth], program)?))).collect()
    }
}

impl Descriptor {
    fn runs(&self, extents: [i64; 2], program: &ThreadProgram) -> Option<Runs> {
        let reach = self.reach;
        let Memory::Shared(buffer) = self.start.memory else { return None };
        let bits = program.shared.get(buffer as usize)?.dtype.bits();
        let modes = reach.modes(bits)?;
        let len = i64::from(RUN_BITS / bits);
        let side = |side: usize| -> Vec<i64> {
            let extent = extents[side];
            (0..extent).map(|at| self.distance(&modes[side], at, extent, bits)).collect()
        };
        let (across, along) = (side(0), side(1));
        let mut at: Vec<i64> =
            across.iter().flat_map(|x| along.iter().map(move |k| (x + k) / len * len)).collect();
        at.sort_unstable();
        at.dedup();
        Some(Runs { len, at, swizzle: reach.swizzle.of_elements(bits)? })
    }

    /// Returns the distance, in elements, that the hardware adds to the start address for one coordinate.
    fn distance(&self, modes: &[Reached], at: i64, whole: i64, bits: u32) -> i64 {
        let elements = |bytes: u32| i64::from(bytes) * 8 / i64::from(bits);
        let mut left = at;
        let mut sum = 0;
        for mode in modes {
            let extent = mode.extent.unwrap_or(whole);
            let stride = match mode.stride {
                ReachedStride::Known(stride) => stride,
                ReachedStride::Free(Field::Leading) => elements(self.lbo),
                ReachedStride::Free(Field::Stride) => elements(self.sbo),
            };
            sum += left % extent * stride;
            left /= extent;
        }
        sum
    }
}
