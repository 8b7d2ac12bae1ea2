//! Choices on disk, one file for each device, family and launch: a later process takes the member at once, and what was measured
//! stays known.

use std::io;
use std::path::{Path, PathBuf};

use hx_base::fnv;
use hx_worker::own_files;
use serde::{Deserialize, Serialize};

use super::Choice;

/// The subfolder of the cache folder that holds the files.
const FOLDER: &str = "choices";
const EXTENSION: &str = "json";

#[derive(Serialize, Deserialize)]
struct Entry {
    /// Everything on which the choice depends. Two keys may have the same hash.
    key: String,
    choice: Choice,
}

fn path_of(cache: &Path, key: &str) -> PathBuf {
    cache.join(FOLDER).join(format!("{:016x}.{EXTENSION}", fnv(key.bytes())))
}

/// Reads the choice of a key; `None` if there is none that can be used.
pub(super) fn read(cache: &Path, key: &str) -> Option<Choice> {
    let bytes = own_files::read(&path_of(cache, key)).ok()?;
    let entry: Entry = serde_json::from_slice(&bytes).ok()?;
    (entry.key == key).then_some(entry.choice)
}

/// Keeps the choice of a key.
///
/// # Errors
/// The file that cannot be written and the reason, as text.
pub(super) fn write(cache: &Path, key: &str, choice: &Choice) -> Result<(), String> {
    let path = path_of(cache, key);
    let entry = Entry { key: key.to_owned(), choice: choice.clone() };
    let written = serde_json::to_vec(&entry).map_err(io::Error::other);
    let written = written.and_then(|bytes| own_files::replace(&path, &bytes));
    written.map_err(|error| format!("the choice `{}` cannot be kept: {error}", path.display()))
}

/// Removes all choices from a cache folder, and no other files. Does not follow links.
///
/// # Errors
/// The file that could not be removed and the reason, as text.
pub fn clear_choices(cache: &Path) -> Result<(), String> {
    own_files::clear(&cache.join(FOLDER), EXTENSION)
}

#[cfg(test)]
mod tests {
    use super::super::{Choice, Considered, Fit};
    use super::{clear_choices, read, write};

    #[test]
    fn a_choice_is_read_as_it_was_written_and_only_for_its_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let member = Considered { index: 3, name: "tiles<BN = 64>".to_owned(), fit: Fit::Estimated(12.25) };
        let choice = Choice::of(vec![member]);
        assert_eq!(read(folder.path(), "one"), None);
        write(folder.path(), "one", &choice).expect("written");
        assert_eq!(read(folder.path(), "one"), Some(choice));
        assert_eq!(read(folder.path(), "two"), None);
        clear_choices(folder.path()).expect("removed");
        assert_eq!(read(folder.path(), "one"), None);
    }
}
