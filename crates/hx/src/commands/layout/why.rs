//! `hx layout why`.

use hx_base::{SourceFile, nearest};
use hx_compile::default_instance;
use hx_driver::Solved;
use hx_hir::{Kernel, file_items};
use hx_workspace::Database;

use crate::Exit;
use crate::cli::WhyArgs;
use crate::commands::{load, setup};
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
    let setup = setup(None, &args.target, loaded.manifest.as_ref(), output)?;
    let kernel = kernel(db, file, &args.kernel).map_err(|text| usage(&text))?;
    if default_instance(db, kernel, setup.target).is_none() {
        let why = "has a compile-time parameter without a default, so it has no default instance";
        return Err(usage(&format!("`{}` {why}", args.kernel)));
    }
    let Ok(solved) = Solved::new(db, kernel, &Vec::new(), &setup) else {
        let errors = hx_driver::check(db, file, setup.target, false);
        output.diagnostics(db, &errors);
        output.summary(&errors);
        return Err(Exit::Bad);
    };
    let tensors = solved.tensors(args.tensor.as_deref()).map_err(|text| usage(&text))?;
    output.result(&solved.why(&tensors));
    Ok(Exit::Good)
}

fn kernel<'db>(db: &'db Database, file: SourceFile, name: &str) -> Result<Kernel<'db>, String> {
    let items = file_items(db, file);
    if let Some(kernel) = items.kernels().find(|kernel| kernel.name(db) == name) {
        return Ok(kernel);
    }
    let names: Vec<&str> = items.kernels().map(|kernel| kernel.name(db).as_str()).collect();
    let hint = match nearest(name, names.iter().copied()) {
        Some(near) => format!("; perhaps `{near}` is meant"),
        None if names.is_empty() => "; it has none".to_owned(),
        None => format!("; it has {}", names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")),
    };
    Err(format!("`{}` has no kernel `{name}`{hint}", file.path(db)))
}
