//! Offers changes that nothing requires: a layout pinned as it was inferred, an access of another width.
//!
//! Each change is tried on the tile program before it is offered, as repairs are: the changed program was solved, and its
//! solution is the one that the title describes. Start at [`assists`].

use std::collections::BTreeMap;

use hx_base::{Edit, TextRange};
use hx_layout::ComposedLayout;
use hx_lower::Lowered;
use hx_synth::Solved;
use hx_tile::{Choice, CopyChoice, OpId, OpKind, Solution, TensorId, TensorKind, TileProgram};

use crate::diagnostics::{Places, repair};
use crate::{Db, Instance, candidates, routed_program, solved};

/// A change whose result was solved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assist {
    /// The effect of the change, in the imperative.
    pub title: String,
    /// The edits, none overlapping another.
    pub edits: Vec<Edit>,
}

/// Selects the changes to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AssistConfig {
    /// Whether to look for accesses of other widths, too. This solves for all candidates of the kernel and once more for each
    /// change, which takes longer than solving the kernel.
    pub widths: bool,
}

/// The most declarations in a range that are tried. A user who selects more wants something else.
const MOST: usize = 4;

/// Returns the changes of a kernel's instance that concern a range of its text. Returns none if the instance has no
/// solution: repairs cover that case.
pub fn assists(db: &dyn Db, instance: Instance<'_>, range: TextRange, config: AssistConfig) -> Vec<Assist> {
    let (Ok(lowered), Ok(found)) = (routed_program(db, instance), solved(db, instance)) else {
        return Vec::new();
    };
    let places = Places { db, instance };
    let mut assists = pins(&places, lowered, &found.solution, range);
    if config.widths {
        assists.extend(widths(&places, lowered, &found.solution, range));
    }
    assists
}

/// Formats the values of the compile-time parameters for which a layout that is written out holds.
fn only_for(lowered: &Lowered) -> String {
    let args: Vec<String> =
        lowered.sources.args.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if args.is_empty() { String::new() } else { format!(", for {}", args.join(", ")) }
}

/// Offers `pin this layout` for the tensors that are declared in the range.
fn pins(places: &Places<'_>, lowered: &Lowered, solution: &Solution, range: TextRange) -> Vec<Assist> {
    let Places { db, instance } = *places;
    let mut declared: BTreeMap<(u32, u32), Vec<TensorId>> = BTreeMap::new();
    for tensor in lowered.program.tensor_ids().filter(|id| !is_pinned(&lowered.program, *id)) {
        let origin = lowered.program.tensor(tensor).origin;
        let Some(at) = places.own(lowered, origin).filter(|at| touches(places, *at, range)) else { continue };
        declared.entry((at.start().into(), at.end().into())).or_default().push(tensor);
    }
    let mut found = Vec::new();
    for tensors in declared.into_values().take(MOST) {
        let Some(layout) = layout_of(solution, tensors[0]) else { continue };
        // An unrolled body makes several tensors of one declaration, and a pin must hold for all of them.
        if tensors.iter().any(|tensor| layout_of(solution, *tensor).as_ref() != Some(&layout)) {
            continue;
        }
        let Some(edit) = repair::pin(places, lowered, tensors[0], &layout) else { continue };
        if !stays(db, instance, tensors.clone()) {
            continue;
        }
        let name = &lowered.program.tensor(tensors[0]).name;
        let title = format!("pin this layout of `{name}`{}", only_for(lowered));
        found.push(Assist { title, edits: vec![edit] });
    }
    found
}

/// Reports whether a place, or the statement around it, overlaps the range that a user selected.
fn touches(places: &Places<'_>, at: TextRange, range: TextRange) -> bool {
    let around = places.statement(at).unwrap_or(at);
    around.intersect(range).is_some()
}

