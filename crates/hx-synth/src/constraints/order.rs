//! The order of packed elements in registers. It is the order of the memory they come from, since a word holds them as they lie
//! there.

use std::collections::BTreeMap;

use hx_tile::{Base, OpKind, TensorId, TileProgram, View};

use crate::access::{Run, Step, global, is_packed};

/// Returns, for register tensors of elements narrower than a byte, the run of elements that are contiguous in memory, if it
/// differs from the order of the tile. The elements come from a global tensor, directly or through shared memory, and its blocks
/// may have any order.
pub(super) fn orders(program: &TileProgram) -> BTreeMap<TensorId, Run> {
    let mut shared: BTreeMap<TensorId, Run> = BTreeMap::new();
    let mut registers: BTreeMap<TensorId, Run> = BTreeMap::new();
    for (op, _) in program.ops(1.0) {
        let (OpKind::Copy { src, dst } | OpKind::CopyAsync { src, dst, .. }) = &op.kind else { continue };
        let run = match src.base {
            Base::Global(_) => of_global(program, src),
            Base::Shared(tensor) => shared.get(&tensor).and_then(|run| within(src, run)),
            Base::Register(_) => None,
        };
        let Some(run) = run else { continue };
        match dst.base {
            Base::Shared(tensor) => {
                let run = run.renamed(|dim| Some(dst.modes.get(dim)?.dim));
                shared.extend(run.map(|run| (tensor, run)));
            }
            Base::Register(tensor) => {
                registers.insert(tensor, run);
            }
            Base::Global(_) => {}
        }
    }
    // Both sides of a conversion to the same type share the order, so that whole words are moved.
    loop {
        let before = registers.len();
        for (op, _) in program.ops(1.0) {
            let OpKind::Cast { dst, src } = op.kind else { continue };
            let [d, s] = [dst, src].map(|tensor| program.tensor(tensor));
            if d.dtype == s.dtype && d.shape == s.shape {
                for [from, to] in [[src, dst], [dst, src]] {
                    let run = registers.get(&from).cloned();
                    registers.extend(run.filter(|_| !registers.contains_key(&to)).map(|run| (to, run)));
                }
            }
        }
        if registers.len() == before {
            return registers;
        }
    }
}

fn of_global(program: &TileProgram, view: &View) -> Option<Run> {
    let param = global::param_of(program, view).filter(|param| is_packed(param.dtype))?;
    global::alignment(program, view, param).run.filter(|run| !run.is_plain())
}

/// Returns a run through a tensor along the modes of its view that walk the dimensions: the first steps, as far as the view
/// walks them. `None` if the elements of the run lie along one dimension in ascending order.
fn within(view: &View, run: &Run) -> Option<Run> {
    let walks = |mode: &hx_tile::ViewMode, dim: usize| mode.dim == dim && mode.factor.as_const() == Some(1);
    let step = |step: &Step| {
        let dim = view.modes.iter().position(|mode| walks(mode, step.dim))?;
        Some(Step { dim, ..*step })
    };
    let run = Run { steps: run.steps.iter().map_while(step).collect() };
    (!run.is_plain()).then_some(run)
}
