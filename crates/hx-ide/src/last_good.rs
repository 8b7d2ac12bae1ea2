//! The last good layouts of each kernel, shown as stale while its body has errors.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use hx_base::SourceFile;
use hx_compile::Db;
use hx_hir::{Kernel, file_items};

use crate::anchor::Anchor;
use crate::hints::HintPart;

/// What each kernel was given when it was last right, by its identity. Kept by whoever asks for hints, across edits; it holds
/// one entry for each kernel that is still there.
#[derive(Debug, Default)]
pub struct LastGood {
    kernels: Mutex<BTreeMap<Key, Vec<Kept>>>,
}

/// Path of the file, name of the kernel, which of that name.
type Key = (String, String, u32);

/// A hint by where it belongs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Kept {
    pub(crate) anchor: Anchor,
    pub(crate) parts: Vec<HintPart>,
}

fn key(db: &dyn Db, kernel: Kernel<'_>) -> Key {
    (kernel.file(db).path(db).to_owned(), kernel.name(db).to_string(), kernel.nth(db))
}

impl LastGood {
    pub(crate) fn keep(&self, db: &dyn Db, kernel: Kernel<'_>, hints: Vec<Kept>) {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner).insert(key(db, kernel), hints);
    }

    pub(crate) fn of(&self, db: &dyn Db, kernel: Kernel<'_>) -> Vec<Kept> {
        let kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.get(&key(db, kernel)).cloned().unwrap_or_default()
    }

    /// Forgets the kernels that a file does not have any more.
    pub(crate) fn prune(&self, db: &dyn Db, file: SourceFile) {
        let path = file.path(db);
        let there: Vec<Key> = file_items(db, file).kernels().map(|kernel| key(db, kernel)).collect();
        // A file that does not parse may have lost a kernel for a moment: its layouts are wanted when it is back.
        if hx_base::parse(db, file).is_ok() {
            let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
            kernels.retain(|key, _| key.0 != path || there.contains(key));
        }
    }

    /// Forgets a file.
    pub fn forget(&self, path: &str) {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner).retain(|key, _| key.0 != path);
    }

    /// How many kernels have layouts here.
    pub fn len(&self) -> usize {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
