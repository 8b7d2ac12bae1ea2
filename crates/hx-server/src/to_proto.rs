//! Converts our types to the protocol's: offsets become positions.

use std::str::FromStr as _;

use hx_base::{Severity, SourceFile};
use hx_ide::{CompletionKind, FileRange, HintKind, HintPart};
use tower_lsp::ls_types::*;

use crate::from_proto::Positions;
use crate::state::Snapshot;

pub(crate) fn location(snapshot: &Snapshot, at: FileRange) -> Option<Location> {
    Some(Location { uri: snapshot.uri(at.file)?, range: snapshot.positions(at.file).range(at.range) })
}

pub(crate) fn markdown(value: String) -> MarkupContent {
    MarkupContent { kind: MarkupKind::Markdown, value }
}

/// Converts the diagnostics of one file. Diagnostics whose primary place is in another file are left to that file.
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
        let message = hx_base::printable(&label.message).into_owned();
        Some(DiagnosticRelatedInformation { location, message })
    };
    let related: Vec<_> = found.secondary.iter().filter_map(related).collect();
    let tells = snapshot.shared.client.related_information && !related.is_empty();
    Diagnostic {
        range: positions.range(found.primary.range),
        severity: Some(match found.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Note => DiagnosticSeverity::INFORMATION,
            Severity::Performance => DiagnosticSeverity::HINT,
        }),
        code: Some(NumberOrString::String(found.code.id.to_owned())),
        code_description: code_page(snapshot, found.code),
        source: Some("hx".to_owned()),
        message: hx_base::printable(&message).into_owned(),
        related_information: tells.then_some(related),
        tags: None,
        data: None,
    }
}

/// Returns a link to the page about a code; `None` if the client did not say at which address it opens such pages.
fn code_page(snapshot: &Snapshot, code: &hx_base::Code) -> Option<CodeDescription> {
    let pages = snapshot.shared.options.code_pages.as_deref().filter(|pages| !pages.is_empty())?;
    let href = Uri::from_str(&pages.replace("{code}", code.id)).ok()?;
    Some(CodeDescription { href })
}

/// Converts a hint. Its parts have tooltips and targets only if `whole`: other clients resolve them later.
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

/// Converts a completion entry. If the client does not support snippets, a call becomes the bare name, and an entry that is only a
/// snippet becomes `None`.
pub(crate) fn completion(
    positions: &Positions<'_>,
    entry: &hx_ide::Completion,
    snippets: bool,
) -> Option<CompletionItem> {
    let (mut insert, mut is_snippet) = (entry.insert.clone(), entry.is_snippet);
    if is_snippet && !snippets {
        if entry.kind == CompletionKind::Snippet {
            return None;
        }
        (insert, is_snippet) = (entry.label.clone(), false);
    }
    let kind = match entry.kind {
        CompletionKind::Keyword => CompletionItemKind::KEYWORD,
        CompletionKind::Snippet => CompletionItemKind::SNIPPET,
        // Outlines show kernels with the icon of classes as well.
        CompletionKind::Kernel => CompletionItemKind::CLASS,
        CompletionKind::Function | CompletionKind::Builtin => CompletionItemKind::FUNCTION,
        CompletionKind::Constant => CompletionItemKind::CONSTANT,
        CompletionKind::Local | CompletionKind::Parameter => CompletionItemKind::VARIABLE,
        CompletionKind::TypeParameter => CompletionItemKind::TYPE_PARAMETER,
        CompletionKind::Dimension => CompletionItemKind::ENUM_MEMBER,
        CompletionKind::Type => CompletionItemKind::STRUCT,
        CompletionKind::Module => CompletionItemKind::MODULE,
        CompletionKind::Member => CompletionItemKind::PROPERTY,
        CompletionKind::Argument => CompletionItemKind::FIELD,
    };
    let edit =
        |edit: &hx_ide::Edit| TextEdit { range: positions.range(edit.range), new_text: edit.text.clone() };
    let also: Vec<TextEdit> = entry.also.iter().map(edit).collect();
    let docs = (!entry.docs.is_empty()).then(|| Documentation::MarkupContent(markdown(entry.docs.clone())));
    Some(CompletionItem {
        label: entry.label.clone(),
        kind: Some(kind),
        detail: (!entry.detail.is_empty()).then(|| entry.detail.clone()),
        documentation: docs,
        sort_text: Some(format!("{}{}", entry.rank, entry.label)),
        insert_text_format: Some(if is_snippet {
            InsertTextFormat::SNIPPET
        } else {
            InsertTextFormat::PLAIN_TEXT
        }),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit {
            range: positions.range(entry.range),
            new_text: insert,
        })),
        additional_text_edits: (!also.is_empty()).then_some(also),
        data: entry.item.as_ref().and_then(|item| serde_json::to_value(item).ok()),
        ..Default::default()
    })
}

