//! Questions about a name: hovers, completion, places, names, calls.

use std::collections::HashMap;

use hx_base::{SourceFile, TextSize};
use hx_ide::{Access, CallItem, Cancellable, DrawingStyle, Edit, FileRange, Symbol};
use hx_layout::draw::{Ground, SvgStyle};
use hx_target::Target;
use tower_lsp::ls_types::*;

use super::{at_position, with_file};
use crate::settings::{Drawings, Theme};
use crate::state::Snapshot;
use crate::task::{Handled, invalid};
use crate::to_proto;

/// The maximal number of results of a search for symbols.
const MOST_SYMBOLS: usize = 256;

/// The width of a drawing in a hover, in pixels. Visual Studio Code's hovers are 500 wide, with a margin at both sides.
const HOVER_WIDTH: usize = 470;

pub(crate) fn hover(snapshot: &Snapshot, params: &HoverParams) -> Handled<Option<Hover>> {
    let at = &params.text_document_position_params;
    with_file(snapshot, &at.text_document.uri, |file| {
        let positions = snapshot.positions(file);
        let style = match snapshot.drawings() {
            Drawings::Svg => DrawingStyle::Svg(svg_style(snapshot.shared.options.theme)),
            Drawings::Unicode => DrawingStyle::Unicode,
            Drawings::None => DrawingStyle::None,
        };
        let offset = positions.offset(at.position);
        let (shown, kept) = (snapshot.shown(file), &snapshot.shared.last_good);
        let reported = |cuda: &hx_ide::CudaText| snapshot.reports(file).get(cuda);
        let found = hx_ide::hover(&snapshot.db, file, offset, &shown, style, &reported, kept)?;
        let choice = match &found {
            Some(_) => choice(snapshot, file, offset, shown.target)?,
            None => None,
        };
        Ok(Ok(found.map(|hover| {
            let text =
                [choice, Some(hover.text)].into_iter().flatten().collect::<Vec<_>>().join("\n\n---\n\n");
            let kind =
                if snapshot.shared.client.markdown { MarkupKind::Markdown } else { MarkupKind::PlainText };
            Hover {
                contents: HoverContents::Markup(MarkupContent { kind, value: text }),
                range: Some(positions.range(hover.range)),
            }
        })))
    })
}

/// Describes the members that a call of a kernel with a family runs; `None` if there is no such call at the offset.
fn choice(
    snapshot: &Snapshot,
    file: SourceFile,
    at: TextSize,
    target: Target,
) -> Cancellable<Option<String>> {
    let Some(choice) = snapshot.shared.config.choice else { return Ok(None) };
    hx_ide::catch(|| choice(&snapshot.db, file, at, target))
}

/// Returns the style of drawings in hovers: the background of the client's theme, white if it is unknown, and the width of a
/// hover.
fn svg_style(theme: Option<Theme>) -> SvgStyle {
    let ground = match theme {
        None => Ground::White,
        Some(Theme::Light) => Ground::Light,
        Some(Theme::Dark) => Ground::Dark,
    };
    SvgStyle { ground, width: Some(HOVER_WIDTH) }
}

pub(crate) fn completion(
    snapshot: &Snapshot,
    params: &CompletionParams,
) -> Handled<Option<CompletionResponse>> {
    let at = &params.text_document_position;
    with_file(snapshot, &at.text_document.uri, |file| {
        let positions = snapshot.positions(file);
        let offset = positions.offset(at.position);
        // A single `:` belongs to `name: Type`, and a space follows: offer nothing. Only `::` requests a completion.
        let typed = params.context.as_ref().and_then(|context| context.trigger_character.as_deref());
        let before = &file.text(&snapshot.db)[..usize::from(offset)];
        if typed == Some(":") && !before.ends_with("::") {
            return Ok(Ok(None));
        }
        let found = hx_ide::completions(&snapshot.db, file, offset)?;
        let snippets = snapshot.shared.client.snippets;
        let items =
            found.iter().filter_map(|entry| to_proto::completion(&positions, entry, snippets)).collect();
        Ok(Ok(Some(CompletionResponse::List(CompletionList { is_incomplete: true, items }))))
    })
}

