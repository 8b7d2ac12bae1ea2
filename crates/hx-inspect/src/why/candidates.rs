//! Formats all solutions of a kernel as a table: estimated cycles, instructions, and the layouts of one tensor.
//!
//! If several solutions have the same instructions, the lines below each show the layouts in which they differ.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hx_compile::Solved;
use hx_tile::{Choice, OpId, TensorId, choice_text, layout_text, summary_text, unexplored_text};

/// Indentation of the lines below a candidate, up to its choices.
const INDENT: &str = "           ";

/// Formats the solved programs of an instance, chosen one first. Below each are the layout of `tensor` and the instructions that touch it.
pub(super) fn table(all: &[Solved], tensor: Option<&str>) -> String {
    let mut text = String::from("candidate     cycles   × best  choices\n");
    let compared = |solved: &Solved| hx_compile::compared(&solved.program, &solved.solution);
    let cycles: Vec<f64> = all.iter().map(compared).collect();
    let best = cycles.first().map_or(1.0, |cycles| cycles.max(1.0));
    let summaries: Vec<String> =
        all.iter().map(|solved| summary_text(&solved.program, &solved.solution)).collect();
    let told = told_apart(all, &summaries);
    for (i, solved) in all.iter().enumerate() {
        let cycles = cycles[i];
        let _ = writeln!(text, "{i:>9} {cycles:>10.0} {:>8.2}  {}", cycles / best, summaries[i]);
        let mut lines = tensor.map_or_else(Vec::new, |name| fate(solved, name));
        for line in &told[i] {
            if !lines.contains(line) {
                lines.push(line.clone());
            }
        }
        for line in lines {
            let _ = writeln!(text, "{INDENT}{line}");
        }
    }
    if all.len() > hx_compile::CANDIDATES {
        let _ = writeln!(text, "the list ends after {} others; there may be more", hx_compile::CANDIDATES);
    }
    if let Some(stopped) = all.first().and_then(|solved| unexplored_text(&solved.solution)) {
        let _ = writeln!(text, "{stopped}");
    }
    text
}

/// Returns the layouts of the tensors of that name, and the operations that touch them.
fn fate(Solved { program, solution, .. }: &Solved, name: &str) -> Vec<String> {
    let named: Vec<TensorId> = program.tensor_ids().filter(|id| program.tensor(*id).name == name).collect();
    let layouts = named.iter().filter_map(|id| Some(layout_text(program, solution, *id)?.0));
    let ops = program.ops(1.0).into_iter().map(|(op, _)| op);
    let touching = ops.filter(|op| op.kind.tensors().iter().any(|tensor| named.contains(tensor)));
    layouts.chain(touching.filter_map(|op| Some(choice_text(program, solution, op)?.0))).collect()
}

/// A decision of a solution. The order of the variants is the order in which decisions are shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Aspect {
    Register(TensorId),
    Shared(TensorId),
    Choice(OpId),
    /// The addresses that each thread of a copy accesses.
    Addresses(OpId),
}

/// Returns every decision of a solution as text.
fn aspects(Solved { program, solution, .. }: &Solved) -> BTreeMap<Aspect, String> {
    let mut out = BTreeMap::new();
    for id in program.tensor_ids() {
        let Some((text, _)) = layout_text(program, solution, id) else { continue };
        let is_shared = !program.tensor(id).is_register();
        out.insert(if is_shared { Aspect::Shared(id) } else { Aspect::Register(id) }, text);
    }
    for (op, _) in program.ops(1.0) {
        if let Some((text, _)) = choice_text(program, solution, op) {
            if let Some(Choice::Copy(copy)) = solution.choices.get(&op.id) {
                let addresses = format!("{text}, threads address `{}`", copy.memory);
                out.insert(
                    Aspect::Addresses(op.id),
                    format!("{addresses} for registers `{}`", copy.register),
                );
            }
            out.insert(Aspect::Choice(op.id), text);
        }
    }
    out
}

/// Returns for each solution the lines that distinguish it from other solutions with the same summary; none if no other has it.
fn told_apart(all: &[Solved], summaries: &[String]) -> Vec<Vec<String>> {
    let mut told = vec![Vec::new(); all.len()];
    let mut alike: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, summary) in summaries.iter().enumerate() {
        alike.entry(summary).or_default().push(i);
    }
    for group in alike.values().filter(|group| group.len() > 1) {
        let decided: Vec<_> = group.iter().map(|i| aspects(&all[*i])).collect();
        for aspect in telling(&decided) {
            for (i, aspects) in group.iter().zip(&decided) {
                told[*i].extend(aspects.get(&aspect).cloned());
            }
        }
    }
    told
}

/// Chooses a few aspects that distinguish all members of a group: greedily, the one that splits the remaining classes most.
fn telling(group: &[BTreeMap<Aspect, String>]) -> Vec<Aspect> {
    let mut keys: Vec<Aspect> = group.iter().flat_map(BTreeMap::keys).copied().collect();
    keys.sort_unstable();
    keys.dedup();
    let mut classes = vec![0; group.len()];
    let mut count = 1;
    let mut chosen = Vec::new();
    while count < group.len() {
        let mut best = None;
        for key in &keys {
            let (parted, most) = parted(&classes, group, *key);
            if most > best.as_ref().map_or(count, |(_, most, _)| *most) {
                best = Some((*key, most, parted));
            }
        }
        let Some((key, most, parted)) = best else { break };
        (count, classes) = (most, parted);
        chosen.push(key);
    }
    chosen
}

/// Refines the classes of members by an aspect. Returns the class of each member, and the number of classes.
fn parted(classes: &[usize], group: &[BTreeMap<Aspect, String>], by: Aspect) -> (Vec<usize>, usize) {
    let mut seen: BTreeMap<(usize, Option<&String>), usize> = BTreeMap::new();
    let mut out = Vec::with_capacity(group.len());
    for (class, aspects) in classes.iter().zip(group) {
        let next = seen.len();
        out.push(*seen.entry((*class, aspects.get(&by))).or_insert(next));
    }
    (out, seen.len())
}