fn is_pinned(program: &TileProgram, tensor: TensorId) -> bool {
    program.tensor(tensor).kind.is_pinned()
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

/// Reports whether an instance keeps its solution when these tensors are pinned to their layouts.
#[salsa::tracked]
fn stays<'db>(db: &'db dyn Db, instance: Instance<'db>, tensors: Vec<TensorId>) -> bool {
    let (Ok(lowered), Ok(found)) = (routed_program(db, instance), solved(db, instance)) else {
        return false;
    };
    let pins = tensors.iter().filter_map(|tensor| Some((*tensor, layout_of(&found.solution, *tensor)?)));
    let pinned = with_pins(&lowered.program, &pins.collect::<Vec<_>>());
    solve(db, &pinned).is_some_and(|again| same(found, &again))
}

fn solve(db: &dyn Db, program: &TileProgram) -> Option<Solved> {
    let poll = || {
        db.unwind_if_revision_cancelled();
        false
    };
    hx_synth::solve(program, &poll).ok()
}

/// Reports whether two solved programs run the same code, whatever their reasons and pins.
fn same(one: &Solved, other: &Solved) -> bool {
    let [a, b] = [&one.solution, &other.solution];
    let registers = |s: &Solution| -> Vec<_> {
        s.registers.iter().map(|(id, held)| (*id, held.tile.clone(), held.layout.clone())).collect()
    };
    let shared = |s: &Solution| -> Vec<_> {
        s.shared.iter().map(|(id, held)| (*id, held.layout.clone(), held.swizzle)).collect()
    };
    let rows = |s: &Solution| -> Vec<_> {
        let row = |choice: &Choice| match choice {
            Choice::Copy(copy) => format!("{} {}", copy.row, copy.bytes),
            Choice::Gemm(gemm) => format!("{} {:?}", gemm.row, gemm.arrangement),
            // They follow from the layouts.
            Choice::Convert(_)
            | Choice::Map(_)
            | Choice::Reduce(_)
            | Choice::Rearrange(_)
            | Choice::Slice(_)
            | Choice::Scan(_)
            | Choice::Bulk(_) => String::new(),
        };
        s.choices.iter().map(|(op, choice)| (*op, row(choice))).collect()
    };
    registers(a) == registers(b)
        && shared(a) == shared(b)
        && rows(a) == rows(b)
        && one.program.body == other.program.body
}

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

/// Offers `use this access width` for the copies in the range.
fn widths(places: &Places<'_>, lowered: &Lowered, solution: &Solution, range: TextRange) -> Vec<Assist> {
    let mut seen = Vec::new();
    let mut found: Vec<Assist> = Vec::new();
    for (op, _) in lowered.program.ops(1.0) {
        let Some(at) = places.own(lowered, op.origin).filter(|at| touches(places, *at, range)) else {
            continue;
        };
        // Offer one change for an unrolled body: its other parts would get the same one.
        if copy_of(solution, op.id).is_none() || seen.contains(&at) {
            continue;
        }
        seen.push(at);
        let mut offered = Vec::new();
        for width in other_widths(places.db, places.instance, op.id) {
            // Of the changes that lead to one width, take the cheapest that can be written as an edit.
            if offered.contains(&width.bytes) {
                continue;
            }
            let Some((how, edits)) = written(places, lowered, &width.change) else { continue };
            offered.push(width.bytes);
            let (old, new) = (solution.cost.round(), width.cycles.round());
            let caveat = places.instance.target(places.db).caveat();
            let caveat = caveat.map(|caveat| format!(", {caveat}")).unwrap_or_default();
            let title =
                format!("use {} B accesses: {how} (estimated cycles {old} → {new}{caveat})", width.bytes);
            found.push(Assist { title, edits });
        }
    }
    found
}

/// A rearrangement that makes a copy's accesses wider.
#[derive(Debug, Clone, PartialEq)]
pub struct Staging {
    /// The name of the register tensor that is rearranged for the copy.
    pub tensor: String,
    /// Bytes of an access afterwards.
    pub bytes: u32,
    /// Estimated cycles of the kernel afterwards.
    pub cycles: f64,
}

