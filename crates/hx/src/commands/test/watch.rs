//! `hx test --watch`: waits for changes of files, and finds the tests that they affect.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use hx_driver::{Case, Listing};
use hx_hir::reached_tokens;
use hx_workspace::{Database, MANIFEST_NAME};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use super::super::Loaded;
use crate::interrupt;

/// The time that a change must be old before the run begins, because editors write a file in several steps.
const SETTLE: Duration = Duration::from_millis(80);
/// The time between two looks at the flag of Ctrl-C.
const POLL: Duration = Duration::from_millis(100);

/// The cause of another run.
pub(super) enum Cause {
    /// These files changed.
    Changed(BTreeSet<PathBuf>),
    /// The user pressed Enter: all tests run.
    Asked,
    /// The user pressed Ctrl-C.
    Interrupted,
}

enum Event {
    Changed(Vec<PathBuf>),
    Asked,
}

/// Watches the folders of the loaded files.
pub(super) struct Watch {
    watcher: RecommendedWatcher,
    events: Receiver<Event>,
    folders: BTreeSet<PathBuf>,
}

impl Watch {
    /// Begins to watch. On a terminal it also reads lines from stdin.
    ///
    /// # Errors
    /// The reason of the system, as text.
    pub(super) fn new() -> Result<Watch, String> {
        let (send, events) = channel();
        if std::io::stdin().is_terminal() {
            read_lines(send.clone());
        }
        let changed = move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            if !event.kind.is_access() {
                // The receiver is gone only at the end of the process.
                let _ = send.send(Event::Changed(event.paths));
            }
        };
        let watcher = notify::recommended_watcher(changed).map_err(|error| error.to_string())?;
        Ok(Watch { watcher, events, folders: BTreeSet::new() })
    }

    /// Watches the folders of the files that are loaded now, and the named folders.
    ///
    /// # Errors
    /// The folder that cannot be watched and the reason, as text.
    pub(super) fn follow(&mut self, db: &Database, named: &[String]) -> Result<(), String> {
        let files = db.user_files().into_iter().filter_map(|file| db.path_on_disk(file).map(PathBuf::from));
        let parents = files.filter_map(|file| file.parent().map(Path::to_owned));
        let named = named.iter().map(PathBuf::from).filter(|path| path.is_dir());
        let folders: BTreeSet<PathBuf> =
            parents.chain(named).map(|path| path.canonicalize().unwrap_or(path)).collect();
        for folder in folders.difference(&self.folders) {
            let watched = self.watcher.watch(folder, RecursiveMode::NonRecursive);
            watched.map_err(|error| format!("`{}` cannot be watched: {error}", folder.display()))?;
        }
        self.folders.extend(folders);
        Ok(())
    }

    /// Waits for the next cause of a run.
    pub(super) fn wait(&self) -> Cause {
        let mut changed = BTreeSet::new();
        loop {
            let wait = if changed.is_empty() { POLL } else { SETTLE };
            match self.events.recv_timeout(wait) {
                Ok(Event::Changed(paths)) => changed.extend(paths.into_iter().filter(|path| concerns(path))),
                Ok(Event::Asked) => return Cause::Asked,
                Err(RecvTimeoutError::Timeout) if !changed.is_empty() => return Cause::Changed(changed),
                Err(_) if interrupt::requested() => return Cause::Interrupted,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Cause::Interrupted,
            }
        }
    }
}

/// Reports whether a change of this file can affect a test.
fn concerns(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "hx")
        || path.file_name().is_some_and(|name| name == MANIFEST_NAME)
}

/// Sends an event for each line of stdin. The thread ends with stdin or with the process.
fn read_lines(send: Sender<Event>) {
    let read = move || {
        for line in std::io::stdin().lock().lines() {
            if line.is_err() || send.send(Event::Asked).is_err() {
                return;
            }
        }
    };
    // Without the thread, Enter does nothing.
    let _ = std::thread::Builder::new().spawn(read);
}

/// Reads the changed files again, and those that are new below the named paths.
pub(super) fn reload(loaded: &mut Loaded, named: &[String], changed: &BTreeSet<PathBuf>) {
    for path in changed {
        // A file that was removed leaves the workspace; its users then report it.
        let _ = loaded.db.reload(&path.to_string_lossy());
    }
    loaded.files.clear();
    for path in named {
        let opened = loaded.db.open(path).map(|opened| opened.files).unwrap_or_default();
        let fresh: Vec<_> = opened.into_iter().filter(|file| !loaded.files.contains(file)).collect();
        loaded.files.extend(fresh);
    }
}

/// For each case, the tokens of its test and of all items that the test uses, as of the last call of `affected`.
#[derive(Default)]
pub(super) struct SeenTests(BTreeMap<String, String>);

impl SeenTests {
    /// Returns the names of the cases that are new or whose code has changed since the last call.
    pub(super) fn affected(&mut self, db: &Database, listing: &Listing) -> BTreeSet<String> {
        let tokens = |case: &Case| case.test.find(db).map(|item| reached_tokens(db, item));
        let now: BTreeMap<String, String> =
            listing.cases.iter().map(|case| (case.name.clone(), tokens(case).unwrap_or_default())).collect();
        let changed = now.iter().filter(|(name, tokens)| self.0.get(*name) != Some(*tokens));
        let changed = changed.map(|(name, _)| name.clone()).collect();
        self.0 = now;
        changed
    }
}