/// Converts a signature. Offsets in labels are always in UTF-16, whatever the encoding of positions.
pub(crate) fn signature_help(help: &hx_ide::SignatureHelp) -> SignatureHelp {
    let offset = |at: hx_ide::TextSize| {
        let before = help.label.get(..usize::from(at)).unwrap_or_default();
        before.encode_utf16().count() as u32
    };
    let parameter = |range: &hx_ide::TextRange| ParameterInformation {
        label: ParameterLabel::LabelOffsets([offset(range.start()), offset(range.end())]),
        documentation: None,
    };
    // Without a number clients highlight the first parameter. A number that is too large highlights none.
    let active = Some(help.active.unwrap_or(help.params.len()) as u32);
    SignatureHelp {
        signatures: vec![SignatureInformation {
            label: help.label.clone(),
            documentation: help.docs.clone().map(|docs| Documentation::MarkupContent(markdown(docs))),
            parameters: Some(help.params.iter().map(parameter).collect()),
            active_parameter: active,
        }],
        active_signature: Some(0),
        active_parameter: active,
    }
}

/// Returns the kind of a symbol in the protocol, which has no kinds for kernels, tests and benches. Editors draw an icon for each
/// kind, so each of our kinds gets one with a distinct icon: `METHOD` would look like `FUNCTION`.
pub(crate) fn symbol_kind(kind: hx_ide::SymbolKind) -> SymbolKind {
    match kind {
        hx_ide::SymbolKind::Kernel => SymbolKind::CLASS,
        hx_ide::SymbolKind::Function => SymbolKind::FUNCTION,
        hx_ide::SymbolKind::Constant => SymbolKind::CONSTANT,
        hx_ide::SymbolKind::Test => SymbolKind::BOOLEAN,
        hx_ide::SymbolKind::Bench => SymbolKind::EVENT,
        hx_ide::SymbolKind::Main => SymbolKind::MODULE,
        hx_ide::SymbolKind::Parameter => SymbolKind::VARIABLE,
        hx_ide::SymbolKind::CompileTimeParameter => SymbolKind::TYPE_PARAMETER,
    }
}

#[allow(deprecated, reason = "the struct has a field that is")]
pub(crate) fn symbol(positions: &Positions<'_>, symbol: &hx_ide::Symbol) -> DocumentSymbol {
    let children: Vec<DocumentSymbol> =
        symbol.children.iter().map(|child| self::symbol(positions, child)).collect();
    DocumentSymbol {
        name: symbol.name.clone(),
        detail: (!symbol.detail.is_empty()).then(|| symbol.detail.clone()),
        kind: symbol_kind(symbol.kind),
        tags: None,
        deprecated: None,
        range: positions.range(symbol.range),
        selection_range: positions.range(symbol.name_range),
        children: (!children.is_empty()).then_some(children),
    }
}

#[allow(deprecated, reason = "the struct has a field that is")]
pub(crate) fn symbol_information(
    snapshot: &Snapshot,
    name: &str,
    kind: hx_ide::SymbolKind,
    place: FileRange,
) -> Option<SymbolInformation> {
    Some(SymbolInformation {
        name: name.to_owned(),
        kind: symbol_kind(kind),
        tags: None,
        deprecated: None,
        location: location(snapshot, place)?,
        container_name: Some(place.file.path(&snapshot.db).to_owned()),
    })
}
