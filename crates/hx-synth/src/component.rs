//! Components: register tensors joined by operations that move nothing through memory (paper, algorithm 1, line 1).

use std::collections::BTreeMap;

use hx_tile::{Op, OpKind, TensorId, TileProgram};

/// Register tensors whose layouts depend on each other, with their operations in the order of the text.
#[derive(Debug)]
pub(crate) struct Component<'p> {
    pub(crate) tensors: Vec<TensorId>,
    /// Each with how often it runs.
    pub(crate) ops: Vec<(&'p Op, f64)>,
}

/// Trip count taken for a loop whose bounds are symbolic.
pub(crate) const UNKNOWN_TRIPS: f64 = 16.0;

/// The components, in the order of their first tensor.
pub(crate) fn components(program: &TileProgram) -> Vec<Component<'_>> {
    let ops = program.ops(UNKNOWN_TRIPS);
    let mut root: BTreeMap<TensorId, TensorId> =
        program.tensor_ids().filter(|t| program.tensor(*t).is_register()).map(|t| (t, t)).collect();
    for (op, _) in &ops {
        let joined = op.kind.registers();
        for pair in joined.windows(2) {
            let (a, b) = (find(&root, pair[0]), find(&root, pair[1]));
            root.insert(a.max(b), a.min(b));
        }
    }
    let mut groups: BTreeMap<TensorId, Component<'_>> = BTreeMap::new();
    for tensor in root.keys() {
        let group = groups.entry(find(&root, *tensor)).or_insert(Component { tensors: vec![], ops: vec![] });
        group.tensors.push(*tensor);
    }
    for (op, trips) in ops {
        if let Some(tensor) = op.kind.registers().first()
            && let Some(group) = groups.get_mut(&find(&root, *tensor))
        {
            group.ops.push((op, trips));
        }
    }
    groups.into_values().collect()
}

fn find(root: &BTreeMap<TensorId, TensorId>, mut tensor: TensorId) -> TensorId {
    while let Some(&up) = root.get(&tensor) {
        if up == tensor {
            break;
        }
        tensor = up;
    }
    tensor
}

impl<'p> Component<'p> {
    pub(crate) fn gemms(&self) -> impl Iterator<Item = (&'p Op, f64)> + '_ {
        self.ops.iter().filter(|(op, _)| matches!(op.kind, OpKind::Gemm { .. })).copied()
    }

    pub(crate) fn copies(&self) -> impl Iterator<Item = (&'p Op, f64)> + '_ {
        self.ops.iter().filter(|(op, _)| matches!(op.kind, OpKind::Copy { .. })).copied()
    }
}
