//! The cache of compiled kernels on disk.
//!
//! An entry is a file named by the hash of everything that its content depends on: the text, its name, the
//! architecture, the options, the version of the compiler and of this format.
//! An entry carries the hash of its content, so a torn or rotten file is noticed, removed and compiled anew.
//! Files appear by renaming a finished temporary file, so readers and interrupted writers cannot meet.
//! A cache that cannot be written is a warning and never a failure.
//!
//! The version of a compiler library is remembered beside the entries, by the file's path, size and time of change;
//! so a hit needs neither the library nor a worker.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::frame::Frame;
use crate::log;
use crate::protocol::{CompileJob, Compiled, NvrtcFiles, Want};

/// Changes with the content of the key or of an entry.
const FORMAT: u32 = 1;
const VERSIONS_FILE: &str = "compilers.json";

/// A folder of compiled kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    dir: PathBuf,
}

/// What the cache has for a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// The entry.
    Hit(Box<Compiled>),
    /// None.
    Miss,
    /// One that is damaged; it was removed.
    Damaged(CacheWarning),
}

/// Something that the cache could not do; the result is right all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheWarning {
    /// The file or folder.
    pub path: PathBuf,
    /// What happened, in lower case and without a final stop.
    pub reason: String,
}

impl fmt::Display for CacheWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel cache `{}`: {}", self.path.display(), self.reason)
    }
}

/// What is cached, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheSize {
    /// Entries.
    pub entries: usize,
    /// Their bytes.
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RememberedVersion {
    size: u64,
    modified_ns: u128,
    version: (u32, u32),
}

impl Cache {
    /// The cache in `dir`, which need not exist yet.
    pub fn open(dir: impl Into<PathBuf>) -> Cache {
        Cache { dir: dir.into() }
    }

    /// Its folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The key of a job under a compiler of that version: 64 hexadecimal digits.
    pub fn key(job: &CompileJob, nvrtc_version: (u32, u32)) -> String {
        let CompileJob { source, file_name, arch, options, want } = job;
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &[u8]| {
            // Each part with its length, so that no two lists of parts read the same.
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
        add(&nvrtc_version.0.to_le_bytes());
        add(&nvrtc_version.1.to_le_bytes());
        for option in options {
            add(option.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Looks an entry up.
    pub fn get(&self, key: &str) -> Lookup {
        let path = self.entry_path(key);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Lookup::Miss,
            // A folder in the way, no permission: as good as no entry, but worth a word.
            Err(error) => return Lookup::Damaged(warning(path, "cannot be read", &error)),
        };
        match decode_entry(key, &bytes) {
            Ok(compiled) => Lookup::Hit(Box::new(compiled)),
            Err(reason) => {
                // Removing is a courtesy; the next write replaces the entry anyway.
                let _ = fs::remove_file(&path);
                let reason = format!("the entry is damaged ({reason}) and was dropped");
                Lookup::Damaged(CacheWarning { path, reason })
            }
        }
    }

    /// Stores an entry.
    pub fn put(&self, key: &str, want: Want, compiled: &Compiled) -> Result<(), CacheWarning> {
        let path = self.entry_path(key);
        let header = EntryHeader {
            format: FORMAT,
            key: key.to_owned(),
            want,
            nvrtc_version: compiled.nvrtc_version,
            log: compiled.log.clone(),
        };
        encode_entry(&header, &compiled.code)
            .and_then(|bytes| write_atomically(&path, &bytes))
            .map_err(|error| warning(path, "cannot be written", &error))
    }

    /// The version of a compiler library, if it is the very file that was asked before.
    pub fn nvrtc_version(&self, files: &NvrtcFiles) -> Option<(u32, u32)> {
        let (size, modified_ns) = stamp(&files.library)?;
        let known = self.versions().remove(&name_of(&files.library))?;
        (known.size == size && known.modified_ns == modified_ns).then_some(known.version)
    }

    /// The versions of every compiler library that filled the cache, the newest first.
    pub fn known_versions(&self) -> Vec<(u32, u32)> {
        let mut versions: Vec<(u32, u32)> =
            self.versions().into_values().map(|known| known.version).collect();
        versions.sort_unstable();
        versions.dedup();
        versions.reverse();
        versions
    }

    /// Remembers the version of a compiler library.
    pub fn remember_nvrtc(&self, files: &NvrtcFiles, version: (u32, u32)) -> Result<(), CacheWarning> {
        let Some((size, modified_ns)) = stamp(&files.library) else { return Ok(()) };
        let mut versions = self.versions();
        let entry = RememberedVersion { size, modified_ns, version };
        if versions.get(&name_of(&files.library)) == Some(&entry) {
            return Ok(());
        }
        versions.insert(name_of(&files.library), entry);
        let path = self.dir.join(VERSIONS_FILE);
        serde_json::to_vec_pretty(&versions)
            .map_err(io::Error::other)
            .and_then(|bytes| write_atomically(&path, &bytes))
            .map_err(|error| warning(path, "cannot be written", &error))
    }

    /// Counts the entries.
    pub fn size(&self) -> CacheSize {
        let mut size = CacheSize::default();
        for (_, bytes) in self.entries() {
            size.entries += 1;
            size.bytes += bytes;
        }
        size
    }

    /// Removes every entry and what is remembered of compilers; returns what was removed.
    pub fn clear(&self) -> Result<CacheSize, CacheWarning> {
        let mut removed = CacheSize::default();
        for (path, bytes) in self.entries() {
            fs::remove_file(&path).map_err(|error| warning(path, "cannot be removed", &error))?;
            removed.entries += 1;
            removed.bytes += bytes;
        }
        let _ = fs::remove_file(self.dir.join(VERSIONS_FILE));
        Ok(removed)
    }

    /// Entries have two levels, so that no folder grows without bound.
    fn entry_path(&self, key: &str) -> PathBuf {
        let (front, rest) = key.split_at(key.len().min(2));
        self.dir.join(front).join(format!("{rest}.kernel"))
    }

    fn entries(&self) -> Vec<(PathBuf, u64)> {
        let mut found = Vec::new();
        for folder in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            for file in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                let path = file.path();
                if path.extension().is_some_and(|extension| extension == "kernel") {
                    found.push((path, file.metadata().map_or(0, |metadata| metadata.len())));
                }
            }
        }
        found.sort();
        found
    }

    fn versions(&self) -> BTreeMap<String, RememberedVersion> {
        // An unreadable file only means asking the library again.
        let bytes = fs::read(self.dir.join(VERSIONS_FILE)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }
}

/// The hash of the rest, then a frame with the header and the code.
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

fn name_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn stamp(path: &Path) -> Option<(u64, u128)> {
    let metadata = fs::metadata(path).ok()?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((metadata.len(), modified.as_nanos()))
}

fn warning(path: PathBuf, what: &str, error: &io::Error) -> CacheWarning {
    CacheWarning { path, reason: format!("{what}: {error}") }
}

fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(folder)?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let temporary = folder.join(format!(".new-{}-{number}", std::process::id()));
    let written = fs::File::create(&temporary)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests;
