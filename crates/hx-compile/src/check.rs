//! Everything that is wrong with a kernel or a file.

use hx_base::{Diagnostic, SourceFile, sort_diagnostics, syntax_diagnostics};
use hx_hir::{Kernel, Sound, file_items};
use hx_target::Arch;

use crate::{Db, default_instance, instance_diagnostics};

/// What is wrong with the default instance of a kernel. Nothing for a kernel that has none: only a launch completes it.
#[salsa::tracked]
pub fn kernel_diagnostics<'db>(db: &'db dyn Db, kernel: Kernel<'db>, arch: Arch) -> Vec<Diagnostic> {
    default_instance(db, kernel, arch)
        .map(|instance| instance_diagnostics(db, instance).clone())
        .unwrap_or_default()
}

/// Everything that is wrong with a file: syntax, names and types, and the default instance of every kernel that has no
/// error before that, in itself and in what it uses. Ordered by place.
#[salsa::tracked]
pub fn check_file(db: &dyn Db, file: SourceFile, arch: Arch) -> Vec<Diagnostic> {
    let mut found = syntax_diagnostics(db, file).clone();
    found.extend(hx_hir::file_diagnostics(db, file).iter().cloned());
    for kernel in file_items(db, file).kernels().filter(|kernel| Sound::of(db, *kernel).is_some()) {
        found.extend(kernel_diagnostics(db, kernel, arch).iter().cloned());
    }
    sort_diagnostics(db, &mut found);
    found
}
