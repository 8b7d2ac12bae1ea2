//! Messages that the server sends on its own initiative, in order: diagnostics, messages, refresh requests.

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tower_lsp::Client;
use tower_lsp::ls_types::{
    Diagnostic, DidChangeWatchedFilesRegistrationOptions, FileSystemWatcher, GlobPattern, MessageType,
    Registration, Uri,
};

/// A message to the client.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Publish {
        uri: Uri,
        diagnostics: Vec<Diagnostic>,
        version: Option<i32>,
    },
    Log(MessageType, String),
    Show(MessageType, String),
    /// Asks the client to request hints, lenses, tokens or diagnostics again.
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

/// A channel to the client that any thread can use.
#[derive(Clone, Debug)]
pub(crate) struct ToClient(pub(crate) UnboundedSender<Outgoing>);

impl ToClient {
    /// Sends a message. If the client has disconnected, the message is dropped.
    pub(crate) fn send(&self, message: Outgoing) {
        let _ = self.0.send(message);
    }

    pub(crate) fn error(&self, text: impl Into<String>) {
        self.send(Outgoing::Log(MessageType::ERROR, text.into()));
    }
}

/// Sends messages until every sender is dropped. Does not wait for answers to requests, so a client that never answers blocks
/// nothing.
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
                    // If the client refuses, it keeps showing its old state: ignore the error.
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
