//! Files that the command line names, and how their faults are told.

use std::io::{Error, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use hx_base::codes;
use tempfile::{NamedTempFile, TempPath};

use crate::Exit;
use crate::output::Output;

/// The text of a file; what keeps it from being read is told.
pub(super) fn read(path: &Path, output: &Output) -> Result<String, Exit> {
    std::fs::read_to_string(path).map_err(|error| fault("open", path, &error, output))
}

/// The text of a source file. A pipe, a device, or a file that is too large is an error.
pub(super) fn source(path: &Path) -> std::io::Result<String> {
    let bytes = hx_base::read_regular_file(path, hx_workspace::MAX_SOURCE_BYTES)?;
    String::from_utf8(bytes).map_err(|_| ErrorKind::InvalidData.into())
}

/// Writes a file; what keeps it from being written is told.
pub(super) fn write(path: &Path, text: &str, output: &Output) -> Result<(), Exit> {
    std::fs::write(path, text).map_err(|error| fault("write", path, &error, output))
}

/// Replaces files together or not at all: each is written beside its place first, and renamed when all are there. If a rename
/// fails, those before it are taken back. A link stays a link: what it leads to is replaced.
///
/// # Errors
/// The file at fault, and what the system says.
pub(super) fn replace_together<'a>(files: &[(&'a Path, &[u8])]) -> Result<(), (&'a Path, Error)> {
    let mut drafts = Vec::with_capacity(files.len());
    for &(path, bytes) in files {
        drafts.push((path, Draft::new(path, bytes).map_err(|error| (path, error))?));
    }
    let mut done: Vec<Replaced> = Vec::new();
    for (path, draft) in drafts {
        match draft.replace() {
            Ok(replaced) => done.push(replaced),
            Err(error) => {
                done.into_iter().rev().for_each(Replaced::undo);
                return Err((path, error));
            }
        }
    }
    Ok(())
}

/// A file that is written and has not taken its place.
struct Draft {
    place: PathBuf,
    file: NamedTempFile,
}

/// A file that took its place, and the one that was there.
struct Replaced {
    place: PathBuf,
    before: Option<TempPath>,
}

impl Draft {
    fn new(path: &Path, bytes: &[u8]) -> std::io::Result<Draft> {
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let there = std::fs::metadata(&place).ok();
        if let Some(there) = there.as_ref().filter(|there| !there.is_file()) {
            let what = if there.is_dir() { "it is a folder" } else { "it is no file" };
            return Err(Error::new(ErrorKind::InvalidInput, what));
        }
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Others may read what was built, as far as the user's mask lets them.
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.prefix(".hx-").tempfile_in(folder)?;
        file.write_all(bytes)?;
        if let Some(there) = there {
            file.as_file().set_permissions(there.permissions())?;
        }
        Ok(Draft { place, file })
    }

    fn replace(self) -> std::io::Result<Replaced> {
        let folder = self.file.path().parent().unwrap_or(Path::new(".")).to_owned();
        let before = match self.place.exists() {
            true => {
                // A copy, so that there is a file at the place all along.
                let kept = tempfile::Builder::new().prefix(".hx-").tempfile_in(folder)?.into_temp_path();
                std::fs::copy(&self.place, &kept)?;
                Some(kept)
            }
            false => None,
        };
        let replaced = Replaced { place: self.place, before };
        match self.file.persist(&replaced.place) {
            Ok(_) => Ok(replaced),
            Err(error) => {
                replaced.undo();
                Err(error.error)
            }
        }
    }
}

impl Replaced {
    /// Puts back what was there. What fails here has failed before, and is told by what made this necessary.
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

/// Tells that something could not be done with a file.
pub(super) fn fault(what: &str, path: &Path, error: &Error, output: &Output) -> Exit {
    let is_missing = error.kind() == ErrorKind::NotFound;
    let code = if is_missing && what == "open" { &codes::FILE_NOT_FOUND } else { &codes::IO_ERROR };
    let reason = match error.kind() {
        ErrorKind::NotFound if what == "open" => "there is no such file".to_owned(),
        ErrorKind::NotFound => "there is no such folder".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::InvalidData => "it is no UTF-8 text".to_owned(),
        _ => error.to_string(),
    };
    output.placeless_parts(code, &format!("cannot {what} `{}`: {reason}", path.display()), &[], &[]);
    Exit::Bad
}
