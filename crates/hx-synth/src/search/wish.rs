//! Restrictions of one run of the solver: it answers what an alternative to its choice would cost, or why there is none.

use std::collections::{BTreeMap, BTreeSet};

use hx_layout::Swizzle;
use hx_tile::{OpId, TensorId};

/// An alternative that a run of the solver must take. The empty one restricts nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wish {
    /// The names of the rows that an operation may use. Loads of a product's operands are operations of their own.
    pub rows: BTreeMap<OpId, BTreeSet<String>>,
    /// The swizzle of a shared tensor.
    pub swizzles: BTreeMap<TensorId, Swizzle>,
}

impl Wish {
    /// Returns the wish that these operations use one of these rows.
    pub fn of_rows(ops: impl IntoIterator<Item = OpId>, rows: &BTreeSet<String>) -> Wish {
        Wish { rows: ops.into_iter().map(|op| (op, rows.clone())).collect(), ..Wish::default() }
    }

    /// Reports whether an operation may use a row.
    pub(crate) fn allows(&self, op: OpId, row: &str) -> bool {
        self.rows.get(&op).is_none_or(|rows| rows.contains(row))
    }

    /// Reports whether the instruction of an operation is restricted.
    pub(crate) fn restricts(&self, op: OpId) -> bool {
        self.rows.contains_key(&op)
    }
}
