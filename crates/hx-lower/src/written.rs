//! Compile-time arguments as text: on a command line, in a command of the session, in an editor's request.

use std::fmt;
use std::str::FromStr;

use hx_base::{FileKind, SourceFile, module_files, nearest};
use hx_hir::{Db, Item, Name, Path, PathTarget, file_items, item_names, resolve_path};

use crate::CtValue;

/// A compile-time argument as it is written: `128`, `bf16`, `(8,8):(8,1)`, `relu`, `std::activations::relu`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WrittenArg {
    Value(CtValue),
    /// The path of a function, which only a file gives a meaning.
    Path(Path),
}

impl FromStr for WrittenArg {
    type Err = String;

    fn from_str(text: &str) -> Result<WrittenArg, String> {
        match text.parse() {
            Ok(value) => Ok(WrittenArg::Value(value)),
            Err(reason) => path(text).map(WrittenArg::Path).ok_or(reason),
        }
    }
}

impl WrittenArg {
    /// Returns the argument that the text means in a file, which is that of the kernel.
    ///
    /// # Errors
    /// A sentence for the user: the path means no function there.
    pub fn resolve(&self, db: &dyn Db, file: SourceFile) -> Result<CtValue, String> {
        let path = match self {
            WrittenArg::Value(value) => return Ok(value.clone()),
            WrittenArg::Path(path) => path,
        };
        match resolve_path(db, file, path) {
            Some(PathTarget::Item(Item::Function(function))) => Ok(CtValue::Function(function.key(db))),
            Some(PathTarget::Item(item)) => {
                Err(format!("`{path}` is a `{}`, expected a `fn`", item.kind().word()))
            }
            Some(PathTarget::Module(_)) => Err(format!("`{path}` is a module, expected a `fn`")),
            None if path.as_name().is_some_and(|name| name == "infer") => {
                Err("`infer` is only the default of a layout: leave the argument out".to_owned())
            }
            None => {
                let known = item_names(db, file);
                let near = path.as_name().and_then(|name| nearest(name, known.iter().map(Name::as_str)));
                let meant = in_library(db, path).or_else(|| near.map(str::to_owned));
                let hint = meant.map_or_else(String::new, |meant| format!("; perhaps `{meant}` is meant"));
                let place = file.path(db);
                Err(format!(
                    "`{path}` is not a number, element type or layout, and no `fn` of this name is in `{place}`{hint}"
                ))
            }
        }
    }
}

/// Returns the path of the library's function of this name; of several, the first by the names of their files.
fn in_library(db: &dyn Db, path: &Path) -> Option<String> {
    let name = path.as_name()?;
    let files = module_files(db, db.workspace()).iter().filter(|((kind, _), _)| *kind == FileKind::Std);
    let mut having = files.filter(|(_, file)| {
        let mut items = file_items(db, **file).named();
        items.any(|item| matches!(item, Item::Function(_)) && item.name(db) == name)
    });
    let ((_, file), _) = having.next()?;
    Some(format!("{}::{name}", file.trim_end_matches(".hx").replace('/', "::")))
}

impl fmt::Display for WrittenArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WrittenArg::Value(value) => write!(f, "{value}"),
            WrittenArg::Path(path) => write!(f, "{path}"),
        }
    }
}

fn path(text: &str) -> Option<Path> {
    let first = |c: char| c.is_alphabetic() || c == '_';
    let is_name = |name: &&str| {
        name.starts_with(first) && name.chars().all(|c| c.is_alphanumeric() || c == '_') && *name != "_"
    };
    let names: Vec<&str> = text.trim().split("::").map(str::trim).collect();
    names.iter().all(is_name).then(|| Path { segments: names.into_iter().map(Name::new).collect() })
}
