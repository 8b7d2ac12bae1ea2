//! Diagnostics about layouts that do not exist, and about layouts that are wrong.

use hx_base::{Applicability, Diagnostic, Fix, Severity, SourceFile, TextRange, codes};
use hx_dtype::DType;
use hx_lower::Lowered;
use hx_synth::{Claim, Conflict, Failure, FailureKind, Part, Solved, first_later, is_convertible};

use hx_tile::{Choice, OpId, OpKind, Route, Solution, TileProgram};

use super::{Places, repair};
use crate::unsolved::{claim_name, claim_text, conflict, other_values};
use crate::why_not::named_product_rules;
use crate::{Db, Instance, solved, tile_program, violations};

/// Returns the diagnostic of a failure of the solver: the place where it shows, and the other operations with their demands.
/// Returns `None` for a cancelled search, which is no finding.
pub(super) fn failure(
    places: &Places<'_>,
    lowered: Option<&Lowered>,
    failure: &Failure,
) -> Option<Diagnostic> {
    let conflict = lowered.and_then(|_| conflict(places.db, places.instance).as_ref());
    // Report the failure of the conflicting claims alone: the rest of the program has no part in it.
    let failure = conflict.map_or(failure, |conflict| &conflict.failure);
    let code = match failure.kind {
        FailureKind::Conflict => &codes::LAYOUT_CONFLICT,
        FailureKind::Pin => &codes::BAD_PINNED_LAYOUT,
        FailureKind::NoInstruction => &codes::NO_INSTRUCTION,
        FailureKind::Resource => &codes::TOO_MUCH_SHARED_MEMORY,
        FailureKind::Registers => &codes::TOO_MANY_REGISTERS,
        FailureKind::Cancelled => return None,
    };
    let place = |op, tensor| {
        let lowered = lowered?;
        let by_op = |op| places.op(lowered, op);
        Option::and_then(op, by_op)
            .or_else(|| Option::and_then(tensor, |tensor| places.tensor(lowered, tensor)))
    };
    let warps = conflict.and_then(|conflict| {
        conflict.claims.iter().find_map(|claim| match claim {
            Claim::Warps(op) => repair::warps_argument(places, lowered?, *op),
            _ => None,
        })
    });
    let (file, range) = warps
        .or_else(|| place(failure.op, None))
        .or_else(|| failure.parts.iter().find_map(|part| place(part.op, part.tensor)))
        .unwrap_or_else(|| places.kernel());
    // A kernel without a solution does not run, so this is an error whatever the level of the code.
    let named_product = lowered.zip(failure.op).and_then(|(lowered, op)| named_product_rules(lowered, op));
    let message = named_product.clone().unwrap_or_else(|| failure.message.clone());
    let found = Diagnostic::new(code, file, range, message);
    let mut found = found.with_severity(Severity::Error);
    let is_reported = |part: &Part| conflict.is_some_and(|conflict| is_told(conflict, part));
    for part in failure.parts.iter().filter(|part| !is_reported(part)) {
        found = with_part(found, part, place(part.op, part.tensor));
    }
    if let (Some(lowered), Some(op)) = (lowered, failure.op) {
        for (file, range) in places.calls(lowered, op) {
            found = found.also(file, range, "called from here");
        }
    }
    if let (Some(lowered), Some(conflict)) = (lowered, conflict) {
        found = demands(places, lowered, conflict, found);
        found = repairs(places, lowered, conflict, found);
    }
    if let (Some(lowered), FailureKind::NoInstruction, None) = (lowered, failure.kind, &named_product) {
        found = found_instructions(places, lowered, failure, warps.is_none(), found);
    }
    let named = lowered.zip(failure.op).and_then(|(lowered, op)| lowered.program.pins.get(&op));
    if let Some(pin) = named {
        found = found.help(format!("without `by: {:?}` the compiler chooses the instruction", pin.text));
    }
    // If some repairs were verified, do not add advice that nobody has tried.
    if found.fixes.is_empty() && named_product.is_none() {
        let told = found.notes.clone();
        let texts = failure.help.iter().map(|help| &help.text);
        found.help.extend(texts.filter(|text| !told.contains(text)).cloned());
    }
    Some(found)
}

/// Adds what an operation or a tensor demands, at its place if it has one.
fn with_part(found: Diagnostic, part: &Part, place: Option<(SourceFile, TextRange)>) -> Diagnostic {
    let primary = (found.primary.file, found.primary.range);
    match place {
        Some(at) if at == primary && found.primary.message.is_empty() => found.label(part.text.clone()),
        Some((file, range)) => found.also(file, range, part.text.clone()),
        None => found.note(part.text.clone()),
    }
}

