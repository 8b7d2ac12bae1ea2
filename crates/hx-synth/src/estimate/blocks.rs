//! The cycles of a launch whose blocks have different work, as those of causal attention and of ragged tensors have: some blocks are
//! estimated, and stand for all.

use hx_index::Symbol;

use super::Estimator;

/// Blocks that are estimated if some of the first ones differ.
const SAMPLES: usize = 32;
/// Blocks that are estimated to find out whether blocks differ.
const PROBES: usize = 5;
/// Blocks whose cycles differ by less than this part of them have the same work.
const SAME: f64 = 0.01;
/// The steps along the axes of a grid by which samples follow each other, as parts of the extents: powers of the number whose
/// multiples fill a cube most evenly (M. Roberts, "The unreasonable effectiveness of quasirandom sequences"). Work that depends on one
/// axis, or on several, is met in all its phases.
const STEPS: [f64; 3] = [0.819_172_513_396_164, 0.671_043_606_703_789, 0.549_700_477_901_971];

/// The cycles of a block.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct BlockCycles {
    /// The cycles of the block if it has a multiprocessor to itself.
    pub(super) alone: f64,
    /// The cycles of its busiest resource, which it shares with the other blocks of the multiprocessor.
    pub(super) most: f64,
    /// The cycles of its waits for copies, in which it keeps its place.
    pub(super) waits: f64,
}

impl BlockCycles {
    /// Returns the cycles for which the block holds its place if `blocks` blocks share the multiprocessor.
    fn among(&self, blocks: i64) -> f64 {
        self.alone.max(self.most * blocks.max(1) as f64) + self.waits
    }
}

/// The blocks of a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    /// Blocks along the axes of the grid.
    pub(super) grid: [i64; 3],
    /// Blocks that run on a multiprocessor at the same time.
    pub(super) resident: i64,
    pub(super) multiprocessors: i64,
}

impl Blocks {
    pub(super) fn count(self) -> i64 {
        self.grid.iter().product()
    }

    /// Returns the number of blocks that may run at the same time.
    pub(super) fn at_once(self) -> i64 {
        (self.resident * self.multiprocessors).max(1)
    }

    /// Returns the number of waves, each of as many blocks as run at the same time.
    pub(super) fn waves(self) -> i64 {
        self.count().saturating_add(self.at_once() - 1) / self.at_once()
    }

    /// Returns the mean number of blocks that a multiprocessor runs in the launch.
    pub(super) fn for_each(self) -> f64 {
        self.count() as f64 / self.multiprocessors as f64
    }

    /// Returns the numbers of the block of a sample along the axes.
    fn sample(self, number: usize) -> [i64; 3] {
        let along = |axis: usize| {
            let part = (0.5 + number as f64 * STEPS[axis]).fract();
            (part * self.grid[axis] as f64) as i64
        };
        [along(0), along(1), along(2)]
    }

    /// Returns the cycles of the launch. `of` estimates the block with these numbers along the axes.
    pub(super) fn cycles(self, of: &dyn Fn([i64; 3]) -> BlockCycles) -> f64 {
        if self.count() < 1 {
            return 0.0;
        }
        let shared = |block: &BlockCycles| block.among(self.resident);
        let (first, last) = (of([0; 3]), of(self.grid.map(|extent| extent - 1)));
        let differs = |other: &BlockCycles| (shared(other) - shared(&first)).abs() > SAME * shared(&first);
        let mut probes = (0..PROBES).map(|number| of(self.sample(number)));
        if !differs(&last) && !probes.any(|probe| differs(&probe)) {
            return self.in_waves(first);
        }
        let samples: Vec<f64> = (0..SAMPLES).map(|number| shared(&of(self.sample(number)))).collect();
        let most = samples.iter().copied().fold(shared(&first).max(shared(&last)), f64::max);
        if self.count() <= self.at_once() {
            return most;
        }
        // When the places run out of blocks, they are on average half way through a long one.
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        let even = mean * self.count() as f64 / self.at_once() as f64;
        (even + (most - mean) / 2.0).max(most)
    }

    /// Returns the cycles of a launch of equal blocks. Fewer blocks share a multiprocessor in the last wave.
    fn in_waves(self, block: BlockCycles) -> f64 {
        let (whole, rest) = (self.count() / self.at_once(), self.count() % self.at_once());
        let each = (rest + self.multiprocessors - 1) / self.multiprocessors.max(1);
        let last = if rest == 0 { 0.0 } else { block.among(each) };
        whole as f64 * block.among(self.resident) + last
    }
}

impl<'p> Estimator<'p> {
    /// Returns the blocks along the axes of the grid, which are known.
    pub(super) fn grid(&self) -> [i64; 3] {
        [0, 1, 2].map(|axis| self.start.get(&Symbol::GridDim(axis)).copied().unwrap_or(1))
    }

    /// Returns the estimator of the block with these numbers along the axes.
    pub(super) fn at_block(&self, block: [i64; 3]) -> Estimator<'p> {
        let mut start = self.start.clone();
        start.extend((0..3).zip(block).map(|(axis, number)| (Symbol::BlockIdx(axis), number)));
        Estimator { start, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(cycles: f64) -> BlockCycles {
        BlockCycles { alone: cycles, most: 0.0, waits: 0.0 }
    }

    fn launch(grid: [i64; 3], resident: i64, of: &dyn Fn([i64; 3]) -> BlockCycles) -> f64 {
        Blocks { grid, resident, multiprocessors: 132 }.cycles(of)
    }

    #[test]
    fn equal_blocks_run_in_waves() {
        let equal = |count| launch([count, 1, 1], 1, &|_| block(1000.0));
        assert_eq!([264, 265, 0].map(equal), [2000.0, 3000.0, 0.0], "one block more is one wave more");
        let busy =
            |count| launch([count, 1, 1], 2, &|_| BlockCycles { alone: 1000.0, most: 900.0, waits: 50.0 });
        // In the last wave each block may have a multiprocessor to itself.
        assert_eq!([264, 132, 396].map(busy), [1850.0, 1050.0, 1850.0 + 1050.0]);
    }

    #[test]
    fn causal_blocks_take_half_of_the_longest() {
        // The blocks of a row have 1 to n rounds of 100 cycles, along the first or the second axis.
        let even = |n: i64| 100.0 * (n + 1) as f64 / 2.0;
        let triangle = |at: i64| block(100.0 * (at + 1) as f64);
        for (grid, axis) in [([1320, 1, 1], 0), ([32, 66, 1], 0), ([66, 32, 1], 1), ([16, 8, 128], 2)] {
            let cycles = launch(grid, 1, &|at| triangle(at[axis]));
            let expected = even(grid[axis]) * grid.iter().product::<i64>() as f64 / 132.0;
            assert!((0.95..1.15).contains(&(cycles / expected)), "{grid:?}: {cycles} of {expected}");
        }
    }

    #[test]
    fn one_long_block_bounds_the_launch() {
        let of = |at: [i64; 3]| block(if at[0] == 99 { 50_000.0 } else { 10.0 });
        assert_eq!(launch([100, 1, 1], 1, &of), 50_000.0);
    }
}
