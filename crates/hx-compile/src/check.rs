//! Everything that is wrong with a kernel or a file.

use hx_base::{Diagnostic, SourceFile, codes, sort_diagnostics, syntax_diagnostics};
use hx_hir::{Item, Kernel, file_items, item_range};
use hx_lower::{At, Place};
use hx_target::Arch;

use crate::{Db, Stop, default_instance, instance_diagnostics, tile_program};

/// What is wrong with the default instance of a kernel. Nothing for a kernel that has none: only a launch completes it.
#[salsa::tracked]
pub fn kernel_diagnostics<'db>(db: &'db dyn Db, kernel: Kernel<'db>, arch: Arch) -> Vec<Diagnostic> {
    default_instance(db, kernel, arch)
        .map(|instance| instance_diagnostics(db, instance).clone())
        .unwrap_or_default()
}

/// Everything that is wrong with a file: syntax, names and types, and the default instance of every kernel that has no
/// error before that. Ordered by place.
#[salsa::tracked]
pub fn check_file(db: &dyn Db, file: SourceFile, arch: Arch) -> Vec<Diagnostic> {
    let mut found = syntax_diagnostics(db, file).clone();
    found.extend(hx_hir::file_diagnostics(db, file).iter().cloned());
    for kernel in file_items(db, file).kernels() {
        let range = item_range(db, Item::Kernel(kernel));
        let broken =
            |d: &Diagnostic| d.is_error() && d.primary.file == file && range.contains_range(d.primary.range);
        if found.iter().any(broken) {
            continue;
        }
        found.extend(kernel_diagnostics(db, kernel, arch).iter().cloned());
        if !found.iter().any(Diagnostic::is_error) {
            found.extend(broken_elsewhere(db, kernel, arch));
        }
    }
    sort_diagnostics(db, &mut found);
    found
}

/// A kernel that cannot be built because of something that it uses in a file that nobody checks: the error is reported
/// there, so here the kernel points to it.
fn broken_elsewhere<'db>(db: &'db dyn Db, kernel: Kernel<'db>, arch: Arch) -> Option<Diagnostic> {
    let instance = default_instance(db, kernel, arch)?;
    if !matches!(tile_program(db, instance), Err(Stop::Program(errors)) if errors.is_empty()) {
        return None;
    }
    let name = Place { item: kernel.key(db), at: At::Name };
    let (file, range) = name.range(db)?;
    let files =
        std::iter::once(file).chain(db.workspace().files(db).iter().copied().filter(|&other| other != file));
    let mut errors =
        files.flat_map(|file| syntax_diagnostics(db, file).iter().chain(hx_hir::file_diagnostics(db, file)));
    let message = format!("`{}` cannot be built because of an error in what it uses", kernel.name(db));
    let Some(error) = errors.find(|found| found.is_error()) else {
        let message = format!("`{}` has no tile program, and nothing says why", kernel.name(db));
        return Some(Diagnostic::new(&codes::INTERNAL_ERROR, file, range, message));
    };
    let found = Diagnostic::new(error.code, file, range, message);
    Some(found.also(error.primary.file, error.primary.range, error.message.clone()))
}
