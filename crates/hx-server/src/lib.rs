//! The language server: the protocol, one loop that owns the database, and conversions.
//!
//! Handlers run on the protocol's thread, and only forward messages before their first wait. Readers get snapshots and run on a
//! bounded pool. `hx-ide` computes the answers. `to_proto.rs` and `from_proto.rs` convert single values of the protocol;
//! handlers put them together. `wire.rs` turns bytes into messages; `transport.rs` guarantees that each request has exactly one
//! answer.
//!
//! Invariant: one loop, on its own thread, owns the database and is its only writer.
//!
//! Start at [`serve`], then read `main_loop.rs`.

#![allow(clippy::disallowed_methods, reason = "an editor names files and folders that no project has")]

mod cancel;
mod changes;
mod compile;
mod diagnose;
mod files;
mod from_proto;
mod handlers;
mod main_loop;
mod outgoing;
mod pool;
mod protocol;
mod questions;
mod routes;
mod settings;
mod state;
mod task;
mod to_proto;
mod touched;
mod transport;
mod wire;

use std::path::PathBuf;

use hx_base::{SourceFile, TextSize};
use hx_target::Target;
use hx_worker::{Cache, WorkerCommand};
use hx_workspace::Database;
use tokio::io::{AsyncRead, AsyncWrite};
use tower_lsp::LspService;

use crate::routes::Backend;

/// Settings that the surrounding process chooses.
#[derive(Clone, Debug)]
pub struct Config {
    /// The command that starts the worker process, which compiles CUDA text.
    pub worker: WorkerCommand,
    /// The cache of compiled kernels.
    pub cache: Option<Cache>,
    /// The folder for texts of the standard library, for editors that open them.
    pub std_folder: Option<PathBuf>,
    /// Number of threads for diagnostics; one more is left for questions. The default is the number of cores, at least two and at
    /// most four.
    pub readers: Option<usize>,
    /// Describes the choice of a launch for hovers; `None` shows none. The surrounding process knows launches, the server does not.
    pub choice: Option<ChoiceOfLaunch>,
}

/// Describes in Markdown which member of a family the launch runs whose kernel's name is at an offset; `None` if there is no such launch.
pub type ChoiceOfLaunch = fn(&Database, SourceFile, TextSize, Target) -> Option<String>;

impl Config {
    /// Makes a configuration with a worker and defaults.
    pub fn new(worker: WorkerCommand) -> Config {
        Config { worker, cache: None, std_folder: None, readers: None, choice: None }
    }
}

/// Serves one client until it sends `exit` or disconnects. Returns whether it sent `shutdown` before.
pub async fn serve<I, O>(input: I, output: O, config: Config) -> bool
where
    I: AsyncRead + Unpin,
    O: AsyncWrite,
{
    let stopped = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let flag = std::sync::Arc::clone(&stopped);
    let (service, socket) = LspService::build(|client| Backend::new(client, config, flag))
        .custom_method("hx/layout", Backend::layout)
        .custom_method("hx/explainLayout", Backend::explain_layout)
        .custom_method("hx/explainCode", Backend::explain_code)
        .custom_method("hx/emit", Backend::emit)
        .custom_method("hx/costs", Backend::costs)
        .custom_method("hx/syntaxTree", Backend::syntax_tree)
        .custom_method("hx/serverStatus", Backend::server_status)
        .finish();
    transport::run(input, output, service, socket).await;
    stopped.load(std::sync::atomic::Ordering::SeqCst)
}

/// Serves the client on the standard streams. Returns whether the client ended the session as the protocol requires.
///
/// # Errors
/// If the threads of the server cannot be started.
pub fn serve_stdio(config: Config) -> std::io::Result<bool> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(serve(tokio::io::stdin(), tokio::io::stdout(), config));
    // A read of standard input cannot be interrupted, and the client may keep it open: do not wait for it.
    runtime.shutdown_background();
    Ok(ended)
}
