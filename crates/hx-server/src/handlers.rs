//! Handlers of questions: each finds the file, converts the parameters, asks `hx-ide`, and converts the answer.

mod capabilities;
mod code;
mod drawn;
mod language;
mod links;
mod text;

use hx_ide::{SourceFile, TextSize};
use tower_lsp::ls_types::{TextDocumentPositionParams, Uri};

pub(crate) use capabilities::capabilities;
pub(crate) use code::{
    Emission, costs, emit, explain_layout, layout, server_status, syntax_tree, unreported,
};
pub(crate) use drawn::{diagnostic, inlay_hint, inlay_hint_resolve, workspace_diagnostic};
pub(crate) use language::{
    completion, completion_resolve, definition, document_symbols, highlights, hover, incoming_calls,
    outgoing_calls, prepare_calls, prepare_rename, references, rename, signature_help, type_definition,
    workspace_symbols,
};
pub(crate) use links::{links, moved_files};
pub(crate) use text::{
    action_resolve, actions, folds, formatting, legend, lenses, on_type_formatting, range_formatting,
    selections, semantic_tokens, semantic_tokens_delta, semantic_tokens_range,
};

use crate::state::Snapshot;
use crate::task::{Handled, invalid};

/// Returns the file of a URI.
///
/// # Errors
/// If the server does not know it; the error names the URI.
fn known(snapshot: &Snapshot, uri: &Uri) -> Result<SourceFile, tower_lsp::jsonrpc::Error> {
    snapshot.file(uri).ok_or_else(|| invalid(format!("`{}` is not known to the server", uri.as_str())))
}

/// Answers a question about a file, or returns an error if the server does not know the file.
fn with_file<T>(snapshot: &Snapshot, uri: &Uri, answer: impl FnOnce(SourceFile) -> Handled<T>) -> Handled<T> {
    match known(snapshot, uri) {
        Ok(file) => answer(file),
        Err(error) => Ok(Err(error)),
    }
}

/// Like [`with_file`]; `answer` also gets the offset of a position in the file, in bytes.
fn at_position<T>(
    snapshot: &Snapshot,
    at: &TextDocumentPositionParams,
    answer: impl FnOnce(SourceFile, TextSize) -> Handled<T>,
) -> Handled<T> {
    with_file(snapshot, &at.text_document.uri, |file| {
        answer(file, snapshot.positions(file).offset(at.position))
    })
}
