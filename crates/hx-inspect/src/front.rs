//! Errors of syntax, names and types: those of a file, and those of the items that it uses from other files.

use std::collections::HashSet;

use hx_base::{Diagnostic, SourceFile, sort_diagnostics};
use hx_compile::Db;
use hx_hir::{all_reached_errors, file_items};

/// Returns a file's errors of syntax, names and types. Solves no kernel: kernels are checked when they are launched.
pub fn front_diagnostics(db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
    let mut found = hx_base::syntax_diagnostics(db, file).clone();
    found.extend(hx_hir::file_diagnostics(db, file).iter().cloned());
    sort_diagnostics(db, &mut found);
    found
}

/// Returns the errors in items of other files that the items of `files` use. The user did not name those files, but no item that
/// uses a broken item is built, so the errors have to be reported.
pub fn foreign_errors(db: &dyn Db, files: &[SourceFile]) -> Vec<Diagnostic> {
    let items = files.iter().flat_map(|file| &file_items(db, *file).items);
    let mut found = all_reached_errors(db, items.copied());
    let asked: HashSet<SourceFile> = files.iter().copied().collect();
    found.retain(|error| !asked.contains(&error.primary.file));
    found
}
