//! `hx lsp`: the language server on the standard streams.

use std::sync::atomic::AtomicBool;

use hx_base::interrupt::Until;
use hx_base::{SourceFile, TextSize};
use hx_server::Config;
use hx_target::Target;
use hx_worker::folders::cache_folder;
use hx_worker::{Cache, WorkerCommand};
use hx_workspace::Database;

use crate::Exit;
use crate::output::Output;

pub(crate) fn run(output: &Output) -> Exit {
    let executable = std::env::current_exe().unwrap_or_else(|_| "hx".into());
    let cache = cache_folder();
    // The folder for the texts of the library lies beside the compiled kernels. Each version has its own, because the texts are
    // those of its binary.
    let std = cache.as_deref().and_then(std::path::Path::parent);
    let std_folder = std.map(|folder| folder.join(concat!("library-", env!("CARGO_PKG_VERSION"))));
    let config = Config {
        cache: cache.map(Cache::open),
        std_folder,
        choice: Some(choice),
        ..Config::new(WorkerCommand::new(executable).arg("worker"))
    };
    match hx_server::serve_stdio(config) {
        Ok(true) => Exit::Good,
        // The protocol defines `exit` without `shutdown` as an error.
        Ok(false) => Exit::Bad,
        Err(error) => {
            output.remark(&format!("the language server cannot start: {error}"));
            Exit::Environment
        }
    }
}

/// Describes the choice of a launch. A newer text or a withdrawn request ends it.
fn choice(db: &Database, file: SourceFile, at: TextSize, target: Target) -> Option<String> {
    let until = Until { stop: &AtomicBool::new(false), deadline: None };
    hx_driver::choice_at(db, file, at, target, until).map(|choice| choice.text(target))
}
