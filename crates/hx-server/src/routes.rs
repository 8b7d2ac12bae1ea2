//! Handlers of the protocol. A method that reads or changes the state forwards its message to the main loop before its first
//! wait, which keeps the order of the client's messages. After that it waits only for its own answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use tokio::sync::{mpsc as channel, oneshot};
use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types::*;
use tower_lsp::{Client, LanguageServer};

use crate::cancel::CancelSlot;
use crate::compile::CudaCompiler;
use crate::files::path_of;
use crate::main_loop::{self, Event, Writer};
use crate::outgoing::{self, Outgoing, ToClient};
use crate::questions::{About, Question};
use crate::settings;
use crate::state::{Shared, Snapshot};
use crate::task::{Handled, internal, invalid, task};
use crate::{Config, changes, handlers, protocol, questions};

/// The state of the protocol's handlers: the channel to the main loop, the client, and the CUDA compiler.
pub(crate) struct Backend {
    events: mpsc::Sender<Event>,
    client: ToClient,
    compiler: CudaCompiler,
    /// True once the client has sent `shutdown`.
    stopped: Arc<AtomicBool>,
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backend").finish_non_exhaustive()
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        let _ = self.events.send(Event::Stop);
    }
}

impl Backend {
    /// Starts the main loop on its own thread.
    pub(crate) fn new(client: Client, config: Config, stopped: Arc<AtomicBool>) -> Backend {
        let (sender, messages) = channel::unbounded_channel();
        tokio::spawn(outgoing::forward(client, messages));
        let to_client = ToClient(sender);
        let (events, heard) = mpsc::channel();
        let (own, told) = (events.clone(), to_client.clone());
        let compiler = CudaCompiler::new(&config);
        let run = move || {
            if let Err(error) = main_loop::run(Shared::new(config), told.clone(), heard, own) {
                told.error(format!("the server has no threads: {error}"));
            }
        };
        let started =
            std::thread::Builder::new().name("hx-main-loop".to_owned()).stack_size(64 << 20).spawn(run);
        if let Err(error) = started {
            to_client.error(format!("the server has no threads: {error}"));
        }
        Backend { events, client: to_client, compiler, stopped }
    }

    /// Sends a change to the main loop, which applies changes in the order of the messages.
    fn write(&self, name: &'static str, change: impl FnOnce(&mut Writer) + Send + 'static) {
        let _ = self.events.send(Event::Write(name, Box::new(change)));
    }

    /// Sends a change to the main loop and waits for its result.
    fn write_and_wait<T, F>(
        &self,
        name: &'static str,
        change: F,
    ) -> impl Future<Output = Result<T>> + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&mut Writer) -> Result<T> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        self.write(name, move |writer| {
            let _ = sender.send(change(writer));
        });
        async move { receiver.await.unwrap_or_else(|_| Err(internal(format!("{name} failed")))) }
    }

    /// Asks the CUDA compiler, if there is one, for the registers of the kernels of a file, and then refreshes the lenses.
    async fn measure(&self, uri: Uri) {
        let unreported = self.read(questions::REGISTERS, uri, handlers::unreported);
        let Ok(Some(unreported)) = unreported.await else { return };
        let (compiler, client) = (self.compiler.clone(), self.client.clone());
        tokio::task::spawn_blocking(move || {
            for text in &unreported.texts {
                match compiler.registers(text, &unreported.toolchain) {
                    Some(registers) => unreported.reports.put(text, registers),
                    // The failure, for example of starting the worker, would repeat for all other texts: stop at the first.
                    None => break,
                }
            }
            client.send(Outgoing::Refresh(outgoing::Refresh::Lenses));
        });
    }

    /// Sends a question to a reader and waits for the answer.
    fn read<P, R>(
        &self,
        question: Question,
        params: P,
        handler: fn(&Snapshot, &P) -> Handled<R>,
    ) -> impl Future<Output = Result<R>> + use<P, R>
    where
        P: About + Send + 'static,
        R: Send + 'static,
    {
        let (task, answer) = task(question, params, handler);
        let _ = self.events.send(Event::Read(task));
        answer
    }
}

