//! Reports tensors for which a thread has too few registers: a tensor that exceeds them on its own, and tensors that are
//! held together while the block multiplies or waits. All other values are left to the CUDA compiler, which may compute the
//! next value before it has all of the last one.

use hx_base::{Diagnostic, codes};
use hx_lower::Lowered;
use hx_synth::{Repair, Solved};
use hx_tile::{OpId, TensorId, TileProgram};

use super::{Places, repair};
use crate::crowded::{Crowd, crowded, roomier_threads, roomier_values};

/// Returns a warning for each register tensor that alone is too large for a thread, or one warning for all that are held at
/// once.
pub(super) fn too_many(places: &Places<'_>, lowered: &Lowered, solved: &Solved) -> Vec<Diagnostic> {
    let target = places.instance.target(places.db);
    let Solved { program, solution, .. } = solved;
    let Some(crowded) = crowded(solved) else { return Vec::new() };
    let mut found = Vec::new();
    for Crowd { of: id, registers, most } in crowded.alone {
        let tensor = program.tensor(id);
        let values = solution.registers.get(&id).map_or(0, |held| held.layout.mode(1).size());
        let name = &tensor.name;
        let (file, range) = places.tensor(lowered, id).unwrap_or_else(|| places.kernel());
        let message =
            format!("`{name}` takes {registers} registers of each thread, which has {most} on {target}");
        let diagnostic = Diagnostic::new(&codes::TOO_MANY_REGISTERS, file, range, message)
            .label(format!("{values} elements of {} a thread", tensor.dtype));
        found.push((diagnostic, "a smaller tile or more threads"));
    }
    if let Some(together) = &crowded.together {
        let diagnostic = held_at_once(places, lowered, program, together);
        found.push((
            diagnostic,
            "smaller tiles, more threads, or tensors that are made later and used sooner",
        ));
    }
    let repaired = |(diagnostic, advice)| repaired(places, lowered, diagnostic, advice);
    found.into_iter().map(repaired).collect()
}

/// Returns a warning at the operation across which the most registers are held.
fn held_at_once(
    places: &Places<'_>,
    lowered: &Lowered,
    program: &TileProgram,
    Crowd { of: (op, held), registers: all, most }: &Crowd<(OpId, Vec<(TensorId, i64)>)>,
) -> Diagnostic {
    let target = places.instance.target(places.db);
    let (file, range) = places.op(lowered, *op).unwrap_or_else(|| places.kernel());
    let message = format!(
        "tensors of {all} registers a thread are held across this `{}`, and a thread of {target} has {most}",
        program.op(*op).map_or("operation", |op| op.kind.name())
    );
    let mut found = Diagnostic::new(&codes::TOO_MANY_REGISTERS, file, range, message);
    for (tensor, count) in held.iter().take(SHOWN) {
        if let Some((file, range)) = places.tensor(lowered, *tensor) {
            found = found.also(file, range, format!("`{}` takes {count}", program.tensor(*tensor).name));
        }
    }
    found
}

/// The number of tensors that are shown, the largest first.
const SHOWN: usize = 4;

/// Adds fixes with more threads or another value of a parameter, if the tensors then fit; otherwise adds advice that nobody
/// tried.
fn repaired(places: &Places<'_>, lowered: &Lowered, found: Diagnostic, advice: &str) -> Diagnostic {
    let Places { db, instance } = *places;
    let threads = repair::has_literal_threads(places).then(|| *roomier_threads(db, instance)).flatten();
    if let Some(fix) = threads.and_then(|n| repair::fix(places, lowered, &Repair::Threads(n))) {
        return found.with_fix(fix);
    }
    let values = roomier_values(db, instance);
    if values.is_empty() {
        return found.help(advice);
    }
    values.iter().fold(found, |found, value| match repair::other_default(places, value) {
        Some(fix) => found.with_fix(fix),
        None => found.help(format!("with `{} = {}` the registers suffice", value.name, value.new)),
    })
}
