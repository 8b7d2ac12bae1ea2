//! Finds numbers of the block that depend on volatile PTX. Threads may get different results from it, also threads that hold the same
//! element, so a number of the block made of them could send the threads different ways.

use std::collections::BTreeMap;

use hx_base::codes;
use hx_tile::{Mode, Op, OpKind, Origin, Scalar, TensorId, TileProgram};

use crate::diagnostics::Diagnostics;
use crate::error::LowerError;
use crate::origins::Origins;

/// Reports each number of the block that is read from a register tensor that depends on volatile PTX.
pub(crate) fn check_volatile(program: &TileProgram, origins: &Origins, diagnostics: &mut Diagnostics) {
    let ops: Vec<&Op> = program.ops(1.0).into_iter().map(|(op, _)| op).collect();
    // Each tensor with the name of the function and the place of its PTX.
    let mut found: BTreeMap<TensorId, (String, Origin)> = BTreeMap::new();
    let mut known = None;
    // A loop may read a tensor before the operation that makes it depend on the PTX.
    while known != Some(found.len()) {
        known = Some(found.len());
        for op in &ops {
            let Some(source) = source(op, &found) else { continue };
            let description = op.kind.description();
            let written = description.accesses.iter().filter(|access| access.mode != Mode::Read);
            for tensor in written.filter_map(|access| access.register()) {
                found.entry(tensor).or_insert_with(|| source.clone());
            }
        }
    }
    for op in ops {
        let OpKind::ReadNumber { src, .. } = &op.kind else { continue };
        let Some((name, ptx)) = found.get(src) else { continue };
        let place = origins.get(op.origin);
        let message =
            format!("this number of the block depends on `{name}`, whose result may differ between threads");
        let mut error = LowerError::new(&codes::BAD_PTX, place.place.clone(), message)
            .also(origins.get(*ptx).place.clone(), format!("the PTX of `{name}` is volatile"))
            .help("store the tile and load it again: all threads load the same number from memory");
        error.calls.extend(origins.calls(place.call));
        diagnostics.add(error);
    }
}

/// Returns the volatile PTX on which the results of an operation depend; `None` if they depend on none.
fn source(op: &Op, found: &BTreeMap<TensorId, (String, Origin)>) -> Option<(String, Origin)> {
    if let OpKind::Map(map) = &op.kind
        && let Some(source) = volatile(&map.value)
    {
        return Some(source);
    }
    let description = op.kind.description();
    let mut read = description.accesses.iter().filter(|access| access.mode != Mode::Write);
    read.find_map(|access| found.get(&access.register()?).cloned())
}

fn volatile(value: &Scalar) -> Option<(String, Origin)> {
    let mut inlined = Vec::new();
    value.inlined(&mut inlined);
    let found = inlined.into_iter().find(|inlined| inlined.inline.is_volatile)?;
    Some((found.inline.name.clone(), found.inline.origin))
}
