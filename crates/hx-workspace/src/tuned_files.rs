//! The tuned files that a command or an editor reads.

use std::sync::PoisonError;

use hx_base::SourceFile;

use crate::{Database, OpenError, TUNED_NAME, TunedFile, path_from, paths, std_files};

impl Database {
    /// Reads a tuned file; `None` if there is none at this path.
    ///
    /// # Errors
    /// If the file cannot be read. Errors in its contents are in [`TunedFile::diagnostics`].
    pub fn tuned(&self, path: &str) -> Result<Option<TunedFile>, OpenError> {
        let path = self.absolute(path);
        if !self.system().is_file(&path) {
            return Ok(None);
        }
        let shown = paths::display(&self.system().current_dir(), &path);
        let text = self.system().read_to_string(&path);
        let text = text.map_err(|reason| OpenError { path: shown.clone(), reason })?;
        let folder = paths::parent(&path).to_owned();
        Ok(Some(self.read_tuned(shown, &text, folder)))
    }

    /// Returns the results that come with the standard library.
    pub fn results_of_std(&self) -> TunedFile {
        self.read_tuned(format!("std/{TUNED_NAME}"), std_files::TUNED, String::new())
    }

    /// Reads a tuned file, or returns what was read of the same text before: an editor asks at every hover.
    fn read_tuned(&self, shown: String, text: &str, folder: String) -> TunedFile {
        let mut known = self.tuned_files().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&shown).filter(|found| found.file.text(self) == text) {
            return found.clone();
        }
        let found = TunedFile::read(self, SourceFile::workspace(self, shown.clone(), text), folder);
        known.insert(shown, found.clone());
        found
    }

    /// Returns the path of the tuned file for a file or folder: in the root of its project, otherwise beside the file or in the
    /// folder.
    pub fn tuned_path(&self, path: &str) -> String {
        let absolute = self.absolute(path);
        let folder = if self.system().is_dir(&absolute) {
            absolute.as_str()
        } else if self.system().is_file(&absolute) {
            paths::parent(&absolute)
        } else {
            // A file of the standard library has no folder, so its results belong to the current folder.
            return self.tuned_path(".");
        };
        let root = self.project_of(&paths::join(folder, "file"));
        paths::join(root.as_deref().unwrap_or(folder), TUNED_NAME)
    }

    /// Returns the path of a source file as a tuned file in `folder` writes it.
    pub fn path_from(&self, folder: &str, file: SourceFile) -> String {
        path_from(self, folder, file)
    }
}
