//! The table of questions that readers answer, with the effect of an edit that arrives before the answer.

use tower_lsp::ls_types::*;

use crate::files::path_of;
use crate::protocol;

/// The effect of an edit on a question that has no answer yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Overtaken {
    /// For questions about the current text: the server asks again about the newest text.
    Newest,
    /// For questions about a place. If the text before the place is unchanged, as when the user types further on, the server asks
    /// again about the newest text. Otherwise the client gets the error "content modified".
    SamePlace,
    /// For questions about the word that ends at a place. If only letters were added to that word, the server asks again about
    /// the newest text. Otherwise the client gets the error "content modified" and asks about the next word; it would match
    /// entries for the old word with the next one.
    SameWord,
    /// For questions whose answer edits the client's text. If the document is unchanged, as after an edit of another file, the
    /// server asks again. Otherwise the client gets the error "content modified".
    SameText,
}

/// A method of the protocol, and the effect of an edit on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Question {
    pub(crate) method: &'static str,
    pub(crate) overtaken: Overtaken,
}

macro_rules! questions {
    ($($name:ident = $method:literal, $overtaken:ident;)*) => {
        $(pub(crate) const $name: Question = Question { method: $method, overtaken: Overtaken::$overtaken };)*

        #[cfg(test)]
        const ALL: &[Question] = &[$($name),*];
    };
}

questions! {
    CODE_LENS = "textDocument/codeLens", Newest;
    COMPLETION_RESOLVE = "completionItem/resolve", Newest;
    COSTS = "hx/costs", Newest;
    DIAGNOSTIC = "textDocument/diagnostic", Newest;
    DOCUMENT_LINK = "textDocument/documentLink", Newest;
    DOCUMENT_SYMBOL = "textDocument/documentSymbol", Newest;
    FOLDING_RANGE = "textDocument/foldingRange", Newest;
    INLAY_HINT = "textDocument/inlayHint", Newest;
    REGISTERS = "textDocument/didSave", Newest;
    SEMANTIC_TOKENS = "textDocument/semanticTokens/full", Newest;
    SEMANTIC_TOKENS_DELTA = "textDocument/semanticTokens/full/delta", Newest;
    SEMANTIC_TOKENS_RANGE = "textDocument/semanticTokens/range", Newest;
    SERVER_STATUS = "hx/serverStatus", Newest;
    SYNTAX_TREE = "hx/syntaxTree", Newest;
    WORKSPACE_DIAGNOSTIC = "workspace/diagnostic", Newest;
    WORKSPACE_SYMBOL = "workspace/symbol", Newest;

    CODE_ACTION = "textDocument/codeAction", SamePlace;
    CODE_ACTION_RESOLVE = "codeAction/resolve", SamePlace;
    COMPLETION = "textDocument/completion", SameWord;
    DEFINITION = "textDocument/definition", SamePlace;
    DOCUMENT_HIGHLIGHT = "textDocument/documentHighlight", SamePlace;
    EMIT = "hx/emit", SamePlace;
    EXPLAIN_LAYOUT = "hx/explainLayout", SamePlace;
    HOVER = "textDocument/hover", SamePlace;
    INCOMING_CALLS = "callHierarchy/incomingCalls", SamePlace;
    INLAY_HINT_RESOLVE = "inlayHint/resolve", SamePlace;
    LAYOUT = "hx/layout", SamePlace;
    OUTGOING_CALLS = "callHierarchy/outgoingCalls", SamePlace;
    PREPARE_CALLS = "textDocument/prepareCallHierarchy", SamePlace;
    PREPARE_RENAME = "textDocument/prepareRename", SamePlace;
    REFERENCES = "textDocument/references", SamePlace;
    SELECTION_RANGE = "textDocument/selectionRange", SamePlace;
    SIGNATURE_HELP = "textDocument/signatureHelp", SamePlace;
    TYPE_DEFINITION = "textDocument/typeDefinition", SamePlace;

    FORMATTING = "textDocument/formatting", SameText;
    ON_TYPE_FORMATTING = "textDocument/onTypeFormatting", SameText;
    RANGE_FORMATTING = "textDocument/rangeFormatting", SameText;
    RENAME = "textDocument/rename", SameText;
    WILL_RENAME_FILES = "workspace/willRenameFiles", SameText;
}

/// The document of a question, and the last place of it that the answer depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Subject {
    pub(crate) path: String,
    pub(crate) place: Position,
}

