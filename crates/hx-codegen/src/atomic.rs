//! Emits the operands and modifiers of atomic instructions beside the registers that they move: order, scope, the value to
//! compare with, and the old value of the element.

use hx_dtype::AtomicOp;
use hx_target::{Feature, Target};
use hx_thread::{AtomicUse, Memory, Registers};
use hx_tile::{MemoryOrder, MemoryScope};

use crate::access::Elements;
use crate::emit::{Emitter, MalformedProgram};
use crate::instruction::{Sequence, packed_literal};
use crate::storage::literal;

impl Emitter<'_> {
    /// Adds the value to compare with after the inputs, and a destination for the old value of the element to the outputs, if
    /// the access has them. The destination holds the bits `pad` in a thread in which the access does not run.
    pub(crate) fn atomic_operands(
        &mut self,
        atomic: &AtomicUse,
        pad: u64,
        sequence: &mut Sequence,
    ) -> Result<(), MalformedProgram> {
        if let Some(registers) = &atomic.compare {
            let (_, array) = self.array(registers)?;
            let Registers { base, offsets, .. } = registers;
            let elements = Elements { array: &array, base, offsets };
            sequence.asm.inputs.push(elements.read(&mut self.printer));
        }
        if let Some(registers) = &atomic.old {
            let (index, array) = self.array(registers)?;
            let Registers { base, offsets, .. } = registers;
            let elements = Elements { array: &array, base, offsets };
            sequence.asm.in_place = sequence.asm.guard.is_some();
            let target = self.destination(index, elements, sequence);
            let initial = match target.temporary {
                None => literal(array.dtype, pad),
                Some(_) => packed_literal(array.dtype, pad, 1),
            };
            let initial = sequence.asm.in_place.then_some(initial);
            sequence.output(target, initial.as_deref());
        }
        Ok(())
    }

    /// Returns the modifiers for the order and the scope of an atomic access. An update without modifiers is relaxed, at the
    /// scope of the device; for shared memory this covers the scope of the block. A load or a store without modifiers would
    /// not be atomic, so both always have them.
    pub(crate) fn meaning(&self, atomic: &AtomicUse, memory: Memory, op: AtomicOp) -> String {
        let AtomicUse { order, scope, .. } = atomic;
        let is_plain = matches!(op, AtomicOp::Load | AtomicOp::Store);
        let is_default = match memory {
            Memory::Global(_) => *scope == MemoryScope::Gpu,
            Memory::Shared(_) => *scope == MemoryScope::Block,
        };
        if *order == MemoryOrder::Relaxed && is_default && !is_plain {
            return String::new();
        }
        let order = match order {
            MemoryOrder::Relaxed => "relaxed",
            MemoryOrder::Acquire => "acquire",
            MemoryOrder::Release => "release",
            MemoryOrder::AcquireRelease => "acq_rel",
        };
        format!(".{order}.{}", scope_word(*scope, self.program.target))
    }
}

/// Returns the PTX word of a scope. On targets without clusters, the scope of the cluster is that of the device.
fn scope_word(scope: MemoryScope, target: Target) -> &'static str {
    match scope {
        MemoryScope::Block => "cta",
        MemoryScope::Cluster if target.has(Feature::Clusters) => "cluster",
        MemoryScope::Cluster | MemoryScope::Gpu => "gpu",
        MemoryScope::System => "sys",
    }
}
