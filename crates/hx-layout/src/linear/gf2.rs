//! Elimination over F2 on vectors of up to 64 bits.

/// Vectors in echelon form, each with the combination of columns that makes it.
pub(super) struct Echelon {
    /// Reduced vector, its combination; ordered by falling leading bit of the vector.
    rows: Vec<(u64, u64)>,
    /// The columns that are combinations of those before them.
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

    /// What is left of `value` without the span, and the columns used.
    fn reduce(&self, value: u64) -> (u64, u64) {
        let (mut rest, mut used) = (value, 0);
        for &(row, columns) in &self.rows {
            // Rows fall in leading bit, so clearing that bit where it is set is enough.
            if rest & leading(row) != 0 {
                rest ^= row;
                used ^= columns;
            }
        }
        (rest, used)
    }

    /// The number of independent columns.
    pub(super) fn rank(&self) -> u32 {
        self.rows.len() as u32
    }

    /// The columns that depend on earlier ones, in order.
    pub(super) fn free(&self) -> &[usize] {
        &self.free
    }

    /// The combination of columns whose sum is `value`, or `None` outside the span.
    ///
    /// It uses no free column. Among all combinations it is the smallest number: a combination of the kernel has a
    /// free column as its highest, so adding any raises the number.
    pub(super) fn solve(&self, value: u64) -> Option<u64> {
        let (rest, used) = self.reduce(value);
        (rest == 0).then_some(used)
    }
}

/// The highest bit of a value that is not 0.
fn leading(value: u64) -> u64 {
    1 << (63 - value.leading_zeros())
}
