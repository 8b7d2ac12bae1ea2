//! Orders in which the blocks of a persistent kernel walk over tiles.

/// Returns the row and the column of tile `t` among `rows` × `columns` tiles. `GROUP` rows are walked column by column, so
/// blocks that run at the same time share the tiles of few rows and columns in the L2 cache.
fn grouped<GROUP = 8>(t: i64, rows: i64, columns: i64) -> (i64, i64) {
    let first = t / (GROUP * columns) * GROUP;
    let height = min(GROUP, rows - first);
    let at = t % (GROUP * columns);
    (first + at % height, at / height)
}

/// Returns the matrix, the row and the column of tile `t` among the tiles of several matrices of `rows` × `columns` tiles: one matrix
/// after the other, each in the order of `grouped`.
fn batched<GROUP = 8>(t: i64, rows: i64, columns: i64) -> (i64, i64, i64) {
    let (row, column) = grouped<GROUP = GROUP>(t % (rows * columns), rows, columns);
    (t / (rows * columns), row, column)
}

/// Returns the tile, head and batch of unit of work `i` among `tiles` tiles of `h` heads of `b` batches: the last tiles of all heads
/// first. With causal masks these take longest, so short tiles fill the end of a launch.
fn longest_first(i: i64, tiles: i64, h: i64, b: i64) -> (i64, i64, i64) {
    (tiles - 1 - i / (h * b), i % h, i / h % b)
}