/// Returns a diagnostic for each redistribution that the source does not contain, with its cost.
pub(super) fn redistributions(places: &Places<'_>, lowered: &Lowered, solved: &Solved) -> Vec<Diagnostic> {
    let Solved { program, solution, .. } = solved;
    let mut found = Vec::new();
    for (op, _) in program.ops(1.0) {
        let OpKind::Rearrange { src, through, .. } = op.kind else { continue };
        // A move that makes a store faster is no loss.
        let is_lost = program.is_move(op) && !solved.widens_a_store(op.id);
        let (true, Some(Choice::Rearrange(choice))) = (is_lost, solution.choices.get(&op.id)) else {
            continue;
        };
        let way = match (&choice.route, through) {
            (Route::Within(_) | Route::Renamed(_), _) => continue,
            (Route::Shared { .. }, shared) => {
                let bytes = shared.and_then(|t| solution.shared.get(&t)).map_or(0, |s| s.bytes);
                format!("through {bytes} B of shared memory")
            }
            (route @ (Route::Lanes(_) | Route::Matrices { .. }), _) => {
                format!("between the lanes of each warp by `{}`", route.rows().join("`, `"))
            }
        };
        let at = places.origin(lowered, op.origin);
        let (file, range) = at.unwrap_or_else(|| places.kernel());
        // The compiler has named a tensor that it added, so show the name in the source instead.
        let held = program.tensor(src);
        let name = &held.moved_from.map_or(held, |source| program.tensor(source)).name;
        let message = format!("`{name}` changes hands between threads here, {way}");
        let diagnostic = Diagnostic::new(&codes::REDISTRIBUTION, file, range, message);
        let why = choice.reason.text.replace(&format!("`{}`", held.name), &format!("`{name}`"));
        let (cycles, all) = (choice.cycles, solution.cost);
        let share = 100.0 * cycles / all;
        let cost = format!("it takes an estimated {cycles:.0} of a block's {all:.0} cycles ({share:.0}%)");
        let diagnostic = diagnostic.note(cost).note(why);
        found.push(match said(places, lowered, solved, op.id) {
            Some(fix) => diagnostic.with_fix(fix).help("layouts or `warps:` that agree spare it"),
            None => diagnostic
                .help("layouts or `warps:` that agree spare it; `rearrange(…, auto)` says that it is meant"),
        });
    }
    found
}

/// Returns the fix that writes a move out in the source. The program then runs as it does without the fix. `None` if no operand
/// takes the edit, or the solution would then be worse or move as often.
fn said(places: &Places<'_>, lowered: &Lowered, solved: &Solved, moved: OpId) -> Option<Fix> {
    let (at, tensor) = solved.moved_before(moved)?;
    let edit = repair::rearranged(places, lowered, at, tensor)?;
    if !may_be_said(places.db, places.instance, moved) {
        return None;
    }
    let title = format!("insert `{}`", edit.text);
    Some(Fix { title, edits: vec![edit], applicability: Applicability::Verified })
}

/// Reports whether an instance with a redistribution written out has a solution that costs no more and has fewer
/// redistributions.
#[salsa::tracked]
fn may_be_said<'db>(db: &'db dyn Db, instance: Instance<'db>, moved: OpId) -> bool {
    let (Ok(lowered), Ok(found)) = (tile_program(db, instance), solved(db, instance)) else {
        return false;
    };
    let poll = || {
        db.unwind_if_revision_cancelled();
        false
    };
    let written = found.with_move(&lowered.program, moved);
    let again = written.and_then(|written| hx_synth::solve(&written, &poll).ok());
    again.is_some_and(|again| again.solution.cost <= found.solution.cost && again.moves() < found.moves())
}

/// Returns a diagnostic for each product whose types have matrix instructions of which none fits.
pub(super) fn scalar_products(
    places: &Places<'_>,
    lowered: &Lowered,
    solution: &Solution,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (op, _) in lowered.program.ops(1.0) {
        let Some(Choice::Gemm(choice)) = solution.choices.get(&op.id) else { continue };
        let unfit = hx_synth::unfit_matrix_instructions(&lowered.program, op);
        if unfit.is_empty() {
            continue;
        }
        let (file, range) = places.op(lowered, op.id).unwrap_or_else(|| places.kernel());
        let message = format!("this product runs on `{}`: no matrix instruction fits it", choice.row);
        let diagnostic = Diagnostic::new(&codes::SCALAR_PRODUCT, file, range, message);
        found.push(unfit.into_iter().fold(diagnostic, Diagnostic::note));
    }
    found
}

