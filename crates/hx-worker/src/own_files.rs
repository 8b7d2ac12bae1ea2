//! Files that hx keeps for itself: written whole, never through a link, and read only where nobody else may write them.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// How the names of files begin that are being written.
const DRAFT: &str = ".new-";

/// Replaces a file as a whole; folders that are missing are made for the user alone.
///
/// The content goes to a fresh file with a random name, which is created exclusively, and is renamed over `path`. So
/// neither a link at `path` nor a file that somebody put at the temporary name is written through.
///
/// # Errors
/// What the system says.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    create_folder(folder)?;
    let mut file = tempfile::Builder::new().prefix(DRAFT).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Whether a file can be made in a folder; it is removed again.
///
/// # Errors
/// What the system says.
pub fn try_writing(folder: &Path) -> io::Result<()> {
    tempfile::Builder::new().prefix(DRAFT).tempfile_in(folder).map(drop)
}

/// Whether a file is one that [`replace`] was writing when it was interrupted, by its name.
pub(crate) fn is_draft(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(DRAFT))
}

/// Makes a folder and those above it that are missing, for the user alone.
///
/// # Errors
/// What the system says.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Reads a file of ours.
///
/// # Errors
/// What the system says; [`io::ErrorKind::InvalidData`] with a text for what is not used: a link, a pipe, a file of somebody
/// else, or one that others may write.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = fs::symlink_metadata(path)?;
    let refused = |reason: String| io::Error::new(io::ErrorKind::InvalidData, reason);
    if !metadata.is_file() {
        return Err(refused("it is no file of ours but a link, a folder or a pipe".to_owned()));
    }
    check_owner(&metadata).map_err(refused)?;
    fs::read(path)
}

/// Checks that a file or folder is the user's own: that it belongs to the user or the system's administrator, and that nobody
/// else may write it. Elsewhere than on Unix nothing is checked.
///
/// # Errors
/// What is wrong, as text.
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
