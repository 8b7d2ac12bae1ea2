//! The numbering of the blocks of a grid.

/// Returns the index along each axis of block `number`, x fastest.
pub(crate) fn block_index(grid: [u64; 3], number: u64) -> [u32; 3] {
    let (x, rest) = (number % grid[0], number / grid[0]);
    [x as u32, (rest % grid[1]) as u32, (rest / grid[1]) as u32]
}
