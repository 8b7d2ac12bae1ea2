//! The whole way: constraints, components, search, shared memory, choices.

use std::rc::Rc;

use hx_target::Arch;
use hx_tile::{Choice, Reason, Solution, TensorKind, TileProgram};

use crate::component::components;
use crate::constraints::{Known, Layouts, System};
use crate::failure::{Failure, FailureKind};
use crate::search::{Cx, search};
use crate::{choices, convertible, pinned, size};

/// Finds layouts and instructions for a program, the same ones every time.
///
/// # Errors
/// A [`Failure`] that says what conflicts or lacks an instruction, or that `cancelled` returned true.
pub fn solve(program: &TileProgram, arch: Arch, cancelled: &dyn Fn() -> bool) -> Result<Solution, Failure> {
    size::check(program, arch)?;
    convertible::check(program, arch)?;
    let system = System::of(program);
    let cx = Cx::new(&system, arch, cancelled);
    let start = pins(&cx)?;
    let mut solution = Solution { constraints: system.demands(), ..Solution::default() };
    let mut known = start.clone();
    for component in components(&system) {
        if cancelled() {
            return Err(Failure::cancelled());
        }
        let found = search(&cx, &component, start.clone(), 1)?;
        solution.unexplored += found.left;
        let Some(leaf) = found.leaves.into_iter().next() else { continue };
        solution.cost += leaf.cost;
        for (gemm, tiling) in &leaf.tilings {
            let choice = choices::gemm(gemm, tiling, &leaf.layouts)?;
            solution.constraints.push(choices::gemm_demand(gemm, tiling));
            solution.choices.insert(gemm.op.id, Choice::Gemm(choice));
        }
        for tensor in &component.tensors {
            if let Some(layout) = leaf.layouts.get(*tensor) {
                known.set(*tensor, layout.clone());
            }
        }
    }
    choices::global(&cx, &known, &mut solution)?;
    choices::convert(&cx, &known, &mut solution)?;
    choices::map(&cx, &known, &mut solution)?;
    choices::shared(&cx, &known, &mut solution)?;
    choices::reduce(&cx, &known, &mut solution)?;
    choices::fits(program, arch, &solution)?;
    for (tensor, layout) in known.iter() {
        let distribution = layout.tv.to_distribution(layout.reason.clone());
        solution.registers.insert(tensor, distribution.map_err(|e| choices::too_large(e.to_string()))?);
    }
    // The constraint first, then the instruction chosen for it.
    solution.constraints.sort_by_key(|d| d.op);
    Ok(solution)
}

/// The layouts that the user pinned, with what follows from them.
fn pins(cx: &Cx<'_, '_>) -> Result<Layouts, Failure> {
    let program = cx.program();
    let mut start = Layouts::new(program.tensors.len());
    let mut pinned = Vec::new();
    for tensor in program.tensor_ids() {
        let info = program.tensor(tensor);
        let TensorKind::Register { pinned: Some(layout) } = &info.kind else { continue };
        let tv = pinned::read(layout, &info.shape, i64::from(program.threads)).map_err(|problem| {
            let message = format!(
                "the pinned layout `{layout}` of `{}` is no thread-value layout of {} threads over {:?}: {problem}",
                info.name, program.threads, info.shape
            );
            Failure::new(FailureKind::Conflict, message).part(None, Some(tensor), "pinned here")
        })?;
        let reason = Reason { text: "pinned".into(), from: vec![] };
        start.set(tensor, Rc::new(Known { tv: cx.pool.keep(tv), reason, pin: Some(tensor) }));
        pinned.push(tensor);
    }
    let conflicts = cx.system.propagate(&cx.pool, &mut start, &pinned);
    match conflicts.first() {
        Some(first) => Err(cx.system.conflict(*first, &start)),
        None => Ok(start),
    }
}
