//! The projects whose programs and libraries may run, as the user has declared outside of them.
//!
//! A file in the user's state folder lists folders, one absolute path on a line. A folder includes all folders below it. A
//! project cannot add itself, because no setting of a project determines the place of this file. `hx setup --trust PATH` and
//! `--distrust PATH` write it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::folders::state_folder;
use crate::own_files;

const FILE: &str = "trusted-projects";

/// The folders that the user trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// Canonical paths.
    folders: BTreeSet<PathBuf>,
}

impl Trust {
    /// Reads the user's list. A list that others may write, or that cannot be read, counts as empty.
    pub fn of_user() -> Trust {
        let bytes = file().and_then(|file| own_files::read(&file).ok()).unwrap_or_default();
        let text = String::from_utf8(bytes).unwrap_or_default();
        Trust { folders: text.lines().map(PathBuf::from).filter(|folder| folder.is_absolute()).collect() }
    }

    /// Reports whether a folder or one above it is trusted. Links are resolved first, so the real place of the folder counts.
    pub fn covers(&self, folder: &Path) -> bool {
        let Ok(folder) = fs::canonicalize(folder) else { return false };
        folder.ancestors().any(|above| self.folders.contains(above))
    }

    /// Yields the folders, ordered.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(PathBuf::as_path)
    }

    /// Adds a folder to the user's list, and returns its path in the list.
    ///
    /// # Errors
    /// If the folder is missing or the list cannot be written, as text.
    pub fn add(&mut self, folder: &Path) -> Result<PathBuf, String> {
        let found = fs::canonicalize(folder).map_err(|error| format!("`{}`: {error}", folder.display()))?;
        if !found.is_dir() {
            return Err(format!("found the file `{}`, expected a folder", folder.display()));
        }
        if found.to_str().is_none_or(|path| path.contains('\n')) {
            return Err(format!("the path {found:?} cannot be listed: it is not one line of UTF-8 text"));
        }
        self.folders.insert(found.clone());
        self.save()?;
        Ok(found)
    }

    /// Removes a folder from the user's list. Returns whether it was listed.
    ///
    /// # Errors
    /// If the list cannot be written, as text.
    pub fn remove(&mut self, folder: &Path) -> Result<bool, String> {
        // A folder that no longer exists can still be removed, by its path in the list.
        let listed = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let removed = self.folders.remove(&listed);
        if removed {
            self.save()?;
        }
        Ok(removed)
    }

    fn save(&self) -> Result<(), String> {
        let file =
            file().ok_or("there is no home folder for the list: set HX_STATE_DIR to an absolute path")?;
        let text: String = self.folders.iter().map(|folder| format!("{}\n", folder.display())).collect();
        own_files::replace(&file, text.as_bytes())
            .map_err(|error| format!("`{}` cannot be written: {error}", file.display()))
    }
}

/// Returns the path of the list. A relative state folder is ignored: it would lie in the current project, which could bring its
/// own list.
fn file() -> Option<PathBuf> {
    state_folder().filter(|folder| folder.is_absolute()).map(|folder| folder.join(FILE))
}
