//! Results of tuning on disk, one file for each device, driver, kernel, toolchain and shape.
//!
//! A file is a list of lines in JSON: the key, then one measurement a line, appended when it is made. A run that is interrupted
//! loses only the batch that it was measuring. Several runs may append to one file at the same time, because each line is one
//! write; where two lines say different things about the same candidate and round, the later one counts.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use hx_base::fnv;
use hx_worker::own_files;
use serde::{Deserialize, Serialize};

use super::sample::Sample;

/// The subfolder of the cache folder that holds the files.
const FOLDER: &str = "tune";
const EXTENSION: &str = "jsonl";

/// Everything that a measured time depends on. Results under another key are never used.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Key {
    /// The toolchain's version.
    pub(crate) hx: String,
    /// The device's name.
    pub(crate) device: String,
    /// The newest CUDA version that the driver supports.
    pub(crate) driver: String,
    /// `path::name` of the kernel.
    pub(crate) kernel: String,
    /// The hash of the kernel's text and of all items that it uses.
    pub(crate) text: String,
    /// The dimensions and compile-time arguments that are not tuned.
    pub(crate) shape: String,
    /// The arguments of the anchor, to which the times are relative.
    pub(crate) anchor: String,
    /// The baseline that is measured beside the candidates.
    pub(crate) baseline: String,
    /// Whether the L2 cache is emptied before each run, and the number of copies of the tensors.
    pub(crate) memory: String,
}

/// A measurement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) arguments: String,
    pub(crate) round: usize,
    pub(crate) sample: Sample,
    /// The median divided by that of the anchor in the same run.
    pub(crate) relative: f64,
    /// The median of the baseline in the same run, in microseconds, and that median divided by the anchor's.
    pub(crate) baseline: Option<(f64, f64)>,
}

/// The results of one key.
#[derive(Debug, Default)]
pub(crate) struct Store {
    records: BTreeMap<(String, usize), Record>,
    file: Option<(PathBuf, File)>,
    /// The first failed write.
    pub(crate) warning: Option<String>,
}

impl Store {
    /// Returns a store without a file.
    pub(crate) fn in_memory() -> Store {
        Store::default()
    }

    /// Returns a store without a file, because the file cannot be used.
    pub(crate) fn failing(reason: String) -> Store {
        Store { warning: Some(reason), ..Store::default() }
    }

    /// Opens the results of a key in a cache folder, and creates the file if there is none. If `fresh`, earlier results are
    /// removed.
    ///
    /// # Errors
    /// The file that cannot be used and the reason, as text.
    pub(crate) fn open(cache: &Path, key: &Key, fresh: bool) -> Result<Store, String> {
        let header = serde_json::to_string(key).map_err(|e| e.to_string())?;
        let folder = cache.join(FOLDER);
        let path = folder.join(format!("{:016x}.{EXTENSION}", fnv(header.bytes())));
        let open = || -> io::Result<Store> {
            own_files::create_folder(&folder)?;
            if fresh || !begins_with(&path, &header)? {
                own_files::replace(&path, format!("{header}\n").as_bytes())?;
            }
            let bytes = own_files::read(&path)?;
            let mut file = OpenOptions::new().append(true).open(&path)?;
            if !bytes.ends_with(b"\n") {
                // The run before was killed inside of a line: the next record begins a line of its own.
                file.write_all(b"\n")?;
            }
            let text = String::from_utf8_lossy(&bytes);
            let records = text.lines().skip(1).filter_map(|line| serde_json::from_str::<Record>(line).ok());
            let records = records.map(|record| ((record.arguments.clone(), record.round), record)).collect();
            Ok(Store { records, file: Some((path.clone(), file)), warning: None })
        };
        open().map_err(|e| format!("`{}` cannot be used: {e}", path.display()))
    }

    /// Returns the measurement of a candidate in a round, counted from 0; `None` if there is none.
    pub(crate) fn find(&self, arguments: &str, round: usize) -> Option<&Record> {
        self.records.get(&(arguments.to_owned(), round))
    }

    /// Returns the number of measurements.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Adds a measurement and appends it to the file. A failed write is a warning: the run goes on with what is in memory.
    pub(crate) fn add(&mut self, record: Record) {
        if let Some((path, file)) = &mut self.file {
            let line = serde_json::to_string(&record).map_err(io::Error::other);
            // One write for the whole line: lines of runs at the same time do not mix.
            let written = line.and_then(|line| file.write_all(format!("{line}\n").as_bytes()));
            if let Err(error) = written {
                let text = || format!("`{}` cannot be written: {error}", path.display());
                self.warning.get_or_insert_with(text);
            }
        }
        self.records.insert((record.arguments.clone(), record.round), record);
    }

    /// Removes the results of all keys from a cache folder, and no other files. Does not follow links.
    ///
    /// # Errors
    /// The file that could not be removed and the reason, as text.
    pub(crate) fn clear(cache: &Path) -> Result<(), String> {
        own_files::clear(&cache.join(FOLDER), EXTENSION)
    }
}

/// Reports whether a file exists and its first line is the key. Two keys may have the same hash.
fn begins_with(path: &Path, header: &str) -> io::Result<bool> {
    match own_files::read(path) {
        Ok(bytes) => Ok(bytes.split(|byte| *byte == b'\n').next() == Some(header.as_bytes())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
