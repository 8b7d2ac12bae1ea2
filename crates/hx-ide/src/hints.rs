//! Inlay hints: a layout after the name of each tensor, an instruction after each statement that copies or computes.

mod orders;

use std::collections::BTreeMap;
use std::sync::Arc;

use hx_base::{SourceFile, TextRange, TextSize};
use hx_compile::{Db, Instance};
use hx_hir::{Item, Kernel, file_items, item_range};
use hx_lower::Place;
use hx_tile::{OpId, Reason, TensorId};

use crate::anchor::{Anchor, AnchorKind, Anchors, anchors};
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
    /// The place of the operation that forced the layout, or that became the instruction; `None` if there is none, and for
    /// `, +2`, which stands for several.
    pub target: Option<FileRange>,
}

/// A part of a hint, without positions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KeptPart {
    pub(crate) text: String,
    pub(crate) tooltip: String,
    /// The part of an item as which that operation is written, as for [`HintPart::target`].
    target: Option<Place>,
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
    let instance = shown.instance(db, kernel);
    match instance.and_then(|instance| instance_hints(db, instance).as_ref()) {
        Some(kept) => {
            last_good.keep(db, kernel, Arc::clone(kept));
            let mut hints = instance.map_or_else(Vec::new, |instance| orders::order_hints(db, instance));
            hints.extend(placed(db, kernel, kept, false));
            hints
        }
        None => placed(db, kernel, &last_good.of(db, kernel), true),
    }
}

/// Returns the hints of an instance; `None` if its kernel has errors or no layouts.
///
/// They are a query, the only one above `hx-compile` besides the anchors: an editor asks after each keystroke, and their texts take
/// longer than the answer may. They have no positions, so an edit elsewhere in the file does not compute them again.
#[salsa::tracked]
fn instance_hints<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Option<Arc<[Kept]>> {
    let solved = Solved::of_instance(db, instance)?;
    let anchors = anchors(db, solved.kernel);
    let mut kept = layouts(&solved, anchors);
    kept.extend(instructions(&solved, anchors));
    Some(kept.into())
}

/// Places hints at the current ranges of their anchors.
fn placed(db: &dyn Db, kernel: Kernel<'_>, kept: &[Kept], stale: bool) -> Vec<InlayHint> {
    let by_anchor: BTreeMap<&Anchor, &[KeptPart]> =
        kept.iter().map(|kept| (&kept.anchor, kept.parts.as_slice())).collect();
    let part = |part: &KeptPart| {
        let tooltip = match stale {
            true => format!("*Stale: the kernel has errors. Before them:*\n\n{}", part.tooltip),
            false => part.tooltip.clone(),
        };
        // The target of a stale hint may have moved since, so a stale hint has none.
        let target = part.target.as_ref().filter(|_| !stale).and_then(|target| target.range(db));
        let target = target.map(|(file, range)| FileRange { file, range });
        HintPart { text: part.text.clone(), tooltip, target }
    };
    let mut hints = Vec::new();
    for (anchor, range) in &anchors(db, kernel).all {
        let Some(parts) = by_anchor.get(anchor) else { continue };
        let kind = match anchor.kind {
            AnchorKind::Name => HintKind::Layout,
            AnchorKind::Statement => HintKind::Instruction,
        };
        let offset = range.end() + kernel.offset(db);
        hints.push(InlayHint { offset, kind, parts: parts.iter().map(part).collect(), stale });
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
        let forced = ids.first().and_then(|id| solved.reason(*id)?.from.first().copied());
        let target = forced.and_then(|op| solved.written_at(op)).cloned();
        let text = format!("⟨{first}{more}⟩");
        let part = KeptPart { text, tooltip: dedup(tooltip).join("\n\n---\n\n"), target };
        kept.push(Kept { anchor: anchor.clone(), parts: vec![part] });
    }
    kept
}

/// Returns the place of the first operation that a reason names; `None` if it names none.
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

/// Formats the whole layout of a tensor, and its reason. `None` if the tensor has no layout.
pub(crate) fn layout_tooltip(solved: &Solved<'_>, id: TensorId) -> Option<String> {
    let tensor = solved.tensor(id);
    let layout = solved.layout(id)?;
    let space = tensor.kind.space().name();
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
        let Some(at) = solved.in_item(op.origin) else { continue };
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

fn instruction_parts(solved: &Solved<'_>, groups: &[(String, Vec<OpId>)]) -> Vec<KeptPart> {
    let tooltip = |ids: &[OpId]| {
        let texts = ids.iter().filter_map(|id| instruction_tooltip(solved, *id)).collect();
        dedup(texts).join("\n\n---\n\n")
    };
    let mut parts = Vec::new();
    for (i, (text, ids)) in groups.iter().take(MOST_PARTS).enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        parts.push(KeptPart {
            text: format!("{comma}{text}"),
            tooltip: tooltip(ids),
            target: ids.first().and_then(|op| solved.written_at(*op)).cloned(),
        });
    }
    if groups.len() > MOST_PARTS {
        let rest: Vec<OpId> = groups[MOST_PARTS..].iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
        let text = format!(", +{}", groups.len() - MOST_PARTS);
        parts.push(KeptPart { text, tooltip: tooltip(&rest), target: None });
    }
    parts
}

/// Formats the instruction that an operation became, and its reason. `None` for an operation without an instruction.
pub(crate) fn instruction_tooltip(solved: &Solved<'_>, op: OpId) -> Option<String> {
    let op = solved.lowered.program.op(op)?;
    let program = &solved.lowered.program;
    let (how, reason) = hx_tile::instruction_text(program, solved.solution, op)?;
    let what = hx_tile::op_text(program, op);
    Some(format!("```hx\n{what}\n```\n{how}\n\nBecause: {}", reason.text))
}
