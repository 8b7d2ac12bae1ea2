//! The last good layouts and lenses of each kernel, shown as stale while its body has errors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use hx_base::SourceFile;
use hx_compile::Db;
use hx_hir::{ItemKey, Kernel, file_items};

use crate::anchor::Anchor;
use crate::hints::KeptPart;
use crate::lenses::LensAction;

/// The last hints and lenses of each kernel without errors. The caller of the hint and lens functions keeps this value across
/// edits. It has one entry for each item that still exists.
#[derive(Debug, Default)]
pub struct LastGood {
    kernels: Mutex<BTreeMap<Key, Arc<[Kept]>>>,
    lenses: Mutex<BTreeMap<String, Vec<KeptLenses>>>,
}

/// An item, and the lenses above it.
pub(crate) type KeptLenses = (ItemKey, Vec<LensAction>);

/// The file's path, the kernel's name, and its index among kernels of that name.
type Key = (String, String, u32);

/// A hint with its anchor, which survives edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) anchor: Anchor,
    pub(crate) parts: Vec<KeptPart>,
}

fn key(db: &dyn Db, kernel: Kernel<'_>) -> Key {
    (kernel.file(db).path(db).to_owned(), kernel.name(db).to_string(), kernel.nth(db))
}

impl LastGood {
    pub(crate) fn keep(&self, db: &dyn Db, kernel: Kernel<'_>, hints: Arc<[Kept]>) {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner).insert(key(db, kernel), hints);
    }

    pub(crate) fn of(&self, db: &dyn Db, kernel: Kernel<'_>) -> Arc<[Kept]> {
        let kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.get(&key(db, kernel)).cloned().unwrap_or_default()
    }

    /// Removes the kernels that a file no longer contains.
    pub(crate) fn prune(&self, db: &dyn Db, file: SourceFile) {
        let path = file.path(db);
        // A file with syntax errors may have lost a kernel only for a moment: keep its layouts until the file parses again.
        if !hx_base::has_syntax_errors(db, file) {
            let there: BTreeSet<Key> = file_items(db, file).kernels().map(|kernel| key(db, kernel)).collect();
            let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
            kernels.retain(|key, _| key.0 != path || there.contains(key));
        }
    }

    /// Stores the lenses of all items of a file.
    pub(crate) fn keep_lenses(&self, path: &str, lenses: Vec<KeptLenses>) {
        self.lenses.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), lenses);
    }

    pub(crate) fn lenses_of(&self, path: &str) -> Vec<KeptLenses> {
        let lenses = self.lenses.lock().unwrap_or_else(PoisonError::into_inner);
        lenses.get(path).cloned().unwrap_or_default()
    }

    /// Removes a file's hints and lenses.
    pub fn forget(&self, path: &str) {
        self.lenses.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner).retain(|key, _| key.0 != path);
    }

    /// Returns the number of kernels that have layouts here.
    pub fn len(&self) -> usize {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Reports whether no kernel has layouts here.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
