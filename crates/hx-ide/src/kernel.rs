//! Finds kernels by name or by place, and chooses an instance.

use std::collections::BTreeMap;

use hx_base::{SourceFile, TextSize, nearest};
use hx_compile::{CtArgs, Db, WrittenArg};
use hx_hir::{Item, ItemKey, Kernel, file_items, item_range, kernel_signature};

/// Returns the kernel `name`. Without a name, returns the kernel at the offset `at`, otherwise the first of the file.
///
/// # Errors
/// A sentence for the user: the file has no kernel `name`, or no kernel at all.
pub(crate) fn find<'db>(
    db: &'db dyn Db,
    file: SourceFile,
    name: Option<&str>,
    at: Option<TextSize>,
) -> Result<Kernel<'db>, String> {
    let items = file_items(db, file);
    let path = file.path(db);
    if let Some(name) = name {
        let names = || items.kernels().map(|kernel| kernel.name(db).as_str());
        return items.kernels().find(|kernel| kernel.name(db) == name).ok_or_else(|| {
            match nearest(name, names()) {
                Some(near) => format!("`{path}` has no kernel `{name}`; perhaps `{near}` is meant"),
                None => format!("`{path}` has no kernel `{name}`"),
            }
        });
    }
    let around = |kernel: &Kernel<'_>| {
        at.is_some_and(|at| item_range(db, Item::Kernel(*kernel)).contains_inclusive(at))
    };
    let found = items.kernels().find(around).or_else(|| items.kernels().next());
    found.ok_or_else(|| format!("`{path}` has no kernel"))
}

/// Parses a choice of an instance: a kernel and its compile-time arguments as text (`BM` is `128`, `T` is `bf16`).
///
/// # Errors
/// A sentence for the user: there is no such kernel or parameter, a value is invalid, or a parameter has no value.
pub fn instance(
    db: &dyn Db,
    file: SourceFile,
    kernel: &str,
    args: &BTreeMap<String, String>,
) -> Result<(ItemKey, CtArgs), String> {
    let kernel = find(db, file, Some(kernel), None)?;
    let signature = kernel_signature(db, kernel);
    let mut parsed = CtArgs::new();
    for (name, value) in args {
        let names = || signature.generics.iter().map(|generic| generic.name.as_str());
        if !names().any(|known| known == name) {
            let hint =
                nearest(name, names()).map_or_else(String::new, |n| format!("; perhaps `{n}` is meant"));
            return Err(format!("`{}` has no compile-time parameter `{name}`{hint}", kernel.name(db)));
        }
        let written = value.parse::<WrittenArg>();
        let value = written.and_then(|written| written.resolve(db, file));
        parsed.insert(name.into(), value.map_err(|error| format!("`{name}`: {error}"))?);
    }
    let open = signature.generics.iter().find(|g| g.default.is_none() && !parsed.contains_key(&g.name));
    match open {
        Some(open) if !parsed.is_empty() => {
            Err(format!("`{}` needs a value for `{}`", kernel.name(db), open.name))
        }
        _ => Ok((kernel.key(db), parsed)),
    }
}
