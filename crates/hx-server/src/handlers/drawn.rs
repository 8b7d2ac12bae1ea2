//! Answers that are drawn into the text: hints and diagnostics.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use hx_ide::{HintKind, SourceFile, TextRange};
use tower_lsp::ls_types::*;

use super::{known, with_file};
use crate::state::{Snapshot, user_files};
use crate::task::Handled;
use crate::to_proto;

fn hints(
    snapshot: &Snapshot,
    file: SourceFile,
    range: TextRange,
) -> Result<Vec<hx_ide::InlayHint>, hx_ide::Cancelled> {
    let shared = &snapshot.shared;
    let mut hints = hx_ide::inlay_hints(&snapshot.db, file, range, &snapshot.shown(file), &shared.last_good)?;
    let wanted = shared.options.inlay_hints;
    hints.retain(|hint| match hint.kind {
        HintKind::Layout => wanted.layouts,
        HintKind::Instruction => wanted.instructions,
    });
    Ok(hints)
}

pub(crate) fn inlay_hint(snapshot: &Snapshot, params: &InlayHintParams) -> Handled<Option<Vec<InlayHint>>> {
    let uri = &params.text_document.uri;
    with_file(snapshot, uri, |file| {
        let positions = snapshot.positions(file);
        let found = hints(snapshot, file, positions.text_range(params.range))?;
        let resolves = snapshot.shared.client.resolves_hints;
        let hint = |hint: &hx_ide::InlayHint| {
            let mut converted = to_proto::inlay_hint(snapshot, &positions, hint, !resolves);
            if resolves {
                converted.data = serde_json::to_value(uri).ok();
            }
            converted
        };
        Ok(Ok(Some(found.iter().map(hint).collect())))
    })
}

/// Returns the hint with its tooltips and targets. If the file has no such hint at this position any more, returns it unchanged.
pub(crate) fn inlay_hint_resolve(snapshot: &Snapshot, hint: &InlayHint) -> Handled<InlayHint> {
    let uri = hint.data.as_ref().and_then(|data| serde_json::from_value::<Uri>(data.clone()).ok());
    let Some(file) = uri.and_then(|uri| known(snapshot, &uri).ok()) else { return Ok(Ok(hint.clone())) };
    let positions = snapshot.positions(file);
    let at = positions.offset(hint.position);
    let found = hints(snapshot, file, TextRange::empty(at))?;
    let whole = found.iter().map(|found| to_proto::inlay_hint(snapshot, &positions, found, true));
    let same = |found: &InlayHint| found.kind == hint.kind && found.position == hint.position;
    Ok(Ok(whole.into_iter().find(same).unwrap_or_else(|| hint.clone())))
}

fn found(snapshot: &Snapshot, file: SourceFile) -> Result<Vec<Diagnostic>, hx_ide::Cancelled> {
    let found = hx_ide::diagnostics(&snapshot.db, file, &snapshot.shown(file))?;
    Ok(to_proto::diagnostics(snapshot, file, &found))
}

/// Returns a hash of the diagnostics, by which the client names them in its next request.
fn result_id(items: &[Diagnostic]) -> String {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(items).unwrap_or_default().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

pub(crate) fn diagnostic(
    snapshot: &Snapshot,
    params: &DocumentDiagnosticParams,
) -> Handled<DocumentDiagnosticReportResult> {
    // A file that no longer exists has no diagnostics.
    let items = match known(snapshot, &params.text_document.uri) {
        Ok(file) => found(snapshot, file)?,
        Err(_) => Vec::new(),
    };
    let id = result_id(&items);
    let report = if params.previous_result_id.as_ref() == Some(&id) {
        DocumentDiagnosticReport::Unchanged(RelatedUnchangedDocumentDiagnosticReport {
            related_documents: None,
            unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport { result_id: id },
        })
    } else {
        DocumentDiagnosticReport::Full(RelatedFullDocumentDiagnosticReport {
            related_documents: None,
            full_document_diagnostic_report: FullDocumentDiagnosticReport { result_id: Some(id), items },
        })
    };
    Ok(Ok(report.into()))
}

pub(crate) fn workspace_diagnostic(
    snapshot: &Snapshot,
    params: &WorkspaceDiagnosticParams,
) -> Handled<WorkspaceDiagnosticReportResult> {
    let known: HashMap<&str, &str> =
        params.previous_result_ids.iter().map(|id| (id.uri.as_str(), id.value.as_str())).collect();
    let mut reports = Vec::new();
    for file in user_files(&snapshot.db) {
        let Some(uri) = snapshot.uri(file) else { continue };
        let items = found(snapshot, file)?;
        let id = result_id(&items);
        let version = snapshot.shared.documents.of(file).map(|document| i64::from(document.version));
        reports.push(if known.get(uri.as_str()) == Some(&id.as_str()) {
            WorkspaceDocumentDiagnosticReport::Unchanged(WorkspaceUnchangedDocumentDiagnosticReport {
                uri,
                version,
                unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport { result_id: id },
            })
        } else {
            WorkspaceDocumentDiagnosticReport::Full(WorkspaceFullDocumentDiagnosticReport {
                uri,
                version,
                full_document_diagnostic_report: FullDocumentDiagnosticReport { result_id: Some(id), items },
            })
        });
    }
    Ok(Ok(WorkspaceDiagnosticReportResult::Report(WorkspaceDiagnosticReport { items: reports })))
}
