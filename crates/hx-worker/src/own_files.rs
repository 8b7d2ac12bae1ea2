//! Files that hx owns. They are written whole, never through a link, and read only if no other user may write them.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The prefix of the names of files that are being written.
const DRAFT: &str = ".new-";

/// Replaces a file as a whole. Missing folders are made, accessible to the user only.
///
/// The content goes to a new file with a random name, which is created exclusively and then renamed over `path`. Therefore
/// neither a link at `path` nor a file that another user put at the temporary name is written through.
///
/// # Errors
/// The system's error.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    create_folder(folder)?;
    let mut file = tempfile::Builder::new().prefix(DRAFT).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Tests whether a file can be created in a folder, by creating one and removing it.
///
/// # Errors
/// The system's error.
pub fn try_writing(folder: &Path) -> io::Result<()> {
    tempfile::Builder::new().prefix(DRAFT).tempfile_in(folder).map(drop)
}

/// Reports, by its name, whether a file was left by an interrupted [`replace`].
pub(crate) fn is_draft(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(DRAFT))
}

/// Makes a folder and its missing parents, accessible to the user only.
///
/// # Errors
/// The system's error.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Reads a file that hx owns.
///
/// # Errors
/// The system's error; or [`io::ErrorKind::InvalidData`] with a text for a file that must not be used: a link, a pipe, a file of
/// another user, or one that others may write.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = fs::symlink_metadata(path)?;
    let refused = |reason: String| io::Error::new(io::ErrorKind::InvalidData, reason);
    if !metadata.is_file() {
        return Err(refused("it is not a file of ours but a link, a folder or a pipe".to_owned()));
    }
    check_owner(&metadata).map_err(refused)?;
    fs::read(path)
}

/// Removes the files of a folder that have an extension, and the folder if nothing else is in it. Does not follow links.
///
/// # Errors
/// The file that could not be removed and the reason, as text.
pub fn clear(folder: &Path, extension: &str) -> Result<(), String> {
    if !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        let path = entry.path();
        if is_file && path.extension().is_some_and(|found| found == extension) {
            fs::remove_file(&path).map_err(|e| format!("`{}` cannot be removed: {e}", path.display()))?;
        }
    }
    // This removes the folder only if it is empty, so other files stay.
    let _ = fs::remove_dir(folder);
    Ok(())
}

/// Returns the files of a folder whose names end with an extension, in the order of their names.
///
/// # Errors
/// The system's error.
pub fn with_extension(folder: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Checks that a file or folder belongs to the user or to the system's administrator, and that no other user may write it.
/// Outside of Unix nothing is checked.
///
/// # Errors
/// The violation, as text.
pub fn check_owner(metadata: &fs::Metadata) -> Result<(), String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let (owner, mode) = (metadata.uid(), metadata.mode());
        if owner != rustix::process::geteuid().as_raw() && owner != 0 {
            return Err(format!("it belongs to another user ({owner})"));
        }
        if mode & 0o022 != 0 {
            let who = if mode & 0o002 != 0 { "everybody" } else { "its group" };
            return Err(format!("{who} may write it, which `chmod go-w` changes"));
        }
    }
    #[cfg(not(unix))]
    let _ = metadata;
    Ok(())
}
