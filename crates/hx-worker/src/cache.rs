//! The cache of compiled kernels on disk.
//!
//! An entry is a file named by the hash of everything on which its content depends: the text, its name, the architecture, the
//! options, the content of the compiler's libraries, and the version of this format. An entry contains the hash of its content,
//! so a truncated or corrupt file is noticed, removed and compiled anew. An entry appears by renaming a finished temporary file,
//! so readers never see the file of an interrupted writer. Machine code from the cache runs unchecked. Therefore an entry is used
//! only if no other user could have written it: links are not followed, and files that others own or may write are not used. A
//! cache that cannot be written causes a warning, never a failure.
//!
//! [`compilers`] remembers the hashes of compiler libraries, so that a hit needs neither the library nor a worker.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::folders::variable;
use crate::frame::Frame;
use crate::log;
use crate::own_files;
use crate::protocol::{CompileJob, Compiled, Want};

mod compilers;

pub use compilers::CompilerId;
pub(crate) use compilers::fingerprint;

/// Must change when the key or the content of an entry changes.
const FORMAT: u32 = 2;

/// A folder of compiled kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    dir: PathBuf,
    /// The user's folder in which the hashes of compilers are remembered.
    memory: Option<PathBuf>,
}

/// The result of a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// The entry is valid, and no other user could have written it.
    Hit(Box<Compiled>),
    /// The cache has no entry of this key.
    Miss,
    /// The entry is damaged and was removed, or it cannot be read.
    Damaged(CacheWarning),
    /// Another user may have written the entry. It was not touched.
    Foreign(CacheWarning),
}

/// A failed operation of the cache. The result of the compile is still correct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheWarning {
    /// The file or folder of the failed operation.
    pub path: PathBuf,
    /// The reason, in lower case and without a final stop.
    pub reason: String,
}

impl fmt::Display for CacheWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel cache `{}`: {}", self.path.display(), self.reason)
    }
}

/// The number and the size of the cached kernels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheSize {
    /// Number of entries.
    pub entries: usize,
    /// Number of bytes in all entries.
    pub bytes: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct EntryHeader {
    format: u32,
    key: String,
    want: Want,
    nvrtc_version: (u32, u32),
    log: String,
}

impl Cache {
    /// Opens the cache in `dir`, a folder of the user that need not exist yet.
    pub fn open(dir: impl Into<PathBuf>) -> Cache {
        let dir = dir.into();
        Cache { memory: Some(dir.clone()), dir }
    }

    /// Opens the cache of a project, in a folder that may have come with it. `memory` is a folder of the user, in which the
    /// hashes of compilers are remembered.
    pub fn of_project(dir: impl Into<PathBuf>, memory: Option<PathBuf>) -> Cache {
        Cache { dir: dir.into(), memory }
    }

    /// Chooses the cache of a command: the folder that a project names, unless `HX_CACHE_DIR` is set; else the user's.
    pub fn chosen(user: Option<Cache>, project: Option<PathBuf>) -> Option<Cache> {
        match project {
            Some(folder) if variable("HX_CACHE_DIR").is_none() => {
                Some(Cache::of_project(folder, user.map(|cache| cache.dir)))
            }
            _ => user,
        }
    }

