//! The lowest capability trait, and the queries that need only text.

use std::collections::BTreeMap;

use ::line_index::LineIndex;
use hx_syntax::Parse;

use crate::{Applicability, Diagnostic, FileKind, SourceFile, Workspace, code, codes, divided};

/// A database that finds its source files. `hx_hir::Db` and `hx_compile::Db` extend this trait.
#[salsa::db]
pub trait Db: salsa::Database {
    /// Returns the list of known files.
    fn workspace(&self) -> Workspace;
}

/// Parses a file. The result has a tree for every text, and the syntax errors. After an edit inside of one item of a user's file,
/// only that item is parsed again. Each call of `tree()` makes new nodes, so keep the [`Parse`], not the nodes.
#[salsa::tracked(lru = 256)]
pub fn parse(db: &dyn Db, file: SourceFile) -> Parse {
    match file.kind(db) {
        FileKind::Cell => hx_syntax::parse_cell_file(file.text(db)),
        FileKind::Std => hx_syntax::parse(file.text(db)),
        FileKind::Workspace => file.parsed(db).parse(file.text(db)),
    }
}

/// Reports whether a file has a syntax error. This is a query of its own, because an edit moves the errors but rarely changes this
/// answer.
#[salsa::tracked(returns(copy))]
pub fn has_syntax_errors(db: &dyn Db, file: SourceFile) -> bool {
    !parse(db, file).is_ok()
}

/// Returns the index that converts byte offsets in a file to lines and columns, and columns to UTF-16. Lines and columns count
/// from zero, columns in bytes.
#[salsa::tracked(lru = 256)]
pub fn line_index(db: &dyn Db, file: SourceFile) -> LineIndex {
    LineIndex::new(file.text(db))
}

/// Returns the syntax errors of a file as diagnostics, ordered by position.
#[salsa::tracked]
pub fn syntax_diagnostics(db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
    let errors = parse(db, file).errors();
    let to_diagnostic =
        |error: &hx_syntax::SyntaxError| {
            let code = code(error.code).unwrap_or(&codes::UNEXPECTED_TOKEN);
            let found = Diagnostic::new(code, file, error.range, error.message.clone());
            match divided::slashes(file.text(db), error.range.start()) {
                Some(slashes) => found
                    .help("`//` begins a comment; `/` divides integers, and rounds down")
                    .fix("divide by `/`", slashes, "/", Applicability::Maybe),
                None => found,
            }
        };
    errors.iter().map(to_diagnostic).collect()
}

/// Returns every file, keyed by its kind and its display path. The kind is necessary because a folder of the user may be called
/// `std` too.
#[salsa::tracked]
pub fn module_files(db: &dyn Db, workspace: Workspace) -> BTreeMap<(FileKind, String), SourceFile> {
    workspace.files(db).iter().map(|&file| ((file.kind(db), file.path(db).to_owned()), file)).collect()
}

