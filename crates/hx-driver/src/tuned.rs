//! Results of tuning for shapes without a launch: those that a build takes, and the check of all of them.

use std::collections::{BTreeMap, BTreeSet};

use hx_base::{Diagnostic, SourceFile};
use hx_compile::{Db, Instance};
use hx_hir::{Item, Kernel, Name, Sound, file_items, kernel_signature};
use hx_inspect::{EmitError, Overrides};
use hx_launch::{Tuned, fits, values};
use hx_lower::{CtArgs, CtValue, LaunchFacts, WrittenArg};
use hx_target::Target;
use hx_workspace::{Extent, TunedEntry};

use crate::tune::FixedInputs;

/// Returns the arguments of the result for a shape, and lines that say so. Arguments in `stated` win over those of the result.
/// Without a `device`, all fitting results for the architecture must be of one device.
///
/// # Errors
/// If the shape does not fit the kernel, or several devices have results, as text; or if a result does not fit the kernel.
pub fn tuned_for_shape<'db>(
    tuned: &Tuned,
    db: &'db dyn Db,
    kernel: Kernel<'db>,
    target: Target,
    (shape, stated): (&Overrides, &Overrides),
    device: Option<&str>,
) -> Result<(CtArgs, Vec<String>), EmitError> {
    let given = FixedInputs::of_shape(db, kernel, shape).map_err(EmitError::Usage)?;
    let file = kernel.file(db);
    let resolved = stated.iter().map(|(name, value)| Ok((name.clone(), value.resolve(db, file)?)));
    let mut args: CtArgs = resolved.collect::<Result<_, _>>().map_err(EmitError::Usage)?;
    args.extend(given.args);
    let is_meant = |entry: &&TunedEntry| {
        entry.target == target.name() && device.is_none_or(|device| entry.device == device)
    };
    let own: Vec<&TunedEntry> = tuned.of(db, kernel).filter(is_meant).collect();
    let values = values(db, kernel, target, &given.dims, &args, &own);
    let fitting = own.iter().filter(|entry| fits(entry, &values));
    let devices: BTreeSet<&str> = fitting.map(|entry| entry.device.as_str()).collect();
    if devices.len() > 1 {
        let devices: Vec<String> = devices.iter().map(|device| format!("`{device}`")).collect();
        let text = format!(
            "there are results for {}: `--tuned-for DEVICE` says which to take",
            devices.join(" and ")
        );
        return Err(EmitError::Usage(text));
    }
    let selected = tuned.select(db, kernel, own, &values, &args);
    let (taken, mut remarks) = selected.map_err(|error| EmitError::Found(error.into_parts().1))?;
    if remarks.is_empty() {
        let (name, paths) = (kernel.name(db), tuned.paths(db));
        remarks.push(format!("no result of `{name}` in {paths} fits this shape"));
    }
    if let Some((entry, member)) = taken.and_then(|entry| Some((entry, entry.member.as_ref()?))) {
        let arguments: Vec<String> =
            entry.arguments.iter().map(|(name, is)| format!("--set {name}={is}")).collect();
        let text = format!(
            "the result of `{}` at {} is another kernel, a member of its family: build `{member}` of its file, with {}",
            kernel.name(db),
            tuned.place(db, entry),
            arguments.join(" ")
        );
        return Err(EmitError::Usage(text));
    }
    for (arg, value) in taken.into_iter().flat_map(|entry| &entry.arguments) {
        args.insert(arg.as_str().into(), value.clone());
    }
    Ok((args, remarks))
}

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
