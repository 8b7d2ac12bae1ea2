//! The numbering of the blocks of a grid, and of those that run together.

/// Returns the index along each axis of block `number`, x fastest.
pub(crate) fn block_index(grid: [u64; 3], number: u64) -> [u32; 3] {
    let (x, rest) = (number % grid[0], number / grid[0]);
    [x as u32, (rest % grid[1]) as u32, (rest / grid[1]) as u32]
}

/// Returns the numbers, in the grid, of the blocks of cluster `number` in the order of their ranks. A block alone is a cluster
/// of one.
pub(crate) fn members(cluster: [u32; 3], grid: [u64; 3], number: u64) -> Vec<u64> {
    let [x, y, z] = cluster.map(u64::from);
    let first = block_index([grid[0] / x, grid[1] / y, grid[2] / z], number).map(u64::from);
    let rank = |rank: u64| {
        let [i, j, k] = block_index([x, y, z], rank).map(u64::from);
        first[0] * x + i + grid[0] * (first[1] * y + j + grid[1] * (first[2] * z + k))
    };
    (0..x * y * z).map(rank).collect()
}

/// An order of the runs of a grid, a permutation of their numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation {
    runs: u64,
    factor: u64,
    shift: u64,
}

impl Permutation {
    /// Returns the order that a seed selects: with 0 that of the grid, with 1 the reverse, with another one that the seed
    /// draws.
    pub(crate) fn new(seed: u64, runs: u64) -> Permutation {
        let gcd = |mut a: u64, mut b: u64| {
            while b > 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        if seed < 2 || runs < 2 {
            let factor = if seed == 1 && runs > 1 { runs - 1 } else { 1 };
            return Permutation { runs, factor, shift: factor % runs.max(1) * u64::from(seed == 1) };
        }
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let factor = (mixed % runs..).find(|factor| gcd(*factor % runs, runs) == 1).unwrap_or(1);
        Permutation { runs, factor: factor % runs, shift: (mixed >> 16) % runs }
    }

    /// Returns the run at a position of the order.
    pub(crate) fn at(self, position: u64) -> u64 {
        ((u128::from(position) * u128::from(self.factor) + u128::from(self.shift)) % u128::from(self.runs))
            as u64
    }
}

#[cfg(test)]
mod tests {
    use super::Permutation;

    #[test]
    fn each_run_has_a_position() {
        for runs in [1, 2, 3, 12, 17, 100] {
            for seed in 0..40 {
                let order = Permutation::new(seed, runs);
                let mut all: Vec<u64> = (0..runs).map(|i| order.at(i)).collect();
                match seed {
                    0 => assert!(all.is_sorted()),
                    1 => assert!(all.iter().rev().is_sorted()),
                    _ => {}
                }
                all.sort_unstable();
                assert!(all.into_iter().eq(0..runs), "{runs} runs, seed {seed}");
            }
        }
    }
}
