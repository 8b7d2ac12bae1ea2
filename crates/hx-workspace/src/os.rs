//! The real file system.

use std::{env, fs, path::Path};

use hx_base::{DirEntry, System, SystemError, read_regular_file};

/// The largest size of a source file in bytes. Text ranges have 32 bits, and hand-written files are far smaller than this limit.
pub const MAX_SOURCE_BYTES: u64 = 16 << 20;

/// The file system of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsSystem;

impl System for OsSystem {
    fn read_to_string(&self, path: &str) -> Result<String, SystemError> {
        match read_regular_file(Path::new(path), MAX_SOURCE_BYTES) {
            // `read_dir` lists a file whose name is not text, with replacement characters, so that reading it reports the name.
            Err(_) if path.contains(char::REPLACEMENT_CHARACTER) => Err(SystemError::NameNotText),
            read => Ok(String::from_utf8(read?)?),
        }
    }

    fn read_dir(&self, path: &str) -> Result<Vec<DirEntry>, SystemError> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            // Skip broken and circular links, which cannot be read.
            let Ok(data) = fs::metadata(entry.path()) else { continue };
            let is_link = entry.file_type()?.is_symlink();
            let name = match entry.file_name().into_string() {
                Ok(name) => name,
                // List a file with such a name, because it may be a module. Skip a folder.
                Err(name) if !data.is_dir() => name.to_string_lossy().into_owned(),
                Err(_) => continue,
            };
            if !(is_link && data.is_dir()) {
                entries.push(DirEntry { name, is_dir: data.is_dir() });
            }
        }
        entries.sort();
        Ok(entries)
    }

    fn is_file(&self, path: &str) -> bool {
        Path::new(path).is_file()
    }

    fn is_dir(&self, path: &str) -> bool {
        Path::new(path).is_dir()
    }

    fn current_dir(&self) -> String {
        let dir = env::current_dir().ok().and_then(|dir| dir.into_os_string().into_string().ok());
        dir.map_or_else(|| "/".to_owned(), |dir| dir.replace('\\', "/"))
    }
}