/// Returns the entry with the docs of the item that it names; unchanged if the item has none.
pub(crate) fn completion_resolve(snapshot: &Snapshot, item: &CompletionItem) -> Handled<CompletionItem> {
    let named = item.data.as_ref().and_then(|d| serde_json::from_value::<(String, String)>(d.clone()).ok());
    let mut item = item.clone();
    if let Some((path, name)) = named
        && let Some(docs) = hx_ide::completion_docs(&snapshot.db, &path, &name)?
    {
        item.documentation = Some(Documentation::MarkupContent(to_proto::markdown(docs)));
    }
    Ok(Ok(item))
}

pub(crate) fn signature_help(
    snapshot: &Snapshot,
    params: &SignatureHelpParams,
) -> Handled<Option<SignatureHelp>> {
    at_position(snapshot, &params.text_document_position_params, |file, offset| {
        let help = hx_ide::signature_help(&snapshot.db, file, offset)?;
        Ok(Ok(help.map(|help| to_proto::signature_help(&help))))
    })
}

pub(crate) fn definition(
    snapshot: &Snapshot,
    params: &GotoDefinitionParams,
) -> Handled<Option<GotoDefinitionResponse>> {
    at_position(snapshot, &params.text_document_position_params, |file, offset| {
        let found = hx_ide::definition(&snapshot.db, file, offset)?;
        let location = found.and_then(|(_, place)| to_proto::location(snapshot, place));
        Ok(Ok(location.map(GotoDefinitionResponse::Scalar)))
    })
}

pub(crate) fn type_definition(
    snapshot: &Snapshot,
    params: &GotoDefinitionParams,
) -> Handled<Option<GotoDefinitionResponse>> {
    at_position(snapshot, &params.text_document_position_params, |file, offset| {
        let found = hx_ide::type_definition(&snapshot.db, file, offset)?;
        let location = found.and_then(|place| to_proto::location(snapshot, place));
        Ok(Ok(location.map(GotoDefinitionResponse::Scalar)))
    })
}

pub(crate) fn references(snapshot: &Snapshot, params: &ReferenceParams) -> Handled<Option<Vec<Location>>> {
    at_position(snapshot, &params.text_document_position, |file, offset| {
        let with = params.context.include_declaration;
        let found = hx_ide::references(&snapshot.db, file, offset, with)?;
        Ok(Ok(Some(found.into_iter().filter_map(|at| to_proto::location(snapshot, at)).collect())))
    })
}

pub(crate) fn highlights(
    snapshot: &Snapshot,
    params: &DocumentHighlightParams,
) -> Handled<Option<Vec<DocumentHighlight>>> {
    let at = &params.text_document_position_params;
    with_file(snapshot, &at.text_document.uri, |file| {
        let positions = snapshot.positions(file);
        let found = hx_ide::highlights(&snapshot.db, file, positions.offset(at.position))?;
        let highlight = |found: hx_ide::Highlight| DocumentHighlight {
            range: positions.range(found.range),
            kind: Some(match found.access {
                Access::Read => DocumentHighlightKind::READ,
                Access::Write => DocumentHighlightKind::WRITE,
            }),
        };
        Ok(Ok(Some(found.into_iter().map(highlight).collect())))
    })
}

pub(crate) fn prepare_rename(
    snapshot: &Snapshot,
    at: &TextDocumentPositionParams,
) -> Handled<Option<PrepareRenameResponse>> {
    with_file(snapshot, &at.text_document.uri, |file| {
        let positions = snapshot.positions(file);
        let found = hx_ide::prepare_rename(&snapshot.db, file, positions.offset(at.position))?;
        Ok(found.map_err(invalid).map(|(range, placeholder)| {
            let range = positions.range(range);
            Some(PrepareRenameResponse::RangeWithPlaceholder { range, placeholder })
        }))
    })
}

pub(crate) fn rename(snapshot: &Snapshot, params: &RenameParams) -> Handled<Option<WorkspaceEdit>> {
    at_position(snapshot, &params.text_document_position, |file, offset| {
        let edits = hx_ide::rename(&snapshot.db, file, offset, &params.new_name)?;
        Ok(edits.map_err(invalid).map(|edits| Some(workspace_edit(snapshot, &edits))))
    })
}

/// Converts edits, which may span several files. Edits of files without a URI are dropped.
pub(super) fn workspace_edit(snapshot: &Snapshot, edits: &[Edit]) -> WorkspaceEdit {
    #[allow(clippy::mutable_key_type, reason = "the type is the protocol's")]
    let mut changes: HashMap<Uri, Vec<TextEdit>> = HashMap::new();
    for edit in edits {
        let Some(uri) = snapshot.uri(edit.file) else { continue };
        let range = snapshot.positions(edit.file).range(edit.range);
        changes.entry(uri).or_default().push(TextEdit { range, new_text: edit.text.clone() });
    }
    WorkspaceEdit { changes: Some(changes), ..Default::default() }
}

