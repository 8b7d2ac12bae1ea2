//! The check of all results of tuning.

use std::collections::BTreeMap;

use hx_base::{Diagnostic, SourceFile};
use hx_compile::{Db, Instance};
use hx_hir::{Item, Kernel, Name, Sound, file_items, kernel_signature};
use hx_launch::Tuned;
use hx_lower::{CtArgs, CtValue, LaunchFacts, WrittenArg};
use hx_target::Target;
use hx_workspace::{Extent, TunedEntry};

/// Checks the instances of all results for kernels of these files on an architecture. Returns the errors, and lines about the
/// number of results and about those that are stale.
pub fn check_tuned(
    db: &dyn Db,
    files: &[SourceFile],
    tuned: &Tuned,
    target: Target,
) -> (Vec<Diagnostic>, Vec<String>) {
    let (mut found, mut remarks, mut checked) = (Vec::new(), Vec::new(), 0);
    let kernels = files.iter().flat_map(|file| file_items(db, *file).kernels());
    for kernel in kernels.filter(|kernel| Sound::of(db, Item::Kernel(*kernel)).is_some()) {
        for entry in tuned.of(db, kernel).filter(|entry| entry.target == target.name()) {
            let runs = match tuned.kernel_of(db, kernel, entry) {
                Ok(runs) => runs,
                Err(error) => {
                    found.extend(error.into_parts().1);
                    continue;
                }
            };
            if tuned.is_stale(db, runs, entry) {
                let (name, place) = (kernel.name(db), tuned.place(db, entry));
                remarks.push(format!(
                    "the result for `{name}` at {place} is stale: the kernel's text has changed"
                ));
                continue;
            }
            checked += 1;
            if let Err(error) = tuned.check(db, runs, entry) {
                found.extend(error.into_parts().1);
                continue;
            }
            let errors = hx_compile::instance_errors(db, instance_of(db, runs, target, entry));
            let new: Vec<Diagnostic> =
                errors.iter().filter(|error| !found.contains(*error)).cloned().collect();
            found.extend(new);
        }
    }
    let results = if checked == 1 { "1 result".to_owned() } else { format!("{checked} results") };
    remarks.push(format!("checked {results} of {}", tuned.paths(db)));
    (found, remarks)
}

/// Returns the instance that a launch of a result's shape has.
fn instance_of<'db>(
    db: &'db dyn Db,
    kernel: Kernel<'db>,
    target: Target,
    entry: &TunedEntry,
) -> Instance<'db> {
    let generics = &kernel_signature(db, kernel).generics;
    let (mut args, mut dims) = (CtArgs::new(), BTreeMap::new());
    for (name, extent) in &entry.shape {
        let name = Name::from(name.as_str());
        match extent {
            Extent::Is(value) if generics.iter().any(|g| g.name == name) => {
                _ = args.insert(name, value.clone())
            }
            Extent::Is(CtValue::Int(value)) => _ = dims.insert(name, *value),
            Extent::Function(function) => {
                let written = function.parse::<WrittenArg>().ok();
                // A function that is gone leaves the default, as it does for a launch.
                if let Some(value) = written.and_then(|written| written.resolve(db, kernel.file(db)).ok()) {
                    args.insert(name, value);
                }
            }
            _ => {}
        }
    }
    args.extend(entry.arguments.iter().map(|(name, value)| (Name::from(name.as_str()), value.clone())));
    Instance::chosen(db, kernel, args, target, LaunchFacts::of_launch(db, kernel, &dims))
}