/// Reports whether the text after a place is unchanged, except for letters of a word inserted exactly at the place.
pub(crate) fn is_same_word(before: &str, now: &str) -> bool {
    let typed = now.strip_suffix(before);
    typed.is_some_and(|typed| typed.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

/// Parameters that name the subject of their question.
pub(crate) trait About {
    /// Returns the subject; `None` for a question that is not about a place in a document.
    fn subject(&self) -> Option<Subject>;
}

fn subject(uri: &Uri, place: Position) -> Option<Subject> {
    Some(Subject { path: path_of(uri), place })
}

fn at(place: &TextDocumentPositionParams) -> Option<Subject> {
    subject(&place.text_document.uri, place.position)
}

macro_rules! about {
    ($($params:ty: |$it:pat_param| $subject:expr;)*) => {
        $(impl About for $params {
            fn subject(&self) -> Option<Subject> {
                let $it = self;
                $subject
            }
        })*
    };
}

about! {
    (): |()| None;
    Uri: |_| None;
    CodeLensParams: |_| None;
    CompletionItem: |_| None;
    DocumentDiagnosticParams: |_| None;
    DocumentLinkParams: |_| None;
    DocumentSymbolParams: |_| None;
    FoldingRangeParams: |_| None;
    InlayHintParams: |_| None;
    SemanticTokensDeltaParams: |_| None;
    SemanticTokensParams: |_| None;
    SemanticTokensRangeParams: |_| None;
    WorkspaceDiagnosticParams: |_| None;
    WorkspaceSymbolParams: |_| None;
    protocol::CostsParams: |_| None;
    protocol::SyntaxTreeParams: |_| None;

    CallHierarchyIncomingCallsParams: |it| subject(&it.item.uri, it.item.selection_range.end);
    CallHierarchyOutgoingCallsParams: |it| subject(&it.item.uri, it.item.selection_range.end);
    CallHierarchyPrepareParams: |it| at(&it.text_document_position_params);
    CodeAction: |it| of_data(it.data.as_ref()?, None);
    CodeActionParams: |it| subject(&it.text_document.uri, it.range.end);
    CompletionParams: |it| at(&it.text_document_position);
    DocumentHighlightParams: |it| at(&it.text_document_position_params);
    GotoDefinitionParams: |it| at(&it.text_document_position_params);
    HoverParams: |it| at(&it.text_document_position_params);
    InlayHint: |it| of_data(it.data.as_ref()?, Some(it.position));
    ReferenceParams: |it| at(&it.text_document_position);
    SelectionRangeParams: |it| subject(&it.text_document.uri, it.positions.iter().max().copied()?);
    SignatureHelpParams: |it| at(&it.text_document_position_params);
    TextDocumentPositionParams: |it| at(it);
    protocol::EmitParams: |it| subject(&it.text_document.uri, it.position?);
    protocol::LayoutParams: |it| subject(&it.text_document.uri, it.position);

    DocumentFormattingParams: |it| subject(&it.text_document.uri, Position::default());
    DocumentOnTypeFormattingParams: |it| at(&it.text_document_position);
    DocumentRangeFormattingParams: |it| subject(&it.text_document.uri, it.range.end);
    // The answer edits documents that the question does not name.
    RenameFilesParams: |_| None;
    RenameParams: |it| at(&it.text_document_position);
}

/// Returns the subject of data that the server itself has sent: a URI, or an object with a URI and a range. Without `place`,
/// the subject ends with the range. `None` for other data.
fn of_data(data: &LSPAny, place: Option<Position>) -> Option<Subject> {
    let uri = serde_json::from_value(data.get("uri").unwrap_or(data).clone()).ok()?;
    let range = || serde_json::from_value::<Range>(data.get("range")?.clone()).ok();
    subject(&uri, place.or_else(|| Some(range()?.end))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documentation for authors of clients must match the table.
    #[test]
    fn the_page_has_the_table() {
        let page = include_str!("../../../book/src/contributing/protocol.md");
        for (overtaken, row) in [
            (Overtaken::Newest, "| the text as it is |"),
            (Overtaken::SamePlace, "| a place |"),
            (Overtaken::SameWord, "| a word |"),
            (Overtaken::SameText, "| edits of the text |"),
        ] {
            let row = page.lines().find(|line| line.starts_with(row)).expect(row);
            for question in ALL.iter().filter(|it| it.overtaken == overtaken && **it != REGISTERS) {
                assert!(
                    row.contains(&format!("`{}`", question.method)),
                    "{} is not in {row}",
                    question.method
                );
            }
        }
    }

    #[test]
    fn words_grow() {
        assert!(is_same_word(")\n", ")\n"));
        assert!(is_same_word(")\n", "ob_2)\n"));
        assert!(!is_same_word(")\n", "a, r)\n"));
        assert!(!is_same_word(")\n", ".T)\n"));
        assert!(!is_same_word(")\n", "\n"));
    }
}
