//! Finds the other widths that an access can have, each with the change that leads to it: pins, rearrangements, and loads by way of
//! shared memory. Every change was solved.

use hx_layout::ComposedLayout;
use hx_synth::Solved;
use hx_tile::{CopyChoice, OpId, OpKind, Solution, TensorId, TensorKind, TileProgram};

use crate::unsolved::written;
use crate::{Db, Instance, candidates, routed_program, solved};

/// A width of a copy in bytes, the change that leads to it, and the estimated cycles of a block with that change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Width {
    pub(crate) bytes: u32,
    pub(crate) cycles: f64,
    pub(crate) change: WidthChange,
}

/// A change of a program that makes an access wider or narrower.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WidthChange {
    /// Pin these tensors to these layouts.
    Pins(Vec<(TensorId, ComposedLayout)>),
    /// Give the operation a rearranged copy of the tensor.
    Rearranged(OpId, TensorId),
    /// Load through shared tensors.
    Staged(Vec<OpId>),
}

impl WidthChange {
    /// Describes the change in the imperative.
    pub(crate) fn text(&self, program: &TileProgram) -> String {
        match self {
            WidthChange::Pins(pins) => {
                let pin = |(id, layout): &(TensorId, ComposedLayout)| {
                    format!("`{}` to `{}`", program.tensor(*id).name, written(layout))
                };
                format!("pin {}", pins.iter().map(pin).collect::<Vec<_>>().join(" and "))
            }
            WidthChange::Rearranged(user, tensor) => {
                let user = program.op(*user).map_or("operation", |op| op.kind.name());
                format!("rearrange `{}` for the `{user}`", program.tensor(*tensor).name)
            }
            WidthChange::Staged(loads) => {
                let name = |id: &OpId| {
                    let OpKind::Copy { src, .. } = &program.op(*id)?.kind else { return None };
                    Some(format!("`{}`", program.base_name(src.base)))
                };
                let mut names: Vec<String> = loads.iter().filter_map(name).collect();
                names.sort();
                names.dedup();
                let (names, to) = match names.len() {
                    1 => (names.concat(), "a `shared_tensor`"),
                    _ => (names.join(" and "), "`shared_tensor`s"),
                };
                format!("copy {names} to {to}, `sync()`, and `load` from there")
            }
        }
    }
}

/// Returns the layout of a tensor in the form of a pin; `None` if the solution has none for it.
pub(crate) fn layout_of(solution: &Solution, tensor: TensorId) -> Option<ComposedLayout> {
    if let Some(held) = solution.registers.get(&tensor) {
        return Some(ComposedLayout::plain(held.layout.clone()));
    }
    let shared = solution.shared.get(&tensor)?;
    Some(ComposedLayout { swizzle: shared.swizzle, offset: 0, layout: shared.layout.clone() })
}

/// Returns the program with tensors pinned to layouts.
pub(crate) fn with_pins(program: &TileProgram, pins: &[(TensorId, ComposedLayout)]) -> TileProgram {
    let mut program = program.clone();
    for (tensor, layout) in pins {
        let Some(tensor) = program.tensors.get_mut(tensor.0 as usize) else { continue };
        tensor.kind = match tensor.kind {
            TensorKind::Register { .. } => TensorKind::Register { pinned: Some(layout.layout.clone()) },
            TensorKind::Shared { .. } => TensorKind::Shared { pinned: Some(layout.clone()) },
        };
    }
    program
}

pub(crate) fn solve(db: &dyn Db, program: &TileProgram) -> Option<Solved> {
    let poll = || {
        db.unwind_if_revision_cancelled();
        false
    };
    hx_synth::solve(program, &poll).ok()
}

pub(crate) fn is_pinned(program: &TileProgram, tensor: TensorId) -> bool {
    program.tensor(tensor).kind.is_pinned()
}

pub(crate) fn copy_of(solution: &Solution, op: OpId) -> Option<&CopyChoice> {
    solution.choices.get(&op)?.copy()
}

