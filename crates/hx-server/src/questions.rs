//! The questions that a reader answers, and what becomes of each when the text changes before its answer: one table.

use tower_lsp::ls_types::*;

use crate::files::path_of;
use crate::protocol;

/// What becomes of a question that an edit overtakes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Overtaken {
    /// It is about the text as it is: it is asked again of the newest text.
    Newest,
    /// It is about a place: it is asked again of the newest text while everything before that place is as it was, as while the
    /// user types on. Otherwise the client is told that the content was modified.
    SamePlace,
    /// It is about the word that ends at a place: it is asked again of the newest text while that word grows and all else is as it
    /// was. Otherwise the client is told that the content was modified, and asks for the next word: items of a word that the user
    /// has left it would match with the next one.
    SameWord,
    /// Its answer is edits of the text that the client had: it is asked again while its document has not changed, as after an edit
    /// of another file. Otherwise the client is told that the content was modified.
    SameText,
}

/// A method, and what becomes of it when it is overtaken.
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

    FORMATTING = "textDocument/formatting", SameText;
    ON_TYPE_FORMATTING = "textDocument/onTypeFormatting", SameText;
    RANGE_FORMATTING = "textDocument/rangeFormatting", SameText;
    RENAME = "textDocument/rename", SameText;
}

/// What a question is about: a document, and the last place of it that matters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Subject {
    pub(crate) path: String,
    pub(crate) place: Position,
}

/// Whether the text behind a place is what it was, but for letters of a word right at the place.
pub(crate) fn is_same_word(before: &str, now: &str) -> bool {
    let typed = now.strip_suffix(before);
    typed.is_some_and(|typed| typed.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

/// Parameters that say what they are about.
pub(crate) trait About {
    /// Nothing for a question that is not about a place in a document.
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
    RenameParams: |it| at(&it.text_document_position);
}

/// The subject of what we sent ourselves, to be resolved: an address, or an object with one and a range.
fn of_data(data: &LSPAny, place: Option<Position>) -> Option<Subject> {
    let uri = serde_json::from_value(data.get("uri").unwrap_or(data).clone()).ok()?;
    let range = || serde_json::from_value::<Range>(data.get("range")?.clone()).ok();
    subject(&uri, place.or_else(|| Some(range()?.end))?)
}

/// Where a document was changed, and when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    /// The number of a change, and the first place that it or a later one has changed up to the next entry: both grow.
    changes: Vec<(u64, Position)>,
}

/// The most changes that are told apart; of more, the oldest are taken together.
const MOST_CHANGES: usize = 64;

impl Touched {
    /// A change of the text from a place on.
    pub(crate) fn touch(&mut self, number: u64, place: Position) {
        // What began further on concerns nobody whom this change does not concern too.
        while self.changes.last().is_some_and(|(_, later)| *later >= place) {
            self.changes.pop();
        }
        self.changes.push((number, place));
        if self.changes.len() > MOST_CHANGES {
            let (_, first) = self.changes.remove(0);
            self.changes[0].1 = first;
        }
    }

    /// The first place that changes after a number have touched.
    pub(crate) fn since(&self, number: u64) -> Option<Position> {
        self.changes.iter().find(|(change, _)| *change > number).map(|(_, place)| *place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page for writers of clients says the same as the table.
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

    #[test]
    fn touched_places() {
        let place = |line, character| Position { line, character };
        let mut touched = Touched::default();
        assert_eq!(touched.since(0), None);
        touched.touch(3, place(5, 1));
        touched.touch(4, place(5, 2));
        touched.touch(9, place(7, 0));
        assert_eq!(
            [0, 3, 8, 9].map(|number| touched.since(number)),
            [Some(place(5, 1)), Some(place(5, 2)), Some(place(7, 0)), None]
        );
        // A change further up hides those below it.
        touched.touch(10, place(5, 2));
        assert_eq!(
            [0, 3, 9, 10].map(|number| touched.since(number)),
            [Some(place(5, 1)), Some(place(5, 2)), Some(place(5, 2)), None]
        );
    }

    /// With many changes, a place is at most said to be touched that was not.
    #[test]
    fn many_changes() {
        let place = |character| Position { line: 0, character };
        let mut touched = Touched::default();
        for i in 1..1000 {
            touched.touch(u64::from(i), place(i));
        }
        assert!(touched.changes.len() <= MOST_CHANGES);
        for after in 0..999 {
            let since = touched.since(u64::from(after)).expect("there is a later change");
            assert!(since <= place(after + 1), "{after}: {since:?}");
        }
        assert_eq!(touched.since(998), Some(place(999)));
    }
}
