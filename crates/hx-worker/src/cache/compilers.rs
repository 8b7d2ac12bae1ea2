//! Identifies the compiler that made an entry, by the hash of its libraries.
//!
//! Two builds of one version generate different code, and so does a replaced library; the version number does not distinguish
//! them. Hashing takes a tenth of a second, so hashes are remembered by the paths of the files with their sizes, times and
//! inodes. The remembered hashes are in the user's own folder, never in one that came with a project: a forged hash would pass
//! one library off as another.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::{Cache, CacheWarning, warning};
use crate::own_files;
use crate::protocol::NvrtcFiles;

pub(super) const FILE: &str = "compilers.json";

/// The hash of a compiler's libraries: 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CompilerId(String);

impl CompilerId {
    /// Returns the id of a compiler with these bytes.
    pub fn of_bytes(bytes: &[u8]) -> CompilerId {
        CompilerId(blake3::hash(bytes).to_hex().to_string())
    }

    /// Returns the 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Distinguishes a file from another at the same path without reading it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    size: u64,
    modified_ns: u128,
    inode: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Remembered {
    stamps: Vec<Stamp>,
    id: CompilerId,
}

impl Cache {
    /// Returns the id of a compiler. The warning says why the id could not be remembered.
    ///
    /// # Errors
    /// If the libraries cannot be read.
    pub fn compiler_id(
        &self,
        files: &NvrtcFiles,
    ) -> Result<(CompilerId, Option<CacheWarning>), CacheWarning> {
        let unreadable = |error: io::Error| warning(files.library.clone(), "cannot be read", &error);
        if let Some(found) = self.remembered_id(files) {
            return Ok((found, None));
        }
        let mut known = self.remembered();
        let name = files.library.to_string_lossy().into_owned();
        let stamps = stamps(files).map_err(unreadable)?;
        let id = hash(files).map_err(unreadable)?;
        let Some(memory) = &self.memory else { return Ok((id, None)) };
        known.insert(name, Remembered { stamps, id: id.clone() });
        let path = memory.join(FILE);
        let written = serde_json::to_vec_pretty(&known)
            .map_err(io::Error::other)
            .and_then(|bytes| own_files::replace(&path, &bytes));
        Ok((id, written.map_err(|error| warning(path, "cannot be written", &error)).err()))
    }

    /// Returns the id of a compiler that was hashed before and whose files have not changed since; `None` for any other.
    pub fn remembered_id(&self, files: &NvrtcFiles) -> Option<CompilerId> {
        let stamps = stamps(files).ok()?;
        let mut known = self.remembered();
        let found = known.remove(files.library.to_string_lossy().as_ref())?;
        (found.stamps == stamps).then_some(found.id)
    }

    /// Returns the ids of all remembered compilers, the newest library first.
    pub fn known_compilers(&self) -> Vec<CompilerId> {
        let mut known: Vec<Remembered> = self.remembered().into_values().collect();
        known.sort_by_key(|found| {
            std::cmp::Reverse(found.stamps.iter().map(|stamp| stamp.modified_ns).max().unwrap_or_default())
        });
        let mut ids: Vec<CompilerId> = Vec::new();
        for found in known {
            if !ids.contains(&found.id) {
                ids.push(found.id);
            }
        }
        ids
    }

    fn remembered(&self) -> BTreeMap<String, Remembered> {
        // If the file is unreadable or not ours, the library is only hashed again.
        let bytes = self.memory.as_ref().and_then(|memory| own_files::read(&memory.join(FILE)).ok());
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }
}

/// Returns an id from the paths of the files with their sizes, times and inodes. It is valid only within this process. `None`
/// if a file cannot be examined.
pub(crate) fn fingerprint(files: &NvrtcFiles) -> Option<CompilerId> {
    let stamps = stamps(files).ok()?;
    Some(CompilerId::of_bytes(format!("{files:?} {stamps:?}").as_bytes()))
}

fn stamps(files: &NvrtcFiles) -> io::Result<Vec<Stamp>> {
    [Some(&files.library), files.builtins.as_ref()].into_iter().flatten().map(|path| stamp(path)).collect()
}

fn stamp(path: &Path) -> io::Result<Stamp> {
    let metadata = fs::metadata(path)?;
    let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let inode = 0;
    Ok(Stamp { size: metadata.len(), modified_ns: modified.as_nanos(), inode })
}

/// Returns the hash of the files' hashes. The presence of a companion library changes it too.
fn hash(files: &NvrtcFiles) -> io::Result<CompilerId> {
    let mut all = Vec::new();
    for path in [Some(&files.library), files.builtins.as_ref()].into_iter().flatten() {
        let mut hasher = blake3::Hasher::new();
        io::copy(&mut fs::File::open(path)?, &mut hasher)?;
        all.extend_from_slice(hasher.finalize().as_bytes());
    }
    Ok(CompilerId::of_bytes(&all))
}
