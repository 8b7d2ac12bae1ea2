//! `hx layout why`: prints the reasons for the layouts of one kernel, and its estimated cycles, or why it has no others.

use std::collections::BTreeSet;

use hx_base::interrupt::Until;
use hx_base::{SourceFile, nearest};
use hx_compile::{CtArgs, Instance, LaunchFacts, instance_diagnostics, why_not};
use hx_driver::choice_for;
use hx_driver::tune::TuneError;
use hx_hir::{Kernel, Name, family_of, file_items, kernel_signature, signature_names};
use hx_inspect::{Overrides, Solved, parse_override};
use hx_target::Target;
use hx_workspace::Database;

use crate::Exit;
use crate::cli::WhyArgs;
use crate::commands::tuned::tuned_by_default;
use crate::commands::{Loaded, load, setup};
use crate::output::Output;

pub(super) fn run(args: &WhyArgs, output: &Output) -> Result<Exit, Exit> {
    let usage = |text: &str| {
        output.usage(text);
        Exit::Usage
    };
    let loaded = load(std::slice::from_ref(&args.file), output)?;
    let &[file] = loaded.files.as_slice() else {
        return Err(usage(&format!("`{}` is a folder; `hx layout why` takes one file", args.file)));
    };
    let db = &loaded.db;
    let target = setup(None, &args.target, loaded.manifest.as_ref(), output)?.target;
    let kernel = kernel(db, file, &args.kernel).map_err(|text| usage(&text))?;
    if args.members {
        return members(&loaded, kernel, args, target, output);
    }
    let instance = instance(db, kernel, args, target).map_err(|text| usage(&text))?;
    let Some(solved) = Solved::of(db, instance, &args.dim) else {
        // Report the errors of the file, or if it has none, those of this instance.
        let mut errors = hx_inspect::check(db, file, target, false);
        if !errors.iter().any(|found| found.is_error()) {
            errors = instance_diagnostics(db, instance).clone();
        }
        output.diagnostics(db, &errors);
        output.summary(&errors);
        return Err(Exit::Bad);
    };
    let tensor = args.tensor.as_deref();
    if let Some(question) = &args.not {
        let text = why_not(db, instance, tensor, question, &args.dim).map_err(|text| usage(&text))?;
        output.result(&text);
        return Ok(Exit::Good);
    }
    if let Some(text) = tensor.filter(|_| !args.candidates).and_then(|name| solved.order(name)) {
        output.result(&text);
        caveat(target, output);
        return Ok(Exit::Good);
    }
    let tensors = solved.tensors(tensor).map_err(|text| usage(&text))?;
    if args.candidates {
        let Ok(text) = Solved::candidates(db, instance, tensor) else { return Err(Exit::Bad) };
        output.result(&text);
        caveat(target, output);
    } else {
        let text = match tensor {
            Some(_) => solved.why(&tensors, args.depth),
            None => solved.why_all(args.depth.unwrap_or(0)),
        };
        output.result(&text);
        chosen(&loaded, kernel, args, target, output);
        if text.contains("estimated cycles") {
            caveat(target, output);
        }
    }
    Ok(Exit::Good)
}

/// Says which member a launch runs instead of this instance, if `--dim` has all dimensions.
fn chosen(loaded: &Loaded, kernel: Kernel<'_>, args: &WhyArgs, target: Target, output: &Output) {
    let db = &loaded.db;
    if family_of(db, kernel).members.is_empty() || args.dim.is_empty() {
        return;
    }
    let until = Until { stop: crate::interrupt::later_flag(), deadline: None };
    let Ok(tuned) = tuned_by_default(loaded, &args.file, &args.tuned, output) else { return };
    let choice = shape_of(args)
        .ok()
        .and_then(|shape| choice_for(db, kernel, target, &shape, tuned.as_ref(), until).ok()?);
    if let Some(choice) = choice.filter(|choice| choice.by_model.first().is_some()) {
        choice.remarks(kernel.name(db)).iter().for_each(|line| output.remark(line));
    }
}

/// Returns the dimensions and arguments that the flags state.
fn shape_of(args: &WhyArgs) -> Result<Overrides, String> {
    let dims = args.dim.iter().map(|(name, value)| format!("{name}={value}"));
    dims.chain(args.set.iter().cloned()).map(|text| parse_override(&text)).collect()
}

