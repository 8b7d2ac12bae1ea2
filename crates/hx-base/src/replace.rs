//! Writes files whole or not at all: each is written beside its final path, under a unique name, and then renamed.
//!
//! A failed write leaves the old content. Start at [`replace_file`]; [`replace_files`] replaces several files together.

#![allow(clippy::disallowed_methods, reason = "these functions are how all others write")]

use std::fs::Metadata;
use std::io::{Error, ErrorKind, Result, Write as _};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

/// The prefix of the names of unfinished files.
const PREFIX: &str = ".hx-";

/// Replaces a file, or creates it. A link stays a link: its target is replaced. The bytes are written to a pipe or a device, which
/// cannot be replaced.
///
/// # Errors
/// The system's error. A file is then unchanged; a pipe or a device may have received some of the bytes.
pub fn replace_file(path: &Path, bytes: &[u8]) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(there) if !there.is_file() && !there.is_dir() => {
            std::fs::OpenOptions::new().write(true).open(path)?.write_all(bytes)
        }
        _ => replace_files(&[(path, bytes)]).map_err(|(_, error)| error),
    }
}

/// Replaces several files together or not at all. All are written under other names before the first rename; if a rename fails,
/// the earlier renames are undone. A link stays a link: its target is replaced.
///
/// # Errors
/// The path of the file that failed, and the system's error.
pub fn replace_files<'a>(files: &[(&'a Path, &[u8])]) -> std::result::Result<(), (&'a Path, Error)> {
    let mut drafts = Vec::with_capacity(files.len());
    for &(path, bytes) in files {
        drafts.push((path, Draft::new(path, bytes).map_err(|error| (path, error))?));
    }
    // After the last rename nothing can fail, so a single file needs no copy of its old content.
    let last = drafts.len().saturating_sub(1);
    let mut done: Vec<Replaced> = Vec::new();
    for (at, (path, draft)) in drafts.into_iter().enumerate() {
        match draft.replace(at < last) {
            Ok(replaced) => done.push(replaced),
            Err(error) => {
                done.into_iter().rev().for_each(Replaced::undo);
                return Err((path, error));
            }
        }
    }
    Ok(())
}

/// A file that is written under another name, but not yet renamed to `place`.
struct Draft {
    place: PathBuf,
    file: NamedTempFile,
}

/// A file that is renamed to `place`, and a copy of the file before it, if an undo may need one.
struct Replaced {
    place: PathBuf,
    before: Option<TempPath>,
}

impl Draft {
    fn new(path: &Path, bytes: &[u8]) -> Result<Draft> {
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let there = std::fs::metadata(&place).ok();
        if let Some(there) = &there {
            may_be_replaced(there)?;
        }
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::metadata(folder)?;
        // The file gets the permissions of the user's mask, because other users may read it. Temporary files are private by
        // default.
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        // The error is reduced to its kind, because its text names the temporary file, which the user does not know.
        let made = builder.prefix(PREFIX).tempfile_in(folder);
        let mut file = made.map_err(|error| Error::from(error.kind()))?;
        file.as_file_mut().write_all(bytes)?;
        if let Some(there) = there {
            file.as_file().set_permissions(there.permissions())?;
        }
        Ok(Draft { place, file })
    }

    /// Renames the draft to its place. If `keeps` is true, the result has a copy of the old file for an undo.
    ///
    /// # Errors
    /// The system's error. The old file is then unchanged.
    fn replace(self, keeps: bool) -> Result<Replaced> {
        let folder = self.file.path().parent().unwrap_or(Path::new(".")).to_owned();
        let before = match keeps && self.place.exists() {
            true => {
                // The old file is copied, not moved, so that a file exists at the place at all times.
                let kept = tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder)?.into_temp_path();
                std::fs::copy(&self.place, &kept)?;
                Some(kept)
            }
            false => None,
        };
        // If the rename fails, the old file is unchanged.
        self.file.persist(&self.place).map_err(|error| error.error)?;
        Ok(Replaced { place: self.place, before })
    }
}

/// Checks that a file may be replaced. A rename would replace a read-only file, although nobody can write to it.
///
/// # Errors
/// For a folder, for anything else that is no regular file, and for a read-only file.
fn may_be_replaced(there: &Metadata) -> Result<()> {
    if there.is_dir() {
        return Err(Error::new(ErrorKind::IsADirectory, "it is a folder"));
    }
    if !there.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not a file"));
    }
    if there.permissions().readonly() {
        return Err(Error::new(ErrorKind::PermissionDenied, "it is read-only"));
    }
    Ok(())
}

impl Replaced {
    /// Restores the old file. An error here is ignored: the error that made the undo necessary is reported.
    fn undo(self) {
        match self.before {
            Some(before) => {
                let _ = before.persist(&self.place);
            }
            None => {
                let _ = std::fs::remove_file(&self.place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{replace_file, replace_files};

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let read = |name: &str| fs::read_to_string(at(name)).expect("readable");
        fs::write(at("a"), "old").expect("writable");
        fs::hard_link(at("a"), at("same")).expect("one more name");
        replace_file(&at("a"), b"new").expect("writable");
        // The second hard link still names the old file: it was not written in place.
        assert_eq!((read("a"), read("same")), ("new".to_owned(), "old".to_owned()));
        fs::create_dir(at("folder")).expect("writable");
        assert!(replace_file(&at("folder"), b"new").is_err());
        assert!(replace_file(&at("missing/b"), b"new").is_err());
        // If one of two files cannot be replaced, neither is.
        assert!(replace_files(&[(&at("a"), b"newer"), (&at("folder"), b"newer")]).is_err());
        let mut permissions = fs::metadata(at("same")).expect("it is there").permissions();
        permissions.set_readonly(true);
        fs::set_permissions(at("same"), permissions).expect("it is ours");
        assert!(replace_files(&[(&at("a"), b"newer"), (&at("same"), b"newer")]).is_err());
        assert_eq!((read("a"), read("same")), ("new".to_owned(), "old".to_owned()));
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).expect("readable").flatten().map(|e| e.file_name()).collect();
        names.sort();
        assert_eq!(names, ["a", "folder", "same"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_permissions_stay() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "old").expect("writable");
        fs::set_permissions(at("a"), fs::Permissions::from_mode(0o640)).expect("it is ours");
        std::os::unix::fs::symlink("a", at("link")).expect("a link");
        replace_file(&at("link"), b"new").expect("writable");
        assert!(fs::symlink_metadata(at("link")).expect("it is there").is_symlink());
        assert_eq!(fs::read_to_string(at("a")).expect("readable"), "new");
        assert_eq!(fs::metadata(at("a")).expect("it is there").permissions().mode() & 0o777, 0o640);
        replace_file(std::path::Path::new("/dev/null"), b"new").expect("it takes everything");
        assert!(!fs::metadata("/dev/null").expect("it is there").is_file());
    }
}
