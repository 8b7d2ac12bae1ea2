//! The database and the texts in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex},
};

use hx_base::{Db as _, SourceFile, System, SystemError, Workspace};

use crate::tuned::TunedFile;
use crate::{OpenError, OsSystem, paths, std_files};

/// The only concrete database. Clones are snapshots for readers. Only the original is written; its setters wait until all
/// snapshots are dropped.
#[salsa::db]
#[derive(Clone)]
pub struct Database {
    storage: salsa::Storage<Self>,
    system: Arc<dyn System>,
    files: Arc<Files>,
    /// The tuned files that were read, by the paths that are shown.
    tuned: Arc<Mutex<BTreeMap<String, TunedFile>>>,
}

/// The files of the user by path, which the inputs of queries do not contain. Snapshots share it, and only the writer changes it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    /// Every user file that was ever loaded, removed ones included, by absolute path.
    by_path: BTreeMap<String, SourceFile>,
    /// The absolute paths of files whose text comes from an editor.
    overlaid: BTreeSet<String>,
}

#[salsa::db]
impl salsa::Database for Database {}

#[salsa::db]
impl hx_base::Db for Database {
    fn workspace(&self) -> Workspace {
        Workspace::get(self)
    }
}

#[salsa::db]
impl hx_hir::Db for Database {}

#[salsa::db]
impl hx_compile::Db for Database {
    fn fork(&self) -> Box<dyn hx_compile::Db> {
        Box::new(self.clone())
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("system", &self.system)
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

impl Default for Database {
    fn default() -> Self {
        Database::new(Arc::new(OsSystem))
    }
}

impl Database {
    /// Makes a database over a file system, with only the standard library in it.
    pub fn new(system: Arc<dyn System>) -> Database {
        Database::with_events(system, None)
    }

    /// Makes a database that reports salsa's events; tests of incrementality listen to them.
    pub fn with_events(
        system: Arc<dyn System>,
        events: Option<Box<dyn Fn(salsa::Event) + Send + Sync + 'static>>,
    ) -> Database {
        let db = Database {
            storage: salsa::Storage::new(events),
            system,
            files: Arc::default(),
            tuned: Arc::default(),
        };
        let files = std_files::FILES.iter().map(|&(path, text)| SourceFile::std(&db, path, text)).collect();
        let current_dir = db.system.current_dir();
        let _workspace = Workspace::builder(files).current_dir(current_dir).new(&db);
        db
    }

    pub(crate) fn tuned_files(&self) -> &Mutex<BTreeMap<String, TunedFile>> {
        &self.tuned
    }

    /// Returns the file system that this database reads.
    pub fn system(&self) -> &dyn System {
        &*self.system
    }

    /// Finds a loaded file by a path as users write it: in the standard library (`std/matmul.hx`), relative, or absolute. `None`
    /// if no such file is loaded.
    pub fn file(&self, path: &str) -> Option<SourceFile> {
        let loaded =
            self.files.by_path.get(&self.absolute(path)).copied().filter(|&file| self.is_listed(file));
        loaded.or_else(|| self.workspace().file(self, path))
    }

    /// Returns the absolute path of a user file; `None` for the standard library.
    pub fn path_on_disk(&self, file: SourceFile) -> Option<&str> {
        self.files.by_path.iter().find(|(_, known)| **known == file).map(|(path, _)| path.as_str())
    }

    /// Returns the user files, ordered by path.
    pub fn user_files(&self) -> Vec<SourceFile> {
        self.files.by_path.values().copied().filter(|&file| self.is_listed(file)).collect()
    }

    /// Gives a file a text that replaces its text on disk, as an editor does while the file is open. The file need not exist on
    /// disk.
    pub fn set_overlay(&mut self, path: &str, text: &str) -> SourceFile {
        let path = self.absolute(path);
        Arc::make_mut(&mut self.files).overlaid.insert(path.clone());
        self.put(&path, text)
    }

    /// Removes an editor's overlay. The file then has its text on disk, or leaves the workspace if it is not there.
    pub fn remove_overlay(&mut self, path: &str) {
        let path = self.absolute(path);
        if Arc::make_mut(&mut self.files).overlaid.remove(&path) {
            // A file that cannot be read leaves the workspace, so the error needs no report.
            let _ = self.reload_absolute(&path);
        }
    }

    /// Reads a file again after it changed on disk. If an editor overlays the file, it keeps the editor's text.
    ///
    /// # Errors
    /// If the file cannot be read; it then leaves the workspace.
    pub fn reload(&mut self, path: &str) -> Result<(), OpenError> {
        let path = self.absolute(path);
        self.reload_absolute(&path).map_err(|reason| OpenError { path, reason })
    }

    fn reload_absolute(&mut self, path: &str) -> Result<(), SystemError> {
        if self.files.overlaid.contains(path) {
            return Ok(());
        }
        match self.system.read_to_string(path) {
            Ok(text) => {
                self.put(path, &text);
                Ok(())
            }
            Err(reason) => {
                self.forget(path);
                Err(reason)
            }
        }
    }

    /// Removes a file from the workspace, even if it is on disk. It may be loaded again.
    pub fn unload(&mut self, path: &str) {
        let path = self.absolute(path);
        Arc::make_mut(&mut self.files).overlaid.remove(&path);
        self.forget(&path);
    }

    pub(crate) fn absolute(&self, path: &str) -> String {
        paths::absolute(&self.system.current_dir(), path)
    }

    /// Returns the file of an absolute path, and reads it from disk unless it is already loaded.
    ///
    /// # Errors
    /// If the file is not loaded and cannot be read.
    pub(crate) fn load(&mut self, path: &str) -> Result<SourceFile, SystemError> {
        if let Some(&file) = self.files.by_path.get(path)
            && self.is_listed(file)
        {
            return Ok(file);
        }
        let text = self.system.read_to_string(path)?;
        Ok(self.put(path, &text))
    }

    /// Sets the text of a file, and adds the file to the workspace.
    fn put(&mut self, path: &str, text: &str) -> SourceFile {
        let file = match self.files.by_path.get(path) {
            Some(&file) => {
                file.update_text(self, text);
                file
            }
            None => {
                let shown = paths::display(&self.system.current_dir(), path);
                let file = SourceFile::workspace(self, shown, text);
                Arc::make_mut(&mut self.files).by_path.insert(path.to_owned(), file);
                file
            }
        };
        self.workspace().add_files(self, [file]);
        file
    }

    /// Removes a file from the workspace. A file that comes back gets its earlier input, because inputs cannot be destroyed.
    fn forget(&mut self, path: &str) {
        if let Some(&file) = self.files.by_path.get(path) {
            self.workspace().remove_file(self, file);
        }
    }

    fn is_listed(&self, file: SourceFile) -> bool {
        self.workspace().files(self).contains(&file)
    }
}
