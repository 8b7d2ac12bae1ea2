//! The real file system.

use std::{env, fs, path::Path};

use hx_base::{DirEntry, System, SystemError};

/// The file system of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsSystem;

impl System for OsSystem {
    fn read_to_string(&self, path: &str) -> Result<String, SystemError> {
        Ok(String::from_utf8(fs::read(path)?)?)
    }

    fn read_dir(&self, path: &str) -> Result<Vec<DirEntry>, SystemError> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            // A name that is no text cannot be a module, and a link that leads nowhere cannot be read.
            if let (Ok(name), Ok(data)) = (entry.file_name().into_string(), fs::metadata(entry.path())) {
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
