//! The `use` items of a saved session, which import the names that the session had from loaded files.

use std::collections::BTreeSet;
use std::path::Path;

use hx_base::{FileKind, SourceFile, resolve_module};
use hx_hir::{Import, ItemKind, Name, file_items, imports};
use hx_syntax::is_identifier;

use crate::session::Session;

/// The imports of a saved session, and the names that it cannot import.
pub(super) struct Uses {
    /// The `use` items, one a line, each with its line end.
    pub(super) text: String,
    /// Sentences about files that no `use` can reach.
    pub(super) missing: Vec<String>,
}

/// A module, and the names to import from it as a `use` writes them, `a` or `a as b`. Without names the module itself is imported.
type Wanted = (SourceFile, Vec<String>);

/// Returns the `use` items for a session saved at `saved`: they import the names of loaded files that `text` mentions and `own`
/// does not define.
pub(super) fn uses(session: &Session, saved: &Path, text: &str, own: &[(ItemKind, Name)]) -> Uses {
    let db = &session.db;
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let mut open: BTreeSet<&str> = words.filter(|word| !own.iter().any(|(_, name)| name == word)).collect();
    let mut found: Vec<Wanted> = Vec::new();
    // The newest file comes first, because its definition shadows earlier ones of the same name.
    for file in session.files().into_iter().filter(|file| file.kind(db) != FileKind::Cell) {
        let mut names: Vec<String> = Vec::new();
        for item in file_items(db, file).named() {
            if open.remove(item.name(db).as_str()) {
                names.push(item.name(db).to_string());
            }
        }
        if !names.is_empty() {
            found.push((file, names));
        }
        for import in imports(db, file) {
            if open.remove(import.name.as_str())
                && let Some((module, name)) = origin(session, file, import)
            {
                match found.iter_mut().find(|(known, names)| *known == module && !names.is_empty()) {
                    Some((_, names)) if !name.is_empty() => names.push(name),
                    _ => found.push((module, if name.is_empty() { Vec::new() } else { vec![name] })),
                }
            }
        }
    }
    let mut uses = Uses { text: String::new(), missing: Vec::new() };
    for (module, names) in found.into_iter().rev() {
        let list = match names.as_slice() {
            [] => String::new(),
            [name] => format!("::{name}"),
            names => format!("::{{{}}}", names.join(", ")),
        };
        match path_from(session, saved, module) {
            Some(path) => uses.text += &format!("use {}{list};\n", path.join("::")),
            None => {
                let (names, path) = (names.join(", "), module.path(db));
                uses.text +=
                    &format!("// {names}: defined in {path}, which no `use` in this file can name.\n");
                let saved = saved.display();
                uses.missing.push(format!(
                    "no `use` leads from `{saved}` to `{path}`, which has `{names}`: save beside it"
                ));
            }
        }
    }
    if !uses.text.is_empty() {
        uses.text.push('\n');
    }
    uses
}

/// Returns the module from which an import comes, and the name as a `use` writes it. The name is empty if the import is the module
/// itself. `None` for a module with another name.
fn origin(session: &Session, file: SourceFile, import: &Import) -> Option<(SourceFile, String)> {
    let db = &session.db;
    let segments: Vec<&str> = import.path.segments.iter().map(Name::as_str).collect();
    let (last, before) = segments.split_last()?;
    if let Some(module) = resolve_module(db, file, before) {
        let renamed = *last != import.name.as_str();
        let name = if renamed { format!("{last} as {}", import.name) } else { (*last).to_owned() };
        return Some((module, name));
    }
    // A renamed module is not supported: the `use` items written here cannot rename one.
    let module = resolve_module(db, file, &segments).filter(|_| *last == import.name.as_str())?;
    Some((module, String::new()))
}

/// Returns the segments by which a file at `saved` names a module; `None` if no `use` in that file reaches it.
fn path_from(session: &Session, saved: &Path, module: SourceFile) -> Option<Vec<String>> {
    let db = &session.db;
    let words = |path: &Path| {
        let path = path.with_extension("");
        path.iter().map(|part| part.to_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    };
    if module.kind(db) == FileKind::Std {
        return words(Path::new(module.path(db)));
    }
    let on_disk = Path::new(db.path_on_disk(module)?).canonicalize().ok()?;
    let leads = |words: &Vec<String>| {
        let found = saved.to_str().and_then(|saved| db.find_module(saved, words));
        found.is_some_and(|found| Path::new(&found).canonicalize().is_ok_and(|found| found == on_disk))
    };
    let is_word = |word: &String| is_identifier(word);
    let outwards = saved.ancestors().skip(1).filter(|_| on_disk != saved);
    let paths = outwards.filter_map(|folder| words(on_disk.strip_prefix(folder).ok()?));
    let mut paths = paths.filter(|words| words.iter().all(is_word) && words[0] != "std");
    paths.find(leads)
}
