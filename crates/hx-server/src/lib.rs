//! The language server: the protocol, one loop that owns the database, and conversions.
//!
//! Handlers run on the protocol's thread and do nothing but forward, before they first wait. One loop on a thread of its own
//! owns the database and is its only writer; readers get snapshots and run on a bounded pool. What is answered is computed
//! by `hx-ide`; the types of the protocol are converted in `to_proto.rs` and `from_proto.rs` and nowhere else.
//! Bytes become messages in `wire.rs`; `transport.rs` sees to it that each request has one answer.
//! Start at [`serve`], then `main_loop.rs`.

mod backend;
mod compile;
mod files;
mod from_proto;
mod handlers;
mod main_loop;
mod outgoing;
mod pool;
mod protocol;
mod questions;
mod settings;
mod state;
mod task;
mod to_proto;
mod transport;
mod wire;

use std::path::PathBuf;

use hx_worker::{Cache, WorkerCommand};
use tokio::io::{AsyncRead, AsyncWrite};
use tower_lsp::LspService;

use crate::backend::Backend;

/// What the process around the server decides.
#[derive(Clone, Debug)]
pub struct Config {
    /// How to start the worker process that compiles CUDA text.
    pub worker: WorkerCommand,
    /// Where compiled kernels are kept.
    pub cache: Option<Cache>,
    /// Where the texts of the standard library are put for editors that want to open them.
    pub std_folder: Option<PathBuf>,
    /// Questions answered at the same time; by default as many as there are cores, at least two and at most four.
    pub readers: Option<usize>,
}

impl Config {
    /// With a worker and nothing else.
    pub fn new(worker: WorkerCommand) -> Config {
        Config { worker, cache: None, std_folder: None, readers: None }
    }
}

/// Serves one client until it says `exit` or goes away. Returns whether it said `shutdown` before that.
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
        .custom_method("hx/emit", Backend::emit)
        .custom_method("hx/costs", Backend::costs)
        .custom_method("hx/syntaxTree", Backend::syntax_tree)
        .custom_method("hx/serverStatus", Backend::server_status)
        .finish();
    transport::run(input, output, service, socket).await;
    stopped.load(std::sync::atomic::Ordering::SeqCst)
}

/// Serves the client on the standard streams. Returns whether it ended as the protocol asks.
///
/// # Errors
/// When the threads of the server cannot be started.
pub fn serve_stdio(config: Config) -> std::io::Result<bool> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(serve(tokio::io::stdin(), tokio::io::stdout(), config));
    // A read of standard input cannot be interrupted, and the client may keep it open.
    runtime.shutdown_background();
    Ok(ended)
}
