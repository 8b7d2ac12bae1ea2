//! Gaussian elimination over F2 on vectors of up to 64 bits.

/// Vectors in echelon form, each with the combination of columns that produces it.
pub(super) struct Echelon {
    /// Pairs of a reduced vector and the mask of the columns whose xor it is, by falling leading bit of the vector.
    rows: Vec<(u64, u64)>,
    /// The columns that are combinations of earlier ones.
    free: Vec<usize>,
}

impl Echelon {
    /// Eliminates columns in order, so that a column is free iff it depends on earlier ones.
    pub(super) fn new(columns: &[u64]) -> Echelon {
        let mut echelon = Echelon { rows: Vec::new(), free: Vec::new() };
        for (i, &column) in columns.iter().enumerate() {
            let (rest, used) = echelon.reduce(column);
            if rest == 0 {
                echelon.free.push(i);
                continue;
            }
            let at = echelon.rows.partition_point(|row| row.0 > rest);
            echelon.rows.insert(at, (rest, used | (1 << i)));
        }
        echelon
    }

    /// Reduces `value` by the rows. Returns the remainder, and the mask of the columns used.
    fn reduce(&self, value: u64) -> (u64, u64) {
        let (mut rest, mut used) = (value, 0);
        for &(row, columns) in &self.rows {
            // Rows are sorted by falling leading bit, so it suffices to clear that bit if it is set.
            if rest & leading(row) != 0 {
                rest ^= row;
                used ^= columns;
            }
        }
        (rest, used)
    }

    /// Returns the number of independent columns.
    pub(super) fn rank(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Returns the columns that depend on earlier ones, in order.
    pub(super) fn free(&self) -> &[usize] {
        &self.free
    }

    /// Returns the combination of columns whose sum is `value`, or `None` if `value` is outside the span.
    ///
    /// The combination uses no free column. It is the smallest number among all combinations with this sum: they differ by
    /// elements of the kernel, each of which has a free column as its highest bit, so adding one raises the number.
    pub(super) fn solve(&self, value: u64) -> Option<u64> {
        let (rest, used) = self.reduce(value);
        (rest == 0).then_some(used)
    }
}

/// Returns the highest bit of a value that is not 0.
fn leading(value: u64) -> u64 {
    1 << (63 - value.leading_zeros())
}
