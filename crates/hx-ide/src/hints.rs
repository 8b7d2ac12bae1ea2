//! Inlay hints: a layout after the name of each tensor, an instruction after each statement that copies or computes.

use std::collections::BTreeMap;

use hx_base::{SourceFile, TextRange, TextSize};
use hx_compile::Db;
use hx_hir::{Item, Kernel, file_items, item_range};
use hx_tile::{OpId, Reason, TensorId};

use crate::anchor::{Anchor, AnchorKind, Anchors};
use crate::last_good::{Kept, LastGood};
use crate::solved::Solved;
use crate::{Cancellable, FileRange, Shown, catch};

/// The maximal number of instructions in the hint of one statement. The tooltip of the last part lists the others.
const MOST_PARTS: usize = 2;

/// The subject of a hint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum HintKind {
    /// The layout of the tensor whose name precedes the hint.
    Layout,
    /// The instruction that the statement before the hint became.
    Instruction,
}

/// A short text that an editor shows inside the written text.
#[derive(Clone, PartialEq, Debug)]
pub struct InlayHint {
    /// The hint follows this byte.
    pub offset: TextSize,
    pub kind: HintKind,
    /// Parts that are shown side by side; each has its own tooltip and target.
    pub parts: Vec<HintPart>,
    /// The kernel has errors: the hint shows the state before them.
    pub stale: bool,
}

impl InlayHint {
    /// Returns the text of all parts.
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }
}

/// A part of a hint.
#[derive(Clone, PartialEq, Debug)]
pub struct HintPart {
    pub text: String,
    /// Markdown: the whole layout or instruction, and why it was chosen.
    pub tooltip: String,
    /// The place of the operation that forced the layout or instruction.
    pub target: Option<FileRange>,
}

/// Returns the hints of a range of a file, in text order. Kernels with errors have the hints from before the errors, marked as
/// stale.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn inlay_hints(
    db: &dyn Db,
    file: SourceFile,
    range: TextRange,
    shown: &Shown,
    last_good: &LastGood,
) -> Cancellable<Vec<InlayHint>> {
    catch(|| {
        let mut hints = Vec::new();
        for kernel in file_items(db, file).kernels() {
            if item_range(db, Item::Kernel(kernel)).intersect(range).is_some() {
                hints.extend(kernel_hints(db, kernel, shown, last_good));
            }
        }
        last_good.prune(db, file);
        hints.retain(|hint| range.contains_inclusive(hint.offset));
        hints
    })
}

fn kernel_hints(db: &dyn Db, kernel: Kernel<'_>, shown: &Shown, last_good: &LastGood) -> Vec<InlayHint> {
    let anchors = Anchors::of(db, kernel);
    let Some(solved) = Solved::of(db, kernel, shown) else {
        return placed(&anchors, last_good.of(db, kernel), true);
    };
    let mut kept = layouts(&solved, &anchors);
    kept.extend(instructions(&solved, &anchors));
    last_good.keep(db, kernel, kept.clone());
    placed(&anchors, kept, false)
}

/// Places hints at the current ranges of their anchors.
fn placed(anchors: &Anchors, kept: Vec<Kept>, stale: bool) -> Vec<InlayHint> {
    let mut by_anchor: BTreeMap<Anchor, Vec<HintPart>> =
        kept.into_iter().map(|kept| (kept.anchor, kept.parts)).collect();
    let mut hints = Vec::new();
    for (anchor, range) in &anchors.all {
        let Some(mut parts) = by_anchor.remove(anchor) else { continue };
        if stale {
            for part in &mut parts {
                part.tooltip = format!("*Stale: the kernel has errors. Before them:*\n\n{}", part.tooltip);
                // The target may have moved since, so a stale hint has none.
                part.target = None;
            }
        }
        let kind = match anchor.kind {
            AnchorKind::Name => HintKind::Layout,
            AnchorKind::Statement => HintKind::Instruction,
        };
        hints.push(InlayHint { offset: range.end(), kind, parts, stale });
    }
    hints.sort_by_key(|hint| (hint.offset, hint.kind));
    hints
}

fn layouts(solved: &Solved<'_>, anchors: &Anchors) -> Vec<Kept> {
    let mut by_name: Vec<(TextRange, Vec<TensorId>)> = Vec::new();
    for (at, id) in solved.named_tensors() {
        match by_name.iter_mut().find(|(range, _)| *range == at) {
            Some((_, ids)) => ids.push(id),
            None => by_name.push((at, vec![id])),
        }
    }
    let mut kept = Vec::new();
    for (at, ids) in by_name {
        let Some(anchor) = anchors.name_at(at) else { continue };
        let aliases: Vec<String> = ids.iter().filter_map(|id| solved.alias(*id)).collect();
        let Some(first) = aliases.first() else { continue };
        let more = if aliases.iter().all(|alias| alias == first) { "" } else { ", …" };
        let tooltip: Vec<String> = ids.iter().filter_map(|id| layout_tooltip(solved, *id)).collect();
        let target = ids.first().and_then(|id| forced_by(solved, solved.reason(*id)?));
        let text = format!("⟨{first}{more}⟩");
        let part = HintPart { text, tooltip: dedup(tooltip).join("\n\n---\n\n"), target };
        kept.push(Kept { anchor: anchor.clone(), parts: vec![part] });
    }
    kept
}

