//! `hx lsp`: the language server on the standard streams.

use hx_server::Config;
use hx_worker::folders::cache_folder;
use hx_worker::{Cache, WorkerCommand};

use crate::Exit;
use crate::output::Output;

pub(crate) fn run(output: &Output) -> Exit {
    let executable = std::env::current_exe().unwrap_or_else(|_| "hx".into());
    let cache = cache_folder();
    // Beside the compiled kernels: one folder for each version, since the texts are those of the binary.
    let std = cache.as_deref().and_then(std::path::Path::parent);
    let std_folder = std.map(|folder| folder.join(concat!("library-", env!("CARGO_PKG_VERSION"))));
    let config = Config {
        cache: cache.map(Cache::open),
        std_folder,
        ..Config::new(WorkerCommand::new(executable).arg("worker"))
    };
    match hx_server::serve_stdio(config) {
        Ok(true) => Exit::Good,
        // The protocol: an exit without a shutdown before it is an error.
        Ok(false) => Exit::Bad,
        Err(error) => {
            output.remark(&format!("the language server cannot start: {error}"));
            Exit::Environment
        }
    }
}