/// Returns a diagnostic if the search stopped at its budget; otherwise `None`.
pub(super) fn stopped(places: &Places<'_>, solution: &Solution) -> Option<Diagnostic> {
    let message = hx_tile::unexplored_text(solution)?;
    let (file, range) = places.kernel();
    let found = Diagnostic::new(&codes::SEARCH_STOPPED, file, range, message);
    Some(found.help("a pinned layout, or `warps:` of a `gemm`, leaves less to search"))
}

/// Reports whether the conflict has a demand for this part of the failure. That demand says more than the solver's text.
fn is_told(conflict: &Conflict, part: &Part) -> bool {
    let pinned = part.tensor.is_some_and(|tensor| conflict.claims.contains(&Claim::Pin(tensor)));
    let claimed = part.op.is_some_and(|op| conflict.claims.contains(&Claim::Operation(op)));
    pinned || claimed && part.tensor.is_none()
}

/// Adds the instructions that almost fit, or else those that exist.
fn found_instructions(
    places: &Places<'_>,
    lowered: &Lowered,
    failure: &Failure,
    types_matter: bool,
    mut found: Diagnostic,
) -> Diagnostic {
    let is_gemm = |op: OpId| matches!(lowered.program.op(op).map(|op| &op.kind), Some(OpKind::Gemm { .. }));
    if !failure.op.is_some_and(is_gemm) {
        // The first line is the cause, the other lines are advice.
        return match failure.help.first() {
            Some(cause) if !found.fixes.is_empty() => found.note(cause.text.clone()),
            _ => found,
        };
    }
    // Add the instructions that almost fit, except for the warps, which have a demand of their own.
    for near in failure.help.iter().filter(|near| !near.of_warps) {
        found = found.note(near.text.clone());
    }
    if failure.help.is_empty() && types_matter {
        let types = failure.op.and_then(|op| gemm_types(&lowered.program, op));
        let is_int = types.is_some_and(|[a, ..]| a.is_int());
        let target = places.instance.target(places.db);
        let later = types.and_then(|[a, b, c]| {
            first_later(target, |target| target.rows().gemms_of(a, b, c).next().is_some())
        });
        found.help.extend(later);
        let rows = target.rows().gemms.iter().filter(|row| !row.is_by_descriptor());
        let rows = rows.filter(|row| row.a.dtype().is_int() == is_int);
        let all = products(rows.map(|row| [row.a.dtype(), row.b.dtype(), row.c.dtype]));
        let kind = if is_int { "integers" } else { "floating-point numbers" };
        found = found.note(format!("of {kind}, {target} multiplies {all}"));
        if types.is_none_or(|[a, b, _]| is_convertible(a, target) && is_convertible(b, target)) {
            let help = "`cast` both operands to types on the left of a `→` in the note, and give the accumulator the type on its right";
            found.help.push(help.to_owned());
        }
    }
    found
}

