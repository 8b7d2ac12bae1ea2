//! The database, and the texts in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use hx_base::{Db as _, SourceFile, System, SystemError, Workspace};

use crate::{OpenError, OsSystem, paths, std_files};

/// The one concrete database. Clones are snapshots for readers; the original is the only writer and waits in its setters
/// until all snapshots are gone.
#[salsa::db]
#[derive(Clone)]
pub struct Database {
    storage: salsa::Storage<Self>,
    system: Arc<dyn System>,
    files: Arc<Files>,
}

/// What is known of the files beyond the inputs. Shared between snapshots and changed only by the writer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    /// Every file of the user that was ever loaded, by absolute path.
    by_path: BTreeMap<String, SourceFile>,
    /// Files whose text an editor holds.
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
impl hx_compile::Db for Database {}

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
    /// A database over a file system, with the standard library and nothing else.
    pub fn new(system: Arc<dyn System>) -> Database {
        Database::with_events(system, None)
    }

    /// The same, reporting what salsa does; tests of incrementality listen.
    pub fn with_events(
        system: Arc<dyn System>,
        events: Option<Box<dyn Fn(salsa::Event) + Send + Sync + 'static>>,
    ) -> Database {
        let db = Database { storage: salsa::Storage::new(events), system, files: Arc::default() };
        let files = std_files::FILES.iter().map(|&(path, text)| SourceFile::std(&db, path, text)).collect();
        let current_dir = db.system.current_dir();
        let _workspace = Workspace::builder(files).current_dir(current_dir).new(&db);
        db
    }

    /// The file system that this database reads.
    pub fn system(&self) -> &dyn System {
        &*self.system
    }

    /// The file of a path as a person writes it: of the standard library (`std/matmul.hx`), relative or absolute.
    pub fn file(&self, path: &str) -> Option<SourceFile> {
        let loaded =
            self.files.by_path.get(&self.absolute(path)).copied().filter(|&file| self.is_listed(file));
        loaded.or_else(|| self.workspace().file(self, path))
    }

    /// The absolute path of a file of the user; nothing for the standard library.
    pub fn path_on_disk(&self, file: SourceFile) -> Option<&str> {
        self.files.by_path.iter().find(|(_, known)| **known == file).map(|(path, _)| path.as_str())
    }

    /// The files of the user, ordered by path.
    pub fn user_files(&self) -> Vec<SourceFile> {
        self.files.by_path.values().copied().filter(|&file| self.is_listed(file)).collect()
    }

    /// Puts a text over a file, as an editor does while the file is open. The file need not exist on disk.
    pub fn set_overlay(&mut self, path: &str, text: &str) -> SourceFile {
        let path = self.absolute(path);
        Arc::make_mut(&mut self.files).overlaid.insert(path.clone());
        self.put(&path, text)
    }

    /// Takes the text of an editor away: the file is again what it is on disk, and gone if it is not there.
    pub fn remove_overlay(&mut self, path: &str) {
        let path = self.absolute(path);
        if Arc::make_mut(&mut self.files).overlaid.remove(&path) {
            // What cannot be read is gone.
            let _ = self.reload_absolute(&path);
        }
    }

    /// Reads a file again after something changed it on disk. Where an editor holds its text, that text stays.
    ///
    /// # Errors
    /// When the file cannot be read; it is then taken out of the workspace.
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

    /// Takes a file out of the workspace, whatever is on disk. It may be loaded again.
    pub fn unload(&mut self, path: &str) {
        let path = self.absolute(path);
        Arc::make_mut(&mut self.files).overlaid.remove(&path);
        self.forget(&path);
    }

    pub(crate) fn absolute(&self, path: &str) -> String {
        paths::absolute(&self.system.current_dir(), path)
    }

    /// The file of an absolute path, read from disk unless it is known already.
    pub(crate) fn load(&mut self, path: &str) -> Result<SourceFile, SystemError> {
        if let Some(&file) = self.files.by_path.get(path)
            && self.is_listed(file)
        {
            return Ok(file);
        }
        let text = self.system.read_to_string(path)?;
        Ok(self.put(path, &text))
    }

    /// Makes a text the text of a file.
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

    /// Takes a file out of the workspace. An input cannot be destroyed; if the file comes back, it is the same one.
    fn forget(&mut self, path: &str) {
        if let Some(&file) = self.files.by_path.get(path) {
            self.workspace().remove_file(self, file);
        }
    }

    fn is_listed(&self, file: SourceFile) -> bool {
        self.workspace().files(self).contains(&file)
    }
}