/// Returns the cheapest rearrangement of a store's source that makes its accesses wider; `None` if no candidate has one. Solves
/// for all candidates of the kernel, which takes longer than solving the kernel.
pub fn staging(db: &dyn Db, instance: Instance<'_>, op: OpId) -> Option<Staging> {
    let program = &routed_program(db, instance).as_ref().ok()?.program;
    let own = copy_of(&solved(db, instance).as_ref().ok()?.solution, op)?.bytes;
    let tensor = hx_synth::stored_tensor(program.op(op)?)?;
    let wider = |Solved { program, solution, .. }: &Solved| {
        let stored = hx_synth::stored_tensor(program.op(op)?)?;
        let is_moved = program.tensor(stored).moved_from == Some(tensor);
        is_moved.then_some((copy_of(solution, op)?.bytes, solution.cost))
    };
    let others = candidates(db, instance).as_ref().ok()?;
    let (bytes, cycles) = others.iter().filter_map(wider).find(|(bytes, _)| *bytes > own)?;
    Some(Staging { tensor: program.tensor(tensor).name.clone(), bytes, cycles })
}

impl WidthChange {
    /// Describes the change in the imperative.
    pub(crate) fn text(&self, program: &TileProgram) -> String {
        match self {
            WidthChange::Pins(pins) => {
                let pin = |(id, layout): &(TensorId, ComposedLayout)| {
                    format!("`{}` to `{}`", program.tensor(*id).name, crate::unsolved::written(layout))
                };
                format!("pin {}", pins.iter().map(pin).collect::<Vec<_>>().join(" and "))
            }
            WidthChange::Rearranged(user, tensor) => {
                let user = program.op(*user).map_or("operation", |op| op.kind.name());
                format!("rearrange `{}` for the `{user}`", program.tensor(*tensor).name)
            }
            WidthChange::Staged(loads) => {
                let name = |id: &OpId| match program.op(*id).map(|op| &op.kind) {
                    Some(OpKind::Copy { src, .. }) => format!("`{}`", program.base_name(src.base)),
                    _ => String::new(),
                };
                let mut names: Vec<String> = loads.iter().map(name).collect();
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

/// Returns the words of the title for a change, and its edits; `None` if the source text has no such edit.
pub(crate) fn written(places: &Places<'_>, lowered: &Lowered, change: &WidthChange) -> Option<(String, Vec<Edit>)> {
    let program = &lowered.program;
    match change {
        WidthChange::Pins(pins) => {
            let edits = pins.iter().map(|(tensor, layout)| repair::pin(places, lowered, *tensor, layout));
            let names: Vec<String> =
                pins.iter().map(|(id, _)| format!("`{}`", program.tensor(*id).name)).collect();
            Some((format!("pin {}{}", names.join(" and "), only_for(lowered)), edits.collect::<Option<_>>()?))
        }
        WidthChange::Rearranged(user, tensor) => {
            let name = program.op(*user)?.kind.name();
            let how = format!("rearrange `{}` for the `{name}`", program.tensor(*tensor).name);
            Some((how, vec![repair::rearranged(places, lowered, *user, *tensor)?]))
        }
        WidthChange::Staged(_) => None,
    }
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
    // Try to leave its register tensor to this copy alone, by rearranging it for another operation that reads it.
    for tensor in kind.registers() {
        for (user, _) in program.ops(1.0) {
            for (operand, _) in user.kind.inputs().into_iter().filter(|(_, input)| *input == tensor) {
                let moved = hx_synth::rearranged(program, user.id, operand);
                attempt(&moved, WidthChange::Rearranged(user.id, tensor));
            }
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
        let (Some(tensor), true) = (src.register().or(dst.register()), src.base.param().or(dst.base.param()).is_some())
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