/// Returns the other widths that a copy can have, each with the change that leads to it: the widest first, and for one width
/// the cheapest change first.
#[salsa::tracked(returns(ref))]
pub(crate) fn other_widths<'db>(db: &'db dyn Db, instance: Instance<'db>, op: OpId) -> Vec<Width> {
    let (Ok(lowered), Ok(found)) = (routed_program(db, instance), solved(db, instance)) else {
        return Vec::new();
    };
    let program = &lowered.program;
    let (Some(own), Some(kind)) = (copy_of(&found.solution, op), program.op(op).map(|op| op.kind.clone()))
    else {
        return Vec::new();
    };
    let own = own.bytes;
    let mut widths: Vec<Width> = Vec::new();
    let mut attempt = |program: &TileProgram, change: WidthChange| {
        let Some(solved) = solve(db, program) else { return };
        let bytes = copy_of(&solved.solution, op).map(|copy| copy.bytes);
        if let Some(bytes) = bytes.filter(|bytes| *bytes != own) {
            widths.push(Width { bytes, cycles: solved.solution.cost, change });
        }
    };
    // Try the layouts that its tensors have in other solutions: each on its own, and all together.
    let others = candidates(db, instance).as_ref().map_or(&[][..], Vec::as_slice);
    let mut tried: Vec<Vec<(TensorId, ComposedLayout)>> = Vec::new();
    for other in others
        .iter()
        .map(|other| &other.solution)
        .filter(|other| copy_of(other, op).is_some_and(|copy| copy.bytes != own))
    {
        let free = kind.tensors().into_iter().filter(|id| !is_pinned(program, *id));
        let pins: Vec<_> = free.filter_map(|id| Some((id, layout_of(other, id)?))).collect();
        let alone = pins.iter().map(|pin| vec![pin.clone()]);
        for pins in alone.chain(std::iter::once(pins.clone())) {
            if !pins.is_empty() && !tried.contains(&pins) {
                attempt(&with_pins(program, &pins), WidthChange::Pins(pins.clone()));
                tried.push(pins);
            }
        }
    }
    // Try to leave its register tensor to this copy alone, by rearranging it for another operation that reads it.
    for tensor in kind.registers() {
        for (user, _) in program.ops(1.0) {
            for (operand, _) in user.kind.inputs().into_iter().filter(|(_, input)| *input == tensor) {
                let moved = hx_synth::rearranged(program, user.id, operand);
                attempt(&moved, WidthChange::Rearranged(user.id, tensor));
            }
        }
    }
    // Try the layouts in which copies to and from global memory would be coalesced if nothing else had demands.
    let own_layouts = coalesced_alone(db, program, &found.solution);
    let of_op = |id: &TensorId| kind.tensors().contains(id);
    let alone: Vec<_> = own_layouts.iter().filter(|(id, _)| of_op(id)).cloned().collect();
    let is_alike = |(id, _): &&(TensorId, ComposedLayout)| {
        alone.iter().any(|(own, _)| program.tensor(*own).shape == program.tensor(*id).shape)
    };
    let alike: Vec<_> = own_layouts.iter().filter(is_alike).cloned().collect();
    for pins in [alone, alike, own_layouts] {
        if !pins.is_empty() && !tried.contains(&pins) {
            attempt(&with_pins(program, &pins), WidthChange::Pins(pins.clone()));
            tried.push(pins);
        }
    }
    // Try to load through shared memory: this load alone, and together with the other narrow ones.
    let narrow = narrow_loads(program, &found.solution);
    if narrow.contains(&op) {
        attempt(&hx_synth::staged_loads(program, &[op]), WidthChange::Staged(vec![op]));
        // All loads together are offered only if that is better than each of them alone, so that two offers never disagree.
        let alone = |load: &OpId| solve(db, &hx_synth::staged_loads(program, &[*load]));
        let costs = narrow.iter().filter_map(alone).map(|solved| solved.solution.cost);
        let least = costs.fold(f64::INFINITY, f64::min);
        let together = solve(db, &hx_synth::staged_loads(program, &narrow));
        if narrow.len() > 1 && together.is_some_and(|together| together.solution.cost < least) {
            attempt(&hx_synth::staged_loads(program, &narrow), WidthChange::Staged(narrow.clone()));
        }
    }
    widths.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.cycles.total_cmp(&b.cycles)));
    widths
}

/// Returns, for each register tensor that a copy moves from or to global memory, the layout that it has in a program of this copy
/// alone, if the tensor is not pinned and has another layout in the solution.
fn coalesced_alone(
    db: &dyn Db,
    program: &TileProgram,
    solution: &Solution,
) -> Vec<(TensorId, ComposedLayout)> {
    let mut found: Vec<(TensorId, ComposedLayout)> = Vec::new();
    for (op, _) in program.ops(1.0) {
        let OpKind::Copy { src, dst } = &op.kind else { continue };
        let (Some(tensor), true) =
            (src.register().or(dst.register()), src.base.param().or(dst.base.param()).is_some())
        else {
            continue;
        };
        if is_pinned(program, tensor) || found.iter().any(|(known, _)| *known == tensor) {
            continue;
        }
        let alone = hx_synth::restricted(program, &[hx_synth::Claim::Operation(op.id)]);
        let layout = solve(db, &alone).and_then(|solved| layout_of(&solved.solution, tensor));
        let other = layout.filter(|layout| layout_of(solution, tensor).as_ref() != Some(layout));
        found.extend(other.map(|layout| (tensor, layout)));
    }
    found
}

/// Returns the loads from global memory that are narrower than the target's widest accesses.
fn narrow_loads(program: &TileProgram, solution: &Solution) -> Vec<OpId> {
    let widest = program.target.limits.access_bytes;
    let is_narrow = |op: &&hx_tile::Op| {
        let OpKind::Copy { src, dst } = &op.kind else { return false };
        let is_load = src.base.param().is_some() && dst.register().is_some();
        is_load && copy_of(solution, op.id).is_some_and(|copy| copy.bytes < widest)
    };
    program.ops(1.0).into_iter().map(|(op, _)| op).filter(is_narrow).map(|op| op.id).collect()
}
