//! What the server says by itself, in order: diagnostics, messages, requests to ask again.

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tower_lsp::Client;
use tower_lsp::ls_types::{
    Diagnostic, DidChangeWatchedFilesRegistrationOptions, FileSystemWatcher, GlobPattern, MessageType,
    Registration, Uri,
};

/// One message to the client.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Publish {
        uri: Uri,
        diagnostics: Vec<Diagnostic>,
        version: Option<i32>,
    },
    Log(MessageType, String),
    Show(MessageType, String),
    /// Asks for hints, lenses, tokens or diagnostics again.
    Refresh(Refresh),
    WatchFiles,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Refresh {
    Hints,
    Lenses,
    Tokens,
    Diagnostics,
}

/// The way to the client, for any thread.
#[derive(Clone, Debug)]
pub(crate) struct ToClient(pub(crate) UnboundedSender<Outgoing>);

impl ToClient {
    /// A client that went away hears nothing.
    pub(crate) fn send(&self, message: Outgoing) {
        let _ = self.0.send(message);
    }

    pub(crate) fn error(&self, text: impl Into<String>) {
        self.send(Outgoing::Log(MessageType::ERROR, text.into()));
    }
}

/// Sends what comes, until every sender is gone. Requests are not waited for: a client that never answers keeps nothing up.
pub(crate) async fn forward(client: Client, mut messages: UnboundedReceiver<Outgoing>) {
    while let Some(message) = messages.recv().await {
        match message {
            Outgoing::Publish { uri, diagnostics, version } => {
                client.publish_diagnostics(uri, diagnostics, version).await;
            }
            Outgoing::Log(kind, text) => client.log_message(kind, text).await,
            Outgoing::Show(kind, text) => client.show_message(kind, text).await,
            Outgoing::Refresh(what) => {
                let client = client.clone();
                tokio::spawn(async move {
                    // A refusal means that the client shows what it has.
                    let _ = match what {
                        Refresh::Hints => client.inlay_hint_refresh().await,
                        Refresh::Lenses => client.code_lens_refresh().await,
                        Refresh::Tokens => client.semantic_tokens_refresh().await,
                        Refresh::Diagnostics => client.workspace_diagnostic_refresh().await,
                    };
                });
            }
            Outgoing::WatchFiles => {
                let client = client.clone();
                tokio::spawn(async move {
                    if let Err(error) = client.register_capability(vec![watchers()]).await {
                        client
                            .log_message(MessageType::WARNING, format!("files are not watched: {error}"))
                            .await;
                    }
                });
            }
        }
    }
}

fn watchers() -> Registration {
    let watcher =
        |glob: &str| FileSystemWatcher { glob_pattern: GlobPattern::String(glob.into()), kind: None };
    let options = DidChangeWatchedFilesRegistrationOptions {
        watchers: vec![watcher("**/*.hx"), watcher("**/hx.toml")],
    };
    Registration {
        id: "hx-files".to_owned(),
        method: "workspace/didChangeWatchedFiles".to_owned(),
        register_options: serde_json::to_value(options).ok(),
    }
}
