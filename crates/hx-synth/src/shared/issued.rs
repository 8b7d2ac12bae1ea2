//! The part of an operand in shared memory that one instruction reads.

use hx_target::{GemmRow, ReachRow, Row, Target};

/// The part of an operand that the instructions of a product read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Issued {
    /// 0 for A, 1 for B.
    pub(crate) operand: usize,
    /// Rows of A or columns of B, and steps along K, of one instruction.
    pub(crate) extents: [i64; 2],
    row: Row<GemmRow>,
    target: Target,
}

impl Issued {
    pub(crate) fn of(target: Target, row: &'static GemmRow, operand: usize) -> Issued {
        let [m, n, k] = row.shape;
        Issued { operand, extents: [if operand == 0 { m } else { n }, k], row: row.into(), target }
    }

    /// Returns the name of the instruction.
    pub(super) fn name(&self) -> &'static str {
        &self.row.get().name
    }

    /// Returns the ways in which the instruction can reach the operand.
    pub(crate) fn reaches(&self) -> impl Iterator<Item = &'static ReachRow> {
        let (row, rows) = (self.row.get(), self.target.rows());
        let operand = if self.operand == 0 { &row.a } else { &row.b };
        operand.reach().iter().filter_map(|name| rows.reach(name))
    }
}
