//! Support for tests: a file system in memory, a log of executed queries, and databases of each layer.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use crate::{DirEntry, System, SystemError};

/// A file system in memory. The current folder is `/`.
#[derive(Debug, Clone, Default)]
pub struct MemorySystem {
    files: BTreeMap<String, String>,
}

impl MemorySystem {
    /// Makes a file system with these files, each a path and its text.
    pub fn new<P: AsRef<str>, T: Into<String>>(files: impl IntoIterator<Item = (P, T)>) -> Self {
        MemorySystem {
            files: files.into_iter().map(|(path, text)| (absolute(path.as_ref()), text.into())).collect(),
        }
    }

    /// Makes a file or replaces its text. Relative paths start at `/`.
    pub fn write(&mut self, path: &str, text: impl Into<String>) {
        self.files.insert(absolute(path), text.into());
    }

    /// Removes a file.
    pub fn remove(&mut self, path: &str) {
        self.files.remove(&absolute(path));
    }
}

fn absolute(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    format!("/{}", parts.join("/"))
}

impl System for MemorySystem {
    fn read_to_string(&self, path: &str) -> Result<String, SystemError> {
        self.files.get(&absolute(path)).cloned().ok_or(SystemError::NotFound)
    }

    fn read_dir(&self, path: &str) -> Result<Vec<DirEntry>, SystemError> {
        let folder = absolute(path);
        let prefix = if folder == "/" { folder } else { format!("{folder}/") };
        let inside = self.files.keys().filter_map(|file| file.strip_prefix(&prefix));
        let entries: BTreeSet<DirEntry> = inside
            .map(|rest| match rest.split_once('/') {
                Some((name, _)) => DirEntry { name: name.to_owned(), is_dir: true },
                None => DirEntry { name: rest.to_owned(), is_dir: false },
            })
            .collect();
        if entries.is_empty() { Err(SystemError::NotFound) } else { Ok(entries.into_iter().collect()) }
    }

    fn is_file(&self, path: &str) -> bool {
        self.files.contains_key(&absolute(path))
    }

    fn is_dir(&self, path: &str) -> bool {
        self.read_dir(path).is_ok()
    }

    fn current_dir(&self) -> String {
        "/".to_owned()
    }
}

/// A log of the names of the executed queries, in order, and of the number of cancellation checks. Make the log first and give it
/// to the storage: `Storage::new(Some(log.callback()))`.
#[derive(Debug, Clone, Default)]
pub struct EventLog {
    executed: Arc<Mutex<Vec<String>>>,
    checks: Arc<Mutex<Checks>>,
}

/// The number of cancellation checks so far, and the number of the check at which a token is cancelled.
#[derive(Debug, Default)]
struct Checks {
    count: usize,
    cancel: Option<(usize, salsa::CancellationToken)>,
}

impl EventLog {
    /// Returns the callback for the events of a database's storage.
    pub fn callback(&self) -> Box<dyn Fn(salsa::Event) + Send + Sync> {
        let (executed, checks) = (Arc::clone(&self.executed), Arc::clone(&self.checks));
        Box::new(move |event| match event.kind {
            salsa::EventKind::WillExecute { database_key } => {
                let key = format!("{database_key:?}");
                let name = key.split('(').next().unwrap_or_default().to_owned();
                executed.lock().unwrap_or_else(PoisonError::into_inner).push(name);
            }
            salsa::EventKind::WillCheckCancellation => {
                let mut checks = checks.lock().unwrap_or_else(PoisonError::into_inner);
                checks.count += 1;
                let count = checks.count;
                if let Some((_, token)) = checks.cancel.take_if(|(at, _)| *at == count) {
                    token.cancel();
                }
            }
            _ => {}
        })
    }

    /// Returns the number of cancellation checks since the last call or [`EventLog::cancel_at`], and drops a pending cancellation.
    pub fn take_checks(&self) -> usize {
        std::mem::take(&mut *self.checks.lock().unwrap_or_else(PoisonError::into_inner)).count
    }

    /// Cancels by `token` at the check `number` from now on, counted from 1.
    pub fn cancel_at(&self, number: usize, token: salsa::CancellationToken) {
        let checks = Checks { count: 0, cancel: Some((number, token)) };
        *self.checks.lock().unwrap_or_else(PoisonError::into_inner) = checks;
    }

    /// Returns the names of the queries executed since the last call, in order.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.executed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns how often each query was executed since the last call, as lines `name × count`, ordered by name.
    pub fn take_counts(&self) -> String {
        let mut counts = BTreeMap::<String, usize>::new();
        for name in self.take() {
            *counts.entry(name).or_default() += 1;
        }
        counts.iter().map(|(name, count)| format!("{name} × {count}\n")).collect()
    }
}

/// Defines a database for tests, with the queries of `hx-base` and of the layers whose `Db` traits are listed. Its workspace is
/// empty, and its field `log` lists the executed queries.
#[macro_export]
macro_rules! test_database {
    ($(#[$meta:meta])* $vis:vis struct $name:ident: [$($layer:path),*]) => {
        $(#[$meta])*
        #[salsa::db]
        #[derive(Clone)]
        $vis struct $name {
            storage: salsa::Storage<Self>,
            /// The executed queries.
            $vis log: $crate::testing::EventLog,
        }

        impl Default for $name {
            fn default() -> Self {
                let log = $crate::testing::EventLog::default();
                let db = $name { storage: salsa::Storage::new(Some(log.callback())), log };
                $crate::Workspace::new(&db, Vec::new());
                db
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }

        #[salsa::db]
        impl salsa::Database for $name {}

        #[salsa::db]
        impl $crate::Db for $name {
            fn workspace(&self) -> $crate::Workspace {
                $crate::Workspace::get(self)
            }
        }

        $(#[salsa::db]
        impl $layer for $name {})*
    };
}

test_database! {
    /// A database with the queries of this crate only.
    pub struct TestDb: []
}
