//! Converts results to JSON. Layouts and reasons have the form of `hx/layout` and `hx/explainLayout`, so that the page draws them
//! with the modules of the other editors.

use hx_base::{Diagnostic, Edit, Label, SourceFile, TextRange, TextSize, printable};
use hx_ide::{
    Cancellable, Completion, CompletionKind, FileRange, HintKind, InlayHint, Layouts, Lens, LensAction,
    Modifiers, NamedDrawing, ReasonStep, SemanticToken, SignatureHelp, TensorLayout,
};
use hx_workspace::Database;
use serde_json::{Value, json};

use crate::units::{Span, Units};

/// Converts places in one text to UTF-16 units.
pub(crate) struct Places<'a> {
    db: &'a Database,
    pub(crate) file: SourceFile,
    units: Units,
}

impl<'a> Places<'a> {
    pub(crate) fn new(db: &'a Database, file: SourceFile) -> Places<'a> {
        Places { db, file, units: Units::of(file.text(db)) }
    }

    pub(crate) fn whole(&self) -> TextRange {
        TextRange::up_to(TextSize::of(self.file.text(self.db)))
    }

    pub(crate) fn byte(&self, unit: u32) -> TextSize {
        self.units.byte(unit)
    }

    pub(crate) fn unit(&self, byte: TextSize) -> u32 {
        self.units.unit(byte)
    }

    pub(crate) fn span(&self, range: TextRange) -> Span {
        self.units.span(range)
    }

    /// Converts a place: `from` and `to` in the page's text, or a `path` in the standard library with a `line` from 1.
    pub(crate) fn location(&self, file: SourceFile, range: TextRange) -> Value {
        if file == self.file {
            return json!(self.span(range));
        }
        let line = hx_base::line_index(self.db, file).try_line_col(range.start()).map_or(0, |at| at.line);
        json!({ "path": file.path(self.db), "line": line + 1 })
    }

    /// Converts a place. A place in the standard library also gets the text of its file, and the kinds of its words for colours.
    pub(crate) fn location_with_text(&self, at: FileRange) -> Cancellable<Value> {
        let mut location = self.location(at.file, at.range);
        if at.file != self.file {
            let there = Places::new(self.db, at.file);
            let tokens = hx_ide::semantic_tokens(self.db, at.file, there.whole())?;
            location["text"] = json!(at.file.text(self.db));
            location["tokens"] = tokens.iter().map(|token| there.token(token)).collect();
        }
        Ok(location)
    }

    pub(crate) fn token(&self, token: &SemanticToken) -> Value {
        let Span { from, to } = self.span(token.range);
        let has = |at: usize| token.modifiers.contains(Modifiers(1 << at));
        let modifiers = Modifiers::NAMES.iter().enumerate().filter(|(at, _)| has(*at)).map(|(_, name)| *name);
        let kinds: Vec<&str> = std::iter::once(token.kind.name()).chain(modifiers).collect();
        json!([from, to, kinds.join(" ")])
    }

    pub(crate) fn edit(&self, range: TextRange, text: &str) -> Value {
        let Span { from, to } = self.span(range);
        json!({ "from": from, "to": to, "insert": text })
    }

    /// Reports whether all edits are in the file of the page. A change with others is left out: the page has no other file.
    pub(crate) fn is_own(&self, edits: &[Edit]) -> bool {
        edits.iter().all(|edit| edit.file == self.file)
    }

    /// Converts a titled change whose edits are all in the file of the page ([`Self::is_own`]).
    pub(crate) fn change(&self, title: &str, edits: &[Edit]) -> Value {
        json!({ "title": title, "edits": edits.iter().map(|edit| self.edit(edit.range, &edit.text)).collect::<Value>() })
    }

    pub(crate) fn diagnostic(&self, found: &Diagnostic) -> Value {
        let label = |label: &Label| json!({ "at": self.location(label.file, label.range), "message": printable(&label.message) });
        let fixes = found.fixes.iter().filter(|fix| self.is_own(&fix.edits));
        json!({
            "code": found.code.id,
            "severity": found.severity.as_str(),
            "message": printable(&found.message),
            "at": self.location(found.primary.file, found.primary.range),
            "label": printable(&found.primary.message),
            "related": found.secondary.iter().map(label).collect::<Value>(),
            "notes": found.notes.iter().map(|note| json!(printable(note))).collect::<Value>(),
            "help": found.help.iter().map(|help| json!(printable(help))).collect::<Value>(),
            "fixes": fixes.map(|fix| self.change(&fix.title, &fix.edits)).collect::<Value>(),
        })
    }

    pub(crate) fn hint(&self, hint: &InlayHint) -> Value {
        let parts = hint.parts.iter().map(|part| {
            let target = part.target.map(|at| self.location(at.file, at.range));
            json!({ "text": part.text, "tooltip": part.tooltip, "target": target })
        });
        json!({
            "at": self.unit(hint.offset),
            "kind": match hint.kind {
                HintKind::Layout => "layout",
                HintKind::Instruction => "instruction",
            },
            "stale": hint.stale,
            "parts": parts.collect::<Value>(),
        })
    }

    pub(crate) fn lens(&self, lens: &Lens) -> Value {
        let (kind, detail) = match &lens.action {
            LensAction::Test { filter, .. } => ("test", json!(filter)),
            LensAction::Run => ("run", Value::Null),
            LensAction::Show { stage, .. } => ("show", json!(stage)),
            LensAction::Costs(costs) => {
                ("costs", json!(costs.estimate.as_ref().map(|cycles| cycles.text.as_str())))
            }
            LensAction::Bench { .. } | LensAction::ShowDefault { .. } | LensAction::ShowInstance { .. } => {
                ("other", Value::Null)
            }
        };
        let at = self.unit(lens.range.start());
        json!({ "at": at, "kind": kind, "title": lens.title(), "stale": lens.stale, "detail": detail })
    }

    pub(crate) fn completion(&self, entry: &Completion) -> Value {
        let also = entry.also.iter().filter(|edit| edit.file == self.file);
        json!({
            "label": entry.label,
            "kind": completion_kind(entry.kind),
            "detail": entry.detail,
            "docs": entry.docs,
            "at": self.span(entry.range),
            "insert": entry.insert,
            "snippet": entry.is_snippet,
            "rank": entry.rank,
            "also": also.map(|edit| self.edit(edit.range, &edit.text)).collect::<Value>(),
            "item": entry.item,
        })
    }

    pub(crate) fn layouts(&self, found: &Layouts) -> Value {
        let tensors = found.tensors.iter().map(|tensor| self.tensor(tensor));
        json!({ "kernel": found.kernel, "tensors": tensors.collect::<Value>() })
    }

    fn tensor(&self, tensor: &TensorLayout) -> Value {
        json!({
            "name": tensor.name,
            "space": tensor.space,
            "dtype": tensor.dtype,
            "shape": tensor.shape,
            "alias": tensor.alias,
            "layout": tensor.layout,
            "reason": tensor.reason,
            "forcedBy": tensor.forced_by.map(|at| self.location(at.file, at.range)),
            "drawings": tensor.drawings.iter().map(drawing).collect::<Value>(),
        })
    }

    pub(crate) fn reasons(&self, steps: &[ReasonStep]) -> Value {
        json!({ "steps": steps.iter().map(|step| self.step(step)).collect::<Value>() })
    }

    fn step(&self, step: &ReasonStep) -> Value {
        json!({
            "what": step.what,
            "reason": step.reason,
            "location": step.place.map(|at| self.location(at.file, at.range)),
            "from": step.from.iter().map(|below| self.step(below)).collect::<Value>(),
        })
    }
}

/// Converts a drawing to its cells, in the form of `hx/layout` with `"form": "cells"`.
fn drawing(named: &NamedDrawing) -> Value {
    let drawing = &named.drawing;
    let cells = &drawing.cells;
    let has_owners = cells.iter().any(|cell| !cell.owners.is_empty());
    let owners = cells.iter().filter(|_| has_owners).map(|cell| json!(cell.owners));
    json!({
        "kind": named.kind,
        "title": drawing.title,
        "rows": drawing.rows,
        "cols": drawing.cols,
        "rowStep": drawing.row_step,
        "colStep": drawing.col_step,
        "texts": cells.iter().map(|cell| json!(cell.text)).collect::<Value>(),
        "groups": cells.iter().map(|cell| json!(cell.group)).collect::<Value>(),
        "owners": owners.collect::<Value>(),
    })
}

/// Converts the header of a called function. The ranges of its parameters count UTF-16 units of the label.
pub(crate) fn signature(help: &SignatureHelp) -> Value {
    let units = Units::of(&help.label);
    let params = help.params.iter().map(|range| json!(units.span(*range)));
    json!({
        "label": help.label,
        "params": params.collect::<Value>(),
        "active": help.active,
        "docs": help.docs,
    })
}

fn completion_kind(kind: CompletionKind) -> &'static str {
    match kind {
        CompletionKind::Keyword => "keyword",
        CompletionKind::Snippet => "snippet",
        CompletionKind::Kernel => "kernel",
        CompletionKind::Function => "function",
        CompletionKind::Builtin => "builtin",
        CompletionKind::Constant => "constant",
        CompletionKind::Local => "local",
        CompletionKind::Parameter => "parameter",
        CompletionKind::TypeParameter => "typeParameter",
        CompletionKind::Dimension => "dimension",
        CompletionKind::Type => "type",
        CompletionKind::Module => "module",
        CompletionKind::Member => "member",
        CompletionKind::Argument => "argument",
    }
}
