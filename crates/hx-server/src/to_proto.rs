//! From our types to the protocol's: offsets become positions.

use hx_base::{Severity, SourceFile};
use hx_ide::{FileRange, HintKind, HintPart};
use tower_lsp::ls_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, InlayHint, InlayHintKind, InlayHintLabel,
    InlayHintLabelPart, InlayHintLabelPartTooltip, Location, MarkupContent, MarkupKind, NumberOrString,
};

use crate::from_proto::Positions;
use crate::state::Snapshot;

pub(crate) fn location(snapshot: &Snapshot, at: FileRange) -> Option<Location> {
    Some(Location { uri: snapshot.uri(at.file)?, range: snapshot.positions(at.file).range(at.range) })
}

pub(crate) fn markdown(value: String) -> MarkupContent {
    MarkupContent { kind: MarkupKind::Markdown, value }
}

/// The findings of one file. Those whose main place is in another file are that file's.
pub(crate) fn diagnostics(
    snapshot: &Snapshot,
    file: SourceFile,
    found: &[hx_base::Diagnostic],
) -> Vec<Diagnostic> {
    let own = found.iter().filter(|diagnostic| diagnostic.primary.file == file);
    own.map(|found| diagnostic(snapshot, found)).collect()
}

pub(crate) fn diagnostic(snapshot: &Snapshot, found: &hx_base::Diagnostic) -> Diagnostic {
    let positions = snapshot.positions(found.primary.file);
    let mut message = found.message.clone();
    let label = &found.primary.message;
    if !label.is_empty() && !message.contains(label.as_str()) {
        message.push_str(&format!("\n{label}"));
    }
    found.notes.iter().for_each(|note| message.push_str(&format!("\nnote: {note}")));
    found.help.iter().for_each(|help| message.push_str(&format!("\nhelp: {help}")));
    let related = |label: &hx_base::Label| {
        let location = location(snapshot, FileRange { file: label.file, range: label.range })?;
        Some(DiagnosticRelatedInformation { location, message: label.message.clone() })
    };
    let related: Vec<_> = found.secondary.iter().filter_map(related).collect();
    let tells = snapshot.shared.client.related_information && !related.is_empty();
    Diagnostic {
        range: positions.range(found.primary.range),
        severity: Some(match found.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Note => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(found.code.id.to_owned())),
        code_description: None,
        source: Some("hx".to_owned()),
        message,
        related_information: tells.then_some(related),
        tags: None,
        data: None,
    }
}

/// A hint. Its parts have tooltips and targets unless the client asks for them when it needs them.
pub(crate) fn inlay_hint(
    snapshot: &Snapshot,
    positions: &Positions<'_>,
    hint: &hx_ide::InlayHint,
    whole: bool,
) -> InlayHint {
    let part = |part: &HintPart| InlayHintLabelPart {
        value: part.text.clone(),
        tooltip: whole.then(|| InlayHintLabelPartTooltip::MarkupContent(markdown(part.tooltip.clone()))),
        location: if whole { part.target.and_then(|at| location(snapshot, at)) } else { None },
        command: None,
    };
    let mut parts: Vec<InlayHintLabelPart> = hint.parts.iter().map(part).collect();
    if hint.stale
        && let Some(first) = parts.first_mut()
    {
        first.value = format!("~ {}", first.value);
    }
    InlayHint {
        position: positions.position(hint.offset),
        label: InlayHintLabel::LabelParts(parts),
        kind: Some(match hint.kind {
            HintKind::Layout => InlayHintKind::TYPE,
            HintKind::Instruction => InlayHintKind::PARAMETER,
        }),
        text_edits: None,
        tooltip: None,
        padding_left: Some(true),
        padding_right: Some(false),
        data: None,
    }
}
