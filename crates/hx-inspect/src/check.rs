//! Checks files: reports everything that the compiler finds, and on demand the independent checker's verdict on every solution.

use hx_base::{Diagnostic, SourceFile, codes, on_all_cores, sort_diagnostics};
use hx_compile::{
    Db, check_file, check_front, default_instance, instance_diagnostics, routed_program, violations,
};
use hx_hir::{Item, Kernel, Sound, file_items, signature_source_map};
use hx_target::Target;
use hx_workspace::Database;

use crate::emit::{EmitError, Overrides, instance, kernels};
use crate::front::foreign_errors;
use crate::setup::Setup;

/// Runs [`check`] on every file, on as many threads as there are cores. Returns the diagnostics of the files, and of the code
/// that they use from other files, ordered by place.
pub fn check_all(db: &Database, files: &[SourceFile], target: Target, verify: bool) -> Vec<Diagnostic> {
    let checked = |db: &Database, at: usize| check(db, files[at], target, verify);
    let mut found = on_all_cores(files.len(), &|| db.clone(), &checked).concat();
    found.extend(foreign_errors(db, files));
    sort_diagnostics(db, &mut found);
    found
}

/// Returns the diagnostics of a file, ordered by place. With `verify`, also checks the solution of every kernel's default
/// instance by enumeration, which debug builds always do.
pub fn check(db: &dyn Db, file: SourceFile, target: Target, verify: bool) -> Vec<Diagnostic> {
    let mut found = check_file(db, file, target).clone();
    if verify {
        for kernel in file_items(db, file).kernels() {
            found.extend(unsound(db, kernel, target));
        }
        sort_diagnostics(db, &mut found);
    }
    found
}

/// Returns the diagnostics of a file's text, and of instances of its kernels, ordered by place: of the kernel with this name, or of all,
/// with some compile-time arguments replaced.
///
/// # Errors
/// If there is no such kernel, an override does not fit, or a parameter has no value.
pub fn check_chosen(
    db: &dyn Db,
    file: SourceFile,
    kernel: Option<&str>,
    overrides: &Overrides,
    setup: &Setup,
) -> Result<Vec<Diagnostic>, EmitError> {
    let mut found = check_front(db, file);
    for kernel in kernels(db, file, kernel)? {
        if Sound::of(db, kernel).is_some() {
            let instance = instance(db, kernel, overrides, setup)?;
            found.extend(instance_diagnostics(db, instance).iter().cloned());
        }
    }
    sort_diagnostics(db, &mut found);
    Ok(found)
}

fn unsound(db: &dyn Db, kernel: Kernel<'_>, target: Target) -> Vec<Diagnostic> {
    let Some(instance) = default_instance(db, kernel, target) else { return Vec::new() };
    let Ok(lowered) = routed_program(db, instance) else { return Vec::new() };
    let name = || {
        let name =
            signature_source_map(db, Item::Kernel(kernel)).and_then(|map| map.name).unwrap_or_default();
        (kernel.file(db), name + kernel.offset(db))
    };
    let diagnostic = |violation: &hx_verify::Violation| {
        let origin = violation.op.and_then(|op| Some(lowered.program.op(op)?.origin));
        let place = origin.and_then(|o| lowered.sources.origins.get(o.0 as usize)?.place.range(db));
        let (file, range) = place.unwrap_or_else(name);
        Diagnostic::new(&codes::UNSOUND_SOLUTION, file, range, violation.message.clone())
    };
    violations(db, instance).iter().map(diagnostic).collect()
}
