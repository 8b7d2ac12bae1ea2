//! Jobs in the background: the diagnostics of a file, and the help of a second thread with a large file.
//!
//! A file of many kernels has its diagnostics in two stages: those of names and types come first, and those of layouts are added to
//! them. Each stage is complete in itself. A file whose findings about layouts the client already shows skips the first stage, so
//! that none of them disappears for a moment.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hx_base::SourceFile;
use hx_ide::{Cancellable, Cancelled, panic_text};
use salsa::Revision;
use salsa::plumbing::current_revision;
use tower_lsp::ls_types::Diagnostic;

use crate::outgoing::ToClient;
use crate::state::Snapshot;
use crate::to_proto;

/// The number of kernels above which a file has two stages, and a second thread helps with its layouts.
const MANY_KERNELS: usize = 8;

/// The diagnostics of a file at one generation.
#[derive(Debug)]
pub(crate) struct Diagnosed {
    pub(crate) file: SourceFile,
    pub(crate) generation: u64,
    /// The revision of the database that was read.
    pub(crate) revision: Revision,
    pub(crate) stage: Stage,
    pub(crate) found: Result<Vec<Diagnostic>, Cancelled>,
}

/// The part of the compiler that has looked at a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Syntax, names and types.
    Front,
    /// Everything, layouts included.
    Whole {
        /// Whether there are findings beyond those of the first stage, or without a first stage any findings.
        adds: bool,
    },
}

/// Computes the diagnostics of a file, and sends them stage by stage.
pub(crate) fn diagnose(
    snapshot: Snapshot,
    file: SourceFile,
    generation: u64,
    client: &ToClient,
    send: impl Fn(Diagnosed),
) {
    let revision = current_revision(&snapshot.db);
    let stages = catch_unwind(AssertUnwindSafe(|| {
        let mut known = 0;
        if hx_ide::kernel_count(&snapshot.db, file)? > MANY_KERNELS {
            let found = front(&snapshot, file)?;
            known = found.len();
            send(Diagnosed { file, generation, revision, stage: Stage::Front, found: Ok(found) });
        }
        Ok((known, whole(&snapshot, file)?))
    }));
    let stages = stages.unwrap_or_else(|panic| {
        client.error(format!("checking a file failed: {}", panic_text(&*panic)));
        around_panics(&snapshot, file).map(|found| (0, found))
    });
    // Release the snapshot before sending, because writes wait for it.
    drop(snapshot);
    let (adds, found) = match stages {
        Ok((known, found)) => (found.len() > known, Ok(found)),
        Err(cancelled) => (false, Err(cancelled)),
    };
    send(Diagnosed { file, generation, revision, stage: Stage::Whole { adds }, found });
}

fn front(snapshot: &Snapshot, file: SourceFile) -> Cancellable<Vec<Diagnostic>> {
    let found = hx_ide::front_diagnostics(&snapshot.db, file)?;
    hx_ide::catch(|| to_proto::diagnostics(snapshot, file, &found))
}

fn whole(snapshot: &Snapshot, file: SourceFile) -> Cancellable<Vec<Diagnostic>> {
    let found = hx_ide::diagnostics(&snapshot.db, file, &snapshot.shown(file))?;
    hx_ide::catch(|| to_proto::diagnostics(snapshot, file, &found))
}

/// Returns the findings of a file with a kernel that makes the compiler panic. Without them the client would show no errors at
/// all.
fn around_panics(snapshot: &Snapshot, file: SourceFile) -> Cancellable<Vec<Diagnostic>> {
    let found = catch_unwind(AssertUnwindSafe(|| {
        let found = hx_ide::diagnostics_around_panics(&snapshot.db, file, &snapshot.shown(file))?;
        hx_ide::catch(|| to_proto::diagnostics(snapshot, file, &found))
    }));
    // The compiler panicked outside of the kernels, so there are no findings to show.
    found.unwrap_or_else(|_| Ok(Vec::new()))
}

/// Compiles kernels of a file on this thread while a job of [`diagnose`] compiles the file's kernels on another. The job reads the
/// results from the database.
pub(crate) fn help(snapshot: Snapshot, file: SourceFile) {
    // The job of `diagnose` reports panics and cancellations.
    let _ =
        catch_unwind(AssertUnwindSafe(|| hx_ide::compile_kernels(&snapshot.db, file, &snapshot.shown(file))));
    drop(snapshot);
}