/// Returns the place of the first operation that a reason names.
pub(crate) fn forced_by(solved: &Solved<'_>, reason: &Reason) -> Option<FileRange> {
    reason.from.first().and_then(|op| solved.place(*op))
}

fn dedup(mut texts: Vec<String>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    texts.retain(|text| {
        let new = !seen.contains(text);
        if new {
            seen.push(text.clone());
        }
        new
    });
    texts
}

/// Formats the whole layout of a tensor, and its reason.
pub(crate) fn layout_tooltip(solved: &Solved<'_>, id: TensorId) -> Option<String> {
    let tensor = solved.tensor(id);
    let layout = solved.layout(id)?;
    let space = if tensor.is_register() { "register" } else { "shared" };
    let mut text =
        format!("```hx\n{}: {space} {}{:?}\n{layout}\n```\n", tensor.name, tensor.dtype, tensor.shape);
    if let Some(d) = solved.solution.registers.get(&id) {
        let (threads, values) = (d.layout.mode(0).size(), d.layout.mode(1).size());
        text.push_str(&format!("{threads} threads × {values} values"));
        let held = threads.saturating_mul(values);
        let size: i64 = d.tile.iter().product();
        if size > 0 && held > size {
            text.push_str(&format!("; each element is held {} times", held / size));
        }
        if d.tile != tensor.shape {
            text.push_str(&format!("; covers {:?}", d.tile));
        }
    } else if let Some(shared) = solved.solution.shared.get(&id) {
        text.push_str(&format!(
            "{} bytes at byte {} of the block's shared memory",
            shared.bytes, shared.offset
        ));
    }
    if let Some(reason) = solved.reason(id) {
        text.push_str(&format!("\n\nBecause: {}", reason.text));
        if let Some(op) = reason.from.first().and_then(|op| solved.lowered.program.op(*op)) {
            text.push_str(&format!("\n\nForced by `{}`", hx_tile::op_text(&solved.lowered.program, op)));
        }
    }
    Some(text)
}

fn instructions(solved: &Solved<'_>, anchors: &Anchors) -> Vec<Kept> {
    let mut by_statement: BTreeMap<&Anchor, Vec<(OpId, String, u8)>> = BTreeMap::new();
    for op in solved.ops() {
        let Some((text, rank)) = solved.instruction(op.id) else { continue };
        let Some(at) = solved.in_kernel(op.origin) else { continue };
        let Some((anchor, _)) = anchors.statement_around(at) else { continue };
        by_statement.entry(anchor).or_default().push((op.id, text, rank));
    }
    let mut kept = Vec::new();
    for (anchor, ops) in by_statement {
        let rank = ops.iter().map(|(_, _, rank)| *rank).max().unwrap_or_default();
        let mut groups: Vec<(String, Vec<OpId>)> = Vec::new();
        for (op, text, _) in ops.into_iter().filter(|(_, _, r)| *r == rank) {
            match groups.iter_mut().find(|(known, _)| *known == text) {
                Some((_, ids)) => ids.push(op),
                None => groups.push((text, vec![op])),
            }
        }
        kept.push(Kept { anchor: anchor.clone(), parts: instruction_parts(solved, &groups) });
    }
    kept
}

fn instruction_parts(solved: &Solved<'_>, groups: &[(String, Vec<OpId>)]) -> Vec<HintPart> {
    let tooltip = |ids: &[OpId]| {
        let texts = ids.iter().filter_map(|id| instruction_tooltip(solved, *id)).collect();
        dedup(texts).join("\n\n---\n\n")
    };
    let mut parts = Vec::new();
    for (i, (text, ids)) in groups.iter().take(MOST_PARTS).enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        parts.push(HintPart {
            text: format!("{comma}{text}"),
            tooltip: tooltip(ids),
            target: ids.first().and_then(|op| solved.place(*op)),
        });
    }
    if groups.len() > MOST_PARTS {
        let rest: Vec<OpId> = groups[MOST_PARTS..].iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
        let text = format!(", +{}", groups.len() - MOST_PARTS);
        parts.push(HintPart { text, tooltip: tooltip(&rest), target: None });
    }
    parts
}

/// Formats the instruction that an operation became, and its reason.
pub(crate) fn instruction_tooltip(solved: &Solved<'_>, op: OpId) -> Option<String> {
    let op = solved.lowered.program.op(op)?;
    let (choice, reason) = solved.choice(op)?;
    // Drop the operation's number: it has a meaning only in listings.
    let choice = choice.split_once(' ').map_or(choice.as_str(), |(_, rest)| rest);
    let (what, how) = choice.rsplit_once(": ").unwrap_or((choice, ""));
    Some(format!("```hx\n{what}\n```\n{how}\n\nBecause: {}", reason.text))
}
