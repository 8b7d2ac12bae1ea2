//! A file system without files: a page has the standard library, which is embedded, and its own text, which is an overlay.

use hx_base::{DirEntry, System, SystemError};

#[derive(Debug)]
pub(crate) struct NoDisk;

impl System for NoDisk {
    fn read_to_string(&self, _: &str) -> Result<String, SystemError> {
        Err(SystemError::NotFound)
    }

    fn read_dir(&self, _: &str) -> Result<Vec<DirEntry>, SystemError> {
        Err(SystemError::NotFound)
    }

    fn is_file(&self, _: &str) -> bool {
        false
    }

    fn is_dir(&self, _: &str) -> bool {
        false
    }

    fn current_dir(&self) -> String {
        "/".to_owned()
    }
}