/// Formats products of element types. Products that differ in one operand only are combined: `{i8, u8} · {i8, u8} → i32`.
fn products(types: impl Iterator<Item = [DType; 3]>) -> String {
    // For each first operand and sum, the second operands.
    let mut seconds: Vec<([DType; 2], Vec<DType>)> = Vec::new();
    for [a, b, c] in types {
        match seconds.iter_mut().find(|(key, _)| *key == [a, c]) {
            Some((_, list)) if list.contains(&b) => {}
            Some((_, list)) => list.push(b),
            None => seconds.push(([a, c], vec![b])),
        }
    }
    let mut groups: Vec<(Vec<DType>, Vec<DType>, DType)> = Vec::new();
    for ([a, c], list) in seconds {
        match groups.iter_mut().find(|group| group.1 == list && group.2 == c && list.contains(&a)) {
            Some(group) => group.0.push(a),
            None => groups.push((vec![a], list, c)),
        }
    }
    let set = |types: &[DType]| {
        let names: Vec<String> = types.iter().map(DType::to_string).collect();
        if names.len() == 1 { names.concat() } else { format!("{{{}}}", names.join(", ")) }
    };
    let text = |(a, b, c): &(Vec<DType>, Vec<DType>, DType)| format!("{} · {} → {c}", set(a), set(b));
    groups.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Returns the element types of a gemm's operands and of its accumulator; `None` for other operations.
fn gemm_types(program: &TileProgram, op: OpId) -> Option<[DType; 3]> {
    let OpKind::Gemm { a, b, c, .. } = &program.op(op)?.kind else { return None };
    Some([a.tensor()?, b.tensor()?, *c].map(|tensor| program.tensor(tensor).dtype))
}

/// Describes the conversion of a `cast`, for a failure that concerns the types and not a layout; `None` if the claim is about
/// anything else.
fn conversion(program: &TileProgram, claim: Claim) -> Option<String> {
    let Claim::Operation(op) = claim else { return None };
    let OpKind::Cast { dst, src } = program.op(op)?.kind else { return None };
    let [dst, src] = [dst, src].map(|tensor| program.tensor(tensor));
    Some(format!("converts `{}` from `{}` to `{}`", src.name, src.dtype, dst.dtype))
}

/// Adds every demand of the conflict at its own place.
fn demands(places: &Places<'_>, lowered: &Lowered, conflict: &Conflict, mut found: Diagnostic) -> Diagnostic {
    // If the warps of a gemm do not fit, its other demands add nothing.
    let is_told = |claim: &&Claim| match claim {
        Claim::Operation(op) => !conflict.claims.contains(&Claim::Warps(*op)),
        _ => true,
    };
    let claims: Vec<Claim> = conflict.claims.iter().filter(is_told).copied().collect();
    for &claim in &claims {
        let place = match claim {
            Claim::Pin(tensor) => places.tensor(lowered, tensor),
            Claim::Warps(op) => {
                repair::warps_argument(places, lowered, op).or_else(|| places.op(lowered, op))
            }
            Claim::Operation(op) => places.op(lowered, op),
        };
        let Some((file, range)) = place else { continue };
        let text = match conversion(&lowered.program, claim) {
            Some(text) if conflict.failure.kind == FailureKind::NoInstruction => text,
            _ => claim_text(&lowered.program, claim),
        };
        let here = |label: &hx_base::Label| (label.file, label.range) == (file, range);
        if here(&found.primary) && found.primary.message.is_empty() {
            found = found.label(text);
        } else if !here(&found.primary) && !found.secondary.iter().any(here) {
            found = found.also(file, range, text);
        }
    }
    if claims.len() < 2 || !conflict.minimal {
        return found;
    }
    let enough = conflict.enough.as_ref().map(|enough| {
        let enough = claims.iter().filter(|claim| enough.contains(claim));
        enough.map(|claim| claim_name(&lowered.program, *claim)).collect::<Vec<_>>()
    });
    match enough {
        None => found,
        Some(enough) if enough.len() == claims.len() => {
            found.note("giving up one of these demands is enough")
        }
        Some(enough) if enough.is_empty() => {
            found.note("these demands conflict; without one of them the program still has another conflict")
        }
        Some(enough) => found.note(format!(
            "giving up {} is enough; without another one of these demands the program still has a conflict",
            enough.join(" or ")
        )),
    }
}

/// Adds the repairs that were solved, as edits or as advice.
fn repairs(places: &Places<'_>, lowered: &Lowered, conflict: &Conflict, mut found: Diagnostic) -> Diagnostic {
    for repair in &conflict.repairs {
        if let Some(fix) = repair::fix(places, lowered, repair) {
            found = found.with_fix(fix);
        } else if let Some(advice) = repair::advice(lowered, repair) {
            found = found.help(advice);
        }
    }
    if !found.fixes.is_empty() || !found.help.is_empty() {
        return found;
    }
    for value in other_values(places.db, places.instance) {
        found = match repair::other_default(places, value) {
            Some(fix) => found.with_fix(fix),
            None => found.help(format!("with `{} = {}` there are layouts", value.name, value.new)),
        };
    }
    found
}

/// Returns what the independent verifier finds wrong in a solution. It enumerates, so this runs it in debug builds only.
pub(super) fn unsound(places: &Places<'_>, lowered: &Lowered) -> Vec<Diagnostic> {
    if !cfg!(debug_assertions) {
        return Vec::new();
    }
    let found = violations(places.db, places.instance).iter().map(|violation| {
        let (file, range) =
            violation.op.and_then(|op| places.op(lowered, op)).unwrap_or_else(|| places.kernel());
        Diagnostic::new(&codes::UNSOUND_SOLUTION, file, range, violation.message.clone())
    });
    found.collect()
}
