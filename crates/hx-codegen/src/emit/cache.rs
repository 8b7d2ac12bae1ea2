//! Names and declares the policies of the L2 cache, which accesses with a hint for it take as an operand.

use hx_target::Cache;
use hx_thread::{AsyncCopy, Bulk, BulkStore, Leaf, Transfer};

use super::{Emitter, MalformedProgram};
use crate::asm::{Operand, Slots};
use crate::instruction::Sequence;

impl Emitter<'_> {
    /// Names a variable for each policy that the program uses, in the order of the hints.
    pub(super) fn name_policies(&mut self) {
        let mut hints = std::collections::BTreeSet::new();
        hx_thread::visit_leaves(&self.program.body, &mut |leaf| hints.extend(cache_of(leaf).l2));
        for hint in hints {
            let name = self.names.local(hint.name());
            self.policies.insert(hint, name);
        }
    }

    /// Writes the variables of the policies.
    pub(super) fn make_policies(&mut self) -> Result<(), MalformedProgram> {
        for (hint, name) in self.policies.clone() {
            let row = self.program.target.rows().policy(hint.name());
            let row = row.ok_or_else(|| MalformedProgram::UnknownRow(hint.name().to_owned()))?;
            self.statement(&format!("unsigned long long {name};"));
            let mut sequence = Sequence::default();
            sequence.asm.outputs = vec![Operand { constraint: 'l', text: name }];
            self.sequence(&row.name, &row.ptx, sequence, &|name| {
                (name == "d").then_some(Slots::Outputs(0..1))
            })?;
        }
        Ok(())
    }
}

/// Returns the hints of a statement.
fn cache_of(leaf: &Leaf) -> Cache {
    if let Leaf::Transfer(Transfer { cache, .. })
    | Leaf::AsyncCopy(AsyncCopy { cache, .. })
    | Leaf::Bulk(Bulk { cache, .. })
    | Leaf::BulkStore(BulkStore { cache, .. }) = leaf
    {
        *cache
    } else {
        Cache::default()
    }
}
