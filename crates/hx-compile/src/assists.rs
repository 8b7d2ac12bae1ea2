//! Offers changes that nothing requires: a layout pinned as it was inferred, an access of another width.
//!
//! Each change is tried on the tile program before it is offered, as repairs are: the changed program was solved, and its
//! solution is the one that the title describes. Start at [`assists`].

use std::collections::BTreeMap;

use hx_base::{Edit, TextRange};
use hx_lower::Lowered;
use hx_synth::Solved;
use hx_tile::{Choice, OpId, Solution, TensorId};

use crate::diagnostics::repair::widths::{edits, only_for};
use crate::diagnostics::{Places, repair};
use crate::widths::{copy_of, is_pinned, layout_of, other_widths, solve, with_pins};
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
            | Choice::Bulk(_)
            | Choice::Prefetch(_) => String::new(),
        };
        s.choices.iter().map(|(op, choice)| (*op, row(choice))).collect()
    };
    registers(a) == registers(b)
        && shared(a) == shared(b)
        && rows(a) == rows(b)
        && one.program.body == other.program.body
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
            let Some((how, edits)) = edits(places, lowered, &width.change) else { continue };
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