/// Prints the members of the kernel's family for a launch.
fn members(
    loaded: &Loaded,
    kernel: Kernel<'_>,
    args: &WhyArgs,
    target: Target,
    output: &Output,
) -> Result<Exit, Exit> {
    let usage = |text: &str| {
        output.usage(text);
        Exit::Usage
    };
    let db = &loaded.db;
    let shape = shape_of(args).map_err(|text| usage(&text))?;
    let tuned = tuned_by_default(loaded, &args.file, &args.tuned, output)?;
    let until = Until { stop: crate::interrupt::later_flag(), deadline: None };
    match choice_for(db, kernel, target, &shape, tuned.as_ref(), until) {
        Ok(Some(choice)) => {
            let remarks = choice.remarks(kernel.name(db)).join("\n");
            output.result(&format!("{remarks}\n\n{}", choice.by_model.table()));
            caveat(target, output);
            Ok(Exit::Good)
        }
        Ok(None) if family_of(db, kernel).members.is_empty() => {
            Err(usage(&format!("`{}` has no family; `#[family(…)]` before a kernel lists one", args.kernel)))
        }
        Ok(None) => {
            let text = "decides between the members of the family, so a launch that states it runs the kernel itself";
            Err(usage(&format!("a parameter of `--set` {text}")))
        }
        Err(TuneError::Usage(text)) => Err(usage(&text)),
        Err(TuneError::Launch(error)) => {
            let (error, found) = error.into_parts();
            output.diagnostics(db, &found);
            if found.is_empty() {
                output.placeless(&error);
            }
            Err(Exit::Bad)
        }
        Err(TuneError::Wrong(_)) => Err(Exit::Bad),
    }
}

/// Says of the printed estimates what their numbers are, if they were not measured on a device of the target.
fn caveat(target: Target, output: &Output) {
    if let Some(caveat) = target.caveat() {
        output.remark(&format!("the estimates are {caveat}"));
    }
}

fn kernel<'db>(db: &'db Database, file: SourceFile, name: &str) -> Result<Kernel<'db>, String> {
    let items = file_items(db, file);
    if let Some(kernel) = items.kernels().find(|kernel| kernel.name(db) == name) {
        return Ok(kernel);
    }
    let names: Vec<&str> = items.kernels().map(|kernel| kernel.name(db).as_str()).collect();
    Err(format!("`{}` has no kernel `{name}`{}", file.path(db), hint(name, &names)))
}

/// Returns the default instance, with the arguments and dimensions that the flags replace.
///
/// # Errors
/// The reason as text: a flag cannot be parsed or names no parameter, dimension or stride, or a parameter has neither a value
/// nor a default.
fn instance<'db>(
    db: &'db Database,
    kernel: Kernel<'db>,
    args: &WhyArgs,
    target: Target,
) -> Result<Instance<'db>, String> {
    let signature = kernel_signature(db, kernel);
    let mut values = CtArgs::new();
    for text in &args.set {
        let (name, value) = parse_override(text)?;
        let names: Vec<&str> = signature.generics.iter().map(|generic| generic.name.as_str()).collect();
        if !names.contains(&name.as_str()) {
            return Err(format!(
                "`{}` has no compile-time parameter `{name}`{}",
                args.kernel,
                hint(&name, &names)
            ));
        }
        let value = value.resolve(db, kernel.file(db)).map_err(|reason| format!("`{name}`: {reason}"))?;
        values.insert(name, value);
    }
    let open = signature.generics.iter().find(|g| g.default.is_none() && !values.contains_key(&g.name));
    if let Some(open) = open {
        let why = "has a compile-time parameter without a default, so it has no default instance";
        return Err(format!("`{}` {why}: `--set {}=…` gives it a value", args.kernel, open.name));
    }
    let dims = args.dim.iter().map(|(name, value)| (Name::new(name), *value)).collect();
    let facts = LaunchFacts::of_launch(db, kernel, &dims);
    let instance = Instance::chosen(db, kernel, values, target, facts);
    let names: BTreeSet<&str> =
        signature_names(db, kernel.into()).dims.iter().map(|dim| dim.name.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    if let Some((name, _)) = args.dim.iter().find(|(name, _)| !names.contains(&name.as_str())) {
        return Err(format!("`{}` has no dimension or stride `{name}`{}", args.kernel, hint(name, &names)));
    }
    Ok(instance)
}

fn hint(name: &str, names: &[&str]) -> String {
    match nearest(name, names.iter().copied()) {
        Some(near) => format!("; perhaps `{near}` is meant"),
        None if names.is_empty() => "; it has none".to_owned(),
        None => format!("; it has {}", names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")),
    }
}