/// Finds the file of a module path, as seen from a file. `None` if no known file has this path, or if the path is empty.
///
/// `std::matmul` is the standard library's `std/matmul.hx`. Any other path is searched from the folder of `from` outwards,
/// nearest first: in `kernels/main.hx`, `attention::fwd` is `kernels/attention/fwd.hx`, or else `attention/fwd.hx`. Files of the
/// standard library see only the standard library.
pub fn resolve_module(db: &dyn Db, from: SourceFile, segments: &[&str]) -> Option<SourceFile> {
    let files = module_files(db, db.workspace());
    if segments.is_empty() {
        return None;
    }
    let relative = format!("{}.hx", segments.join("/"));
    if segments[0] == "std" {
        return files.get(&(FileKind::Std, relative)).copied();
    }
    // A cell searches from the current folder, whatever the name of the cell is.
    let (kind, mut folder) = match from.kind(db) {
        FileKind::Cell => (FileKind::Workspace, ""),
        kind => (kind, from.path(db)),
    };
    let current = db.workspace().current_dir(db);
    // Files below the current folder are known by paths relative to it, other files by absolute paths.
    let known = |path: String| {
        let below = path.strip_prefix(current).and_then(|path| path.strip_prefix('/')).map(str::to_owned);
        let found = files.get(&(kind, path)).copied();
        found.or_else(|| files.get(&(kind, below?)).copied())
    };
    loop {
        folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = if folder.is_empty() { relative.clone() } else { format!("{folder}/{relative}") };
        let found = known(path);
        if found.is_some() {
            return found;
        }
        if folder.is_empty() {
            break;
        }
    }
    // The current folder may be inside a project. Then the search goes on in the folders above it, whose files have absolute
    // paths.
    let inside = kind == FileKind::Workspace && !from.path(db).starts_with('/');
    let mut above = if inside { current } else { "" };
    while let Some((folder, _)) = above.rsplit_once('/') {
        above = folder;
        let found = known(format!("{above}/{relative}"));
        if found.is_some() {
            return found;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestDb;

    #[test]
    fn modules_are_found_nearest_first() {
        let mut db = TestDb::default();
        let std = SourceFile::std(&db, "std/matmul.hx", "");
        let files: Vec<_> = ["main.hx", "a/main.hx", "a/b/main.hx", "std2.hx", "a/std2.hx"]
            .iter()
            .map(|path| SourceFile::workspace(&db, *path, ""))
            .collect();
        let workspace = db.workspace();
        workspace.add_files(&mut db, std::iter::once(std).chain(files.iter().copied()));
        let find = |from: SourceFile, path: &str| {
            let segments: Vec<&str> = path.split("::").collect();
            resolve_module(&db, from, &segments).map_or("none", |file| file.path(&db))
        };
        assert_eq!(find(files[0], "std::matmul"), "std/matmul.hx");
        assert_eq!(find(files[0], "std::nothing"), "none");
        assert_eq!(find(files[2], "std2"), "a/std2.hx");
        assert_eq!(find(files[0], "std2"), "std2.hx");
        assert_eq!(find(files[0], "b::main"), "none");
        assert_eq!(find(files[1], "b::main"), "a/b/main.hx");
        assert_eq!(find(std, "main"), "none");
        use salsa::Setter as _;
        workspace.set_current_dir(&mut db).to("/home/me".to_owned());
        let above = SourceFile::workspace(&db, "/home/main.hx", "");
        workspace.add_files(&mut db, [above]);
        let find = |from: SourceFile, path: &str| {
            let segments: Vec<&str> = path.split("::").collect();
            resolve_module(&db, from, &segments).map_or("none", |file| file.path(&db))
        };
        assert_eq!(find(above, "me::a::std2"), "a/std2.hx", "a file below the current folder, from above it");
        let own = SourceFile::workspace(&db, "std/matmul.hx", "");
        workspace.add_files(&mut db, [own]);
        let found = resolve_module(&db, files[0], &["std", "matmul"]);
        assert_eq!(found, Some(std), "a file of the user does not hide the standard library");
    }

    #[test]
    fn an_edit_parses_one_file_again() {
        let mut db = TestDb::default();
        let a = SourceFile::workspace(&db, "a.hx", "const A = 1;\n");
        let b = SourceFile::workspace(&db, "b.hx", "const B = 1;\n");
        let std = SourceFile::std(&db, "std/c.hx", "const C = 1;\n");
        for file in [a, b, std] {
            parse(&db, file);
            assert_eq!(line_index(&db, file).line_col(13.into()).line, 1);
        }
        db.log.take();
        assert!(a.update_text(&mut db, "const A = 2;\n"));
        assert!(!b.update_text(&mut db, "const B = 1;\n"));
        for file in [a, b, std] {
            parse(&db, file);
        }
        assert_eq!(db.log.take(), ["parse"]);
    }
}
