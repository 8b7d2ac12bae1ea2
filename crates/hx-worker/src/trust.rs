//! The projects whose programs and libraries may run, as the user has said outside of them.
//!
//! A file in the user's state folder lists folders, one absolute path a line; a folder stands for all below it.
//! A project cannot add itself: nothing in a project says where this file is.
//! `hx setup --trust PATH` and `--distrust PATH` write it.

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
    /// What the user has said so far. A list that others may write, or that cannot be read, trusts nothing.
    pub fn of_user() -> Trust {
        let bytes = file().and_then(|file| own_files::read(&file).ok()).unwrap_or_default();
        let text = String::from_utf8(bytes).unwrap_or_default();
        Trust { folders: text.lines().map(PathBuf::from).filter(|folder| folder.is_absolute()).collect() }
    }

    /// Whether a folder is trusted, or one above it. Links are followed first: what counts is where the folder is.
    pub fn covers(&self, folder: &Path) -> bool {
        let Ok(folder) = fs::canonicalize(folder) else { return false };
        folder.ancestors().any(|above| self.folders.contains(above))
    }

    /// The folders, ordered.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(PathBuf::as_path)
    }

    /// Adds a folder to the user's list, and returns its path as it is listed.
    ///
    /// # Errors
    /// The folder is not there, or the list cannot be written, as text.
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

    /// Takes a folder off the user's list; returns whether it was on it.
    ///
    /// # Errors
    /// The list cannot be written, as text.
    pub fn remove(&mut self, folder: &Path) -> Result<bool, String> {
        // A folder that is gone can still be taken off the list, by the path that the list has.
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

/// A relative state folder would be one of the project at hand, which could bring a list along.
fn file() -> Option<PathBuf> {
    state_folder().filter(|folder| folder.is_absolute()).map(|folder| folder.join(FILE))
}
