//! Components: register tensors tied by constraints (paper, algorithm 1, line 1).

use std::collections::BTreeMap;

use hx_tile::{Op, OpKind, TensorId, TensorKind, TileProgram};

use crate::anchor::gemm::Gemm;
use crate::constraints::System;

/// Register tensors whose layouts depend on each other, with their operations in the order of the text.
#[derive(Debug)]
pub(crate) struct Component<'p> {
    pub(crate) tensors: Vec<TensorId>,
    /// Each operation with its trip count.
    pub(crate) ops: Vec<(&'p Op, f64)>,
    /// The register tensors of each of these operations.
    pub(crate) registers: Vec<Vec<TensorId>>,
}

/// Trip count assumed for a loop with symbolic bounds.
pub const UNKNOWN_TRIPS: f64 = 16.0;

/// Returns the components, in the order of their first tensor.
pub(crate) fn components<'p>(system: &System<'p>) -> Vec<Component<'p>> {
    let mut out: Vec<Component<'p>> = Vec::new();
    let mut of: BTreeMap<TensorId, usize> = BTreeMap::new();
    for tensors in system.tied().into_values() {
        of.extend(tensors.iter().map(|t| (*t, out.len())));
        out.push(Component { tensors, ops: vec![], registers: vec![] });
    }
    for (op, trips) in system.program.ops(UNKNOWN_TRIPS) {
        let registers = op.kind.registers();
        if let Some(component) = registers.first().and_then(|t| of.get(t)) {
            out[*component].ops.push((op, trips));
            out[*component].registers.push(registers);
        }
    }
    out
}

impl<'p> Component<'p> {
    pub(crate) fn gemms(&self) -> impl Iterator<Item = (&'p Op, f64)> + '_ {
        self.ops.iter().filter(|(op, _)| matches!(op.kind, OpKind::Gemm { .. })).copied()
    }

    /// Returns the bits of the narrowest elements, of at most a byte, that a conversion of the component widens; `None` if no
    /// conversion does.
    pub(crate) fn packed(&self, program: &TileProgram) -> Option<u32> {
        let widened = self.ops.iter().filter_map(|(op, _)| {
            let OpKind::Cast { dst, src } = op.kind else { return None };
            let [from, to] = [src, dst].map(|t| program.tensor(t).dtype.bits());
            (from <= 8 && from < to).then_some(from)
        });
        widened.min()
    }

    /// Returns the loads of a gemm's operands that no other operation uses, each with its trip count. The cost of these loads
    /// follows from the gemm's tiling alone. A pinned operand, or one tensor in both places, has no such loads.
    pub(crate) fn own_loads(&self, program: &TileProgram, gemm: &Gemm<'_>) -> Vec<(&'p Op, f64)> {
        let [a, b] = gemm.registers();
        if a == b {
            return Vec::new();
        }
        let mut out = Vec::new();
        for operand in [a, b].into_iter().flatten() {
            let pinned = matches!(program.tensor(operand).kind, TensorKind::Register { pinned: Some(_) });
            let ops = || self.ops.iter().zip(&self.registers);
            let touching = || ops().filter(|(_, all)| all.contains(&operand)).map(|(op, _)| *op);
            let own = |(op, _): (&Op, f64)| op.id == gemm.op.id || matches!(op.kind, OpKind::Copy { .. });
            if !pinned && touching().all(own) {
                out.extend(touching().filter(|(op, _)| op.id != gemm.op.id));
            }
        }
        out
    }

    pub(crate) fn copies(&self) -> impl Iterator<Item = (&'p Op, f64)> + '_ {
        let moves = |kind: &OpKind| matches!(kind, OpKind::Copy { .. } | OpKind::Atomic(_));
        self.ops.iter().filter(move |(op, _)| moves(&op.kind)).copied()
    }
}
