//! Remembers which tests failed in their last run, in the cache folder, for `hx test --failed`.
//!
//! Names of tests begin with paths as they were given, so each folder in which `hx test` runs has a history of its own. The
//! history is a convenience: an unreadable history counts as empty, and a failed write is only a warning.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hx_worker::own_files;
use serde::{Deserialize, Serialize};

use hx_base::fnv;

/// The subfolder of the cache folder that holds the histories.
const FOLDER: &str = "tests";

/// The failed tests of one folder.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The history's file; `None` if there is no cache.
    file: Option<PathBuf>,
    folder: String,
    failed: BTreeSet<String>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    /// The folder's full name: it distinguishes two folders whose names have the same hash.
    folder: String,
    failed: BTreeSet<String>,
}

impl History {
    /// Reads the history of tests run in `folder`.
    pub fn open(cache: Option<&Path>, folder: &Path) -> History {
        let folder = folder.to_string_lossy().into_owned();
        let file = cache.map(|cache| cache.join(FOLDER).join(format!("{:016x}.json", fnv(folder.bytes()))));
        let stored = file.as_ref().and_then(|file| {
            let bytes = own_files::read(file).ok()?;
            serde_json::from_slice::<Stored>(&bytes).ok().filter(|stored| stored.folder == folder)
        });
        History { file, folder, failed: stored.map(|stored| stored.failed).unwrap_or_default() }
    }

    /// Removes the histories of all folders from a cache folder, and no other files. Does not follow links.
    ///
    /// # Errors
    /// The file that could not be removed and the reason, as text.
    pub fn clear(cache: &Path) -> Result<(), String> {
        let folder = cache.join(FOLDER);
        if !std::fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir()) {
            return Ok(());
        }
        let is_ours = |name: &str| {
            name.strip_suffix(".json")
                .is_some_and(|n| n.len() == 16 && n.bytes().all(|b| b.is_ascii_hexdigit()))
        };
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && entry.file_name().to_str().is_some_and(is_ours) {
                let removed = std::fs::remove_file(entry.path());
                removed.map_err(|e| format!("`{}` cannot be removed: {e}", entry.path().display()))?;
            }
        }
        // This removes the folder only if it is empty, so other files stay.
        let _ = std::fs::remove_dir(&folder);
        Ok(())
    }

    /// Reports whether the test failed in its last run. A whole test matches each of its cases and the reverse, since a test
    /// whose text has errors has no cases.
    pub fn has_failed(&self, name: &str) -> bool {
        self.failed.iter().any(|f| f == name || is_case_of(f, name) || is_case_of(name, f))
    }

    /// Returns the values of the failed cases of a test with a `forall`: `m = 65` of `t.hx::t[m = 65]`.
    pub fn failed_cases(&self, name: &str) -> Vec<String> {
        let values =
            |f: &String| Some(f.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')?.to_owned());
        self.failed.iter().filter_map(values).collect()
    }

    /// Forgets the failed cases of a test.
    pub fn forget_cases(&mut self, name: &str) {
        self.failed.retain(|f| !is_case_of(name, f));
    }

    /// Removes the tests of the file `path` that are not in `known`, the tests that it has now. Failed cases of a test with a
    /// `forall` stay with it.
    pub fn keep_known(&mut self, path: &str, known: &BTreeSet<&str>) {
        let of_file = |name: &str| name.strip_prefix(path).is_some_and(|rest| rest.starts_with("::"));
        let is_known = |name: &str| known.contains(name) || known.iter().any(|test| is_case_of(test, name));
        self.failed.retain(|name| !of_file(name) || is_known(name));
    }

    /// Records whether a test failed.
    pub fn record(&mut self, name: &str, failed: bool) {
        if failed {
            self.failed.insert(name.to_owned());
        } else {
            self.failed.remove(name);
        }
    }

    /// Writes the history atomically.
    ///
    /// # Errors
    /// The system's error, as text.
    pub fn save(&self) -> Result<(), String> {
        let Some(file) = &self.file else { return Ok(()) };
        let stored = Stored { folder: self.folder.clone(), failed: self.failed.clone() };
        let write = || -> std::io::Result<()> {
            let text = serde_json::to_string_pretty(&stored).map_err(std::io::Error::other)?;
            own_files::replace(file, text.as_bytes())
        };
        write().map_err(|e| format!("`{}` cannot be written: {e}", file.display()))
    }
}

/// Reports whether `case` is the name of a case of the test `test`.
fn is_case_of(test: &str, case: &str) -> bool {
    case.strip_prefix(test).is_some_and(|rest| rest.starts_with('['))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_remembered_for_each_folder() {
        let cache = tempfile::tempdir().expect("a folder");
        let open = |folder: &str| History::open(Some(cache.path()), Path::new(folder));
        let mut history = open("/a");
        assert!(!history.has_failed("t.hx::x[1]"));
        history.record("t.hx::x[1]", true);
        history.record("t.hx::y", true);
        history.record("u.hx::z", true);
        history.record("t.hx::y", false);
        history.save().expect("writable");
        let mut again = open("/a");
        assert!(again.has_failed("t.hx::x[1]") && again.has_failed("t.hx::x") && again.has_failed("u.hx::z"));
        assert!(
            !again.has_failed("t.hx::y") && !again.has_failed("t.hx::x[12]") && !again.has_failed("t.hx::x2")
        );
        assert!(!open("/b").has_failed("t.hx::x[1]"));
        again.keep_known("t.hx", &BTreeSet::from(["t.hx::other"]));
        assert!(!again.has_failed("t.hx::x[1]") && again.has_failed("u.hx::z"));
    }

    #[test]
    fn a_damaged_history_is_empty_and_none_is_no_error() {
        let cache = tempfile::tempdir().expect("a folder");
        let mut history = History::open(Some(cache.path()), Path::new("/a"));
        history.record("t", true);
        history.save().expect("writable");
        let file = history.file.clone().expect("there is a cache");
        std::fs::write(&file, "{").expect("writable");
        assert!(!History::open(Some(cache.path()), Path::new("/a")).has_failed("t"));
        assert_eq!(History::open(None, Path::new("/a")).save(), Ok(()));
        // A file takes the place of the cache folder, so the history cannot be written.
        std::fs::write(cache.path().join("f"), "").expect("writable");
        let blocked = History::open(Some(&cache.path().join("f")), Path::new("/a"));
        assert!(blocked.save().is_err());
    }
}
