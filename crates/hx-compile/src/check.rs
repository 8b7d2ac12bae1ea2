//! Collects the diagnostics of a kernel or of a file.

use hx_base::{Diagnostic, SourceFile, sort_diagnostics, syntax_diagnostics};
use hx_hir::{Kernel, Sound, file_items};
use hx_target::Target;

use crate::members::unbuildable;
use crate::{Db, default_instance, instance_diagnostics};

/// Returns the diagnostics of the default instance of a kernel, and of its family. A kernel without a default instance has none: only a
/// launch completes it.
#[salsa::tracked]
pub fn kernel_diagnostics<'db>(db: &'db dyn Db, kernel: Kernel<'db>, target: Target) -> Vec<Diagnostic> {
    let mut found = default_instance(db, kernel, target)
        .map(|instance| instance_diagnostics(db, instance).clone())
        .unwrap_or_default();
    found.extend(unbuildable(db, kernel, target));
    found
}

/// Returns the diagnostics of a file that need no layouts, ordered by place: syntax, names and types.
pub fn check_front(db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
    let mut found = syntax_diagnostics(db, file).clone();
    found.extend(hx_hir::file_diagnostics(db, file).iter().cloned());
    sort_diagnostics(db, &mut found);
    found
}

/// Returns all diagnostics of a file, ordered by place: syntax, names and types, and the default instance of every kernel
/// that has no earlier error, in itself or in what it uses.
#[salsa::tracked]
pub fn check_file(db: &dyn Db, file: SourceFile, target: Target) -> Vec<Diagnostic> {
    let mut found = check_front(db, file);
    for kernel in sound_kernels(db, file) {
        found.extend(kernel_diagnostics(db, kernel, target).iter().cloned());
    }
    sort_diagnostics(db, &mut found);
    found
}

/// Computes the diagnostics of the kernels of a file, the last kernel first, so that [`check_file`] finds them.
///
/// Two threads that check a file, one in each direction, share the work: they meet in the middle.
pub fn compile_kernels(db: &dyn Db, file: SourceFile, target: Target) {
    let kernels: Vec<Kernel<'_>> = sound_kernels(db, file).collect();
    for kernel in kernels.into_iter().rev() {
        db.unwind_if_revision_cancelled();
        kernel_diagnostics(db, kernel, target);
    }
}

/// Returns the kernels of a file that have no error before layouts.
pub fn sound_kernels<'db>(db: &'db dyn Db, file: SourceFile) -> impl Iterator<Item = Kernel<'db>> {
    file_items(db, file).kernels().filter(|kernel| Sound::of(db, *kernel).is_some())
}
