//! Layouts that do not exist, and layouts that are wrong.

use hx_base::{Diagnostic, Severity, codes};
use hx_lower::Lowered;
use hx_synth::{Failure, FailureKind};
use hx_tile::{Choice, OpKind, Solution};

use super::Places;
use crate::violations;

/// The solver's failure: the place where it shows, and the other operations with what each demands. Nothing for a
/// cancelled search, which is no finding.
pub(super) fn failure(
    places: &Places<'_>,
    lowered: Option<&Lowered>,
    failure: &Failure,
) -> Option<Diagnostic> {
    let code = match failure.kind {
        FailureKind::Conflict => &codes::LAYOUT_CONFLICT,
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
    let (file, range) = place(failure.op, None)
        .or_else(|| failure.parts.iter().find_map(|part| place(part.op, part.tensor)))
        .unwrap_or_else(|| places.kernel());
    // Whatever the level of the code, a kernel without a solution does not run.
    let found = Diagnostic::new(code, file, range, failure.message.clone());
    let mut found = found.with_severity(Severity::Error);
    for part in &failure.parts {
        found = match place(part.op, part.tensor) {
            Some(at) if at == (file, range) && found.primary.message.is_empty() => {
                found.label(part.text.clone())
            }
            Some((file, range)) => found.also(file, range, part.text.clone()),
            None => found.note(part.text.clone()),
        };
    }
    if let (Some(lowered), Some(op)) = (lowered, failure.op) {
        for (file, range) in places.calls(lowered, op) {
            found = found.also(file, range, "called from here");
        }
    }
    found.help.extend(failure.help.iter().cloned());
    Some(found)
}

/// Values that change hands although nobody wrote it, with what it takes.
pub(super) fn redistributions(
    places: &Places<'_>,
    lowered: &Lowered,
    solution: &Solution,
) -> Vec<Diagnostic> {
    let program = solution.program(&lowered.program);
    let mut found = Vec::new();
    for (op, _) in program.ops(1.0) {
        let OpKind::Rearrange { src, through: Some(shared), .. } = op.kind else { continue };
        let (true, Some(Choice::Rearrange(choice))) =
            (lowered.program.op(op.id).is_none(), solution.choices.get(&op.id))
        else {
            continue;
        };
        let at = places.origin(lowered, op.origin);
        let (file, range) = at.unwrap_or_else(|| places.kernel());
        let name = program.tensor(src).name.trim_end_matches("_moved").to_owned();
        let bytes = solution.shared.get(&shared).map_or(0, |s| s.bytes);
        let message =
            format!("`{name}` changes hands between threads here, through {bytes} B of shared memory");
        let diagnostic = Diagnostic::new(&codes::REDISTRIBUTION, file, range, message);
        found.push(
            diagnostic
                .note(choice.reason.text.clone())
                .help("layouts or `warps:` that agree spare it; `rearrange(…, auto)` says that it is meant"),
        );
    }
    found
}

/// A search that stopped at its budget.
pub(super) fn stopped(places: &Places<'_>, solution: &Solution) -> Option<Diagnostic> {
    let left = solution.unexplored;
    let (file, range) = places.kernel();
    let message = format!("the search for layouts left {left} branches unexplored");
    let found = Diagnostic::new(&codes::SEARCH_STOPPED, file, range, message);
    (left > 0).then(|| found.help("a pinned layout, or `warps:` of a `gemm`, leaves less to search"))
}

/// What the independent checker says against a solution. It enumerates, so here it is asked in debug builds only.
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
