//! Maps URIs to files: open documents, files on disk, the standard library.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::{Arc, Mutex, PoisonError};

use hx_base::{Db as _, FileKind, SourceFile, module_files};
use hx_worker::own_files;
use hx_workspace::Database;
use tower_lsp::ls_types::Uri;

use crate::touched::Touched;

/// A document that is open in the client.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// The URI in the client's spelling.
    pub(crate) uri: Uri,
    pub(crate) version: i32,
    pub(crate) file: SourceFile,
    pub(crate) touched: Touched,
}

/// The open documents, by absolute path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Documents {
    by_path: BTreeMap<String, Document>,
}

impl Documents {
    pub(crate) fn get(&self, path: &str) -> Option<&Document> {
        self.by_path.get(path)
    }

    pub(crate) fn get_mut(&mut self, path: &str) -> Option<&mut Document> {
        self.by_path.get_mut(path)
    }

    pub(crate) fn insert(&mut self, path: String, document: Document) {
        self.by_path.insert(path, document);
    }

    pub(crate) fn remove(&mut self, path: &str) -> Option<Document> {
        self.by_path.remove(path)
    }

    pub(crate) fn of(&self, file: SourceFile) -> Option<&Document> {
        self.by_path.values().find(|document| document.file == file)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Document)> {
        self.by_path.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_path.len()
    }
}

/// Returns the path of a URI. A URI that is not a file, for example an unsaved text, gets a path under `/unsaved`.
pub(crate) fn path_of(uri: &Uri) -> String {
    if uri.scheme().as_str() == "file"
        && let Some(path) = uri.to_file_path()
    {
        return path.to_string_lossy().replace('\\', "/");
    }
    format!("/unsaved/{}", escaped(uri.as_str()))
}

/// Escapes the separators of paths and URIs, so that different URIs have different names and each name is one component of a path.
fn escaped(uri: &str) -> String {
    let mut name = String::new();
    for c in uri.chars() {
        match c {
            '/' | '\\' | ':' | '?' | '#' | '%' => name += &format!("%{:02X}", u32::from(c)),
            c => name.push(c),
        }
    }
    name
}

/// Files with the texts of the standard library, for editors that open them. Each is written at its first use.
#[derive(Debug)]
pub(crate) struct StdFolder {
    root: Option<PathBuf>,
    written: Mutex<BTreeMap<String, Option<Uri>>>,
}

impl StdFolder {
    pub(crate) fn new(root: Option<PathBuf>) -> Arc<StdFolder> {
        Arc::new(StdFolder { root, written: Mutex::default() })
    }

    /// Returns the file of the standard library at a path on disk; `None` if the path is not below the folder.
    pub(crate) fn file(&self, db: &Database, path: &str) -> Option<SourceFile> {
        let inside = Path::new(path).strip_prefix(self.root.as_ref()?).ok()?;
        let inside = inside.to_string_lossy().replace('\\', "/");
        module_files(db, db.workspace()).get(&(FileKind::Std, inside)).copied()
    }

    /// Returns the URI of a file of the standard library, and writes its text into the folder at the first call. `None` without a
    /// folder, or if the text cannot be written.
    fn uri(&self, db: &Database, file: SourceFile) -> Option<Uri> {
        let shown = file.path(db);
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(uri) = written.get(shown) {
            return uri.clone();
        }
        let path = self.root.as_ref()?.join(shown);
        let uri = write_once(&path, file.text(db)).ok().and_then(|()| Uri::from_file_path(&path));
        written.insert(shown.to_owned(), uri.clone());
        uri
    }
}

fn write_once(path: &Path, text: &str) -> std::io::Result<()> {
    if own_files::read(path).is_ok_and(|there| there == text.as_bytes()) {
        return Ok(());
    }
    own_files::replace(path, text.as_bytes())?;
    let mut permissions = std::fs::metadata(path)?.permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(path, permissions)
}

/// Returns the URI of a file, in the client's spelling if the document is open. `None` if there is no file on disk.
pub(crate) fn uri_of(db: &Database, documents: &Documents, std: &StdFolder, file: SourceFile) -> Option<Uri> {
    if let Some(document) = documents.of(file) {
        return Some(document.uri.clone());
    }
    if file.kind(db) == FileKind::Std {
        return std.uri(db, file);
    }
    let path = db.path_on_disk(file)?;
    Uri::from_file_path(path).or_else(|| Uri::from_str(&format!("file://{path}")).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsaved_texts_have_paths_of_their_own() {
        let path = |uri: &str| path_of(&Uri::from_str(uri).expect("it is a URI"));
        assert_eq!(path("untitled:Untitled-1"), "/unsaved/untitled%3AUntitled-1");
        let alike = ["untitled:a/b", "untitled:a:b", "untitled:a?b", "untitled:a%3Ab", "untitled:a_b"];
        let paths: std::collections::BTreeSet<String> = alike.iter().map(|uri| path(uri)).collect();
        assert_eq!(paths.len(), alike.len(), "{paths:?}");
    }
}
