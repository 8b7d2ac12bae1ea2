//! Formats all tensors and operations of a kernel, each once: layouts with their reasons, then instructions with theirs.

use std::fmt::Write as _;

use hx_tile::{OpId, Origin, TensorId, layout_text, reason_text};

use super::{Chains, Solved};

/// A tensor, or several of an unrolled loop that differ in their names only.
struct Entry {
    tensors: Vec<TensorId>,
    origin: Origin,
    /// The layout without the name.
    layout: String,
    /// The reason without its operations.
    reason: String,
}

/// Writes the layouts with their reasons, followed down to `depth` operations.
pub(super) fn layouts(solved: &Solved<'_>, depth: usize, out: &mut String) {
    let program = solved.program();
    let mut entries: Vec<Entry> = Vec::new();
    for id in program.tensor_ids() {
        let Some((text, reason)) = layout_text(program, solved.solution(), id) else { continue };
        let tensor = program.tensor(id);
        let layout = text.strip_prefix(tensor.name.as_str()).unwrap_or(&text).to_owned();
        let alike = entries.iter_mut().find(|entry| {
            entry.origin == tensor.origin && entry.layout == layout && entry.reason == reason.text
        });
        match alike {
            Some(entry) => entry.tensors.push(id),
            None => entries.push(Entry {
                tensors: vec![id],
                origin: tensor.origin,
                layout,
                reason: reason.text.clone(),
            }),
        }
    }
    if entries.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nlayouts");
    // The operations follow below, so chains only name them.
    let told = program.ops(1.0).into_iter().map(|(op, _)| op.id).collect();
    let mut chains = Chains { depth, told, ..Chains::default() };
    for Entry { tensors, layout, .. } in entries {
        let Some(&first) = tensors.first() else { continue };
        let Some((_, reason)) = layout_text(program, solved.solution(), first) else { continue };
        let name = |id: &TensorId| program.tensor(*id).name.as_str();
        let names = match tensors.as_slice() {
            [.., last] if tensors.len() > 2 => {
                format!("{}, … {} ({} tensors)", name(&first), name(last), tensors.len())
            }
            all => all.iter().map(name).collect::<Vec<_>>().join(", "),
        };
        let _ = writeln!(out, "  {names}{layout}\n      {}", reason_text(reason));
        solved.causes(first, (4, depth), &mut chains, out);
        tensors.into_iter().for_each(|tensor| chains.end(tensor));
    }
}

/// Writes the operations in the order of the text, each with its instruction and the reason for the instruction.
pub(super) fn operations(solved: &Solved<'_>, out: &mut String) {
    let program = solved.program();
    let mut entries: Vec<(Origin, Vec<String>, Vec<OpId>)> = Vec::new();
    for (op, _) in program.ops(1.0) {
        // A statement that decides nothing is in the text already.
        let Some((choice, _)) = hx_tile::instruction_text(program, solved.solution(), op) else { continue };
        let lines = solved.operation_lines(op);
        let key: Vec<String> = std::iter::once(choice).chain(lines.iter().skip(1).cloned()).collect();
        let alike = entries.iter_mut().find(|(origin, own, _)| *origin == op.origin && *own == key);
        match alike {
            Some((.., ops)) => ops.push(op.id),
            None => entries.push((op.origin, key, vec![op.id])),
        }
    }
    if entries.is_empty() {
        return;
    }
    let _ = writeln!(out, "\noperations");
    for (_, _, ops) in entries {
        let Some(op) = ops.first().and_then(|id| program.op(*id)) else { continue };
        let others = match ops.len() - 1 {
            0 => String::new(),
            n => format!(", and {n} more of this line"),
        };
        for (i, line) in solved.operation_lines(op).into_iter().enumerate() {
            let _ = if i == 0 { writeln!(out, "  {line}{others}") } else { writeln!(out, "      {line}") };
        }
    }
}
