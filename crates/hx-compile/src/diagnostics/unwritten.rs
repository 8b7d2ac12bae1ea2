//! Diagnostics about register tensors that are read before anything has written them.

use hx_base::{Applicability, Diagnostic, Edit, Fix, TextRange, codes};
use hx_hir::Name;
use hx_lower::Lowered;
use hx_sync::unwritten::Fault;
use hx_tile::TensorId;

use super::Places;
use super::sync::indentation;
use crate::unwritten_registers;

/// Returns the findings about the register tensors of a kernel.
pub(super) fn findings(places: &Places<'_>, lowered: &Lowered) -> Vec<Diagnostic> {
    let found = unwritten_registers(places.db, places.instance);
    found.iter().map(|fault| finding(places, lowered, fault)).collect()
}

fn finding(places: &Places<'_>, lowered: &Lowered, fault: &Fault) -> Diagnostic {
    let name = &lowered.program.tensor(fault.tensor).name;
    let (file, range) = places.op(lowered, fault.op).unwrap_or_else(|| places.kernel());
    let message = match fault.partly {
        false => format!("`{name}` is read before anything has written it"),
        true => format!("`{name}` is read before all of its elements are written"),
    };
    let mut found = Diagnostic::new(&codes::UNWRITTEN_REGISTERS, file, range, message);
    if let Some((file, range)) = places.tensor(lowered, fault.tensor) {
        found = found.also(file, range, format!("`{name}` begins undefined"));
    }
    for (file, range) in places.calls(lowered, fault.op) {
        found = found.also(file, range, "called from here");
    }
    if let Some((cond, holds)) = &fault.under {
        let cond = if *holds { cond.clone() } else { cond.clone().negate() };
        found = found.note(format!("this is so where `{cond}`"));
    }
    match filled(places, lowered, fault.tensor, name) {
        Some(fix) => found.with_fix(fix),
        None => found.help(format!("`fill({name}, 0.0)`, or copy to it, before it is read")),
    }
}

/// Returns the fix that fills a tensor behind its declaration; `None` if this is no `let` of that name alone, in the kernel
/// itself and at the beginning of a line.
fn filled(places: &Places<'_>, lowered: &Lowered, tensor: TensorId, name: &str) -> Option<Fix> {
    let file = places.kernel().0;
    let made = lowered.program.tensors.get(tensor.0 as usize)?.origin;
    let stmt = places.statement(places.own(lowered, made)?)?;
    let names = places.bound_names(stmt)?;
    if !names.iter().map(Name::as_str).eq([name]) {
        return None;
    }
    let indent = indentation(places, file, stmt)?;
    let zero = if lowered.program.tensor(tensor).dtype.is_float() { "0.0" } else { "0" };
    let call = format!("fill({name}, {zero})");
    let edits = vec![Edit { file, range: TextRange::empty(stmt.end()), text: format!("\n{indent}{call};") }];
    Some(Fix { title: format!("begin with zeros: `{call}`"), edits, applicability: Applicability::Maybe })
}
