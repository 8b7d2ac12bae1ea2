//! Which compiler made an entry: the hash of its libraries.
//!
//! Two builds of one version differ in what they make, and so does a library that was replaced; a version number tells neither.
//! Hashing takes a tenth of a second, so a hash is remembered by the paths of the files with their sizes, times and inodes.
//! The memory is in the user's own folder, never in one that came with a project: a forged memory would let one library pass
//! for another.

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
    /// The id of a compiler with these bytes.
    pub fn of_bytes(bytes: &[u8]) -> CompilerId {
        CompilerId(blake3::hash(bytes).to_hex().to_string())
    }

    /// Its digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Tells a file from another at the same path without reading it.
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
    /// The id of a compiler. The warning says what keeps it from being remembered.
    ///
    /// # Errors
    /// When the libraries cannot be read.
    pub fn compiler_id(
        &self,
        files: &NvrtcFiles,
    ) -> Result<(CompilerId, Option<CacheWarning>), CacheWarning> {
        let unreadable = |error: io::Error| warning(files.library.clone(), "cannot be read", &error);
        let mut known = self.remembered();
        let name = files.library.to_string_lossy().into_owned();
        let stamps = stamps(files).map_err(unreadable)?;
        if let Some(found) = known.get(&name).filter(|found| found.stamps == stamps) {
            return Ok((found.id.clone(), None));
        }
        let id = hash(files).map_err(unreadable)?;
        let Some(memory) = &self.memory else { return Ok((id, None)) };
        known.insert(name, Remembered { stamps, id: id.clone() });
        let path = memory.join(FILE);
        let written = serde_json::to_vec_pretty(&known)
            .map_err(io::Error::other)
            .and_then(|bytes| own_files::replace(&path, &bytes));
        Ok((id, written.map_err(|error| warning(path, "cannot be written", &error)).err()))
    }

    /// The ids of every compiler that was asked for, the newest library first.
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
        // A file that is unreadable or not ours only means hashing the library again.
        let bytes = self.memory.as_ref().and_then(|memory| own_files::read(&memory.join(FILE)).ok());
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }
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

/// The hash of the hashes: whether there are companions counts, too.
fn hash(files: &NvrtcFiles) -> io::Result<CompilerId> {
    let mut all = Vec::new();
    for path in [Some(&files.library), files.builtins.as_ref()].into_iter().flatten() {
        let mut hasher = blake3::Hasher::new();
        io::copy(&mut fs::File::open(path)?, &mut hasher)?;
        all.extend_from_slice(hasher.finalize().as_bytes());
    }
    Ok(CompilerId::of_bytes(&all))
}