    /// Returns the folder, which may not exist yet.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the key of a job under a compiler: 64 hexadecimal digits.
    pub fn key(job: &CompileJob, compiler: &CompilerId) -> String {
        let CompileJob { source, file_name, arch, options, want } = job;
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &[u8]| {
            // Each part is preceded by its length, so that different lists of parts never hash the same bytes.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        };
        add(&FORMAT.to_le_bytes());
        add(source.as_bytes());
        add(file_name.as_bytes());
        add(arch.as_bytes());
        add(match want {
            Want::Cubin => b"cubin",
            Want::Ptx => b"ptx",
        });
        add(compiler.as_str().as_bytes());
        for option in options {
            add(option.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Looks for the entry of a key. Removes the entry if it is damaged.
    pub fn get(&self, key: &str) -> Lookup {
        let path = self.entry_path(key);
        let bytes = match self.read_entry(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                return match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Lookup::Miss,
                    io::ErrorKind::InvalidData => Lookup::Foreign(warning(path, "is not used", &error)),
                    // The entry cannot be read, for example because a folder is in its place. It is missing, but the user is
                    // warned.
                    _ => Lookup::Damaged(warning(path, "cannot be read", &error)),
                };
            }
        };
        match decode_entry(key, &bytes) {
            Ok(compiled) => Lookup::Hit(Box::new(compiled)),
            Err(reason) => {
                // An error here is ignored, because the next write replaces the entry anyway.
                let _ = fs::remove_file(&path);
                let reason = format!("the entry is damaged ({reason}) and was dropped");
                Lookup::Damaged(CacheWarning { path, reason })
            }
        }
    }

    /// Reads an entry that no other user could have written: the file, its folder and the cache's folder are the user's own.
    fn read_entry(&self, path: &Path) -> io::Result<Vec<u8>> {
        let bytes = own_files::read(path)?;
        self.check_folders(path)?;
        Ok(bytes)
    }

    fn check_folders(&self, entry: &Path) -> io::Result<()> {
        let refused = |reason: String| io::Error::new(io::ErrorKind::InvalidData, reason);
        // The cache's folder may be behind a link that the user made. Links inside of the cache are refused.
        own_files::check_owner(&fs::metadata(&self.dir)?)
            .map_err(|reason| refused(format!("of the cache's folder: {reason}")))?;
        let folder = entry.parent().map(fs::symlink_metadata).transpose()?;
        match folder {
            Some(folder) if folder.is_dir() => {
                own_files::check_owner(&folder).map_err(|reason| refused(format!("of its folder: {reason}")))
            }
            _ => Err(refused("its folder is a link".to_owned())),
        }
    }

    /// Stores an entry.
    ///
    /// # Errors
    /// If the entry cannot be written, or its folder belongs to another user.
    pub fn put(&self, key: &str, want: Want, compiled: &Compiled) -> Result<(), CacheWarning> {
        let path = self.entry_path(key);
        let header = EntryHeader {
            format: FORMAT,
            key: key.to_owned(),
            want,
            nvrtc_version: compiled.nvrtc_version,
            log: compiled.log.clone(),
        };
        let write = || {
            let bytes = encode_entry(&header, &compiled.code)?;
            own_files::create_folder(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
            self.check_folders(&path)?;
            own_files::replace(&path, &bytes)
        };
        write().map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => warning(path.clone(), "is not used", &error),
            _ => warning(path.clone(), "cannot be written", &error),
        })
    }

    /// Counts the entries and their bytes.
    pub fn size(&self) -> CacheSize {
        let mut size = CacheSize::default();
        for (_, bytes) in self.entries() {
            size.entries += 1;
            size.bytes += bytes;
        }
        size
    }

    /// Removes every entry, the files of interrupted writers, and the remembered hashes of compilers. Returns what was removed.
    /// All other files in the cache's folder stay, and no link is followed.
    ///
    /// # Errors
    /// If a file cannot be removed. Those before it are gone.
    pub fn clear(&self) -> Result<CacheSize, CacheWarning> {
        let mut removed = CacheSize::default();
        let remove =
            |path: PathBuf| fs::remove_file(&path).map_err(|e| warning(path, "cannot be removed", &e));
        for folder in self.folders() {
            for (path, bytes) in entries_in(&folder) {
                remove(path)?;
                removed.entries += 1;
                removed.bytes += bytes;
            }
            for path in files_in(&folder).filter(|path| own_files::is_draft(path)) {
                remove(path)?;
            }
            // This removes the folder only if it is empty.
            let _ = fs::remove_dir(&folder);
        }
        let _ = fs::remove_file(self.dir.join(compilers::FILE));
        Ok(removed)
    }

    /// Returns the path of an entry. Entries have two levels, so that no folder grows without bound.
    fn entry_path(&self, key: &str) -> PathBuf {
        let (front, rest) = key.split_at(key.len().min(2));
        self.dir.join(front).join(format!("{rest}.kernel"))
    }

    /// Returns the folders of entries, ordered. Their names are two hexadecimal digits; links are skipped.
    fn folders(&self) -> Vec<PathBuf> {
        let is_ours = |entry: &fs::DirEntry| {
            entry.file_type().is_ok_and(|kind| kind.is_dir())
                && entry.file_name().to_str().is_some_and(|name| is_hash(name, 2))
        };
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = entries.filter(is_ours).map(|entry| entry.path()).collect();
        folders.sort();
        folders
    }

    fn entries(&self) -> impl Iterator<Item = (PathBuf, u64)> {
        self.folders().into_iter().flat_map(|folder| entries_in(&folder))
    }
}

/// Returns the entries of a folder, ordered, each with its size.
fn entries_in(folder: &Path) -> Vec<(PathBuf, u64)> {
    let is_entry = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.strip_suffix(".kernel")).is_some_and(|name| is_hash(name, 62))
    };
    let size = |path: &PathBuf| fs::symlink_metadata(path).map_or(0, |metadata| metadata.len());
    let mut found: Vec<_> =
        files_in(folder).filter(is_entry).map(|path| (path.clone(), size(&path))).collect();
    found.sort();
    found
}

/// Yields the files of a folder that are not links.
fn files_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).map(|entry| entry.path())
}

/// Reports whether a name consists of `digits` lower-case hexadecimal digits.
fn is_hash(name: &str, digits: usize) -> bool {
    name.len() == digits && name.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// Encodes an entry: the hash of the rest, then a frame with the header and the code.
fn encode_entry(header: &EntryHeader, code: &[u8]) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    Frame::new(header, vec![code.to_vec()]).map_err(io::Error::other)?.write_to(&mut content)?;
    let hash = blake3::hash(&content);
    Ok([hash.as_bytes().as_slice(), &content].concat())
}

fn decode_entry(key: &str, bytes: &[u8]) -> Result<Compiled, String> {
    let Some((hash, mut input)) = bytes.split_first_chunk::<32>() else {
        return Err("it is cut short".to_owned());
    };
    if blake3::hash(input) != blake3::Hash::from(*hash) {
        return Err("its content does not match its hash".to_owned());
    }
    let frame = Frame::read_from(&mut input).map_err(|error| error.to_string())?;
    let header: EntryHeader = frame.parse().map_err(|error| error.to_string())?;
    let [code] = <[Vec<u8>; 1]>::try_from(frame.blobs).map_err(|_| "not one code".to_owned())?;
    if header.format != FORMAT || header.key != key {
        return Err("it belongs to another key".to_owned());
    }
    let kernels = if header.want == Want::Cubin { log::kernel_resources(&header.log) } else { Vec::new() };
    let warnings = log::warnings(&header.log);
    Ok(Compiled { code, log: header.log, kernels, warnings, nvrtc_version: header.nvrtc_version })
}

fn warning(path: PathBuf, what: &str, error: &io::Error) -> CacheWarning {
    CacheWarning { path, reason: format!("{what}: {error}") }
}

#[cfg(test)]
mod tests;