pub(crate) fn document_symbols(
    snapshot: &Snapshot,
    params: &DocumentSymbolParams,
) -> Handled<Option<DocumentSymbolResponse>> {
    let uri = &params.text_document.uri;
    with_file(snapshot, uri, |file| {
        let positions = snapshot.positions(file);
        let symbols = hx_ide::document_symbols(&snapshot.db, file)?;
        if snapshot.shared.client.nested_symbols {
            let nested = symbols.iter().map(|symbol| to_proto::symbol(&positions, symbol)).collect();
            return Ok(Ok(Some(DocumentSymbolResponse::Nested(nested))));
        }
        let flat = |symbol: &Symbol| {
            let place = FileRange { file, range: symbol.name_range };
            to_proto::symbol_information(snapshot, &symbol.name, symbol.kind, place)
        };
        Ok(Ok(Some(DocumentSymbolResponse::Flat(symbols.iter().filter_map(flat).collect()))))
    })
}

pub(crate) fn workspace_symbols(
    snapshot: &Snapshot,
    params: &WorkspaceSymbolParams,
) -> Handled<Option<WorkspaceSymbolResponse>> {
    let found = hx_ide::workspace_symbols(&snapshot.db, &params.query, MOST_SYMBOLS)?;
    let symbols = found
        .into_iter()
        .filter_map(|symbol| to_proto::symbol_information(snapshot, &symbol.name, symbol.kind, symbol.place));
    Ok(Ok(Some(WorkspaceSymbolResponse::Flat(symbols.collect()))))
}

pub(crate) fn prepare_calls(
    snapshot: &Snapshot,
    params: &CallHierarchyPrepareParams,
) -> Handled<Option<Vec<CallHierarchyItem>>> {
    at_position(snapshot, &params.text_document_position_params, |file, offset| {
        let item = hx_ide::prepare_calls(&snapshot.db, file, offset)?;
        Ok(Ok(item.and_then(|item| call_item(snapshot, &item)).map(|item| vec![item])))
    })
}

fn call_item(snapshot: &Snapshot, item: &CallItem) -> Option<CallHierarchyItem> {
    let positions = snapshot.positions(item.file);
    Some(CallHierarchyItem {
        name: item.name.clone(),
        kind: to_proto::symbol_kind(item.kind),
        tags: None,
        detail: Some(item.file.path(&snapshot.db).to_owned()),
        uri: snapshot.uri(item.file)?,
        range: positions.range(item.range),
        selection_range: positions.range(item.name_range),
        data: None,
    })
}

pub(crate) fn incoming_calls(
    snapshot: &Snapshot,
    params: &CallHierarchyIncomingCallsParams,
) -> Handled<Option<Vec<CallHierarchyIncomingCall>>> {
    with_file(snapshot, &params.item.uri, |file| {
        let at = snapshot.positions(file).offset(params.item.selection_range.start);
        let calls = hx_ide::incoming_calls(&snapshot.db, file, at)?;
        let call = |call: hx_ide::Call| {
            let positions = snapshot.positions(call.item.file);
            Some(CallHierarchyIncomingCall {
                from: call_item(snapshot, &call.item)?,
                from_ranges: call.places.iter().map(|range| positions.range(*range)).collect(),
            })
        };
        Ok(Ok(Some(calls.into_iter().filter_map(call).collect())))
    })
}

pub(crate) fn outgoing_calls(
    snapshot: &Snapshot,
    params: &CallHierarchyOutgoingCallsParams,
) -> Handled<Option<Vec<CallHierarchyOutgoingCall>>> {
    with_file(snapshot, &params.item.uri, |file| {
        let positions = snapshot.positions(file);
        let at = positions.offset(params.item.selection_range.start);
        let calls = hx_ide::outgoing_calls(&snapshot.db, file, at)?;
        let call = |call: hx_ide::Call| {
            Some(CallHierarchyOutgoingCall {
                to: call_item(snapshot, &call.item)?,
                from_ranges: call.places.iter().map(|range| positions.range(*range)).collect(),
            })
        };
        Ok(Ok(Some(calls.into_iter().filter_map(call).collect())))
    })
}