/// Requests that the standard protocol does not have.
impl Backend {
    pub(crate) async fn layout(&self, params: protocol::LayoutParams) -> Result<Option<protocol::Layout>> {
        self.read(questions::LAYOUT, params, handlers::layout).await
    }

    pub(crate) async fn explain_layout(
        &self,
        params: protocol::LayoutParams,
    ) -> Result<Option<protocol::Explanation>> {
        self.read(questions::EXPLAIN_LAYOUT, params, handlers::explain_layout).await
    }

    /// Returns the page about a code. It depends on no text, so no reader is needed.
    ///
    /// # Errors
    /// If there is no such code; the error names the nearest one.
    #[allow(clippy::unused_async, reason = "methods of the protocol are asynchronous")]
    pub(crate) async fn explain_code(
        &self,
        params: protocol::ExplainCodeParams,
    ) -> Result<protocol::CodePage> {
        let Some(code) = hx_base::code(&params.code) else {
            let near = hx_base::nearest_code(&params.code);
            let hint = near.map_or_else(String::new, |near| format!("; `{}` is the nearest", near.id));
            return Err(invalid(format!("there is no code `{}`{hint}", params.code)));
        };
        let text = format!("# {}: {}\n\n{}", code.id, code.name, code.explanation());
        // Clients know the language by its bare name; `hx explain` has the same two headings.
        let text = text.replace("```hx\n", "Right:\n\n```hx\n").replace("```hx fails\n", "Wrong:\n\n```hx\n");
        Ok(protocol::CodePage { code: code.id.to_owned(), name: code.name.to_owned(), text })
    }

    pub(crate) async fn emit(&self, params: protocol::EmitParams) -> Result<protocol::Emitted> {
        match self.read(questions::EMIT, params, handlers::emit).await? {
            handlers::Emission::Done(emitted) => Ok(emitted),
            handlers::Emission::Compile { cuda, stage, toolchain } => {
                let (slot, compiler) = (CancelSlot::default(), self.compiler.clone());
                // If the client cancels, the protocol drops this future, and the guard cancels the compile.
                let _guard = slot.guard();
                let work = move || compiler.emit(&cuda, &stage, &toolchain, &slot);
                let emitted = tokio::task::spawn_blocking(work).await;
                emitted.map_err(|error| internal(error.to_string()))?.map_err(internal)
            }
        }
    }

    pub(crate) async fn costs(&self, params: protocol::CostsParams) -> Result<Vec<protocol::Costs>> {
        self.read(questions::COSTS, params, handlers::costs).await
    }

    pub(crate) async fn syntax_tree(&self, params: protocol::SyntaxTreeParams) -> Result<String> {
        self.read(questions::SYNTAX_TREE, params, handlers::syntax_tree).await
    }

    pub(crate) async fn server_status(&self) -> Result<protocol::Status> {
        self.read(questions::SERVER_STATUS, (), handlers::server_status).await
    }
}

impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let client = settings::Client::of(&params);
        let capabilities = handlers::capabilities(&client);
        self.write("initialize", move |writer| changes::initialize(writer, client, &params));
        Ok(InitializeResult {
            capabilities,
            server_info: Some(ServerInfo {
                name: "hx".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
            ..Default::default()
        })
    }

    async fn initialized(&self, _: InitializedParams) {
        self.write("initialized", |writer| {
            writer.ready = true;
            if writer.shared.client.watches_files {
                writer.client.send(Outgoing::WatchFiles);
            }
            writer.diagnose_all();
        });
    }

    async fn shutdown(&self) -> Result<()> {
        self.stopped.store(true, Ordering::SeqCst);
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        self.write("textDocument/didOpen", move |writer| {
            changes::open(writer, document.uri, document.version, &document.text);
        });
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        self.write("textDocument/didChange", move |writer| changes::change(writer, &params));
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.write("textDocument/didClose", move |writer| changes::close(writer, &params.text_document.uri));
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        let params_uri = params.text_document.uri.clone();
        self.write("textDocument/didSave", move |writer| {
            // A new `use` may name files that have not been read yet.
            writer.db.load_uses(&path_of(&params.text_document.uri));
            writer.diagnose_all();
            writer.refresh();
        });
        self.measure(params_uri).await;
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        self.write("workspace/didChangeWatchedFiles", move |writer| {
            changes::watched(writer, &params.changes)
        });
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        self.write("workspace/didChangeWorkspaceFolders", move |writer| {
            for folder in &params.event.removed {
                changes::close_folder(writer, &path_of(&folder.uri));
            }
            for folder in &params.event.added {
                changes::open_folder(writer, &path_of(&folder.uri));
            }
            writer.diagnose_all();
        });
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        self.write("workspace/didChangeConfiguration", move |writer| {
            changes::configure(writer, &params.settings);
            writer.diagnose_all();
            writer.refresh();
        });
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<LSPAny>> {
        match params.command.as_str() {
            protocol::SHOW_INSTANCE => {
                let argument = params.arguments.into_iter().next().unwrap_or_default();
                let wanted: protocol::InstanceParams =
                    serde_json::from_value(argument).map_err(|error| invalid(error.to_string()))?;
                let picked = move |writer: &mut Writer| changes::pick(writer, &wanted);
                self.write_and_wait(protocol::SHOW_INSTANCE, picked).await
            }
            other => Err(invalid(format!("there is no command `{other}`"))),
        }
    }

    async fn inlay_hint(&self, params: InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
        self.read(questions::INLAY_HINT, params, handlers::inlay_hint).await
    }

    async fn inlay_hint_resolve(&self, hint: InlayHint) -> Result<InlayHint> {
        self.read(questions::INLAY_HINT_RESOLVE, hint, handlers::inlay_hint_resolve).await
    }

    async fn diagnostic(&self, params: DocumentDiagnosticParams) -> Result<DocumentDiagnosticReportResult> {
        self.read(questions::DIAGNOSTIC, params, handlers::diagnostic).await
    }

    async fn workspace_diagnostic(
        &self,
        params: WorkspaceDiagnosticParams,
    ) -> Result<WorkspaceDiagnosticReportResult> {
        self.read(questions::WORKSPACE_DIAGNOSTIC, params, handlers::workspace_diagnostic).await
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        self.read(questions::HOVER, params, handlers::hover).await
    }

    async fn completion(&self, params: CompletionParams) -> Result<Option<CompletionResponse>> {
        self.read(questions::COMPLETION, params, handlers::completion).await
    }

    async fn completion_resolve(&self, params: CompletionItem) -> Result<CompletionItem> {
        self.read(questions::COMPLETION_RESOLVE, params, handlers::completion_resolve).await
    }

    async fn signature_help(&self, params: SignatureHelpParams) -> Result<Option<SignatureHelp>> {
        self.read(questions::SIGNATURE_HELP, params, handlers::signature_help).await
    }

    async fn goto_definition(&self, params: GotoDefinitionParams) -> Result<Option<GotoDefinitionResponse>> {
        self.read(questions::DEFINITION, params, handlers::definition).await
    }

    async fn goto_type_definition(
        &self,
        params: GotoDefinitionParams,
    ) -> Result<Option<GotoDefinitionResponse>> {
        self.read(questions::TYPE_DEFINITION, params, handlers::type_definition).await
    }

    async fn document_link(&self, params: DocumentLinkParams) -> Result<Option<Vec<DocumentLink>>> {
        self.read(questions::DOCUMENT_LINK, params, handlers::links).await
    }

    async fn will_rename_files(&self, params: RenameFilesParams) -> Result<Option<WorkspaceEdit>> {
        self.read(questions::WILL_RENAME_FILES, params, handlers::moved_files).await
    }

    async fn references(&self, params: ReferenceParams) -> Result<Option<Vec<Location>>> {
        self.read(questions::REFERENCES, params, handlers::references).await
    }

    async fn document_highlight(
        &self,
        params: DocumentHighlightParams,
    ) -> Result<Option<Vec<DocumentHighlight>>> {
        self.read(questions::DOCUMENT_HIGHLIGHT, params, handlers::highlights).await
    }

    async fn prepare_rename(
        &self,
        params: TextDocumentPositionParams,
    ) -> Result<Option<PrepareRenameResponse>> {
        self.read(questions::PREPARE_RENAME, params, handlers::prepare_rename).await
    }

    async fn rename(&self, params: RenameParams) -> Result<Option<WorkspaceEdit>> {
        self.read(questions::RENAME, params, handlers::rename).await
    }

    async fn document_symbol(&self, params: DocumentSymbolParams) -> Result<Option<DocumentSymbolResponse>> {
        self.read(questions::DOCUMENT_SYMBOL, params, handlers::document_symbols).await
    }

    async fn symbol(&self, params: WorkspaceSymbolParams) -> Result<Option<WorkspaceSymbolResponse>> {
        self.read(questions::WORKSPACE_SYMBOL, params, handlers::workspace_symbols).await
    }

    async fn prepare_call_hierarchy(
        &self,
        params: CallHierarchyPrepareParams,
    ) -> Result<Option<Vec<CallHierarchyItem>>> {
        self.read(questions::PREPARE_CALLS, params, handlers::prepare_calls).await
    }

    async fn incoming_calls(
        &self,
        params: CallHierarchyIncomingCallsParams,
    ) -> Result<Option<Vec<CallHierarchyIncomingCall>>> {
        self.read(questions::INCOMING_CALLS, params, handlers::incoming_calls).await
    }

    async fn outgoing_calls(
        &self,
        params: CallHierarchyOutgoingCallsParams,
    ) -> Result<Option<Vec<CallHierarchyOutgoingCall>>> {
        self.read(questions::OUTGOING_CALLS, params, handlers::outgoing_calls).await
    }

    async fn semantic_tokens_full(
        &self,
        params: SemanticTokensParams,
    ) -> Result<Option<SemanticTokensResult>> {
        self.read(questions::SEMANTIC_TOKENS, params, handlers::semantic_tokens).await
    }

    async fn semantic_tokens_full_delta(
        &self,
        params: SemanticTokensDeltaParams,
    ) -> Result<Option<SemanticTokensFullDeltaResult>> {
        self.read(questions::SEMANTIC_TOKENS_DELTA, params, handlers::semantic_tokens_delta).await
    }

    async fn semantic_tokens_range(
        &self,
        params: SemanticTokensRangeParams,
    ) -> Result<Option<SemanticTokensRangeResult>> {
        self.read(questions::SEMANTIC_TOKENS_RANGE, params, handlers::semantic_tokens_range).await
    }

    async fn folding_range(&self, params: FoldingRangeParams) -> Result<Option<Vec<FoldingRange>>> {
        self.read(questions::FOLDING_RANGE, params, handlers::folds).await
    }

    async fn selection_range(&self, params: SelectionRangeParams) -> Result<Option<Vec<SelectionRange>>> {
        self.read(questions::SELECTION_RANGE, params, handlers::selections).await
    }

    async fn code_lens(&self, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
        self.read(questions::CODE_LENS, params, handlers::lenses).await
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        self.read(questions::CODE_ACTION, params, handlers::actions).await
    }

    async fn code_action_resolve(&self, params: CodeAction) -> Result<CodeAction> {
        self.read(questions::CODE_ACTION_RESOLVE, params, handlers::action_resolve).await
    }

    async fn formatting(&self, params: DocumentFormattingParams) -> Result<Option<Vec<TextEdit>>> {
        self.read(questions::FORMATTING, params, handlers::formatting).await
    }

    async fn range_formatting(&self, params: DocumentRangeFormattingParams) -> Result<Option<Vec<TextEdit>>> {
        self.read(questions::RANGE_FORMATTING, params, handlers::range_formatting).await
    }

    async fn on_type_formatting(
        &self,
        params: DocumentOnTypeFormattingParams,
    ) -> Result<Option<Vec<TextEdit>>> {
        self.read(questions::ON_TYPE_FORMATTING, params, handlers::on_type_formatting).await
    }
}
